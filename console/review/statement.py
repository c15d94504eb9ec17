"""A fact as the judgement of pairs sees it: words in one form, values, polarity. Pure; English and Chinese.

Other languages are compared by their words alone.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache, partial

import snowballstemmer

from console.review import lexicon as lex

_STEMMER = snowballstemmer.stemmer("english")
_CJK = re.compile(r"[\u3400-\u9fff]")
_TOKEN = re.compile(r"[#@]?[a-z0-9](?:[a-z0-9_./:@'+-]*[a-z0-9+])?|[\u3400-\u9fff]|\w+|%")
_FRAME = re.compile(
    r"\A\W*(?:(?:note|fyi|nb|reminder|fact|update|important|remember|info|decision|todo)\s*[:,-]\s*|(?:as agreed|as discussed|"
    r"basically|currently|actually|in fact|please note that|note that|remember that|for the record|as of now|at present)[,:]?\s+|"
    r"(?:备注|注意|提示|说明|记住|更新)\s*[:：]\s*|(?:其实|目前|现在|据悉)[，,]?\s*|user (?=[A-Z]))",
    re.IGNORECASE,
)
_MONTH = "|".join(sorted(lex.MONTHS, key=len, reverse=True))
_DATES = (
    (re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b"), "ymd"),
    (re.compile(r"\b(\d{4})/(\d{1,2})/(\d{1,2})\b"), "ymd"),
    (re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"), "ymd"),
    (re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b"), "mdy"),
    (re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?({_MONTH})\.?,? (\d{{4}})\b"), "dmy"),
    (re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月"), "ym"),
    (re.compile(rf"\b({_MONTH})\.? (?:of )?(\d{{4}})\b"), "my"),
    (re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b"), "md"),
    (re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?({_MONTH})\b"), "dm"),
    (re.compile(r"(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"), "md"),
)  # fmt: skip
_ZH_NUMBER = re.compile(
    r"([零一二两三四五六七八九]?十[一二三四五六七八九]?|[零一二两三四五六七八九])(?=[次个天点月人年小秒分元台倍位名条种层楼页章节步级轮周号日])"
)
_ZH_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])")
_UNITS = re.compile(
    r"\b(\d+(?:\.\d+)?) ?(seconds?|secs?|s|minutes?|mins?|hours?|hrs?|percent|ms|milliseconds?|kb|mb|gb|tb)\b"
)
_UNIT_NAMES = {
    "second": "s",
    "sec": "s",
    "minute": "min",
    "hour": "h",
    "hr": "h",
    "percent": "%",
    "millisecond": "ms",
}
_ZH_NEGATION = re.compile("不(?!同|过|断|仅|可变)|没有?|未|无法|无需|无|禁止|拒绝|别(?=[在用把将])|从不|并非")
_VALUE = re.compile(r"v?\d[\d.,:%a-z-]*\Z|<[^>]*>\Z")
_CLASS: dict[str, str] = {}
for _row in lex.SYNONYMS:
    for _word in _row.split():
        _CLASS.setdefault(_word, _row.split()[0])


@dataclass(frozen=True, slots=True)
class Word:
    form: str
    """Stemmed, of its class of synonyms."""
    place: int
    """Among all tokens of the statement."""
    raw: str
    after_verb: bool
    named: bool
    """Written as a name or identifier is."""


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    words: tuple[Word, ...]
    values: tuple[str, ...]
    """Numbers, dates and times, in one form each, sorted."""
    labels: frozenset[str]
    """``build 812`` before the verb: part of what the statement is about."""
    negative: bool
    chinese: bool
    passive: bool
    verb: str
    """The form of the first verb; '' where none was known."""
    raw_words: frozenset[str]
    """Every word as written, casefolded: for scopes and opposites."""


def _date(kind: str, found: re.Match[str]) -> str:
    parts = {"y": "", "m": "", "d": ""}
    for letter, text in zip(kind, found.groups(), strict=True):
        parts[letter] = str(lex.MONTHS.get(text) or int(text))
    return " <" + "-".join(parts[k].zfill(2) if parts[k] else "*" for k in "ymd") + "> "


def _zh_number(found: re.Match[str]) -> str:
    text = found[1]
    if "十" in text:
        before, after = text.split("十")
        return str(lex.ZH_DIGITS.get(before, 1) * 10 + lex.ZH_DIGITS.get(after, 0))
    return str(lex.ZH_DIGITS[text])


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).replace("’", "'").strip()
    text = _FRAME.sub("", text, count=2)
    text = text.casefold()
    text = re.sub(r"[`*\"“”「」『』‘]+|~~|<!--.*?-->", "", text)
    text = re.sub(r"(?<=[a-z0-9])'(?=\s|\Z)|(?<=\s)'", " ", text)
    text = re.sub(r"\bcan't\b|\bcannot\b|\bcan not\b", "can not", text)
    text = re.sub(r"\bwon't\b", "will not", text)
    text = re.sub(r"n't\b", " not", text)
    text = re.sub(r"(?<=\d)[, ](?=\d{3}\b)", "", text)
    text = re.sub(r"\b0(\d):(\d\d)\b", r"\1:\2", text)
    text = re.sub(r"\bon-call\b", "oncall", text)
    if _CJK.search(text):
        text = _ZH_WEEKDAY.sub(
            lambda m: f" <w{'一二三四五六日天'.index(m[1]) % 7 + 1 if m[1] != '天' else 7}> ", text
        )
        text = _ZH_NUMBER.sub(_zh_number, text)
        for pattern, kind in _DATES:
            text = pattern.sub(partial(_date, kind), text)
        text = re.sub(r"(\d{1,2})\s*月(?!份?底|费)", r" <*-\1-*> ", text)
        text = re.sub(r"(\d)\s*(?:百分)", r"\1%", text)
        for old, new in lex.ZH_SYNONYMS:
            text = text.replace(old, new)
    else:
        for pattern, kind in _DATES:
            text = pattern.sub(partial(_date, kind), text)
        for old, new in lex.NEGATING_PHRASES:
            text = re.sub(
                rf"(?<![\w]){re.escape(old)}(?![\w])" if old[0] != "'" else re.escape(old), new, text
            )
        text = re.sub(r"(\d+)-(day|hour|minute|second|week|month|year)s?\b", r"\1 \2", text)
    return _UNITS.sub(lambda m: f"{m[1]} {_UNIT_NAMES.get(m[2].rstrip('s') or 's', m[2])}", text)


@lru_cache(maxsize=100_000)
def _form(word: str) -> str:
    if not word.isascii() or not word.isalpha() or len(word) < 4:
        return str(_CLASS.get(word, word))
    if word in _CLASS:
        return str(_STEMMER.stemWord(_CLASS[word]))
    word = re.sub(r"isation(?=s?\Z)", "ization", word)
    word = re.sub(r"is(?=(?:e|es|ed|ing)\Z)", "iz", word) if len(word) > 6 else word
    word = re.sub(r"our(?=s?\Z)", "or", word) if len(word) > 5 else word
    stem = str(_STEMMER.stemWord(word))
    for candidate in (
        word,
        word.rstrip("s"),
        word.removesuffix("d"),
        word.removesuffix("ed"),
        word.removesuffix("ing"),
        stem,
    ):
        if candidate in _CLASS:
            return str(_STEMMER.stemWord(_CLASS[candidate]))
    return str(stem)


_VERB_FORMS = frozenset(str(_STEMMER.stemWord(verb.rstrip("_"))) for verb in lex.VERBS) | {
    _form(v) for v in lex.VERBS
}
_AUX = frozenset(
    "is are was were be has have had must can may should will does do did could would might".split()
)


def _is_verb(word: str) -> bool:
    return (
        word in _AUX or str(_STEMMER.stemWord(word)) in _VERB_FORMS or (word.endswith("ed") and len(word) > 4)
    )


def read(text: str) -> Statement:
    """Never raises; a text without words gives an empty statement."""
    source = unicodedata.normalize("NFKC", text)
    normal = _normal(text)
    chinese = len(_CJK.findall(normal)) >= 2
    tokens = re.findall(r"<[^<>\s]*>|" + _TOKEN.pattern, normal)
    names = {w.casefold() for w in re.findall(r"(?<=[a-z0-9,;)] )[A-Z][\w.-]*", source)}
    names |= {
        w.casefold()
        for w in re.findall(r"[\w.#/-]*(?:[_/.#]\w|\w-\w*\d|[a-z][A-Z]|[A-Z]{2})[\w./-]*", source)
    }
    words: list[Word] = []
    values: list[str] = []
    labels: set[str] = set()
    negations = 0
    verb_at = _zh_verb(normal) if chinese else None
    seen_verb = False
    main = ""
    place = 0
    position = 0
    before = ""
    for token in tokens:
        place += 1
        if chinese:
            found_at = normal.find(token, position)
            position = found_at + len(token)
            seen_verb = verb_at is not None and found_at >= verb_at
        raw = token.removesuffix("'s").strip("'")
        value = _value(raw, chinese)
        if value is not None:
            if before in lex.LABELS and not seen_verb:
                labels.add(f"{before} {value}")
            values.append(value)
            before = raw
            continue
        before_raw, before = before, raw
        if raw in lex.NEGATIONS:
            negations += 1
            continue
        if (
            not chinese
            and not seen_verb
            and place > 1
            and _is_verb(raw)
            and before_raw not in ("the", "a", "an", "to")
        ):
            seen_verb = raw not in _AUX or bool(words)
            verb = True
        else:
            verb = False
        if not chinese and not main and place > 1 and raw not in _AUX and _is_verb(raw) and words:
            main = _form(raw)
        if raw in lex.STOP or (chinese and raw in lex.ZH_STOP):
            continue
        if chinese and raw in "不没未无":
            continue
        named = raw in names or (not raw.isascii() and not chinese)
        words.append(Word(_form(raw), place, raw, seen_verb and not verb, named))
    if chinese:
        negations = len(_ZH_NEGATION.findall(normal)) + negations
    return Statement(
        text,
        tuple(words),
        tuple(sorted(values)),
        frozenset(labels),
        negations % 2 == 1,
        chinese,
        bool(re.search(r"\bby\b|由|被", normal)),
        main,
        frozenset(tokens),
    )


def _value(raw: str, chinese: bool) -> str | None:
    if raw.startswith("<"):
        return raw
    if raw in lex.WEEKDAYS or raw.removesuffix("s") in lex.WEEKDAYS:
        return f"<w{lex.WEEKDAYS.get(raw) or lex.WEEKDAYS[raw.removesuffix('s')]}>"
    if raw in lex.MONTHS and raw not in ("may", "mar", "dec", "jan", "sun", "sat"):
        return f"<*-{lex.MONTHS[raw]:02d}-*>"
    if raw in lex.NUMBERS and raw not in ("one", "once", "second"):
        return lex.NUMBERS[raw]
    if raw == "one" and not chinese:
        return "1"
    if _VALUE.match(raw):
        return raw.rstrip(".,:")
    return None


def _zh_verb(normal: str) -> int | None:
    places = [(at, len(verb)) for verb in lex.ZH_VERBS if (at := normal.find(verb)) > 0]
    return min(places)[0] if places else None

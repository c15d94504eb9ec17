"""Words for the index and for queries.

``grams`` gives the index what its tokenizer cannot see: pairs of CJK characters, words that stand between them
with no blank (it takes all of that for one word), and the parts of camelCase names.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+")
_CJK = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]"
_BESIDE_CJK = re.compile(f"(?<={_CJK})[A-Za-z0-9_]+|[A-Za-z0-9_]+(?={_CJK})")
_CAMEL = re.compile(r"\b[A-Za-z]+[a-z0-9](?:[A-Z][a-z0-9]*)+\b")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

STOP_WORDS = frozenset(
    "a an the this that these those and or but nor so if then than as at by for from in into of on onto "
    "off out over to up with without about above after again against before below between down during "
    "through under until while is am are was were be been being do does did doing done have has had "
    "having can could will would shall should may might must i me my mine we us our ours you your yours "
    "he him his she her hers it its they them their theirs what which who whom whose when where why how "
    "there here all any both each few more most other some such no not only own same too very just also "
    "now ever get got tell know please want need let s t d ll m o re ve y don didn doesn isn aren wasn "
    "weren hasn haven hadn won wouldn couldn shouldn ain many much long often kind sort".split()
)
"""Question words among them: they stand in every question and in few answers."""


_CJK_STOPS = re.compile(
    "什么时候|为什么|怎么样|是不是|有没有|能不能|告诉我|哪一天|什么|怎么|怎样|为何|哪里|哪儿|哪个|哪些|哪天|哪家|谁的|多少|多久|"
    "几个|几次|何时|请问|我们|他们|她们|你们|[吗呢吧啊呀么的了着把被是在和与跟给也这那我你他她它们谁哪]|"
    "でしょうか|ですか|ますか|何ですか|どこ|いつ|だれ|なに|[はがをにのともでへ]"
)
"""Where a question is cut into what it is about: question words, particles, pronouns."""


def grams(text: str) -> str | None:
    """The extra tokens of a text; None where there are none."""
    extra = [token for run in _CJK_RUN.findall(text) for token in (*_pairs(run), run[-1])]
    if extra:
        extra += [word.lower() for word in _BESIDE_CJK.findall(text)]
    return " ".join(dict.fromkeys([*extra, *name_parts(text)])) or None


def name_parts(text: str) -> list[str]:
    """The parts of camelCase names, in lower case."""
    return [part.lower() for name in _CAMEL.findall(text) for part in _PART.findall(name)]


def query_words(query: str) -> list[str]:
    """The content words of a query, distinct and in order; all words where it has stop words only."""
    words = []
    for word in _WORD.findall(_CJK_RUN.sub(" ", query)):
        words += [part for part in re.split(r"_+", word.lower()) if part]
    content = [word for word in words if word not in STOP_WORDS]
    return list(dict.fromkeys(content or words))


def query_pairs(query: str) -> list[str]:
    """What the CJK runs of a query are about: pairs of characters, and characters that stand alone between particles
    (each stands for every pair that it begins). All pairs where nothing else is left."""
    runs = _CJK_RUN.findall(query)
    parts = [part for run in runs for part in _CJK_STOPS.split(run) if part]
    pairs = [pair for part in sorted(parts, key=len, reverse=True) for pair in _pairs(part)]
    return list(dict.fromkeys(pairs or [pair for run in runs for pair in _pairs(run)]))


def is_single(word: str) -> bool:
    """One CJK character."""
    return len(word) == 1 and _CJK_RUN.fullmatch(word) is not None


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]

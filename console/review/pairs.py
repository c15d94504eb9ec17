"""Whether two facts say the same, or contradict each other. Pure, deterministic, no model.

The likeness of two statements is what their words share once values are set aside. Two that share nearly all of them
say the same; when then a number, a date, the polarity or the one named thing differs, they contradict. What differs in
its subject ("the audit daemon" and "the ledger daemon") speaks of something else and is neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rapidfuzz import fuzz

from console.review import lexicon as lex
from console.review.statement import Statement, Word, read


class Verdict(Enum):
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    evidence: str = ""
    """What differs or is shared, in a few words."""
    score: float = 0.0
    """Share of common words, 0 to 1."""


_OTHER = Judgement(Verdict.OTHER)
_SAME = 0.6
_CLOSE = 0.5
_ANTONYMS = frozenset(frozenset(row.split()) for row in (*lex.ANTONYMS, *lex.ZH_ANTONYMS))
_STEMMED = frozenset(frozenset(read(word).words[0].form if read(word).words else word for word in pair) for pair in _ANTONYMS if all(w.isascii() for w in pair))  # fmt: skip


def judge(one: str | Statement, other: str | Statement) -> Judgement:
    """Symmetric; the evidence names the side of ``one`` first."""
    a = one if isinstance(one, Statement) else read(one)
    b = other if isinstance(other, Statement) else read(other)
    if not a.words or not b.words or a.chinese != b.chinese:
        same = a.text.strip() == b.text.strip() != ""
        return Judgement(Verdict.DUPLICATE, "the same text", 1.0) if same else _OTHER
    common, left, right = _align(a.words, b.words)
    if a.chinese:
        score = common / max(1, min(len(a.words), len(b.words)))
    else:
        score = 2 * common / (len(a.words) + len(b.words))
    only_a, only_b = _beyond(a.values, b.values)
    if a.labels != b.labels:
        return _OTHER
    if _scopes(a, left) ^ _scopes(b, right):
        return _OTHER
    opposite = _opposite(a, b, left, right)
    if opposite and score >= 0.45 and not (only_a and only_b):
        rest = _without(left, opposite[0]), _without(right, opposite[1])
        if not (_substance(rest[0]) and _substance(rest[1])):
            if a.negative != b.negative:  # "not optional" and "mandatory"
                return _OTHER
            return Judgement(Verdict.CONTRADICTION, f"{opposite[0]} / {opposite[1]}", score)
    if a.negative != b.negative:
        if (
            score >= 0.6
            and not (left and right and _substance(left) and _substance(right))
            and not (only_a and only_b)
        ):
            return Judgement(Verdict.CONTRADICTION, "one denies what the other says", score)
        return _OTHER
    if only_a and only_b:
        return _values_differ(a, b, common, left, right, only_a, only_b, score)
    if left and right:
        return _substituted(a, b, common, left, right, score, bool(only_a or only_b))
    return _same(a, b, left or right, only_a or only_b, score)


def _values_differ(
    a: Statement, b: Statement, common: int, left: list[Word], right: list[Word], only_a: list[str], only_b: list[str], score: float
) -> Judgement:  # fmt: skip
    if len(only_a) != len(only_b) or len(only_a) > 2:
        return _OTHER
    if any(("<" in x) != ("<" in y) or _part_of(x, y) for x, y in zip(only_a, only_b, strict=True)):
        return _OTHER
    if len(only_a) == 2:  # two values differ: two events rather than one
        return _OTHER
    evidence = f"{', '.join(only_a)} / {', '.join(only_b)}".replace("<", "").replace(">", "")
    if _substance(left) and _substance(right):
        both_after = all(w.after_verb or _loose(w) for w in (*left, *right))
        if score < 0.6 or not both_after or any(w.named for w in (*left, *right)):
            return _OTHER
    if score >= _CLOSE and common >= 1:
        return Judgement(Verdict.CONTRADICTION, evidence, score)
    return _OTHER


def _substituted(
    a: Statement, b: Statement, common: int, left: list[Word], right: list[Word], score: float, values: bool
) -> Judgement:
    """The same but for one part on either side."""
    strong_a, strong_b = [w for w in left if not _loose(w)], [w for w in right if not _loose(w)]
    if not strong_a or not strong_b:
        return _same(a, b, strong_a or strong_b, [], score)
    if values or not _one_run(strong_a) or not _one_run(strong_b):
        return _OTHER
    if a.chinese:
        return _zh_slot(a, b, common, strong_a, strong_b)
    if common < 2 and not (common == 1 and score >= 0.45 and len(strong_a) == len(strong_b) == 1):
        return _OTHER
    if max(len(strong_a), len(strong_b)) > 3 or score < 0.45:
        return _OTHER
    evidence = f"{' '.join(w.raw for w in strong_a)} / {' '.join(w.raw for w in strong_b)}"
    if any(w.raw in lex.SCOPES for w in (*strong_a, *strong_b)):
        return _OTHER
    forms = {w.form for w in a.words} & {w.form for w in b.words} | {w.raw for w in a.words}
    after = strong_a[0].after_verb or strong_b[0].after_verb
    if not after:
        owning = forms & _OWNING or a.raw_words & {"owner", "maintainer", "lead", "language", "name"}
        named = all(w.named or w.place <= 2 for w in (strong_a[0], strong_b[0]))
        if owning and named and _last_place(a, strong_a) and _last_place(b, strong_b):
            return Judgement(Verdict.CONTRADICTION, evidence, score)
        return _OTHER
    if {a.verb, b.verb} & _ADDITIVE or _verbs(strong_a) or _verbs(strong_b):
        return _OTHER
    return Judgement(Verdict.CONTRADICTION, evidence, score)


def _zh_slot(a: Statement, b: Statement, common: int, left: list[Word], right: list[Word]) -> Judgement:
    evidence = f"{''.join(w.raw for w in left)} / {''.join(w.raw for w in right)}"
    share = 2 * common / (len(a.words) + len(b.words))
    if share < _CLOSE or common < 3 or max(len(left), len(right)) > 6:
        return _OTHER
    if any(verb in a.text and verb in b.text for verb in lex.ZH_ADDITIVE):
        return _OTHER
    if any((scope in a.text) != (scope in b.text) for scope in lex.ZH_SCOPES):
        return _OTHER
    if left[0].after_verb or right[0].after_verb or any(verb in a.text for verb in lex.ZH_OWNING):
        return Judgement(Verdict.CONTRADICTION, evidence, share)
    return _OTHER


def _same(
    a: Statement, b: Statement, extra: Sequence[Word], values: Sequence[str], score: float
) -> Judgement:
    """Everything of the shorter stands in the longer."""
    if values or _swapped(a, b):
        return _OTHER
    extra = [w for w in extra if not _loose(w)]
    if any(w.raw in lex.SCOPES or w.named for w in extra):
        return _OTHER
    if a.chinese:
        share = (min(len(a.words), len(b.words))) / max(len(a.words), len(b.words))
        enough = score >= 0.8 and share >= 0.6
    else:
        enough = score >= (0.8 if extra else _SAME) and len(extra) <= 2
    return Judgement(Verdict.DUPLICATE, "the same words and values", score) if enough else _OTHER


_LOOSE = frozenset(
    "get do make kick perform carry happen one follow anything there through during whenever after each every all after upon within "
    "window period reason cause because order since algorithm purpose activity without by precede time whole currently new "
    "file location employ end number amount count total set up manage take place".split()
)


def _loose(word: Word) -> bool:
    return word.raw in _LOOSE or word.form in _LOOSE


_OWNING = frozenset(read(f"x {w.rstrip('_')}").words[-1].form for w in lex.OWNING)
_ADDITIVE = frozenset(read(f"x {w.rstrip('_')}").words[-1].form for w in lex.ADDITIVE if w not in ("send_", "call", "report", "include", "contain", "need", "require", "say", "want", "cause"))  # fmt: skip
_VERBS = frozenset(read(f"x {w}").words[-1].form for w in lex.VERBS if len(read(f"x {w}").words) > 1)


def _verbs(words: Sequence[Word]) -> bool:
    """A relation stands in the slot, not a thing."""
    return any(w.form in _VERBS and not w.named for w in words)


def _align(one: Sequence[Word], other: Sequence[Word]) -> tuple[int, list[Word], list[Word]]:
    """(how many words both have, what is left of each)."""
    there = Counter(w.form for w in other)
    left: list[Word] = []
    taken: Counter[str] = Counter()
    for word in one:
        if there[word.form] > taken[word.form]:
            taken[word.form] += 1
        else:
            left.append(word)
    right: list[Word] = []
    given: Counter[str] = Counter()
    for word in other:
        if given[word.form] < taken[word.form]:
            given[word.form] += 1
        else:
            right.append(word)
    for word in list(left):
        if len(word.form) < 5 or word.named:
            continue
        match = next(
            (w for w in right if len(w.form) >= 5 and not w.named and _near(word.form, w.form)), None
        )
        if match is not None:
            left.remove(word)
            right.remove(match)
    return len(one) - len(left), left, right


def _near(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return (longer.startswith(shorter) and len(longer) - len(shorter) <= 4) or fuzz.ratio(one, other) >= 88


def _beyond(one: Sequence[str], other: Sequence[str]) -> tuple[list[str], list[str]]:
    a, b = Counter(one), Counter(other)
    return sorted((a - b).elements()), sorted((b - a).elements())


def _part_of(one: str, other: str) -> bool:
    """``June 2027`` and ``30 June 2027`` do not disagree."""
    if "<" not in one or one.startswith("<w") != other.startswith("<w"):
        return False
    parts = zip(one.strip("<>").split("-"), other.strip("<>").split("-"), strict=False)
    return not one.startswith("<w") and all(x == y or "*" in (x, y) for x, y in parts)


def _substance(words: Sequence[Word]) -> bool:
    return any(not _loose(word) for word in words)


def _scopes(statement: Statement, left: Sequence[Word]) -> bool:
    if statement.chinese:
        return False
    return any(w.raw in lex.SCOPES and not w.after_verb for w in left)


def _opposite(
    a: Statement, b: Statement, left: Sequence[Word], right: Sequence[Word]
) -> tuple[str, str] | None:
    if a.chinese:
        for pair in lex.ZH_ANTONYMS:
            x, y = pair.split()
            for first, second in ((x, y), (y, x)):
                if first in a.text and second in b.text and second not in a.text and first not in b.text:
                    return first, second
        return None
    for one in left:
        for two in right:
            pairs = (frozenset((one.form, two.form)), frozenset((one.raw, two.raw)))
            if pairs[0] in _STEMMED or pairs[1] in _ANTONYMS or _prefixed(one.form, two.form):
                return one.raw, two.raw
    loose_a = a.raw_words - b.raw_words
    loose_b = b.raw_words - a.raw_words
    for word in loose_a:
        for match in loose_b:
            if frozenset((word, match)) in _ANTONYMS and word not in ("up", "down", "on", "off", "first"):
                return word, match
    return None


def _prefixed(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 4 and longer in {p + shorter for p in ("un", "in", "im", "non", "non-", "dis", "a")}


def _without(words: Sequence[Word], raw: str) -> list[Word]:
    if not raw.isascii():
        return [w for w in words if w.raw not in raw]
    return [w for w in words if w.raw != raw]


def _one_run(words: Sequence[Word]) -> bool:
    return words[-1].place - words[0].place < len(words)


def _last_place(statement: Statement, slot: Sequence[Word]) -> bool:
    """The slot is the whole subject: nothing else stands before the verb."""
    return all(w.after_verb or w in slot or w.place > slot[-1].place for w in statement.words)


def _swapped(a: Statement, b: Statement) -> bool:
    """``A calls B`` and ``B calls A``: the same words around the verb, turned."""
    if a.passive != b.passive or (a.raw_words | b.raw_words) & {"is", "are", "each", "every", "是", "equal"}:
        return False
    before_a = {w.form for w in a.words if not w.after_verb and w.form not in _VERBS}
    before_b = {w.form for w in b.words if not w.after_verb and w.form not in _VERBS}
    after_a = {w.form for w in a.words if w.after_verb}
    after_b = {w.form for w in b.words if w.after_verb}
    return (
        bool(before_a and before_b)
        and not before_a & before_b
        and before_a <= after_b
        and before_b <= after_a
    )


__all__ = ["Judgement", "Verdict", "judge", "read"]

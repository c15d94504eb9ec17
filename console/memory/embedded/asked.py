"""What a query asks for: its concepts, the rows that hold each, its times, and the kind of answer it wants.

A concept is a content word with the forms of it that a stemmer cannot know, or a pair of CJK characters. A word that
no memory holds is looked for by its beginning and then as a slip of the finger, among the index's own terms.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from console.memory.embedded import dates, forms, words

COMMON = 1000
"""Memories; a concept that more of them hold does not bring candidates by itself. Scoring costs about 4
microseconds a row (measured at 100,000 memories: 60 ms at the median with every row of every word, 9 ms so)."""
_COUNTED = 4000
"""Memories up to which a common concept is counted."""
_LEAST_IDF = 1e-6
_MOST = 48
_LEAST_STEM = 4
_WHEN = re.compile(
    r"\b(?:when|what (?:day|date|month|year|time)|which (?:day|date|month|year)|how long ago)\b|什么时候|何时|哪天|哪一天|哪年|几月|几号",
    re.I,
)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|old|long|often|far|tall|big)\b|多少|几个|几次|多久|多大|多长", re.I
)


@dataclass(frozen=True, slots=True)
class Concept:
    word: str
    expression: str
    """FTS5: any of its forms."""
    pair: bool
    """Of CJK characters: overlapping its neighbours, so each counts for half."""
    rows: frozenset[int]
    """Memories that hold it, any field; empty where they are too many to be told apart by it."""
    common: bool
    idf: float
    instead: str = ""
    """The term of the index that was taken for a word nobody wrote."""


@dataclass(frozen=True, slots=True)
class Asked:
    concepts: tuple[Concept, ...]
    spans: tuple[tuple[int, int], ...]
    """Times that the query names, or that the caller asked for: [start, end) in microseconds."""
    wants: str
    """time, number, or '' for anything."""

    def of(self, pair: bool) -> list[Concept]:
        return [concept for concept in self.concepts if concept.pair is pair]


def understood(db: sqlite3.Connection, query: str, anchor: int, window: tuple[int, int] | None) -> Asked:
    """``anchor``: when it is asked, microseconds since 1970."""
    spans = dates.named(query, anchor)
    bare = dates.without_relative(query, spans)
    if not any(map(str.isalnum, bare)):
        bare = query
    total = int(db.execute("SELECT count(*) FROM memory_index_docsize").fetchone()[0])
    names = words.name_parts(bare)
    concepts = []
    for word in list(dict.fromkeys([*words.query_words(bare), *names]))[:_MOST]:
        concept = _concept(db, word, [word, *forms.others(word)], False, total)
        if not concept.rows and not concept.common:
            for instead in _nearest(db, word):
                concept = _concept(db, word, [instead], False, total, instead)
                if concept.rows or concept.common:
                    break
        concepts.append(concept)
    for pair in words.query_pairs(dates.apart(query, spans))[:_MOST]:
        concept = _concept(db, pair, [pair], True, total)
        missing = len(pair) > 1 and not concept.rows and not concept.common
        for part in pair if missing else (pair,):
            if not missing:
                concepts.append(concept)
            elif not any(part in known.word for known in concepts if known.rows):
                concepts.append(_concept(db, part, [part], True, total))
    times = [bounds for span in spans for bounds in dates.years_of(span)]
    if window is not None:
        times.append(window)
    wants = "time" if _WHEN.search(query) else "number" if _HOW_MANY.search(query) else ""
    return Asked(tuple(concepts), tuple(times), wants)


def _concept(
    db: sqlite3.Connection, word: str, alternatives: Sequence[str], pair: bool, total: int, instead: str = ""
) -> Concept:
    expression = any_of([_phrase(one) for one in alternatives])
    found = db.execute(
        "SELECT rowid FROM memory_index WHERE memory_index MATCH ? LIMIT ?", [expression, COMMON + 1]
    ).fetchall()
    common = len(found) > COMMON
    rows = frozenset() if common else frozenset(row for (row,) in found)
    holding = len(found)
    if common:
        sql = "SELECT count(*) FROM (SELECT rowid FROM memory_index WHERE memory_index MATCH ? LIMIT ?)"
        holding = int(db.execute(sql, [expression, _COUNTED]).fetchone()[0])
    # FTS5's own measure, so that what is added to its scores has their unit
    idf = max(math.log(max(total - holding + 0.5, 0.5) / (holding + 0.5)), _LEAST_IDF) if found else 0.0
    return Concept(
        word,
        expression,
        pair,
        rows,
        common,
        idf * (0.25 if len(word) == 1 else 0.5) if pair else idf,
        instead,
    )


def _nearest(db: sqlite3.Connection, word: str) -> list[str]:
    """Terms of the index that may be meant by a word that it does not hold, best first."""
    if len(word) <= _LEAST_STEM or not word.isascii() or word.isdigit():
        return []
    terms = [
        term
        for (term,) in db.execute(
            "SELECT term FROM temp.memory_terms WHERE term >= ? AND term < ?",
            [word[:2], word[:2] + "\U0010ffff"],
        )
    ]
    scored = []
    for term in terms:
        shared = _shared(word, term)
        if shared >= max(_LEAST_STEM, len(word) - 4) and len(term) - shared <= 4:
            scored.append((abs(len(word) - len(term)) * 0.5, term))
        elif len(term) >= _LEAST_STEM:
            slips = min(_slips(word[: len(term) + more], term) for more in (0, 1, -1))
            if slips <= (1 if len(term) < 7 else 2):
                scored.append((slips + abs(len(word) - len(term)) * 0.1, term))
    return [term for _, term in sorted(scored)[:3]]


def _shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _slips(one: str, other: str) -> int:
    """Letters to add, drop, change or swap."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def any_of(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else "(" + " OR ".join(parts) + ")"


def all_of(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else "(" + " AND ".join(parts) + ")"


def _phrase(word: str) -> str:
    """Nothing in it is an operator of FTS5. One CJK character stands for every pair that it begins."""
    phrase = '"' + word.replace('"', '""') + '"'
    return phrase + "*" if words.is_single(word) else phrase


Answers = Callable[[str], bool]


def answers(wants: str) -> Answers | None:
    """Whether a fact can hold the kind of answer that is wanted; None where anything can."""
    if wants == "time":
        return dates.mentions_time
    if wants == "number":
        return re.compile(
            r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|half|once|twice)\b|[一二三四五六七八九十百千两]",
            re.I,
        ).search  # type: ignore[return-value]
    return None

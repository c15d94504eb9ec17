"""The rankings that recall adds up. Each arm: a search, and what earlier arms found -> rows, best first.

| arm       | ranks by                                                                             |
|-----------|--------------------------------------------------------------------------------------|
| keyword   | BM25 over stemmed words; a fact's text weighs most, then names and the parts of      |
|           | camelCase names, tags, context                                                       |
| grams     | BM25 over pairs of CJK characters                                                    |
| neighbour | what the query asks for, the fact does not say, and the facts or turns beside it do  |
| coverage  | the share of what is asked for that the fact (or, for half, what stands beside) says |
| temporal  | how near the fact is to a time that the query names                                  |
| answer    | it holds a time where "when" is asked, a number where "how many" is                  |

Scores of keyword, grams and neighbour have BM25's unit. The others are shares between 0 and 1.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from console.memory.embedded import asked as asking
from console.memory.embedded.asked import COMMON, Asked, Concept, all_of, any_of
from console.memory.embedded.beside import Place, beside, places
from console.memory.embedded.codec import to_json

_ENOUGH = 20
_SLACK = 3
"""How many times the limit is ranked before filters are looked at."""
_BROUGHT = 1200
"""Rows that the rarest concepts bring; what is more frequent only scores those rows, as in WAND."""
_SEEDS = 40
"""Hits whose neighbours are looked at."""
_JUDGED = 60
"""Hits whose text is looked at."""
_DAY = 86_400_000_000
_SAID_TOO = 0.15
"""What a neighbour adds for a word that the fact says itself."""


@dataclass(frozen=True, slots=True)
class Hit:
    mem: int
    score: float


@dataclass(slots=True)
class Search:
    db: sqlite3.Connection
    asked: Asked
    where: str
    """SQL over the memory ``m``: its bank and whatever else narrows the recall."""
    values: Sequence[object]
    limit: int
    near: dict[int, dict[str, float]] = field(default_factory=dict)
    """Of each row that has neighbours: concept -> how near it stands (0 to 1). Filled by the neighbour arm."""

    def matching(self, expression: str, weights: str, newest: int = 0) -> list[Hit]:
        """BM25, best first, of equal ones the newer statement. A column is left out by the weight 0: a column filter
        in the expression takes twice as long (measured). Looks at rows one by one only when the filters left too
        few of the best. ``newest``: so many of the latest rows are scored at first."""
        ranked = f"""
            SELECT rowid AS mem, -bm25(memory_index, {weights}) AS score FROM memory_index
            WHERE memory_index MATCH ? ORDER BY score DESC, rowid DESC
        """
        first = f"{ranked} LIMIT {self.limit * _SLACK}"
        if newest:
            first = f"""
                SELECT rowid AS mem, -bm25(memory_index, {weights}) AS score FROM memory_index
                WHERE memory_index MATCH ? ORDER BY rowid DESC LIMIT {newest}
            """
        for source in (first, ranked):
            rows = self.db.execute(
                f"SELECT f.mem, f.score FROM ({source}) f CROSS JOIN memories m ON m.mem = f.mem WHERE {self.where}"
                " ORDER BY f.score DESC, m.mentioned_at DESC, f.mem DESC LIMIT ?",
                [expression, *self.values, self.limit],
            ).fetchall()
            if len(rows) == self.limit or (
                source is first and self._matches(expression, newest or self.limit * _SLACK)
            ):
                break
        return [Hit(mem, score) for mem, score in rows if score > 0]

    def _matches(self, expression: str, at_most: int) -> bool:
        """Whether no more than so many rows match at all. Cheap: nothing is scored."""
        sql = "SELECT count(*) FROM (SELECT rowid FROM memory_index WHERE memory_index MATCH ? LIMIT ?)"
        return int(self.db.execute(sql, [expression, at_most + 1]).fetchone()[0]) <= at_most


Ranked = Mapping[str, Sequence[Hit]]
Arm = Callable[[Search, Ranked], list[Hit]]


def keyword(search: Search, _: Ranked) -> list[Hit]:
    return _lexical(search, search.asked.of(pair=False), "1.0, 0.3, 0.4, 0.6, 0.6")


def grams(search: Search, _: Ranked) -> list[Hit]:
    return _lexical(search, search.asked.of(pair=True), "0.0, 0.0, 0.0, 0.0, 1.0")


def neighbour(search: Search, ranked: Ranked) -> list[Hit]:
    """A word that the fact itself says counts little again: a bonus for standing beside another hit would put it
    before a better answer."""
    concepts = [concept for concept in search.asked.concepts if concept.rows]
    scores: dict[int, float] = {}
    for mem, around in beside(search.db, _found(ranked)[:_SEEDS], search.where, search.values).items():
        near: dict[str, float] = {}
        score = 0.0
        for concept in concepts:
            close = 0.0
            for other, weight in around:
                if weight > close and other in concept.rows:
                    close = weight
            if close:
                near[concept.word] = close
                score += concept.idf * close * (_SAID_TOO if mem in concept.rows else 1.0)
        if score:
            search.near[mem] = near
            scores[mem] = score
    return _sorted(scores)


def coverage(search: Search, ranked: Ranked) -> list[Hit]:
    whole = sum(concept.idf for concept in search.asked.concepts if concept.rows)
    if not whole:
        return []
    scores = {}
    for mem in _found(ranked, "keyword", "grams", "neighbour"):
        near = search.near.get(mem, {})
        said = sum(
            concept.idf * (1.0 if mem in concept.rows else 0.5 * near.get(concept.word, 0.0))
            for concept in search.asked.concepts
            if concept.rows
        )
        if said:
            scores[mem] = said / whole
    return _sorted(scores)


def temporal(search: Search, ranked: Ranked) -> list[Hit]:
    """1 inside the time, less the further away (a half at its own length, at least a day); facts of that time
    are candidates also where no word is found."""
    spans = search.asked.spans
    if not spans:
        return []
    known = {place.mem: place for place in places(search.db, _found(ranked, "keyword", "grams", "neighbour"))}
    for start, end in spans:
        rows = search.db.execute(
            f"SELECT m.mem FROM memories m WHERE {search.where} AND m.state = 'valid' AND m.mentioned_at >= ?"
            " AND m.mentioned_at < ? ORDER BY m.mentioned_at DESC LIMIT ?",
            [*search.values, start, end, _ENOUGH],
        ).fetchall()
        known |= {place.mem: place for place in places(search.db, [mem for (mem,) in rows])}
    return _sorted(
        {
            mem: score
            for mem, place in known.items()
            if (score := max(_closeness(place, *span) for span in spans)) > 0.05
        }
    )


def _closeness(place: Place, start: int, end: int) -> float:
    best = 0.0
    for first, last in ((place.mentioned, place.mentioned), (place.started, place.ended)):
        if first is None or last is None:
            continue
        away = max(start - last, first - end + 1, 0)
        best = max(best, 1.0 if not away else 0.8 / (1 + away / max(end - start, _DAY)))
    return best


def answer(search: Search, ranked: Ranked) -> list[Hit]:
    fits = asking.answers(search.asked.wants)
    if fits is None:
        return []
    judged = _found(ranked, "keyword", "grams", "neighbour")[:_JUDGED]
    rows = search.db.execute(
        "SELECT m.mem, m.text FROM json_each(?) j CROSS JOIN memories m ON m.mem = j.value", [to_json(judged)]
    )
    return [Hit(mem, 1.0) for mem, text in rows if fits(text)]


ARMS: dict[str, Arm] = {
    "keyword": keyword, "grams": grams, "neighbour": neighbour, "coverage": coverage, "temporal": temporal, "answer": answer,
}  # fmt: skip


def _found(ranked: Ranked, *names: str) -> list[int]:
    """Rows of these arms (default: the lexical ones), the best sums first."""
    sums: dict[int, float] = {}
    for name in names or ("keyword", "grams"):
        for hit in ranked.get(name, ()):
            sums[hit.mem] = sums.get(hit.mem, 0.0) + hit.score
    return sorted(sums, key=lambda mem: (-sums[mem], -mem))


def _sorted(scores: Mapping[int, float]) -> list[Hit]:
    return [Hit(mem, score) for mem, score in sorted(scores.items(), key=lambda row: (-row[1], -row[0]))]


def _lexical(search: Search, concepts: Sequence[Concept], weights: str) -> list[Hit]:
    """Rows with any of the concepts. The rarest bring rows and are scored by BM25; a more frequent one only adds to
    rows that are there, by its idf: BM25 would walk every row that holds it, for each time it stands in the query."""
    rare: list[Concept] = []
    frequent: list[Concept] = []
    brought = 0
    for concept in sorted((one for one in concepts if one.rows), key=lambda one: len(one.rows)):
        if rare and brought + len(concept.rows) > _BROUGHT:
            frequent.append(concept)
        else:
            rare.append(concept)
            brought += len(concept.rows)
    common = [concept for concept in concepts if concept.common]
    if not rare:
        return _of_common(search, [concept.expression for concept in common], weights)
    some = any_of([concept.expression for concept in rare])
    scores = {hit.mem: hit.score for hit in search.matching(some, weights)}
    for concept in frequent:
        for mem in scores.keys() & concept.rows:
            scores[mem] += concept.idf
    for concept in common:
        rows = search.db.execute(
            "SELECT rowid FROM memory_index WHERE memory_index MATCH ?", [all_of([some, concept.expression])]
        )
        for mem in scores.keys() & {row for (row,) in rows}:
            scores[mem] += concept.idf
    return _sorted(scores)


def _of_common(search: Search, common: Sequence[str], weights: str) -> list[Hit]:
    """Only words that many hold: all of them, else two that stand side by side in the query, else any. Of thousands of rows that
    are equally good, the latest are scored."""
    tries = []
    if common:
        tries = [all_of(common), any_of(common)]
    if len(common) > 2:
        tries.insert(1, any_of([all_of(pair) for pair in pairwise(common)]))
    hits: list[Hit] = []
    for expression in tries:
        hits = search.matching(expression, weights, newest=COMMON)
        if len(hits) >= _ENOUGH:
            break
    return hits

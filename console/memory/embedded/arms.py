"""The rankings that recall fuses. Each arm: a search, and what earlier arms found -> rows, best first.

| arm       | ranks by                                                                      |
|-----------|-------------------------------------------------------------------------------|
| keyword   | BM25 over stemmed words; a fact's text weighs most, then names and the parts  |
|           | of camelCase names, tags, context                                             |
| grams     | BM25 over pairs of CJK characters                                             |
| entity    | names of the query that the fact names                                        |
| neighbour | facts beside a hit: the turn before or after often holds the answer           |
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from console.memory.embedded import words
from console.memory.embedded.entities import entities as named_in

COMMON = 1000
"""Memories; a word that more of them hold does not bring candidates by itself. Scoring costs about 4
microseconds a row (measured at 100,000 memories: 60 ms at the median with every row of every word, 9 ms so)."""
_ENOUGH = 20
_MOST_WORDS = 48
_BESIDE = 30
"""Hits whose neighbours are looked at."""
_SLACK = 3
"""How many times the limit is ranked before filters are looked at."""


@dataclass(frozen=True, slots=True)
class Hit:
    mem: int
    score: float


@dataclass(frozen=True, slots=True)
class Search:
    db: sqlite3.Connection
    query: str
    where: str
    """SQL over the memory ``m``: its bank and whatever else narrows the recall."""
    values: Sequence[object]
    limit: int

    def matching(self, expression: str, weights: str) -> list[Hit]:
        """BM25, best first, of equal ones the newer statement. A column is left out by the weight 0: a column filter
        in the expression takes twice as long (measured). Looks at rows one by one only when the filters left too
        few of the best."""
        ranked = f"""
            SELECT rowid AS mem, -bm25(memory_index, {weights}) AS score FROM memory_index
            WHERE memory_index MATCH ? ORDER BY score DESC, rowid DESC
        """
        for slack in (f"LIMIT {self.limit * _SLACK}", ""):
            rows = self.db.execute(
                f"SELECT f.mem, f.score FROM ({ranked} {slack}) f CROSS JOIN memories m ON m.mem = f.mem WHERE {self.where}"
                " ORDER BY f.score DESC, m.mentioned_at DESC, f.mem DESC LIMIT ?",
                [expression, *self.values, self.limit],
            ).fetchall()
            if len(rows) == self.limit or (slack and self._matches(expression, self.limit * _SLACK)):
                break
        return [Hit(mem, score) for mem, score in rows if score > 0]

    def _matches(self, expression: str, at_most: int) -> bool:
        """Whether no more than so many rows match at all."""
        return self.counted(expression, at_most + 1) <= at_most

    def counted(self, expression: str, cap: int) -> int:
        """Matching rows, counted up to ``cap``: cheap, nothing is scored."""
        sql = "SELECT count(*) FROM (SELECT rowid FROM memory_index WHERE memory_index MATCH ? LIMIT ?)"
        return int(self.db.execute(sql, [expression, cap]).fetchone()[0])


Arm = Callable[[Search, Mapping[str, Sequence[Hit]]], list[Hit]]


def keyword(search: Search, _: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    asked = [*words.query_words(search.query), *words.name_parts(search.query)]
    return _ranked(search, _phrases(asked), "1.0, 0.3, 0.4, 0.6, 0.6")


def grams(search: Search, _: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    return _ranked(search, _phrases(words.query_pairs(search.query)), "0.0, 0.0, 0.0, 0.0, 1.0")


def entity(search: Search, _: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    names = [_phrase(name) for name in named_in(search.query) if any(map(str.isalnum, name))]
    return _ranked(search, names, "0.0, 0.0, 0.0, 1.0, 0.0")


def neighbour(search: Search, ranked: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    # What was hit itself needs no help: a bonus for standing beside another hit would put it before a better answer.
    hit_itself = {hit.mem for name in ("keyword", "grams") for hit in ranked[name][:_BESIDE]}
    best: dict[int, float] = {}
    for name in ("keyword", "grams"):
        for rank, hit in enumerate(ranked[name][:_BESIDE], start=1):
            beside = search.db.execute(
                "SELECT m.mem FROM memories h JOIN memories m ON m.doc = h.doc AND m.state = 'valid'"
                " AND m.position BETWEEN h.position - 1 AND h.position + 1 AND m.mem <> h.mem"
                f" WHERE h.mem = ? AND {search.where}",
                [hit.mem, *search.values],
            )
            for (mem,) in beside:
                if mem in hit_itself:
                    continue
                best[mem] = max(best.get(mem, 0.0), 1 / rank)
    return [Hit(mem, score) for mem, score in sorted(best.items(), key=lambda row: (-row[1], -row[0]))]


ARMS: dict[str, Arm] = {
    "keyword": keyword,
    "grams": grams,
    "entity": entity,
    "neighbour": neighbour,
}
"""In the order in which they run."""


def _ranked(search: Search, asked: Sequence[str], weights: str) -> list[Hit]:
    """Rows with any of the phrases, without scoring every row that holds a common one."""
    if not asked:
        return []
    counted = {phrase: search.counted(phrase, COMMON + 1) for phrase in asked}
    rare = [phrase for phrase in asked if 0 < counted[phrase] <= COMMON]
    common = [phrase for phrase in asked if counted[phrase] > COMMON]
    hits: list[Hit] = []
    for expression in _expressions(rare, common):
        hits = search.matching(expression, weights)
        if len(hits) >= _ENOUGH:
            break
    return hits


def _expressions(rare: Sequence[str], common: Sequence[str]) -> list[str]:
    """What to ask, the next one only where the one before found little."""
    if not rare and not common:
        return []
    if rare:
        some = _any(rare)
        parts = [some]
        if common:
            parts.append(f"({some} AND {_any(common)})")  # brings no row, but the common words score
        if len(common) > 1:
            parts.append(_all(common))
        return [" OR ".join(parts)]
    if len(common) < 3:
        return [_all(common), _any(common)]
    pairs = [_all(pair) for pair in pairwise(common)]
    return [_all(common), _any(pairs), _any(common)]


def _any(parts: Sequence[str]) -> str:
    return "(" + " OR ".join(parts) + ")"


def _all(parts: Sequence[str]) -> str:
    return "(" + " AND ".join(parts) + ")"


def _phrases(asked: Sequence[str]) -> list[str]:
    return [_phrase(word) for word in dict.fromkeys(asked)][:_MOST_WORDS]


def _phrase(word: str) -> str:
    """Nothing in it is an operator of FTS5. One CJK character stands for every pair that it begins."""
    phrase = '"' + word.replace('"', '""') + '"'
    return phrase + "*" if words.is_single(word) else phrase

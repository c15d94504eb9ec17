"""What stands beside a fact: its neighbours in the document and, of short documents (turns), the turns before and after."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from console.memory.embedded.codec import to_json

_WITHIN = {-1: 0.6, 1: 0.5, -2: 0.4, 2: 0.3}
"""A neighbour in the document, by how many facts after this one it comes."""
_TURNS = {-1: 0.45, 1: 0.2, -2: 0.15}
"""A turn beside this one, by how many turns later it was said. What came before tells what "it" is; an answer follows
its question."""
_AFTER_QUESTION = 0.65
_SHORT = 6
"""Facts; a document of more is no turn."""
_SESSION = 6 * 3_600_000_000
"""Microseconds between turns of one conversation."""


@dataclass(frozen=True, slots=True)
class Place:
    mem: int
    doc: int
    position: int
    mentioned: int | None
    started: int | None
    ended: int | None
    context: str | None
    asks: bool
    """It is a question."""


_COLUMNS = """
    m.mem, m.doc, m.position, m.mentioned_at, m.occurred_start, m.occurred_end, m.context,
    substr(m.text, -1) IN ('?', '？')
"""


def places(db: sqlite3.Connection, mems: Sequence[int]) -> list[Place]:
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN memories m ON m.mem = j.value",
        [to_json(list(mems))],
    )
    return [Place(*row) for row in rows]


def beside(
    db: sqlite3.Connection, seeds: Sequence[int], where: str, values: Sequence[object]
) -> dict[int, list[tuple[int, float]]]:
    """Of every seed and every fact beside one: the facts beside it and how near each stands (0 to 1)."""
    found = places(db, seeds)
    turns = {place.doc + step for place in found for step in range(-2, 3)}
    starts = db.execute(
        f"SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN memories m ON m.doc = j.value"
        f" WHERE m.state = 'valid' AND m.position <= {_SHORT} AND {where}",
        [to_json(sorted(turns)), *values],
    )
    around = {row[0]: Place(*row) for row in starts}
    deep = [place.mem for place in found if place.position > _SHORT - 2]
    if deep:
        inside = db.execute(
            f"SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN memories h ON h.mem = j.value"
            " CROSS JOIN memories m ON m.doc = h.doc AND m.state = 'valid'"
            f" AND m.position BETWEEN h.position - 2 AND h.position + 2 WHERE {where}",
            [to_json(deep), *values],
        )
        around |= {row[0]: Place(*row) for row in inside}
    documents: dict[int, list[Place]] = defaultdict(list)
    for place in around.values():
        documents[place.doc].append(place)
    turns_beside = {doc: _turns(doc, facts, documents) for doc, facts in documents.items() if _is_turn(facts)}
    return {
        place.mem: _inside(place, documents[place.doc]) + turns_beside.get(place.doc, [])
        for place in around.values()
    }


def _is_turn(facts: Sequence[Place]) -> bool:
    return max(place.position for place in facts) < _SHORT


def _inside(place: Place, facts: Sequence[Place]) -> list[tuple[int, float]]:
    if len(facts) == 1:
        return []
    steps = ((other.mem, _WITHIN.get(other.position - place.position)) for other in facts)
    return [(mem, weight) for mem, weight in steps if weight is not None]


def _turns(doc: int, facts: Sequence[Place], documents: dict[int, list[Place]]) -> list[tuple[int, float]]:
    near = []
    for step, weight in _TURNS.items():
        turn = documents.get(doc + step)
        if turn is None or not _is_turn(turn) or not _together(facts[0], turn[0]):
            continue
        if step == -1 and max(turn, key=lambda place: place.position).asks:
            weight = _AFTER_QUESTION
        near += [(other.mem, weight) for other in turn]
    return near


def _together(one: Place, other: Place) -> bool:
    """Said in one conversation, as far as can be told."""
    if one.context != other.context:
        return False
    if one.mentioned is None or other.mentioned is None:
        return one.mentioned is other.mentioned
    return abs(one.mentioned - other.mentioned) <= _SESSION

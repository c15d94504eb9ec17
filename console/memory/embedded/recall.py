"""Recall: several lexical rankings (:mod:`.arms`), fused by their ranks. One file, one query: one answer.

Another arm (vectors) is one function more in ``ARMS``; nothing here knows what an arm ranks by.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

from console.memory.embedded import asked as asking
from console.memory.embedded import banks, memories, tags, times
from console.memory.embedded.arms import ARMS, Hit, Search
from console.memory.embedded.codec import to_json
from console.memory.errors import InvalidInput
from console.memory.models import Memory, RecallRequest, RecallResponse, RecallResult

BUDGETS = {"low": 100, "mid": 300, "high": 1000}
"""Candidates an arm may bring."""
_TRACED = 100
"""Hits of an arm that a trace lists."""
_READ = 50
"""Memories read at a time."""
_WEIGHTS = {"keyword": 1.0, "grams": 0.4, "neighbour": 1.1}
"""Of the arms with BM25's unit."""
_SHARES = {"coverage": 1.2, "temporal": 0.4, "answer": 0.12}
"""Of the arms whose scores are shares: a part of the best lexical sum."""
_QUESTION = 0.6
"""A fact that asks is seldom the answer."""
_CHARACTERS_PER_TOKEN = 4
_TYPES = ("world", "experience", "observation")


def recall(db: sqlite3.Connection, bank_id: str, request: RecallRequest) -> RecallResponse:
    """Raises InvalidInput and NotFound."""
    started = time.perf_counter()
    search = _search(db, bank_id, request)
    ranked: dict[str, list[Hit]] = {}
    seconds: dict[str, float] = {}
    for name, arm in ARMS.items():
        begun = time.perf_counter()
        ranked[name] = _gated(arm(search, ranked), request.min_scores, name)
        seconds[name] = time.perf_counter() - begun
    fused, order = _ordered(db, _fused(ranked))
    order = order[: search.limit]
    results = _within(db, bank_id, request, order, fused, ranked)
    return RecallResponse(
        results=results,
        chunks=_chunks(db, bank_id, results) if request.include_chunks else None,
        entities=_entities(db, bank_id, results) if request.include_entities else None,
        trace=_trace(db, request, search, ranked, seconds, results, time.perf_counter() - started)
        if request.trace
        else None,
    )


def _search(db: sqlite3.Connection, bank_id: str, request: RecallRequest) -> Search:
    if not any(char.isalnum() for char in request.query):
        raise InvalidInput("the query has no word", hint="ask with at least one letter or digit")
    if request.budget not in BUDGETS:
        raise InvalidInput(f"unknown budget {request.budget!r}", hint="one of " + ", ".join(BUDGETS))
    for fact_type in request.types:
        if fact_type not in _TYPES:
            raise InvalidInput(f"unknown type {fact_type!r}", hint="one of " + ", ".join(_TYPES))
    asked_at = times.stamp(request.query_timestamp, "query_timestamp")
    if request.tag_groups and request.tags:
        raise InvalidInput("tags and tag_groups exclude each other", hint="give one of them")
    where = "m.bank = ?"
    conditions: list[object] = [banks.find(db, bank_id)]
    if request.types:
        where += f" AND m.fact_type IN ({', '.join('?' * len(request.types))})"
        conditions += request.types
    tagged, tag_values = tags.condition("m.tags", request.tags, request.tags_match)
    if tagged and not request.tag_groups:
        where += f" AND {tagged}"
        conditions += tag_values
    for node in request.tag_groups:
        grouped, group_values = tags.group("m.tags", node)
        where += f" AND {grouped}"
        conditions += group_values
    window = _window(request.temporal_window)
    asked = asking.understood(db, request.query, times.now() if asked_at is None else asked_at, window)
    return Search(db, asked, where, conditions, BUDGETS[request.budget])


def _window(window: Mapping[str, str] | None) -> tuple[int, int] | None:
    """As a server takes it: it ranks, it does not filter. One bound may be missing."""
    if not window:
        return None
    start = times.stamp(window.get("start"), "temporal_window.start")
    end = times.stamp(window.get("end"), "temporal_window.end")
    if start is None and end is None:
        raise InvalidInput("temporal_window has neither start nor end", hint="give at least one of them")
    if start is not None and end is not None and end < start:
        raise InvalidInput("the end of temporal_window is before its start", hint="swap them")
    return (0 if start is None else start, times.LATEST if end is None else end + 1)


# Fusion and the answer ----------------------------------------------------------------------------------


def _fused(ranked: Mapping[str, Sequence[Hit]]) -> dict[int, float]:
    fused: dict[int, float] = {}
    for name, weight in _WEIGHTS.items():
        for hit in ranked[name]:
            fused[hit.mem] = fused.get(hit.mem, 0.0) + weight * hit.score
    unit = max(fused.values(), default=1.0)
    for name, share in _SHARES.items():
        for hit in ranked[name]:
            fused[hit.mem] = fused.get(hit.mem, 0.0) + share * unit * hit.score
    return fused


def _gated(hits: list[Hit], min_scores: Mapping[str, float] | None, name: str) -> list[Hit]:
    """A minimum gates its own arm only: the fact may still come through another."""
    least = (min_scores or {}).get(name)
    return hits if least is None else [hit for hit in hits if hit.score >= least]


def _ordered(db: sqlite3.Connection, fused: Mapping[int, float]) -> tuple[dict[int, float], list[int]]:
    """Best first; of equal ones the newer statement, then the later row."""
    said = {}
    weighed = dict(fused)
    for mem, mentioned, asks in db.execute(
        "SELECT m.mem, coalesce(m.mentioned_at, 0), substr(m.text, -1) IN ('?', '？')"
        " FROM json_each(?) j CROSS JOIN memories m ON m.mem = j.value",
        [to_json(list(fused))],
    ):
        said[mem] = mentioned
        if asks:
            weighed[mem] *= _QUESTION
    return weighed, sorted(weighed, key=lambda mem: (-weighed[mem], -said[mem], -mem))


def _within(
    db: sqlite3.Connection,
    bank_id: str,
    request: RecallRequest,
    order: Sequence[int],
    fused: Mapping[int, float],
    ranked: Mapping[str, Sequence[Hit]],
) -> tuple[RecallResult, ...]:
    """What ``max_tokens`` and the least final score leave; the first hit always fits if there is any room.

    Reads memories as far as there is room for them: most candidates never become results.
    """
    least = (request.min_scores or {}).get("final", 0.0)
    top = fused[order[0]] if order else 1.0
    wanted = [mem for mem in order if fused[mem] / top >= least]
    by_arm = {name: {hit.mem: hit.score for hit in hits} for name, hits in ranked.items()}
    kept: list[RecallResult] = []
    room = request.max_tokens
    for start in range(0, len(wanted), _READ):
        batch = wanted[start : start + _READ]
        found = memories.by_rows(db, bank_id, batch)
        for mem in batch:
            cost = tokens(found[mem].text)
            if room <= 0 or (kept and cost > room):
                return tuple(kept)
            room -= cost
            scores = {"final": fused[mem] / top, **{arm: hits.get(mem) for arm, hits in by_arm.items()}}
            kept.append(_result(found[mem], scores))
    return tuple(kept)


def tokens(text: str) -> int:
    """Roughly what a model would count: four characters, or one CJK character."""
    if text.isascii():
        return len(text) // _CHARACTERS_PER_TOKEN + 1
    wide = sum(char >= "\u2e80" for char in text)
    return wide + (len(text) - wide) // _CHARACTERS_PER_TOKEN + 1


def _result(memory: Memory, scores: Mapping[str, float | None]) -> RecallResult:
    return RecallResult(
        id=memory.id,
        text=memory.text,
        type=memory.fact_type,
        document_id=memory.document_id,
        chunk_id=memory.chunk_id,
        context=memory.context,
        mentioned_at=memory.mentioned_at,
        occurred_start=memory.occurred_start,
        occurred_end=memory.occurred_end,
        entities=memory.entities,
        metadata=memory.metadata,
        tags=memory.tags,
        scores={name: None if score is None else round(score, 6) for name, score in scores.items()},
    )


def _chunks(db: sqlite3.Connection, bank_id: str, results: Sequence[RecallResult]) -> dict[str, Any]:
    """chunk id -> its text, in the order of the results, up to about 8,192 tokens."""
    chunks: dict[str, Any] = {}
    room = 8192
    for result in results:
        if result.chunk_id is None or result.chunk_id in chunks or room <= 0:
            continue
        row = db.execute(
            "SELECT d.text, c.start, c.stop, c.idx FROM memories m JOIN documents d ON d.doc = m.doc"
            " JOIN chunks c ON c.doc = m.doc AND c.idx = m.chunk WHERE m.id = ?",
            [result.id],
        ).fetchone()
        if row is None:
            continue
        text, start, stop, index = row
        chunks[result.chunk_id] = {
            "id": result.chunk_id,
            "text": text[start:stop],
            "chunk_index": index,
            "truncated": False,
        }
        room -= tokens(text[start:stop])
    return chunks


def _entities(db: sqlite3.Connection, bank_id: str, results: Sequence[RecallResult]) -> dict[str, Any]:
    bank_uuid = banks.identity(db, bank_id).removeprefix("uuid:")
    names = dict.fromkeys(name for result in results for name in result.entities or ())
    return {
        name: {"entity_id": memories.entity_id(bank_uuid, name), "canonical_name": name, "observations": []}
        for name in names
    }


def _trace(
    db: sqlite3.Connection,
    request: RecallRequest,
    search: Search,
    ranked: Mapping[str, Sequence[Hit]],
    seconds: Mapping[str, float],
    results: Sequence[RecallResult],
    total: float,
) -> dict[str, Any]:
    """In the server's words where it has them; every arm says how long it took, also one that found nothing."""
    shown = {hit.mem for hits in ranked.values() for hit in hits[:_TRACED]}
    told = {
        mem: (identifier, text)
        for mem, identifier, text in db.execute(
            "SELECT m.mem, m.id, m.text FROM json_each(?) j JOIN memories m ON m.mem = j.value",
            [to_json(list(shown))],
        )
    }
    return {
        "query": {
            "query_text": request.query,
            "words": [concept.word for concept in search.asked.concepts],
            "instead": {c.word: c.instead for c in search.asked.concepts if c.instead},
            "temporal_constraint": [[times.iso(bound) for bound in span] for span in search.asked.spans],
            "wants": search.asked.wants,
            "budget": request.budget,
            "max_tokens": request.max_tokens,
            "tags": list(request.tags),
            "tags_match": request.tags_match,
        },
        "retrieval_results": [
            {
                "method_name": name,
                "duration_seconds": round(seconds[name], 6),
                "found": len(hits),
                "results": [
                    {
                        "rank": rank,
                        "node_id": told[hit.mem][0],
                        "text": told[hit.mem][1],
                        "score": round(hit.score, 6),
                    }
                    for rank, hit in enumerate(hits[:_TRACED], start=1)
                ],
            }
            for name, hits in ranked.items()
        ],
        "summary": {"total_duration_seconds": round(total, 6), "results_returned": len(results)},
    }

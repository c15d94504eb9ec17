"""Recall: several lexical rankings ("arms"), fused by their ranks. Deterministic.

| arm       | ranks by                                                                     |
|-----------|------------------------------------------------------------------------------|
| keyword   | BM25 over stemmed words; a fact's text weighs most, then names, tags, context |
| grams     | BM25 over pairs of CJK characters and parts of camelCase names                |
| entity    | names of the query that the fact names                                        |
| neighbour | facts beside a keyword hit: the turn before or after often holds the answer    |

An arm is a function from a query to ranked rows, so that another one (vectors) fits in without a change elsewhere.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.memory.embedded import banks, memories, tags, times, words
from console.memory.embedded.entities import entities as named_in
from console.memory.errors import InvalidInput
from console.memory.models import Memory, RecallRequest, RecallResponse, RecallResult

BUDGETS = {"low": 100, "mid": 300, "high": 1000}
"""Candidates an arm may bring."""
_K = 60
"""Of reciprocal rank fusion: how little the first ranks differ."""
_WEIGHTS = {"keyword": 1.0, "grams": 1.0, "entity": 0.4, "neighbour": 0.2}
"""A neighbour says nothing about the question itself: with 0.35, what stood beside the second-best hit came before the
best one (measured on the demo)."""
_CHARACTERS_PER_TOKEN = 4
_MOST_WORDS = 64
_TYPES = ("world", "experience", "observation")


@dataclass(frozen=True, slots=True)
class Hit:
    mem: int
    score: float


@dataclass(frozen=True, slots=True)
class _Search:
    """One recall, as the arms see it."""

    db: sqlite3.Connection
    request: RecallRequest
    where: str
    values: list[object]
    limit: int

    def matching(self, expression: str, weights: str) -> list[Hit]:
        """Best first; bm25 is negative in SQLite, a score is not."""
        rows = self.db.execute(
            f"SELECT m.mem, -bm25(memory_index, {weights}) AS score FROM memory_index JOIN memories m ON m.mem = memory_index.rowid"
            f" WHERE memory_index MATCH ? AND {self.where} ORDER BY score DESC, m.mentioned_at DESC, m.mem DESC LIMIT ?",
            [expression, *self.values, self.limit],
        )
        return [Hit(mem, score) for mem, score in rows]


def recall(db: sqlite3.Connection, bank_id: str, request: RecallRequest) -> RecallResponse:
    """Raises InvalidInput and NotFound."""
    started = time.perf_counter()
    search = _search(db, bank_id, request)
    ranked: dict[str, list[Hit]] = {}
    seconds: dict[str, float] = {}
    for name, arm in _ARMS.items():
        begun = time.perf_counter()
        ranked[name] = _gated(arm(search, ranked), request.min_scores, name)
        seconds[name] = time.perf_counter() - begun
    fused = _fused(ranked)
    order = sorted(fused, key=lambda mem: -fused[mem])[: search.limit]
    found = memories.by_rows(db, bank_id, order)
    # Equal scores: the newer statement first, then the id, so that one file gives one order.
    order.sort(key=lambda mem: (-fused[mem], _backwards(found[mem].mentioned_at), found[mem].id))
    top = fused[order[0]] if order else 1.0
    by_arm = {name: {hit.mem: hit.score for hit in hits} for name, hits in ranked.items()}
    results = _within(
        [
            _result(
                found[mem],
                {"final": fused[mem] / top, **{arm: hits.get(mem) for arm, hits in by_arm.items()}},
            )
            for mem in order
        ],
        request,
    )
    return RecallResponse(
        results=results,
        chunks=_chunks(db, bank_id, results) if request.include_chunks else None,
        entities=_entities(db, bank_id, results) if request.include_entities else None,
        trace=_trace(request, ranked, seconds, found, results, time.perf_counter() - started)
        if request.trace
        else None,
    )


def _search(db: sqlite3.Connection, bank_id: str, request: RecallRequest) -> _Search:
    if not any(char.isalnum() for char in request.query):
        raise InvalidInput("the query has no word", hint="ask with at least one letter or digit")
    if request.budget not in BUDGETS:
        raise InvalidInput(f"unknown budget {request.budget!r}", hint="one of " + ", ".join(BUDGETS))
    for fact_type in request.types:
        if fact_type not in _TYPES:
            raise InvalidInput(f"unknown type {fact_type!r}", hint="one of " + ", ".join(_TYPES))
    times.stamp(request.query_timestamp, "query_timestamp")
    if request.tag_groups:
        raise InvalidInput(
            "tag_groups are not known to the embedded store yet", hint="use tags with tags_match"
        )
    where, values = "m.bank = ?", [banks.find(db, bank_id)]
    conditions: list[object] = list(values)
    if request.types:
        where += f" AND m.fact_type IN ({', '.join('?' * len(request.types))})"
        conditions += request.types
    tagged, tag_values = tags.condition("m.tags", request.tags, request.tags_match)
    if tagged and (request.tags or request.tags_match == "exact"):
        where += f" AND {tagged}"
        conditions += tag_values
    return _Search(db, request, where, conditions, BUDGETS[request.budget])


# Arms ---------------------------------------------------------------------------------------------------


def _keyword(search: _Search, _: Mapping[str, list[Hit]]) -> list[Hit]:
    asked = words.query_words(search.request.query)[:_MOST_WORDS]
    if not asked:
        return []
    expression = "{text context tags entities} : (" + " OR ".join(map(_quoted, asked)) + ")"
    return search.matching(expression, "1.0, 0.3, 0.4, 0.6, 0.0")


def _grams(search: _Search, _: Mapping[str, list[Hit]]) -> list[Hit]:
    asked = [*words.query_pairs(search.request.query), *(words.grams(search.request.query) or "").split()]
    if not asked:
        return []
    expression = "grams : (" + " OR ".join(map(_quoted, dict.fromkeys(asked[:_MOST_WORDS]))) + ")"
    return search.matching(expression, "0.0, 0.0, 0.0, 0.0, 1.0")


def _entity(search: _Search, _: Mapping[str, list[Hit]]) -> list[Hit]:
    names = named_in(search.request.query)
    if not names:
        return []
    expression = "entities : (" + " OR ".join(_quoted(name) for name in names) + ")"
    return search.matching(expression, "0.0, 0.0, 0.0, 1.0, 0.0")


def _neighbour(search: _Search, ranked: Mapping[str, list[Hit]]) -> list[Hit]:
    """Facts one place before or after a hit of the same document, ranked by that hit."""
    hits = [hit for name in ("keyword", "grams") for hit in ranked[name][:30]]
    best: dict[int, float] = {}
    for rank, hit in enumerate(hits):
        beside = search.db.execute(
            "SELECT m.mem FROM memories h JOIN memories m ON m.doc = h.doc AND m.state = 'valid'"
            f" AND m.position BETWEEN h.position - 1 AND h.position + 1 AND m.mem <> h.mem WHERE h.mem = ? AND {search.where}",
            [hit.mem, *search.values],
        )
        for (mem,) in beside:
            best.setdefault(mem, 1 / (1 + rank))
    return [Hit(mem, score) for mem, score in sorted(best.items(), key=lambda row: (-row[1], -row[0]))]


_ARMS: dict[str, Callable[[_Search, Mapping[str, list[Hit]]], list[Hit]]] = {
    "keyword": _keyword,
    "grams": _grams,
    "entity": _entity,
    "neighbour": _neighbour,
}


def _quoted(word: str) -> str:
    """A phrase of FTS5: nothing in it is an operator."""
    return '"' + word.replace('"', '""') + '"'


# Fusion and the answer ----------------------------------------------------------------------------------


def _fused(ranked: Mapping[str, Sequence[Hit]]) -> dict[int, float]:
    fused: dict[int, float] = {}
    for name, hits in ranked.items():
        for rank, hit in enumerate(hits, start=1):
            fused[hit.mem] = fused.get(hit.mem, 0.0) + _WEIGHTS[name] / (_K + rank)
    return fused


def _gated(hits: list[Hit], min_scores: Mapping[str, float] | None, name: str) -> list[Hit]:
    """A minimum gates its own arm only: the fact may still come through another."""
    least = (min_scores or {}).get(name)
    return hits if least is None else [hit for hit in hits if hit.score >= least]


def _within(results: list[RecallResult], request: RecallRequest) -> tuple[RecallResult, ...]:
    """What ``max_tokens`` and the least final score leave; the first hit always fits if there is any room."""
    least = (request.min_scores or {}).get("final")
    kept: list[RecallResult] = []
    room = request.max_tokens
    for result in results:
        if least is not None and result.scores is not None and (result.scores["final"] or 0.0) < least:
            continue
        cost = tokens(result.text)
        if room <= 0 or (kept and cost > room):
            break
        kept.append(result)
        room -= cost
    return tuple(kept)


def tokens(text: str) -> int:
    """Roughly what a model would count: four characters, or one CJK character."""
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


def _backwards(iso: str | None) -> int:
    return -(times.stamp(iso, "mentioned_at") or 0)


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
    request: RecallRequest,
    ranked: Mapping[str, Sequence[Hit]],
    seconds: Mapping[str, float],
    found: Mapping[int, Memory],
    results: Sequence[RecallResult],
    total: float,
) -> dict[str, Any]:
    return {
        "query": {
            "query_text": request.query,
            "words": words.query_words(request.query),
            "budget": request.budget,
            "max_tokens": request.max_tokens,
            "tags": list(request.tags),
            "tags_match": request.tags_match,
        },
        "retrieval_results": [
            {
                "method_name": name,
                "duration_seconds": round(seconds[name], 6),
                "results": [
                    {
                        "rank": rank,
                        "node_id": found[hit.mem].id,
                        "text": found[hit.mem].text,
                        "score": round(hit.score, 6),
                    }
                    for rank, hit in enumerate(hits, start=1)
                    if hit.mem in found
                ],
            }
            for name, hits in ranked.items()
        ],
        "summary": {"total_duration_seconds": round(total, 6), "results_returned": len(results)},
    }

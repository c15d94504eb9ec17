"""Why a recall found what it found, and what another set of options changes. Pure.

A trace is not versioned and differs between stores: what is missing or of another shape is left out, never an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from console.memory.models import RecallResponse, RecallResult

_COMPONENTS = ("cross_encoder_score_normalized", "rrf_normalized", "temporal", "recency", "proof_norm")


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """How one result came to its place."""

    id: str
    rank: int
    """In the answer, from 1."""
    arms: dict[str, int] = {}
    """Arm of the search -> the rank that it gave."""
    fused_rank: int | None = None
    rerank_rank: int | None = None
    rerank_score: float | None = None
    components: dict[str, float] = {}
    """What the last score is made of, where the server says so."""


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    fact_type: str = ""
    found: int = 0
    kept: int = 0
    """Of those found, how many are in the answer."""
    seconds: float | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    reasons: tuple[Reason, ...] = ()
    arms: tuple[Arm, ...] = ()
    phases: dict[str, float] = {}
    """Seconds."""
    seconds: float | None = None


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A result of two answers. A rank of None: not in that one."""

    id: str
    text: str
    document_id: str | None = None
    before: int | None = None
    after: int | None = None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    entered: tuple[Moved, ...] = ()
    left: tuple[Moved, ...] = ()
    moved: tuple[Moved, ...] = ()
    unmoved: int = 0


def explain(answer: RecallResponse) -> Explanation:
    """The trace of an answer, hit by hit."""
    trace = answer.trace or {}
    place = {result.id: at for at, result in enumerate(answer.results, 1)}
    arms: list[Arm] = []
    ranks: dict[str, dict[str, int]] = {}
    for entry in _maps(trace.get("retrieval_results")):
        name = str(entry.get("method_name") or "?")
        rows = _maps(entry.get("results"))
        for row in rows:
            rank, node = _whole(row.get("rank")), str(row.get("node_id"))
            if rank is not None and node in place:
                ranks.setdefault(node, {}).setdefault(name, rank)
        found = _whole(entry.get("found"))
        arms.append(
            Arm(
                name=name,
                fact_type=str(entry.get("fact_type") or ""),
                found=len(rows) if found is None else found,
                kept=sum(str(row.get("node_id")) in place for row in rows),
                seconds=_number(entry.get("duration_seconds")),
            )
        )
    fused = {str(row.get("node_id")): row for row in _maps(trace.get("rrf_merged"))}
    reranked = {str(row.get("node_id")): row for row in _maps(trace.get("reranked"))}
    summary = trace.get("summary")
    summary = summary if isinstance(summary, Mapping) else {}
    phases: dict[str, float] = {}
    for phase in _maps(summary.get("phase_metrics")):
        took = _number(phase.get("duration_seconds"))
        if took is not None:
            name = str(phase.get("phase_name") or "?")
            phases[name] = phases.get(name, 0.0) + took
    return Explanation(
        reasons=tuple(
            _reason(
                identifier,
                at,
                ranks.get(identifier, {}),
                fused.get(identifier, {}),
                reranked.get(identifier, {}),
            )
            for identifier, at in place.items()
        ),
        arms=tuple(arms),
        phases=phases,
        seconds=_number(summary.get("total_duration_seconds")),
    )


def _reason(
    identifier: str, at: int, ranks: dict[str, int], fused: Mapping[str, Any], reranked: Mapping[str, Any]
) -> Reason:
    parts = reranked.get("score_components")
    parts = parts if isinstance(parts, Mapping) else {}
    return Reason(
        id=identifier,
        rank=at,
        arms=ranks,
        fused_rank=_whole(fused.get("final_rrf_rank")),
        rerank_rank=_whole(reranked.get("rerank_rank")),
        rerank_score=_number(reranked.get("rerank_score")),
        components={name: value for name in _COMPONENTS if (value := _number(parts.get(name))) is not None},
    )


def compare(before: Sequence[RecallResult], after: Sequence[RecallResult]) -> Comparison:
    """What entered, left and moved from one answer to the other; by id."""
    old = {result.id: at for at, result in enumerate(before, 1)}
    new = {result.id: at for at, result in enumerate(after, 1)}
    pairs = [(result.id, old.get(result.id), new.get(result.id), result) for result in after]
    pairs += [(result.id, old[result.id], None, result) for result in before if result.id not in new]
    rows = [
        Moved(id=identifier, text=result.text, document_id=result.document_id, before=was, after=now)
        for identifier, was, now, result in pairs
    ]
    return Comparison(
        entered=tuple(row for row in rows if row.before is None),
        left=tuple(row for row in rows if row.after is None),
        moved=tuple(row for row in rows if row.before and row.after and row.before != row.after),
        unmoved=sum(row.before == row.after for row in rows),
    )


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None

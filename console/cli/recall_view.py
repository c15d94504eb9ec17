"""How recall's answers look: results, what came with them, why each stands where it does, and what changed."""

from __future__ import annotations

from collections.abc import Mapping

from console.cli.output import Column, moment, number, out, print_table, styled, text_width
from console.lab import Comparison, Explanation, Moved, Reason, explain
from console.memory.models import RecallResponse, RecallResult
from console.text import neutralise, one_line, wrap


def print_recall(answer: RecallResponse) -> None:
    """Results with chunks below them, then entities, source facts and the trace where they were asked for."""
    explanation = explain(answer) if answer.trace else None
    reasons = {reason.id: reason for reason in explanation.reasons} if explanation else {}
    for at, result in enumerate(answer.results, 1):
        print_result(at, result)
        if result.id in reasons:
            out(styled(f"     why: {_why(reasons[result.id])}", dim=True))
        chunk = (answer.chunks or {}).get(result.chunk_id or "")
        if isinstance(chunk, Mapping):
            for line in wrap(neutralise(str(chunk.get("text", ""))), text_width(), indent="      | "):
                out(styled(line, dim=True))
    for title, found in (("Entities", answer.entities), ("Source facts", answer.source_facts)):
        if found:
            out()
            out(styled(title, bold=True))
            for name, value in found.items():
                text = value.get("text", "") if isinstance(value, Mapping) else ""
                out(f"  {one_line(str(name))}" + (f"  {one_line(str(text))}" if text else ""))
    if explanation is not None:
        _print_trace(explanation)


def print_result(at: int, result: RecallResult) -> None:
    lines = wrap(one_line(result.text), text_width() - 5) or [""]
    out(f"{styled(f'{at:3}.', bold=True)} {lines[0]}")
    for line in lines[1:]:
        out(f"     {line}")
    final = (result.scores or {}).get("final")
    facts = [
        result.type,
        f"in {result.document_id}" if result.document_id else "",
        moment(result.occurred_start or result.mentioned_at),
        " ".join(result.tags or ()),
        f"score {final:.2f}" if final is not None else "",
        result.id,
    ]
    out(styled("     " + one_line("  ·  ".join(part for part in facts if part)), dim=True))


def _why(reason: Reason) -> str:
    parts = [f"{name} {rank}." for name, rank in reason.arms.items()] or ["in no arm's list"]
    if reason.fused_rank is not None:
        parts.append(f"fused {reason.fused_rank}.")
    if reason.rerank_rank is not None:
        score = "" if reason.rerank_score is None else f" ({reason.rerank_score:.3f})"
        parts.append(f"reranked {reason.rerank_rank}.{score}")
    if reason.components:
        parts.append(", ".join(f"{name} {value:.2f}" for name, value in reason.components.items()))
    return one_line(" · ".join(parts))


def _print_trace(found: Explanation) -> None:
    out()
    out(styled("Trace", bold=True))
    print_table(
        [
            Column("ARM"),
            Column("TYPE", extra=True),
            Column("FOUND", right=True),
            Column("IN ANSWER", right=True),
            Column("TIME", right=True),
        ],
        [
            (arm.name, arm.fact_type, number(arm.found), number(arm.kept), _time(arm.seconds))
            for arm in found.arms
        ],
    )
    for name, seconds in sorted(found.phases.items(), key=lambda item: -item[1]):
        if seconds >= 0.0005:
            out(f"  {_time(seconds):>10}  {one_line(name)}")
    if found.seconds is not None:
        out(f"  {_time(found.seconds):>10}  in all")


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:.1f} ms"


def print_comparison(found: Comparison, sizes: tuple[int, int]) -> None:
    """What the second set of options changed."""
    for title, rows in (("entered", found.entered), ("left", found.left), ("moved", found.moved)):
        if rows:
            out(styled(title, bold=True))
            for row in rows:
                out(f"  {_places(row):>9}  {one_line(row.text)[: max(20, text_width() - 14)]}")
    out(
        f"{sizes[0]} results before, {sizes[1]} after: {len(found.entered)} entered, {len(found.left)} left, "
        f"{len(found.moved)} moved, {found.unmoved} as before"
    )


def _places(row: Moved) -> str:
    return f"{row.before or '-'} -> {row.after or '-'}"

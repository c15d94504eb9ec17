"""``console recall`` and ``console reflect``: ask a bank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from console.cli.base import State, check_text, command, note, pass_state
from console.cli.options import FACT_TYPES, json_type, moment_type, numbers, pairs, tag_options
from console.cli.output import count, moment, out, print_json, styled, text_width
from console.memory.models import RecallRequest, RecallResponse, RecallResult, ReflectRequest
from console.text import neutralise, one_line, wrap

_BUDGETS = click.Choice(("low", "mid", "high"))
_SCORES = ("semantic", "keyword", "reranker", "final")


@command("recall")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--type", "types", multiple=True, type=click.Choice(FACT_TYPES), help="Only this type; may be repeated."
)
@click.option("--budget", type=_BUDGETS, default="mid", show_default=True, help="How hard to search.")
@click.option(
    "--max-tokens", type=click.IntRange(1), default=4096, show_default=True, help="How much to answer."
)
@click.option("--at", "query_timestamp", type=moment_type(), help="Ask as if it were this time.")
@tag_options("any")
@click.option(
    "--tag-groups", type=json_type(list), metavar="JSON", help="A nested tag filter, instead of --tag."
)
@click.option(
    "--min-score", "min_scores", multiple=True, metavar="KIND=N", help=f"KIND: {', '.join(_SCORES)}."
)
@click.option("--from", "start", type=moment_type(), help="Prefer facts from this time on (with --to).")
@click.option("--to", "end", type=moment_type(), help="Prefer facts up to this time (with --from).")
@click.option(
    "--prefer-observations/--no-prefer-observations", default=None, help="Observations stand for their facts."
)
@click.option("--chunks", "include_chunks", is_flag=True, help="With the source text around each fact.")
@click.option("--entities", "include_entities", is_flag=True, help="With the entities that were found.")
@click.option(
    "--source-facts", "include_source_facts", is_flag=True, help="With the facts behind observations."
)
@click.option("--trace", is_flag=True, help="Which arm of the search found what.")
@pass_state
def recall(
    state: State,
    query: tuple[str, ...],
    tag_groups: list[Any] | None,
    min_scores: tuple[str, ...],
    start: str | None,
    end: str | None,
    tags: tuple[str, ...],
    **rest: Any,
) -> None:
    """Search the memories of a bank. Several words are one query."""
    if bool(start) != bool(end):
        raise click.UsageError("--from and --to go together")
    if start and end and end < start:
        raise click.UsageError("--to is before --from")
    if tags and tag_groups is not None:
        raise click.UsageError("--tag and --tag-groups exclude each other")
    request = RecallRequest(
        query=_query(query),
        tags=tags,
        tag_groups=tuple(tag_groups or ()),
        min_scores=numbers(pairs(min_scores, "--min-score"), "--min-score", _SCORES) or None,
        temporal_window={"start": start, "end": end} if start and end else None,
        **rest,
    )
    answer = state.with_store(lambda store: store.recall(state.settings.bank, request))
    if state.as_json:
        print_json(answer)
        return
    _print_recall(answer)
    if not answer.results:
        note(f"nothing found in bank {state.settings.bank!r}")


@command("reflect")
@click.argument("query", nargs=-1, required=True)
@click.option("--budget", type=_BUDGETS, default="low", show_default=True, help="How hard to search.")
@click.option(
    "--max-tokens", type=click.IntRange(1), default=4096, show_default=True, help="How long an answer."
)
@tag_options("any")
@click.option("--type", "fact_types", multiple=True, type=click.Choice(FACT_TYPES), help="Only this type.")
@click.option(
    "--schema", "response_schema", type=json_type(dict), metavar="JSON", help="A JSON schema to answer in."
)
@click.option("--tool-calls", "include_tool_calls", is_flag=True, help="With the steps that the model took.")
@pass_state
def reflect(state: State, query: tuple[str, ...], **rest: Any) -> None:
    """Answer a question from the memories of a bank. Several words are one question."""
    request = ReflectRequest(query=_query(query), **rest)
    answer = state.with_store(lambda store: store.reflect(state.settings.bank, request))
    if state.as_json:
        print_json(answer)
        return
    out(neutralise(answer.text).rstrip() or "no answer")
    if answer.extractive and "extractive" not in answer.text.lower():
        out()
        out(styled("Extracts put together without a model.", dim=True))
    if answer.structured_output is not None:
        print_json(answer.structured_output)
    if answer.structured_output_error:
        note(f"no structured output: {answer.structured_output_error}")
    based = answer.based_on.memories if answer.based_on is not None else ()
    if based:
        out()
        out(styled(f"Based on {count(len(based), 'memory', 'memories')}:", bold=True))
        for at, memory in enumerate(based, 1):
            _print_result(at, memory)


def _query(words: tuple[str, ...]) -> str:
    text = " ".join(check_text(word, "the query") for word in words).strip()
    if not text:
        raise click.UsageError("the query is empty")
    return text


def _print_recall(answer: RecallResponse) -> None:
    for at, result in enumerate(answer.results, 1):
        _print_result(at, result)
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
    if answer.trace:
        _print_trace(answer.trace, {result.id: at for at, result in enumerate(answer.results, 1)})


def _print_result(at: int, result: RecallResult) -> None:
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


def _print_trace(trace: Mapping[str, Any], ranks: Mapping[str, int]) -> None:
    """Each arm with what it found and how long it took; unknown shapes of other servers are left out."""
    arms = trace.get("retrieval_results")
    out()
    out(styled("Trace", bold=True))
    for arm in arms if isinstance(arms, list | tuple) else ():
        if not isinstance(arm, Mapping):
            continue
        rows = [row for row in arm.get("results") or () if isinstance(row, Mapping)]
        seconds = arm.get("duration_seconds")
        took = f", {seconds * 1000:.1f} ms" if isinstance(seconds, int | float) else ""
        name = one_line(f"{arm.get('method_name', '?')} {arm.get('fact_type') or ''}")
        out(f"  {name}: {len(rows)} found{took}")
        for row in rows[:10]:
            rank, score = ranks.get(str(row.get("node_id"))), row.get("score")
            shown = f"{score:.3f}" if isinstance(score, int | float) else ""
            place = f"result {rank}" if rank else "not in the answer"
            out(f"  {one_line(str(row.get('rank', ''))):>5}. {place:<18} {shown}")
    summary = trace.get("summary")
    if isinstance(summary, Mapping) and isinstance(summary.get("total_duration_seconds"), int | float):
        out(f"  {summary['total_duration_seconds'] * 1000:.1f} ms in all")

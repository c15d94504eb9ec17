"""``console recall`` and ``console reflect``: ask a bank, or several."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from typing import Any

import click

from console.cli.base import State, check_text, command, note, pass_state
from console.cli.options import (
    FACT_TYPES,
    check_tag_groups,
    json_type,
    moment_type,
    numbers,
    pairs,
    tag_options,
)
from console.cli.output import count, out, print_json, styled
from console.cli.recall_view import print_comparison, print_recall, print_result
from console.memory.errors import StoreError, Unsupported
from console.memory.models import RecallRequest, RecallResponse, ReflectRequest
from console.memory.store import MemoryStore
from console.text import neutralise, one_line

_BUDGETS = click.Choice(("low", "mid", "high"))
_SCORES = ("semantic", "keyword", "reranker", "final")
_TOKENS = click.IntRange(1)
_SIZES = {
    "chunks_max_tokens": ("include_chunks", "--chunk-tokens", "--chunks"),
    "entities_max_tokens": ("include_entities", "--entity-tokens", "--entities"),
    "source_facts_max_tokens": ("include_source_facts", "--source-tokens", "--source-facts"),
    "source_facts_max_tokens_per_observation": (
        "include_source_facts",
        "--source-tokens-each",
        "--source-facts",
    ),
}


@command("recall")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--type", "types", multiple=True, type=click.Choice(FACT_TYPES), help="Only this type; may be repeated."
)
@click.option("--budget", type=_BUDGETS, default="mid", show_default=True, help="How hard to search.")
@click.option("--max-tokens", type=_TOKENS, default=4096, show_default=True, help="How much to answer.")
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
@click.option("--chunk-tokens", "chunks_max_tokens", type=_TOKENS, help="How much of --chunks.")
@click.option("--entity-tokens", "entities_max_tokens", type=_TOKENS, help="How much of --entities.")
@click.option("--source-tokens", "source_facts_max_tokens", type=_TOKENS, help="How much of --source-facts.")
@click.option(
    "--source-tokens-each",
    "source_facts_max_tokens_per_observation",
    type=click.IntRange(-1),
    help="The same for each observation; -1: no limit.",
)
@click.option(
    "--trace", is_flag=True, help="Why each result stands where it does, and how long each step took."
)
@click.option(
    "--compare", metavar="OPTIONS", help="Ask again with these options too: what enters, leaves, moves."
)
@click.option(
    "--bank", "banks", multiple=True, metavar="ID", help="The bank to ask; several are asked at once."
)
@pass_state
def recall(
    state: State, query: tuple[str, ...], compare: str | None, banks: tuple[str, ...], **options: Any
) -> None:
    """Search the memories of a bank. Several words are one query."""
    asked = tuple(dict.fromkeys(banks))
    if len(asked) == 1:
        state.bank, state._settings = asked[0], None
    text = _query(query)
    request = _request(text, **options)
    if compare is not None:
        if len(asked) > 1:
            raise click.UsageError("--compare asks one bank: give --bank once")
        _compare(state, request, _request(text, **_more_options(options, compare)))
        return
    if len(asked) > 1:
        _several(state, asked, request)
        return
    answer = state.with_store(lambda store: store.recall(state.settings.bank, request))
    if state.as_json:
        print_json(answer)
        return
    print_recall(answer)
    if not answer.results:
        note(f"nothing found in bank {state.settings.bank!r}")


def _request(
    text: str,
    *,
    tag_groups: list[Any] | None,
    min_scores: tuple[str, ...],
    start: str | None,
    end: str | None,
    tags: tuple[str, ...],
    types: tuple[str, ...],
    **rest: Any,
) -> RecallRequest:
    """The options as one request. Raises UsageError for what does not go together, before anything is sent."""
    if bool(start) != bool(end):
        raise click.UsageError("--from and --to go together")
    if start and end and end < start:
        raise click.UsageError("--to is before --from")
    if tags and tag_groups is not None:
        raise click.UsageError("--tag and --tag-groups exclude each other")
    if any(not tag.strip() for tag in tags):
        raise click.UsageError("a tag is empty")
    check_tag_groups(tag_groups or ())
    if rest["prefer_observations"] and types and "observation" not in types:
        raise click.UsageError("--prefer-observations needs observations: --type leaves them out")
    for name, (needed, option, flag) in _SIZES.items():
        if rest[name] is not None and not rest[needed]:
            raise click.UsageError(f"{option} goes with {flag}")
    return RecallRequest(
        query=text,
        types=types,
        tags=tags,
        tag_groups=tuple(tag_groups or ()),
        min_scores=numbers(pairs(min_scores, "--min-score"), "--min-score", _SCORES) or None,
        temporal_window={"start": start, "end": end} if start and end else None,
        **rest,
    )


def _more_options(options: dict[str, Any], words: str) -> dict[str, Any]:
    """The options with those of ``--compare`` in their place, read as on the command line."""
    try:
        split = shlex.split(words)
    except ValueError as error:
        raise click.UsageError(f"--compare: {error}") from error
    with recall.make_context("recall", ["x", *split], parent=None) as other:
        if other.params["query"] != ("x",) or other.params["compare"] or other.params["banks"]:
            raise click.UsageError(
                "--compare takes options of recall, such as '--budget high', and no query or bank"
            )
        given = {
            name: value
            for name, value in other.params.items()
            if name in options and other.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        }
    return options | given


def _compare(state: State, first: RecallRequest, second: RecallRequest) -> None:
    from console.lab import compare

    async def work(store: MemoryStore) -> tuple[RecallResponse, RecallResponse]:
        bank = state.settings.bank
        return await store.recall(bank, first), await store.recall(bank, second)

    before, after = state.with_store(work)
    found = compare(before.results, after.results)
    if state.as_json:
        print_json({"before": before, "after": after, "comparison": found})
        return
    print_comparison(found, (len(before.results), len(after.results)))


def _several(state: State, banks: Sequence[str], request: RecallRequest) -> None:
    """Ask all at once; each keeps its own ranks, because scores of different banks cannot be compared."""

    async def one(store: MemoryStore, bank: str) -> RecallResponse | StoreError:
        try:
            return await store.recall(bank, request)
        except StoreError as error:
            return error

    async def work(store: MemoryStore) -> list[RecallResponse | StoreError]:
        return await asyncio.gather(*(one(store, bank) for bank in banks))

    answers = dict(zip(banks, state.with_store(work), strict=True))
    if state.as_json:
        print_json(
            {
                "banks": [
                    {"bank_id": bank, "error": str(answer)}
                    if isinstance(answer, StoreError)
                    else {"bank_id": bank, "answer": answer}
                    for bank, answer in answers.items()
                ]
            }
        )
    else:
        for bank, answer in answers.items():
            if isinstance(answer, StoreError):
                continue
            out(styled(one_line(f"bank {bank}: {count(len(answer.results), 'result')}"), bold=True))
            print_recall(answer)
    failed = [(bank, answer) for bank, answer in answers.items() if isinstance(answer, StoreError)]
    for bank, error in failed:
        note(f"bank {bank!r}: {error}")
    if failed:
        click.get_current_context().exit(1)


@command("reflect")
@click.argument("query", nargs=-1, required=True)
@click.option("--budget", type=_BUDGETS, default="low", show_default=True, help="How hard to search.")
@click.option("--max-tokens", type=_TOKENS, default=4096, show_default=True, help="How long an answer.")
@tag_options("any")
@click.option(
    "--tag-groups", type=json_type(list), metavar="JSON", help="A nested tag filter, instead of --tag."
)
@click.option("--type", "fact_types", multiple=True, type=click.Choice(FACT_TYPES), help="Only this type.")
@click.option(
    "--schema", "response_schema", type=json_type(dict), metavar="JSON", help="A JSON schema to answer in."
)
@click.option("--all-directives", "apply_all_directives", is_flag=True, help="Obey those of other tags too.")
@click.option("--no-models", "exclude_mental_models", is_flag=True, help="Without mental models.")
@click.option(
    "--without-model", "exclude_mental_model_ids", multiple=True, metavar="ID", help="Without this one."
)
@click.option(
    "--observation-tokens", "observations_max_tokens", type=_TOKENS, help="How much of observations."
)
@click.option(
    "--observation-entities/--no-observation-entities",
    "observations_include_entities",
    default=None,
    help="Observations with their entities.",
)
@click.option("--no-facts", is_flag=True, help="Without what the answer rests on.")
@click.option("--tool-calls", "include_tool_calls", is_flag=True, help="With the steps that the model took.")
@click.option("--no-tool-output", is_flag=True, help="With --tool-calls: without what each step answered.")
@pass_state
def reflect(
    state: State,
    query: tuple[str, ...],
    tag_groups: list[Any] | None,
    no_facts: bool,
    no_tool_output: bool,
    **rest: Any,
) -> None:
    """Answer a question from the memories of a bank. Several words are one question."""
    if rest["tags"] and tag_groups is not None:
        raise click.UsageError("--tag and --tag-groups exclude each other")
    check_tag_groups(tag_groups or ())
    if no_tool_output and not rest["include_tool_calls"]:
        raise click.UsageError("--no-tool-output goes with --tool-calls")
    if rest["exclude_mental_models"] and rest["exclude_mental_model_ids"]:
        raise click.UsageError("--no-models leaves all of them out: --without-model adds nothing")
    request = ReflectRequest(
        query=_query(query),
        tag_groups=tuple(tag_groups or ()),
        include_facts=not no_facts,
        tool_call_outputs=not no_tool_output,
        **rest,
    )
    _check_model(state, request)
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
            print_result(at, memory)
    _print_calls(answer.trace)


def _check_model(state: State, request: ReflectRequest) -> None:
    """Raises Unsupported for options that only a model can honour, over a store that has none."""
    asked = {
        "--all-directives": request.apply_all_directives,
        "--no-models": request.exclude_mental_models,
        "--without-model": request.exclude_mental_model_ids,
        "--observation-tokens": request.observations_max_tokens is not None,
        "--observation-entities": request.observations_include_entities is not None,
        "--tool-calls": request.include_tool_calls,
    }
    wanted = [name for name, value in asked.items() if value]
    if wanted and state.settings.address.kind in {"sqlite", "wiki"}:
        raise Unsupported(
            f"{', '.join(wanted)} needs a model, and this store has none",
            where=state.settings.store,
            hint="use a Hindsight server, or leave it out",
        )


def _print_calls(trace: Any) -> None:
    calls = trace.get("tool_calls") if isinstance(trace, dict) else None
    rows = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if not rows:
        return
    out()
    out(styled("Steps", bold=True))
    for at, call in enumerate(rows, 1):
        took = call.get("duration_ms")
        words = [
            f"{at:3}. {call.get('tool')}",
            f"{took} ms" if took is not None else "",
            str(call.get("input") or ""),
        ]
        out(one_line("  ".join(word for word in words if word))[:400])


def _query(words: tuple[str, ...]) -> str:
    text = " ".join(check_text(word, "the query") for word in words).strip()
    if not text:
        raise click.UsageError("the query is empty")
    return text

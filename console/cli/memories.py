"""``console memories``: the facts in a bank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from console.cli.base import State, group, jsonl_option, note, pass_state
from console.cli.bulk import bulk_options, each, read_ids
from console.cli.options import FACT_TYPES, all_option, check_span, moment_type, page_options, tag_options
from console.cli.output import (
    Column,
    mapping_words,
    moment,
    out,
    print_fields,
    print_json,
    print_range,
    print_table,
    text_width,
)
from console.cli.rows import show_listing
from console.memory.models import Curation, Memory, MemoryQuery
from console.memory.store import MemoryStore
from console.text import neutralise, wrap

_INVALIDATED = "invalidated"


@group(
    "memories",
    default="list",
    help="The facts in a bank: list, edit, take back, restore.",
    lazy={
        "history": ("console.cli.memory_work:history", "How an observation changed."),
        "extract": ("console.cli.memory_work:extract", "Which facts a text would give, without storing any."),
    },
)
def memories() -> None: ...


@memories.command("list")
@click.option("--q", metavar="TEXT", help="Only facts whose text holds this.")
@click.option("--type", "type", type=click.Choice(FACT_TYPES), help="Only this type.")
@click.option(
    "--state", "state_", type=click.Choice(("valid", _INVALIDATED)), default="valid", show_default=True
)
@click.option("--document", "document_id", metavar="ID", help="Only of this document.")
@click.option("--entity", "entity_id", metavar="ID", help="Only about this entity.")
@click.option(
    "--consolidation",
    "consolidation_state",
    type=click.Choice(("failed", "pending", "done")),
    help="Only those in this state of it.",
)
@tag_options("any")
@click.option(
    "--time-field",
    type=click.Choice(("created_at", "updated_at", "mentioned_at", "occurred_start", "occurred_end")),
    help="What --since and --until mean.",
)
@click.option("--since", "start_date", type=moment_type(), help="From this time on.")
@click.option("--until", "end_date", type=moment_type(), help="Before this time.")
@page_options(100)
@all_option
@jsonl_option
@pass_state
def list_(state: State, state_: str, every: bool, **filters: Any) -> None:
    """The facts of the bank, mentioned last first. Taken-back ones: --state invalidated."""
    check_span(filters["start_date"], filters["end_date"], ("--since", "--until"))
    query = MemoryQuery(state=state_, **filters)
    page = show_listing(
        state, lambda store, asked: store.list_memories(state.settings.bank, asked), query, every
    )
    if page is None:
        return
    print_table(
        [
            Column("MEMORY", exact=True),
            Column("STATE"),
            Column("TYPE", extra=True),
            Column("TEXT", gives=True),
            Column("DOCUMENT", gives=True, exact=True, extra=True),
            Column("MENTIONED", extra=True),
        ],
        [
            (
                m.id,
                _INVALIDATED if m.state == _INVALIDATED else "edited" if m.edited_at else "",
                m.fact_type,
                m.text,
                m.document_id or "",
                moment(m.mentioned_at)[:10],
            )
            for m in page.items
        ],
        style=lambda at: "dim" if page.items[at].state == _INVALIDATED else None,
    )
    what = "memories" if state_ == "valid" else "invalidated memories"
    print_range(page, what, more=f"--offset {page.offset + len(page.items)} or --all shows more")


@memories.command("get")
@click.argument("memory_id", metavar="ID")
@pass_state
def get(state: State, memory_id: str) -> None:
    """One fact with everything known about it."""
    _show(state, state.with_store(lambda store: store.get_memory(state.settings.bank, memory_id)))


@memories.command("invalidate")
@click.argument("memory_ids", nargs=-1, required=True, metavar="ID... | -")
@click.option("--reason", metavar="TEXT", help="Why; kept with the fact.")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@bulk_options
@pass_state
def invalidate(
    state: State, memory_ids: tuple[str, ...], reason: str | None, dry_run: bool, failed: Path | None
) -> None:
    """Take facts back: they stay in the bank, but nothing recalls them. `restore` undoes it.

    - reads ids or the lines of a listing: `console memories list --q port --jsonl | console memories invalidate -`
    """
    _curate_all(state, memory_ids, Curation(state=_INVALIDATED, reason=reason), _INVALIDATED, dry_run, failed)


@memories.command("restore")
@click.argument("memory_ids", nargs=-1, required=True, metavar="ID... | -")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@bulk_options
@pass_state
def restore(state: State, memory_ids: tuple[str, ...], dry_run: bool, failed: Path | None) -> None:
    """Make taken-back facts live again."""
    _curate_all(state, memory_ids, Curation(state="valid"), "restored", dry_run, failed)


def _curate_all(
    state: State, words: tuple[str, ...], curation: Curation, verb: str, dry_run: bool, failed: Path | None
) -> None:
    ids = read_ids(words)
    if dry_run:

        async def look(store: MemoryStore, memory_id: str) -> Memory:
            return await store.get_memory(state.settings.bank, memory_id)

        each(state, ids, look, f"would be {verb}", failed)
        return
    if len(ids) == 1 and "-" not in words and failed is None and not state.as_jsonl:
        _done(state, _curate(state, ids[0], curation), verb)
        return

    async def work(store: MemoryStore, memory_id: str) -> Memory:
        return await store.curate_memory(state.settings.bank, memory_id, curation)

    each(state, ids, work, verb, failed)


@memories.command("edit")
@click.argument("memory_id", metavar="ID")
@click.option("--text", metavar="TEXT", help="The fact in other words.")
@click.option("--context", metavar="TEXT", help='Its context; "" clears it.')
@click.option("--type", "fact_type", type=click.Choice(("world", "experience")), help="Its type.")
@click.option("--occurred-start", metavar="TIME", type=moment_type(""), help='When it began; "" clears it.')
@click.option("--occurred-end", metavar="TIME", type=moment_type(""), help='When it ended; "" clears it.')
@click.option("--mentioned-at", metavar="TIME", type=moment_type(""), help='When it was said; "" clears it.')
@click.option(
    "--entity", "entities", multiple=True, metavar="NAME", help="What it is about; replaces all of them."
)
@pass_state
def edit(state: State, memory_id: str, entities: tuple[str, ...], **fields: Any) -> None:
    """Change a fact's text, type, context, dates or entities."""
    if not entities and all(value is None for value in fields.values()):
        raise click.UsageError("say what to change, for example --text")
    if fields["text"] is not None and not fields["text"].strip():
        raise click.UsageError("--text is empty; `console memories invalidate` takes a fact back")
    _done(state, _curate(state, memory_id, Curation(entities=entities or None, **fields)), "edited")


def _curate(state: State, memory_id: str, curation: Curation) -> Memory:
    async def work(store: MemoryStore) -> Memory:
        return await store.curate_memory(state.settings.bank, memory_id, curation)

    return state.with_store(work)


def _done(state: State, memory: Memory, verb: str) -> None:
    _show(state, memory)
    if not state.as_json:
        note(f"{verb} {memory.id}")


def _show(state: State, memory: Memory) -> None:
    if state.as_json:
        print_json(memory)
        return
    for line in wrap(neutralise(memory.text), text_width()):
        out(line)
    out()
    print_fields(
        [
            ("memory", memory.id),
            ("state", memory.state),
            ("reason", memory.invalidation_reason or ""),
            ("taken back", moment(memory.invalidated_at)),
            ("edited", moment(memory.edited_at)),
            ("type", memory.fact_type),
            ("document", memory.document_id or ""),
            ("context", memory.context or ""),
            ("tags", " ".join(memory.tags)),
            ("entities", ", ".join(memory.entities)),
            ("metadata", mapping_words(memory.metadata)),
            ("mentioned", moment(memory.mentioned_at)),
            (
                "occurred",
                " to ".join(
                    part for part in (moment(memory.occurred_start), moment(memory.occurred_end)) if part
                ),
            ),
            ("repeated", f"{memory.proof_count} times" if (memory.proof_count or 0) > 1 else ""),
        ]
    )

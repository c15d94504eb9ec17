"""``console memories history|extract``: what only a Hindsight server can do with facts."""

from __future__ import annotations

from typing import Any

import click

from console.cli.base import State, command, pass_state
from console.cli.inputs import gather, read_text
from console.cli.options import moment_type
from console.cli.output import Column, moment, out, print_json, print_table
from console.cli.served import ask
from console.memory.hindsight.ids import check_uuid
from console.text import neutralise, one_line


@command("history")
@click.argument("memory_id", metavar="ID")
@pass_state
def history(state: State, memory_id: str) -> None:
    """How an observation changed, newest first. Facts have none."""
    known = check_uuid(memory_id, "memory", state.settings.bank)
    found = ask(state, "GET", "/memories/{memory_id}/history", {"memory_id": known})
    if state.as_json:
        print_json(found)
        return
    rows = (
        found if isinstance(found, list) else (found or {}).get("items") or (found or {}).get("history") or []
    )
    for row in rows:
        if not isinstance(row, dict):
            continue
        when = next((str(row[key]) for key in ("changed_at", "created_at", "updated_at") if row.get(key)), "")
        text = row.get("previous_text") or row.get("text") or ""
        out(one_line(f"{moment(when)}  {text}"))
    if not rows:
        out("no history")


@command("extract")
@click.argument("text", metavar="TEXT | - | FILE")
@click.option("--context", metavar="TEXT")
@click.option("--at", "timestamp", type=moment_type(), help="When it was said.")
@click.option("--strategy", metavar="NAME")
@click.option(
    "--mission", "retain_mission", metavar="TEXT", help="What to look for, in place of the bank's mission."
)
@click.option(
    "--mode",
    "retain_extraction_mode",
    type=click.Choice(("concise", "verbose", "custom", "verbatim", "chunks")),
    help="In place of the bank's.",
)
@click.option("--instructions", "retain_custom_instructions", metavar="TEXT", help="With --mode custom.")
@click.option("--chunk-size", "retain_chunk_size", type=click.IntRange(1), help="Characters.")
@click.option("--language", "llm_output_language", metavar="NAME")
@pass_state
def extract(state: State, text: str, **options: Any) -> None:
    """Which facts the server would take from a text, without storing any. Costs a model call."""
    if options["retain_custom_instructions"] and options["retain_extraction_mode"] != "custom":
        raise click.UsageError("--instructions goes with --mode custom")
    items = gather([text], as_text=False, document_id=None)
    if len(items) != 1:
        raise click.UsageError("give one text or file")
    item = items[0]
    content = item.text if item.path is None else read_text(item.path)
    state.with_store(
        lambda store: store.get_bank(state.settings.bank)
    )  # the server would not say that it is missing
    body = {"content": content} | {name: value for name, value in options.items() if value is not None}
    found = ask(state, "POST", "/memories/dry-run-extract", body=body)
    if state.as_json:
        print_json(found)
        return
    facts = [fact for fact in found.get("facts") or () if isinstance(fact, dict)]
    print_table(
        [Column("TYPE"), Column("CHUNK", right=True), Column("FACT", gives=True)],
        [
            (str(f.get("fact_type", "")), str(f.get("chunk_index", "")), neutralise(str(f.get("text", ""))))
            for f in facts
        ],
    )
    out(f"{len(facts)} facts, nothing stored")

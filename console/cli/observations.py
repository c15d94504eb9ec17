"""``console observations`` and ``console consolidation``: what a bank concludes from its facts."""

from __future__ import annotations

from typing import Any

import click

from console.cli.base import State, group, pass_state
from console.cli.options import json_type, tag_options
from console.cli.output import Column, moment, page_json, print_json, print_range, print_table
from console.cli.served import (
    ask,
    destroying,
    dry_run_option,
    finished,
    listing,
    paged,
    said,
    show_rows,
    wait_option,
)
from console.memory.models import MemoryQuery


@group("observations", default="list", help="What a bank concluded from several facts.")
def observations() -> None: ...


@observations.command("list")
@click.option("--q", metavar="TEXT", help="Only those whose text holds this.")
@tag_options("any")
@paged(100)
@pass_state
def list_(state: State, limit: int, every: bool, **filters: Any) -> None:
    """Mentioned last first. `console memories get ID` shows the facts behind one."""
    query = MemoryQuery(type="observation", limit=1_000_000 if every else limit, **filters)
    page = state.with_store(lambda store: store.list_memories(state.settings.bank, query))
    if state.as_json:
        print_json(page_json(page))
        return
    print_table(
        [
            Column("MEMORY", exact=True),
            Column("TEXT", gives=True),
            Column("FACTS", right=True),
            Column("SAID", extra=True),
        ],
        [
            (m.id, m.text, str(len(m.source_memory_ids) or m.proof_count or ""), moment(m.mentioned_at)[:10])
            for m in page.items
        ],
    )
    print_range(page, "observations", more="--all shows them")


@observations.command("scopes")
@paged(100)
@pass_state
def scopes(state: State, limit: int, offset: int, every: bool) -> None:
    """The sets of tags that observations are made within."""
    page = listing(
        state, "/observations/scopes", key="scopes", limit=limit, offset=offset, every=every, most=1000
    )
    show_rows(
        state,
        page,
        [(Column("TAGS", gives=True), "tags"), (Column("COUNT", right=True), "count")],
        "scopes",
        key="scopes",
    )


@observations.command("clear")
@click.option("--memory", "memory_id", metavar="ID", help="Only those built on this fact.")
@dry_run_option
@pass_state
def clear(state: State, memory_id: str | None, dry_run: bool) -> None:
    """Delete observations; consolidation may make them again. Facts stay."""
    bank = state.settings.bank
    what = f"on fact {memory_id}" if memory_id else "of the whole bank"
    if not destroying(
        state,
        f"delete the observations {what} of bank {bank!r}"
        if memory_id
        else f"delete every observation of bank {bank!r}",
        dry_run,
    ):
        return
    # The server answers 200 and "0 deleted" for a bank that is missing.
    state.with_store(lambda store: store.get_bank(bank))
    if memory_id:
        answer = ask(state, "DELETE", "/memories/{memory_id}/observations", {"memory_id": memory_id})
    else:
        answer = ask(state, "DELETE", "/observations")
    said(state, answer, f"deleted {answer.get('deleted_count', 0)} observations {what}")


@group("consolidation", help="Make observations from new facts.")
def consolidation() -> None: ...


@consolidation.command("run")
@click.option(
    "--scopes", type=json_type(list), metavar="JSON", help='Only within these sets of tags, as [["a"]].'
)
@wait_option
@pass_state
def run(state: State, scopes: Any, wait: bool) -> None:
    """Consolidate now."""
    body = {"observation_scopes": scopes} if scopes is not None else {}
    finished(state, ask(state, "POST", "/consolidate", body=body), wait, "consolidation")


@consolidation.command("recover")
@pass_state
def recover(state: State) -> None:
    """Queue facts again whose consolidation failed."""
    answer = ask(state, "POST", "/consolidation/recover")
    said(state, answer, f"queued {answer.get('retried_count', 0)} facts again")

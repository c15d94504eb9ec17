"""``console banks config|edit|aliases|activity|clear|llm``: what a Hindsight server keeps about a bank itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click
import msgspec

from console.cli.base import State, command, group, pass_state
from console.cli.options import pairs
from console.cli.output import Column, number, out, print_json, print_table
from console.cli.served import ask, cell, destroying, dry_run_option, said, show
from console.text import one_line


def _typed(values: Iterable[str], option: str) -> dict[str, Any]:
    """``K=V`` options whose values are JSON, else text."""
    found: dict[str, Any] = {}
    for name, text in pairs(values, option).items():
        try:
            found[name] = msgspec.json.decode(text.encode("utf-8", "surrogateescape"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found[name] = text
    return found


@group("config", default="show", help="A bank's configuration: show, set, reset.")
def config() -> None: ...


@config.command("show")
@click.option("--overrides", is_flag=True, help="Only what this bank sets itself.")
@click.option("--q", metavar="WORD", help="Only settings with this word in their name.")
@pass_state
def config_show(state: State, overrides: bool, q: str | None) -> None:
    """Every setting as it applies; * marks what this bank sets itself."""
    found = ask(state, "GET", "/config")
    own = found.get("overrides") or {}
    rows = own if overrides else found.get("config") or {}
    rows = {name: value for name, value in rows.items() if (q or "").lower() in name.lower()}
    if state.as_json:
        print_json({"bank_id": found.get("bank_id"), "config": rows, "overrides": own})
        return
    print_table(
        [Column("SETTING"), Column("VALUE", gives=True)],
        [
            (
                f"{name}{'*' if name in own else ''}",
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
            )
            for name, value in sorted(rows.items())
        ],
    )


@config.command("set")
@click.argument("settings", nargs=-1, required=True, metavar="NAME=VALUE...")
@pass_state
def config_set(state: State, settings: tuple[str, ...]) -> None:
    """Set for this bank; NAME=null takes the bank's own value away. Values are JSON, else text."""
    updates = _typed(settings, "NAME=VALUE")
    state.with_store(
        lambda store: store.get_bank(state.settings.bank)
    )  # the server would make a missing bank
    answer = ask(state, "PATCH", "/config", body={"updates": updates})
    said(state, answer, f"set {', '.join(updates)} of bank {state.settings.bank!r}")


@config.command("reset")
@dry_run_option
@pass_state
def config_reset(state: State, dry_run: bool) -> None:
    """Take every setting of the bank's own away."""
    state.with_store(lambda store: store.get_bank(state.settings.bank))
    if destroying(state, f"reset the configuration of bank {state.settings.bank!r}", dry_run):
        said(
            state, ask(state, "DELETE", "/config"), f"reset the configuration of bank {state.settings.bank!r}"
        )


@command("edit")
@click.argument("bank_id", metavar="[ID]", required=False)
@click.option("--name", metavar="TEXT", help="A label for people.")
@click.option(
    "--set",
    "fields",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Such as reflect_mission=TEXT, enable_observations=false.",
)
@pass_state
def edit(state: State, bank_id: str | None, name: str | None, fields: tuple[str, ...]) -> None:
    """Change a bank's name or settings; a bank that is missing is not made."""
    body = _typed(fields, "--set") | ({"name": name} if name is not None else {})
    if not body:
        raise click.UsageError("say what to change, for example --name")
    if bank_id is not None:
        state.bank, state._settings = bank_id, None
    found = ask(state, "PATCH", "", body=body)
    show(state, found, ("bank_id", "name", "mission", "disposition"))


@group("aliases", default="list", help="Other names under which a bank answers.")
def aliases() -> None: ...


def _aliases(state: State, answer: Any) -> None:
    if state.as_json:
        print_json(answer)
        return
    rows = answer.get("aliases") or []
    print_table(
        [Column("ALIAS", exact=True), Column("PRIMARY")],
        [(str(r.get("alias")), cell(r.get("primary"))) for r in rows],
    )
    if not rows:
        out("no aliases")


@aliases.command("list")
@pass_state
def aliases_list(state: State) -> None:
    """The aliases of the bank in use."""
    _aliases(state, ask(state, "GET", "/aliases"))


@aliases.command("add")
@click.argument("alias")
@click.option("--primary", is_flag=True, help="Show it in place of the id.")
@pass_state
def aliases_add(state: State, alias: str, primary: bool) -> None:
    """Another name for the bank in use."""
    from console.memory.hindsight.ids import check_new_bank

    _aliases(state, ask(state, "POST", "/aliases", body={"alias": check_new_bank(alias), "primary": primary}))


@aliases.command("primary")
@click.argument("alias")
@click.option("--off", is_flag=True, help="No more.")
@pass_state
def aliases_primary(state: State, alias: str, off: bool) -> None:
    """Show an alias in place of the bank's id."""
    _aliases(state, ask(state, "PATCH", "/aliases/{alias}", {"alias": alias}, body={"primary": not off}))


@aliases.command("remove")
@click.argument("alias")
@dry_run_option
@pass_state
def aliases_remove(state: State, alias: str, dry_run: bool) -> None:
    """Take an alias away; the bank stays."""
    if destroying(state, f"remove alias {alias!r} of bank {state.settings.bank!r}", dry_run):
        _aliases(state, ask(state, "DELETE", "/aliases/{alias}", {"alias": alias}))


_PERIODS = ("1h", "12h", "1d", "7d", "30d", "90d")


@command("activity")
@click.option("--period", type=click.Choice(_PERIODS), default="7d", show_default=True)
@click.option(
    "--time-field", type=click.Choice(("created_at", "mentioned_at", "occurred_start")), help="Which time."
)
@pass_state
def activity(state: State, period: str, time_field: str | None) -> None:
    """How many memories came in when."""
    found = ask(
        state, "GET", "/stats/memories-timeseries", query=[("period", period), ("time_field", time_field)]
    )
    if state.as_json:
        print_json(found)
        return
    kinds = ("world", "experience", "observation")
    rows = [(str(b.get("time", "")), [int(b.get(k) or 0) for k in kinds]) for b in found.get("buckets") or ()]
    most = max((sum(counts) for _, counts in rows), default=0) or 1
    print_table(
        [
            Column("TIME"),
            *(Column(kind.upper(), right=True) for kind in kinds),
            Column("", gives=True, extra=True),
        ],
        [
            (
                one_line(when).replace("T", " ")[:16],
                *map(number, counts),
                "#" * round(30 * sum(counts) / most),
            )
            for when, counts in rows
        ],
    )


@command("clear")
@click.option(
    "--type",
    "kind",
    type=click.Choice(("world", "experience", "observation")),
    help="Only this type; documents stay.",
)
@dry_run_option
@pass_state
def clear(state: State, kind: str | None, dry_run: bool) -> None:
    """Delete what is in a bank, its documents too, and keep the bank. There is no undo.

    With --type the documents stay without these memories, and retaining the same text again does not bring them back:
    `console documents reprocess` does.
    """
    bank = state.settings.bank
    found = state.with_store(lambda store: store.bank_stats(bank, refresh=True))
    if kind is None:
        what = f"delete all {number(found.total_documents)} documents and {number(found.total_nodes)} memories of bank {bank!r}"
    else:
        what = f"delete all {number(found.nodes_by_fact_type.get(kind, 0))} {kind} memories of bank {bank!r}"
    if destroying(state, what, dry_run):
        said(state, ask(state, "DELETE", "/memories", query=[("type", kind)]), f"did {what}")


@command("llm")
@pass_state
def llm(state: State) -> None:
    """Ask the server to try the models that this bank uses."""
    print_json(ask(state, "POST", "/health/llm"))

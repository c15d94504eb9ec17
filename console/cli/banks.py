"""``console banks``: the banks of a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from console.cli.base import State, confirm, group, note, pass_state
from console.cli.output import (
    Column,
    count,
    moment,
    number,
    out,
    page_json,
    print_fields,
    print_json,
    print_range,
    print_table,
)
from console.memory.errors import ReadOnly, Unsupported
from console.memory.models import BankStats


@group(
    "banks",
    default="list",
    help="List, create, inspect, transfer and delete banks.",
    lazy={
        "transfer": ("console.cli.transfer:transfer", "Copy a bank from one store into another."),
        "config": ("console.cli.bank_settings:config", "A bank's configuration: show, set, reset."),
        "edit": ("console.cli.bank_settings:edit", "Change a bank's name or settings."),
        "aliases": ("console.cli.bank_settings:aliases", "Other names under which a bank answers."),
        "activity": ("console.cli.bank_settings:activity", "How many memories came in when."),
        "clear": ("console.cli.bank_settings:clear", "Delete what is in a bank and keep the bank."),
        "llm": ("console.cli.bank_settings:llm", "Ask the server to try the models of a bank."),
    },
)
def banks() -> None: ...


@banks.command("list")
@click.option("--q", metavar="TEXT", help="Only banks whose id or name holds this.")
@click.option("--limit", type=click.IntRange(0), default=100, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0)
@pass_state
def list_(state: State, q: str | None, limit: int, offset: int) -> None:
    """The banks of the store, last written first."""
    page = state.with_store(lambda store: store.list_banks(q=q, limit=limit, offset=offset))
    if state.as_json:
        print_json(page_json(page, "banks"))
        return
    print_table(
        [
            Column("BANK", exact=True),
            Column("NAME", gives=True, extra=True),
            Column("FACTS", right=True, extra=True),
            Column("LAST WRITE", extra=True),
        ],
        [
            (
                b.bank_id,
                b.name if b.name and b.name != b.bank_id else "",
                number(b.fact_count),
                moment(b.last_write_at),
            )
            for b in page.items
        ],
    )
    if not page.total:
        out(f"no banks in {state.settings.store}; `console retain TEXT` makes the first")
    else:
        print_range(page, "banks")


@banks.command("create")
@click.argument("bank_id", metavar="ID")
@click.option("--name", metavar="TEXT", help="A label for people.")
@click.option("--mission", metavar="TEXT", help="What the bank is for.")
@pass_state
def create(state: State, bank_id: str, name: str | None, mission: str | None) -> None:
    """Create a bank; one that exists is left as it is."""
    bank = state.with_store(lambda store: store.create_bank(bank_id, name=name, mission=mission))
    if state.as_json:
        print_json(bank)
        return
    print_fields([("bank", bank.bank_id), ("name", bank.name or ""), ("created", moment(bank.created_at))])


@banks.command("stats")
@click.argument("bank_id", metavar="[ID]", required=False)
@pass_state
def stats(state: State, bank_id: str | None) -> None:
    """Documents, memories and pending work of a bank (default: the bank in use)."""
    wanted = bank_id or state.settings.bank
    found = state.with_store(lambda store: store.bank_stats(wanted, refresh=True))
    if state.as_json:
        print_json(found)
        return
    print_fields(
        [
            ("bank", found.bank_id),
            ("documents", number(found.total_documents)),
            ("memories", number(found.total_nodes)),
            *((f"  {kind}", number(n)) for kind, n in sorted(found.nodes_by_fact_type.items())),
            ("links", number(found.total_links) if found.total_links else ""),
            ("pending", number(found.pending_operations)),
            ("failed", number(found.failed_operations)),
            ("last write", moment(found.last_memory_write_at)),
            ("file", _size(state)),
        ]
    )


@banks.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@pass_state
def backup(state: State, file: Path) -> None:
    """Copy the whole memory file (every bank) while it is in use; the copy is checked and private."""
    from console.memory.embedded import backup as copying

    source = _memory_file(state)
    if file.exists():
        confirm(state, f"replace {str(file)!r}")
    size = copying.copy(source, file, replace=file.exists())
    _say_copied(state, source, file, size, "backed up")


@banks.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@pass_state
def restore(state: State, file: Path) -> None:
    """Put a backup in the place of the store's memory file: every bank in it is replaced."""
    from console.memory.embedded import backup as copying

    target = _memory_file(state)
    if state.settings.read_only:
        raise ReadOnly("the store is opened read-only", where=str(target), hint="leave --read-only out")
    if target.exists():
        confirm(state, f"replace every bank in {str(target)!r} by {str(file)!r}")
    size = copying.restore(file, target, replace=target.exists())
    _say_copied(state, file, target, size, "restored")


def _size(state: State) -> str:
    """Of the memory file with its log; '' where the store is none."""
    if not state.settings.store.startswith("sqlite:"):
        return ""
    path = _memory_file(state)
    files = (path, path.with_name(path.name + "-wal"))
    return f"{sum(file.stat().st_size for file in files if file.exists()) / 2**20:.1f} MiB, all banks"


def _memory_file(state: State) -> Path:
    """Of an embedded store. Raises Unsupported for the others."""
    kind, _, path = state.settings.store.partition(":")
    if kind != "sqlite":
        raise Unsupported(
            "only an embedded store is a file that can be copied",
            where=state.settings.store,
            hint="give --store sqlite:PATH",
        )
    return Path(path).expanduser()


def _say_copied(state: State, source: Path, target: Path, size: int, verb: str) -> None:
    if state.as_json:
        print_json({"success": True, "from": str(source), "to": str(target), "bytes": size})
    else:
        note(f"{verb} {source} to {target}: {size:,} bytes, checked")


@banks.command("delete")
@click.argument("bank_id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@pass_state
def delete(state: State, bank_id: str, dry_run: bool) -> None:
    """Delete a bank with everything in it. There is no undo."""
    found = state.with_store(lambda store: store.bank_stats(bank_id, refresh=True))
    if dry_run:
        _say(state, found, {"success": True, "dry_run": True}, "would delete")
        return
    confirm(state, f"delete bank {bank_id!r} with {_contents(found)} from {state.settings.store}")
    deleted = state.with_store(lambda store: store.delete_bank(bank_id))
    _say(state, found, {"success": True, "deleted_count": deleted}, "deleted")


def _contents(found: BankStats) -> str:
    memories = count(found.total_nodes, "memory", "memories")
    return f"{count(found.total_documents, 'document')} and {memories}"


def _say(state: State, found: BankStats, body: Mapping[str, object], verb: str) -> None:
    if state.as_json:
        print_json(
            {
                **body,
                "bank_id": found.bank_id,
                "documents": found.total_documents,
                "memories": found.total_nodes,
            }
        )
        return
    note(f"{verb} bank {found.bank_id!r}: {_contents(found)}")

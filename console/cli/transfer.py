"""``console banks transfer SRC DST``."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import click

from console.cli.base import State, command, pass_state
from console.cli.output import count, number, out, print_json
from console.text import label

_SHOWN = 20


@command("transfer")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--to-bank", metavar="ID", help="The bank in DST (default: the same id).")
@click.option(
    "--replace", is_flag=True, help="Also put in place of documents that say something else in DST."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be moved.")
@pass_state
def transfer(
    state: State, source: str, target: str, to_bank: str | None, replace: bool, dry_run: bool
) -> int:
    """Copy a bank from one store into another, with its facts, times, tags and what was taken back.

    SRC and DST are stores: sqlite:PATH, https://HOST or, as SRC, wiki:PATH. Nothing is extracted again. Repeat it
    after an interruption: what is there already is passed over. Exit 3 when a document differs afterwards.
    """
    if state.store is not None:
        raise click.UsageError("transfer names its two stores itself: leave out --store")
    ours = State(store=source, bank=state.bank, profile=state.profile, read_only=True)
    theirs = State(store=target, bank=to_bank, profile=state.profile, read_only=state.read_only)
    from console.cli.mirror.common import Bar
    from console.stores import open_store
    from console.transfer import TransferReport
    from console.transfer import transfer as run

    bank = ours.settings.bank

    async def whole(bar: Bar) -> TransferReport:
        one = open_store(ours.settings)
        try:
            other = open_store(theirs.settings)
            try:
                return await run(
                    one, other, bank, to_bank or bank, replace=replace, dry_run=dry_run, progress=bar.tell
                )
            finally:
                await other.aclose()
        finally:
            await one.aclose()

    with Bar() as bar:
        report = asyncio.run(whole(bar))
    if state.as_json:
        print_json(asdict(report) | {"exit_code": report.exit_code})
        return report.exit_code
    for document_id in report.different[:_SHOWN]:
        out(
            f"differs   {label(document_id)}: it says something else in the target; --replace puts this one there"
        )
    for line in report.differences[:_SHOWN]:
        out(f"differs   {label(line)}")
    if (hidden := max(0, len(report.different) - _SHOWN) + max(0, len(report.differences) - _SHOWN)) > 0:
        out(f"          {number(hidden)} more; --json lists them all")
    verb = "would transfer" if dry_run else "transferred"
    out(
        f"{verb} {count(report.transferred, 'document')} of bank {label(report.bank)} to {label(report.to_bank)}; "
        f"{number(report.present)} were there already"
    )
    if not dry_run and not report.exit_code:
        out(
            f"the same on both sides: {count(report.documents, 'document')}, {count(report.facts, 'fact')}, "
            f"{number(report.invalidated)} taken back"
        )
    return report.exit_code

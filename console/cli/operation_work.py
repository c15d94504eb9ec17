"""``console operations retry|cancel|delete``: what a Hindsight server lets one do with its background work."""

from __future__ import annotations

import click

from console.cli.base import State, command, pass_state
from console.cli.served import ask, destroying, dry_run_option, said
from console.memory.hindsight.ids import check_uuid


def _values(state: State, operation_id: str) -> dict[str, str]:
    return {"operation_id": check_uuid(operation_id, "operation", state.settings.bank)}


@command("retry")
@click.argument("operation_id", metavar="ID")
@pass_state
def retry(state: State, operation_id: str) -> None:
    """Queue a failed or cancelled operation again."""
    answer = ask(state, "POST", "/operations/{operation_id}/retry", _values(state, operation_id))
    said(state, answer, f"queued {operation_id} again")


@command("cancel")
@click.argument("operation_id", metavar="ID")
@dry_run_option
@pass_state
def cancel(state: State, operation_id: str, dry_run: bool) -> None:
    """Stop an operation that has not begun. What it has stored so far stays."""
    values = _values(state, operation_id)
    if destroying(state, f"cancel operation {operation_id} of bank {state.settings.bank!r}", dry_run):
        said(state, ask(state, "DELETE", "/operations/{operation_id}", values), f"cancelled {operation_id}")


@command("delete")
@click.argument("operation_id", metavar="ID")
@dry_run_option
@pass_state
def delete(state: State, operation_id: str, dry_run: bool) -> None:
    """Delete the row of an operation that has ended, and with it that part of a document's history."""
    values = _values(state, operation_id)
    if destroying(
        state, f"delete the row of operation {operation_id} of bank {state.settings.bank!r}", dry_run
    ):
        said(
            state,
            ask(state, "DELETE", "/operations/{operation_id}/delete", values),
            f"deleted {operation_id}",
        )

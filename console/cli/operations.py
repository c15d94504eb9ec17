"""``console operations``: background work of a store."""

from __future__ import annotations

import click

from console.cli.base import State, group, note, pass_state
from console.cli.options import page_options
from console.cli.output import (
    Column,
    mapping_words,
    moment,
    number,
    page_json,
    print_fields,
    print_json,
    print_range,
    print_table,
)
from console.memory.models import Operation


@group("operations", default="list", help="Background work of a store.")
def operations() -> None: ...


@operations.command("list")
@click.option("--status", metavar="NAME", help="pending, processing, completed, failed or cancelled.")
@page_options(20)
@pass_state
def list_(state: State, status: str | None, limit: int, offset: int) -> None:
    """The operations of the bank, newest first."""
    page = state.with_store(
        lambda store: store.list_operations(state.settings.bank, status=status, limit=limit, offset=offset)
    )
    if state.as_json:
        print_json(page_json(page, "operations"))
        return
    print_table(
        [
            Column("OPERATION"),
            Column("TYPE", extra=True),
            Column("STATUS"),
            Column("ITEMS", right=True, extra=True),
            Column("DOCUMENT", gives=True, extra=True),
            Column("CREATED", extra=True),
            Column("ERROR", gives=True, extra=True),
        ],
        [
            (
                op.id,
                op.task_type,
                op.status,
                number(op.items_count),
                op.document_id or "",
                moment(op.created_at),
                op.error_message or "",
            )
            for op in page.items
        ],
    )
    print_range(page, "operations", more=f"--offset {page.offset + len(page.items)} shows more")


@operations.command("get")
@click.argument("operation_id", metavar="ID")
@pass_state
def get(state: State, operation_id: str) -> None:
    """One operation."""
    _show(state, state.with_store(lambda store: store.get_operation(state.settings.bank, operation_id)))


@operations.command("wait")
@click.argument("operation_id", metavar="ID")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=300.0, show_default=True, help="Seconds."
)
@pass_state
def wait(state: State, operation_id: str, timeout: float) -> None:
    """Wait until an operation has ended; exit 1 when it failed or was cancelled."""
    ended = state.with_store(
        lambda store: store.wait_operation(state.settings.bank, operation_id, timeout=timeout)
    )
    _show(state, ended)
    if ended.status != "completed":
        note(f"operation {ended.id} is {ended.status}: {ended.error_message or 'no reason was given'}")
        click.get_current_context().exit(1)


def _show(state: State, op: Operation) -> None:
    if state.as_json:
        print_json(op)
        return
    print_fields(
        [
            ("operation", op.id),
            ("type", op.task_type),
            ("status", op.status),
            ("items", number(op.items_count)),
            ("document", op.document_id or ", ".join(op.document_ids)),
            ("created", moment(op.created_at)),
            ("completed", moment(op.completed_at)),
            ("retries", number(op.retry_count) if op.retry_count else ""),
            ("next try", moment(op.next_retry_at)),
            ("error", op.error_message or ""),
            ("result", mapping_words(op.result_metadata)),
        ]
    )

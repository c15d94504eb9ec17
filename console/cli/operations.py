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
from console.cli.served import Query, listing, show_rows
from console.memory.models import Operation


@group(
    "operations",
    default="list",
    help="Background work of a store.",
    lazy={
        "retry": ("console.cli.operation_work:retry", "Queue a failed or cancelled operation again."),
        "cancel": ("console.cli.operation_work:cancel", "Stop an operation that has not begun."),
        "delete": ("console.cli.operation_work:delete", "Delete the row of an operation that has ended."),
    },
)
def operations() -> None: ...


@operations.command("list")
@click.option("--status", metavar="NAME", help="pending, processing, completed, failed or cancelled.")
@click.option("--type", "kind", metavar="NAME", help="retain, consolidation, export_documents and so on.")
@click.option("--no-parents", is_flag=True, help="Without those that only hold others together.")
@page_options(20)
@pass_state
def list_(
    state: State, status: str | None, kind: str | None, no_parents: bool, limit: int, offset: int
) -> None:
    """The operations of the bank, newest first."""
    if kind is not None or no_parents:
        _list_served(
            state,
            [("status", status), ("type", kind), ("exclude_parents", no_parents or None)],
            limit,
            offset,
        )
        return
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


def _list_served(state: State, query: Query, limit: int, offset: int) -> None:
    """With the filters that only a server has: its own rows."""
    page = listing(
        state, "/operations", key="operations", query=query, limit=limit, offset=offset, every=False, most=100
    )
    columns = [
        (Column("OPERATION"), "id"),
        (Column("TYPE", extra=True), "task_type"),
        (Column("STATUS"), "status"),
        (Column("DOCUMENT", gives=True, extra=True), "document_id"),
        (Column("CREATED", extra=True), "created_at"),
        (Column("ERROR", gives=True, extra=True), "error_message"),
    ]
    show_rows(state, page, columns, "operations", key="operations")


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

"""``console directives``: the rules that a bank's answers obey."""

from __future__ import annotations

from typing import Any

import click

from console.cli.base import State, group, pass_state
from console.cli.options import tag_options
from console.cli.output import Column
from console.cli.served import (
    ask,
    destroying,
    dry_run_option,
    listing,
    paged,
    said,
    show,
    show_rows,
    tag_query,
)

_FIELDS = ("id", "name", "priority", "is_active", "tags", "created_at", "updated_at")


@group("directives", default="list", help="The rules that a bank's answers obey.")
def directives() -> None: ...


@directives.command("list")
@click.option("--inactive", is_flag=True, help="With those that are switched off.")
@tag_options("any")
@paged(100)
@pass_state
def list_(
    state: State, inactive: bool, tags: tuple[str, ...], tags_match: str, limit: int, offset: int, every: bool
) -> None:
    """Highest priority first."""
    query = [*tag_query(tags, tags_match), ("active_only", not inactive)]
    page = listing(state, "/directives", query=query, limit=limit, offset=offset, every=every, most=1000)
    columns = [
        (Column("DIRECTIVE", exact=True), "id"),
        (Column("NAME", gives=True), "name"),
        (Column("PRIORITY", right=True, extra=True), "priority"),
        (Column("ACTIVE", extra=True), "is_active"),
        (Column("CONTENT", gives=True, extra=True), "content"),
    ]
    show_rows(state, page, columns, "directives")


@directives.command("get")
@click.argument("directive_id", metavar="ID")
@pass_state
def get(state: State, directive_id: str) -> None:
    """One directive with its text."""
    found = ask(state, "GET", "/directives/{directive_id}", {"directive_id": directive_id})
    show(state, found, _FIELDS, text="content")


@directives.command("create")
@click.argument("name")
@click.argument("content")
@click.option("--priority", type=int, help="Higher ones come first.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only for questions with this tag.")
@click.option("--inactive", is_flag=True, help="Do not switch it on.")
@pass_state
def create(
    state: State, name: str, content: str, priority: int | None, tags: tuple[str, ...], inactive: bool
) -> None:
    """A new rule: NAME for people, CONTENT for the model."""
    if not content.strip():
        raise click.UsageError("CONTENT is empty")
    # The server fails with 500 on a missing bank and names a foreign key: ask for the bank first.
    state.with_store(lambda store: store.get_bank(state.settings.bank))
    body: dict[str, Any] = {"name": name, "content": content, "is_active": not inactive, "tags": list(tags)}
    if priority is not None:
        body["priority"] = priority
    found = ask(state, "POST", "/directives", body=body)
    said(state, found, f"created directive {found.get('id')}")


@directives.command("edit")
@click.argument("directive_id", metavar="ID")
@click.option("--name")
@click.option("--content")
@click.option("--priority", type=int)
@click.option("--active/--inactive", "is_active", default=None)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Replaces all of them.")
@click.option("--clear-tags", is_flag=True)
@pass_state
def edit(state: State, directive_id: str, tags: tuple[str, ...], clear_tags: bool, **fields: Any) -> None:
    """Change what is given, keep the rest."""
    if tags and clear_tags:
        raise click.UsageError("--tag and --clear-tags exclude each other")
    body = {name: value for name, value in fields.items() if value is not None}
    if tags or clear_tags:
        body["tags"] = list(tags)
    if not body:
        raise click.UsageError("say what to change, for example --content")
    found = ask(state, "PATCH", "/directives/{directive_id}", {"directive_id": directive_id}, body=body)
    said(state, found, f"changed directive {directive_id}")


@directives.command("delete")
@click.argument("directive_id", metavar="ID")
@dry_run_option
@pass_state
def delete(state: State, directive_id: str, dry_run: bool) -> None:
    """Delete a rule. There is no undo; `edit --inactive` switches it off."""
    values = {"directive_id": directive_id}
    found = ask(state, "GET", "/directives/{directive_id}", values)
    if destroying(state, f"delete directive {found.get('name')!r} of bank {state.settings.bank!r}", dry_run):
        said(
            state,
            ask(state, "DELETE", "/directives/{directive_id}", values),
            f"deleted directive {directive_id}",
        )

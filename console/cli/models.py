"""``console models``: mental models, the summaries that a bank keeps up to date."""

from __future__ import annotations

from typing import Any

import click

from console.cli.base import State, group, note, pass_state
from console.cli.options import json_type, tag_options
from console.cli.output import Column, out, print_json
from console.cli.served import (
    ask,
    cell,
    destroying,
    dry_run_option,
    finished,
    listing,
    paged,
    said,
    show,
    show_rows,
    tag_query,
    wait_option,
)
from console.memory.errors import ServerFailed, StoreError
from console.text import neutralise, one_line

_ONE = "/mental-models/{mental_model_id}"
_FIELDS = (
    "id",
    "name",
    "source_query",
    "tags",
    "max_tokens",
    "is_stale",
    "last_refreshed_at",
    "created_at",
    "trigger",
)


@group("models", default="list", help="Mental models: summaries that a bank keeps up to date.")
def models() -> None: ...


@models.command("list")
@click.option(
    "--detail", type=click.Choice(("metadata", "content", "full")), default="metadata", show_default=True
)
@click.option("--no-pages", "pages", is_flag=True, help="Without those behind knowledge pages.")
@tag_options("any")
@paged(100)
@pass_state
def list_(
    state: State,
    detail: str,
    pages: bool,
    tags: tuple[str, ...],
    tags_match: str,
    limit: int,
    offset: int,
    every: bool,
) -> None:
    """Last refreshed first."""
    query = [*tag_query(tags, tags_match), ("detail", detail), ("exclude_knowledge_pages", pages or None)]
    page = listing(state, "/mental-models", query=query, limit=limit, offset=offset, every=every, most=1000)
    columns = [
        (Column("MODEL", exact=True), "id"),
        (Column("NAME", gives=True), "name"),
        (Column("TAGS", gives=True, extra=True), "tags"),
        (Column("REFRESHED", extra=True), "last_refreshed_at"),
    ]
    show_rows(state, page, columns, "mental models")


@models.command("get")
@click.argument("model_id", metavar="ID")
@click.option(
    "--detail", type=click.Choice(("metadata", "content", "full")), default="full", show_default=True
)
@pass_state
def get(state: State, model_id: str, detail: str) -> None:
    """One model with its content."""
    show(
        state,
        ask(state, "GET", _ONE, {"mental_model_id": model_id}, query=[("detail", detail)]),
        _FIELDS,
        text="content",
    )


@models.command("create")
@click.argument("name")
@click.argument("source_query", metavar="QUESTION")
@click.option(
    "--id", "model_id", metavar="ID", help="Lower-case letters, digits and -; default: made from the name."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only from memories with this tag.")
@click.option("--max-tokens", type=click.IntRange(256, 8192), help="How long.")
@click.option("--trigger", type=json_type(dict), metavar="JSON", help="When and how it is refreshed.")
@wait_option
@pass_state
def create(
    state: State,
    name: str,
    source_query: str,
    model_id: str | None,
    tags: tuple[str, ...],
    max_tokens: int | None,
    trigger: Any,
    wait: bool,
) -> None:
    """A model that answers QUESTION from the bank, again and again."""
    import re

    if model_id is not None and not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", model_id):
        # The server stores any id, and one that it does not like makes every later template export fail.
        raise click.UsageError("--id is made of lower-case letters, digits and - only")
    fields = {
        "id": model_id,
        "name": name,
        "source_query": source_query,
        "max_tokens": max_tokens,
        "trigger": trigger,
    }
    body = {key: value for key, value in fields.items() if value is not None} | {"tags": list(tags)}
    try:
        answer = ask(state, "POST", "/mental-models", body=body)
    except ServerFailed:
        _say_left(state, name)
        raise
    finished(state, answer, wait, f"model {answer.get('mental_model_id')}")


def _say_left(state: State, name: str) -> None:
    """The server may fail after it stored the row: look, and say so."""
    try:
        page = listing(state, "/mental-models", limit=1000, offset=0, every=False, most=1000)
    except StoreError as error:
        note(f"whether the model was stored could not be found out: {error}")
        return
    left = [row for row in page["items"] if row.get("name") == name]
    for row in left:
        note(
            f"the server failed, but model {row.get('id')} named {name!r} is there: `console models delete` removes it"
        )


@models.command("edit")
@click.argument("model_id", metavar="ID")
@click.option("--name")
@click.option("--question", "source_query")
@click.option("--max-tokens", type=click.IntRange(256, 8192))
@click.option("--trigger", type=json_type(dict), metavar="JSON")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Replaces all of them.")
@click.option("--clear-tags", is_flag=True)
@pass_state
def edit(state: State, model_id: str, tags: tuple[str, ...], clear_tags: bool, **fields: Any) -> None:
    """Change what is given, keep the rest. The content itself is the model's."""
    if tags and clear_tags:
        raise click.UsageError("--tag and --clear-tags exclude each other")
    body = {name: value for name, value in fields.items() if value is not None}
    if tags or clear_tags:
        body["tags"] = list(tags)
    if not body:
        raise click.UsageError("say what to change, for example --question")
    said(
        state,
        ask(state, "PATCH", _ONE, {"mental_model_id": model_id}, body=body),
        f"changed model {model_id}",
    )


@models.command("history")
@click.argument("model_id", metavar="ID")
@pass_state
def history(state: State, model_id: str) -> None:
    """What it said before, newest first."""
    found = ask(state, "GET", _ONE + "/history", {"mental_model_id": model_id})
    if state.as_json:
        print_json(found)
        return
    rows = found if isinstance(found, list) else found.get("items") or found.get("history") or []
    for row in rows:
        when = next(
            (cell(row[key], key) for key in ("changed_at", "created_at", "updated_at") if row.get(key)), ""
        )
        out(one_line(f"{when}  {row.get('outcome') or row.get('change_type') or ''}"))
        text = row.get("previous_content") or row.get("content")
        if isinstance(text, str):
            out(neutralise(text).rstrip())
    if not rows:
        out("no history")


@models.command("refresh")
@click.argument("model_id", metavar="ID")
@click.option("--full", is_flag=True, help="Write it anew instead of bringing it up to date.")
@wait_option
@pass_state
def refresh(state: State, model_id: str, full: bool, wait: bool) -> None:
    """Answer its question again. Needs a model on the server."""
    body = {"mode": "full"} if full else {}
    answer = ask(state, "POST", _ONE + "/refresh", {"mental_model_id": model_id}, body=body)
    finished(state, answer, wait, f"refreshing {model_id}")


@models.command("dry-run")
@click.argument("model_id", metavar="ID")
@pass_state
def dry_run_(state: State, model_id: str) -> None:
    """What a refresh would write, without writing it. Costs a model call."""
    found = ask(state, "POST", _ONE + "/dry-run-refresh", {"mental_model_id": model_id})
    if state.as_json:
        print_json(found)
        return
    text = next(
        (found[key] for key in ("preview_content", "candidate_content") if isinstance(found.get(key), str)),
        "",
    )
    out(neutralise(text).rstrip() or "nothing would change")


@models.command("clear")
@click.argument("model_id", metavar="ID")
@dry_run_option
@pass_state
def clear(state: State, model_id: str, dry_run: bool) -> None:
    """Empty its content; the next refresh writes it again."""
    if destroying(state, f"empty mental model {model_id!r} of bank {state.settings.bank!r}", dry_run):
        said(state, ask(state, "POST", _ONE + "/clear", {"mental_model_id": model_id}), f"emptied {model_id}")


@models.command("delete")
@click.argument("model_id", metavar="ID")
@dry_run_option
@pass_state
def delete(state: State, model_id: str, dry_run: bool) -> None:
    """Delete a model with its history. There is no undo."""
    ask(state, "GET", _ONE, {"mental_model_id": model_id}, query=[("detail", "metadata")])
    if destroying(state, f"delete mental model {model_id!r} of bank {state.settings.bank!r}", dry_run):
        said(state, ask(state, "DELETE", _ONE, {"mental_model_id": model_id}), f"deleted {model_id}")

"""``console knowledge``: the pages that a bank writes of itself. Editing them: ``console api``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from console.cli.base import Refused, State, group, note, pass_state
from console.cli.options import json_type, tag_options
from console.cli.output import Column, out, print_json
from console.cli.served import Query, ask, show, show_rows, tag_query
from console.text import neutralise, one_line

_GROUPS = click.option(
    "--tag-groups", type=json_type(list), metavar="JSON", help="A nested tag filter, instead of --tag."
)
_DEEPEST = 40


@group("knowledge", default="tree", help="Knowledge pages: what a bank writes of itself.")
def knowledge() -> None: ...


@knowledge.command("tree")
@tag_options("any")
@_GROUPS
@pass_state
def tree(state: State, tags: tuple[str, ...], tags_match: str, tag_groups: Any) -> None:
    """Folders and pages."""
    found = ask(state, "GET", "/knowledge-base/tree", query=tag_query(tags, tags_match, tag_groups))
    if state.as_json:
        print_json(found)
        return
    roots = found.get("roots") or []
    _print_nodes(roots, 0)
    if not roots:
        out("no pages")


def _print_nodes(nodes: Any, depth: int) -> None:
    for node in nodes if isinstance(nodes, list) else ():
        mark = "/" if node.get("kind") == "folder" else " (stale)" if node.get("is_stale") else ""
        out(one_line(f"{'. ' * depth}{node.get('name')}{mark}  {node.get('id')}"))
        if depth < _DEEPEST:
            _print_nodes(node.get("children"), depth + 1)


@knowledge.command("read")
@click.argument("page_id", metavar="ID")
@pass_state
def read(state: State, page_id: str) -> None:
    """One page."""
    found = ask(state, "GET", "/knowledge-base/pages/{page_id}", {"page_id": page_id})
    show(state, found, ("id", "name", "type", "description", "tags", "timestamp"), text="body")


@knowledge.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True)
@tag_options("any")
@_GROUPS
@pass_state
def search(
    state: State, query: tuple[str, ...], limit: int, tags: tuple[str, ...], tags_match: str, tag_groups: Any
) -> None:
    """Pages about something, best first."""
    asked: Query = [("q", " ".join(query)), ("limit", limit), *tag_query(tags, tags_match, tag_groups)]
    found = ask(state, "GET", "/knowledge-base/search", query=asked)
    columns = [
        (Column("PAGE", exact=True), "id"),
        (Column("NAME", gives=True), "name"),
        (Column("SNIPPET", gives=True, extra=True), "snippet"),
    ]
    show_rows(state, found, columns, "pages", key="results")


@knowledge.command("export")
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@pass_state
def export(state: State, folder: Path | None) -> None:
    """Every page as markdown: into FOLDER, else on the screen."""
    found = ask(state, "GET", "/knowledge-base/export")
    files = [file for file in found.get("files") or () if isinstance(file, dict)]
    if folder is None:
        if state.as_json:
            print_json(found)
            return
        for file in files:
            out(one_line(f"==> {file.get('path')} <=="))
            out(neutralise(str(file.get("content", ""))).rstrip())
        return
    names = [_safe_name(str(file.get("path"))) for file in files]  # all of them before the first is written
    folder.mkdir(parents=True, exist_ok=True)
    for name, file in zip(names, files, strict=True):
        target = folder / name
        if target.is_symlink():
            raise Refused(f"{target} is a link: nothing is written through it")
        target.write_text(str(file.get("content", "")), encoding="utf-8", newline="")
    if state.as_json:
        print_json({"success": True, "folder": str(folder), "files": names})
    else:
        note(f"{len(names)} files in {folder}")


def _safe_name(path: str) -> str:
    """A page's file: what a server names must not leave the folder. Raises BadAnswer."""
    from console.memory.errors import BadAnswer

    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,199}", path) or path.endswith((" ", ".")):
        raise BadAnswer(
            f"the server names a file {one_line(path[:80])!r}, which is not written", hint="leave FOLDER out"
        )
    return path

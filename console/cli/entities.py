"""``console entities`` and ``console tags``: what the memories of a bank are about."""

from __future__ import annotations

from typing import Any

import click

from console.cli.base import State, group, pass_state
from console.cli.options import json_type, tag_options
from console.cli.output import Column, out, print_json
from console.cli.served import ask, listing, paged, show, show_rows, tag_query
from console.text import one_line

_GROUPS = click.option(
    "--tag-groups", type=json_type(list), metavar="JSON", help="A nested tag filter, instead of --tag."
)


@group("entities", default="list", help="Who and what the memories are about.")
def entities() -> None: ...


@entities.command("list")
@tag_options("any")
@_GROUPS
@paged(100)
@pass_state
def list_(
    state: State,
    tags: tuple[str, ...],
    tags_match: str,
    tag_groups: Any,
    limit: int,
    offset: int,
    every: bool,
) -> None:
    """The entities of the bank, most mentioned first."""
    page = listing(
        state,
        "/entities",
        query=tag_query(tags, tags_match, tag_groups),
        limit=limit,
        offset=offset,
        every=every,
    )
    columns = [
        (Column("ENTITY", exact=True), "id"),
        (Column("NAME", gives=True), "canonical_name"),
        (Column("MENTIONS", right=True), "mention_count"),
        (Column("FIRST", extra=True), "first_seen"),
        (Column("LAST", extra=True), "last_seen"),
    ]
    show_rows(state, page, columns, "entities")


@entities.command("get")
@click.argument("entity_id", metavar="ID")
@tag_options("any")
@_GROUPS
@pass_state
def get(state: State, entity_id: str, tags: tuple[str, ...], tags_match: str, tag_groups: Any) -> None:
    """One entity; `console memories list --entity ID` lists what is known about it."""
    found = ask(
        state,
        "GET",
        "/entities/{entity_id}",
        {"entity_id": entity_id},
        query=tag_query(tags, tags_match, tag_groups),
    )
    show(state, found, ("id", "canonical_name", "mention_count", "first_seen", "last_seen", "metadata"))


@entities.command("graph")
@click.option(
    "--limit", type=click.IntRange(0), default=1000, show_default=True, help="At most so many links."
)
@click.option(
    "--min-count", type=click.IntRange(1), default=1, show_default=True, help="Only those met so often."
)
@tag_options("any")
@_GROUPS
@pass_state
def graph(
    state: State, limit: int, min_count: int, tags: tuple[str, ...], tags_match: str, tag_groups: Any
) -> None:
    """Which entities are mentioned together."""
    query = [*tag_query(tags, tags_match, tag_groups), ("limit", limit), ("min_count", min_count)]
    found = ask(state, "GET", "/entities/graph", query=query)
    if state.as_json:
        print_json(found)
        return
    label = {
        str(n["data"].get("id")): str(n["data"].get("label"))
        for n in found.get("nodes") or ()
        if isinstance(n.get("data"), dict)
    }
    for edge in found.get("edges") or ():
        data = edge.get("data") or {}
        source, target = (label.get(str(data.get(end)), str(data.get(end))) for end in ("source", "target"))
        if source != target:
            out(one_line(f"{source} - {target}  {data.get('linkType', '')} {data.get('weight', '')}"))
    out(f"{found.get('total_entities', len(label))} entities, {found.get('total_edges', 0)} links")


@group("tags", default="list", help="The tags of a bank, with how many memories carry each.")
def tags() -> None: ...


@tags.command("list")
@click.option("--q", metavar="PATTERN", help="Only tags like this; * stands for anything, as in user:*.")
@click.option(
    "--source", type=click.Choice(("memories", "mental_models")), help="Of what (default: memories)."
)
@paged(100)
@pass_state
def tags_list(state: State, q: str | None, source: str | None, limit: int, offset: int, every: bool) -> None:
    """Most used first. To change tags: `console documents tags`."""
    page = listing(
        state, "/tags", query=[("q", q), ("source", source)], limit=limit, offset=offset, every=every
    )
    show_rows(
        state, page, [(Column("TAG", exact=True), "tag"), (Column("COUNT", right=True), "count")], "tags"
    )

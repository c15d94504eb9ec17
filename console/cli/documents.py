"""``console documents``: the texts that were retained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from console.cli.base import State, confirm, group, jsonl_option, note, pass_state
from console.cli.bulk import bulk_options, each, read_ids
from console.cli.options import all_option, check_span, moment_type, page_options, tag_options
from console.cli.output import (
    Column,
    count,
    mapping_words,
    moment,
    number,
    out,
    page_json,
    print_bytes,
    print_fields,
    print_json,
    print_range,
    print_table,
    styled,
)
from console.cli.pending import refuse_busy
from console.cli.rows import show_listing
from console.memory.errors import NotFound
from console.memory.models import Document, DocumentQuery
from console.memory.store import MemoryStore
from console.text import neutralise


@group(
    "documents",
    default="list",
    help="The texts that were retained.",
    lazy={
        "history": ("console.cli.document_work:history", "What was done to a document in the background."),
        "reprocess": ("console.cli.document_work:reprocess", "Extract the facts of a document anew."),
        "chunk": ("console.cli.document_work:chunk", "One chunk by the id that recall gives."),
        "upload": ("console.cli.document_work:upload", "Let the server turn files into text and retain it."),
    },
)
def documents() -> None: ...


@documents.command("list")
@click.option("--q", metavar="TEXT", help="Only documents whose id or text holds this.")
@tag_options("any_strict")
@click.option(
    "--time-field", type=click.Choice(("created_at", "updated_at")), help="What --since and --until mean."
)
@click.option("--since", "start_date", type=moment_type(), help="From this time on.")
@click.option("--until", "end_date", type=moment_type(), help="Before this time.")
@click.option("--changed-since", type=moment_type(), help="Only those changed from this time on, as in 2d.")
@page_options(100)
@all_option
@jsonl_option
@pass_state
def list_(state: State, changed_since: str | None, every: bool, **filters: Any) -> None:
    """The documents of the bank, newest first."""
    if changed_since is not None:
        if filters["time_field"] or filters["start_date"]:
            raise click.UsageError(
                "--changed-since stands for --time-field updated_at --since: give one of them"
            )
        filters |= {"time_field": "updated_at", "start_date": changed_since}
    check_span(filters["start_date"], filters["end_date"], ("--since", "--until"))
    query = DocumentQuery(**filters)
    page = show_listing(
        state, lambda store, asked: store.list_documents(state.settings.bank, asked), query, every
    )
    if page is None:
        return
    print_table(
        [
            Column("DOCUMENT", gives=True, exact=True),
            Column("CONTEXT", gives=True, extra=True),
            Column("TAGS", gives=True, extra=True),
            Column("CHARACTERS", right=True, extra=True),
            Column("FACTS", right=True, extra=True),
            Column("UPDATED", extra=True),
        ],
        [
            (
                d.id,
                str((d.retain_params or {}).get("context") or ""),
                " ".join(d.tags),
                number(d.text_length),
                number(d.memory_unit_count),
                moment(d.updated_at),
            )
            for d in page.items
        ],
    )
    print_range(page, "documents", more=f"--offset {page.offset + len(page.items)} or --all shows more")


@documents.command("get")
@click.argument("document_id", metavar="ID")
@click.option("--text", "only_text", is_flag=True, help="Print the stored text alone.")
@click.option(
    "--raw", is_flag=True, help="Print the stored text byte for byte: for files, not for terminals."
)
@pass_state
def get(state: State, document_id: str, only_text: bool, raw: bool) -> None:
    """One document: its text, tags, context and metadata."""
    found = state.with_store(lambda store: store.get_document(state.settings.bank, document_id))
    if state.as_json:
        print_json(found)
        return
    if not (only_text or raw):
        _print_head(found)
        out()
    if raw and found.original_text is not None:
        print_bytes(found.original_text.encode("utf-8", "surrogatepass"))
    elif found.original_text is None:
        note("the store keeps no text of this document")
    else:
        out(neutralise(found.original_text).rstrip("\n"))


def _print_head(found: Document) -> None:
    params = found.retain_params or {}
    print_fields(
        [
            ("document", found.id),
            ("bank", found.bank_id),
            ("context", str(params.get("context") or "")),
            ("tags", " ".join(found.tags)),
            ("metadata", mapping_words(found.document_metadata or params.get("metadata"))),
            ("said at", moment(params["event_date"]) if isinstance(params.get("event_date"), str) else ""),
            ("created", moment(found.created_at)),
            ("updated", moment(found.updated_at)),
            ("size", f"{count(found.text_length, 'character')}, {count(found.memory_unit_count, 'fact')}"),
            ("sha256", found.content_hash or ""),
        ]
    )


@documents.command("chunks")
@click.argument("document_id", metavar="ID")
@page_options(100)
@pass_state
def chunks(state: State, document_id: str, limit: int, offset: int) -> None:
    """The pieces that the store cut a document into."""
    page = state.with_store(
        lambda store: store.list_chunks(state.settings.bank, document_id, limit=limit, offset=offset)
    )
    if state.as_json:
        print_json(page_json(page))
        return
    for chunk in page.items:
        out(styled(f"chunk {chunk.chunk_index}, {count(len(chunk.chunk_text), 'character')}", bold=True))
        out(neutralise(chunk.chunk_text).rstrip("\n"))
        out()
    print_range(page, "chunks", more=f"--offset {page.offset + len(page.items)} shows more")


@documents.command("tags")
@click.argument("document_id", metavar="ID")
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--add", multiple=True, metavar="TAG", help="Add this one; may be repeated.")
@click.option("--remove", multiple=True, metavar="TAG", help="Remove this one; may be repeated.")
@click.option("--clear", is_flag=True, help="Remove all.")
@pass_state
def tags(
    state: State,
    document_id: str,
    tags: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    clear: bool,
) -> None:
    """Show a document's tags, or set them to those given."""
    if sum(map(bool, (tags, add or remove, clear))) > 1:
        raise click.UsageError("give the tags, or --add and --remove, or --clear")
    if any(not tag.strip() for tag in (*tags, *add)):
        raise click.UsageError("a tag is empty")

    async def work(store: MemoryStore) -> tuple[str, ...]:
        bank = state.settings.bank
        found = (await store.get_document(bank, document_id)).tags
        if not (tags or add or remove or clear):
            return found
        wanted = {*tags} if tags else set() if clear else ({*found} | {*add}) - {*remove}
        if wanted != {*found}:
            await store.set_document_tags(bank, document_id, sorted(wanted))
        return tuple(sorted(wanted))

    now = state.with_store(work)
    if state.as_json:
        print_json({"document_id": document_id, "tags": now})
        return
    for tag in now:
        out(neutralise(tag))
    if not now:
        note("no tags")


@documents.command("retag")
@click.argument("document_ids", nargs=-1, required=True, metavar="ID... | -")
@click.option("--add", multiple=True, metavar="TAG", help="Add this one; may be repeated.")
@click.option("--remove", multiple=True, metavar="TAG", help="Remove this one; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Only say which tags each would have.")
@bulk_options
@pass_state
def retag(
    state: State,
    document_ids: tuple[str, ...],
    add: tuple[str, ...],
    remove: tuple[str, ...],
    dry_run: bool,
    failed: Path | None,
) -> None:
    """Add and remove tags of many documents; - reads ids or lines of a listing. The rest of their tags stays."""
    if not (add or remove):
        raise click.UsageError("give --add or --remove")
    if {*add} & {*remove}:
        raise click.UsageError(f"{min({*add} & {*remove})!r} is to be added and removed")
    if any(not tag.strip() for tag in add):
        raise click.UsageError("a tag is empty")

    async def work(store: MemoryStore, name: str) -> dict[str, list[str]]:
        found = set((await store.get_document(state.settings.bank, name)).tags)
        wanted = (found | {*add}) - {*remove}
        if wanted != found and not dry_run:  # a set that stays the same would only move updated_at
            await store.set_document_tags(state.settings.bank, name, sorted(wanted))
        return {"tags": sorted(wanted)}

    each(state, read_ids(document_ids), work, "would be retagged" if dry_run else "retagged", failed)


@documents.command("delete")
@click.argument("document_ids", nargs=-1, required=True, metavar="ID... | -")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@bulk_options
@pass_state
def delete(state: State, document_ids: tuple[str, ...], dry_run: bool, failed: Path | None) -> None:
    """Delete documents with all their memories. There is no undo.

    - reads ids or the lines of `console documents list --jsonl` from standard input; it needs --yes or --dry-run.
    """
    bank = state.settings.bank
    wanted = tuple(read_ids(document_ids))

    async def look(store: MemoryStore) -> list[Document]:
        await refuse_busy(store, bank, wanted)
        # All of them before the first is deleted: a wrong id must not leave half of the work done.
        return [await store.get_document(bank, name) for name in wanted]

    found = state.with_store(look)
    memories = sum(document.memory_unit_count for document in found)
    what = f"{count(len(found), 'document')} with {count(memories, 'memory', 'memories')}"
    if dry_run:
        if state.as_json:
            print_json(
                {"dry_run": True, "document_ids": wanted, "documents": len(found), "memories": memories}
            )
        else:
            note(f"would delete {what} from bank {bank!r}")
        return
    confirm(state, f"delete {what} from bank {bank!r}")
    if failed is not None or state.as_jsonl:

        async def one(store: MemoryStore, name: str) -> dict[str, int]:
            return {"memory_units_deleted": await store.delete_document(bank, name)}

        each(state, wanted, one, "deleted", failed)
        return

    async def work(store: MemoryStore) -> int:
        gone = 0
        for name in wanted:
            try:
                gone += await store.delete_document(bank, name)
            except NotFound:
                note(f"{name!r} was deleted by somebody else meanwhile")
        return gone

    gone = state.with_store(work)
    if state.as_json:
        print_json(
            {"success": True, "document_ids": wanted, "documents": len(found), "memory_units_deleted": gone}
        )
    else:
        note(
            f"deleted {count(len(found), 'document')} with {count(gone, 'memory', 'memories')} from bank {bank!r}"
        )

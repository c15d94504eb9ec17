"""``console documents history|reprocess|chunk|upload``: what a Hindsight server can do with one document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from console.api.client import Api
from console.api.form import form
from console.api.request import fill
from console.cli.base import State, command, note, pass_state
from console.cli.options import moment_type, pairs
from console.cli.output import Column, count, out, print_json
from console.cli.pending import refuse_busy
from console.cli.served import (
    BANK,
    ask,
    destroying,
    dry_run_option,
    finished,
    listing,
    paged,
    served,
    show_rows,
    wait_option,
)
from console.memory.models import Operation
from console.memory.store import MemoryStore
from console.text import neutralise

_MOST_FILES, _MOST_BYTES = 10, 100 * 1024 * 1024


@command("history")
@click.argument("document_id", metavar="ID")
@paged(100)
@pass_state
def history(state: State, document_id: str, limit: int, offset: int, every: bool) -> None:
    """What was done to a document in the background, newest first. Texts are not kept: the mirror keeps them."""

    def work(store: MemoryStore) -> Any:
        return store.get_document(state.settings.bank, document_id)

    # The server answers 200 and nothing for a document that does not exist, and old rows for one that is deleted.
    state.with_store(work)
    found = listing(
        state,
        "/documents/{document_id}/history",
        values={"document_id": document_id},
        limit=limit,
        offset=offset,
        every=every,
        most=1000,
    )
    columns = [
        (Column("WHEN"), "created_at"),
        (Column("WHAT"), "kind"),
        (Column("ADDED", right=True), "facts_added"),
        (Column("REMOVED", right=True), "facts_removed"),
        (Column("OPERATION", extra=True), "operation_id"),
    ]
    show_rows(state, found, columns, "events")


@command("reprocess")
@click.argument("document_id", metavar="ID")
@dry_run_option
@wait_option
@pass_state
def reprocess(state: State, document_id: str, dry_run: bool, wait: bool) -> None:
    """Extract the facts of a document anew. Edits are lost, and what was taken back is live again."""
    bank = state.settings.bank

    async def look(store: MemoryStore) -> tuple[int, int]:
        from console.memory.models import MemoryQuery

        await refuse_busy(store, bank, {document_id})
        await store.get_document(bank, document_id)
        every = MemoryQuery(document_id=document_id, limit=100_000)
        live = (await store.list_memories(bank, every)).items
        gone = (
            await store.list_memories(
                bank, MemoryQuery(document_id=document_id, state="invalidated", limit=0)
            )
        ).total
        return sum(1 for memory in live if memory.edited_at), gone

    edited, gone = state.with_store(look)
    lost = (
        f"{count(edited, 'edit')} lost, {count(gone, 'retracted fact')} live again"
        if edited or gone
        else "nothing curated is lost"
    )
    if destroying(state, f"extract document {document_id!r} of bank {bank!r} anew ({lost})", dry_run):
        answer = ask(state, "POST", "/documents/{document_id}/reprocess", {"document_id": document_id})
        finished(state, answer, wait, f"reprocessing {document_id}")


@command("chunk")
@click.argument("chunk_id", metavar="CHUNK-ID")
@pass_state
def chunk(state: State, chunk_id: str) -> None:
    """One chunk by the id that recall gives."""

    async def work(api: Api) -> Any:
        return await api.ask(
            "GET", "/v1/default/chunks/{chunk_id}", {"chunk_id": chunk_id}, missing=f"chunk {chunk_id!r}"
        )

    found = served(state, work)
    if state.as_json:
        print_json(found)
    else:
        out(neutralise(str(found.get("chunk_text") or "")).rstrip("\n"))


@command("upload")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@click.option(
    "--id", "document_id", metavar="ID", help="Document id, for one file (default: the file's name)."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG")
@click.option("--context", metavar="TEXT")
@click.option("--metadata", multiple=True, metavar="K=V")
@click.option("--at", "timestamp", type=moment_type(), help="When it was said (default: now).")
@click.option("--parser", metavar="NAME", help="How the server turns the file into text.")
@click.option("--strategy", metavar="NAME", help="A retain strategy of the bank.")
@wait_option
@pass_state
def upload(
    state: State,
    files: tuple[Path, ...],
    document_id: str | None,
    tags: tuple[str, ...],
    context: str | None,
    metadata: tuple[str, ...],
    timestamp: str | None,
    parser: str | None,
    strategy: str | None,
    wait: bool,
) -> None:
    """Let the server turn files (PDF, Word, pictures ...) into text and retain it. Plain text: `console retain`."""
    if document_id is not None and len(files) != 1:
        raise click.UsageError(f"--id is for one file, these are {len(files)}")
    if len(files) > _MOST_FILES:
        raise click.UsageError(f"the server takes {_MOST_FILES} files at once, these are {len(files)}")
    if sum(file.stat().st_size for file in files) > _MOST_BYTES:
        raise click.UsageError("the server takes 100 MB at once: give fewer files")
    names = [document_id or file.name for file in files]
    if len(set(names)) != len(names):
        raise click.UsageError(
            "two files have the same name and would be one document: upload them one by one with --id"
        )
    shared: dict[str, Any] = {
        "context": context,
        "tags": list(dict.fromkeys((*state.settings.tags, *tags))) or None,
        "metadata": pairs(metadata, "--metadata") or None,
        "timestamp": timestamp,
        "parser": parser,
        "strategy": strategy,
    }
    kept = {key: value for key, value in shared.items() if value is not None}
    request = {"files_metadata": [kept | {"document_id": name} for name in names]}
    content = form(
        {"request": json.dumps(request)}, [("files", file.name, file.read_bytes()) for file in files]
    )

    async def work(api: Api) -> Any:
        target = fill("POST", BANK + "/files/retain", {"bank_id": state.settings.bank})
        return (await api.send("POST", target, content=content, timeout=api.http.timeouts.export)).decode(
            object
        )

    answer = served(state, work)
    operations = answer.get("operation_ids") if isinstance(answer, dict) else None
    if not wait or not isinstance(operations, list):
        if state.as_json:
            print_json(answer)
        else:
            note(
                f"{count(len(files), 'file')} accepted: `console operations wait ID` follows {' '.join(map(str, operations or ()))}"
            )
        return
    _wait_for_documents(state, [str(operation) for operation in operations], names, answer)


def _wait_for_documents(state: State, operations: list[str], names: list[str], answer: Any) -> None:
    """A conversion ends before the retain that it starts: wait for both, then look for the documents."""
    bank = state.settings.bank

    async def work(store: MemoryStore) -> list[Operation]:
        from console.memory.hindsight.operations import FINAL

        ended = [await store.wait_operation(bank, operation) for operation in operations]
        for status in ("pending", "processing"):
            for op in (await store.list_operations(bank, status=status, limit=100)).items:
                if op.status not in FINAL and {op.document_id, *op.document_ids} & set(names):
                    ended.append(await store.wait_operation(bank, op.id))
        for name in names:
            if all(op.status == "completed" for op in ended):
                await store.get_document(bank, name)
        return ended

    ended = state.with_store(work)
    failed = [op for op in ended if op.status != "completed"]
    if state.as_json:
        print_json({**answer, "document_ids": names, "failed": [op.id for op in failed]})
    else:
        for op in failed:
            note(f"operation {op.id} is {op.status}: {op.error_message or 'no reason was given'}")
        note(f"{count(len(names), 'document')}: {', '.join(names)}")
    if failed:
        click.get_current_context().exit(1)

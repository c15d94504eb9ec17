"""``console retain``: store a text, standard input, files or folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click
import msgspec

from console.cli.base import State, check_text, command, note, pass_state
from console.cli.inputs import Item, Unreadable, batches, gather, read_text
from console.cli.options import moment_type, pairs
from console.cli.output import count, out, print_json
from console.cli.pending import refuse_busy
from console.cli.streams import stderr_is_terminal
from console.memory.errors import NotFound, StoreError
from console.memory.models import RetainItem, RetainResponse
from console.memory.store import MemoryStore
from console.text import label

# A real server extracts about 170 facts a second: a request of this size ends well before any timeout.
_BATCH_DOCUMENTS = 50
_BATCH_CHARACTERS = 200_000
_NAMED = 10


@dataclass(frozen=True, slots=True)
class _Template:
    """What every document of one command is retained with."""

    timestamp: str | None
    context: str | None
    metadata: Mapping[str, str] | None
    tags: tuple[str, ...]
    update_mode: str

    def item(self, document_id: str, content: str) -> RetainItem:
        return RetainItem(
            content=content,
            document_id=document_id,
            timestamp=self.timestamp,
            context=self.context,
            metadata=self.metadata,
            tags=self.tags,
            update_mode=self.update_mode,
        )


@command("retain")
@click.argument("inputs", nargs=-1, required=True, metavar="TEXT | - | FILE...")
@click.option(
    "--id", "document_id", metavar="ID", help="Document id (default: the file's path, or a new ULID)."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be repeated.")
@click.option("--context", metavar="TEXT", help="Where the text comes from.")
@click.option("--at", "timestamp", type=moment_type("unset"), help="When it was said (default: now).")
@click.option("--append", is_flag=True, help="Add to the document instead of replacing it.")
@click.option("--metadata", multiple=True, metavar="K=V", help="May be repeated.")
@click.option("--text", "as_text", is_flag=True, help="The argument is a text, even if it looks like a path.")
@click.option(
    "--encoding", metavar="NAME", help="How the files are encoded (default: found out, else UTF-8)."
)
@click.option("--async", "background", is_flag=True, help="Do not wait; print the operation to poll.")
@click.option("--dry-run", is_flag=True, help="Only say what would be retained.")
@pass_state
def retain(
    state: State,
    inputs: tuple[str, ...],
    document_id: str | None,
    tags: tuple[str, ...],
    context: str | None,
    timestamp: str | None,
    append: bool,
    metadata: tuple[str, ...],
    as_text: bool,
    encoding: str | None,
    background: bool,
    dry_run: bool,
) -> None:
    """Store a text, standard input (-), files, or the text files of folders.

    A document that exists is replaced, with its tags, context and metadata: say all of them every time.
    With --append it keeps them, and those that are given are added.
    """
    if document_id is not None:
        document_id = check_text(document_id, "--id")
        if not document_id:
            raise click.UsageError("--id is empty")
    items, skipped = _readable(gather(inputs, as_text=as_text, document_id=document_id), inputs, encoding)
    template = _Template(
        timestamp,
        context,
        pairs(metadata, "--metadata") or None,
        tuple(dict.fromkeys((*state.settings.tags, *tags))),
        "append" if append else "replace",
    )
    if dry_run:
        _report_dry_run(state, items)
    else:
        answers = _send(state, items, template, encoding, background)
        _report(state, items, answers, background)
    if skipped:
        click.get_current_context().exit(1)


def _readable(items: list[Item], inputs: Sequence[str], encoding: str | None) -> tuple[list[Item], bool]:
    """The items that are texts. A file that was named itself must be one; of a folder, others are left out.

    True when a folder's file could not be read for another reason than being no text.
    """
    named = set(inputs)
    good: list[Item] = []
    left_out: list[str] = []
    refused: list[str] = []
    denied = False
    for item in items:
        if item.path is None:
            good.append(item)
            continue
        try:
            read_text(item.path, encoding)
        except Unreadable as error:
            (refused if str(item.path) in named else left_out).append(f"{item.path}: {error}")
            denied = denied or isinstance(error.__cause__, OSError)
        else:
            good.append(item)
    for line in refused[:-1]:
        note(line)
    if refused:
        raise click.ClickException(refused[-1] + ("" if len(refused) == 1 else "; nothing was retained"))
    for line in left_out[:_NAMED]:
        note(f"left out {line}")
    if len(left_out) > _NAMED:
        note(f"left out {len(left_out) - _NAMED} more files")
    if not good:
        raise click.UsageError("no text files found")
    return good, denied


def _texts(items: Sequence[Item], encoding: str | None) -> Iterator[tuple[str, str]]:
    for item in items:
        if item.path is None:
            yield item.document_id, item.text
            continue
        try:
            yield item.document_id, read_text(item.path, encoding)
        except Unreadable as error:  # it changed since it was looked at
            note(f"left out {item.path}: {error}")


def _send(
    state: State, items: Sequence[Item], template: _Template, encoding: str | None, background: bool
) -> list[RetainResponse]:
    bank = state.settings.bank
    answers: list[RetainResponse] = []

    async def work(store: MemoryStore) -> None:
        await refuse_busy(store, bank, {item.document_id for item in items})
        with click.progressbar(
            length=len(items),
            label="retaining",
            file=sys.stderr,
            hidden=len(items) == 1 or not stderr_is_terminal(),
        ) as bar:
            for batch in batches(
                _texts(items, encoding), documents=_BATCH_DOCUMENTS, characters=_BATCH_CHARACTERS
            ):
                requests = [await _completed(store, bank, template.item(name, text)) for name, text in batch]
                answers.append(await store.retain(bank, requests, background=background))
                bar.update(len(batch))

    try:
        state.with_store(work)
    except (StoreError, KeyboardInterrupt):
        done = sum(answer.items_count for answer in answers)
        if done:
            note(f"{done} of {count(len(items), 'document')} were retained before this")
        raise
    return answers


async def _completed(store: MemoryStore, bank: str, item: RetainItem) -> RetainItem:
    """An addition keeps what the document has: a store clears tags, context and metadata that are not sent again."""
    if item.update_mode != "append":
        return item
    try:
        found = await store.get_document(bank, item.document_id)
    except NotFound:
        return item
    params = found.retain_params or {}
    metadata = found.document_metadata or params.get("metadata") or {}
    kept = {str(key): str(value) for key, value in metadata.items()} | dict(item.metadata or {})
    return msgspec.structs.replace(
        item,
        tags=tuple(dict.fromkeys((*found.tags, *item.tags))),
        context=item.context if item.context is not None else params.get("context"),
        metadata=kept or None,
        strategy=item.strategy if item.strategy is not None else params.get("strategy"),
        observation_scopes=params.get("observation_scopes"),
    )


def _report_dry_run(state: State, items: Sequence[Item]) -> None:
    if state.as_json:
        print_json(
            {"dry_run": True, "items_count": len(items), "document_ids": [i.document_id for i in items]}
        )
        return
    for item in items:
        out(label(item.document_id))
    note(f"would retain {count(len(items), 'document')} in bank {state.settings.bank!r}")


def _report(state: State, items: Sequence[Item], answers: Sequence[RetainResponse], background: bool) -> None:
    operations = [op for answer in answers for op in (answer.operation_ids or (answer.operation_id,)) if op]
    ids = [name for answer in answers for name in answer.document_ids] or [item.document_id for item in items]
    if state.as_json:
        usage: dict[str, int] = {}
        for answer in answers:
            for key, value in (answer.usage or {}).items():
                usage[key] = usage.get(key, 0) + value
        print_json(
            {
                "success": all(answer.success for answer in answers),
                "bank_id": state.settings.bank,
                "items_count": sum(answer.items_count for answer in answers),
                "async": background,
                "operation_id": operations[0] if len(operations) == 1 else None,
                "operation_ids": operations,
                "document_ids": ids,
                "usage": usage or None,
            }
        )
        return
    for name in ids:
        out(label(name))
    verb = "accepted" if background else "retained"
    note(f"{verb} {count(len(ids), 'document')} in bank {state.settings.bank!r}")
    for operation in operations if background else ():
        note(f"operation {operation}: `console operations wait {operation}`")

"""Documents with their facts into a server: an archive made in memory, sent, waited for and counted.

The server takes live facts only, so what was taken back comes in live and is taken back again at once.
"""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from console.memory.errors import InvalidInput, NotFound, ServerFailed, Unsupported
from console.memory.hindsight import memories
from console.memory.hindsight.http import Http, Repeat
from console.memory.hindsight.ids import check_new_bank, check_new_document, printable, shown
from console.memory.hindsight.operations import Operations
from console.memory.hindsight.urls import bank_path
from console.memory.hindsight.wire import WireOperation
from console.memory.models import ArchivedDocument, Curation, ImportResult, Memory, MemoryQuery

_CONFLICTS = ("skip", "replace")
_TYPES = frozenset({"world", "experience"})
_MOST_DOCUMENTS = 500
_MOST_CHARACTERS = 16 * 1024 * 1024
"""Of one archive: the server keeps the facts of one in memory while it embeds them."""
_ALL = 1_000_000
_CHUNK = 3000


async def import_documents(
    http: Http, bank_id: str, documents: Sequence[ArchivedDocument], on_conflict: str
) -> ImportResult:
    """See the protocol. Raises Unsupported where the server's import is switched off."""
    check_new_bank(bank_id)
    if on_conflict not in _CONFLICTS:
        raise InvalidInput(f"unknown on_conflict {on_conflict!r}", hint="skip or replace")
    seen: set[str] = set()
    for one in documents:
        check_new_document(one.document.id)
        if one.document.id in seen:
            raise InvalidInput(f"document {shown(one.document.id)} comes twice", hint="import it once")
        seen.add(one.document.id)
        if not one.document.original_text:
            raise InvalidInput(
                f"document {shown(one.document.id)} comes without its text",
                hint="the store it is from keeps none",
            )
    imported: list[str] = []
    skipped: list[str] = []
    live = dead = 0
    for batch in _batches(documents):
        left = await _send(http, bank_id, batch, on_conflict)
        skipped += [one.document.id for one in batch if one.document.id in left]
        for one in batch:
            if one.document.id in left:
                continue
            imported.append(one.document.id)
            gone = [fact for fact in _facts(one) if fact.state == "invalidated"]
            if gone:
                await _take_back(http, bank_id, one.document.id, gone)
            dead += len(gone)
            live += len(_facts(one)) - len(gone)
    return ImportResult(imported=tuple(imported), skipped=tuple(skipped), facts=live, invalidated=dead)


def _batches(documents: Sequence[ArchivedDocument]) -> Iterator[list[ArchivedDocument]]:
    batch: list[ArchivedDocument] = []
    size = 0
    for one in documents:
        own = len(one.document.original_text or "")
        if batch and (len(batch) >= _MOST_DOCUMENTS or size + own > _MOST_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += own
    if batch:
        yield batch


async def _send(
    http: Http, bank_id: str, batch: Sequence[ArchivedDocument], on_conflict: str
) -> frozenset[str]:
    """One archive in; the ids that the server skipped."""
    boundary = secrets.token_hex(16)
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="transfer.zip"\r\n'
        "Content-Type: application/zip\r\n\r\n"
    ).encode("ascii")
    body += archive(bank_id, batch) + f"\r\n--{boundary}--\r\n".encode("ascii")
    try:
        answer = await http.call(
            "POST",
            bank_path(bank_id, "transfer", "import"),
            query=[("mode", "merge"), ("document_conflict", on_conflict)],
            content=(f"multipart/form-data; boundary={boundary}", body),
            repeat=Repeat.REFUSED,
            timeout=http.timeouts.retain,
            missing="the import of documents",
        )
    except NotFound as error:
        raise Unsupported(
            "the server takes no documents with their facts",
            where=str(http.address),
            hint="it is older than 1.1, or HINDSIGHT_API_ENABLE_DOCUMENT_IMPORT_API is off there",
            status=error.status,
        ) from None
    operation = await Operations(http).wait(
        bank_id, answer.decode(WireOperation).key, http.timeouts.retain + http.timeouts.export
    )
    if operation.status != "completed":
        raise ServerFailed(
            f"the server's import ended as {printable(operation.status, 20)}: "
            f"{printable(operation.error_message or 'it gives no reason', 160)}",
            where=str(http.address),
            hint="a part may have come in: repeat it, what is there is skipped",
        )
    result = operation.result_metadata or {}
    listed = result.get("skipped_document_ids")
    left = frozenset(map(str, listed)) if isinstance(listed, list) else frozenset()
    came = [one for one in batch if one.document.id not in left]
    expected = {"documents_imported": len(came), "facts_imported": sum(len(_facts(one)) for one in came)}
    for name, count in expected.items():
        if isinstance(result.get(name), int) and result[name] != count:
            raise ServerFailed(
                f"the server imported {result[name]} {name.partition('_')[0]} of {count}",
                where=str(http.address),
                hint="look at the bank before repeating it",
            )
    return left


def archive(bank_id: str, documents: Sequence[ArchivedDocument]) -> bytes:
    """A transfer archive, schema version 1, of documents only."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        manifest = {
            "schema_version": 1,
            "source_bank_id": bank_id,
            "archive_type": "documents",
            "document_count": len(documents),
            "fact_count": sum(len(_facts(one)) for one in documents),
        }
        bundle.writestr("manifest.json", msgspec.json.encode(manifest))
        for number, one in enumerate(documents):
            bundle.writestr(f"documents/{number:06d}.json", msgspec.json.encode(_document(one)))
    return packed.getvalue()


def _facts(one: ArchivedDocument) -> list[Memory]:
    return [fact for fact in one.facts if fact.fact_type in _TYPES]


def _document(one: ArchivedDocument) -> dict[str, Any]:
    document = one.document
    text = document.original_text or ""
    facts = _facts(one)
    chunks = list(one.chunks) or [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]
    # Every index that a fact names must exist: the server drops the reference otherwise, and with it the order.
    chunks += ["" for _ in range(max((_chunk(fact) for fact in facts), default=0) + 1 - len(chunks))]
    return {
        "id": document.id,
        "original_text": text,
        "retain_params": dict(document.retain_params or {}) or None,
        "tags": list(document.tags),
        "created_at": document.created_at,
        "chunks": [{"chunk_index": index, "chunk_text": chunk} for index, chunk in enumerate(chunks)],
        "facts": [_fact(fact, document.created_at) for fact in facts],
    }


def _fact(fact: Memory, created_at: str | None) -> dict[str, Any]:
    return {
        "text": fact.text,
        "source_id": fact.id or None,
        "fact_type": fact.fact_type,
        "context": fact.context,
        "event_date": fact.date,
        "occurred_start": fact.occurred_start,
        "occurred_end": fact.occurred_end,
        "mentioned_at": fact.mentioned_at,
        "metadata": {str(key): str(value) for key, value in (fact.metadata or {}).items()},
        "tags": list(fact.tags),
        "chunk_index": _chunk(fact),
        "entities": list(fact.entities),
        "created_at": created_at,
    }


def _chunk(fact: Memory) -> int:
    tail = (fact.chunk_id or "").rpartition("_")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0


async def _take_back(http: Http, bank_id: str, document_id: str, gone: Sequence[Memory]) -> None:
    """Invalidate, of the facts that just came in, those that were taken back where they are from."""
    page = await memories.list_memories(http, bank_id, MemoryQuery(document_id=document_id, limit=_ALL))
    spare: dict[tuple[str, str, int], list[Memory]] = {}
    for memory in page.items:
        spare.setdefault((memory.text, memory.fact_type, _chunk(memory)), []).append(memory)
    for fact in gone:
        found = spare.get((fact.text, fact.fact_type, _chunk(fact)))
        if not found:
            raise ServerFailed(
                f"a fact of {shown(document_id)} that was taken back did not come in as it was",
                where=str(http.address),
                hint="look at the document's facts",
            )
        curation = Curation(state="invalidated", reason=fact.invalidation_reason)
        await memories.curate_memory(http, bank_id, found.pop().id, curation)

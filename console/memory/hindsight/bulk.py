"""Many documents in one read, by the fastest way that the server allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from console.memory.errors import NotFound, StoreError
from console.memory.hindsight import archive, documents, memories
from console.memory.hindsight.http import Http
from console.memory.hindsight.ids import readable_by_path
from console.memory.models import ArchivedDocument, DocumentQuery, Memory, MemoryQuery

_AT_ONCE = 16
"""Connections: the server answers 16 as fast as it can answer any number (measured)."""
_ALL = 1_000_000
_FEW = 50
"""Up to so many documents their facts are listed one by one, beyond it the bank's in one read."""


async def export(
    http: Http, bank_id: str, document_ids: Sequence[str] | None
) -> AsyncIterator[ArchivedDocument]:
    """Documents with text and live facts; missing ones are left out. Raises NotFound for a missing bank."""
    if document_ids is not None and not document_ids:
        return
    done: set[str] = set()
    if (
        document_ids is not None
        and len(document_ids) <= _AT_ONCE
        and all(map(readable_by_path, document_ids))
    ):
        # An export waits half a second for the server's worker and leaves a file there: not for a few.
        async for document in one_by_one(http, bank_id, document_ids, done):
            yield document
        return
    try:
        async for entry in archive.read(http, bank_id, document_ids):
            done.add(entry.id)
            yield entry.model()
        return
    except StoreError as error:
        if not archive.refused(error):
            raise
    async for document in one_by_one(http, bank_id, document_ids, done):
        yield document


async def one_by_one(
    http: Http, bank_id: str, document_ids: Sequence[str] | None, done: set[str]
) -> AsyncIterator[ArchivedDocument]:
    """The slow way, 16 at a time; at most so many texts are in memory at once."""
    if document_ids is None:
        listed = await documents.list_documents(
            http, bank_id, DocumentQuery(limit=_ALL, time_field="created_at")
        )
        document_ids = [summary.id for summary in listed.items]
    wanted = [document_id for document_id in dict.fromkeys(document_ids) if document_id not in done]
    facts = await _facts_by_document(http, bank_id) if len(wanted) > _FEW else None

    async def one(document_id: str) -> ArchivedDocument | None:
        try:
            document = await documents.get_document(http, bank_id, document_id)
        except NotFound:
            return None
        own = facts.get(document_id, []) if facts is not None else await _facts(http, bank_id, document_id)
        return ArchivedDocument(document=document, facts=tuple(own))

    for start in range(0, len(wanted), _AT_ONCE):
        for entry in await asyncio.gather(
            *(one(document_id) for document_id in wanted[start : start + _AT_ONCE])
        ):
            if entry is not None:
                yield entry


async def _facts(http: Http, bank_id: str, document_id: str | None) -> list[Memory]:
    page = await memories.list_memories(http, bank_id, MemoryQuery(document_id=document_id, limit=_ALL))
    return [memory for memory in page.items if memory.fact_type in {"world", "experience"}]


async def _facts_by_document(http: Http, bank_id: str) -> dict[str, list[Memory]]:
    grouped: dict[str, list[Memory]] = {}
    for memory in await _facts(http, bank_id, None):
        if memory.document_id is not None:
            grouped.setdefault(memory.document_id, []).append(memory)
    return grouped

"""A MemoryStore seen as mirror.source: the one place where a store's rows become the mirror's.

Nothing is decided here. World and experience facts only; a chunk's index is read off its id; params that a
page does not show (a server adds fields over time) are left out by name, never guessed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from console.memory.errors import NotFound, StoreError
from console.memory.models import (
    Curation,
    DocumentQuery,
    DocumentSummary,
    EntityInput,
    Memory,
    MemoryQuery,
    Operation,
    RetainItem,
)
from console.memory.store import Capability, MemoryStore
from mirror.errors import CurationFailed
from mirror.source import BusyOperation, Rows, SourceBank, SourceDocument, SourceFact

FACT_TYPES = frozenset({"world", "experience"})
_UNFINISHED = ("pending", "processing")
_PARAMS = ("entities", "strategy", "observation_scopes")
"""Of retain_params, what nothing else on the page tells; context and metadata have their own place. Not event_date: a
harness sends a new one with each retain of a session, so it would change pages that say nothing new."""
_OPERATIONS_PAGE = 100


class StoreSource:
    """One bank of a store, as the mirror reads it."""

    def __init__(self, store: MemoryStore, bank_id: str) -> None:
        self._store = store
        self._bank_id = bank_id

    async def bank(self) -> SourceBank:
        identity = await self._store.bank_identity(self._bank_id)
        return SourceBank(bank_id=self._bank_id, created_at=identity, origin=public_origin(self._store.url))

    async def now(self) -> str:
        return await self._store.now()

    async def documents(self, *, before: str | None, limit: int, offset: int) -> Rows:
        page = await self._store.list_documents(
            self._bank_id, DocumentQuery(time_field="created_at", end_date=before, limit=limit, offset=offset)
        )
        return Rows(tuple(source_document(d) for d in page.items), page.total, len(page.items))

    async def facts(self, *, live: bool, limit: int, offset: int) -> Rows:
        page = await self._store.list_memories(
            self._bank_id, MemoryQuery(state="valid" if live else "invalidated", limit=limit, offset=offset)
        )
        items = tuple(
            source_fact(m) for m in page.items if m.fact_type in FACT_TYPES and m.document_id is not None
        )
        return Rows(items, page.total, len(page.items))

    async def touched(self, since: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        while True:
            page = await self._store.list_documents(
                self._bank_id,
                DocumentQuery(time_field="updated_at", start_date=since, limit=1000, offset=len(found)),
            )
            found.update({d.id: d.updated_at or "" for d in page.items})
            if not page.items or len(found) >= page.total:
                return found

    async def texts(self, document_ids: Sequence[str]) -> AsyncIterator[tuple[str, str | None]]:
        async for archived in self._store.export_documents(self._bank_id, list(document_ids)):
            yield archived.document.id, archived.document.original_text

    async def exists(self, document_id: str) -> bool:
        try:
            await self._store.get_document(self._bank_id, document_id)
        except NotFound:
            return False
        return True

    async def document(self, document_id: str) -> SourceDocument | None:
        try:
            return source_document(await self._store.get_document(self._bank_id, document_id))
        except NotFound:
            return None

    async def document_facts(self, document_id: str) -> tuple[SourceFact, ...]:
        found: list[SourceFact] = []
        for state in ("valid", "invalidated"):
            offset = 0
            while True:
                page = await self._store.list_memories(
                    self._bank_id,
                    MemoryQuery(state=state, document_id=document_id, limit=1000, offset=offset),
                )
                found += [source_fact(m) for m in page.items if m.fact_type in FACT_TYPES]
                offset += len(page.items)
                if not page.items or offset >= page.total:
                    break
        return tuple(fact for fact in found if fact.document_id == document_id)

    async def fact(self, fact_id: str) -> SourceFact | None:
        try:
            return source_fact(await self._store.get_memory(self._bank_id, fact_id))
        except NotFound:
            return None
        except StoreError as error:
            raise _failed(error) from error

    async def curate(self, fact_id: str, *, live: bool, reason: str) -> None:
        curation = Curation(state="valid") if live else Curation(state="invalidated", reason=reason)
        try:
            await self._store.curate_memory(self._bank_id, fact_id, curation)
        except StoreError as error:
            raise _failed(error) from error

    async def replace_text(
        self, document_id: str, text: str, *, tags: Sequence[str] | None = None, context: str | None = None
    ) -> None:
        try:
            item = (
                await self._as_retained(document_id, text)
                if tags is None
                else RetainItem(content=text, document_id=document_id, tags=tuple(tags), context=context)
            )
            await self._store.retain(self._bank_id, [item])
        except StoreError as error:
            raise _failed(error) from error

    async def _as_retained(self, document_id: str, text: str) -> RetainItem:
        """A replacement that omits nothing: what is omitted is cleared (measured)."""
        document = await self._store.get_document(self._bank_id, document_id)
        params = document.retain_params or {}
        entities = params.get("entities") or ()
        return RetainItem(
            content=text,
            document_id=document_id,
            timestamp="unset"
            if "event_date" in params and params["event_date"] is None
            else params.get("event_date"),
            context=params.get("context"),
            metadata={
                str(k): str(v)
                for k, v in (params.get("metadata") or document.document_metadata or {}).items()
            }
            or None,
            tags=tuple(document.tags),
            entities=tuple(
                EntityInput(text=str(e["text"]), type=e.get("type"))
                for e in entities
                if isinstance(e, Mapping) and "text" in e
            ),
            strategy=params.get("strategy"),
            observation_scopes=params.get("observation_scopes"),
        )

    async def erase(self, document_id: str) -> bool:
        try:
            await self._store.delete_document(self._bank_id, document_id)
        except NotFound:
            return False
        except StoreError as error:
            raise _failed(error) from error
        return True

    async def busy(self) -> Mapping[str, BusyOperation]:
        if Capability.OPERATIONS not in self._store.capabilities:
            return {}
        found: dict[str, BusyOperation] = {}
        for status in _UNFINISHED:
            for operation in await self._operations(status):
                state = BusyOperation(operation.id, operation.status, operation.created_at)
                ids = operation.document_ids or ((operation.document_id,) if operation.document_id else ())
                for document_id in ids:
                    found.setdefault(document_id, state)
        return found

    async def _operations(self, status: str) -> list[Operation]:
        operations: list[Operation] = []
        while True:
            page = await self._store.list_operations(
                self._bank_id, status=status, limit=_OPERATIONS_PAGE, offset=len(operations)
            )
            operations += page.items
            if not page.items or len(operations) >= page.total:
                return operations


def _failed(error: StoreError) -> CurationFailed:
    return CurationFailed(error.message, where=error.where, hint=error.hint)


def source_document(document: DocumentSummary) -> SourceDocument:
    """A listed document as the mirror has it."""
    params: Mapping[str, Any] = document.retain_params or {}
    metadata = params.get("metadata") or document.document_metadata or {}
    context = params.get("context")
    return SourceDocument(
        id=document.id,
        content_hash=document.content_hash or "",
        created_at=document.created_at or "",
        updated_at=document.updated_at or "",
        fact_count=document.memory_unit_count,
        tags=tuple(sorted(document.tags)),
        context=context if isinstance(context, str) and context else None,
        metadata={str(k): str(v) for k, v in sorted(metadata.items())},
        params={name: params[name] for name in _PARAMS if params.get(name) not in (None, [], {}, "")},
    )


def source_fact(memory: Memory) -> SourceFact:
    """A world or experience memory as the mirror has it."""
    return SourceFact(
        id=memory.id,
        document_id=memory.document_id or "",
        text=memory.text,
        fact_type=memory.fact_type,
        live=memory.state == "valid",
        chunk_index=chunk_index(memory.chunk_id),
        mentioned_at=memory.mentioned_at,
        occurred_start=memory.occurred_start,
        occurred_end=memory.occurred_end,
        reason=memory.invalidation_reason,
        invalidated_at=memory.invalidated_at,
    )


def chunk_index(chunk_id: str | None) -> int:
    """The index at the end of ``{bank}_{document}_{index}``; 0 where there is none."""
    tail = (chunk_id or "").rpartition("_")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0


def public_origin(url: str) -> str:
    """A store's address fit for a commit: no credentials, no query; a file's path stays private."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.partition(":")[0]
    return f"{scheme}://{rest.partition('?')[0].partition('#')[0].partition('/')[0].rpartition('@')[2]}"

"""A store in memory that remembers what it was asked and fails on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from console.memory.errors import AuthFailed, BadAnswer, NotFound, ServerFailed, Unavailable
from console.memory.models import (
    Bank,
    BankStats,
    Chunk,
    Curation,
    Document,
    DocumentQuery,
    DocumentSummary,
    Memory,
    MemoryQuery,
    Page,
    RecallRequest,
    RecallResponse,
    RecallResult,
)
from console.memory.store import Capability

FAULTS: dict[str, Callable[[], Exception]] = {
    "401": lambda: AuthFailed(
        "the token was refused", where="https://fake", hint="set CONSOLE_TOKEN", status=401
    ),
    "500": lambda: ServerFailed("the server failed", where="https://fake", status=500),
    "malformed": lambda: BadAnswer("the answer was HTML", where="https://fake"),
    "defect": lambda: ZeroDivisionError("a defect below"),
    "disconnect": lambda: Unavailable("the connection was lost", where="https://fake"),
}


class FakeStore:
    """``fail[method]`` is a fault's name, raised until removed; ``gate[method]`` an event that is waited for."""

    url = "fake:memory"

    def __init__(self, banks: Iterable[str] = (), *, read_only: bool = False) -> None:
        self.banks = {name: Bank(bank_id=name, created_at="2026-11-01T08:00:00Z") for name in banks}
        self.documents: dict[str, list[Document]] = {name: [] for name in self.banks}
        self.memories: dict[str, list[Memory]] = {name: [] for name in self.banks}
        self.capabilities = frozenset() if read_only else frozenset({Capability.WRITE})
        self.calls: list[tuple[str, Any]] = []
        self.fail: dict[str, str] = {}
        self.gate: dict[str, asyncio.Event] = {}
        self.cancelled: list[str] = []
        self.closed = False

    def asked(self, method: str) -> list[Any]:
        """The arguments of every call of one method, in order."""
        return [arguments for name, arguments in self.calls if name == method]

    async def _enter(self, method: str, arguments: Any) -> None:
        self.calls.append((method, arguments))
        try:
            if method in self.gate:
                await self.gate[method].wait()
            else:
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(method)
            raise
        if method in self.fail:
            raise FAULTS[self.fail[method]]()

    def add_document(self, bank: str, name: str, text: str, facts: Iterable[str] = (), **fields: Any) -> None:
        facts = list(facts)
        self.documents[bank].insert(
            0,
            Document(
                id=name,
                bank_id=bank,
                original_text=text,
                text_length=len(text),
                memory_unit_count=len(facts),
                created_at="2026-11-20T08:00:00Z",
                updated_at="2026-11-20T08:00:00Z",
                **fields,
            ),
        )
        self.memories[bank] += [
            Memory(id=f"{name}#{index}", text=fact, document_id=name, mentioned_at="2026-11-20T08:00:00Z")
            for index, fact in enumerate(facts)
        ]

    async def aclose(self) -> None:
        self.closed = True

    async def list_banks(self, *, q: str | None = None, limit: int = 100, offset: int = 0) -> Page[Bank]:
        await self._enter("list_banks", (q, limit, offset))
        found = [bank for name, bank in self.banks.items() if not q or q.lower() in name.lower()]
        return Page(items=tuple(found[offset : offset + limit]), total=len(found), limit=limit, offset=offset)

    async def create_bank(self, bank_id: str, *, name: str | None = None, mission: str | None = None) -> Bank:
        await self._enter("create_bank", bank_id)
        self.documents.setdefault(bank_id, [])
        self.memories.setdefault(bank_id, [])
        return self.banks.setdefault(bank_id, Bank(bank_id=bank_id, name=name, mission=mission))

    async def delete_bank(self, bank_id: str) -> int:
        await self._enter("delete_bank", bank_id)
        del self.banks[bank_id]
        return len(self.documents.pop(bank_id)) + len(self.memories.pop(bank_id))

    async def bank_stats(self, bank_id: str, *, refresh: bool = False) -> BankStats:
        await self._enter("bank_stats", bank_id)
        return BankStats(
            bank_id=bank_id,
            total_documents=len(self.documents[bank_id]),
            nodes_by_fact_type={"world": len(self.memories[bank_id])},
        )

    async def list_documents(
        self, bank_id: str, query: DocumentQuery = DocumentQuery()
    ) -> Page[DocumentSummary]:
        await self._enter("list_documents", query)
        found = [
            document
            for document in self.documents[bank_id]
            if (not query.q or query.q.lower() in (document.id + (document.original_text or "")).lower())
            and set(query.tags) <= set(document.tags)
        ]
        return Page(items=tuple(found[query.offset : query.offset + query.limit]), total=len(found))

    async def get_document(self, bank_id: str, document_id: str) -> Document:
        await self._enter("get_document", document_id)
        for document in self.documents[bank_id]:
            if document.id == document_id:
                return document
        raise NotFound("no such document", where=document_id)

    async def list_chunks(
        self, bank_id: str, document_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[Chunk]:
        await self._enter("list_chunks", (document_id, limit, offset))
        document = next(document for document in self.documents[bank_id] if document.id == document_id)
        chunk = Chunk(chunk_id=f"{document_id}_0", chunk_text=document.original_text or "")
        return Page(items=(chunk,)[offset : offset + limit], total=1)

    async def list_memories(self, bank_id: str, query: MemoryQuery = MemoryQuery()) -> Page[Memory]:
        await self._enter("list_memories", query)
        found = [
            memory
            for memory in self.memories[bank_id]
            if memory.state == query.state and query.document_id in (None, memory.document_id)
        ]
        return Page(items=tuple(found[query.offset : query.offset + query.limit]), total=len(found))

    async def curate_memory(self, bank_id: str, memory_id: str, curation: Curation) -> Memory:
        await self._enter("curate_memory", (memory_id, curation))
        for index, memory in enumerate(self.memories[bank_id]):
            if memory.id == memory_id:
                changed = Memory(
                    id=memory.id,
                    text=memory.text,
                    document_id=memory.document_id,
                    mentioned_at=memory.mentioned_at,
                    fact_type=memory.fact_type,
                    state=curation.state or memory.state,
                    invalidation_reason=curation.reason,
                )
                self.memories[bank_id][index] = changed
                return changed
        raise NotFound("no such memory", where=memory_id)

    async def recall(self, bank_id: str, request: RecallRequest) -> RecallResponse:
        await self._enter("recall", request)
        words = request.query.lower().split()
        found = [
            RecallResult(
                id=memory.id,
                text=memory.text,
                type=memory.fact_type,
                document_id=memory.document_id,
                mentioned_at=memory.mentioned_at,
                scores={"final": 1.0},
            )
            for memory in self.memories[bank_id]
            if memory.state == "valid"
            and any(word in memory.text.lower() for word in words)
            and (not request.types or memory.fact_type in request.types)
        ]
        trace = {
            "retrieval_results": [{"method_name": "keyword", "duration_seconds": 0.012, "results": found}]
        }
        return RecallResponse(results=tuple(found), trace=trace)

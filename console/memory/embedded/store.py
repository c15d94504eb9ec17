"""``EmbeddedStore``: the ``MemoryStore`` of one SQLite file.

All SQLite work runs in one worker thread of the store, so that a caller's event loop never waits for the disk.
The file is opened by the first call.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from console.memory.embedded import (
    banks,
    connect,
    documents,
    faults,
    imports,
    memories,
    operations,
    recall,
    reflect,
    retain,
    schema,
    times,
)
from console.memory.errors import ReadOnly, StoreError
from console.memory.models import (
    ArchivedDocument,
    Bank,
    BankStats,
    Chunk,
    Curation,
    Document,
    DocumentQuery,
    DocumentSummary,
    Health,
    ImportResult,
    Memory,
    MemoryQuery,
    Operation,
    Page,
    RecallRequest,
    RecallResponse,
    ReflectRequest,
    ReflectResponse,
    RetainItem,
    RetainResponse,
    Version,
)
from console.memory.store import Capability

P = ParamSpec("P")
T = TypeVar("T")

_BATCH = 256
"""Documents in one write transaction: other processes get their turn in between."""
_EXPORT_BATCH = 200

_READS = frozenset({Capability.EXPORT, Capability.OPERATIONS})
_WRITES = frozenset({Capability.WRITE, Capability.ASYNC_RETAIN, Capability.IMPORT})


class EmbeddedStore:
    """Banks in the file ``path``, which is made (0600) by the first call unless ``read_only``.

    ``clock`` replaces the system's for everything that is stamped: a history is replayed at the times it had.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        read_only: bool = False,
        busy_ms: int = connect.BUSY_MS,
        clock: times.Clock | None = None,
    ) -> None:
        self.path = Path(path).expanduser()
        self._read_only = read_only
        self._busy_ms = busy_ms
        self._db: sqlite3.Connection | None = None
        self._worker = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="embedded-store", initializer=times.set_clock, initargs=(clock,)
        )
        self._clock = clock
        self._closed = False

    @property
    def url(self) -> str:
        return f"sqlite:{self.path}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        if self._read_only or (self.path.exists() and not os.access(self.path, os.W_OK)):
            return _READS
        return _READS | _WRITES

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._worker, self._close)
        self._worker.shutdown(wait=False)

    async def version(self) -> Version:
        return Version(
            api_version=f"embedded-{schema.VERSION}",
            features={"observations": False, "store_document_text": True},
        )

    async def health(self) -> Health:
        await self._read(lambda db: db.execute("SELECT count(*) FROM banks").fetchone())
        return Health(status="healthy", database="sqlite")

    async def now(self) -> str:
        return times.iso(times.now() if self._clock is None else self._clock()) or ""

    # Banks -------------------------------------------------------------------------------------------

    async def list_banks(self, *, q: str | None = None, limit: int = 100, offset: int = 0) -> Page[Bank]:
        return await self._read(banks.page, q, limit, offset)

    async def get_bank(self, bank_id: str) -> Bank:
        return await self._read(banks.get, bank_id)

    async def bank_identity(self, bank_id: str) -> str:
        return await self._read(banks.identity, bank_id)

    async def create_bank(self, bank_id: str, *, name: str | None = None, mission: str | None = None) -> Bank:
        def create(db: sqlite3.Connection) -> Bank:
            banks.make(db, bank_id, name, mission)
            return banks.get(db, bank_id)

        return await self._write(create)

    async def delete_bank(self, bank_id: str) -> int:
        return await self._write(banks.delete, bank_id)

    async def bank_stats(self, bank_id: str, *, refresh: bool = False) -> BankStats:
        return await self._read(banks.stats, bank_id)

    # Documents ---------------------------------------------------------------------------------------

    async def list_documents(
        self, bank_id: str, query: DocumentQuery = DocumentQuery()
    ) -> Page[DocumentSummary]:
        return await self._read(documents.page, bank_id, query)

    async def get_document(self, bank_id: str, document_id: str) -> Document:
        return await self._read(documents.get, bank_id, document_id)

    async def list_chunks(
        self, bank_id: str, document_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[Chunk]:
        return await self._read(documents.chunks, bank_id, document_id, limit, offset)

    async def set_document_tags(self, bank_id: str, document_id: str, tags: Sequence[str]) -> None:
        await self._write(documents.set_tags, bank_id, document_id, tags)

    async def delete_document(self, bank_id: str, document_id: str) -> int:
        return await self._write(documents.delete, bank_id, document_id)

    # Memories ----------------------------------------------------------------------------------------

    async def list_memories(self, bank_id: str, query: MemoryQuery = MemoryQuery()) -> Page[Memory]:
        return await self._read(memories.page, bank_id, query)

    async def get_memory(self, bank_id: str, memory_id: str) -> Memory:
        return await self._read(memories.get, bank_id, memory_id)

    async def curate_memory(self, bank_id: str, memory_id: str, curation: Curation) -> Memory:
        return await self._write(memories.curate, bank_id, memory_id, curation)

    # Retain, recall, reflect -------------------------------------------------------------------------

    async def retain(
        self,
        bank_id: str,
        items: Sequence[RetainItem],
        *,
        background: bool = False,
        operation_id: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> RetainResponse:
        """``background`` runs at once and answers a completed operation. Refuses all items or none; a disk that
        fails midway keeps what earlier batches of 256 documents have stored."""
        ids = tuple(item.document_id for item in items)
        answer = RetainResponse(bank_id=bank_id, items_count=len(items), document_ids=ids)
        if not items:
            return answer
        operation = operations.checked_id(operation_id) if background or operation_id is not None else None
        digest = operations.digest(items) if operation is not None else ""
        if operation is not None and await self._write(operations.seen, bank_id, operation, digest):
            return _with_operation(answer, operation)
        prepared = await self._in_worker(lambda: retain.prepare(items))
        for start in range(0, len(prepared), _BATCH):
            batch = prepared[start : start + _BATCH]
            last = start + _BATCH >= len(prepared)

            def store(
                db: sqlite3.Connection, batch: list[retain.Prepared] = batch, done: bool = last
            ) -> None:
                bank = banks.make(db, bank_id)
                retain.write(db, bank, batch)
                if done and operation is not None:
                    operations.note(db, bank, operation, digest, list(dict.fromkeys(ids)), len(items))

            await self._write(store)
            if progress is not None:
                progress(len(items) if last else start + len(batch))
        return answer if operation is None else _with_operation(answer, operation)

    async def recall(self, bank_id: str, request: RecallRequest) -> RecallResponse:
        return await self._read(recall.recall, bank_id, request)

    async def reflect(self, bank_id: str, request: ReflectRequest) -> ReflectResponse:
        return await self._read(reflect.reflect, bank_id, request)

    # Operations --------------------------------------------------------------------------------------

    async def list_operations(
        self, bank_id: str, *, status: str | None = None, limit: int = 20, offset: int = 0
    ) -> Page[Operation]:
        return await self._read(operations.page, bank_id, status, limit, offset)

    async def get_operation(self, bank_id: str, operation_id: str) -> Operation:
        return await self._read(operations.get, bank_id, operation_id)

    async def wait_operation(self, bank_id: str, operation_id: str, *, timeout: float = 300.0) -> Operation:
        """At once: an operation that can be found has ended."""
        return await self.get_operation(bank_id, operation_id)

    # Bulk --------------------------------------------------------------------------------------------

    async def export_documents(
        self, bank_id: str, document_ids: Sequence[str] | None = None
    ) -> AsyncIterator[ArchivedDocument]:
        after = 0
        while True:
            archived, after = await self._read(documents.export, bank_id, after, document_ids, _EXPORT_BATCH)
            for one in archived:
                yield one
            if len(archived) < _EXPORT_BATCH:
                return

    async def import_documents(
        self, bank_id: str, documents: Sequence[ArchivedDocument], *, on_conflict: str = "skip"
    ) -> ImportResult:
        """Memory ids are kept where they are free. A disk that fails midway keeps what earlier batches stored."""
        prepared = await self._in_worker(lambda: imports.prepare(documents, on_conflict))
        outcome = imports.Outcome()
        for start in range(0, max(len(prepared), 1), _BATCH):
            batch = prepared[start : start + _BATCH]

            def store(db: sqlite3.Connection, batch: list[imports.Prepared] = batch) -> imports.Outcome:
                return imports.write(db, banks.make(db, bank_id), batch, replace=on_conflict == "replace")

            outcome = outcome + await self._write(store)
        return outcome.result()

    # The worker --------------------------------------------------------------------------------------

    async def _read(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        def run() -> T:
            with faults.told_plainly(self.path):
                db = self._opened()
                with connect.reading(db):
                    return work(db, *args, **kwargs)

        return await self._in_worker(run)

    async def _write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """When this returns, what ``work`` wrote is on the disk."""
        if self._read_only:
            raise ReadOnly(
                "the store is opened read-only", where=str(self.path), hint="open it without read-only"
            )

        def run() -> T:
            with faults.told_plainly(self.path):
                db = self._opened()
                with connect.writing(db):
                    return work(db, *args, **kwargs)

        return await self._in_worker(run)

    async def _in_worker(self, run: Callable[[], T]) -> T:
        if self._closed:
            raise StoreError("the store is closed", where=str(self.path), hint="open it again")
        return await asyncio.get_running_loop().run_in_executor(self._worker, run)

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = connect.open_file(self.path, read_only=self._read_only, busy_ms=self._busy_ms)
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _with_operation(answer: RetainResponse, operation: str) -> RetainResponse:
    return RetainResponse(
        bank_id=answer.bank_id,
        items_count=answer.items_count,
        document_ids=answer.document_ids,
        operation_id=operation,
        operation_ids=(operation,),
    )

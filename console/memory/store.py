"""The contract of a store: read this once and you could write another one.

Every store is async, takes and gives the models of :mod:`console.memory.models`, and raises only
:class:`console.memory.errors.StoreError`. What a store cannot do is absent from ``capabilities``; calling it
all the same raises ``Unsupported``. All ids are arbitrary strings: a store must reach the document
named ``..`` and nothing else when it is asked for ``..``, or refuse.

``tests/contract`` holds what every store must do; ``tests/contract/differences.py`` is the one table of
where two stores may differ.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum
from typing import Protocol

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


class Capability(StrEnum):
    """What a store may or may not be able to do."""

    WRITE = "write"
    """create, retain, tags, curate, delete: absent on a read-only store."""
    ASYNC_RETAIN = "retain.async"
    OPERATIONS = "operations"
    OBSERVATIONS = "observations"
    GENERATIVE_REFLECT = "reflect.generative"
    """Reflect is written by a model; without it, it is extractive."""
    EXPORT = "documents.export"
    """Many documents with text and facts in one read."""
    IMPORT = "documents.import"
    """Documents come in with their own facts, without a model."""


class MemoryStore(Protocol):
    """A place that keeps banks."""

    @property
    def url(self) -> str:
        """Where it is, for people: never with credentials."""

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    async def aclose(self) -> None:
        """Release connections and files. May be called twice."""

    async def version(self) -> Version: ...

    async def health(self) -> Health:
        """Raises Unavailable when nothing answers."""

    async def now(self) -> str:
        """The store's own clock, ISO 8601 in UTC: the fixed end of a safe listing."""

    # Banks -------------------------------------------------------------------------------------------

    async def list_banks(self, *, q: str | None = None, limit: int = 100, offset: int = 0) -> Page[Bank]:
        """Last write first."""

    async def get_bank(self, bank_id: str) -> Bank:
        """Exactly this id (never an alias or a substring). Raises NotFound."""

    async def bank_identity(self, bank_id: str) -> str:
        """What makes this bank itself: the server's ``created_at``; of an embedded bank ``uuid:<uuid>``, made
        when the bank is made and kept in the file. A bank deleted and made again is another one."""

    async def create_bank(self, bank_id: str, *, name: str | None = None, mission: str | None = None) -> Bank:
        """Create, or leave an existing one as it is. Raises InvalidInput for an id that the store refuses."""

    async def delete_bank(self, bank_id: str) -> int:
        """Delete everything in it; how many rows went. Raises NotFound (servers answer 200 there)."""

    async def bank_stats(self, bank_id: str, *, refresh: bool = False) -> BankStats: ...

    # Documents ---------------------------------------------------------------------------------------

    async def list_documents(self, bank_id: str, query: DocumentQuery = ...) -> Page[DocumentSummary]: ...

    async def get_document(self, bank_id: str, document_id: str) -> Document:
        """Raises NotFound, also when the bank is missing."""

    async def list_chunks(
        self, bank_id: str, document_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[Chunk]: ...

    async def set_document_tags(self, bank_id: str, document_id: str, tags: Sequence[str]) -> None:
        """Replace the tags of the document and of its live memories."""

    async def delete_document(self, bank_id: str, document_id: str) -> int:
        """Delete it with all its memories, invalidated ones too; how many live ones went. No undo."""

    # Memories ----------------------------------------------------------------------------------------

    async def list_memories(self, bank_id: str, query: MemoryQuery = ...) -> Page[Memory]:
        """Mentioned last first."""

    async def get_memory(self, bank_id: str, memory_id: str) -> Memory:
        """Invalidated ones too."""

    async def curate_memory(self, bank_id: str, memory_id: str, curation: Curation) -> Memory:
        """Edit, invalidate or restore one memory; what it is afterwards."""

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
        """Store texts; the bank is created when missing.

        ``background=False`` returns when every item is stored and extracted (as one request, or as several
        where the store needs it; ``progress`` hears how many items are done). ``background=True`` returns
        at once with an operation id to poll. Not atomic over items.
        """

    async def recall(self, bank_id: str, request: RecallRequest) -> RecallResponse: ...

    async def reflect(self, bank_id: str, request: ReflectRequest) -> ReflectResponse: ...

    # Operations --------------------------------------------------------------------------------------

    async def list_operations(
        self, bank_id: str, *, status: str | None = None, limit: int = 20, offset: int = 0
    ) -> Page[Operation]: ...

    async def get_operation(self, bank_id: str, operation_id: str) -> Operation: ...

    async def wait_operation(self, bank_id: str, operation_id: str, *, timeout: float = 300.0) -> Operation:
        """Poll until it is completed, failed or cancelled. Raises Unavailable after ``timeout`` seconds."""

    # Bulk --------------------------------------------------------------------------------------------

    def export_documents(
        self, bank_id: str, document_ids: Sequence[str] | None = None
    ) -> AsyncIterator[ArchivedDocument]:
        """Documents with text and live facts, all or those named, in any order.

        Missing ones are left out. The fastest way that the store has; a fallback may read one by one.
        """

    async def import_documents(
        self, bank_id: str, documents: Sequence[ArchivedDocument], *, on_conflict: str = "skip"
    ) -> ImportResult:
        """Store documents with the facts that they bring: wording, types, dates, entities and ``created_at`` are
        kept and nothing is extracted. Facts with ``state="invalidated"`` come in as that, with their reason.

        ``on_conflict``: ``skip`` leaves a document that exists as it is, ``replace`` puts the new one in its
        place. The bank is created when missing. Not atomic over documents. Raises InvalidInput for a document without
        text, Unsupported where the store or its settings do not allow imports.
        """

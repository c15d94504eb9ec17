"""A Hindsight server as a store. Each group of operations has its own module; here they meet the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpx

from console.memory.errors import BadAnswer
from console.memory.hindsight import banks, bulk, documents, imports, memories, queries, retain
from console.memory.hindsight.http import Http, RequestLog, Retries, Timeouts
from console.memory.hindsight.operations import Operations
from console.memory.hindsight.urls import parse_address
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

_DOCUMENTS = DocumentQuery()
_MEMORIES = MemoryQuery()


class HindsightStore:
    """``base_url`` may carry the path prefix of a proxy, never credentials.

    ``token`` is sent to that origin only. ``log`` hears of every request: method, path, status (None
    where no answer came) and milliseconds. ``transport`` replaces the network in tests. Raises
    InvalidInput for a URL or token that cannot be used; opens no connection by itself.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        log: RequestLog | None = None,
        max_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._http = Http(
            parse_address(base_url),
            token=token,
            transport=transport,
            timeouts=timeouts,
            retries=retries,
            log=log,
            max_bytes=max_bytes,
        )
        self._operations = Operations(self._http)
        self._capabilities = frozenset(Capability)

    def __repr__(self) -> str:
        return f"HindsightStore({self.url!r})"

    @property
    def url(self) -> str:
        return str(self._http.address)

    @property
    def http(self) -> Http:
        """The connection itself, for operations that are not of the protocol."""
        return self._http

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Everything, until ``version()`` has heard that a feature is switched off."""
        return self._capabilities

    async def aclose(self) -> None:
        await self._http.aclose()

    async def version(self) -> Version:
        version = (await self._http.call("GET", "/version")).decode(Version)
        if not version.api_version:
            raise BadAnswer("the server names no version", where=self.url, hint="is it a Hindsight server?")
        absent = {
            capability
            for feature, capability in (
                ("document_export_api", Capability.EXPORT),
                ("document_import_api", Capability.IMPORT),
                ("observations", Capability.OBSERVATIONS),
            )
            if version.features.get(feature) is False
        }
        self._capabilities = frozenset(Capability) - absent
        return version

    async def health(self) -> Health:
        return (await self._http.call("GET", "/health")).decode(Health)

    async def now(self) -> str:
        """From the ``Date`` header: whole seconds, never ahead of the server's clock."""
        answer = await self._http.call("GET", "/version")
        try:
            moment = parsedate_to_datetime(answer.headers.get("date", ""))
        except (TypeError, ValueError):
            raise BadAnswer("the server does not tell its time", where=self.url) from None
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return moment.isoformat().replace("+00:00", "Z")

    # Banks -------------------------------------------------------------------------------------------

    async def list_banks(self, *, q: str | None = None, limit: int = 100, offset: int = 0) -> Page[Bank]:
        return await banks.list_banks(self._http, q, limit, offset)

    async def get_bank(self, bank_id: str) -> Bank:
        return await banks.get_bank(self._http, bank_id)

    async def bank_identity(self, bank_id: str) -> str:
        return await banks.bank_identity(self._http, bank_id)

    async def create_bank(self, bank_id: str, *, name: str | None = None, mission: str | None = None) -> Bank:
        return await banks.create_bank(self._http, bank_id, name, mission)

    async def delete_bank(self, bank_id: str) -> int:
        return await banks.delete_bank(self._http, bank_id)

    async def bank_stats(self, bank_id: str, *, refresh: bool = False) -> BankStats:
        return await banks.bank_stats(self._http, bank_id, refresh)

    # Documents ---------------------------------------------------------------------------------------

    async def list_documents(self, bank_id: str, query: DocumentQuery = _DOCUMENTS) -> Page[DocumentSummary]:
        return await documents.list_documents(self._http, bank_id, query)

    async def get_document(self, bank_id: str, document_id: str) -> Document:
        return await documents.get_document(self._http, bank_id, document_id)

    async def list_chunks(
        self, bank_id: str, document_id: str, *, limit: int = 100, offset: int = 0
    ) -> Page[Chunk]:
        return await documents.list_chunks(self._http, bank_id, document_id, limit, offset)

    async def set_document_tags(self, bank_id: str, document_id: str, tags: Sequence[str]) -> None:
        await documents.set_document_tags(self._http, bank_id, document_id, tags)

    async def delete_document(self, bank_id: str, document_id: str) -> int:
        return await documents.delete_document(self._http, bank_id, document_id)

    # Memories ----------------------------------------------------------------------------------------

    async def list_memories(self, bank_id: str, query: MemoryQuery = _MEMORIES) -> Page[Memory]:
        return await memories.list_memories(self._http, bank_id, query)

    async def get_memory(self, bank_id: str, memory_id: str) -> Memory:
        return await memories.get_memory(self._http, bank_id, memory_id)

    async def curate_memory(self, bank_id: str, memory_id: str, curation: Curation) -> Memory:
        return await memories.curate_memory(self._http, bank_id, memory_id, curation)

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
        if background:
            return await retain.retain_later(self._http, bank_id, items, operation_id)
        return await retain.retain_now(self._http, bank_id, items, progress)

    async def recall(self, bank_id: str, request: RecallRequest) -> RecallResponse:
        return await queries.recall(self._http, bank_id, request)

    async def reflect(self, bank_id: str, request: ReflectRequest) -> ReflectResponse:
        return await queries.reflect(self._http, bank_id, request)

    # Operations --------------------------------------------------------------------------------------

    async def list_operations(
        self, bank_id: str, *, status: str | None = None, limit: int = 20, offset: int = 0
    ) -> Page[Operation]:
        return await self._operations.list(bank_id, status, limit, offset)

    async def get_operation(self, bank_id: str, operation_id: str) -> Operation:
        return await self._operations.get(bank_id, operation_id)

    async def wait_operation(self, bank_id: str, operation_id: str, *, timeout: float = 300.0) -> Operation:
        return await self._operations.wait(bank_id, operation_id, timeout)

    # Bulk --------------------------------------------------------------------------------------------

    def export_documents(
        self, bank_id: str, document_ids: Sequence[str] | None = None
    ) -> AsyncIterator[ArchivedDocument]:
        return bulk.export(self._http, bank_id, document_ids)

    async def import_documents(
        self, bank_id: str, documents: Sequence[ArchivedDocument], *, on_conflict: str = "skip"
    ) -> ImportResult:
        return await imports.import_documents(self._http, bank_id, documents, on_conflict)

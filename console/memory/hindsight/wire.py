"""What the server sends, and the one place where it becomes a model.

A list and a single read name the same thing differently (``fact_type``/``type``, entities as one string
or as a list, missing fields): both end in the same model. Tags and entities are sorted, because the
server keeps no order; an empty map or context is None, because the server sends both for one row.
"""

from __future__ import annotations

from typing import Any

import msgspec

from console.memory.errors import BadAnswer, NotFound
from console.memory.hindsight.ids import shown
from console.memory.models import (
    Bank,
    BasedOn,
    Chunk,
    Document,
    DocumentSummary,
    Memory,
    Operation,
    RecallResponse,
    RecallResult,
    ReflectResponse,
)


class Wire(msgspec.Struct, kw_only=True):
    """Base: unknown fields are ignored."""


class WireBank(Wire, kw_only=True):
    bank_id: str
    name: str | None = None
    mission: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    fact_count: int | None = None
    last_document_at: str | None = None
    last_write_at: str | None = None

    def model(self) -> Bank:
        return Bank(
            bank_id=self.bank_id,
            name=self.name,
            mission=self.mission or None,
            created_at=self.created_at,
            updated_at=self.updated_at,
            fact_count=self.fact_count or 0,
            last_document_at=self.last_document_at,
            last_write_at=self.last_write_at,
        )


class BankPage(Wire, kw_only=True):
    banks: list[WireBank]
    total: int | None = None


class WireDocument(Wire, kw_only=True):
    id: str
    bank_id: str | None = None
    content_hash: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    text_length: int | None = None
    memory_unit_count: int | None = None
    retain_params: dict[str, Any] | None = None
    document_metadata: dict[str, Any] | None = None
    tags: list[str] | None = None
    matched_fields: list[str] | None = None
    original_text: str | None = None
    nodes_by_fact_type: dict[str, int] | None = None

    def summary(self) -> DocumentSummary:
        return DocumentSummary(
            **self._shared(),
            text_length=self.text_length or 0,
            matched_fields=tuple(self.matched_fields) if self.matched_fields else None,
        )

    def model(self) -> Document:
        return Document(
            **self._shared(),
            text_length=len(self.original_text or ""),
            original_text=self.original_text,
            nodes_by_fact_type=self.nodes_by_fact_type or {},
        )

    def _shared(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "bank_id": self.bank_id or "",
            "content_hash": self.content_hash,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "memory_unit_count": self.memory_unit_count or 0,
            "retain_params": self.retain_params or None,
            "document_metadata": self.document_metadata or None,
            "tags": tuple(sorted(self.tags or ())),
        }


class DocumentPage(Wire, kw_only=True):
    items: list[WireDocument]
    total: int | None = None
    total_is_estimate: bool | None = None


class WireChunk(Wire, kw_only=True):
    chunk_id: str
    document_id: str | None = None
    bank_id: str | None = None
    chunk_index: int | None = None
    chunk_text: str | None = None
    created_at: str | None = None

    def model(self) -> Chunk:
        return Chunk(
            chunk_id=self.chunk_id,
            document_id=self.document_id or "",
            bank_id=self.bank_id or "",
            chunk_index=self.chunk_index or 0,
            chunk_text=self.chunk_text or "",
            created_at=self.created_at,
        )


class ChunkPage(Wire, kw_only=True):
    items: list[WireChunk]
    total: int | None = None


class WireMemory(Wire, kw_only=True):
    id: str
    text: str | None = None
    context: str | None = None
    fact_type: str | None = None
    type: str | None = None
    document_id: str | None = None
    chunk_id: str | None = None
    date: str | None = None
    mentioned_at: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    entities: list[str] | str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    proof_count: int | None = None
    state: str | None = None
    invalidation_reason: str | None = None
    invalidated_at: str | None = None
    edited_at: str | None = None
    updated_at: str | None = None
    source_memory_ids: list[str] | None = None

    def model(self) -> Memory:
        return Memory(
            id=self.id,
            text=self.text or "",
            context=self.context or None,
            fact_type=self.fact_type or self.type or "world",
            document_id=self.document_id,
            chunk_id=self.chunk_id,
            date=self.date,
            mentioned_at=self.mentioned_at,
            occurred_start=self.occurred_start,
            occurred_end=self.occurred_end,
            entities=names(self.entities),
            tags=tuple(sorted(self.tags or ())),
            metadata=self.metadata or None,
            proof_count=self.proof_count,
            state=self.state or "valid",
            invalidation_reason=self.invalidation_reason,
            invalidated_at=self.invalidated_at,
            edited_at=self.edited_at,
            updated_at=self.updated_at,
            source_memory_ids=tuple(self.source_memory_ids or ()),
        )


class MemoryPage(Wire, kw_only=True):
    items: list[WireMemory]
    total: int | None = None


def names(entities: list[str] | str | None) -> tuple[str, ...]:
    """Entity names, sorted. Listings join them with a comma and a blank, which a name may hold itself."""
    if isinstance(entities, str):
        entities = [name for name in entities.split(", ") if name]
    return tuple(sorted(entities or ()))


class WireResult(Wire, kw_only=True):
    id: str
    text: str | None = None
    type: str | None = None
    document_id: str | None = None
    chunk_id: str | None = None
    context: str | None = None
    mentioned_at: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    entities: list[str] | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None
    source_fact_ids: list[str] | None = None
    scores: dict[str, float | None] | None = None

    def model(self) -> RecallResult:
        return RecallResult(
            id=self.id,
            text=self.text or "",
            type=self.type or "world",
            document_id=self.document_id,
            chunk_id=self.chunk_id,
            context=self.context or None,
            mentioned_at=self.mentioned_at,
            occurred_start=self.occurred_start,
            occurred_end=self.occurred_end,
            entities=None if self.entities is None else names(self.entities),
            metadata=self.metadata or None,
            tags=None if self.tags is None else tuple(sorted(self.tags)),
            source_fact_ids=None if self.source_fact_ids is None else tuple(self.source_fact_ids),
            scores=self.scores,
        )


class WireRecall(Wire, kw_only=True):
    results: list[WireResult]
    chunks: dict[str, Any] | None = None
    entities: dict[str, Any] | None = None
    source_facts: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None

    def model(self) -> RecallResponse:
        trace = self.trace
        if trace is not None and isinstance(trace.get("query"), dict):
            trace["query"].pop("query_embedding", None)
        return RecallResponse(
            results=tuple(result.model() for result in self.results),
            chunks=self.chunks,
            entities=self.entities,
            source_facts=self.source_facts,
            trace=trace,
        )


class WireBasedOn(Wire, kw_only=True):
    memories: list[WireResult] | None = None
    mental_models: list[dict[str, Any]] | None = None
    directives: list[dict[str, Any]] | None = None


class WireReflect(Wire, kw_only=True):
    text: str
    based_on: WireBasedOn | None = None
    structured_output: Any = None
    structured_output_error: str | None = None
    usage: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None

    def model(self) -> ReflectResponse:
        based = self.based_on
        return ReflectResponse(
            text=self.text,
            based_on=None
            if based is None
            else BasedOn(
                memories=tuple(memory.model() for memory in based.memories or ()),
                mental_models=tuple(based.mental_models or ()),
                directives=tuple(based.directives or ()),
            ),
            structured_output=self.structured_output,
            structured_output_error=self.structured_output_error,
            usage=self.usage,
            trace=self.trace,
        )


class WireRetain(Wire, kw_only=True):
    success: bool | None = None
    bank_id: str | None = None
    items_count: int | None = None
    operation_id: str | None = None
    operation_ids: list[str] | None = None
    usage: dict[str, Any] | None = None


class WireOperation(Wire, kw_only=True):
    operation_id: str | None = None
    id: str | None = None
    operation_type: str | None = None
    task_type: str | None = None
    status: str | None = None
    items_count: int | None = None
    document_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None
    error_message: str | None = None
    retry_count: int | None = None
    next_retry_at: str | None = None
    result_metadata: dict[str, Any] | None = None
    child_operations: list[dict[str, Any]] | None = None
    task_payload: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        return self.operation_id or self.id or ""

    @property
    def kind(self) -> str:
        return self.operation_type or self.task_type or ""

    def model(self, document_ids: tuple[str, ...] = ()) -> Operation:
        """Without the payload: it holds whole texts."""
        counted = (self.result_metadata or {}).get("items_count")
        return Operation(
            id=self.key,
            task_type=self.kind,
            status=self.status or "",
            items_count=self.items_count or (counted if isinstance(counted, int) else 0),
            document_id=self.document_id or (document_ids[0] if len(document_ids) == 1 else None),
            document_ids=document_ids,
            created_at=self.created_at,
            updated_at=self.updated_at,
            completed_at=self.completed_at,
            error_message=self.error_message,
            retry_count=self.retry_count or 0,
            next_retry_at=self.next_retry_at,
            result_metadata=self.result_metadata,
            child_operations=tuple(self.child_operations or ()),
        )


class OperationPage(Wire, kw_only=True):
    operations: list[WireOperation]
    total: int | None = None


class Deleted(Wire, kw_only=True):
    success: bool | None = None
    deleted_count: int | None = None
    memory_units_deleted: int | None = None
    document_id: str | None = None


class Anything(Wire, kw_only=True):
    """An answer of which nothing is needed but that it is a JSON object."""


def same_bank(asked: str, answered: str | None) -> None:
    """A server answers an alias with the bank behind it; here an id is exactly itself. Raises NotFound."""
    if answered and answered != asked:
        raise NotFound(f"bank {shown(asked)} not found", hint=f"that is an alias; use {shown(answered)}")


def same_id(asked: str, answered: str | None, where: str) -> None:
    """Raises BadAnswer where the server answered about something else than was asked for."""
    if answered != asked:
        raise BadAnswer(
            f"asked about {shown(asked)}, the server answered about {shown(answered or '')}",
            where=where,
            hint="nothing was taken over; a proxy may rewrite paths",
        )

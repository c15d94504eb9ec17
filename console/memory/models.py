"""What stores speak: Hindsight's operations and field names as frozen structs.

Promise: anything a newer or older server sends is readable. Unknown fields are ignored, every field
that is not an id has a default, and values that a server enumerates stay plain strings.

Times are the ISO 8601 strings that the store sent (Hindsight uses three shapes); compare them only
through :func:`parse_time`. Source of the shapes: Hindsight's OpenAPI 1.1.0 and measurements on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all models: immutable, keyword-only, tolerant of unknown fields."""


class Page(Model, Generic[T], frozen=True, kw_only=True):
    """One page of a listing. ``total`` counts all rows that match, not those on this page."""

    items: tuple[T, ...] = ()
    total: int = 0
    limit: int = 0
    offset: int = 0
    total_is_estimate: bool = False


class Version(Model, frozen=True, kw_only=True):
    api_version: str = ""
    features: Mapping[str, bool] = {}


class Health(Model, frozen=True, kw_only=True):
    status: str = "unknown"
    """``healthy``, or what the server said instead."""
    database: str = ""


class Bank(Model, frozen=True, kw_only=True):
    bank_id: str
    name: str | None = None
    mission: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    fact_count: int = 0
    """Live memories of every type."""
    last_document_at: str | None = None
    last_write_at: str | None = None
    """A maximum over live rows: it moves backwards when the newest document is deleted."""


class BankStats(Model, frozen=True, kw_only=True):
    bank_id: str
    total_nodes: int = 0
    total_links: int = 0
    total_documents: int = 0
    nodes_by_fact_type: Mapping[str, int] = {}
    pending_operations: int = 0
    failed_operations: int = 0
    operations_by_status: Mapping[str, int] = {}
    last_consolidated_at: str | None = None
    last_memory_write_at: str | None = None
    pending_consolidation: int = 0
    failed_consolidation: int = 0
    total_observations: int = 0


class DocumentSummary(Model, frozen=True, kw_only=True):
    """A document as listings give it: everything but its text."""

    id: str
    bank_id: str = ""
    content_hash: str | None = None
    """sha256 hex of the UTF-8 stored text."""
    created_at: str | None = None
    updated_at: str | None = None
    text_length: int = 0
    """Characters."""
    memory_unit_count: int = 0
    """Live world and experience memories."""
    retain_params: Mapping[str, Any] | None = None
    """context, metadata, event_date, entities, resolve_entities, strategy, observation_scopes: as retained."""
    document_metadata: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    """Sorted by code point: the server keeps no order."""
    matched_fields: tuple[str, ...] | None = None


class Document(DocumentSummary, frozen=True, kw_only=True):
    original_text: str | None = None
    """The full stored text; None where the store keeps no text."""
    nodes_by_fact_type: Mapping[str, int] = {}


class Chunk(Model, frozen=True, kw_only=True):
    chunk_id: str
    document_id: str = ""
    bank_id: str = ""
    chunk_index: int = 0
    chunk_text: str = ""
    created_at: str | None = None


class Memory(Model, frozen=True, kw_only=True):
    """One fact. The same shape from listings and from single reads, whatever the server names them."""

    id: str
    text: str = ""
    context: str | None = None
    fact_type: str = "world"
    """``world``, ``experience``, ``observation``, or whatever a newer server adds."""
    document_id: str | None = None
    chunk_id: str | None = None
    """``{bank}_{document}_{index}``; None for observations."""
    date: str | None = None
    mentioned_at: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    proof_count: int | None = None
    state: str = "valid"
    """``valid`` or ``invalidated``."""
    invalidation_reason: str | None = None
    invalidated_at: str | None = None
    edited_at: str | None = None
    updated_at: str | None = None
    source_memory_ids: tuple[str, ...] = ()


class EntityInput(Model, frozen=True, kw_only=True):
    text: str
    type: str | None = None


class RetainItem(Model, frozen=True, kw_only=True):
    """One text to retain. Omitted fields are *cleared* on a document that exists: send everything every time."""

    content: str
    document_id: str
    timestamp: str | None = None
    """ISO 8601, None for now, or ``unset``."""
    context: str | None = None
    metadata: Mapping[str, str] | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[EntityInput, ...] = ()
    strategy: str | None = None
    observation_scopes: Any = None
    update_mode: str = "replace"
    """``replace`` or ``append`` (old text, a newline, the new text)."""


class RetainResponse(Model, frozen=True, kw_only=True):
    success: bool = True
    bank_id: str = ""
    items_count: int = 0
    operation_id: str | None = None
    operation_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    """What was sent, in order: the server answers no ids."""
    usage: Mapping[str, int] | None = None


class RecallRequest(Model, frozen=True, kw_only=True):
    query: str
    types: tuple[str, ...] = ()
    """Empty: all types."""
    budget: str = "mid"
    """low, mid or high."""
    max_tokens: int = 4096
    """The only size control that a Hindsight server has."""
    query_timestamp: str | None = None
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    """any, all, any_strict, all_strict or exact."""
    tag_groups: tuple[Any, ...] = ()
    min_scores: Mapping[str, float] | None = None
    temporal_window: Mapping[str, str] | None = None
    prefer_observations: bool | None = None
    include_chunks: bool = False
    include_entities: bool = False
    include_source_facts: bool = False
    chunks_max_tokens: int | None = None
    """None: what the server thinks right, for this and those below."""
    entities_max_tokens: int | None = None
    source_facts_max_tokens: int | None = None
    source_facts_max_tokens_per_observation: int | None = None
    trace: bool = False


class RecallResult(Model, frozen=True, kw_only=True):
    id: str
    text: str = ""
    type: str = "world"
    document_id: str | None = None
    chunk_id: str | None = None
    context: str | None = None
    mentioned_at: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    entities: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    tags: tuple[str, ...] | None = None
    source_fact_ids: tuple[str, ...] | None = None
    scores: Mapping[str, float | None] | None = None
    """``final`` is relative within one answer; not comparable between queries."""


class RecallResponse(Model, frozen=True, kw_only=True):
    results: tuple[RecallResult, ...] = ()
    chunks: Mapping[str, Any] | None = None
    entities: Mapping[str, Any] | None = None
    source_facts: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    """Which arm found what, and how long each took; without the query's embedding."""


class ReflectRequest(Model, frozen=True, kw_only=True):
    query: str
    budget: str = "low"
    max_tokens: int = 4096
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    tag_groups: tuple[Any, ...] = ()
    fact_types: tuple[str, ...] = ()
    response_schema: Mapping[str, Any] | None = None
    include_facts: bool = True
    include_tool_calls: bool = False
    tool_call_outputs: bool = True
    """With ``include_tool_calls``: also what each tool answered."""
    apply_all_directives: bool = False
    exclude_mental_models: bool = False
    exclude_mental_model_ids: tuple[str, ...] = ()
    observations_max_tokens: int | None = None
    """How much of the observations the model reads; None: the server's own measure."""
    observations_include_entities: bool | None = None


class BasedOn(Model, frozen=True, kw_only=True):
    memories: tuple[RecallResult, ...] = ()
    mental_models: tuple[Mapping[str, Any], ...] = ()
    directives: tuple[Mapping[str, Any], ...] = ()


class ReflectResponse(Model, frozen=True, kw_only=True):
    text: str = ""
    """Markdown."""
    based_on: BasedOn | None = None
    structured_output: Any = None
    structured_output_error: str | None = None
    usage: Mapping[str, Any] | None = None
    trace: Mapping[str, Any] | None = None
    extractive: bool = False
    """True where the answer is cited extracts put together without a model."""


class Operation(Model, frozen=True, kw_only=True):
    id: str
    task_type: str = ""
    status: str = ""
    """pending, processing, completed, failed, cancelled; ``not_found`` is turned into NotFound."""
    items_count: int = 0
    document_id: str | None = None
    document_ids: tuple[str, ...] = ()
    """Every document it writes, where that can be known (a parent of many has no single one)."""
    created_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None
    error_message: str | None = None
    retry_count: int = 0
    next_retry_at: str | None = None
    result_metadata: Mapping[str, Any] | None = None
    child_operations: tuple[Mapping[str, Any], ...] = ()


class DocumentQuery(Model, frozen=True, kw_only=True):
    """Filters of a document listing. Newest first by ``time_field`` (``updated_at`` where None)."""

    q: str | None = None
    """Case-insensitive, literal, in id or text."""
    tags: tuple[str, ...] = ()
    tags_match: str = "any_strict"
    time_field: str | None = None
    """created_at or updated_at."""
    start_date: str | None = None
    """Inclusive."""
    end_date: str | None = None
    """Exclusive."""
    limit: int = 100
    offset: int = 0


class MemoryQuery(Model, frozen=True, kw_only=True):
    """Filters of a memory listing."""

    q: str | None = None
    """Literal; what a server would take as a wildcard is filtered here."""
    type: str | None = None
    state: str = "valid"
    """``valid`` or ``invalidated``: no store lists both at once."""
    document_id: str | None = None
    entity_id: str | None = None
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    consolidation_state: str | None = None
    time_field: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    limit: int = 100
    offset: int = 0


class Curation(Model, frozen=True, kw_only=True):
    """A change to one world or experience memory. None leaves a field as it is; ``""`` clears a date or context."""

    state: str | None = None
    """``invalidated`` or ``valid``."""
    reason: str | None = None
    """Only with ``state="invalidated"``."""
    text: str | None = None
    context: str | None = None
    fact_type: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    mentioned_at: str | None = None
    entities: tuple[str, ...] | None = None


class ArchivedDocument(Model, frozen=True, kw_only=True):
    """A document with its facts: what a bulk export gives (live ones only) and an import takes (of either state)."""

    document: Document
    facts: tuple[Memory, ...] = ()
    """In reading order where an import should keep one; ``id`` may be empty there."""
    chunks: tuple[str, ...] = ()
    """Texts of the chunks by index; empty where the other side may cut the text anew."""


class ImportResult(Model, frozen=True, kw_only=True):
    """What an import did."""

    imported: tuple[str, ...] = ()
    """Document ids."""
    skipped: tuple[str, ...] = ()
    """Document ids that were there already and were left as they are."""
    facts: int = 0
    """Live ones that came in."""
    invalidated: int = 0


def parse_time(value: str | None) -> datetime | None:
    """Any of Hindsight's three time shapes -> an aware datetime in UTC; None for None or ''.

    Raises ValueError for anything else. A time without offset is UTC, as the server reads it.
    """
    if not value:
        return None
    text = value.strip().replace(" ", "T", 1)
    if text.endswith(("Z", "z")):
        text = text[:-1] + "+00:00"
    elif len(text) > 3 and text[-3] in "+-" and text[-2:].isdigit() and "T" in text:
        text += ":00"
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

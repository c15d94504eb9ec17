"""What the mirror needs from a bank: async protocols and the frozen rows they give.

The mirror never speaks HTTP or SQL. Anything that can list documents and facts can be mirrored;
``console.bridge`` is the adapter for memory stores.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class SourceBank:
    """``created_at`` is part of the identity: a bank that was deleted and made again is another one."""

    bank_id: str
    created_at: str
    """ISO 8601, or for an embedded file ``uuid:<uuid>``."""
    origin: str
    """For information only: no credentials, no private path."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A listed document. Tags sorted by code point."""

    id: str
    content_hash: str
    """sha256 hex of the UTF-8 text; empty where the bank keeps no text."""
    created_at: str
    updated_at: str
    fact_count: int
    """Live world and experience facts, as the bank counts them."""
    tags: tuple[str, ...] = ()
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    """What else it was retained with and the text does not tell: event_date, entities, strategy, scopes."""


@dataclass(frozen=True, slots=True)
class SourceFact:
    """A world or experience fact, live or invalidated."""

    id: str
    document_id: str
    text: str
    fact_type: str
    live: bool
    chunk_index: int = 0
    mentioned_at: str | None = None
    occurred_start: str | None = None
    occurred_end: str | None = None
    reason: str | None = None
    """Why it was invalidated, as the bank has it."""
    invalidated_at: str | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """One page of a listing, and the total that the bank claims for the whole of it."""

    items: tuple[Any, ...]
    total: int
    seen: int
    """Rows that the bank sent for this page: ``items`` and what was left out of it (observations)."""


@dataclass(frozen=True, slots=True)
class BusyOperation:
    """A retain or reprocess that has not ended."""

    operation_id: str
    status: str
    since: str | None = None


class Source(Protocol):
    """One bank, read."""

    async def bank(self) -> SourceBank:
        """Its identity. Raises the store's own error when it does not exist."""

    async def now(self) -> str:
        """The bank's clock: the fixed end of a listing."""

    async def documents(self, *, before: str | None, limit: int, offset: int) -> Rows:
        """Rows of SourceDocument created before ``before``, newest first by created_at."""

    async def facts(self, *, live: bool, limit: int, offset: int) -> Rows:
        """Rows of SourceFact in that state; observations are left out of ``items``, not of ``seen`` and ``total``."""

    async def touched(self, since: str) -> Mapping[str, str]:
        """Document id -> updated_at of all that were written at or after ``since``."""

    def texts(self, document_ids: Sequence[str]) -> AsyncIterator[tuple[str, str | None]]:
        """(id, stored text) of each document that still exists, in any order; None: the bank keeps no text."""

    async def exists(self, document_id: str) -> bool:
        """Asked of the bank for this one document: only its own answer makes a document gone."""

    async def busy(self) -> Mapping[str, BusyOperation]:
        """Document id -> the operation that is still writing it."""


class Curator(Protocol):
    """One bank, changed. Every method raises CurationFailed with the bank's own reason."""

    async def fact(self, fact_id: str) -> SourceFact | None:
        """As it is now; None when the bank does not know it."""

    async def curate(self, fact_id: str, *, live: bool, reason: str) -> None:
        """Invalidate with a reason, or make valid again."""

    async def replace_text(
        self, document_id: str, text: str, *, tags: Sequence[str] | None = None, context: str | None = None
    ) -> None:
        """Retain a text in place of the document's, with the bank's own tags and parameters where ``tags`` is None;
        returns when its facts are extracted. A document that is not there is made."""

    async def erase(self, document_id: str) -> bool:
        """Delete a document with all its facts; False when it was gone."""

"""The mirror's own words as frozen data: records, fact lines, page sources, rendered pages.

Pure data, no behaviour that needs I/O. ``page.render`` turns a PageSource into a RenderedPage; the
manifest keeps what of it the bank could not give back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mirror.source import SourceFact

SCHEMA = 1
"""Of pages, manifest and header. A tool that meets a newer one stops."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the mirror remembers of a retraction; the bank forgets its own when a text is re-ingested."""

    key: str
    text: str
    """Full text, in chunk mode too."""
    reason: str = ""
    by: str = ""
    when: str = ""
    """Day, ``2026-12-01``: the first time; a later retraction of the same fact does not move it."""
    pr: str = ""
    memory_id: str = ""
    """The id it had when it was retracted; live again under it = restored in the bank."""
    chunk_index: int | None = None
    """The chunk where it stood."""
    is_chunk: bool = False
    """Chunk mode: the fact is the whole chunk."""


@dataclass(frozen=True, slots=True)
class PageSource:
    """Everything a page is made of. Equal sources give equal bytes."""

    bank_id: str
    document_id: str
    text: str | None
    """None: the bank keeps no text."""
    created_at: str
    tags: tuple[str, ...] = ()
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[SourceFact, ...] = ()
    """Live and invalidated, in any order."""
    records: tuple[Record, ...] = ()
    label: str | None = None
    """Provenance from the seam, carried in the manifest."""
    retraction: Record | None = None
    """Set where a person took the whole document back."""


@dataclass(frozen=True, slots=True)
class FactLine:
    """One line of the list: one distinct key."""

    key: str
    text: str
    """As the bank has it (of a chunk fact: the whole chunk)."""
    shown: str
    """What the line shows: whitespace folded; of a chunk fact its first meaningful line."""
    live: bool
    note: str = ""
    """``reason; by; day`` of a retracted one."""
    chunk_index: int = 0
    is_chunk: bool = False
    line: tuple[int, int] | None = None
    """First and last line of the .txt where it most likely stands (1-based); a hint."""
    fact_ids: tuple[str, ...] = ()
    """Every memory of the document with this key, sorted."""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """``page`` and ``text`` are the exact bytes of the two files; ``text`` is None where none is kept."""

    page: bytes
    text: bytes | None
    text_mode: str
    """How the .txt is encoded: '' verbatim."""
    title: str
    agent: str
    """Who retained it, as far as it is known; '' otherwise."""
    status: str
    facts: tuple[FactLine, ...]
    final_newline: bool
    """Whether the document's text ends in a newline: decides what to cut from the .txt."""

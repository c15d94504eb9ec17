"""A document that was read off a wiki, as a store imports it."""

from __future__ import annotations

import uuid

from console.memory.embedded.entities import entities
from console.memory.embedded.text import chunk_bounds
from console.memory.models import ArchivedDocument, Document, Memory
from mirror.rebuild import Rebuilt
from mirror.source import SourceFact

_IDS = uuid.UUID("6f1d5c1e-52a0-5b0c-9d5f-0d3f3a7c2b11")
"""Namespace of the ids of facts that come from a wiki: the same page gives the same ids."""


def cut(text: str) -> list[tuple[int, int]]:
    """Where the embedded store would cut a text into chunks."""
    return chunk_bounds(text)


def archived(bank_id: str, rebuilt: Rebuilt) -> ArchivedDocument:
    """A wiki keeps no entities: those that a fact names are found again, as the embedded store finds them."""
    params = {"event_date": rebuilt.created_at, **rebuilt.params}
    if rebuilt.context:
        params["context"] = rebuilt.context
    if rebuilt.metadata:
        params["metadata"] = dict(rebuilt.metadata)
    document = Document(
        id=rebuilt.document_id,
        bank_id=bank_id,
        created_at=rebuilt.created_at,
        text_length=len(rebuilt.text),
        retain_params=params,
        document_metadata=dict(rebuilt.metadata) or None,
        tags=tuple(sorted(rebuilt.tags)),
        original_text=rebuilt.text,
    )
    facts = tuple(_memory(bank_id, rebuilt, fact) for fact in rebuilt.facts)
    return ArchivedDocument(document=document, facts=facts, chunks=rebuilt.chunks)


def _memory(bank_id: str, rebuilt: Rebuilt, fact: SourceFact) -> Memory:
    return Memory(
        id=str(uuid.uuid5(_IDS, f"{bank_id}\0{rebuilt.document_id}\0{fact.id}")),
        text=fact.text,
        context=rebuilt.context,
        fact_type=fact.fact_type,
        document_id=rebuilt.document_id,
        chunk_id=f"{bank_id}_{rebuilt.document_id}_{fact.chunk_index}",
        date=fact.occurred_start or fact.mentioned_at,
        mentioned_at=fact.mentioned_at,
        occurred_start=fact.occurred_start,
        occurred_end=fact.occurred_end,
        entities=entities(fact.text),
        tags=tuple(sorted(rebuilt.tags)),
        metadata=dict(rebuilt.metadata) or None,
        state="valid" if fact.live else "invalidated",
        invalidation_reason=fact.reason,
        invalidated_at=fact.invalidated_at,
    )

"""Short words for what the contract tests do again and again."""

from __future__ import annotations

from typing import Any

from console.memory.models import DocumentQuery, Memory, MemoryQuery, RetainItem
from console.memory.store import MemoryStore

ALL = 10_000


def item(document_id: str, content: str, **fields: Any) -> RetainItem:
    return RetainItem(document_id=document_id, content=content, **fields)


async def retain(store: MemoryStore, bank: str, document_id: str, content: str, **fields: Any) -> None:
    await store.retain(bank, [item(document_id, content, **fields)])


async def document_ids(store: MemoryStore, bank: str, **query: Any) -> list[str]:
    page = await store.list_documents(bank, DocumentQuery(**({"limit": ALL} | query)))
    return [document.id for document in page.items]


async def facts(store: MemoryStore, bank: str, **query: Any) -> list[Memory]:
    """World facts only: observations come and go in the background."""
    query = {"limit": ALL, "type": "world"} | query
    return list((await store.list_memories(bank, MemoryQuery(**query))).items)


async def fact(store: MemoryStore, bank: str, text: str, **query: Any) -> Memory:
    """The one live fact of exactly this text."""
    found = [memory for memory in await facts(store, bank, **query) if memory.text == text]
    assert len(found) == 1, f"{text!r}: {len(found)} facts"
    return found[0]


async def snapshot(store: MemoryStore, bank: str) -> dict[str, tuple[Any, ...]]:
    """What a document is, for every document of the bank: to prove that nothing else was touched."""
    page = await store.list_documents(bank, DocumentQuery(limit=ALL))
    return {
        document.id: (document.content_hash, document.tags, document.memory_unit_count, document.created_at)
        for document in page.items
    }

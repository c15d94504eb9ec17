"""Documents come in with their own facts: nothing is extracted, nothing is reworded."""

from __future__ import annotations

from typing import Any

import pytest

from console.memory.errors import InvalidInput
from console.memory.models import ArchivedDocument, Document, Memory, parse_time
from console.memory.store import Capability, MemoryStore
from tests.contract.helpers import facts, retain

TEXT = "The gate opens at nine. It closes at five. Nobody guards it."


def archived(document_id: str = "d", **fields: Any) -> ArchivedDocument:
    document = Document(
        id=document_id,
        original_text=TEXT,
        created_at="2025-03-04T05:06:00+00:00",
        tags=("a", "b"),
        retain_params={"context": "omo", "metadata": {"k": "v"}, "event_date": None},
    )
    own = (
        _fact("Gate hours begin at 9.", 1, entities=("gate",)),
        _fact(
            "I closed the gate at 5.", 2, fact_type="experience", occurred_start="2025-03-01T00:00:00+00:00"
        ),
        _fact("Nobody is at the gate.", 3, state="invalidated", invalidation_reason="there is a guard now"),
    )
    return ArchivedDocument(**({"document": document, "facts": own, "chunks": (TEXT,)} | fields))


def _fact(text: str, second: int, **fields: Any) -> Memory:
    return Memory(
        id="",
        text=text,
        chunk_id="x_d_0",
        mentioned_at=f"2025-03-04T05:06:{second:02}+00:00",
        tags=("a", "b"),
        **fields,
    )


async def test_a_document_comes_in_with_its_own_facts(store: MemoryStore, bank_id: str) -> None:
    assert Capability.IMPORT in store.capabilities
    result = await store.import_documents(bank_id, [archived()])
    assert (result.imported, result.skipped, result.facts, result.invalidated) == (("d",), (), 2, 1)
    document = await store.get_document(bank_id, "d")
    assert document.original_text == TEXT
    assert parse_time(document.created_at) == parse_time("2025-03-04T05:06:00+00:00")
    assert document.tags == ("a", "b")
    assert (document.retain_params or {})["context"] == "omo"
    live = await facts(store, bank_id)
    assert [(m.text, m.entities, m.tags) for m in live] == [("Gate hours begin at 9.", ("gate",), ("a", "b"))]
    (told,) = await facts(store, bank_id, type="experience")
    assert told.text == "I closed the gate at 5."
    assert parse_time(told.occurred_start) == parse_time("2025-03-01T00:00:00Z")
    (gone,) = await facts(store, bank_id, state="invalidated")
    assert (gone.text, gone.invalidation_reason) == ("Nobody is at the gate.", "there is a guard now")
    assert [chunk.chunk_text for chunk in (await store.list_chunks(bank_id, "d")).items] == [TEXT]


async def test_a_document_that_exists_is_left_alone_or_replaced(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The door is red.")
    skipped = await store.import_documents(bank, [archived(), archived("e")])
    assert (skipped.imported, skipped.skipped) == (("e",), ("d",))
    assert (await store.get_document(bank, "d")).original_text == "The door is red."
    replaced = await store.import_documents(bank, [archived()], on_conflict="replace")
    assert replaced.imported == ("d",)
    assert {m.text for m in await facts(store, bank, document_id="d")} == {"Gate hours begin at 9."}


async def test_what_was_exported_comes_in_elsewhere_as_it_was(store: MemoryStore, bank: str) -> None:
    await store.import_documents(bank, [archived(), archived("..")])
    exported = [entry async for entry in store.export_documents(bank)]
    copy = f"{bank}-copy"
    assert set((await store.import_documents(copy, exported)).imported) == {"d", ".."}
    again = {entry.document.id: entry async for entry in store.export_documents(copy)}
    for entry in exported:
        other = again[entry.document.id]
        assert other.document.content_hash == entry.document.content_hash
        assert parse_time(other.document.created_at) == parse_time(entry.document.created_at)
        shown = [
            sorted((m.text, m.fact_type, parse_time(m.mentioned_at), sorted(m.entities)) for m in e.facts)
            for e in (entry, other)
        ]
        assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("documents", "on_conflict"),
    [
        ([archived(), archived()], "skip"),
        ([archived()], "merge"),
        ([archived("")], "skip"),
        ([archived(document=Document(id="x"))], "skip"),
    ],
    ids=["one document twice", "an unknown conflict rule", "an empty id", "no text"],
)
async def test_refused_before_anything_is_stored(
    store: MemoryStore, bank: str, documents: list[ArchivedDocument], on_conflict: str
) -> None:
    with pytest.raises(InvalidInput):
        await store.import_documents(bank, documents, on_conflict=on_conflict)
    assert (await store.list_documents(bank)).total == 0

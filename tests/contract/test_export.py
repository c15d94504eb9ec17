"""Bulk reading says the same as reading one by one."""

from __future__ import annotations

import msgspec

from console.memory.models import Curation, Memory, parse_time
from console.memory.store import MemoryStore
from tests.contract.helpers import fact, facts, item, retain

GATE = "The gate opens at nine. It closes at five."
# What an export of the server leaves out, and what it writes in another of its three time shapes.
LEFT_OUT = ("updated_at", "proof_count", "edited_at", "date")


def comparable(memory: Memory) -> Memory:
    blank = dict.fromkeys(LEFT_OUT)
    return msgspec.structs.replace(
        memory,
        **blank,
        mentioned_at=str(parse_time(memory.mentioned_at)),
        entities=tuple(sorted(memory.entities)),
    )


async def test_an_export_carries_what_single_reads_carry(store: MemoryStore, bank: str) -> None:
    await store.retain(
        bank,
        [
            item(
                "d",
                GATE,
                tags=("b", "a"),
                context="omo",
                metadata={"k": "v"},
                timestamp="2026-03-04T05:06:07Z",
            ),
            item("..", "Ledgerline stores invoices in Postgres."),
            item("x/chunks", "I repaired the gate on Monday."),
        ],
    )
    wrong = await fact(store, bank, "It closes at five.")
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="wrong"))
    exported = {entry.document.id: entry async for entry in store.export_documents(bank)}
    assert set(exported) == {"d", "..", "x/chunks"}
    for name, entry in exported.items():
        document = await store.get_document(bank, name)
        for field in (
            "bank_id",
            "original_text",
            "content_hash",
            "tags",
            "retain_params",
            "document_metadata",
        ):
            assert getattr(entry.document, field) == getattr(document, field), (name, field)
        assert entry.document.memory_unit_count == document.memory_unit_count == len(entry.facts)
        assert parse_time(entry.document.created_at) == parse_time(document.created_at)
        listed = [
            *await facts(store, bank, document_id=name),
            *await facts(store, bank, document_id=name, type="experience"),
        ]
        assert {memory.id: comparable(memory) for memory in entry.facts} == {
            memory.id: comparable(memory) for memory in listed
        }


async def test_named_documents_only_and_missing_ones_left_out(store: MemoryStore, bank: str) -> None:
    await store.retain(
        bank, [item(name, f"Door {name} is open today.") for name in ("a", "b", "..", "%41", "c,d")]
    )
    wanted = ["..", "a", "nope", "%41", "c,d", "a"]
    found = [entry.document.id async for entry in store.export_documents(bank, wanted)]
    assert sorted(found) == ["%41", "..", "a", "c,d"]


async def test_naming_none_exports_none(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    assert [entry async for entry in store.export_documents(bank, [])] == []


async def test_an_empty_bank_exports_nothing(store: MemoryStore, bank: str) -> None:
    assert [entry async for entry in store.export_documents(bank)] == []


async def test_more_documents_than_fit_in_a_request(store: MemoryStore, bank: str) -> None:
    names = [f"{number:02}-{'long' * 90}" for number in range(40)]
    await store.retain(bank, [item(name, f"Door {name[:2]} is open today.") for name in names])
    found = [entry.document.id async for entry in store.export_documents(bank, names[:25])]
    assert sorted(found) == names[:25]
    everything = [entry.document.id async for entry in store.export_documents(bank, names)]
    assert sorted(everything) == names

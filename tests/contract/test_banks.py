"""Banks: exact ids, nothing created or changed by looking, identity."""

from __future__ import annotations

import pytest

from console.memory.errors import InvalidInput, NotFound
from console.memory.models import RecallRequest, parse_time
from console.memory.store import MemoryStore
from tests.contract.conftest import forget
from tests.contract.helpers import retain


async def test_a_store_says_what_it_is(store: MemoryStore) -> None:
    assert (await store.version()).api_version
    assert (await store.health()).status == "healthy"
    assert parse_time(await store.now()) is not None
    assert "@" not in store.url


async def test_a_created_bank_is_listed_and_read(store: MemoryStore, bank: str) -> None:
    assert (await store.get_bank(bank)).bank_id == bank
    assert bank in [entry.bank_id for entry in (await store.list_banks(q=bank)).items]


async def test_creating_keeps_name_and_mission(store: MemoryStore, bank_id: str) -> None:
    created = await store.create_bank(bank_id, name="Ledgerline", mission="Remember what was decided.")
    try:
        assert (created.name, created.mission) == ("Ledgerline", "Remember what was decided.")
        assert await store.get_bank(bank_id) == created
    finally:
        await forget(store, bank_id)


async def test_creating_a_bank_that_exists_changes_nothing(store: MemoryStore, bank_id: str) -> None:
    first = await store.create_bank(bank_id, name="First", mission="One.")
    try:
        await retain(store, bank_id, "d", "The gate opens at nine.")
        again = await store.create_bank(bank_id, name="Second", mission="Two.")
        assert (again.name, again.mission, again.created_at) == ("First", "One.", first.created_at)
        assert again.fact_count == 1
    finally:
        await forget(store, bank_id)


async def test_a_bank_is_exactly_its_id(store: MemoryStore, bank: str) -> None:
    for other in (bank[:-1], bank.upper(), f"{bank}x", f"{bank[:-1]}_", f"{bank[:-1]}%", "%"):
        with pytest.raises(NotFound):
            await store.get_bank(other)


@pytest.mark.parametrize("suffix", ["::app", " app", "團隊", "a\\b", "%41", "?x#y", "é", ".", "100%"])
async def test_unusual_bank_ids_work(store: MemoryStore, bank_id: str, suffix: str) -> None:
    name = bank_id + suffix
    await store.create_bank(name)
    try:
        assert (await store.get_bank(name)).bank_id == name
        await retain(store, name, "d", "The gate opens at nine.")
        assert (await store.get_document(name, "d")).bank_id == name
        assert (await store.bank_stats(name, refresh=True)).total_documents == 1
        assert [entry.document.id async for entry in store.export_documents(name)] == ["d"]
    finally:
        await forget(store, name)


@pytest.mark.parametrize("name", ["", "_private", "x" * 193, "a\x00b", "a\nb"])
async def test_impossible_bank_ids_are_refused(store: MemoryStore, name: str) -> None:
    with pytest.raises(InvalidInput):
        await store.create_bank(name)


async def test_the_last_written_bank_is_first(store: MemoryStore, bank_id: str) -> None:
    names = [f"{bank_id}-a", f"{bank_id}-b"]
    try:
        for name in (*names, names[0]):
            await retain(store, name, "d", f"The gate of {name} opens at nine.")
        listed = [entry.bank_id for entry in (await store.list_banks(q=bank_id)).items]
        assert listed == names
    finally:
        for name in names:
            await forget(store, name)


async def test_banks_come_in_pages(store: MemoryStore, bank_id: str) -> None:
    names = {f"{bank_id}-{letter}" for letter in "abc"}
    try:
        for name in names:
            await store.create_bank(name)
        first = await store.list_banks(q=bank_id, limit=2)
        rest = await store.list_banks(q=bank_id, limit=2, offset=2)
        assert first.total == rest.total == 3
        assert {entry.bank_id for entry in (*first.items, *rest.items)} == names
        assert (await store.list_banks(q=bank_id, limit=0)).total == 3
    finally:
        for name in names:
            await forget(store, name)


async def test_deleting_a_bank_takes_everything_with_it(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The gate opens at nine. It closes at five.")
    assert await store.delete_bank(bank) >= 3
    with pytest.raises(NotFound):
        await store.get_bank(bank)
    with pytest.raises(NotFound):
        await store.get_document(bank, "d")
    with pytest.raises(NotFound):
        await store.delete_bank(bank)


async def test_a_bank_made_again_is_another_one(store: MemoryStore, bank: str) -> None:
    before = await store.bank_identity(bank)
    assert await store.bank_identity(bank) == before
    await store.delete_bank(bank)
    await store.create_bank(bank)
    assert await store.bank_identity(bank) != before


async def test_statistics_count_what_is_there(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d1", "The gate opens at nine. It closes at five.")
    await retain(store, bank, "d2", "The lamp is green.")
    stats = await store.bank_stats(bank, refresh=True)
    assert (stats.bank_id, stats.total_documents) == (bank, 2)
    assert stats.nodes_by_fact_type["world"] == 3


async def test_reading_a_missing_bank_says_so_and_makes_none(store: MemoryStore, bank_id: str) -> None:
    reads = [
        lambda: store.get_bank(bank_id),
        lambda: store.bank_identity(bank_id),
        lambda: store.bank_stats(bank_id),
        lambda: store.list_documents(bank_id),
        lambda: store.get_document(bank_id, "d"),
        lambda: store.list_chunks(bank_id, "d"),
        lambda: store.list_memories(bank_id),
        lambda: store.get_memory(bank_id, "00000000-0000-4000-8000-000000000000"),
        lambda: store.recall(bank_id, RecallRequest(query="gate")),
        lambda: store.list_operations(bank_id),
        lambda: store.set_document_tags(bank_id, "d", ["t"]),
        lambda: store.delete_document(bank_id, "d"),
        lambda: anext(aiter(store.export_documents(bank_id))),
    ]
    for read in reads:
        with pytest.raises(NotFound):
            await read()
    assert (await store.list_banks(q=bank_id)).total == 0


async def test_closing_twice_is_harmless(store: MemoryStore) -> None:
    await store.version()
    await store.aclose()
    await store.aclose()

"""Documents: listing, filters, chunks, tags, deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.memory.errors import InvalidInput, NotFound
from console.memory.models import Curation, DocumentQuery, parse_time
from console.memory.store import MemoryStore
from tests.contract.helpers import document_ids, fact, facts, item, retain

GATE = "The gate opens at nine. It closes at five."


@pytest.fixture
async def tagged(store: MemoryStore, bank: str) -> str:
    """Documents named after their tags."""
    await store.retain(
        bank,
        [
            item("none", "The lamp is green."),
            item("a", "The gate opens at nine.", tags=("a",)),
            item("b", "It closes at five.", tags=("b",)),
            item("ab", "The door is heavy.", tags=("a", "b")),
            item("A", "The roof is flat.", tags=("A",)),
        ],
    )
    return bank


async def test_a_listing_says_everything_but_the_text(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE, tags=("t",), context="omo", metadata={"k": "v"})
    listed = (await store.list_documents(bank)).items[0]
    read = await store.get_document(bank, "d")
    for field in ("id", "bank_id", "content_hash", "created_at", "updated_at", "tags", "retain_params"):
        assert getattr(listed, field) == getattr(read, field), field
    assert (listed.document_metadata, listed.memory_unit_count) == ({"k": "v"}, 2)
    assert listed.text_length == read.text_length == len(GATE)


async def test_the_last_updated_is_first(store: MemoryStore, bank: str) -> None:
    for name in ("one", "two", "three"):
        await retain(store, bank, name, f"Door {name} is open today.")
    assert await document_ids(store, bank) == ["three", "two", "one"]
    await retain(store, bank, "one", "Door one is shut today.")
    assert await document_ids(store, bank) == ["one", "three", "two"]
    assert await document_ids(store, bank, time_field="created_at") == ["three", "two", "one"]


async def test_pages_cover_the_listing_once(store: MemoryStore, bank: str) -> None:
    await store.retain(bank, [item(f"d{number}", f"Door {number} is open today.") for number in range(7)])
    pages = [
        await store.list_documents(bank, DocumentQuery(limit=3, offset=offset, time_field="created_at"))
        for offset in (0, 3, 6)
    ]
    assert [len(page.items) for page in pages] == [3, 3, 1]
    assert {page.total for page in pages} == {7}
    assert {entry.id for page in pages for entry in page.items} == {f"d{number}" for number in range(7)}
    counted = await store.list_documents(bank, DocumentQuery(limit=0))
    assert (counted.items, counted.total) == ((), 7)


@pytest.mark.parametrize("window", [{"limit": -1}, {"offset": -1}], ids=str)
async def test_a_negative_window_is_refused(store: MemoryStore, bank: str, window: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        await store.list_documents(bank, DocumentQuery(**window))


@pytest.mark.parametrize(
    ("tags", "mode", "found"),
    [
        (("a",), "any", {"a", "ab", "none"}),
        (("a",), "any_strict", {"a", "ab"}),
        (("a", "b"), "any_strict", {"a", "b", "ab"}),
        (("a", "b"), "all", {"ab", "none"}),
        (("a", "b"), "all_strict", {"ab"}),
        (("a",), "exact", {"a"}),
        (("b", "a"), "exact", {"ab"}),
        ((), "exact", {"none"}),
        (("a,b",), "any_strict", set()),
        (("c",), "any", {"none"}),
    ],
)
async def test_tags_match_by_mode(
    store: MemoryStore, tagged: str, tags: tuple[str, ...], mode: str, found: set[str]
) -> None:
    assert set(await document_ids(store, tagged, tags=tags, tags_match=mode)) == found


async def test_tags_come_sorted(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE, tags=("z", "a", "é", "B", "a"))
    assert (await store.get_document(bank, "d")).tags == ("B", "a", "z", "é")


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("GATE", {"text"}),
        ("named-", {"named-one"}),
        ("50%", {"percent"}),
        ("0_x", {"score"}),
        ("back\\slash", {"slash"}),
        ("nowhere", set()),
    ],
)
async def test_search_is_literal_in_id_and_text(
    store: MemoryStore, bank: str, q: str, found: set[str]
) -> None:
    await store.retain(
        bank,
        [
            item("text", "The gate opens at nine."),
            item("named-one", "The lamp is green."),
            item("percent", "It is 50% full now."),
            item("fifty", "It is 50 full now."),
            item("score", "The name is 0_x here."),
            item("other", "The name is 01x here."),
            item("slash", "There is a back\\slash here."),
        ],
    )
    assert set(await document_ids(store, bank, q=q)) == found


async def test_a_time_window_starts_inside_and_ends_outside(store: MemoryStore, bank: str) -> None:
    for name in ("one", "two"):
        await retain(store, bank, name, f"Door {name} is open today.")
    first = (await store.get_document(bank, "one")).created_at
    second = (await store.get_document(bank, "two")).created_at
    assert first and second
    at = {"time_field": "created_at"}
    assert await document_ids(store, bank, start_date=second, **at) == ["two"]
    assert await document_ids(store, bank, end_date=second, **at) == ["one"]
    assert await document_ids(store, bank, start_date=first, end_date=second, **at) == ["one"]


async def test_now_is_a_safe_end_of_a_listing(store: MemoryStore, bank: str) -> None:
    """Never ahead of the store's own clock: what is retained after it stays outside."""
    await retain(store, bank, "one", "Door one is open today.")
    end = parse_time(await store.now())
    await retain(store, bank, "two", "Door two is open today.")
    second = parse_time((await store.get_document(bank, "two")).created_at)
    assert end is not None and second is not None
    assert end <= second
    assert second - end < timedelta(minutes=2)


@pytest.mark.parametrize("query", [{"start_date": "soon"}, {"end_date": "13/12/2026"}], ids=str)
async def test_a_bad_date_is_refused(store: MemoryStore, bank: str, query: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        await store.list_documents(bank, DocumentQuery(time_field="created_at", **query))


async def test_a_missing_document_is_missing(store: MemoryStore, bank: str) -> None:
    for read in (
        lambda: store.get_document(bank, "nope"),
        lambda: store.list_chunks(bank, "nope"),
        lambda: store.set_document_tags(bank, "nope", ["t"]),
        lambda: store.delete_document(bank, "nope"),
    ):
        with pytest.raises(NotFound, match="nope"):
            await read()


async def test_chunks_come_in_order_and_pages(store: MemoryStore, bank: str) -> None:
    text = "\n\n".join(f"Paragraph {number} says: " + "the gate is open today. " * 30 for number in range(12))
    await retain(store, bank, "d", text)
    whole = await store.list_chunks(bank, "d", limit=1000)
    assert whole.total == len(whole.items) > 2
    assert [chunk.chunk_index for chunk in whole.items] == list(range(whole.total))
    assert {(chunk.document_id, chunk.bank_id) for chunk in whole.items} == {("d", bank)}
    for chunk in whole.items:
        assert chunk.chunk_id == f"{bank}_d_{chunk.chunk_index}"
        assert chunk.chunk_text.strip()[:40] in text
    part = await store.list_chunks(bank, "d", limit=2, offset=1)
    assert (part.items, part.total) == (whole.items[1:3], whole.total)
    assert (await store.list_chunks(bank, "d", limit=0)).total == whole.total


async def test_a_fact_names_its_chunk(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    chunk = (await store.list_chunks(bank, "d")).items[0]
    assert {memory.chunk_id for memory in await facts(store, bank)} == {chunk.chunk_id}


async def test_setting_tags_reaches_the_live_memories_only(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE, tags=("old",))
    wrong = await fact(store, bank, "It closes at five.")
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="wrong"))
    await store.set_document_tags(bank, "d", ["new", "new", "also"])
    assert (await store.get_document(bank, "d")).tags == ("also", "new")
    assert [memory.tags for memory in await facts(store, bank)] == [("also", "new")]
    assert [memory.tags for memory in await facts(store, bank, state="invalidated")] == [("old",)]
    await store.set_document_tags(bank, "d", [])
    assert (await store.get_document(bank, "d")).tags == ()


async def test_deleting_takes_all_memories_and_nothing_else(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    await retain(store, bank, "e", "The lamp is green.")
    wrong, right = (
        await fact(store, bank, "It closes at five."),
        await fact(store, bank, "The gate opens at nine."),
    )
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="wrong"))
    assert await store.delete_document(bank, "d") == 1
    for memory in (wrong, right):
        with pytest.raises(NotFound):
            await store.get_memory(bank, memory.id)
    assert await document_ids(store, bank) == ["e"]
    assert [memory.text for memory in await facts(store, bank)] == ["The lamp is green."]
    assert await facts(store, bank, state="invalidated") == []
    with pytest.raises(NotFound):
        await store.delete_document(bank, "d")

"""Memories: one shape everywhere, literal search, curation that can be taken back."""

from __future__ import annotations

import msgspec
import pytest

from console.memory.errors import Conflict, InvalidInput, NotFound
from console.memory.models import Curation, MemoryQuery, RecallRequest, parse_time
from console.memory.store import MemoryStore
from tests.contract.helpers import fact, facts, item, retain

GATE = "The gate opens at nine. It closes at five."
NOWHERE = "00000000-0000-4000-8000-000000000000"


async def texts(store: MemoryStore, bank: str, **query: object) -> set[str]:
    return {memory.text for memory in await facts(store, bank, **query)}


async def test_a_listed_memory_is_the_one_that_is_read(store: MemoryStore, bank: str) -> None:
    await retain(
        store,
        bank,
        "d",
        "The Ledgerline office opens at nine.",
        tags=("b", "a"),
        context="omo",
        metadata={"k": "v"},
    )
    listed = (await facts(store, bank))[0]
    read = await store.get_memory(bank, listed.id)
    # What only one of the two reads carries on a server.
    same = {"updated_at": None, "proof_count": None}
    assert msgspec.structs.replace(listed, **same) == msgspec.structs.replace(read, **same)
    assert (read.document_id, read.tags) == ("d", ("a", "b"))
    assert "Ledgerline" in read.entities


async def test_the_last_mentioned_is_first(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "new", "The lamp is green.", timestamp="2026-05-01T00:00:00Z")
    await retain(store, bank, "old", "The lamp is red.", timestamp="2026-04-01T00:00:00Z")
    assert [memory.text for memory in await facts(store, bank)] == ["The lamp is green.", "The lamp is red."]


async def test_facts_of_a_text_are_mentioned_in_its_order(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The gate opens at nine. It closes at five. The lamp is green.")
    in_order = sorted(await facts(store, bank), key=lambda memory: parse_time(memory.mentioned_at) or 0)
    assert [memory.text for memory in in_order] == [
        "The gate opens at nine.",
        "It closes at five.",
        "The lamp is green.",
    ]


async def test_pages_cover_the_listing_once(store: MemoryStore, bank: str) -> None:
    await store.retain(bank, [item(f"d{number}", f"Room {number} is open today.") for number in range(5)])
    pages = [
        await store.list_memories(bank, MemoryQuery(type="world", limit=2, offset=offset))
        for offset in (0, 2, 4)
    ]
    assert {page.total for page in pages} == {5}
    assert sorted(memory.text for page in pages for memory in page.items) == [
        f"Room {number} is open today." for number in range(5)
    ]


async def test_filters_by_document_type_and_tags(store: MemoryStore, bank: str) -> None:
    await store.retain(
        bank,
        [
            item("d", "The gate opens at nine. I painted the door today.", tags=("a",)),
            item("e", "The lamp is green."),
            item("%", "The roof is flat."),
        ],
    )
    assert await texts(store, bank, document_id="d") == {"The gate opens at nine."}
    assert await texts(store, bank, document_id="%") == {"The roof is flat."}
    assert await texts(store, bank, document_id="nope") == set()
    assert await texts(store, bank, type="experience") == {"I painted the door today."}
    assert await texts(store, bank, tags=("a",), tags_match="any_strict") == {"The gate opens at nine."}
    assert await texts(store, bank, tags=("a",)) == {
        "The gate opens at nine.",
        "The lamp is green.",
        "The roof is flat.",
    }
    assert await texts(store, bank, tags_match="exact") == {"The lamp is green.", "The roof is flat."}


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("GATE", {"The gate opens at nine."}),
        ("50%", {"It is 50% full now."}),
        ("%", {"It is 50% full now."}),
        ("0_x", {"The name is 0_x here."}),
        ("_", {"The name is 0_x here."}),
        ("%_", set()),
        ("back\\s", {"There is a back\\slash here."}),
        ("\\", {"There is a back\\slash here."}),
        ("nowhere", set()),
    ],
)
async def test_search_is_literal(store: MemoryStore, bank: str, q: str, found: set[str]) -> None:
    await store.retain(
        bank,
        [
            item("a", "The gate opens at nine."),
            item("b", "It is 50% full now."),
            item("c", "It is 501 full now."),
            item("d", "The name is 0_x here."),
            item("e", "The name is 01x here."),
            item("f", "There is a back\\slash here."),
        ],
    )
    page = await store.list_memories(bank, MemoryQuery(q=q, type="world", limit=100))
    assert {memory.text for memory in page.items} == found
    assert page.total == len(found)


async def test_literal_search_comes_in_pages(store: MemoryStore, bank: str) -> None:
    await store.retain(bank, [item(f"d{number}", f"Tank {number} is 50% full.") for number in range(5)])
    first = await store.list_memories(bank, MemoryQuery(q="50%", type="world", limit=3))
    rest = await store.list_memories(bank, MemoryQuery(q="50%", type="world", limit=3, offset=3))
    assert (first.total, len(first.items), len(rest.items)) == (5, 3, 2)
    assert len({memory.id for memory in (*first.items, *rest.items)}) == 5


async def test_an_unknown_state_is_refused(store: MemoryStore, bank: str) -> None:
    with pytest.raises(InvalidInput):
        await store.list_memories(bank, MemoryQuery(state="Valid"))


@pytest.mark.parametrize("memory_id", [NOWHERE, "list", "recall", "..", "x/../y", "", "nope"])
async def test_a_memory_that_is_not_there(store: MemoryStore, bank: str, memory_id: str) -> None:
    await retain(store, bank, "d", GATE)
    with pytest.raises(NotFound):
        await store.get_memory(bank, memory_id)
    with pytest.raises(NotFound):
        await store.curate_memory(bank, memory_id, Curation(state="invalidated"))
    assert len(await facts(store, bank)) == 2


async def test_a_fact_taken_back_is_kept_apart_with_its_reason(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE, tags=("t",))
    wrong = await fact(store, bank, "It closes at five.")
    after = await store.curate_memory(
        bank, wrong.id, Curation(state="invalidated", reason="it closes at six")
    )
    assert (after.id, after.state, after.invalidation_reason) == (wrong.id, "invalidated", "it closes at six")
    assert parse_time(after.invalidated_at) is not None
    assert await texts(store, bank) == {"The gate opens at nine."}
    archived = await facts(store, bank, state="invalidated")
    assert [(memory.id, memory.text, memory.invalidation_reason) for memory in archived] == [
        (wrong.id, "It closes at five.", "it closes at six")
    ]
    assert (await store.get_memory(bank, wrong.id)).state == "invalidated"
    document = await store.get_document(bank, "d")
    assert (document.memory_unit_count, document.original_text) == (1, GATE)
    recalled = await store.recall(bank, RecallRequest(query="closes at five"))
    assert wrong.id not in [result.id for result in recalled.results]


async def test_taking_back_again_only_changes_the_reason(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    for reason in ("first", "second"):
        await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason=reason))
    assert [memory.invalidation_reason for memory in await facts(store, bank, state="invalidated")] == [
        "second"
    ]


async def test_a_restored_fact_is_the_same_one(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="wrong"))
    back = await store.curate_memory(bank, wrong.id, Curation(state="valid"))
    assert (back.id, back.state, back.text) == (wrong.id, "valid", wrong.text)
    assert not back.invalidation_reason and not back.invalidated_at
    assert (await fact(store, bank, "It closes at five.")).id == wrong.id
    again = await store.curate_memory(bank, wrong.id, Curation(state="valid"))
    assert again.state == "valid"


async def test_an_edited_fact_keeps_its_id_and_says_when(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    after = await store.curate_memory(bank, wrong.id, Curation(text="It closes at six."))
    assert (after.id, after.text) == (wrong.id, "It closes at six.")
    assert parse_time(after.edited_at) is not None
    assert await texts(store, bank) == {"The gate opens at nine.", "It closes at six."}
    recalled = await store.recall(bank, RecallRequest(query="closes at six"))
    assert "It closes at six." in [result.text for result in recalled.results]
    await retain(store, bank, "d", GATE)
    assert "It closes at six." in await texts(store, bank)


async def test_context_dates_entities_and_type_can_be_edited(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "Ledgerline opens at nine.", context="omo")
    memory = await fact(store, bank, "Ledgerline opens at nine.")
    after = await store.curate_memory(
        bank,
        memory.id,
        Curation(
            context="review",
            occurred_start="2026-01-02T03:04:05Z",
            entities=("Cashbook", "Atlas"),
            fact_type="experience",
        ),
    )
    assert (after.context, after.fact_type) == ("review", "experience")
    assert sorted(after.entities) == ["Atlas", "Cashbook"]
    assert parse_time(after.occurred_start) == parse_time("2026-01-02T03:04:05Z")
    cleared = await store.curate_memory(bank, memory.id, Curation(context="", occurred_start="", entities=()))
    assert (cleared.context, cleared.occurred_start, cleared.entities) == (None, None, ())


async def test_edit_and_take_back_in_one(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    after = await store.curate_memory(
        bank, wrong.id, Curation(text="It closes at six.", state="invalidated", reason="unsure")
    )
    assert (after.text, after.state) == ("It closes at six.", "invalidated")


async def test_an_archived_fact_is_not_edited(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="wrong"))
    with pytest.raises((Conflict, InvalidInput)):
        await store.curate_memory(bank, wrong.id, Curation(text="It closes at six."))
    assert (await store.get_memory(bank, wrong.id)).text == "It closes at five."


@pytest.mark.parametrize(
    "curation",
    [
        Curation(),
        Curation(reason="alone"),
        Curation(state="valid", reason="with the wrong state"),
        Curation(state="gone"),
        Curation(text="  "),
        Curation(fact_type="observation"),
        Curation(occurred_start="yesterday or so"),
    ],
    ids=repr,
)
async def test_a_curation_that_makes_no_sense_changes_nothing(
    store: MemoryStore, bank: str, curation: Curation
) -> None:
    await retain(store, bank, "d", GATE)
    memory = await fact(store, bank, "It closes at five.")
    with pytest.raises(InvalidInput):
        await store.curate_memory(bank, memory.id, curation)
    assert await fact(store, bank, "It closes at five.") == memory

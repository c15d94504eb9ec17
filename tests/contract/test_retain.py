"""Retain: replace is the whole new state, append adds, nothing is lost or joined by accident."""

from __future__ import annotations

import hashlib

import pytest

from console.memory.errors import Conflict, InvalidInput
from console.memory.models import Curation, EntityInput, parse_time
from console.memory.store import MemoryStore
from tests.contract.conftest import forget
from tests.contract.differences import expected
from tests.contract.helpers import document_ids, fact, facts, item, retain

GATE = "The gate opens at nine. It closes at five."


async def test_a_retained_text_is_a_document_with_facts(store: MemoryStore, bank: str) -> None:
    answer = await store.retain(
        bank, [item("d", GATE, tags=("b", "a"), context="omo", metadata={"session_id": "s1"})]
    )
    assert (answer.success, answer.items_count, answer.document_ids) == (True, 1, ("d",))
    document = await store.get_document(bank, "d")
    assert document.original_text == GATE
    assert document.content_hash == hashlib.sha256(GATE.encode()).hexdigest()
    assert (document.tags, document.document_metadata) == (("a", "b"), {"session_id": "s1"})
    assert document.retain_params is not None and document.retain_params["context"] == "omo"
    assert document.memory_unit_count == 2
    found = await facts(store, bank)
    assert {memory.text for memory in found} == {"The gate opens at nine.", "It closes at five."}
    for memory in found:
        assert (memory.document_id, memory.tags, memory.context) == ("d", ("a", "b"), "omo")
        assert (memory.metadata, memory.state, memory.fact_type) == ({"session_id": "s1"}, "valid", "world")


async def test_the_bank_is_created_when_missing(store: MemoryStore, bank_id: str) -> None:
    try:
        await retain(store, bank_id, "d", GATE)
        assert (await store.get_bank(bank_id)).fact_count == 2
    finally:
        await forget(store, bank_id)


@pytest.mark.parametrize(
    ("case", "sent", "stored"),
    [
        ("carriage returns", "One line here.\r\nTwo lines here.\r\n", None),
        ("blanks at both ends", "  The gate opens at nine.\n\n  ", None),
        ("byte order mark", "\ufeffThe gate opens at nine.", None),
        ("decomposed", "Cafe\u0301 opens at nine sharp.", None),
        ("emoji and CJK", "團隊使用 PostgreSQL 🐘 作為資料庫。", None),
        ("zero width", "The\u200bgate opens at nine.", None),
        ("NUL and controls", "The\x00 gate\x01 opens\x0b at\x0c nine.", "The gate opens at nine."),
        ("lone surrogate", "The gate\ud800 opens at nine.", "The gate opens at nine."),
    ],
)
async def test_text_is_kept_as_sent_but_for_what_no_store_keeps(
    store: MemoryStore, bank: str, case: str, sent: str, stored: str | None
) -> None:
    await retain(store, bank, "d", sent)
    document = await store.get_document(bank, "d")
    assert document.original_text == (sent if stored is None else stored)
    assert document.content_hash == hashlib.sha256((document.original_text or "").encode()).hexdigest()


async def test_identical_again_keeps_creation_and_memory_ids(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE, tags=("t",))
    first, ids = await store.get_document(bank, "d"), {memory.id for memory in await facts(store, bank)}
    await retain(store, bank, "d", GATE, tags=("t",))
    again = await store.get_document(bank, "d")
    assert (again.created_at, again.content_hash) == (first.created_at, first.content_hash)
    assert {memory.id for memory in await facts(store, bank)} == ids


async def test_replacing_with_other_text_replaces_the_facts(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    created = (await store.get_document(bank, "d")).created_at
    await retain(store, bank, "d", "The gate opens at ten.")
    document = await store.get_document(bank, "d")
    assert (document.original_text, document.created_at) == ("The gate opens at ten.", created)
    assert [memory.text for memory in await facts(store, bank)] == ["The gate opens at ten."]


async def test_updated_at_moves_with_each_retain(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    first = parse_time((await store.get_document(bank, "d")).updated_at)
    await retain(store, bank, "d", "The gate opens at ten.")
    second = parse_time((await store.get_document(bank, "d")).updated_at)
    assert first is not None and second is not None and first < second


async def test_what_is_left_out_is_cleared(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE, tags=("t",), metadata={"k": "v"}, context="omo")
    await retain(store, bank, "d", GATE)
    document = await store.get_document(bank, "d")
    assert (document.tags, document.document_metadata) == ((), None)
    assert "context" not in (document.retain_params or {}) or document.retain_params["context"] is None
    assert {(memory.tags, memory.metadata) for memory in await facts(store, bank)} == {((), None)}


async def test_other_tags_and_metadata_reach_the_memories_under_the_same_ids(
    store: MemoryStore, bank: str
) -> None:
    await retain(store, bank, "d", GATE, tags=("old",), metadata={"k": "1"})
    ids = {memory.id for memory in await facts(store, bank)}
    await retain(store, bank, "d", GATE, tags=("new",), metadata={"k": "2"})
    found = await facts(store, bank)
    assert {memory.id for memory in found} == ids
    assert {(memory.tags, (memory.metadata or {}).get("k")) for memory in found} == {(("new",), "2")}


async def test_append_adds_a_line_and_states_the_fields_anew(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The gate opens at nine.", tags=("t",), metadata={"k": "v"})
    await retain(store, bank, "d", "It closes at five.", update_mode="append")
    document = await store.get_document(bank, "d")
    assert document.original_text == "The gate opens at nine.\nIt closes at five."
    assert (document.tags, document.document_metadata) == ((), None)
    assert {memory.text for memory in await facts(store, bank)} == {
        "The gate opens at nine.",
        "It closes at five.",
    }


async def test_append_to_a_missing_document_makes_it(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The gate opens at nine.", update_mode="append")
    assert (await store.get_document(bank, "d")).original_text == "The gate opens at nine."


async def test_texts_for_one_document_in_one_call_are_joined(store: MemoryStore, bank: str) -> None:
    await store.retain(
        bank,
        [
            item("d", "The gate opens at nine."),
            item("e", "The lamp is green."),
            item("d", "It closes at five."),
        ],
    )
    assert (
        await store.get_document(bank, "d")
    ).original_text == "The gate opens at nine.\nIt closes at five."
    assert (await store.get_document(bank, "e")).original_text == "The lamp is green."


async def test_many_items_are_all_stored_and_reported(store: MemoryStore, bank: str) -> None:
    heard: list[int] = []
    items = [item(f"d{number:03}", f"Room number {number} has a door.") for number in range(70)]
    answer = await store.retain(bank, items, progress=heard.append)
    assert answer.items_count == 70
    assert heard == sorted(heard) and heard[-1] == 70
    assert sorted(await document_ids(store, bank)) == [f"d{number:03}" for number in range(70)]


async def test_nothing_to_retain_is_no_error(store: MemoryStore, bank: str) -> None:
    assert (await store.retain(bank, [])).items_count == 0


async def test_a_timestamp_dates_the_facts(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The gate opens at nine.", timestamp="2026-03-04T05:06:07+02:00")
    memory = (await facts(store, bank))[0]
    assert parse_time(memory.mentioned_at) == parse_time("2026-03-04T03:06:07Z")
    params = (await store.get_document(bank, "d")).retain_params or {}
    assert parse_time(params["event_date"]) == parse_time("2026-03-04T03:06:07Z")


async def test_an_unset_timestamp_is_remembered_as_none(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", "The gate opens at nine.", timestamp="unset")
    params = (await store.get_document(bank, "d")).retain_params or {}
    assert "event_date" in params and params["event_date"] is None


async def test_entities_given_with_a_text(store: MemoryStore, bank: str, kind: str) -> None:
    given = (EntityInput(text="ledger line"),)
    await retain(store, bank, "d", "The ledger line opens at nine. It closes at five.", entities=given)
    assert "ledger line" in (await fact(store, bank, "The ledger line opens at nine.")).entities
    other = (await fact(store, bank, "It closes at five.")).entities
    where = "on every fact" if "ledger line" in other else "on the facts that name them"
    assert where == expected("entities given with a text", kind)


@pytest.mark.parametrize(
    "bad",
    [
        {"content": ""},
        {"content": " \n\t "},
        {"document_id": ""},
        {"timestamp": "yesterday or so"},
        {"update_mode": "merge"},
        {"document_id": "a\x00b"},
        {"document_id": "a\ud800b"},
    ],
    ids=str,
)
async def test_bad_items_are_refused_and_nothing_is_stored(
    store: MemoryStore, bank: str, bad: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput):
        await store.retain(
            bank, [item("good", "The lamp is green."), item(**({"document_id": "d", "content": GATE} | bad))]
        )
    assert await document_ids(store, bank) == []


async def test_a_fact_that_was_taken_back_and_whose_text_grows(
    store: MemoryStore, bank: str, kind: str
) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="it closes at six"))
    await retain(store, bank, "d", f"{GATE} The lamp is green.")
    live = {memory.text for memory in await facts(store, bank)}
    back = "is live again under another id" if "It closes at five." in live else "stays taken back"
    assert back == expected("a taken back fact whose text grows", kind)
    assert {"The gate opens at nine.", "The lamp is green."} <= live


async def test_an_identical_retain_keeps_a_fact_taken_back(store: MemoryStore, bank: str) -> None:
    await retain(store, bank, "d", GATE)
    wrong = await fact(store, bank, "It closes at five.")
    await store.curate_memory(bank, wrong.id, Curation(state="invalidated", reason="wrong"))
    await retain(store, bank, "d", GATE)
    assert [memory.text for memory in await facts(store, bank)] == ["The gate opens at nine."]
    assert [memory.id for memory in await facts(store, bank, state="invalidated")] == [wrong.id]


async def test_one_document_twice_in_a_background_retain(store: MemoryStore, bank: str, kind: str) -> None:
    items = [item("d", "The gate opens at nine."), item("d", "It closes at five.")]
    try:
        await store.retain(bank, items, background=True)
        outcome = "joined"
    except InvalidInput:
        outcome = "refused"
        assert await document_ids(store, bank) == []
    assert outcome == expected("one document twice in a background retain", kind)


async def test_an_operation_id_used_again_for_other_texts(store: MemoryStore, bank: str, kind: str) -> None:
    operation_id = "3f0c1a52-5a0e-4c5e-9d1e-" + bank[-12:]
    first = await store.retain(bank, [item("d", GATE)], background=True, operation_id=operation_id)
    assert first.operation_id is not None
    await store.wait_operation(bank, first.operation_id)
    again = await store.retain(bank, [item("d", GATE)], background=True, operation_id=operation_id)
    assert again.operation_id == first.operation_id
    try:
        await store.retain(
            bank, [item("e", "The lamp is green.")], background=True, operation_id=operation_id
        )
        outcome = "answered as the first, the texts are dropped"
    except Conflict:
        outcome = "refused"
    assert outcome == expected("an operation id used again for other texts", kind)
    assert await document_ids(store, bank) == ["d"]


async def test_an_operation_id_must_be_a_uuid(store: MemoryStore, bank: str) -> None:
    with pytest.raises(InvalidInput):
        await store.retain(bank, [item("d", GATE)], background=True, operation_id="today")

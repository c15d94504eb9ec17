"""What retaining again does: the server's semantics, and the one where this store is safer."""

from __future__ import annotations

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.errors import Conflict, InvalidInput, NotFound, StoreError, Unsupported
from console.memory.models import (
    Curation,
    DocumentQuery,
    Memory,
    MemoryQuery,
    RecallRequest,
    ReflectRequest,
    RetainItem,
)

TEXT = "The queue runs on Redis. Reconciliation takes forty minutes."
LONG = "\n\n".join(
    f"Paragraph {number} says that service {number} owns table {number}." for number in range(150)
)


async def memories(store: EmbeddedStore, state: str = "valid") -> dict[str, Memory]:
    page = await store.list_memories("b", MemoryQuery(state=state, limit=1000))
    return {memory.text: memory for memory in page.items}


async def retain(store: EmbeddedStore, content: str, **fields: object) -> None:
    await store.retain("b", [RetainItem(content=content, document_id="d", **fields)])  # type: ignore[arg-type]


async def test_replace_is_a_full_statement_of_state(store: EmbeddedStore) -> None:
    await retain(
        store, TEXT, tags=("b", "a", "b"), context="c", metadata={"k": "v"}, timestamp="2026-11-21T09:00:00Z"
    )
    first = await store.get_document("b", "d")
    assert (first.tags, first.document_metadata) == (("a", "b"), {"k": "v"})
    assert first.retain_params == {
        "context": "c",
        "metadata": {"k": "v"},
        "event_date": "2026-11-21T09:00:00+00:00",
    }
    before = await memories(store)
    await retain(store, TEXT)
    second, after = await store.get_document("b", "d"), await memories(store)
    assert (second.tags, second.document_metadata) == ((), None)
    assert second.created_at == first.created_at and second.updated_at != first.updated_at
    assert {text: memory.id for text, memory in after.items()} == {
        text: memory.id for text, memory in before.items()
    }
    kept = after["The queue runs on Redis."]
    assert (kept.tags, kept.metadata) == ((), None)
    assert (kept.context, kept.mentioned_at) == (
        "c",
        "2026-11-21T09:00:00+00:00",
    )  # of when it was first said


async def test_an_identical_retain_touches_no_memory(store: EmbeddedStore) -> None:
    await retain(store, TEXT, tags=("a",), timestamp="2026-11-21T09:00:00Z")
    before = await memories(store)
    await retain(store, TEXT, tags=("a",), timestamp="2026-11-21T09:00:00Z")
    assert await memories(store) == before


async def test_facts_that_stay_keep_their_ids_wherever_they_move(store: EmbeddedStore) -> None:
    await retain(store, LONG)
    before = await memories(store)
    await retain(store, "A new opening is here.\n\n" + LONG.replace("service 77 owns", "service 77 lost"))
    after = await memories(store)
    changed = {text for text in before if "77 owns" in text}
    assert {text: after[text].id for text in before.keys() - changed} == {
        text: before[text].id for text in before.keys() - changed
    }
    assert len(after) == len(before) + 1 and not changed & after.keys()


async def test_append_joins_with_a_newline_and_makes_a_missing_document(store: EmbeddedStore) -> None:
    await retain(store, "The first is here.", update_mode="append", tags=("a",))
    await retain(store, "The second is there.", update_mode="append")
    document = await store.get_document("b", "d")
    assert document.original_text == "The first is here.\nThe second is there."
    assert document.tags == ()


async def test_items_that_share_an_id_are_one_document(store: EmbeddedStore) -> None:
    items = [
        RetainItem(content=text, document_id="d") for text in ("The first is here.", "The second is there.")
    ]
    answer = await store.retain("b", items)
    assert (answer.items_count, answer.document_ids) == (2, ("d", "d"))
    document = await store.get_document("b", "d")
    assert document.original_text == "The first is here.\nThe second is there."


async def test_a_repeat_inside_a_document_is_proof_and_in_another_document_a_row(
    store: EmbeddedStore,
) -> None:
    await retain(store, "The port is 5434.\n\nAgain: it moved.\n\nThe port is 5434.")
    await store.retain("b", [RetainItem(content="The port is 5434.", document_id="other")])
    page = await store.list_memories("b", MemoryQuery(q="port is 5434"))
    assert sorted((memory.document_id, memory.proof_count) for memory in page.items) == [
        ("d", 2),
        ("other", 1),
    ]


@pytest.mark.parametrize(
    "again",
    [TEXT + "\nMore was said about it.", "Quite another text is here.", TEXT],
    ids=["grown", "gone and back", "identical"],
)
async def test_a_fact_that_was_taken_back_stays_taken_back(store: EmbeddedStore, again: str) -> None:
    await retain(store, TEXT)
    wrong = (await memories(store))["The queue runs on Redis."]
    await store.curate_memory("b", wrong.id, Curation(state="invalidated", reason="it is NATS"))
    await retain(store, again)
    await retain(store, TEXT)
    assert "The queue runs on Redis." not in await memories(store)
    still = (await memories(store, "invalidated"))["The queue runs on Redis."]
    assert (still.id, still.invalidation_reason) == (wrong.id, "it is NATS")


async def test_an_edited_fact_stays_edited_when_its_sentence_comes_back(store: EmbeddedStore) -> None:
    await retain(store, TEXT)
    wrong = (await memories(store))["The queue runs on Redis."]
    await store.curate_memory("b", wrong.id, Curation(text="The queue runs on NATS."))
    await retain(store, "Quite another text is here.")
    assert list(await memories(store)) == ["Quite another text is here."]
    with pytest.raises(NotFound):
        await store.get_memory("b", wrong.id)
    await retain(store, TEXT)
    live = await memories(store)
    assert live["The queue runs on NATS."].id == wrong.id
    assert "The queue runs on Redis." not in live
    answer = await store.recall("b", RecallRequest(query="queue"))
    assert answer.results[0].text == "The queue runs on NATS."


async def test_restore_gives_the_same_memory_back(store: EmbeddedStore) -> None:
    await retain(store, TEXT)
    before = (await memories(store))["The queue runs on Redis."]
    await store.curate_memory("b", before.id, Curation(state="invalidated", reason="no"))
    assert (await store.get_document("b", "d")).memory_unit_count == 1
    assert not (await store.recall("b", RecallRequest(query="Redis"))).results
    assert await store.curate_memory("b", before.id, Curation(state="valid")) == before
    assert (await store.recall("b", RecallRequest(query="Redis"))).results


async def test_reading_order_is_the_order_of_mentioned_at(store: EmbeddedStore) -> None:
    await retain(store, LONG, timestamp="2026-11-21T09:00:00Z")
    page = await store.list_memories("b", MemoryQuery(limit=1000))
    assert [memory.text for memory in reversed(page.items)] == LONG.split("\n\n")
    assert page.items[-1].mentioned_at == "2026-11-21T09:00:00+00:00"
    assert page.items[-2].mentioned_at == "2026-11-21T09:00:00.010000+00:00"


async def test_an_unset_time_is_no_time(store: EmbeddedStore) -> None:
    await retain(store, TEXT, timestamp="unset")
    assert (await store.get_document("b", "d")).retain_params == {"event_date": None}
    assert {memory.mentioned_at for memory in (await memories(store)).values()} == {None}


async def test_the_last_moment_of_the_calendar_can_be_shown(store: EmbeddedStore) -> None:
    await retain(store, LONG, timestamp="9999-12-31T23:59:59.99Z")
    assert len(await memories(store)) == 150


async def test_chunks_are_named_after_bank_document_and_place(store: EmbeddedStore) -> None:
    await retain(store, LONG)
    page = await store.list_chunks("b", "d")
    assert [chunk.chunk_id for chunk in page.items] == [f"b_d_{index}" for index in range(page.total)]
    assert "".join(chunk.chunk_text for chunk in page.items) == LONG
    assert {memory.chunk_id for memory in (await memories(store)).values()} == {
        c.chunk_id for c in page.items
    }


async def test_tags_reach_live_memories_only(store: EmbeddedStore) -> None:
    await retain(store, TEXT, tags=("old",))
    archived = (await memories(store))["The queue runs on Redis."]
    await store.curate_memory("b", archived.id, Curation(state="invalidated"))
    await store.set_document_tags("b", "d", ["z", "a"])
    assert (await store.get_document("b", "d")).tags == ("a", "z")
    assert (await memories(store))["Reconciliation takes forty minutes."].tags == ("a", "z")
    assert (await store.get_memory("b", archived.id)).tags == ("old",)


async def test_deleting_takes_everything_and_counts_the_live(store: EmbeddedStore) -> None:
    await retain(store, TEXT)
    archived = (await memories(store))["The queue runs on Redis."]
    await store.curate_memory("b", archived.id, Curation(state="invalidated"))
    assert await store.delete_document("b", "d") == 1
    assert not await memories(store, "invalidated")
    with pytest.raises(NotFound):
        await store.get_memory("b", archived.id)
    with pytest.raises(NotFound):
        await store.delete_document("b", "d")


async def test_a_bank_made_again_is_another_bank(store: EmbeddedStore) -> None:
    await retain(store, TEXT)
    before = await store.bank_identity("b")
    assert before.startswith("uuid:")
    assert await store.bank_identity("b") == before
    assert await store.delete_bank("b") == 3
    await retain(store, TEXT)
    assert await store.bank_identity("b") != before


REFUSED_ITEMS: dict[str, dict[str, object]] = {
    "empty": {"content": ""},
    "blank": {"content": " \n\t"},
    "nothing but NUL": {"content": "\x00\x01"},
    "no id": {"document_id": ""},
    "an id with a surrogate": {"document_id": "\ud800"},
    "a number as metadata": {"metadata": {"k": 1}},
    "a bad time": {"timestamp": "yesterday"},
    "a bad mode": {"update_mode": "prepend"},
    "a number as tag": {"tags": (1,)},
}


@pytest.mark.parametrize("fields", REFUSED_ITEMS.values(), ids=REFUSED_ITEMS)
async def test_a_bad_item_is_refused_and_nothing_of_its_call_is_stored(
    store: EmbeddedStore, fields: dict[str, object]
) -> None:
    good = RetainItem(content=TEXT, document_id="good")
    bad = RetainItem(**{"content": TEXT, "document_id": "bad", **fields})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await store.retain("b", [good, bad])
    assert (await store.list_banks()).total == 0


HOSTILE_IDS = [
    "..",
    ".",
    "a/../b",
    "../../other",
    "x/history",
    "x" * 400,
    "a\nb",
    "👩‍👩‍👧",
    "CASE",
    "case",
    "%41",
    "' OR 1=1 --",
    "é",
    "e\u0301",
]


async def test_hostile_ids_reach_themselves_only(store: EmbeddedStore) -> None:
    await store.retain(
        "b",
        [
            RetainItem(content=f"The id of it is number {n}.", document_id=i)
            for n, i in enumerate(HOSTILE_IDS)
        ],
    )
    for number, document_id in enumerate(HOSTILE_IDS):
        document = await store.get_document("b", document_id)
        assert (document.id, document.original_text) == (document_id, f"The id of it is number {number}.")
    for left, document_id in enumerate(HOSTILE_IDS, start=1):
        await store.delete_document("b", document_id)
        assert (await store.list_documents("b")).total == len(HOSTILE_IDS) - left


CURATIONS_REFUSED: dict[str, tuple[Curation, type[StoreError]]] = {
    "nothing": (Curation(), InvalidInput),
    "empty text": (Curation(text=" "), InvalidInput),
    "bad state": (Curation(state="gone"), InvalidInput),
    "bad type": (Curation(fact_type="observation"), InvalidInput),
    "bad date": (Curation(occurred_start="soon"), InvalidInput),
    "a reason alone": (Curation(reason="because"), InvalidInput),
}


@pytest.mark.parametrize(("curation", "error"), CURATIONS_REFUSED.values(), ids=CURATIONS_REFUSED)
async def test_a_bad_curation_is_refused(
    store: EmbeddedStore, curation: Curation, error: type[StoreError]
) -> None:
    await retain(store, TEXT)
    before = await memories(store)
    with pytest.raises(error):
        await store.curate_memory("b", before["The queue runs on Redis."].id, curation)
    assert await memories(store) == before


async def test_an_archived_memory_cannot_be_edited(store: EmbeddedStore) -> None:
    await retain(store, TEXT)
    memory = (await memories(store))["The queue runs on Redis."]
    await store.curate_memory("b", memory.id, Curation(state="invalidated"))
    with pytest.raises(Conflict):
        await store.curate_memory("b", memory.id, Curation(text="Something else is said."))


async def test_an_edit_changes_what_is_given_and_clears_what_is_empty(store: EmbeddedStore) -> None:
    await retain(store, TEXT, context="c")
    memory = (await memories(store))["The queue runs on Redis."]
    edited = await store.curate_memory(
        "b",
        memory.id,
        Curation(
            text="It runs on NATS.",
            context="",
            occurred_start="2026-01-02",
            entities=("NATS", "nats", "Redis"),
        ),
    )
    assert (edited.text, edited.context, edited.entities) == ("It runs on NATS.", None, ("NATS", "Redis"))
    assert edited.occurred_start == edited.date == "2026-01-02T00:00:00+00:00"
    assert edited.edited_at is not None and edited.mentioned_at == memory.mentioned_at
    assert (await store.curate_memory("b", memory.id, Curation(occurred_start=""))).occurred_start is None


async def test_reflect_quotes_cites_and_says_that_it_does(store: EmbeddedStore) -> None:
    await retain(store, TEXT, timestamp="2026-11-21T09:00:00Z")
    answer = await store.reflect("b", ReflectRequest(query="What does the queue run on?"))
    assert answer.extractive and "without a model" in answer.text
    assert answer.based_on is not None
    best = answer.based_on.memories[0]
    assert f"{best.text} [1]" in answer.text and f"1. d: memory `{best.id}`, 2026-11-21" in answer.text
    nothing = await store.reflect("b", ReflectRequest(query="zebra"))
    assert nothing.extractive and nothing.text.startswith("The bank holds nothing about this.")


async def test_reflect_keeps_bank_text_from_acting_as_markdown(store: EmbeddedStore) -> None:
    await retain(store, "The <b>bold</b> [link](http://x.example) queue is here.")
    answer = await store.reflect("b", ReflectRequest(query="queue"))
    assert "<b>" not in answer.text.replace("\\<b\\>", "") and "[link](" not in answer.text


async def test_a_structured_answer_needs_a_model(store: EmbeddedStore) -> None:
    await retain(store, TEXT)
    with pytest.raises(Unsupported):
        await store.reflect("b", ReflectRequest(query="queue", response_schema={"type": "object"}))


OPERATION = "7a71d2fa-aad1-47bf-8495-661d674c145e"


async def test_a_background_retain_is_a_completed_operation(store: EmbeddedStore) -> None:
    item = RetainItem(content=TEXT, document_id="d")
    answer = await store.retain("b", [item], background=True, operation_id=OPERATION)
    assert answer.operation_id == OPERATION
    operation = await store.wait_operation("b", OPERATION)
    assert (operation.status, operation.document_ids) == ("completed", ("d",))
    before = await store.get_document("b", "d")
    await store.retain("b", [item], background=True, operation_id=OPERATION)
    assert await store.get_document("b", "d") == before
    with pytest.raises(Conflict):
        await store.retain(
            "b", [RetainItem(content="Another text is here.", document_id="d")], operation_id=OPERATION
        )
    assert (await store.list_operations("b", status="completed")).total == 1
    assert (await store.list_operations("b", status="failed")).total == 0


async def test_progress_hears_of_every_batch_and_of_the_end(store: EmbeddedStore) -> None:
    heard: list[int] = []
    items = [RetainItem(content=f"Note {n} is about this.", document_id=f"n{n}") for n in range(600)]
    await store.retain("b", items, progress=heard.append)
    assert heard == sorted(heard) and heard[-1] == 600 and len(heard) > 1


async def test_export_gives_documents_with_text_and_live_facts(store: EmbeddedStore) -> None:
    await store.retain(
        "b",
        [RetainItem(content=f"Note {n} is about this. It has two.", document_id=f"n{n}") for n in range(450)],
    )
    gone = (await store.list_memories("b", MemoryQuery(document_id="n7", q="two"))).items[0]
    await store.curate_memory("b", gone.id, Curation(state="invalidated"))
    archived = {one.document.id: one async for one in store.export_documents("b")}
    assert len(archived) == 450
    assert [fact.text for fact in archived["n7"].facts] == ["Note 7 is about this."]
    assert archived["n8"].document == await store.get_document("b", "n8")
    some = [one.document.id async for one in store.export_documents("b", ["n9", "missing", "\ud800", "n1"])]
    assert sorted(some) == ["n1", "n9"]


FILTERS: dict[str, tuple[DocumentQuery, list[str]]] = {
    "any of": (DocumentQuery(tags=("a", "b"), tags_match="any"), ["d0", "d1", "d2", "d3"]),
    "all of": (DocumentQuery(tags=("a", "b"), tags_match="all"), ["d0", "d3"]),
    "any, strictly": (DocumentQuery(tags=("a",), tags_match="any_strict"), ["d1", "d3"]),
    "all, strictly": (DocumentQuery(tags=("a", "b"), tags_match="all_strict"), ["d3"]),
    "exactly": (DocumentQuery(tags=("b",), tags_match="exact"), ["d2"]),
    "exactly none": (DocumentQuery(tags_match="exact"), ["d0"]),
    "no tags asked": (DocumentQuery(), ["d0", "d1", "d2", "d3"]),
    "case counts": (DocumentQuery(tags=("A",)), []),
    "in the text, any case": (DocumentQuery(q="TEXT OF d1"), ["d1"]),
    "in the id": (DocumentQuery(q="D2"), ["d2"]),
    "a percent is a percent": (DocumentQuery(q="100%"), ["d3"]),
    "an underscore is one": (DocumentQuery(q="d_"), []),
    "not ASCII": (DocumentQuery(q="É"), ["d3"]),
    "a quote is a quote": (DocumentQuery(q="'"), []),
}


@pytest.mark.parametrize(("query", "expected"), FILTERS.values(), ids=FILTERS)
async def test_document_filters(store: EmbeddedStore, query: DocumentQuery, expected: list[str]) -> None:
    tags = ((), ("a",), ("b",), ("a", "b"))
    texts = [f"The text of d{n} is here." + (" 100% é" if n == 3 else "") for n in range(4)]
    await store.retain(
        "b", [RetainItem(content=texts[n], document_id=f"d{n}", tags=tags[n]) for n in range(4)]
    )
    page = await store.list_documents("b", query)
    assert sorted(item.id for item in page.items) == expected
    assert page.total == len(expected)


async def test_a_window_takes_its_start_and_leaves_its_end(store: EmbeddedStore) -> None:
    for name in ("d0", "d1", "d2"):
        await store.retain("b", [RetainItem(content=TEXT, document_id=name)])
    newest = (await store.list_documents("b", DocumentQuery(time_field="created_at"))).items
    assert [item.id for item in newest] == ["d2", "d1", "d0"]
    window = DocumentQuery(
        time_field="created_at", start_date=newest[2].created_at, end_date=newest[0].created_at
    )
    assert [item.id for item in (await store.list_documents("b", window)).items] == ["d1", "d0"]
    page = await store.list_documents("b", DocumentQuery(limit=0))
    assert (page.items, page.total) == ((), 3)


@pytest.mark.parametrize(
    "query",
    [
        DocumentQuery(limit=-1),
        DocumentQuery(offset=-1),
        DocumentQuery(tags_match="some"),
        DocumentQuery(time_field="text"),
        DocumentQuery(start_date="soon"),
        DocumentQuery(start_date="2026-01-02", end_date="2026-01-01"),
    ],
)
async def test_a_bad_listing_is_refused(store: EmbeddedStore, query: DocumentQuery) -> None:
    await store.create_bank("b")
    with pytest.raises(InvalidInput):
        await store.list_documents("b", query)


async def test_entities_can_be_filtered_by_the_id_that_recall_gives(store: EmbeddedStore) -> None:
    await retain(store, "We asked Maria Lopez about it. Nobody asked Ana.")
    answer = await store.recall("b", RecallRequest(query="asked", include_entities=True))
    assert answer.entities is not None
    page = await store.list_memories("b", MemoryQuery(entity_id=answer.entities["Maria Lopez"]["entity_id"]))
    assert [memory.text for memory in page.items] == ["We asked Maria Lopez about it."]

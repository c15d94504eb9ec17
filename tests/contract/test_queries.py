"""Recall and reflect: what is found, how it is narrowed, and what is said about it."""

from __future__ import annotations

import pytest

from console.memory.errors import InvalidInput
from console.memory.models import RecallRequest, ReflectRequest
from console.memory.store import Capability, MemoryStore
from tests.contract.differences import expected
from tests.contract.helpers import item


@pytest.fixture
async def office(store: MemoryStore, bank: str) -> str:
    await store.retain(
        bank,
        [
            item(
                "gate",
                "The gate opens at nine in the morning.",
                tags=("site",),
                context="omo",
                metadata={"k": "v"},
            ),
            item("lamp", "The lamp in the hall is green.", tags=("hall",)),
            item("db", "Ledgerline stores its invoices in Postgres."),
            item("work", "I repaired the gate on Monday."),
        ],
    )
    return bank


async def recalled(store: MemoryStore, bank: str, query: str, **fields: object) -> list[str | None]:
    fields = {"types": ("world", "experience")} | fields
    answer = await store.recall(bank, RecallRequest(query=query, **fields))  # type: ignore[arg-type]
    return [result.document_id for result in answer.results]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("when does the gate open in the morning", "gate"),
        ("lamp in the hall", "lamp"),
        ("Ledgerline invoices Postgres", "db"),
    ],
)
async def test_the_best_answer_is_first(store: MemoryStore, office: str, query: str, first: str) -> None:
    assert (await recalled(store, office, query))[0] == first


async def test_a_result_carries_what_its_memory_carries(store: MemoryStore, office: str) -> None:
    answer = await store.recall(office, RecallRequest(query="gate opens nine morning", types=("world",)))
    result = answer.results[0]
    memory = await store.get_memory(office, result.id)
    assert (result.text, result.type, result.document_id) == (
        memory.text,
        memory.fact_type,
        memory.document_id,
    )
    assert (result.context, result.tags, result.metadata) == ("omo", ("site",), {"k": "v"})
    assert (result.chunk_id, result.mentioned_at) == (memory.chunk_id, memory.mentioned_at)
    assert result.scores is not None and result.scores["final"] is not None


async def test_recall_narrows_by_type(store: MemoryStore, office: str) -> None:
    assert set(await recalled(store, office, "gate", types=("experience",))) == {"work"}
    assert "work" not in await recalled(store, office, "gate", types=("world",))


async def test_recall_narrows_by_tags(store: MemoryStore, office: str) -> None:
    query = "gate lamp Ledgerline"
    assert set(await recalled(store, office, query, tags=("site",), tags_match="any_strict")) == {"gate"}
    assert "lamp" not in await recalled(store, office, query, tags=("site",))
    assert set(await recalled(store, office, query, tags=("hall",), tags_match="exact")) == {"lamp"}


async def test_recall_is_bounded_by_tokens(store: MemoryStore, office: str) -> None:
    everything = await recalled(store, office, "gate lamp Ledgerline Monday")
    assert len(await recalled(store, office, "gate lamp Ledgerline Monday", max_tokens=10)) < len(everything)


async def test_chunks_come_when_asked_for(store: MemoryStore, office: str) -> None:
    plain = await store.recall(office, RecallRequest(query="gate opens nine"))
    assert not plain.chunks
    answer = await store.recall(
        office, RecallRequest(query="gate opens nine", types=("world",), include_chunks=True)
    )
    chunk_id = answer.results[0].chunk_id
    assert answer.chunks is not None and chunk_id is not None
    assert "The gate opens at nine" in str(answer.chunks[chunk_id])


async def test_a_trace_says_what_was_done_and_holds_no_vectors(store: MemoryStore, office: str) -> None:
    assert (await store.recall(office, RecallRequest(query="gate"))).trace is None
    trace = (await store.recall(office, RecallRequest(query="gate opens", trace=True))).trace
    assert trace
    assert "'query_embedding':" not in str(trace)


async def test_nothing_to_recall_is_no_error(store: MemoryStore, bank: str) -> None:
    assert (await store.recall(bank, RecallRequest(query="gate"))).results == ()


@pytest.mark.parametrize(
    "request_",
    [
        RecallRequest(query=""),
        RecallRequest(query="!!! ???"),
        RecallRequest(query="gate", budget="huge"),
        RecallRequest(query="gate", types=("rumour",)),
        RecallRequest(query="gate", tags_match="some"),
    ],
    ids=repr,
)
async def test_a_recall_that_makes_no_sense_is_refused(
    store: MemoryStore, office: str, request_: RecallRequest
) -> None:
    with pytest.raises(InvalidInput):
        await store.recall(office, request_)


@pytest.mark.parametrize(
    "query", ['"gate', "gate*", "NEAR(gate)", "gate OR", "-gate", "a:gate", "gate'; --", "門 gate"]
)
async def test_query_syntax_is_only_text(store: MemoryStore, office: str, query: str) -> None:
    assert "gate" in await recalled(store, office, query)


async def test_reflect_answers_from_what_it_found(store: MemoryStore, office: str, kind: str) -> None:
    answer = await store.reflect(office, ReflectRequest(query="Where does Ledgerline store its invoices?"))
    assert "Postgres" in answer.text
    assert answer.based_on is not None
    assert "db" in [memory.document_id for memory in answer.based_on.memories]
    manner = "extractive" if answer.extractive else "generative"
    assert manner == expected("reflect", kind)
    assert (Capability.GENERATIVE_REFLECT in store.capabilities) == (manner == "generative")


async def test_reflect_needs_a_question(store: MemoryStore, office: str) -> None:
    with pytest.raises(InvalidInput):
        await store.reflect(office, ReflectRequest(query=" "))

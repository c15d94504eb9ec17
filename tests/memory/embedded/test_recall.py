"""What recall finds, in which order, and what it says about it."""

from __future__ import annotations

from typing import Any

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.errors import InvalidInput, NotFound
from console.memory.models import RecallRequest, RetainItem

NOTES = {
    "queue": "The payment queue runs on Redis. Its consumers are written in Go.",
    "db": "Locally the database listens on port 5434. Everyone has a Postgres on 5432.",
    "people": "Maria Lopez owns the billing service. Ana reviewed the invoices of November.",
    "chinese": "数据库在本地监听端口5434。对账任务每天运行一次。",
    "japanese": "支払いキューはRedisで動いています。",
    "code": "The function makeReport writes the monthly file. It lives in src/report/make.py today.",
    "café": "The café team deploys on Fridays. Nobody likes that.",
}


@pytest.fixture
async def notes(store: EmbeddedStore) -> EmbeddedStore:
    items = [
        RetainItem(
            content=text,
            document_id=name,
            tags=(name,),
            context=f"about {name}",
            timestamp="2026-11-21T09:00:00Z",
        )
        for name, text in NOTES.items()
    ]
    await store.retain("b", items)
    await store.retain("other", [RetainItem(content="The other queue runs on Redis.", document_id="other")])
    return store


FOUND = {
    "plain words": ("payment queue", "The payment queue runs on Redis."),
    "question words do not matter": (
        "What does the payment queue run on?",
        "The payment queue runs on Redis.",
    ),
    "stemming": ("who owned billing services", "Maria Lopez owns the billing service."),
    "a number": ("which port 5434 locally", "Locally the database listens on port 5434."),
    "a name": ("Maria Lopez", "Maria Lopez owns the billing service."),
    "chinese, two characters": ("端口", "数据库在本地监听端口5434。"),
    "chinese, a question": ("对账任务多久运行一次？", "对账任务每天运行一次。"),
    "chinese, one character": ("账", "对账任务每天运行一次。"),
    "japanese": ("支払いキュー", "支払いキューはRedisで動いています。"),
    "a part of a camelCase name": ("report function", "The function makeReport writes the monthly file."),
    "a path": ("src/report/make.py", "It lives in src/report/make.py today."),
    "without its accent": ("cafe team", "The café team deploys on Fridays."),
    "any case": ("POSTGRES", "Everyone has a Postgres on 5432."),
    "a word glued to CJK characters": ("Redis 動", "支払いキューはRedisで動いています。"),
    "operators are words": ('queue AND NOT (redis OR "', "The payment queue runs on Redis."),
}


@pytest.mark.parametrize(("query", "best"), FOUND.values(), ids=FOUND)
async def test_the_best_hit(notes: EmbeddedStore, query: str, best: str) -> None:
    answer = await notes.recall("b", RecallRequest(query=query))
    assert answer.results[0].text == best
    assert answer.results[0].scores is not None and answer.results[0].scores["final"] == 1.0


@pytest.mark.parametrize("query", ["zebra", "斑马", "NEAR"])
async def test_nothing_is_found_where_nothing_is(notes: EmbeddedStore, query: str) -> None:
    assert (await notes.recall("b", RecallRequest(query=query))).results == ()


async def test_a_query_of_stop_words_is_still_asked(notes: EmbeddedStore) -> None:
    assert (await notes.recall("b", RecallRequest(query="who is it"))).results


async def test_one_file_and_one_query_give_one_answer(notes: EmbeddedStore) -> None:
    request = RecallRequest(
        query="queue database Redis 端口 report", include_chunks=True, include_entities=True
    )
    assert await notes.recall("b", request) == await notes.recall("b", request)


async def test_of_equal_hits_the_newer_statement_comes_first(store: EmbeddedStore) -> None:
    for name, day in (("middle", "12"), ("newest", "13"), ("oldest", "11")):
        await store.retain(
            "b", [RetainItem(content="The port is 5434.", document_id=name, timestamp=f"2026-11-{day}")]
        )
    answer = await store.recall("b", RecallRequest(query="port"))
    assert [result.document_id for result in answer.results] == ["newest", "middle", "oldest"]


NARROWED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "any includes untagged": ({"tags": ("queue",)}, {"queue"}),
    "exact": ({"tags": ("queue",), "tags_match": "exact"}, {"queue"}),
    "exactly untagged": ({"tags_match": "exact"}, set()),
    "types": ({"types": ("experience",)}, set()),
    "a group": ({"tag_groups": ({"tags": ["queue"]},)}, {"queue"}),
    "or": ({"tag_groups": ({"or": [{"tags": ["queue"]}, {"tags": ["japanese"]}]},)}, {"queue", "japanese"}),
    "and not": (
        {"tag_groups": ({"and": [{"tags": ["queue", "japanese"]}, {"not": {"tags": ["queue"]}}]},)},
        {"japanese"},
    ),
}


@pytest.mark.parametrize(("fields", "documents"), NARROWED.values(), ids=NARROWED)
async def test_what_narrows_a_recall(
    notes: EmbeddedStore, fields: dict[str, Any], documents: set[str]
) -> None:
    answer = await notes.recall("b", RecallRequest(query="Redis", **fields))
    assert {result.document_id for result in answer.results} >= documents
    assert {result.document_id for result in answer.results} <= documents


async def test_a_filter_is_served_from_behind_the_best_hits(store: EmbeddedStore) -> None:
    crowd = [
        RetainItem(content="Redis Redis Redis.", document_id=f"n{n}", tags=("crowd",)) for n in range(1200)
    ]
    few = [
        RetainItem(
            content=f"Somewhere {'far ' * n} behind there is Redis.", document_id=f"few{n}", tags=("few",)
        )
        for n in range(3)
    ]
    await store.retain("b", [*crowd, *few])
    answer = await store.recall(
        "b", RecallRequest(query="Redis", tags=("few",), tags_match="any_strict", budget="low")
    )
    assert {result.document_id for result in answer.results} == {"few0", "few1", "few2"}


async def test_common_words_alone_still_find(store: EmbeddedStore) -> None:
    items = [
        RetainItem(content=f"Service number {n} has a queue for jobs.", document_id=f"n{n}")
        for n in range(1100)
    ]
    items.append(
        RetainItem(content="The queue of jobs was drained by service command.", document_id="wanted")
    )
    await store.retain("b", items)
    answer = await store.recall("b", RecallRequest(query="drained jobs queue service"))
    assert answer.results[0].document_id == "wanted"
    both = await store.recall("b", RecallRequest(query="service queue"))
    assert len(both.results) > 20
    assert all("queue" in result.text for result in both.results)


async def test_max_tokens_bounds_the_answer_and_leaves_the_first_hit(notes: EmbeddedStore) -> None:
    everything = await notes.recall("b", RecallRequest(query="queue Redis port Maria"))
    assert len(everything.results) > 2
    one = await notes.recall("b", RecallRequest(query="queue Redis port Maria", max_tokens=1))
    assert [r.id for r in one.results] == [everything.results[0].id]
    assert (await notes.recall("b", RecallRequest(query="queue", max_tokens=0))).results == ()


async def test_a_minimum_gates_its_own_arm(notes: EmbeddedStore) -> None:
    answer = await notes.recall("b", RecallRequest(query="支払いキュー payment", min_scores={"keyword": 1e9}))
    assert [r.document_id for r in answer.results] == ["japanese"]
    scores = answer.results[0].scores
    assert scores is not None and scores["keyword"] is None and scores["grams"] is not None
    top = await notes.recall("b", RecallRequest(query="Redis queue", min_scores={"final": 1.0}))
    assert len(top.results) == 1


async def test_the_trace_says_which_arm_found_what_and_how_long_it_took(notes: EmbeddedStore) -> None:
    answer = await notes.recall("b", RecallRequest(query="payment runs", trace=True))
    assert answer.trace is not None
    arms = {arm["method_name"]: arm for arm in answer.trace["retrieval_results"]}
    assert list(arms) == ["keyword", "grams", "neighbour", "coverage", "temporal", "answer"]
    assert arms["keyword"]["results"][0]["text"] == "The payment queue runs on Redis."
    assert [hit["text"] for hit in arms["neighbour"]["results"]] == ["Its consumers are written in Go."]
    assert all(arm["duration_seconds"] >= 0 for arm in arms.values())


async def test_chunks_and_entities_come_when_asked(notes: EmbeddedStore) -> None:
    answer = await notes.recall(
        "b", RecallRequest(query="Maria Lopez", include_chunks=True, include_entities=True)
    )
    assert answer.chunks is not None and answer.entities is not None
    assert answer.chunks["b_people_0"]["text"] == NOTES["people"]
    assert "Maria Lopez" in answer.entities
    plain = await notes.recall("b", RecallRequest(query="Maria Lopez"))
    assert (plain.chunks, plain.entities, plain.trace) == (None, None, None)


REFUSED: dict[str, dict[str, Any]] = {
    "no word": {"query": "?!"},
    "budget": {"query": "x", "budget": "huge"},
    "type": {"query": "x", "types": ("opinion",)},
    "tags_match": {"query": "x", "tags": ("a",), "tags_match": "some"},
    "time": {"query": "x", "query_timestamp": "soon"},
    "group": {"query": "x", "tag_groups": ({"xor": []},)},
    "tags and groups": {"query": "x", "tags": ("a",), "tag_groups": ({"tags": ["a"]},)},
}


@pytest.mark.parametrize("fields", REFUSED.values(), ids=REFUSED)
async def test_a_bad_recall_is_refused(notes: EmbeddedStore, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await notes.recall("b", RecallRequest(**fields))


async def test_a_missing_bank_is_told(notes: EmbeddedStore) -> None:
    with pytest.raises(NotFound):
        await notes.recall("missing", RecallRequest(query="queue"))

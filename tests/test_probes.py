"""Probes: reading, judging, comparing runs, and asking a real embedded store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.memory.embedded import EmbeddedStore
from console.memory.errors import InvalidInput
from console.memory.models import Curation, MemoryQuery, RecallResult, RetainItem
from console.probes import Outcome, Probe, Report, changes, judge, read, report, run

FILE = """
k: 2
probes:
  - query: which port
    documents: [setup]
    not_facts: [port 5433]
  - {name: redis, query: what of redis, facts: ["Redis  caches"], k: 7, tags: [t]}
"""


def result(text: str, document_id: str = "d") -> RecallResult:
    return RecallResult(id=text, text=text, document_id=document_id)


def test_a_file_is_read() -> None:
    port, redis = read(FILE)
    assert (port.k, port.documents, port.not_facts) == (2, ("setup",), ("port 5433",))
    assert (redis.key, redis.k, redis.tags) == ("redis", 7, ("t",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("probes: [", "no YAML"),
        ("x", "no list of probes"),
        ("probes: []", "no probe"),
        ("probes: [{query: a}]", "expects nothing"),
        ("probes: [{query: '?', facts: [a]}]", "no word"),
        ("probes: [{query: a, facts: ['  ']}]", "empty text"),
        ("probes: [{query: a, facts: [b], kk: 1}]", "probe 1"),
        ("probes: [{query: a, facts: [b], k: 0}]", "k is 0"),
        ("probes: [{query: a, facts: b}]", "probe 1"),
        ("probes: [{query: a, facts: [b]}, {query: a, facts: [c]}]", "two probes"),
        ("probes: [{query: a, facts: [b], tags_match: some}]", "tags_match"),
        ("other: 1\nprobes: [{query: a, facts: [b]}]", "unknown key"),
        ("a: &x [1]\nprobes: *x", "aliases"),
        ("probes: [" * 3000, "no YAML"),
    ],
)
def test_what_is_no_probe_file_is_said(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(text, "p.yaml")
    assert says in str(caught.value)
    assert "p.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("probe", "rank", "passed"),
    [
        (Probe(query="q", documents=("b",), k=2), 2, True),
        (Probe(query="q", documents=("c",), k=2), 3, False),
        (Probe(query="q", facts=("THE  port",), k=1), 1, True),
        (Probe(query="q", documents=("b",), not_facts=("is 5433",), k=2), 2, False),
        (Probe(query="q", not_documents=("c",), k=2), None, True),
        (Probe(query="q", not_documents=("c",), k=3), None, False),
        (Probe(query="q", documents=("z",)), None, False),
    ],
)
def test_judging(probe: Probe, rank: int | None, passed: bool) -> None:
    found = judge(probe, [result("the port is 5433", "a"), result("two", "b"), result("three", "c")])
    assert (found.rank, found.passed) == (rank, passed)


def outcome(key: str, rank: int | None, passed: bool) -> Outcome:
    return Outcome(key=key, passed=passed, k=3, rank=rank)


def test_numbers() -> None:
    probes = [Probe(query=name, facts=("x",), k=3) for name in "abc"] + [Probe(query="d", not_facts=("x",))]
    found = report(
        probes,
        [outcome("a", 1, True), outcome("b", 4, False), outcome("c", None, False), outcome("d", None, True)],
    )
    assert found.hit_at_k == pytest.approx(1 / 3)
    assert found.mrr == pytest.approx((1 + 1 / 4) / 3)
    assert (found.passed, found.failed) == (2, 2)


def test_only_what_passed_and_does_no_more_is_a_regression() -> None:
    old = Report(
        outcomes=(
            outcome("a", 1, True),
            outcome("b", 1, True),
            outcome("c", 5, False),
            outcome("d", 2, True),
            outcome("e", 1, True),
        )
    )
    new = Report(
        outcomes=(
            outcome("a", 1, True),
            outcome("b", 5, False),
            outcome("c", 1, True),
            outcome("d", 3, True),
            outcome("f", 1, True),
        )
    )
    assert {c.key: c.kind for c in changes(old, new)} == {
        "b": "regressed",
        "c": "improved",
        "d": "worse",
        "f": "new",
        "e": "gone",
    }


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=8), st.integers(1, 9))
def test_a_hit_is_within_k(rows: list[tuple[str, int]], k: int) -> None:
    results = [result(f"{name}{at}{n}", name) for at, (name, n) in enumerate(rows)]
    found = judge(Probe(query="q", documents=("b",), k=k), results)
    assert found.passed == ("b" in [name for name, _ in rows[:k]])


async def test_a_store_is_asked_and_a_retraction_shows(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "m.db")
    await store.retain("b", [RetainItem(document_id="setup", content="Postgres listens on port 5433."),
                             RetainItem(document_id="cache", content="Redis caches the sessions.")])  # fmt: skip
    probes = read(
        "probes: [{query: Postgres port, facts: [port 5433]}, {query: Redis sessions, documents: [cache]}]"
    )
    before = await run(store, "b", probes)
    assert (before.passed, before.hit_at_k, before.mrr) == (2, 1.0, 1.0)
    [fact] = (await store.list_memories("b", MemoryQuery(document_id="setup"))).items
    await store.curate_memory("b", fact.id, Curation(state="invalidated", reason="moved"))
    after = await run(store, "b", probes)
    assert [(c.key, c.kind) for c in changes(before, after)] == [("Postgres port", "regressed")]
    await store.aclose()

"""A bank moved is the same bank: random ones between files, and through a real server and back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.memory.embedded import EmbeddedStore
from console.memory.errors import InvalidInput, NotFound, ReadOnly, Unavailable
from console.memory.hindsight import HindsightStore
from console.memory.models import Curation, DocumentQuery, MemoryQuery, RetainItem, parse_time
from console.memory.store import MemoryStore
from console.transfer import transfer
from tests.cli.conftest import Console, console, home

__all__ = ["console", "home"]
WORDS = "gate port Postgres ledger 5433 opens closes runs I we the on at never 门 每天 打开 naïve *bold* <b>".split()


async def fill(store: MemoryStore, bank: str, seed: int, documents: int = 5) -> None:
    """Documents with repeats, CJK, markup, tags, metadata; some facts edited, some taken back."""
    chance = random.Random(seed)
    await store.create_bank(bank, name="A name", mission="what for")
    for number in range(documents):
        sentences = [
            " ".join(chance.choices(WORDS, k=chance.randint(3, 9))).capitalize() + "."
            for _ in range(chance.randint(1, 8))
        ]
        text = chance.choice([" ", "\n", "\n\n"]).join(sentences) + chance.choice(["", "\n"])
        item = RetainItem(
            content=text,
            document_id=chance.choice(["d{}", "a/../{}", "门 {}", "{}.md"]).format(number),
            tags=tuple(chance.sample(["a", "b:c", "门"], chance.randint(0, 3))),
            context=chance.choice([None, "omo"]),
            metadata=chance.choice([None, {"session": "s1"}]),
            timestamp=chance.choice([None, "unset", "2025-02-03T04:05:06Z"]),
        )
        await store.retain(bank, [item])
    for memory in (await store.list_memories(bank, MemoryQuery(limit=1000))).items:
        roll = chance.random()
        if roll < 0.2:
            reason = chance.choice([None, "wrong; Ada"])
            await store.curate_memory(bank, memory.id, Curation(state="invalidated", reason=reason))
        elif roll < 0.3:
            await store.curate_memory(bank, memory.id, Curation(text=f"Edited: {memory.text}"))


async def state(store: MemoryStore, bank: str, *, exact: bool = True) -> dict[str, Any]:
    """Everything that must survive; ``exact`` with what only an embedded store keeps as it was sent."""
    found: dict[str, Any] = {}
    for summary in (await store.list_documents(bank, DocumentQuery(limit=1000))).items:
        document = await store.get_document(bank, summary.id)
        facts = [
            (
                m.text, m.fact_type, m.state, m.invalidation_reason, m.chunk_id, tuple(sorted(m.entities)) if exact else (),
                parse_time(m.mentioned_at) if exact else None, m.proof_count if exact else 0, m.tags, m.context,
            )
            for wanted in ("valid", "invalidated")
            for m in (
                await store.list_memories(bank, MemoryQuery(document_id=summary.id, state=wanted, limit=1000))
            ).items
            if m.fact_type != "observation"
        ]  # fmt: skip
        found[summary.id] = (
            document.original_text, document.content_hash, document.tags, parse_time(document.created_at),
            document.document_metadata, (document.retain_params or {}).get("context"), sorted(facts, key=repr),
        )  # fmt: skip
    return found


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[EmbeddedStore, EmbeddedStore]]:
    one, other = EmbeddedStore(tmp_path / "one.db"), EmbeddedStore(tmp_path / "other.db")
    yield one, other
    await one.aclose()
    await other.aclose()


@given(seed=st.integers(0, 10**9))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_bank_arrives_as_it_was(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    async def run() -> None:
        folder = tmp_path_factory.mktemp("transfer")
        one, other = EmbeddedStore(folder / "one.db"), EmbeddedStore(folder / "other.db")
        try:
            await fill(one, "b", seed)
            report = await transfer(one, other, "b", "b")
            assert (report.exit_code, report.transferred, report.differences) == (0, report.documents, [])
            assert await state(other, "b") == await state(one, "b")
            assert (await other.get_bank("b")).mission == "what for"
        finally:
            await one.aclose()
            await other.aclose()

    asyncio.run(run())


async def test_a_second_run_moves_only_what_is_new(two: tuple[EmbeddedStore, EmbeddedStore]) -> None:
    one, other = two
    await fill(one, "b", 1)
    await transfer(one, other, "b", "b")
    await one.retain("b", [RetainItem(content="The gate is new here.", document_id="new")])
    dry = await transfer(one, other, "b", "b", dry_run=True)
    assert (dry.transferred, dry.present) == (1, 5)
    assert (await other.list_documents("b")).total == 5
    report = await transfer(one, other, "b", "b")
    assert (report.transferred, report.present, report.exit_code) == (1, 5, 0)
    assert set(await state(other, "b")) == set(await state(one, "b"))


async def test_a_run_that_died_is_finished_by_the_next(
    two: tuple[EmbeddedStore, EmbeddedStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    await fill(one, "b", 2, documents=7)
    monkeypatch.setattr("console.transfer.BATCH", 2)
    honest, calls = other.import_documents, 0

    async def dying(*args: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Unavailable("the disk is full")
        return await honest(*args, **more)

    monkeypatch.setattr(other, "import_documents", dying)
    with pytest.raises(Unavailable):
        await transfer(one, other, "b", "b")
    assert (await other.list_documents("b")).total == 4
    report = await transfer(one, other, "b", "b")
    assert (report.transferred, report.present, report.exit_code) == (3, 4, 0)
    assert await state(other, "b") == await state(one, "b")


async def test_what_came_in_without_its_curation_is_put_right(
    two: tuple[EmbeddedStore, EmbeddedStore],
) -> None:
    one, other = two
    await one.retain("b", [RetainItem(content="The gate opens at nine. It closes at five.", document_id="d")])
    await transfer(one, other, "b", "b")
    wrong = (await one.list_memories("b", MemoryQuery(q="closes"))).items[0]
    await one.curate_memory("b", wrong.id, Curation(state="invalidated", reason="it is six"))
    report = await transfer(one, other, "b", "b")
    assert (report.transferred, report.exit_code) == (1, 0)
    [gone] = (await other.list_memories("b", MemoryQuery(state="invalidated"))).items
    assert gone.invalidation_reason == "it is six"


async def test_another_text_in_the_target_stays_unless_replace(
    two: tuple[EmbeddedStore, EmbeddedStore],
) -> None:
    one, other = two
    await one.retain("b", [RetainItem(content="The gate opens at nine.", document_id="d")])
    await other.retain("b", [RetainItem(content="The gate opens at ten.", document_id="d")])
    report = await transfer(one, other, "b", "b")
    assert (report.different, report.transferred, report.exit_code) == (["d"], 0, 3)
    assert (await other.get_document("b", "d")).original_text == "The gate opens at ten."
    report = await transfer(one, other, "b", "b", replace=True)
    assert (report.transferred, report.exit_code) == (1, 0)
    assert (await other.get_document("b", "d")).original_text == "The gate opens at nine."


async def test_refused_before_anything_is_written(two: tuple[EmbeddedStore, EmbeddedStore]) -> None:
    one, other = two
    with pytest.raises(NotFound):
        await transfer(one, other, "none", "none")
    with pytest.raises(InvalidInput):
        await transfer(one, one, "b", "b")
    await other.create_bank("x")
    with pytest.raises(ReadOnly):
        await transfer(one, EmbeddedStore(other.path, read_only=True), "b", "b")
    assert [bank.bank_id for bank in (await other.list_banks()).items] == ["x"]


def test_on_the_command_line(console: Console) -> None:
    console(
        "--store", "sqlite:one.db", "retain", "--bank", "b", "--id", "d", "--text", "The gate opens at nine."
    )
    ran = console(
        "banks", "transfer", "sqlite:one.db", "sqlite:two.db", "--bank", "b", "--to-bank", "c", "--json"
    )
    assert ran.code == 0, ran.err
    assert (ran.json["transferred"], ran.json["to_bank"], ran.json["exit_code"]) == (1, "c", 0)
    again = console("banks", "transfer", "sqlite:one.db", "sqlite:two.db", "--bank", "b", "--to-bank", "c")
    assert "0 documents" in again.out
    assert "1 were there already" in again.out
    refused = console("banks", "transfer", "sqlite:nowhere.db", "sqlite:two.db", "--bank", "b")
    assert refused.code == 1
    assert len(refused.err.splitlines()) == 1
    assert console("--store", "sqlite:x.db", "banks", "transfer", "sqlite:one.db", "sqlite:two.db").code == 64


@pytest.mark.server
async def test_through_a_server_and_back(
    two: tuple[EmbeddedStore, EmbeddedStore], hindsight_url: str, bank_id: str
) -> None:
    one, back = two
    await fill(one, bank_id, 3)
    server = HindsightStore(hindsight_url)
    try:
        report = await transfer(one, server, bank_id, bank_id)
        assert (report.transferred, report.differences) == (5, [])
        assert (await transfer(one, server, bank_id, bank_id)).present == 5
        report = await transfer(server, back, bank_id, bank_id)
        assert (report.transferred, report.differences) == (5, [])
    finally:
        await server.aclose()
    assert await state(back, bank_id, exact=False) == await state(one, bank_id, exact=False)

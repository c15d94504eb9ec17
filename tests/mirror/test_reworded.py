"""A retraction holds against other words for the same fact, and never takes what people left standing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirror.plan import Policies
from mirror.sync import Options, Report, sync
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank
from tests.mirror.test_apply import changes, edit, live, mark, run, text

WRONG = "Locally the database of ledgerline runs on port 5433."
BESIDE = "Reportedly, locally the database of ledgerline runs on port 5433."
RIGHT = "Locally the database of ledgerline runs on port 5434."
REWORDED = f"It was noted that {WRONG}"
NEAR = "Locally the database of ledgerline is reached at 5433."
OTHER = "Backups run every night."


async def taken_back(repo: Repo, bank: FakeBank, *beside: str) -> None:
    bank.retain("s", "text\n", facts=[WRONG, OTHER, *beside])
    await run(bank, repo)
    mark(repo, "s", WRONG, "outdated")
    repo.commit_all()
    await run(bank, repo)
    assert WRONG not in live(bank)


async def policy(bank: FakeBank, repo: Repo, **words: str) -> Report:
    return await sync(bank, repo.path, replace(Options(), policies=Policies(**words)))  # type: ignore[arg-type]


async def test_other_words_are_retracted_again_and_said(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    bank.retain("s", "text\nmore\n", facts=[REWORDED, f"Reportedly, {OTHER}", "Something new."])
    report = await run(bank, repo)
    assert [action.cause for action in report.actions] == ["reworded"]
    assert REWORDED not in live(bank)
    assert {f"Reportedly, {OTHER}", "Something new."} <= live(bank)
    fact = next(f for f in bank.fact_rows.values() if f.text == REWORDED)
    assert (fact.reason or "").startswith("outdated; Ada; ")
    assert f"- [ ] ~~{REWORDED}~~" in text(repo, "s")
    assert (await run(bank, repo)).commit is None


async def test_each_new_wording_is(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    for wording in (REWORDED, f"{WRONG} (as stated)", f"The conversation says: {WRONG}", WRONG):
        bank.retain("s", "text\nmore\n", facts=[wording, OTHER])
        await run(bank, repo)
        assert {fact for fact in live(bank) if "5433" in fact and fact != "It runs on port 5433."} == set()


async def test_a_correction_is_left_alone(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    bank.retain("s", "text\nmore\n", facts=[RIGHT, OTHER])
    report = await run(bank, repo)
    assert (report.actions, report.unsettled, report.exit_code) == ([], [], 0)
    assert RIGHT in live(bank)


async def test_what_the_reviewer_left_standing_is_no_rewording(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank, BESIDE)
    bank.retain("s", "text\nmore\n", facts=[BESIDE, OTHER])
    report = await run(bank, repo)
    assert (report.actions, BESIDE in live(bank)) == ([], True)


async def test_nor_is_anything_while_the_bank_has_the_fact_itself(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    wrong = next(f for f in bank.fact_rows.values() if f.text == WRONG)
    bank.fact_rows["beside"] = replace(wrong, id="beside", text=REWORDED, live=True, reason=None)
    bank.docs["s"] = replace(bank.docs["s"], fact_count=2)
    assert (await run(bank, repo)).actions == []


@pytest.mark.parametrize(("chunk", "held"), [(3, True), (4, True), (5, True), (6, False), (0, False)])
async def test_only_in_the_same_chunk_or_beside_it(
    repo: Repo, bank: FakeBank, chunk: int, held: bool
) -> None:
    bank.retain("s", "text\n", facts=[WRONG, OTHER])
    for fact_id, fact in list(bank.fact_rows.items()):
        if fact.document_id == "s":
            bank.fact_rows[fact_id] = replace(fact, chunk_index=4)
    await run(bank, repo)
    mark(repo, "s", WRONG)
    repo.commit_all()
    await run(bank, repo)
    bank.retain("s", "text\nmore\n", facts=[REWORDED])
    for fact_id, fact in list(bank.fact_rows.items()):
        if fact.document_id == "s":
            bank.fact_rows[fact_id] = replace(fact, chunk_index=chunk)
    await run(bank, repo)
    assert (REWORDED not in live(bank)) is held


async def test_what_is_only_near_is_said_once_with_the_line_to_write(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    bank.retain("s", "text\nmore\n", facts=[NEAR, OTHER])
    report = await run(bank, repo)
    [said] = report.unsettled
    assert (said.kind, report.exit_code, NEAR in live(bank)) == ("reworded", 2, True)
    row = next(row for row in text(repo, "s").splitlines() if "is reached" in row)
    assert said.texts["write"].split(" <!--")[0] == f"- [ ] {row[2:]}".split(" <!--")[0]
    assert (await run(bank, repo)).exit_code == 0
    edit(repo, "s", row, said.texts["write"])
    repo.commit_all()
    await run(bank, repo)
    assert NEAR not in live(bank)


async def test_by_policy_other_words_are_only_said(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    bank.retain("s", "text\nmore\n", facts=[REWORDED, OTHER])
    report = await policy(bank, repo, resurfaced="report")
    assert ([u.kind for u in report.unsettled], REWORDED in live(bank)) == (["reworded"], True)


async def test_a_restored_fact_brings_its_wordings_back(repo: Repo, bank: FakeBank) -> None:
    await taken_back(repo, bank)
    bank.retain("s", "text\nmore\n", facts=[REWORDED, OTHER])
    await run(bank, repo)
    edit(repo, "s", f"- [ ] ~~{REWORDED}~~", f"- [x] {REWORDED}")
    repo.commit_all()
    await run(bank, repo)
    assert REWORDED in live(bank)
    bank.retain("s", "text\nmore\nand more\n", facts=[WRONG, OTHER])
    bank.calls.clear()
    await run(bank, repo)
    assert (WRONG in live(bank), changes(bank)) == (True, [])


class TestChunks:
    """Without a model a fact is a chunk: what is taken back may come back with new text behind it."""

    OLD = "\n".join(f"line {n} says that the port is {5000 + n}, as everybody knows well" for n in range(20))
    GROWN = OLD + "\nand this is new"

    async def back(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("s", self.OLD, facts=[self.OLD])
        await run(bank, repo)
        mark(repo, "s", "chunk 0:", "outdated")
        repo.commit_all()
        await run(bank, repo)
        assert self.OLD not in live(bank)
        bank.retain("s", self.GROWN, facts=[self.GROWN])

    async def test_are_reported_and_left(self, repo: Repo, bank: FakeBank) -> None:
        await self.back(repo, bank)
        report = await run(bank, repo)
        assert ([u.kind for u in report.unsettled], report.exit_code) == (["resurfaced"], 2)
        assert self.GROWN in live(bank)

    async def test_are_retracted_again_by_policy(self, repo: Repo, bank: FakeBank) -> None:
        await self.back(repo, bank)
        report = await policy(bank, repo, resurfaced_chunks="retract")
        assert ([a.cause for a in report.actions], self.GROWN in live(bank)) == (["resurfaced"], False)

    async def test_the_very_same_chunk_follows_the_rule_of_facts(self, repo: Repo, bank: FakeBank) -> None:
        await self.back(repo, bank)
        bank.retain("s", self.OLD, facts=[self.OLD])
        report = await run(bank, repo)
        assert ([a.cause for a in report.actions], self.OLD in live(bank)) == (["resurfaced"], False)

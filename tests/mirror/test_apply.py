"""Marks on pages go to the bank, once, and hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirror.errors import GuardRefused
from mirror.paths import page_name
from mirror.plan import Policies
from mirror.source import BusyOperation
from mirror.sync import Options, Report, sync
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank

OPTIONS = Options(first=True)
BRANCH = Options(first=True, branch=True)
PORT = "It runs on port 5433."


async def run(bank: FakeBank, repo: Repo, options: Options = OPTIONS) -> Report:
    return await sync(bank, repo.path, options)


def page(document_id: str, bank_id: str = "demo") -> str:
    return f"wiki/{bank_id}/{page_name(bank_id, document_id).page}"


def text(repo: Repo, document_id: str, rev: str = "HEAD") -> str:
    return repo.show(page(document_id), rev).decode()


def edit(repo: Repo, document_id: str, old: str, new: str) -> None:
    file = repo.path / page(document_id)
    before = file.read_text(encoding="utf-8")
    assert old in before
    file.write_text(before.replace(old, new), encoding="utf-8", newline="\n")


def mark(repo: Repo, document_id: str, fact: str, reason: str = "") -> None:
    """As a reviewer does: the box before the fact, the reason after the comment."""
    file = repo.path / page(document_id)
    lines = file.read_text(encoding="utf-8").split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(f"- {fact}"))
    lines[at] = f"- [ ] {lines[at][2:]}" + (f" {reason}" if reason else "")
    file.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def live(bank: FakeBank) -> set[str]:
    return {fact.text for fact in bank.fact_rows.values() if fact.live}


def changes(bank: FakeBank) -> list[str]:
    return [call for call in bank.calls if call.startswith(("curate", "erase"))]


class TestRetract:
    async def test_a_merged_mark_takes_the_fact_back(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT, "outdated, it is 5434")
        repo.commit_all("Take back the port (#12)")
        report = await run(bank, repo)
        assert PORT not in live(bank)
        fact = next(f for f in bank.fact_rows.values() if f.text == PORT)
        assert fact.reason == "outdated, it is 5434; Ada; #12"
        assert "outdated, it is 5434; Ada; 2026-12-31" in text(repo, "session/1")
        assert f"- [ ] ~~{PORT}~~" in text(repo, "session/1")
        assert (report.exit_code, report.sent) == (0, 1)

    async def test_the_next_run_sends_nothing(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        await run(bank, repo)
        bank.calls.clear()
        report = await run(bank, repo)
        assert (changes(bank), report.commit) == ([], None)

    async def test_a_strike_is_a_mark(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/1", f"- {PORT}", f"- ~~{PORT}~~")
        repo.commit_all()
        await run(bank, repo)
        assert PORT not in live(bank)

    async def test_a_tick_is_none(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/1", f"- {PORT}", f"- [x] {PORT}")
        repo.commit_all()
        report = await run(bank, repo)
        assert (changes(bank), report.exit_code) == ([], 0)

    async def test_uncommitted_marks_wait(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        report = await run(bank, repo)
        assert changes(bank) == []
        assert report.skipped == [page("session/1")]

    async def test_every_memory_with_that_text_goes(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("twice", "a\nb\n", facts=["The same thing.", "The same  thing."])
        await run(bank, repo)
        mark(repo, "twice", "The same thing.")
        repo.commit_all()
        await run(bank, repo)
        assert not [f for f in bank.fact_rows.values() if f.document_id == "twice" and f.live]
        assert 'status: "retracted"' in text(repo, "twice")

    async def test_a_whole_document(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/1", 'status: "active"', 'status: retracted\nreason: "a guess"')
        repo.commit_all()
        await run(bank, repo)
        assert not [f for f in bank.fact_rows.values() if f.document_id == "session/1" and f.live]
        bank.retain("session/1", "ledgerline uses Postgres 16.\nA later fact.\n")
        await run(bank, repo)
        assert not [f for f in bank.fact_rows.values() if f.document_id == "session/1" and f.live]
        assert 'status: "retracted"' in text(repo, "session/1")


class TestHolds:
    async def test_a_resurfaced_fact_is_retracted_again(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT, "outdated")
        repo.commit_all()
        await run(bank, repo)
        line = next(row for row in text(repo, "session/1").splitlines() if PORT in row)
        for growth in ("One more.\n", "And another.\n"):
            bank.retain("session/1", bank.text["session/1"] + growth)
            assert PORT in live(bank)
            report = await run(bank, repo)
            assert PORT not in live(bank)
            assert [a.cause for a in report.actions] == ["resurfaced"]
            assert next(row for row in text(repo, "session/1").splitlines() if PORT in row) == line

    async def test_c09_reported_only_where_the_policy_says_so(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        await run(bank, repo)
        bank.retain("session/1", bank.text["session/1"])
        report = await run(bank, repo, replace(OPTIONS, policies=Policies(resurfaced="report")))
        assert (report.exit_code, [u.kind for u in report.unsettled]) == (2, ["resurfaced"])
        assert PORT in live(bank)

    async def test_restored_in_the_bank_is_not_undone(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        await run(bank, repo)
        fact_id = next(i for i, f in bank.fact_rows.items() if f.text == PORT)
        await bank.curate(fact_id, live=True, reason="")
        report = await run(bank, repo)
        assert PORT in live(bank)
        assert [u.kind for u in report.unsettled] == ["restored"]


class TestRestore:
    async def test_a_ticked_box_restores(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        await run(bank, repo)
        edit(repo, "session/1", f"- [ ] ~~{PORT}~~", f"- [x] ~~{PORT}~~")
        repo.commit_all()
        await run(bank, repo)
        assert PORT in live(bank)
        assert f"\n- {PORT} <!--" in text(repo, "session/1")
        bank.retain("session/1", bank.text["session/1"] + "More.\n")
        await run(bank, repo)
        assert PORT in live(bank)

    async def test_a_whole_document_comes_back(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        before = live(bank)
        edit(repo, "session/1", 'status: "active"', 'status: "retracted"')
        repo.commit_all()
        await run(bank, repo)
        edit(repo, "session/1", 'status: "retracted"', 'status: "active"')
        repo.commit_all()
        await run(bank, repo)
        assert live(bank) == before


class TestUnsettled:
    async def test_a_fact_that_changed_is_a_conflict_and_keeps_its_mark(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        bank.retain("session/1", "ledgerline uses Postgres 16.\nIt runs on port 5434.\n")
        mark(repo, "session/2", "Deploys happen on Tuesdays.")
        repo.commit_all()
        report = await run(bank, repo)
        assert [u.kind for u in report.unsettled] == ["conflict"]
        assert report.unsettled[0].texts["page"] == PORT
        assert report.exit_code == 3
        assert "It runs on port 5434." in live(bank)
        assert "Deploys happen on Tuesdays." not in live(bank)

    async def test_busy_documents_keep_their_marks(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        bank.operations["session/1"] = BusyOperation("op", "processing")
        report = await run(bank, repo)
        assert (changes(bank), report.exit_code) == ([], 3)
        assert f"- [ ] {PORT}" in text(repo, "session/1")
        bank.operations.clear()
        assert (await run(bank, repo)).exit_code == 0
        assert PORT not in live(bank)

    async def test_c05_a_failed_change_is_retried_alone(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("three", "Fact one here.\nFact two here.\nFact three here.\n")
        await run(bank, repo)
        for fact in ("Fact one here.", "Fact two here.", "Fact three here."):
            mark(repo, "three", fact)
        repo.commit_all()
        failing = next(i for i, f in bank.fact_rows.items() if f.text == "Fact two here.")
        bank.fail_once.add(failing)
        report = await run(bank, repo)
        assert (report.exit_code, len(report.failed), len(report.actions)) == (1, 1, 2)
        assert "- [ ] Fact two here." in text(repo, "three")
        bank.calls.clear()
        report = await run(bank, repo)
        assert changes(bank) == [f"curate {failing} invalidated"]
        assert report.exit_code == 0

    async def test_refused_edits_name_the_line_to_write(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/1", f"- {PORT}", "- It runs on port 5999.")
        repo.commit_all()
        report = await run(bank, repo, replace(OPTIONS, check=True))
        assert report.exit_code == 3
        assert report.refused[0].where.startswith(page("session/1") + ":")
        assert report.refused[0].write.startswith(f"- [ ] {PORT} <!-- f:")

    async def test_a_deleted_line_is_restored_and_said(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        before = text(repo, "session/1")
        line = next(row for row in before.splitlines() if PORT in row)
        edit(repo, "session/1", line + "\n", "")
        repo.commit_all()
        report = await run(bank, repo)
        assert PORT in live(bank)
        assert (text(repo, "session/1"), len(report.refused)) == (before, 1)

    async def test_a_conflict_marker_stops_only_its_page(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/1", f"- {PORT}", f"<<<<<<< HEAD\n- [ ] {PORT}")
        mark(repo, "session/2", "Deploys happen on Tuesdays.")
        repo.commit_all()
        report = await run(bank, repo)
        assert PORT in live(bank)
        assert "Deploys happen on Tuesdays." not in live(bank)
        assert report.exit_code == 3


class TestGuards:
    async def test_too_many_marks_send_nothing(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("big", "".join(f"Fact number {n} of many.\n" for n in range(60)))
        await run(bank, repo)
        for n in range(51):
            mark(repo, "big", f"Fact number {n} of many.")
        repo.commit_all()
        with pytest.raises(GuardRefused, match="51 retractions"):
            await run(bank, repo)
        assert changes(bank) == []
        await run(bank, repo, replace(OPTIONS, max_retractions=51))
        assert len(changes(bank)) == 51

    async def test_a_page_level_mark_counts_once(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("big", "".join(f"Fact number {n} of many.\n" for n in range(60)))
        await run(bank, repo)
        edit(repo, "big", 'status: "active"', 'status: "retracted"')
        repo.commit_all()
        await run(bank, repo)
        assert len(changes(bank)) == 60

    async def test_erase_needs_its_number(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/2", 'status: "active"', 'status: "erased"')
        repo.commit_all()
        report = await run(bank, repo)
        assert (report.exit_code, changes(bank)) == (3, [])
        report = await run(bank, repo, replace(OPTIONS, policies=Policies(erase=1)))
        assert changes(bank) == ["erase session/2"]
        assert page("session/2") not in repo.files(folder="wiki")
        assert report.exit_code == 0

    async def test_check_writes_and_sends_nothing(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        head = repo.commit_all()
        report = await run(bank, repo, replace(OPTIONS, check=True))
        assert (report.exit_code, len(report.actions), changes(bank), repo.head()) == (2, 1, [], head)


class TestBranch:
    @pytest.mark.parametrize("style", ["merge", "squash", "rebase"])
    async def test_two_rounds_of_review(self, repo: Repo, bank: FakeBank, style: str) -> None:
        await run(bank, repo)
        rounds = [("session/1", PORT), ("session/2", "Deploys happen on Tuesdays.")]
        for number, (document_id, fact) in enumerate(rounds, 1):
            bank.retain(f"new/{number}", f"Something new, number {number}.\n")
            await run(bank, repo, BRANCH)
            repo.git("switch", "-q", "-c", f"review-{number}", "mirror/demo")
            mark(repo, document_id, fact, "wrong")
            repo.commit_all("Take it back")
            repo.git("switch", "-q", "main")
            repo.git("branch", "-f", "mirror/demo", f"review-{number}")
            before = len(changes(bank))
            report = await run(bank, repo, BRANCH)
            assert len(changes(bank)) == before
            assert f"- [ ] {fact}" in text(repo, document_id, "mirror/demo")
            if style == "merge":
                repo.git(
                    "merge", "-q", "--no-ff", "-m", f"Merge pull request #{number} from x", "mirror/demo"
                )
            elif style == "squash":
                repo.git("merge", "-q", "--squash", "mirror/demo")
                repo.git("commit", "-q", "-m", f"Review (#{number})")
            else:
                repo.git("merge", "-q", "--ff", "mirror/demo")
            report = await run(bank, repo, BRANCH)
            assert fact not in live(bank)
            assert len(changes(bank)) == before + 1
            assert report.exit_code == 0
            assert f"- [ ] ~~{fact}~~" in text(repo, document_id, "mirror/demo")
            repo.git("merge", "-q", "--no-ff", "-m", "after", "mirror/demo")
            assert (await run(bank, repo, BRANCH)).commit is None
        assert live(bank) >= {"Something new, number 1.", "Something new, number 2."}

    async def test_c21_marks_merged_before_the_run_are_applied_not_overwritten(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        bank.retain("session/1", bank.text["session/1"] + "Grown.\n")
        await run(bank, repo, BRANCH)
        assert PORT not in live(bank)

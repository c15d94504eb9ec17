"""A fact is taken back in a pull request, on a real server: who is still given it, and that it holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.memory.store import MemoryStore
from mirror.plan import Policies
from tests.mirror.conftest import Repo
from tests.real.run import BRANCH, FIRST, Run

SESSION = "session/42"
WRONG = "The Ledgerline database listens on port 5433 on every laptop."
RIGHT = "Ledgerline stores its invoices in Postgres 16."
OTHERS = [
    "Refunds are open for thirty days after the payment.",
    "Deploys happen on Tuesdays before noon.",
    "The nightly backup goes to the second region.",
    "I wrote the runbook for the on-call engineers.",
]
TEXT = "\n".join([RIGHT, WRONG, *OTHERS]) + "\n"
GROWTH = ["The staging cluster was renamed to harbor.", "Invoices are archived after seven years."]
QUERY = "On which port does the Ledgerline database listen?"


async def reviewed(run: Run, style: str = "merge") -> None:
    """init, a proposal on the mirror's branch, a mark on it, merged into main, applied."""
    repo = run.repo
    await run.retain(SESSION, TEXT, tags=("harness:omo",), context="omo")
    await run.sync(FIRST)
    await run.retain("session/43", "The release notes are written by Ada.\n")
    proposed = await run.sync(BRANCH)
    assert proposed.commit
    branch = proposed.branch
    repo.git("switch", "-q", branch)
    run.mark(SESSION, shown_part(run, WRONG), "outdated; it is 5434")
    repo.commit_all("Take back the port")
    repo.git("switch", "-q", "main")
    kept = await run.sync(BRANCH)
    assert kept.sent == 0, "a mark that is not merged does nothing"
    assert (repo.git("log", "-1", "--format=%H", branch).strip() == kept.commit) or kept.commit is None
    repo.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7 from team/review", branch)


def shown_part(run: Run, fact: str) -> str:
    """What of a fact its line shows; of a chunk the line says which one."""
    lines = [row for row in run.shown(SESSION, "HEAD").splitlines() if "<!-- f:" in row]
    return fact if any(fact in row for row in lines) else "chunk 0:"


async def live(run: Run, part: str) -> list[str]:
    return [memory.text for memory in await run.facts() if part in memory.text]


async def test_the_fact_goes_and_the_sentence_stays(server: MemoryStore, bank_id: str, repo: Repo) -> None:
    run = Run(server, bank_id, repo)
    await reviewed(run)
    before = await run.recalled(QUERY)
    assert WRONG in before
    assert "5433" in await run.reflected(QUERY)

    report = await run.sync(BRANCH)
    assert (report.sent, [a.cause for a in report.actions], report.exit_code) == (1, ["mark"], 0)
    [fact] = await run.facts("invalidated")
    assert (fact.text, fact.invalidation_reason) == (WRONG, "outdated; it is 5434; Ada; #7")

    assert [text for text in await run.recalled(QUERY) if "5433" in text] == []
    assert WRONG in await run.recalled_chunks(QUERY), "a chunk keeps the sentence: only --redact takes it out"
    assert f"- [ ] ~~{WRONG}~~" in run.shown(SESSION, report.branch)
    run.repo.git("merge", "-q", "--no-ff", "-m", "after", report.branch)
    assert (await run.verify()).differences == []
    assert (await run.sync(BRANCH)).commit is None


async def test_it_holds_while_the_session_grows(server: MemoryStore, bank_id: str, repo: Repo) -> None:
    run = Run(server, bank_id, repo)
    await reviewed(run)
    await run.sync(FIRST)
    line = run.line(SESSION, WRONG)
    text = TEXT
    for more in GROWTH:
        text += more + "\n"
        await run.retain(SESSION, text, tags=("harness:omo",), context="omo")
        assert await live(run, "5433") == [WRONG], "the server forgets what was taken back"
        report = await run.sync(FIRST)
        assert [(a.cause, a.document_id) for a in report.actions] == [("resurfaced", SESSION)]
        assert await live(run, "5433") == []
        assert [t for t in await run.recalled(QUERY) if "5433" in t] == []
        assert run.line(SESSION, WRONG) == line, "the page says what it said"
        assert await live(run, more) == [more]
    assert (await run.verify()).differences == []
    assert (await run.sync(FIRST)).commit is None


async def test_restore_brings_it_back_and_it_stays(server: MemoryStore, bank_id: str, repo: Repo) -> None:
    run = Run(server, bank_id, repo)
    await reviewed(run)
    await run.sync(FIRST)
    run.edit(SESSION, f"- [ ] ~~{WRONG}~~", f"- [x] {WRONG}")
    repo.commit_all("It was right after all")
    report = await run.sync(FIRST)
    assert [(a.kind, a.document_id) for a in report.actions] == [("restore", SESSION)]
    assert WRONG in await run.recalled(QUERY)
    await run.retain(SESSION, TEXT + GROWTH[0] + "\n", tags=("harness:omo",), context="omo")
    assert (await run.sync(FIRST)).actions == []
    assert await live(run, "5433") == [WRONG]
    assert run.line(SESSION, WRONG).startswith(f"- {WRONG}")


async def test_erase_deletes(server: MemoryStore, bank_id: str, repo: Repo) -> None:
    run = Run(server, bank_id, repo)
    await reviewed(run)
    await run.sync(FIRST)
    run.edit(SESSION, 'status: "active"', 'status: "erased"')
    repo.commit_all("Delete it for good")
    refused = await run.sync(FIRST)
    assert ([u.kind for u in refused.unsettled], refused.exit_code) == (["erase"], 3)
    assert SESSION in await run.stored()
    report = await run.sync(FIRST, policies=Policies(erase=1))
    assert [a.kind for a in report.actions] == ["erase"]
    assert SESSION not in await run.stored()
    assert [
        m for state in ("valid", "invalidated") for m in await run.facts(state) if m.document_id == SESSION
    ] == []
    assert run.page(SESSION) not in repo.files(folder="wiki")
    assert await run.recalled_chunks(QUERY) == "" or WRONG not in await run.recalled_chunks(QUERY)
    assert (await run.verify()).differences == []


async def test_other_words_are_caught(
    rewording: MemoryStore, bank_id: str, repo: Repo, full: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(rewording, bank_id, repo)
    await reviewed(run)
    await run.sync(FIRST)
    assert await live(run, "5433") == []
    text, came_back, caught, said = TEXT, 0, 0, 0
    for number in range(40 if full else 8):
        text += f"Step {number} of the migration is done.\n"
        await run.retain(SESSION, text, tags=("harness:omo",), context="omo")
        back = await live(run, "5433")
        report = await run.sync(FIRST)
        came_back += len(back)
        caught += len(back) - len(await live(run, "5433"))
        said += sum(u.kind == "reworded" for u in report.unsettled)
        assert {a.cause for a in report.actions} <= {"resurfaced", "reworded"}
        assert [a.record.text for a in report.actions if a.record and "5433" not in a.record.text] == []
    with capsys.disabled():
        print(
            f"\nrewordings: {came_back} came back, {caught} retracted again ({caught / came_back:.0%}), {said} reported"
        )
    assert came_back >= 8
    assert caught == came_back
    assert [t for t in await run.recalled(QUERY) if "5433" in t] == []


@pytest.mark.parametrize("policy", ["report", "retract"])
async def test_without_a_model_a_chunk_is_reported(
    chunking: MemoryStore, bank_id: str, repo: Repo, policy: str
) -> None:
    run = Run(chunking, bank_id, repo)
    await reviewed(run)
    report = await run.sync(FIRST)
    assert report.sent == 1
    assert [t for t in await run.recalled(QUERY) if "5433" in t] == []
    grown = TEXT + GROWTH[0] + "\n"
    await run.retain(SESSION, grown, tags=("harness:omo",), context="omo")
    assert len(await live(run, "5433")) == 1
    report = await run.sync(replace(FIRST, policies=Policies(resurfaced_chunks=policy)))
    if policy == "report":
        assert ([u.kind for u in report.unsettled], report.actions, report.exit_code) == (
            ["resurfaced"],
            [],
            2,
        )
        assert len(await live(run, "5433")) == 1
    else:
        assert [a.cause for a in report.actions] == ["resurfaced"]
        assert await live(run, "5433") == []
    assert (await run.verify()).differences == []

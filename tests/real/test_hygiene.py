"""What a diff shows is what is new: growth, repeats, a fact taken back by someone else, other words."""

from __future__ import annotations

from itertools import pairwise
from pathlib import PurePosixPath

import pytest

from console.memory.models import Curation
from console.memory.store import MemoryStore
from mirror.paths import page_name
from tests.mirror.conftest import Repo
from tests.real.run import Run

SESSION = "session/7"
MESSAGES = [
    f"user: Please check service number {number} of the fleet.\nassistant: Service {number} answers in {number * 3} ms."
    for number in range(1, 40)
]


def transcript(count: int) -> str:
    return "\n\n".join(MESSAGES[:count]) + "\n"


def numstat(repo: Repo, base: str = "HEAD~1") -> dict[str, tuple[int, int]]:
    """Kind of file -> (lines added, lines removed)."""
    rows = [row.split("\t") for row in repo.git("diff", "--numstat", base, "HEAD").splitlines()]
    return {PurePosixPath(path).suffix: (int(new), int(old)) for new, old, path in rows}


async def start(run: Run, count: int) -> None:
    await run.retain(SESSION, transcript(count), tags=("harness:codex",), metadata={"session_id": "s7"})
    await run.retain("other", "Nothing here ever changes.\n")
    report = await run.sync()
    assert (report.added, report.busy) == (2, []), "what was retained just before is in it"


async def test_growth_adds_only_new_lines(server: MemoryStore, bank_id: str, repo: Repo) -> None:
    await grow(Run(server, bank_id, repo))


async def test_growth_adds_only_new_lines_of_an_embedded_bank(embedded: MemoryStore, repo: Repo) -> None:
    await grow(Run(embedded, "growing", repo))


async def grow(run: Run) -> None:
    repo = run.repo
    await start(run, 20)
    for fewer, more in pairwise((20, 21, 22, 30)):
        await run.retain(SESSION, transcript(more), tags=("harness:codex",), metadata={"session_id": "s7"})
        report = await run.sync()
        changed = set(repo.git("diff", "--name-only", "HEAD~1").split())
        name = page_name(run.bank, SESSION)
        assert {path.rpartition("/")[2] for path in changed} == {
            PurePosixPath(path).name for path in (name.page, name.text, f"{name.shard}.jsonl")
        }
        new = more - fewer
        assert numstat(repo) == {".md": (2 * new, 0), ".txt": (3 * new, 0), ".jsonl": (1, 1)}
        assert (report.changed, report.unchanged, report.fetched) == (1, 1, 1)


async def test_an_identical_retain_changes_nothing(server: MemoryStore, bank_id: str, repo: Repo) -> None:
    run = Run(server, bank_id, repo)
    await start(run, 12)
    head = repo.head()
    for _ in range(2):
        await run.retain(SESSION, transcript(12), tags=("harness:codex",), metadata={"session_id": "s7"})
        report = await run.sync()
        assert (report.commit, report.fetched, repo.head()) == (None, 0, head)


async def test_a_fact_taken_back_by_someone_else_is_one_line(
    server: MemoryStore, bank_id: str, repo: Repo
) -> None:
    run = Run(server, bank_id, repo)
    await start(run, 12)
    fact = next(memory for memory in await run.facts() if "Service 5 answers" in memory.text)
    await server.curate_memory(bank_id, fact.id, Curation(state="invalidated", reason="measured wrongly"))
    report = await run.sync()
    assert numstat(repo) == {".md": (1, 1), ".jsonl": (1, 1)}
    assert report.fetched == 0
    assert run.line(SESSION, "Service 5 answers").startswith("- [ ] ~~")


async def test_other_words_change_lines_and_are_counted(
    rewording: MemoryStore, bank_id: str, repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(rewording, bank_id, repo)
    await start(run, 12)
    await run.retain(SESSION, transcript(13), tags=("harness:codex",), metadata={"session_id": "s7"})
    await run.sync()
    new, old = numstat(repo)[".md"]
    with capsys.disabled():
        print(f"\nreworded: 2 facts came, the page's diff is +{new} -{old} of {len(await run.facts())} facts")
    assert numstat(repo)[".txt"] == (3, 0)
    assert new == old + 2
    assert old <= 24

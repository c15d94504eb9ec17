"""Cases from the field that no other file of this folder holds; and that every one of them has a test by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mirror import export, manifest, page
from mirror.parse import parse
from mirror.sync import Options, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank
from tests.mirror.test_apply import PORT, changes, mark, run, text
from tests.mirror.test_apply import page as path_of

CASES = "C01 C02 C03 C04 C05 C07 C08 C09 C10 C11 C12 C15 C16 C17 C20 C21".split()

# A text, and how git must show it: never as a binary file.
C17 = [
    "x",
    "x\n",
    "x\n\n\n",
    "  x",
    "x\r\ny\rz\n",
    "a\u0000b",
    "\u001b[31mred",
    "t  \n",
    "\ufeffx",
    "e\u0301",
    "<<<<<<< HEAD\n",
    "```\n~~~\n````\n",
    "x" * 100_000,
]


class TestC08SchemaMigration:
    """A new page format rewrites pages; nothing of it is taken for what a person asks."""

    @pytest.fixture
    def upgraded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(export, "RENDERER", export.RENDERER + 1)
        monkeypatch.setattr(export, "SCHEMA", export.SCHEMA + 1)
        monkeypatch.setattr(manifest, "SCHEMA", manifest.SCHEMA + 1)
        monkeypatch.setattr(page, "HEADING", "## Facts of a later format")
        written = page.write_line

        def later(line: object) -> str:
            row = written(line)  # type: ignore[arg-type]
            return row.replace("- [ ] ~~", "- [-] ~~") if " retracted -->" in row else row

        monkeypatch.setattr(page, "write_line", later)

    async def test_it_rewrites_every_page_and_sends_nothing(
        self, repo: Repo, bank: FakeBank, request: pytest.FixtureRequest, full: bool
    ) -> None:
        count = 500 if full else 60
        for number in range(count - 3):
            bank.retain(f"more/{number}", f"Fact one of {number}.\nFact two of {number}.\n")
        await run(bank, repo)
        mark(repo, "session/1", PORT, "outdated")
        repo.commit_all()
        await run(bank, repo)
        lines = {i: entry.records for i, entry in entries(repo).items()}
        bank.calls.clear()

        request.getfixturevalue("upgraded")
        report = await run(bank, repo)
        assert (changes(bank), report.actions, report.refused) == ([], [], [])
        assert (report.changed, report.added, report.removed) == (count, 0, 0)
        assert "## Facts of a later format" in text(repo, "more/7")
        assert {i: entry.records for i, entry in entries(repo).items()} == lines
        again = await run(bank, repo)
        assert (again.commit, changes(bank)) == (None, [])

    async def test_what_a_person_marked_before_it_still_counts(
        self, repo: Repo, bank: FakeBank, request: pytest.FixtureRequest
    ) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT)
        repo.commit_all()
        request.getfixturevalue("upgraded")
        await run(bank, repo)
        assert len(changes(bank)) == 1


def entries(repo: Repo) -> dict[str, manifest.Entry]:
    found: dict[str, manifest.Entry] = {}
    for path in repo.files(folder="wiki/demo/.mirror"):
        if path.endswith(".jsonl"):
            lines, errors = manifest.decode_shard(repo.show(path), where=path)
            assert errors == []
            found |= {line.document_id: line for line in lines}
    return found


async def test_c10_a_text_that_begins_with_front_matter(repo: Repo, bank: FakeBank) -> None:
    stored = "---\nname: x\nstatus: deleted\n---\n\nbody\n"
    bank.retain("front", stored, facts=["---", "status: deleted", "--- body ---"])
    await run(bank, repo)
    shown = text(repo, "front")
    assert shown.startswith("---\n")
    assert [n for n, row in enumerate(shown.split("\n")) if row == "---"] == [
        0,
        shown.split("\n").index("---", 1),
    ]
    front = parse(shown.encode()).front
    assert front is not None
    assert (front["status"], front["document"]) == ("active", "front")
    assert repo.show(path_of("front").removesuffix(".md") + ".txt").decode() == stored
    bank.calls.clear()
    report = await run(bank, repo)
    assert (report.commit, report.refused, changes(bank)) == (None, [], [])


async def test_c17_texts_come_back_byte_for_byte_and_show_as_text(repo: Repo, bank: FakeBank) -> None:
    for number, stored in enumerate(C17):
        bank.retain(f"c17/{number}", stored, facts=["A fact of its own."])
    await run(bank, repo)
    assert (await verify(bank, repo.path, Options())).differences == []
    rows = [
        row.split("\t") for row in repo.git("diff", "--numstat", "HEAD~1", "HEAD", "--", "wiki").splitlines()
    ]
    assert len(rows) >= 2 * len(C17)
    assert [path for added, _, path in rows if added == "-"] == []
    fresh = await sync(bank, repo.path, Options(here=True))
    assert (fresh.commit, fresh.fetched) == (None, 0)


def names_of_tests() -> str:
    return "\n".join(
        line
        for file in Path(__file__).parent.glob("test_*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(?:async )?def test_|class Test", line)
    )


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_a_test_by_its_name(case: str) -> None:
    assert re.search(rf"(?:_|Test){case}(?![0-9])", names_of_tests(), re.I)

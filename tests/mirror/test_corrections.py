"""Corrected texts, redaction and the inbox: what people write goes to the bank, and only that."""

from __future__ import annotations

import pytest

from mirror.corrections import redacted
from mirror.model import Record
from mirror.paths import page_name
from mirror.sync import Options, Report, sync
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank
from tests.mirror.test_apply import PORT, edit, live, mark, page, text

OPTIONS = Options(first=True)


async def run(bank: FakeBank, repo: Repo) -> Report:
    return await sync(bank, repo.path, OPTIONS)


def replace_text(repo: Repo, document_id: str, old: str, new: str) -> None:
    file = repo.path / page(document_id).replace(".md", ".txt")
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8", newline="\n")


class TestCorrection:
    async def test_a_changed_text_with_its_word_goes_to_the_bank(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", "ledgerline uses Postgres 16.", "no")
        repo.commit_all()
        await run(bank, repo)
        replace_text(repo, "session/1", "5433", "5434")
        edit(repo, "session/1", 'status: "active"', 'status: "active"\ncorrect: true')
        repo.commit_all()
        report = await run(bank, repo)
        assert bank.text["session/1"] == "ledgerline uses Postgres 16.\nIt runs on port 5434.\n"
        assert bank.docs["session/1"].tags == ("harness:omo",)
        assert [t.kind for t in report.texts] == ["correct"]
        assert "ledgerline uses Postgres 16." not in live(bank)
        assert "correct" not in text(repo, "session/1")
        assert (await run(bank, repo)).commit is None

    async def test_a_changed_text_alone_is_put_back(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        replace_text(repo, "session/1", "5433", "5434")
        repo.commit_all()
        await run(bank, repo)
        assert "5433" in bank.text["session/1"]
        assert b"5433" in repo.show(page("session/1").replace(".md", ".txt"))

    async def test_a_document_that_moved_on_is_not_overwritten(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        replace_text(repo, "session/1", "5433", "5434")
        edit(repo, "session/1", 'status: "active"', 'status: "active"\ncorrect: true')
        repo.commit_all()
        bank.retain("session/1", "Another text altogether.\n")
        report = await run(bank, repo)
        assert report.exit_code == 3
        assert bank.text["session/1"] == "Another text altogether.\n"
        assert "correct: true" in text(repo, "session/1")

    async def test_an_overwritten_correction_is_said_once(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        replace_text(repo, "session/1", "5433", "5434")
        edit(repo, "session/1", 'status: "active"', 'status: "active"\ncorrect: true')
        repo.commit_all()
        await run(bank, repo)
        bank.retain("session/1", "ledgerline uses Postgres 16.\nIt runs on port 5433.\nMore.\n")
        assert [u.kind for u in (await run(bank, repo)).unsettled] == ["overwritten"]
        assert (await run(bank, repo)).unsettled == []


class TestRedaction:
    async def test_the_sentence_leaves_the_text_too(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT, "wrong")
        edit(repo, "session/1", 'status: "active"', 'status: "active"\nredact: true')
        repo.commit_all()
        await run(bank, repo)
        await run(bank, repo)
        assert bank.text["session/1"] == "ledgerline uses Postgres 16.\n[retracted]\n"
        assert "redact" not in text(repo, "session/1")
        assert (await run(bank, repo)).commit is None

    @pytest.mark.parametrize(
        ("source", "fact", "left", "missing"),
        [
            ("a. B is c. d.", "B is c.", "a. [retracted] d.", 0),
            ("twice x. twice x.", "twice x.", "[retracted] [retracted]", 0),
            ("other words", "B is c.", "other words", 1),
            ("done: [retracted]", "B is c.", "done: [retracted]", 0),
        ],
    )
    def test_words_are_taken_out_as_they_stand(self, source: str, fact: str, left: str, missing: int) -> None:
        text_left, lost = redacted(source, [Record(key="0" * 12, text=fact)])
        assert (text_left, len(lost)) == (left, missing)


class TestInbox:
    async def test_a_file_becomes_a_document(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        repo.write("wiki/demo/inbox/on-call.md", '---\ntags: ["ops"]\n---\n\nOn-call changes on Mondays.\n')
        repo.commit_all()
        report = await run(bank, repo)
        assert bank.text["inbox/on-call"] == "On-call changes on Mondays.\n"
        assert bank.docs["inbox/on-call"].tags == ("ops",)
        assert [t.document_id for t in report.texts] == ["inbox/on-call"]
        assert f"wiki/demo/{page_name('demo', 'inbox/on-call').page}" in repo.files(folder="wiki")
        bank.calls.clear()
        assert (await run(bank, repo)).commit is None
        assert not [c for c in bank.calls if "replaced" in c]

    @pytest.mark.parametrize(
        "content", [b"\xff\xfe broken", b"<<<<<<< HEAD\nx\n", b"---\na: &x 1\nb: *x\n---\ntext\n"]
    )
    async def test_what_cannot_be_read_is_said(self, repo: Repo, bank: FakeBank, content: bytes) -> None:
        await run(bank, repo)
        file = repo.write("wiki/demo/inbox/bad.md", "")
        file.write_bytes(content)
        repo.commit_all()
        report = await run(bank, repo)
        assert (report.exit_code, [u.kind for u in report.unsettled]) == (3, ["inbox"])
        assert "inbox/bad" not in bank.docs

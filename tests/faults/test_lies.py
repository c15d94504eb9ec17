"""A bank that lies, and a wiki that somebody got at: told, survived, and nothing lost."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from mirror import worktree
from mirror.errors import GuardRefused, MirrorError, NotBound, SourceIncomplete
from mirror.paths import page_name
from mirror.source import Rows, SourceFact
from mirror.sync import Options, Report, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank

FIRST = Options(first=True)
PORT = "It runs on port 5433."


def page(document_id: str) -> str:
    return f"wiki/demo/{page_name('demo', document_id).page}"


def shard(document_id: str) -> str:
    return f"wiki/demo/.mirror/{page_name('demo', document_id).shard}.jsonl"


async def run(bank: FakeBank, repo: Repo, options: Options = FIRST) -> Report:
    return await sync(bank, repo.path, options)


def live(bank: FakeBank) -> set[str]:
    return {fact.text for fact in bank.fact_rows.values() if fact.live}


STUCK: dict[str, Rows] = {}


class TestLyingBank:
    @pytest.mark.parametrize(
        "lie",
        [
            lambda offset, rows: replace(rows, total=rows.total + offset + 1),
            lambda offset, rows: replace(rows, total=10**9),
            lambda offset, rows: replace(rows, total=-1),
            lambda offset, rows: replace(rows, total=0),
            lambda offset, rows: Rows(rows.items * 2, rows.total * 2, rows.seen * 2),
            lambda offset, rows: Rows((), rows.total, 0),
            lambda offset, rows: replace(rows, seen=0),
            lambda offset, rows: STUCK.setdefault("rows", replace(rows, items=rows.items[:2], seen=2)),
        ],
        ids=["grows", "huge", "negative", "none", "doubled", "empty", "unseen", "the same page for ever"],
    )
    async def test_a_listing_that_does_not_add_up_writes_nothing(
        self, repo: Repo, bank: FakeBank, lie: object
    ) -> None:
        await run(bank, repo)
        before = repo.head()
        honest = bank.on_documents
        bank.on_documents = lie  # type: ignore[assignment]
        with pytest.raises(SourceIncomplete) as caught:
            await run(bank, repo)
        assert "\n" not in str(caught.value)
        assert repo.head() == before
        bank.on_documents = honest
        assert (await run(bank, repo)).commit is None

    @pytest.mark.parametrize(
        "moment",
        ["", "yesterday", "../../../evil", "2026-13-99x", "](http://x)", "2026/12/01", "\n# x", "٢٠٢٦-١٢-٠١"],
    )
    async def test_times_that_are_none(self, repo: Repo, bank: FakeBank, moment: str) -> None:
        bank.docs["session/1"] = replace(bank.docs["session/1"], created_at=moment)
        report = await run(bank, repo)
        assert report.added == 3
        months = set(repo.files(folder="wiki/demo/index"))
        assert months <= {"wiki/demo/index/undated.md", "wiki/demo/index/2026-11.md"}
        assert (await verify(bank, repo.path, Options())).differences == []

    async def test_a_clock_that_gives_no_time(
        self, repo: Repo, bank: FakeBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def now(_: FakeBank) -> str:
            return "soon"

        monkeypatch.setattr(FakeBank, "now", now)
        with pytest.raises(SourceIncomplete, match="clock"):
            await run(bank, repo)

    @pytest.mark.parametrize("count", [-1, 0, 1, 10**12])
    async def test_wrong_counts_make_a_busy_document(self, repo: Repo, bank: FakeBank, count: int) -> None:
        await run(bank, repo)
        before = repo.tree()
        bank.docs["session/1"] = replace(bank.docs["session/1"], fact_count=count)
        report = await run(bank, repo)
        assert [row.document_id for row in report.busy] == ["session/1"]
        assert repo.tree() == before

    async def test_facts_of_unknown_documents_are_left_out(self, repo: Repo, bank: FakeBank) -> None:
        bank.fact_rows["stray"] = SourceFact("stray", "nobody/knows", "Trust me.", "world", True)
        bank.fact_rows["none"] = SourceFact("none", "", "Trust me.", "world", False)
        await run(bank, repo)
        assert b"Trust me" not in b"".join(repo.show(path) for path in repo.files(folder="wiki"))

    @pytest.mark.parametrize(
        "text", ["", " ", "\n\n", "\0", "\ud800", "- [ ] ~~x~~ <!-- f:000000000000 retracted -->"]
    )
    async def test_odd_facts_are_taken_back_like_others(self, repo: Repo, bank: FakeBank, text: str) -> None:
        bank.retain("odd", "A text.\n", facts=[text, "An ordinary one."])
        await run(bank, repo)
        lines = (repo.path / page("odd")).read_text(encoding="utf-8").split("\n")
        at = next(n for n, line in enumerate(lines) if line.startswith("- ") and "ordinary" not in line)
        lines[at] = f"- [ ] {lines[at][2:]}"
        repo.write(page("odd"), "\n".join(lines))
        repo.commit_all()
        report = await run(bank, repo)
        assert report.refused == []
        assert text not in live(bank)
        assert "An ordinary one." in live(bank)

    @pytest.mark.parametrize(
        "document_id", ["a\0b", "a\nb", "\ud800", "..", ".", "-", "x" * 5000, "\u202egnp", " "]
    )
    async def test_any_id(self, repo: Repo, bank: FakeBank, document_id: str) -> None:
        bank.retain(document_id, "A text.\n")
        report = await run(bank, repo)
        assert report.added == 4
        assert (await run(bank, repo)).commit is None
        assert (await verify(bank, repo.path, Options())).differences == []

    async def test_gone_and_back(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        tree = repo.tree()
        document, text = bank.docs.pop("session/2"), bank.text.pop("session/2")
        facts = {i: f for i, f in bank.fact_rows.items() if f.document_id == "session/2"}
        for fact_id in facts:
            del bank.fact_rows[fact_id]
        assert (await run(bank, repo)).removed == 1
        bank.docs["session/2"], bank.text["session/2"] = document, text
        bank.fact_rows.update(facts)
        await run(bank, repo)
        assert repo.tree() == tree

    async def test_five_thousand_gone_pages(self, repo: Repo, full: bool) -> None:
        count = 5000 if full else 300
        bank = FakeBank()
        for number in range(count + 1):
            bank.retain(f"doc/{number}", f"Fact {number}.\n")
        await run(bank, repo)
        before = repo.head()
        for number in range(count):
            bank.delete(f"doc/{number}")
        with pytest.raises(GuardRefused, match=f"{count} of {count + 1} pages"):
            await run(bank, repo)
        assert repo.head() == before
        report = await run(bank, repo, replace(FIRST, max_gone=count))
        assert report.removed == count
        assert repo.status() == ""


class TestEditedManifest:
    async def retracted(self, repo: Repo, bank: FakeBank) -> None:
        """One fact taken back by review, and forgotten by the bank since."""
        await run(bank, repo)
        text = (repo.path / page("session/1")).read_text(encoding="utf-8")
        repo.write(page("session/1"), text.replace(f"- {PORT}", f"- [ ] {PORT}"))
        repo.commit_all("review (#4)")
        await run(bank, repo)
        assert PORT not in live(bank)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda line: "",
            lambda line: "{",
            lambda line: f"<<<<<<< ours\n{line}\n=======\n{line}\n>>>>>>> theirs",
            lambda line: json.dumps(json.loads(line) | {"records": []}),
            lambda line: json.dumps(json.loads(line) | {"page": "0" * 40}),
            lambda line: json.dumps(json.loads(line) | {"page": "HEAD:code.py\n"}),
            lambda line: json.dumps(json.loads(line) | {"text": "f" * 64}),
            lambda line: json.dumps({k: v for k, v in json.loads(line).items() if k != "seal"}),
            lambda line: line.replace('"key"', '"chunk_index":Infinity,"key"'),
            lambda line: "[" * 100_000,
            lambda line: f"{line}\n{line}",
        ],
        ids=[
            "deleted",
            "cut",
            "conflict",
            "records",
            "page",
            "not an id",
            "hash",
            "no seal",
            "infinite",
            "deep",
            "twice",
        ],
    )
    async def test_no_retraction_is_lost_with_its_line(
        self, repo: Repo, bank: FakeBank, damage: object
    ) -> None:
        await self.retracted(repo, bank)
        tree = repo.tree(f"HEAD:{page('session/1')}")
        line = repo.show(shard("session/1")).decode().rstrip("\n")
        repo.write(shard("session/1"), f"{damage(line)}\n")  # type: ignore[operator]
        repo.commit_all("damage")
        bank.retain(
            "session/1", bank.text["session/1"], tags=["harness:omo"], context="omo"
        )  # forgets its own
        assert PORT in live(bank)
        report = await run(bank, repo)
        assert PORT not in live(bank)
        assert repo.tree(f"HEAD:{page('session/1')}") == tree
        if damage(line):  # type: ignore[operator]
            assert any(shard("session/1") in told for told in report.unread)
        assert (await run(bank, repo)).commit is None

    async def test_a_forged_record_sends_nothing(self, repo: Repo, bank: FakeBank) -> None:
        await self.retracted(repo, bank)
        value = json.loads(repo.show(shard("session/1")))
        value["records"].append(
            value["records"][0] | {"key": "6d6dcda8a1b2", "text": "ledgerline uses Postgres 16."}
        )
        repo.write(shard("session/1"), json.dumps(value) + "\n")
        repo.commit_all("forged")
        before = live(bank)
        await run(bank, repo)
        assert live(bank) == before

    async def test_a_forged_page_id_hides_no_mark(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        text = (repo.path / page("session/1")).read_text(encoding="utf-8")
        repo.write(page("session/1"), text.replace(f"- {PORT}", f"- [ ] {PORT}"))
        value = json.loads(repo.show(shard("session/1")))
        value["page"] = repo.git("hash-object", page("session/1")).strip()
        repo.write(shard("session/1"), json.dumps(value) + "\n")
        repo.commit_all("forged")
        await run(bank, repo)
        assert PORT not in live(bank)

    @pytest.mark.parametrize(
        "change", [{"bank": "other"}, {"created_at": "2020"}, {"schema": 99}, {"schema": "x"}]
    )
    async def test_an_edited_header_is_refused(
        self, repo: Repo, bank: FakeBank, change: dict[str, object]
    ) -> None:
        await run(bank, repo)
        header = "wiki/demo/.mirror/header.json"
        repo.write(header, json.dumps(json.loads(repo.show(header)) | change))
        repo.commit_all()
        with pytest.raises(NotBound) as caught:
            await run(bank, repo)
        assert "\n" not in str(caught.value)


class TestPages:
    async def test_a_page_of_another_document(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        tree = repo.tree("HEAD:wiki")
        text = (repo.path / page("session/1")).read_text(encoding="utf-8")
        repo.write(page("session/2"), text.replace(f"- {PORT}", f"- [ ] {PORT}"))
        repo.commit_all()
        report = await run(bank, repo)
        assert PORT in live(bank)
        assert report.refused[0].where.startswith(page("session/2"))
        assert repo.tree("HEAD:wiki") == tree

    async def test_a_copied_page_under_a_new_name_counts_nothing(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        text = (repo.path / page("session/1")).read_text(encoding="utf-8")
        copy = "wiki/demo/pages/00/session-1--0123456789abcdef.md"
        repo.write(copy, text.replace(f"- {PORT}", f"- [ ] {PORT}"))
        repo.commit_all()
        await run(bank, repo)
        assert PORT in live(bank)

    async def test_a_link_out_of_the_repository(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        await run(bank, repo)
        secret = tmp_path / "secret"
        secret.write_text("do not touch", encoding="utf-8")
        for path in (page("session/1"), "wiki/demo/README.md", "wiki/demo/index/2026-11.md"):
            (repo.path / path).unlink()
            (repo.path / path).symlink_to(secret)
        repo.commit_all()
        report = await run(bank, repo)
        assert "a link" in report.refused[0].what
        assert secret.read_text(encoding="utf-8") == "do not touch"
        assert not any((repo.path / path).is_symlink() for path in repo.files(folder="wiki"))
        assert str(tmp_path).encode() not in repo.show("wiki/demo/README.md")

    async def test_a_huge_page_is_named_not_read(self, repo: Repo, bank: FakeBank, full: bool) -> None:
        await run(bank, repo)
        tree = repo.tree("HEAD:wiki")
        with (repo.path / page("session/1")).open("r+b") as out:
            out.seek((300 if full else 9) * 1024 * 1024)
            out.write(b"\n")
        repo.commit_all()
        report = await run(bank, repo)
        assert "too large" in report.refused[0].what
        assert repo.tree("HEAD:wiki") == tree

    @pytest.mark.parametrize(
        "rewrite",
        [lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("\n- ", "\n* ")],
        ids=["crlf", "bullets"],
    )
    async def test_a_formatter_ran_over_the_wiki(self, repo: Repo, bank: FakeBank, rewrite: object) -> None:
        await run(bank, repo)
        tree = repo.tree("HEAD:wiki")
        for file in (repo.path / "wiki/demo/pages").rglob("*.md"):
            with file.open("r+", encoding="utf-8", newline="") as out:
                text = out.read()
                out.seek(0)
                out.write(rewrite(text))  # type: ignore[operator]
        repo.commit_all()
        report = await run(bank, repo)
        assert (report.sent, report.refused) == (0, [])
        assert repo.tree("HEAD:wiki") == tree


class TestDisk:
    @pytest.mark.parametrize("nth", [1, 2, 5])
    async def test_full_while_files_are_written(
        self, repo: Repo, bank: FakeBank, nth: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The commit stands; the next run, with room, puts files and index right."""
        honest = worktree.write_file
        left = [nth + 1]  # the note comes first

        def full(path: Path, data: bytes) -> None:
            left[0] -= 1
            if left[0] <= 0:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            honest(path, data)

        monkeypatch.setattr(worktree, "write_file", full)
        before = repo.head()
        with pytest.raises(MirrorError, match=r"the commit stands.*No space left") as caught:
            await run(bank, repo)
        assert "\n" not in str(caught.value)
        assert repo.head() != before
        with pytest.raises(MirrorError, match="No space left"):
            await run(bank, repo)  # still full: the same line, no traceback
        monkeypatch.setattr(worktree, "write_file", honest)
        assert (await run(bank, repo)).repaired
        assert repo.status() == ""

    async def test_full_before_anything_moved(
        self, repo: Repo, bank: FakeBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(path: Path, _: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

        monkeypatch.setattr(worktree, "write_file", full)
        before = repo.head()
        with pytest.raises(MirrorError, match="nothing was moved"):
            await run(bank, repo)
        assert (repo.head(), repo.status()) == (before, "")

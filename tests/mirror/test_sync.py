"""One run of the mirror, on real git repositories and a bank in memory."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mirror.errors import (
    Behind,
    GuardRefused,
    Locked,
    MirrorError,
    NotARepository,
    NotBound,
    SourceIncomplete,
)
from mirror.lock import held
from mirror.paths import page_name
from mirror.source import BusyOperation, Rows
from mirror.sync import Options, Report, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank

FIRST = Options(first=True)
BRANCH = Options(first=True, branch=True)


async def run(bank: FakeBank, repo: Repo, options: Options = FIRST) -> Report:
    return await sync(bank, repo.path, options)


def page_of(bank: FakeBank, document_id: str) -> str:
    return f"wiki/{bank.bank_id}/{page_name(bank.bank_id, document_id).page}"


class TestFirstRun:
    async def test_writes_a_page_and_a_text_for_each_document(self, repo: Repo, bank: FakeBank) -> None:
        report = await run(bank, repo)
        assert (report.added, report.documents, report.commit) == (3, 3, repo.head())
        files = repo.files(folder="wiki")
        for document_id, text in bank.text.items():
            page = page_of(bank, document_id)
            assert page in files
            assert repo.show(page.removesuffix(".md") + ".txt").decode() == text
        assert {"wiki/.gitattributes", "wiki/demo/README.md", "wiki/demo/.mirror/header.json"} <= set(files)

    async def test_verify_finds_no_difference(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        assert (await verify(bank, repo.path, Options())).differences == []

    async def test_needs_to_be_asked_for(self, repo: Repo, bank: FakeBank) -> None:
        before = repo.head()
        with pytest.raises(NotBound, match="no wiki of bank 'demo'"):
            await run(bank, repo, Options())
        assert repo.head() == before

    async def test_refuses_a_folder_that_is_not_ours(self, repo: Repo, bank: FakeBank) -> None:
        repo.write("wiki/demo/notes.md", "mine\n")
        repo.commit_all()
        with pytest.raises(NotBound, match="not written by the mirror"):
            await run(bank, repo)
        assert repo.show("wiki/demo/notes.md") == b"mine\n"

    async def test_in_a_repository_without_commits(self, tmp_path: Path, bank: FakeBank) -> None:
        repo = make_repo(tmp_path / "empty")
        await run(bank, repo)
        assert repo.git("rev-list", "--count", "HEAD").strip() == "1"
        assert repo.status() == ""

    async def test_fsck_finds_nothing(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        await run(bank, repo, BRANCH)
        assert repo.git("fsck", "--strict", "--full") == ""


class TestNothingToDo:
    async def test_second_run_makes_no_commit_and_fetches_no_text(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        head, bank.calls = repo.head(), []
        report = await run(bank, repo)
        assert (report.commit, report.fetched, report.unchanged, repo.head()) == (None, 0, 3, head)
        assert not [call for call in bank.calls if call.startswith("text")]

    async def test_c16_only_timestamps_moved(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        head, tree = repo.head(), repo.tree()
        bank.touch_all()
        bank.docs = dict(reversed(bank.docs.items()))
        for _ in range(2):
            assert (await run(bank, repo)).exit_code == 0
        assert (repo.head(), repo.tree()) == (head, tree)

    async def test_a_fresh_export_equals_an_incremental_one(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        await run(bank, repo)
        bank.retain(
            "session/1",
            "ledgerline uses Postgres 16.\nIt runs on port 5434.\nBackups run nightly.\n",
            tags=["harness:omo"],
        )
        await run(bank, repo)
        bank.retain("new", "Something new.\n")
        bank.delete("session/2")
        await run(bank, repo)
        fresh = make_repo(tmp_path / "fresh")
        await run(bank, fresh)
        assert repo.tree("HEAD:wiki/demo") == fresh.tree("HEAD:wiki/demo")


class TestChanges:
    async def test_growth_touches_only_that_documents_files(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain(
            "session/2",
            "Deploys happen on Tuesdays.\nRollbacks take a minute.\n",
            metadata={"session_id": "s2"},
        )
        report = await run(bank, repo)
        shard = page_name("demo", "session/2").shard
        page = page_of(bank, "session/2")
        changed = repo.git("diff", "--name-only", "HEAD~1").split()
        assert sorted(changed) == sorted(
            [f"wiki/demo/.mirror/{shard}.jsonl", page, page.removesuffix(".md") + ".txt"]
        )
        assert repo.git("diff", "--numstat", "HEAD~1", "--", page).split()[:2] == ["1", "0"]
        assert (report.changed, report.fetched) == (1, 1)

    async def test_a_document_that_went_loses_its_page_after_its_own_404(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        bank.delete("session/2")
        report = await run(bank, repo)
        assert report.removed == 1
        assert "exists session/2" in bank.calls
        assert page_of(bank, "session/2") not in repo.files(folder="wiki")

    async def test_a_fact_invalidated_elsewhere_is_a_retracted_line_and_a_record(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        bank.invalidate("It runs on port 5433.", "outdated")
        await run(bank, repo)
        text = repo.show(page_of(bank, "session/1")).decode()
        assert "- [ ] ~~It runs on port 5433.~~" in text
        assert "outdated" in text
        shard = page_name("demo", "session/1").shard
        line = json.loads(repo.show(f"wiki/demo/.mirror/{shard}.jsonl").splitlines()[0])
        assert [r["text"] for r in line["records"]] == ["It runs on port 5433."]

    async def test_c07_all_facts_invalidated_is_a_retracted_page(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.invalidate("Deploys happen on Tuesdays.")
        await run(bank, repo)
        assert 'status: "retracted"' in repo.show(page_of(bank, "session/2")).decode()

    async def test_the_record_stays_when_the_bank_forgets(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.invalidate("It runs on port 5433.", "outdated")
        await run(bank, repo)
        bank.retain("session/1", "ledgerline uses Postgres 16.\n", tags=["harness:omo"], context="omo")
        await run(bank, repo)
        shard = page_name("demo", "session/1").shard
        assert b"5433" in repo.show(f"wiki/demo/.mirror/{shard}.jsonl")
        assert "~~It runs on port 5433.~~" in repo.show(page_of(bank, "session/1")).decode()

    async def test_records_outlive_their_document(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.invalidate("Deploys happen on Tuesdays.", "wrong day")
        await run(bank, repo)
        bank.delete("session/2")
        await run(bank, repo)
        shard = page_name("demo", "session/2").shard
        assert b"wrong day" in repo.show(f"wiki/demo/.mirror/{shard}.jsonl")
        assert page_of(bank, "session/2") not in repo.files(folder="wiki")


class TestListing:
    async def test_c01_an_empty_bank_is_refused(self, repo: Repo) -> None:
        bank = FakeBank()
        for n in range(40):
            bank.retain(f"d{n}", f"Fact number {n} is here.\n")
        await run(bank, repo)
        head = repo.head()
        bank.docs, bank.text, bank.fact_rows = {}, {}, {}
        with pytest.raises(GuardRefused) as caught:
            await run(bank, repo)
        assert caught.value.exit_code == 4
        assert "0 documents" in str(caught.value)
        assert "40 pages" in str(caught.value)
        assert repo.head() == head

    async def test_c02_foreign_files_do_not_dilute_the_guard(self, repo: Repo) -> None:
        bank = FakeBank()
        for n in range(40):
            bank.retain(f"d{n}", f"Fact number {n} is here.\n")
        await run(bank, repo)
        for n in range(400):
            repo.write(f"wiki/demo/pages/zz/note-{n}.md", "foreign\n")
        repo.commit_all()
        for n in range(38):
            bank.delete(f"d{n}")
        with pytest.raises(GuardRefused, match="38 of 40 pages"):
            await run(bank, repo)
        report = await run(bank, repo, replace(FIRST, max_gone=38))
        assert report.removed == 38
        assert "wiki/demo/pages/zz/note-1.md" in repo.files(folder="wiki")

    @pytest.mark.parametrize("allowed", [0, 37])
    async def test_a_typed_number_is_the_limit(self, repo: Repo, allowed: int) -> None:
        bank = FakeBank()
        for n in range(40):
            bank.retain(f"d{n}", f"Fact number {n} is here.\n")
        await run(bank, repo)
        for n in range(38):
            bank.delete(f"d{n}")
        with pytest.raises(GuardRefused):
            await run(bank, repo, replace(FIRST, max_gone=allowed))

    async def test_c03_a_bank_made_again_is_another_bank(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        head = repo.head()
        bank.created_at, bank.origin = "2026-11-30T00:00:00+00:00", "http://127.0.0.1:8889"
        with pytest.raises(NotBound, match="bound to"):
            await run(bank, repo)
        assert repo.head() == head
        assert (await run(bank, repo, replace(FIRST, rebind=True))).exit_code == 0
        assert (await run(bank, repo, Options())).commit is None

    async def test_another_origin_of_the_same_bank_is_no_obstacle(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.origin = "http://127.0.0.1:8889"
        assert (await run(bank, repo)).removed == 0

    async def test_c04_an_empty_page_once_is_listed_again(self, repo: Repo) -> None:
        bank = FakeBank(page_limit=100)
        for n in range(250):
            bank.retain(f"d{n}", f"Fact number {n} is here.\n")
        await run(bank, repo)
        faults = iter([True])

        def empty_once(offset: int, rows: Rows) -> Rows:
            return Rows((), rows.total, 0) if offset == 100 and next(faults, False) else rows

        bank.on_documents = empty_once
        report = await run(bank, repo)
        assert (report.removed, report.unchanged) == (0, 250)

    async def test_c04_one_listed_twice_and_one_never(self, repo: Repo) -> None:
        bank = FakeBank(page_limit=100)
        for n in range(250):
            bank.retain(f"d{n}", f"Fact number {n} is here.\n")
        await run(bank, repo)
        first: list[Rows] = []
        faults = iter([True])

        def shifted(offset: int, rows: Rows) -> Rows:
            if offset == 0:
                first[:] = [rows]
            if offset == 100 and next(faults, False):
                return Rows((first[0].items[-1], *rows.items[1:]), rows.total, rows.seen)
            return rows

        bank.on_documents = shifted
        report = await run(bank, repo)
        assert (report.removed, report.unchanged) == (0, 250)

    async def test_a_bank_that_never_adds_up_writes_nothing(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        head = repo.head()
        bank.on_documents = lambda _offset, rows: Rows(rows.items, rows.total + 1, rows.seen)
        with pytest.raises(SourceIncomplete, match="does not add up"):
            await run(bank, repo)
        assert repo.head() == head

    async def test_a_document_that_is_not_listed_but_exists_keeps_its_page(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        hidden = "session/2"
        bank.on_documents = lambda _offset, rows: Rows(
            tuple(d for d in rows.items if d.id != hidden), rows.total - 1, rows.seen - 1
        )
        report = await run(bank, repo)
        assert report.removed == 0
        assert [b.document_id for b in report.busy] == [hidden]

    async def test_busy_documents_are_left_as_they_are(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain("session/1", "half of the new text\n")
        bank.operations["session/1"] = BusyOperation("op-1", "processing")
        report = await run(bank, repo)
        assert (report.commit, [b.operation_id for b in report.busy]) == (None, ["op-1"])
        bank.operations.clear()
        assert (await run(bank, repo)).changed == 1

    async def test_facts_that_do_not_add_up_are_a_busy_document(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.docs["session/1"] = replace(bank.docs["session/1"], fact_count=9)
        report = await run(bank, repo)
        assert (report.commit, [b.document_id for b in report.busy]) == (None, ["session/1"])

    async def test_a_text_that_changed_meanwhile_is_not_written(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain("session/1", "a new text\n")
        bank.text["session/1"] = "an even newer text\n"
        report = await run(bank, repo)
        assert [b.document_id for b in report.busy] == ["session/1"]
        assert report.commit is None


class TestNames:
    async def test_c15_hostile_ids(self, repo: Repo) -> None:
        ids = [
            "Notes: a",
            "aux.md",
            "../../x",
            ".git/config",
            "Foo",
            "foo",
            "é",
            "e\u0301",
            "a" * 400,
            "日本語",
            "trail. ",
            "",
        ]
        bank = FakeBank()
        for number, document_id in enumerate(ids):
            bank.retain(document_id, f"Fact number {number} is here.\n")
        await run(bank, repo)
        pages = [p for p in repo.files(folder="wiki") if "/pages/" in p and p.endswith(".md")]
        assert len({p.lower() for p in pages}) == 12
        for page in pages:
            for part in page.split("/"):
                assert len(part) <= 120
                assert set(part) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
        assert repo.git("fsck", "--strict") == ""
        assert (await verify(bank, repo.path, Options())).differences == []

    async def test_banks_that_look_alike_live_side_by_side(self, repo: Repo) -> None:
        banks = [FakeBank(bank_id=name) for name in ("acme::app", "acme-app", "團隊", "日本語", "con")]
        for bank in banks:
            bank.retain("d", f"This one is about {bank.bank_id} only.\n")
            await run(bank, repo)
            await run(bank, repo, BRANCH)
        folders = {p.split("/")[1] for p in repo.files(folder="wiki") if p.count("/") > 1}
        assert len({f.lower() for f in folders}) == 5
        for bank in banks:
            assert (await verify(bank, repo.path, Options())).differences == []
            assert (await run(bank, repo)).commit is None


class TestWorkTree:
    async def test_status_says_what_it_said_before(self, repo: Repo, bank: FakeBank) -> None:
        repo.write("staged.py", "x = 1\n")
        repo.git("add", "staged.py")
        repo.write("code.py", "print('edited')\n")
        repo.write("untracked.txt", "u\n")
        before = [line for line in repo.status().splitlines() if not line.startswith("#")]
        await run(bank, repo)
        assert [line for line in repo.status().splitlines() if not line.startswith("#")] == before
        repo.git("commit", "-q", "-m", "mine")
        assert repo.git("show", "--name-only", "--format=", "HEAD").split() == ["staged.py"]

    async def test_a_page_being_edited_is_left_alone_in_the_commit_too(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        page = page_of(bank, "session/1")
        committed = repo.show(page)
        (repo.path / page).write_text("my edit\n", encoding="utf-8")
        bank.retain("session/1", "changed in the bank\n")
        bank.retain("session/2", "Deploys happen on Wednesdays.\n")
        report = await run(bank, repo)
        assert report.skipped == [page]
        assert report.exit_code == 3
        assert report.changed == 1
        assert repo.show(page) == committed
        assert (repo.path / page).read_text(encoding="utf-8") == "my edit\n"
        repo.git("checkout", "--", page)
        assert (await run(bank, repo)).changed == 1

    async def test_an_index_lock_stops_before_anything_moves(self, repo: Repo, bank: FakeBank) -> None:
        (repo.path / ".git/index.lock").touch()
        before = repo.head()
        with pytest.raises(Locked) as caught:
            await run(bank, repo)
        assert caught.value.exit_code == 5
        assert repo.head() == before
        assert not (repo.path / "wiki").exists()

    async def test_another_branch_is_refused_unless_here(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        origin = tmp_path / "origin.git"
        subprocess.run(["git", "clone", "-q", "--bare", str(repo.path), str(origin)], check=True)
        repo.git("remote", "add", "origin", str(origin))
        repo.git("switch", "-q", "-c", "feature")
        with pytest.raises(Behind) as caught:
            await run(bank, repo)
        assert caught.value.exit_code == 3
        assert (await run(bank, repo, replace(FIRST, here=True))).branch == "feature"

    async def test_behind_its_remote_is_refused(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        origin, other = tmp_path / "origin.git", tmp_path / "other"
        subprocess.run(["git", "clone", "-q", "--bare", str(repo.path), str(origin)], check=True)
        repo.git("remote", "add", "origin", str(origin))
        subprocess.run(["git", "clone", "-q", str(origin), str(other)], check=True)
        there = Repo(other)
        there.git("config", "user.name", "Bob")
        there.git("config", "user.email", "bob@example.org")
        there.write("more.py", "y = 2\n")
        there.commit_all()
        there.git("push", "-q", "origin", "main")
        with pytest.raises(Behind, match="behind origin/main"):
            await run(bank, repo)

    async def test_detached_head_is_refused(self, repo: Repo, bank: FakeBank) -> None:
        repo.git("switch", "-q", "--detach")
        with pytest.raises(MirrorError):
            await run(bank, repo)

    async def test_a_killed_run_is_put_right(
        self, repo: Repo, bank: FakeBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await run(bank, repo)
        bank.retain("session/2", "Deploys happen on Fridays.\n")

        class Killed(BaseException):
            pass

        def die(*_: object) -> None:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr("mirror.worktree._write_out", die)
            with pytest.raises(Killed):
                await run(bank, repo)
        assert repo.status() != ""
        report = await run(bank, repo)
        assert report.repaired > 0
        assert repo.status() == ""
        assert "Fridays" in (repo.path / page_of(bank, "session/2")).read_text(encoding="utf-8")

    async def test_a_symlink_in_the_way_is_not_followed(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (repo.path / "wiki").symlink_to(outside, target_is_directory=True)
        with pytest.raises(MirrorError):
            await run(bank, repo)
        assert list(outside.iterdir()) == []

    async def test_autocrlf_changes_nothing(self, repo: Repo, bank: FakeBank) -> None:
        repo.git("config", "core.autocrlf", "true")
        await run(bank, repo)
        assert repo.status() == ""
        assert b"\r" not in repo.show(page_of(bank, "session/1"))
        assert (await run(bank, repo)).commit is None

    async def test_two_runs_at_once(self, repo: Repo, bank: FakeBank) -> None:
        with held(repo.path / ".git", "demo"), pytest.raises(Locked, match="another run"):
            await run(bank, repo)


class TestBranch:
    async def test_touches_neither_index_nor_head_nor_files(self, repo: Repo, bank: FakeBank) -> None:
        repo.write("staged.py", "x = 1\n")
        repo.git("add", "staged.py")
        repo.write("code.py", "print('edited')\n")
        hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch hook-ran\n")
        hook.chmod(0o755)
        head, index, status = repo.head(), (repo.path / ".git/index").read_bytes(), repo.status()
        report = await run(bank, repo, BRANCH)
        assert report.branch == "mirror/demo"
        assert (repo.head(), repo.status()) == (head, status)
        assert (repo.path / ".git/index").read_bytes() == index
        assert not (repo.path / "wiki").exists()
        assert not (repo.path / "hook-ran").exists()

    async def test_each_commit_joins_the_old_tip_and_the_default_tip(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo, BRANCH)
        old = repo.git("rev-parse", "mirror/demo").strip()
        repo.write("code.py", "print('later')\n")
        main = repo.commit_all()
        bank.retain("session/2", "Deploys happen on Mondays.\n")
        await run(bank, repo, BRANCH)
        assert repo.git("rev-parse", "mirror/demo^1", "mirror/demo^2").split() == [old, main]
        assert repo.show("code.py", "mirror/demo") == b"print('later')\n"

    async def test_no_commit_when_nothing_is_new(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo, BRANCH)
        tip = repo.git("rev-parse", "mirror/demo")
        repo.write("code.py", "print('later')\n")
        repo.commit_all()
        assert (await run(bank, repo, BRANCH)).commit is None
        assert repo.git("rev-parse", "mirror/demo") == tip

    @pytest.mark.parametrize("style", ["merge", "squash", "rebase"])
    async def test_two_rounds_under_each_merge_style(self, repo: Repo, bank: FakeBank, style: str) -> None:
        for day in ("Mondays", "Thursdays"):
            bank.retain("session/2", f"Deploys happen on {day}.\n")
            await run(bank, repo, BRANCH)
            if style == "merge":
                repo.git("merge", "-q", "--no-ff", "-m", "merge", "mirror/demo")
            elif style == "squash":
                repo.git("merge", "-q", "--squash", "mirror/demo")
                repo.git("commit", "-q", "-m", "squash")
            else:
                repo.git("merge", "-q", "--ff", "mirror/demo")
            assert day in repo.show(page_of(bank, "session/2")).decode()
            repo.write("code.py", f"print('{day}')\n")
            repo.commit_all()
            assert (await run(bank, repo, BRANCH)).commit is None

    async def test_checked_out_branch_is_refused(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo, BRANCH)
        repo.git("switch", "-q", "mirror/demo")
        with pytest.raises(MirrorError, match="checked out"):
            await run(bank, repo, replace(BRANCH, default_branch="main"))


class TestSideFiles:
    async def test_c11_human_text_outside_the_region_is_kept(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        readme = repo.show("wiki/demo/README.md").decode()
        repo.write("wiki/demo/README.md", "Ask Ada first.\n\n" + readme + "\nAnd Bob second.\n")
        repo.commit_all()
        bank.retain("new", "Something new.\n")
        await run(bank, repo)
        text = repo.show("wiki/demo/README.md").decode()
        assert text.startswith("Ask Ada first.\n")
        assert text.endswith("And Bob second.\n")
        head = repo.head()
        bank.docs, bank.text, bank.fact_rows = {}, {}, {}
        with pytest.raises(GuardRefused):
            await run(bank, repo)
        assert repo.head() == head

    async def test_the_months_link_every_page(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        month = repo.show("wiki/demo/index/2026-11.md").decode()
        for document_id in bank.docs:
            assert f"(../{page_name('demo', document_id).page})" in month

    async def test_commit_messages_hold_counts_only(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("fixes #12", "Closes #13 and mentions @team.\n")
        await run(bank, repo)
        message = repo.git("log", "-1", "--format=%B")
        assert "#" not in message
        assert "@" not in message


class TestNotARepository:
    async def test_plain_folder(self, tmp_path: Path, bank: FakeBank) -> None:
        with pytest.raises(NotARepository, match="no git repository"):
            await sync(bank, tmp_path, FIRST)

    async def test_bare(self, tmp_path: Path, bank: FakeBank) -> None:
        subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "b.git")], check=True)
        with pytest.raises(NotARepository, match="bare"):
            await sync(bank, tmp_path / "b.git", FIRST)

    async def test_no_git_program(self, repo: Repo, bank: FakeBank, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        with pytest.raises(NotARepository, match="git program"):
            await sync(bank, repo.path, FIRST)

    @pytest.mark.parametrize("wiki", ["../out", "/abs", ".git/x", "", "C:\\x", "a/../b"])
    async def test_a_wiki_folder_outside_is_refused(self, repo: Repo, bank: FakeBank, wiki: str) -> None:
        with pytest.raises(MirrorError, match="inside the repository"):
            await run(bank, repo, replace(FIRST, wiki=wiki))


class TestManifest:
    async def test_an_unreadable_line_is_written_anew(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        tree = repo.tree("HEAD:wiki/demo")
        shard = f"wiki/demo/.mirror/{page_name('demo', 'session/1').shard}.jsonl"
        repo.write(shard, "<<<<<<< ours\n{broken\n")
        repo.commit_all()
        report = await run(bank, repo)
        assert report.unread[0].startswith("merge-conflict marker in the manifest")
        assert f"{shard}:1" in report.unread[0]
        assert repo.tree("HEAD:wiki/demo") == tree

    async def test_a_missing_page_is_restored(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        tree = repo.tree("HEAD:wiki/demo")
        repo.git("rm", "-q", page_of(bank, "session/1"))
        repo.commit_all()
        report = await run(bank, repo)
        assert report.restored == 1
        assert repo.tree("HEAD:wiki/demo") == tree

    async def test_a_newer_schema_is_refused(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        header = json.loads(repo.show("wiki/demo/.mirror/header.json"))
        repo.write("wiki/demo/.mirror/header.json", json.dumps(header | {"schema": 99}))
        repo.commit_all()
        with pytest.raises(NotBound, match="newer"):
            await run(bank, repo)

"""Pages of a few named documents, written without listing the bank: the whole run afterwards has nothing to add."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirror.errors import Locked, NotBound
from mirror.lock import held
from mirror.paths import page_name
from mirror.sync import Options, Report, sync
from mirror.touch import Sent, Touched, touch
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank

BRANCH = "refs/heads/mirror/demo"


async def first(bank: FakeBank, repo: Repo) -> None:
    await sync(bank, repo.path, Options(first=True))


async def touched(bank: FakeBank, repo: Repo, *items: Touched | str) -> Report:
    rows = [Touched(i) if isinstance(i, str) else i for i in items]
    return await touch(bank, repo.path, rows, default_branch="main")


async def whole(bank: FakeBank, repo: Repo) -> Report:
    return await sync(bank, repo.path, Options(branch=True, offline=True))


def page(bank: FakeBank, document_id: str) -> str:
    return f"wiki/{bank.bank_id}/{page_name(bank.bank_id, document_id).page}"


async def test_a_new_document_is_a_page_on_the_mirrors_branch_and_no_listing_was_made(
    repo: Repo, bank: FakeBank
) -> None:
    await first(bank, repo)
    head = repo.head()
    bank.retain("session/9", "The queue is called orders.\n")
    bank.calls.clear()
    report = await touched(bank, repo, "session/9")
    assert (report.added, report.branch) == (1, "mirror/demo")
    assert "The queue is called orders." in repo.show(page(bank, "session/9"), BRANCH).decode()
    assert repo.head() == head, "the checked-out branch does not move"
    assert repo.status() == ""
    assert not [call for call in bank.calls if call.startswith(("documents", "facts"))]


async def test_the_whole_run_afterwards_changes_no_page(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.retain("session/9", "The queue is called orders.\n", tags=["b", "a"])
    bank.retain("session/1", "ledgerline uses Postgres 17.\n")
    bank.delete("session/2")
    report = await touched(bank, repo, "session/9", "session/1", "session/2")
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    tree = repo.tree(f"{BRANCH}:wiki/demo")
    assert (await whole(bank, repo)).commit is None
    assert repo.tree(f"{BRANCH}:wiki/demo") == tree


async def test_twice_is_once(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.retain("session/9", "The queue is called orders.\n")
    one = await touched(bank, repo, "session/9")
    two = await touched(bank, repo, "session/9")
    assert one.commit and two.commit is None


async def test_what_was_sent_is_a_page_before_the_bank_has_it(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    await touched(bank, repo, Touched("session/9", "omo", Sent("The queue is called orders.", tags=("x",))))
    shown = repo.show(page(bank, "session/9").removesuffix(".md") + ".txt", BRANCH)
    assert shown == b"The queue is called orders.\n"
    bank.retain("session/9", "The queue is called orders.", tags=["x"])
    await touched(bank, repo, "session/9")
    text = repo.show(page(bank, "session/9"), BRANCH).decode()
    assert "The queue is called orders." in text and "omo" in text, "who wrote it stays"
    assert (await whole(bank, repo)).commit is None


async def test_what_is_appended_stands_behind_what_the_bank_has(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    await touched(bank, repo, Touched("session/2", None, Sent("And on Fridays.", append=True)))
    text = repo.show(page(bank, "session/2").removesuffix(".md") + ".txt", BRANCH)
    assert text == b"Deploys happen on Tuesdays.\n\nAnd on Fridays.\n"


async def test_a_retracted_fact_is_taken_back_again(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.invalidate("It runs on port 5433.")
    await sync(bank, repo.path, Options())
    bank.retain("session/1", "ledgerline uses Postgres 16.\nIt runs on port 5433.\nIt has a replica.\n")
    assert [f.live for f in bank.fact_rows.values() if f.text == "It runs on port 5433."] == [True]
    report = await touched(bank, repo, "session/1")
    assert [f.live for f in bank.fact_rows.values() if f.text == "It runs on port 5433."] == [False]
    assert report.sent == 1
    assert (await whole(bank, repo)).commit is None


async def test_a_mark_that_waits_on_the_page_stays(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.retain("session/1", "ledgerline uses Postgres 16.\nIt runs on port 5433.\nOne.\n")
    await touched(bank, repo, "session/1")
    repo.git("checkout", "-q", "mirror/demo")
    path = page(bank, "session/1")
    lines = (repo.path / path).read_text(encoding="utf-8").splitlines(keepends=True)
    marked = [f"- [ ] {line[2:]}" if line.startswith("- It runs on port") else line for line in lines]
    assert marked != lines
    repo.write(path, "".join(marked))
    repo.commit_all("take it back")
    repo.git("checkout", "-q", "main")
    bank.retain("session/1", "ledgerline uses Postgres 16.\nIt runs on port 5433.\nOne.\nTwo.\n")
    await touched(bank, repo, "session/1")
    shown = repo.show(path, BRANCH).decode()
    assert "- [ ] It runs on port 5433." in shown and "Two." in shown
    assert all(f.live for f in bank.fact_rows.values()), "only the default branch is carried out"


async def test_a_bank_without_a_wiki_is_refused(repo: Repo, bank: FakeBank) -> None:
    head = repo.head()
    with pytest.raises(NotBound, match="no wiki of bank 'demo'"):
        await touched(bank, repo, "session/1")
    assert repo.head() == head and repo.git("branch", "--list", "mirror/*") == ""


async def test_another_bank_of_that_name_is_refused(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.created_at = "2026-11-30T00:00:00+00:00"
    with pytest.raises(NotBound, match="another bank of the same name"):
        await touched(bank, repo, "session/1")
    assert repo.git("branch", "--list", "mirror/*") == ""


async def test_waits_for_nobody(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    with held(repo.path / ".git", "demo"), pytest.raises(Locked):
        await touched(bank, repo, "session/1")


async def test_a_document_with_a_secret_is_withheld(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    secret = "ghp_" + "Zq8Lw2Rn5Tx7Vb3Kd9Hs1Jf4Pc6Mg0Ya2UeX"
    bank.retain("session/9", f"The token is {secret}.\n")
    await touched(bank, repo, "session/9")
    await touched(bank, repo, Touched("session/10", None, Sent(f"The token is {secret}.")))
    assert secret not in repo.git("grep", "-h", "", BRANCH, "--", "wiki")


async def test_the_label_of_a_document_that_nobody_wrote_again_stays(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    await touched(bank, repo, Touched("session/1", "codex"))
    bank.docs["session/1"] = replace(bank.docs["session/1"], tags=("later",))
    await touched(bank, repo, Touched("session/1"))
    assert "codex" in repo.show(page(bank, "session/1"), BRANCH).decode()


async def test_one_document_after_another_keeps_the_pages_before_it(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    for number in (7, 8, 9):
        bank.retain(f"session/{number}", f"The queue is called orders {number}.\n")
        report = await touched(bank, repo, f"session/{number}")
        assert (report.added, report.restored) == (1, 0)
    bank.retain("session/8", "The queue is called jobs.\n")
    report = await touched(bank, repo, "session/8")
    assert (report.changed, report.restored) == (1, 0)
    tree = repo.tree(f"{BRANCH}:wiki/demo")
    assert (await whole(bank, repo)).commit is None
    assert repo.tree(f"{BRANCH}:wiki/demo") == tree


async def test_what_else_the_default_branch_got_is_kept(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.retain("session/7", "The queue is called orders.\n")
    await touched(bank, repo, "session/7")
    repo.write("src/new.py", "x = 1\n")
    repo.commit_all("work goes on")
    bank.retain("session/8", "The queue is called jobs.\n")
    await touched(bank, repo, "session/8")
    assert repo.show("src/new.py", BRANCH) == b"x = 1\n"
    assert b"orders" in repo.show(page(bank, "session/7"), BRANCH)
    assert repo.git("diff", "--name-only", "main", "mirror/demo", "--", ":!wiki") == ""


async def test_where_both_branches_changed_the_wiki_the_whole_bank_is_looked_at(
    repo: Repo, bank: FakeBank
) -> None:
    await first(bank, repo)
    bank.retain("session/7", "The queue is called orders.\n")
    await touched(bank, repo, "session/7")
    bank.retain("session/8", "The queue is called jobs.\n")
    await sync(bank, repo.path, Options())  # on the default branch, both documents
    bank.retain("session/9", "The queue is called mails.\n")
    await touched(bank, repo, "session/9")
    for number, word in ((7, b"orders"), (8, b"jobs"), (9, b"mails")):
        assert word in repo.show(page(bank, f"session/{number}"), BRANCH)
    assert (await whole(bank, repo)).commit is None


async def test_after_the_merge_the_pages_go_on_from_the_default_branch(repo: Repo, bank: FakeBank) -> None:
    await first(bank, repo)
    bank.retain("session/7", "The queue is called orders.\n")
    await touched(bank, repo, "session/7")
    repo.git("merge", "-q", "--no-ff", "-m", "what agents learned", "mirror/demo")
    bank.retain("session/8", "The queue is called jobs.\n")
    report = await touched(bank, repo, "session/8")
    assert (report.added, report.restored) == (1, 0)
    assert b"orders" in repo.show(page(bank, "session/7"), BRANCH)

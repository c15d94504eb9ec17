"""Pushing: without force, lost races planned again, refusals said in one line."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from mirror.errors import Behind, MirrorError, Protected, PushRefused, SecretsFound
from mirror.paths import page_name
from mirror.source import Rows
from mirror.sync import REPLANS, Options, Report, sync
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank

PUSH = Options(first=True, branch=True, push=True)
TREE = Options(first=True, push=True)
MIRROR = "refs/heads/mirror/demo"
PORT = "It runs on port 5433."


class Remote:
    """A bare repository and its clones."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = Repo(root / "origin.git")
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.repo.path)], check=True)
        seed = make_repo(root / "seed")
        seed.write("code.py", "print('hello')\n")
        seed.commit_all("first")
        seed.git("push", "-q", str(self.repo.path), "main")

    def clone(self, name: str) -> Repo:
        path = self.root / name
        subprocess.run(["git", "clone", "-q", str(self.repo.path), str(path)], check=True)
        made = Repo(path)
        made.git("config", "user.name", name)
        made.git("config", "user.email", f"{name}@example.org")
        return made

    def tip(self, ref: str) -> str:
        return self.repo.git("rev-parse", "--verify", "-q", ref, check=False).strip()

    def hook(self, name: str, script: str) -> None:
        file = self.repo.path / "hooks" / name
        file.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
        file.chmod(0o755)

    def refuse(self, said: str, *, only: str = "*") -> None:
        """Answer pushes to a ref as a server does."""
        (self.repo.path / "said.txt").write_text(said, encoding="utf-8")
        self.hook("update", f'case "$1" in {only}) cat said.txt >&2; exit 1;; esac\n')


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path)


async def run(bank: FakeBank, repo: Repo, options: Options = PUSH) -> Report:
    return await sync(bank, repo.path, options)


def page(document_id: str) -> str:
    return f"wiki/demo/{page_name('demo', document_id).page}"


def text(repo: Repo, document_id: str, rev: str) -> str:
    return repo.show(page(document_id), rev).decode()


def once_while_listing(bank: FakeBank, act: Callable[[], None], *, times: int = 1) -> None:
    """Do something in the middle of the next ``times`` runs, after the tips were read."""
    left = [times]

    def hook(offset: int, rows: Rows) -> Rows:
        if offset == 0 and left[0]:
            left[0] -= 1
            act()
        return rows

    bank.on_documents = hook


def tick(repo: Repo, document_id: str, fact: str) -> None:
    file = repo.path / page(document_id)
    before = file.read_text(encoding="utf-8")
    assert f"\n- {fact}" in before
    file.write_text(before.replace(f"\n- {fact}", f"\n- [ ] {fact}"), encoding="utf-8", newline="\n")


class TestFirstImport:
    async def test_lands_on_the_default_branch_itself(self, remote: Remote, bank: FakeBank) -> None:
        runner = remote.clone("runner")
        report = await run(bank, runner)
        assert (report.branch, report.pushed, report.differs) == ("main", True, False)
        assert remote.tip("refs/heads/main") == report.commit
        assert remote.tip(MIRROR) == ""
        assert page("session/1") in remote.repo.files("main")
        assert "code.py" in remote.repo.files("main")

    async def test_the_work_tree_stays_as_it_is(self, remote: Remote, bank: FakeBank) -> None:
        runner = remote.clone("runner")
        head = runner.head()
        await run(bank, runner)
        assert (runner.head(), runner.status()) == (head, "")

    async def test_a_protected_branch_gets_a_reason_and_the_mirrors_own_branch(
        self, remote: Remote, bank: FakeBank
    ) -> None:
        remote.refuse(GH006, only="refs/heads/main")
        before = remote.tip("refs/heads/main")
        report = await run(bank, remote.clone("runner"))
        assert (remote.tip("refs/heads/main"), remote.tip(MIRROR)) == (before, report.commit)
        assert report.branch == "mirror/demo"
        assert report.differs
        assert "could not land on main, the branch is protected" in report.notes[0]

    async def test_later_runs_go_to_the_mirrors_branch(self, remote: Remote, bank: FakeBank) -> None:
        runner = remote.clone("runner")
        main = (await run(bank, runner)).commit
        bank.retain("new", "Something new.\n")
        report = await run(bank, runner)
        assert (report.branch, report.pushed, report.differs) == ("mirror/demo", True, True)
        assert (remote.tip("refs/heads/main"), remote.tip(MIRROR)) == (main, report.commit)

    async def test_nothing_new_pushes_nothing(self, remote: Remote, bank: FakeBank) -> None:
        runner = remote.clone("runner")
        await run(bank, runner)
        report = await run(bank, runner)
        assert (report.commit, report.pushed, remote.tip(MIRROR)) == (None, False, "")


class TestRaces:
    async def test_c20_two_runners_from_one_tip(self, remote: Remote, bank: FakeBank) -> None:
        first, second = remote.clone("first"), remote.clone("second")
        await run(bank, first)
        bank.retain("a", "Seen by both.\n")

        def the_other_runner() -> None:
            # A whole run of the second runner between the first one's look at the tip and its push.
            thread = threading.Thread(target=lambda: asyncio.run(run(quiet, second)))
            thread.start()
            thread.join()
            bank.retain("b", "Only seen by the first.\n")

        quiet = FakeBank()
        quiet.__dict__.update({**bank.__dict__, "on_documents": None, "docs": dict(bank.docs)})
        once_while_listing(bank, the_other_runner)
        report = await run(bank, first)
        assert report.tries == 2
        tip = remote.tip(MIRROR)
        assert tip == report.commit
        files = remote.repo.files(MIRROR)
        assert page("a") in files
        assert page("b") in files
        # Linear: every tip of the mirror's branch follows from the one before.
        spine = remote.repo.git("rev-list", "--first-parent", MIRROR).split()
        assert len(spine) == 4
        markers = remote.repo.git("grep", "-l", "<<<<<<<", MIRROR, check=False)
        assert markers == ""

    async def test_a_lost_commit_stays_on_no_branch(self, remote: Remote, bank: FakeBank) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        await run(bank, runner)
        bank.retain("a", "One.\n")
        await run(bank, runner)
        bank.retain("b", "Two.\n")
        person.git("fetch", "-q")
        person.git("switch", "-q", "mirror/demo")

        def push_now() -> None:
            person.write("note.md", "mine\n")
            person.commit_all("A person's note")
            person.git("push", "-q")

        once_while_listing(bank, push_now)
        report = await run(bank, runner)
        assert report.tries == 2
        assert runner.git("rev-parse", MIRROR).strip() == remote.tip(MIRROR) == report.commit
        # Nothing that this run made and lost is reachable here.
        assert runner.git("rev-list", "--all", "--count") == remote.repo.git("rev-list", "--all", "--count")

    async def test_gives_up_after_three_and_can_be_repeated(self, remote: Remote, bank: FakeBank) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        await run(bank, runner)
        bank.retain("a", "One.\n")
        await run(bank, runner)
        bank.retain("b", "Two.\n")
        person.git("fetch", "-q")
        person.git("switch", "-q", "mirror/demo")
        local = runner.git("rev-parse", MIRROR)

        def push_now() -> None:
            person.git("commit", "-q", "--allow-empty", "-m", "again")
            person.git("push", "-q")

        once_while_listing(bank, push_now, times=REPLANS)
        with pytest.raises(MirrorError, match="moved 3 times"):
            await run(bank, runner)
        assert runner.git("rev-parse", MIRROR) == local
        report = await run(bank, runner)
        assert (report.tries, report.commit) == (1, remote.tip(MIRROR))

    async def test_what_a_lost_round_sent_is_still_named(self, remote: Remote, bank: FakeBank) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        await run(bank, runner)
        person.git("pull", "-q")
        tick(person, "session/1", PORT)
        person.commit_all("Take back the port (#7)")
        person.git("push", "-q")

        def push_now() -> None:
            person.git("commit", "-q", "--allow-empty", "-m", "mine")
            person.git("push", "-q", "origin", "HEAD:refs/heads/mirror/demo")

        once_while_listing(bank, push_now)
        report = await run(bank, runner)
        assert report.tries == 2
        assert (report.sent, [a.key for a in report.actions]) == (1, [report.actions[0].key])
        assert "retracted -->" in text(remote.repo, "session/1", MIRROR)


class TestPeople:
    async def test_c12_a_branch_edited_by_a_person_is_merged_on_top(
        self, remote: Remote, bank: FakeBank
    ) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        await run(bank, runner)
        bank.retain("a", "One.\n")
        await run(bank, runner)
        person.git("fetch", "-q")
        person.git("switch", "-q", "mirror/demo")
        tick(person, "session/1", PORT)
        theirs = person.commit_all("Not so")
        person.git("push", "-q")
        bank.retain("b", "Two.\n")
        report = await run(bank, runner)
        assert remote.repo.git("merge-base", "--is-ancestor", theirs, MIRROR) == ""
        assert f"- [ ] {PORT}" in text(remote.repo, "session/1", MIRROR)
        assert page("b") in remote.repo.files(MIRROR)
        assert (report.pushed, PORT in {f.text for f in bank.fact_rows.values() if f.live}) == (True, True)

    async def test_two_that_went_different_ways_are_brought_together(
        self, remote: Remote, bank: FakeBank
    ) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        await run(bank, runner)
        bank.retain("a", "One.\n")
        await run(bank, runner)
        person.git("fetch", "-q")
        person.git("switch", "-q", "mirror/demo")
        tick(person, "session/1", PORT)
        theirs = person.commit_all("Not so")
        person.git("push", "-q")
        bank.retain("b", "Two.\n")
        ours = (await run(bank, runner, Options(branch=True, offline=True))).commit
        report = await run(bank, runner)
        assert report.commit == remote.tip(MIRROR) == runner.git("rev-parse", MIRROR).strip()
        for side in (theirs, ours):
            assert remote.repo.git("merge-base", "--is-ancestor", str(side), MIRROR) == ""
        assert f"- [ ] {PORT}" in text(remote.repo, "session/1", MIRROR)
        assert (await run(bank, runner)).commit is None

    async def test_a_branch_that_was_merged_and_deleted_is_made_anew(
        self, remote: Remote, bank: FakeBank
    ) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        await run(bank, runner)
        bank.retain("a", "One.\n")
        await run(bank, runner)
        person.git("pull", "-q")
        person.git("merge", "-q", "--squash", "origin/mirror/demo")
        person.git("commit", "-q", "-m", "Memory (#3)")
        person.git("push", "-q", "origin", "main", ":mirror/demo")
        report = await run(bank, runner)
        assert (report.commit, report.differs, remote.tip(MIRROR)) == (None, False, "")
        bank.retain("b", "Two.\n")
        report = await run(bank, runner)
        assert remote.tip(MIRROR) == report.commit


class TestWorkTree:
    async def test_pushes_the_default_branch(self, remote: Remote, bank: FakeBank) -> None:
        runner = remote.clone("runner")
        report = await run(bank, runner, TREE)
        assert remote.tip("refs/heads/main") == runner.head() == report.commit
        assert (report.pushed, runner.status()) == (True, "")

    async def test_a_lost_race_fast_forwards_and_plans_again(self, remote: Remote, bank: FakeBank) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")

        def push_now() -> None:
            person.write("other.py", "x = 1\n")
            person.commit_all("Work")
            person.git("push", "-q")

        once_while_listing(bank, push_now)
        report = await run(bank, runner, TREE)
        assert (report.tries, runner.head(), runner.status()) == (2, remote.tip("refs/heads/main"), "")
        assert (runner.path / "other.py").exists()
        assert remote.repo.git("rev-list", "--merges", "--count", "main").strip() == "0"

    async def test_own_commits_that_would_be_rewound_stop_it(self, remote: Remote, bank: FakeBank) -> None:
        runner, person = remote.clone("runner"), remote.clone("person")
        runner.write("mine.py", "y = 1\n")
        mine = runner.commit_all("Mine, not pushed")

        def push_now() -> None:
            person.write("other.py", "x = 1\n")
            person.commit_all("Work")
            person.git("push", "-q")

        once_while_listing(bank, push_now)
        with pytest.raises(Behind, match="git pull --rebase origin main"):
            await run(bank, runner, TREE)
        assert (runner.head(), runner.status()) == (mine, "")

    async def test_own_commits_that_go_along_are_named(self, remote: Remote, bank: FakeBank) -> None:
        runner = remote.clone("runner")
        runner.write("mine.py", "y = 1\n")
        runner.commit_all("Mine, not pushed")
        report = await run(bank, runner, TREE)
        assert report.notes == ["1 earlier commits of main were pushed with it"]

    async def test_a_run_that_was_not_pushed_is_pushed_by_the_next(
        self, remote: Remote, bank: FakeBank
    ) -> None:
        runner = remote.clone("runner")
        first = await run(bank, runner, Options(first=True))
        assert remote.tip("refs/heads/main") != first.commit
        report = await run(bank, runner, TREE)
        assert (report.commit, report.pushed) == (None, True)
        assert remote.tip("refs/heads/main") == first.commit


GH006 = """error: GH006: Protected branch update failed for refs/heads/main.
error: Changes must be made through a pull request.
"""
GH013_RULES = """error: GH013: Repository rule violations found for refs/heads/main.
Review all repository rules at https://github.com/o/r/rules?ref=refs%2Fheads%2Fmain

- Commits must have verified signatures.
- Changes must be made through a pull request.
"""
GH013_SECRET = """error: GH013: Repository rule violations found for refs/heads/mirror/demo.

- GITHUB PUSH PROTECTION
  —————————————————————————————————————————
    Resolve the following violations before pushing again

    - Push cannot contain secrets

      —— GitHub Personal Access Token ——————————————————————
       locations:
         - commit: 0123456789012345678901234567890123456789
           path: wiki/demo/pages/aa/x--0011223344556677.txt:12

       (?) To push, remove secret from commit(s) or follow this URL to allow the secret.
       https://github.com/o/r/security/secret-scanning/unblock-secret/2abc

      —— Slack API Token ———————————————————————————————————
       locations:
         - commit: 0123456789012345678901234567890123456789
           path: wiki/demo/pages/bb/y--0011223344556677.txt:3
"""
GITLEAKS = "gitleaks: leaked secret\nFinding: token = ghp_THEVALUE\nFile: wiki/demo/pages/aa/x.txt\n"

REFUSALS: Sequence[tuple[str, type[MirrorError], int, str]] = (
    (
        GH006,
        Protected,
        1,
        "the branch is protected: Changes must be made through a pull request (mirror/demo on origin)",
    ),
    (
        GH013_RULES,
        Protected,
        1,
        "Commits must have verified signatures; Changes must be made through a pull request",
    ),
    (
        GH013_SECRET,
        SecretsFound,
        6,
        "GitHub Personal Access Token in wiki/demo/pages/aa/x--0011223344556677.txt:12; "
        "Slack API Token in wiki/demo/pages/bb/y--0011223344556677.txt:3",
    ),
    (GITLEAKS, SecretsFound, 6, "a secret in wiki/demo/pages/aa/x.txt"),
    (
        "GitLab: You are not allowed to push code to protected branches on this project.\n",
        Protected,
        1,
        "protected",
    ),
    (
        "error: the disk of the server is full\n",
        PushRefused,
        1,
        "hook declined; error: the disk of the server is full",
    ),
)


class TestRefused:
    @pytest.mark.parametrize(("said", "kind", "code", "words"), REFUSALS, ids=range(len(REFUSALS)))
    async def test_in_one_line(
        self, remote: Remote, bank: FakeBank, said: str, kind: type[MirrorError], code: int, words: str
    ) -> None:
        runner = remote.clone("runner")
        await run(bank, runner)
        bank.retain("a", "One.\n")
        remote.refuse(said)
        with pytest.raises(kind) as caught:
            await run(bank, runner)
        line = str(caught.value)
        assert caught.value.exit_code == code
        assert words in line
        assert line.isprintable()
        assert "THEVALUE" not in line
        # Nothing is kept of it, and the next run goes through once the server takes it.
        assert runner.git("rev-parse", "-q", "--verify", MIRROR, check=False) == ""
        (remote.repo.path / "hooks" / "update").unlink()
        report = await run(bank, runner)
        assert remote.tip(MIRROR) == report.commit

    async def test_no_remote(self, repo: Repo, bank: FakeBank) -> None:
        with pytest.raises(MirrorError, match="nowhere to push to"):
            await run(bank, repo, TREE)
        assert repo.files(folder="wiki") == []


_RUN = """
import asyncio, sys
from pathlib import Path
from mirror.sync import Options, sync
from tests.mirror.fakebank import FakeBank
bank = FakeBank(bank_id=sys.argv[2])
for n in range(5):
    bank.retain(f"doc/{n}", f"Fact {n} of {sys.argv[2]}.\\n")
sys.stdin.readline()
report = asyncio.run(sync(bank, Path(sys.argv[1]), Options(first=True, branch=True, push=True)))
print(report.branch, report.tries)
"""


class TestProcesses:
    """Real processes, started together."""

    def start(self, clones: Mapping[str, Repo]) -> list[tuple[int, str, str]]:
        running = [
            subprocess.Popen(
                [sys.executable, "-c", _RUN, str(repo.path), bank_id],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[2],
            )
            for bank_id, repo in clones.items()
        ]
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        found = [process.communicate(timeout=120) for process in running]
        return [(p.returncode, out, err) for p, (out, err) in zip(running, found, strict=True)]

    def test_three_first_imports_into_one_branch_all_land(self, remote: Remote) -> None:
        banks = ("alpha", "beta", "gamma")
        done = self.start({name: remote.clone(name) for name in banks})
        assert [(code, err) for code, _, err in done] == [(0, "")] * 3
        files = remote.repo.files("main")
        for name in banks:
            assert len([f for f in files if f.startswith(f"wiki/{name}/pages/") and f.endswith(".md")]) == 5
        assert remote.repo.git("rev-list", "--merges", "--count", "main").strip() == "0"
        assert remote.repo.git("rev-list", "--count", "main").strip() == "4"

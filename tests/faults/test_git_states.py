"""Git states that a sync meets: it works, or one line says what, where and what to do, and nothing moved."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mirror.errors import Behind, GitFailed, Locked, MirrorError, NotARepository, NotBound
from mirror.paths import page_name
from mirror.sync import Options, Report, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank

FIRST = Options(first=True)
BRANCH = Options(first=True, branch=True)
PAGE = f"wiki/demo/{page_name('demo', 'session/1').page}"
TEXT = PAGE.removesuffix(".md") + ".txt"


async def run(bank: FakeBank, repo: Repo, options: Options = FIRST) -> Report:
    return await sync(bank, repo.path, options)


async def works(bank: FakeBank, repo: Repo, options: Options = FIRST) -> None:
    """A sync, another that has nothing to do, and no difference to the bank."""
    report = await run(bank, repo, options)
    assert report.commit is not None
    assert (await run(bank, repo, options)).commit is None
    assert (await verify(bank, repo.path, options)).differences == []
    assert "fatal" not in repo.git("fsck")


async def refused(
    bank: FakeBank, repo: Repo, kind: type[MirrorError], words: str, options: Options = FIRST
) -> None:
    """One line, and refs, index and files as they were."""
    before = (repo.git("for-each-ref", check=False), repo.status())
    with pytest.raises(kind, match=words) as caught:
        await run(bank, repo, options)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert (repo.git("for-each-ref", check=False), repo.status()) == before


def with_remote(repo: Repo, tmp_path: Path) -> Repo:
    bare = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    repo.git("remote", "add", "origin", str(bare))
    repo.git("push", "-q", "-u", "origin", "main")
    return Repo(bare)


def clone(source: Repo, path: Path, *options: str) -> Repo:
    subprocess.run(["git", "clone", "-q", *options, f"file://{source.path}", str(path)], check=True)
    made = Repo(path)
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@example.org")
    return made


class TestSettings:
    """What a user or a machine may have configured."""

    @pytest.mark.parametrize(
        "config",
        [
            ("commit.gpgsign", "true"),
            ("user.useConfigOnly", "true"),
            ("core.autocrlf", "true"),
            ("core.autocrlf", "input"),
            ("core.eol", "crlf"),
            ("core.safecrlf", "true"),
            ("core.ignorecase", "true"),
            ("core.quotePath", "true"),
            ("core.precomposeUnicode", "true"),
            ("core.fsmonitor", "false"),
            ("core.untrackedCache", "true"),
            ("core.splitIndex", "true"),
            ("index.version", "4"),
            ("feature.manyFiles", "true"),
            ("status.showUntrackedFiles", "no"),
            ("status.renames", "copies"),
            ("status.relativePaths", "true"),
            ("diff.noprefix", "true"),
            ("diff.external", "false"),
            ("log.showSignature", "true"),
            ("color.ui", "always"),
            ("i18n.commitEncoding", "ISO-8859-1"),
            ("core.logAllRefUpdates", "always"),
            ("core.sharedRepository", "group"),
            ("fetch.prune", "true"),
            ("extensions.worktreeConfig", "true"),
        ],
        ids="=".join,
    )
    @pytest.mark.parametrize("options", [FIRST, BRANCH], ids=["tree", "branch"])
    async def test_works_under(
        self, repo: Repo, bank: FakeBank, config: tuple[str, str], options: Options
    ) -> None:
        repo.git("config", *config)
        await works(bank, repo, options)
        assert repo.status() == ""

    async def test_no_identity(self, repo: Repo, bank: FakeBank) -> None:
        repo.git("config", "--unset", "user.name")
        repo.git("config", "--unset", "user.email")
        repo.git("config", "user.useConfigOnly", "true")
        await works(bank, repo)
        assert (
            repo.git("log", "-1", "--format=%an <%ae>").strip() == "memory-console <memory-console@localhost>"
        )

    @pytest.mark.parametrize("name", ["J\udcf6rg", "Ada <x> \n", "<>", " ", "Zoë 團"])
    async def test_any_identity(
        self, repo: Repo, bank: FakeBank, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_AUTHOR_NAME", name)
        monkeypatch.setenv("GIT_AUTHOR_EMAIL", name)
        await works(bank, repo)

    async def test_hooks_are_not_run(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        hooks = tmp_path / "hooks"
        hooks.mkdir()
        for name in ("pre-commit", "commit-msg", "post-commit", "pre-push", "post-checkout", "post-merge"):
            (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\nexit 1\n", encoding="utf-8")
            (hooks / name).chmod(0o755)
        repo.git("config", "core.hooksPath", str(hooks))
        await works(bank, repo)
        assert list(tmp_path.glob("ran-*")) == []

    async def test_a_hook_that_declines_is_told(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain("session/3", "More.\n")
        hook = repo.path / ".git/hooks/reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text('#!/bin/sh\ngrep -q refs/heads/ && [ "$1" = prepared ] && exit 1\nexit 0\n', "utf-8")
        hook.chmod(0o755)
        await refused(bank, repo, GitFailed, "update-ref refs/heads/main failed")

    @pytest.mark.parametrize("name", ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY"])
    async def test_the_environment_of_a_hook_leads_nowhere(
        self, repo: Repo, bank: FakeBank, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = make_repo(tmp_path / "other")
        there = {"GIT_INDEX_FILE": ".git/index", "GIT_WORK_TREE": "", "GIT_OBJECT_DIRECTORY": ".git/objects"}
        monkeypatch.setenv(name, str(other.path / there.get(name, ".git")))
        report = await run(bank, repo)
        monkeypatch.delenv(name, raising=False)
        assert report.commit == repo.head()
        assert repo.status() == ""
        assert other.files("4b825dc642cb6eb9a060e54bf8d69288fbee4904") == []
        assert other.git("count-objects").startswith("0 objects")

    async def test_pathspec_settings_change_nothing(
        self, repo: Repo, bank: FakeBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_ICASE_PATHSPECS", "1")
        await works(bank, repo, replace(FIRST, wiki="wi[k]i*"))

    @pytest.mark.parametrize("pattern", ["*.md", "*.txt", "*.jsonl", "wiki/**"])
    async def test_a_filter_over_the_wiki_is_refused(self, repo: Repo, bank: FakeBank, pattern: str) -> None:
        repo.write(".gitattributes", f"{pattern} filter=lfs diff=lfs merge=lfs -text\n")
        repo.commit_all()
        await refused(bank, repo, MirrorError, "git filter")

    async def test_another_encoding_over_the_wiki_is_refused(self, repo: Repo, bank: FakeBank) -> None:
        repo.write(".gitattributes", "*.md working-tree-encoding=UTF-16\n")
        repo.commit_all()
        await refused(bank, repo, MirrorError, "git filter")

    async def test_a_broken_config_is_one_line(self, repo: Repo, bank: FakeBank) -> None:
        (repo.path / ".git/config").write_text("[core\nnonsense", encoding="utf-8")
        with pytest.raises(MirrorError, match="config") as caught:
            await run(bank, repo)
        assert "\n" not in str(caught.value)


class TestKindsOfRepository:
    async def test_depth_one_clone(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        await run(bank, repo)
        repo.write("more.py", "x = 1\n")
        repo.commit_all()
        shallow = clone(repo, tmp_path / "shallow", "--depth=1")
        bank.retain("session/3", "More.\n")
        await works(bank, shallow)

    async def test_depth_one_clone_on_the_mirrors_branch(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        """The common commit is beyond the cut: without it a record that only the branch holds would be lost."""
        await run(bank, repo)
        bank.invalidate("It runs on port 5433.")
        remote = with_remote(repo, tmp_path)
        await run(bank, repo, BRANCH)
        repo.git("push", "-q", "origin", "mirror/demo")
        repo.write("more.py", "x = 1\n")
        repo.commit_all()
        repo.git("push", "-q", "origin", "main")
        bank.retain("session/1", "ledgerline uses Postgres 16.\nIt runs on port 5433.\n")  # forgets
        shallow = clone(remote, tmp_path / "shallow", "--depth=1", "--branch=main")
        await run(bank, shallow, BRANCH)
        assert "It runs on port 5433." not in {f.text for f in bank.fact_rows.values() if f.live}

    async def test_linked_work_tree(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        repo.git("checkout", "-q", "-b", "feature")
        repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")
        linked = Repo(tmp_path / "linked")
        await works(bank, linked)
        assert linked.status() == repo.status() == ""
        assert (linked.path / PAGE).is_file()

    async def test_linked_work_tree_of_another_branch(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        repo.git("remote", "add", "origin", str(repo.path))
        repo.git("fetch", "-q", "origin")
        repo.git("remote", "set-head", "origin", "main")
        repo.git("worktree", "add", "-q", "-b", "feature", str(tmp_path / "linked"))
        linked = Repo(tmp_path / "linked")
        await refused(bank, linked, Behind, "on feature, the default branch is main")
        await works(bank, linked, BRANCH)
        assert linked.status() == ""

    async def test_a_submodule_at_the_path(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        other = make_repo(tmp_path / "other")
        other.write("x", "y")
        other.commit_all()
        repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "wiki")
        repo.git("commit", "-qm", "submodule")
        await refused(bank, repo, NotBound, "a submodule stands where the wiki")
        await refused(bank, repo, NotBound, "a submodule stands where the wiki", BRANCH)

    async def test_inside_a_submodule(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        other = make_repo(tmp_path / "other")
        other.write("x", "y")
        other.commit_all()
        repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub")
        repo.git("commit", "-qm", "submodule")
        await works(bank, Repo(repo.path / "sub"), replace(FIRST, offline=True))

    async def test_another_repository_at_the_path(self, repo: Repo, bank: FakeBank) -> None:
        make_repo(repo.path / "wiki")
        await refused(bank, repo, MirrorError, "another git repository")

    @pytest.mark.parametrize("kind", ["file", "link", "ignored"])
    @pytest.mark.parametrize("where", ["wiki", "wiki/demo", "wiki/demo/pages"])
    async def test_something_stands_where_a_folder_should(
        self, repo: Repo, bank: FakeBank, kind: str, where: str, tmp_path: Path
    ) -> None:
        if kind == "ignored":
            repo.write(".gitignore", f"/{where}\n")
            repo.commit_all()
        place = repo.path / where
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            place.symlink_to(tmp_path, target_is_directory=True)
        else:
            place.write_text("mine", encoding="utf-8")
        await refused(bank, repo, MirrorError, "stands where the wiki's folder should")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["work"]

    @pytest.mark.parametrize("where", ["wiki", "wiki/demo"])
    async def test_a_committed_link_where_the_folder_should_be(
        self, repo: Repo, bank: FakeBank, where: str, tmp_path: Path
    ) -> None:
        place = repo.path / where
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(tmp_path, target_is_directory=True)
        repo.commit_all()
        await refused(bank, repo, NotBound, "a symlink stands where the wiki")
        await refused(bank, repo, NotBound, "a symlink stands where the wiki", BRANCH)

    async def test_a_folder_where_a_page_should_be(self, repo: Repo, bank: FakeBank) -> None:
        repo.write(f"{PAGE}/mine.txt", "mine")
        await refused(bank, repo, MirrorError, "a folder stands where a file")

    async def test_bare(self, tmp_path: Path, bank: FakeBank) -> None:
        subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare.git")], check=True)
        with pytest.raises(NotARepository, match="bare"):
            await sync(bank, tmp_path / "bare.git", FIRST)

    async def test_inside_the_git_folder(self, repo: Repo, bank: FakeBank) -> None:
        try:
            await sync(bank, repo.path / ".git" / "refs", FIRST)
        except MirrorError as error:
            assert "\n" not in str(error)
        assert repo.git("fsck") == ""

    async def test_from_a_subfolder(self, repo: Repo, bank: FakeBank) -> None:
        repo.write("src/deep/x.py", "x")
        repo.commit_all()
        report = await sync(bank, repo.path / "src" / "deep", FIRST)
        assert report.folder == "wiki/demo"
        assert (repo.path / PAGE).is_file()
        assert repo.status() == ""

    async def test_sha256_names_are_refused(self, tmp_path: Path, bank: FakeBank) -> None:
        path = tmp_path / "new"
        done = subprocess.run(
            ["git", "init", "-q", "--object-format=sha256", "-b", "main", str(path)], capture_output=True
        )
        if done.returncode:
            pytest.skip("this git has no sha256")
        made = Repo(path)
        made.git("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x")
        await refused(bank, made, NotARepository, "sha256")

    async def test_a_ref_format_that_git_does_not_know(self, repo: Repo, bank: FakeBank) -> None:
        repo.git("config", "core.repositoryFormatVersion", "1")
        repo.git("config", "extensions.refStorage", "fromthefuture")
        with pytest.raises(NotARepository, match="git refuses") as caught:
            await run(bank, repo)
        assert "\n" not in str(caught.value)

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to give files away"
    )
    async def test_somebody_elses_repository(
        self, repo: Repo, bank: FakeBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        with pytest.raises(NotARepository, match="dubious ownership") as caught:
            await run(bank, repo)
        assert "\n" not in str(caught.value)
        assert not (repo.path / ".git/memory-console").exists()

    async def test_sparse_checkout(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        repo.write("src/x.py", "x")
        repo.commit_all()
        repo.git("sparse-checkout", "set", "--cone", "src")
        assert not (repo.path / PAGE).exists()
        bank.retain("session/3", "More.\n")
        await works(bank, repo)
        assert repo.status() == ""

    async def test_sparse_index(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        repo.write("src/x.py", "x")
        repo.commit_all()
        repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
        bank.retain("session/1", "Only this.\n")
        await works(bank, repo)
        assert repo.status() == ""

    @pytest.mark.parametrize("wiki", ["知識", "docs/café", "mémoire d'équipe", "a b", "x/[y]*", "Wiki"])
    async def test_any_folder_name(self, repo: Repo, bank: FakeBank, wiki: str) -> None:
        await works(bank, repo, replace(FIRST, wiki=wiki))
        assert repo.status() == ""

    @pytest.mark.parametrize(
        "wiki", [".", "./", "", "..", "-x", "a\nb", "a/.git/b", "wiki.", 'a"b', "a\udcffb", "GIT~1", "c:x"]
    )
    async def test_no_folder_name(self, repo: Repo, bank: FakeBank, wiki: str) -> None:
        await refused(bank, repo, MirrorError, "inside the repository", replace(FIRST, wiki=wiki))


class TestDirtyTree:
    async def test_staged_renames_and_changes_stay(self, repo: Repo, bank: FakeBank) -> None:
        repo.write("two.py", "print(2)\n" * 30)
        repo.commit_all()
        repo.git("mv", "two.py", "three.py")
        repo.write("code.py", "changed\n")
        repo.write("new.py", "new\n")
        repo.git("add", "new.py")
        before = repo.status()
        await run(bank, repo)
        assert repo.status() == before
        repo.git("commit", "-q", "-m", "mine")
        names = repo.git("show", "--name-only", "--no-renames", "--format=", "HEAD").split()
        assert sorted(names) == ["new.py", "three.py", "two.py"]

    async def test_a_page_that_was_renamed_in_the_index_is_left(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        repo.git("mv", PAGE, "wiki/demo/elsewhere.md")
        before = repo.status()
        bank.retain("session/1", "Changed.\n")
        report = await run(bank, repo)
        assert PAGE in report.skipped
        assert repo.status().splitlines() == before.splitlines()

    async def test_an_unfinished_merge_is_left(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        for branch, text in (("one", "1\n"), ("two", "2\n")):
            repo.git("checkout", "-q", "-b", branch, "main")
            repo.write(PAGE, text)
            repo.commit_all(branch)
        repo.git("checkout", "-q", "main")
        repo.git("merge", "-q", "--ff-only", "one")
        repo.git("merge", "-q", "two", check=False)
        before = repo.status()
        assert "u UU" in before
        bank.retain("session/2", "Changed.\n")
        await run(bank, repo)
        assert "u UU" in repo.status()
        assert repo.show(PAGE) == b"1\n"

    async def test_the_wikis_attributes_that_a_person_wrote_stay(self, repo: Repo, bank: FakeBank) -> None:
        mine = repo.write("wiki/.gitattributes", "*.png binary\n")
        await run(bank, repo)
        assert mine.read_text(encoding="utf-8") == "*.png binary\n"


class TestLocks:
    async def test_index_lock(self, repo: Repo, bank: FakeBank) -> None:
        (repo.path / ".git/index.lock").touch()
        await refused(bank, repo, Locked, "holds the index")

    @pytest.mark.parametrize(("ref", "options"), [("main", FIRST), ("mirror/demo", BRANCH)])
    async def test_ref_lock(self, repo: Repo, bank: FakeBank, ref: str, options: Options) -> None:
        lock = repo.path / f".git/refs/heads/{ref}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        repo.git("config", "core.filesRefLockTimeout", "50")
        await refused(bank, repo, Locked, "another git holds", options)

    async def test_a_branch_called_mirror(self, repo: Repo, bank: FakeBank) -> None:
        repo.git("branch", "mirror")
        await refused(bank, repo, GitFailed, "refs/heads/mirror'? exists", BRANCH)

    @pytest.mark.parametrize("moves", [1, 2, 3])
    async def test_the_branch_moves_during_the_run(
        self, repo: Repo, bank: FakeBank, moves: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from mirror.git import Repository

        honest = Repository.update_ref
        left = [moves]

        def moving(self: Repository, ref: str, new: str, old: str | None) -> bool:
            if ref == "refs/heads/main" and left[0]:
                left[0] -= 1
                repo.write("code.py", f"print({left[0]})\n")
                repo.commit_all("meanwhile")
            return honest(self, ref, new, old)

        monkeypatch.setattr(Repository, "update_ref", moving)
        if moves == 3:
            with pytest.raises(MirrorError, match="moved 3 times"):
                await run(bank, repo)
            assert repo.files(folder="wiki") == []
        else:
            report = await run(bank, repo)
            assert report.commit == repo.head()
            assert repo.show("code.py") == b"print(0)\n"
        assert repo.status() == ""


class TestRemotes:
    async def test_an_empty_remote(self, tmp_path: Path, bank: FakeBank) -> None:
        bare = tmp_path / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
        fresh = clone(Repo(bare), tmp_path / "fresh")
        await works(bank, fresh)

    async def test_a_remote_without_default_branch_is_no_guess(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        remote = with_remote(repo, tmp_path)
        remote.git("symbolic-ref", "HEAD", "refs/heads/gone")
        repo.git("checkout", "-q", "-b", "feature")
        await refused(bank, repo, MirrorError, "default branch cannot be told")
        repo.git("checkout", "-q", "main")
        await works(bank, repo, replace(FIRST, default_branch="main"))

    async def test_unreachable(self, repo: Repo, bank: FakeBank, tmp_path: Path) -> None:
        repo.git("remote", "add", "origin", str(tmp_path / "nowhere.git"))
        await refused(bank, repo, GitFailed, "--offline skips this")
        await works(bank, repo, replace(FIRST, offline=True))

    @pytest.mark.parametrize("options", [FIRST, BRANCH], ids=["tree", "branch"])
    async def test_offline_starts_nothing_that_speaks_to_a_remote(
        self, repo: Repo, bank: FakeBank, tmp_path: Path, options: Options
    ) -> None:
        marker = tmp_path / "asked"
        repo.git("remote", "add", "origin", f"ext::touch {marker}")
        repo.git("config", "protocol.ext.allow", "always")
        await works(bank, repo, replace(options, offline=True))
        assert not marker.exists()
        with pytest.raises(GitFailed):
            await run(bank, repo, options)
        assert marker.exists()  # the test can fail

    async def test_no_prompt_appears(
        self, repo: Repo, bank: FakeBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_server: str
    ) -> None:
        asked = tmp_path / "asked"
        program = tmp_path / "ask.sh"
        program.write_text(f"#!/bin/sh\ntouch {asked}\necho x\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("SSH_ASKPASS", str(program))
        monkeypatch.setenv("DISPLAY", ":9")
        repo.git("config", "core.askPass", str(program))
        repo.git("remote", "add", "origin", closed_server)
        with pytest.raises(GitFailed) as caught:
            await run(bank, repo)
        assert not asked.exists()
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("name", ["-x", "a..b", "*", "main:x", "main^", "a b", "x\n", "a\0b"])
    async def test_a_hostile_branch_setting(
        self, repo: Repo, bank: FakeBank, tmp_path: Path, name: str
    ) -> None:
        with_remote(repo, tmp_path)
        await refused(bank, repo, MirrorError, "no branch name", replace(FIRST, default_branch=name))

    @pytest.mark.parametrize(("stands", "asked"), [("développement", "de\u0301veloppement")])
    async def test_a_branch_in_another_normal_form(
        self, repo: Repo, bank: FakeBank, stands: str, asked: str
    ) -> None:
        repo.git("checkout", "-q", "-b", stands)
        await works(bank, repo, replace(FIRST, default_branch=asked))


@pytest.fixture
def closed_server() -> Iterator[str]:
    """Wants a password for everything."""

    class Closed(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Closed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://ada:hunter2@127.0.0.1:{server.server_port}/x.git"
    server.shutdown()

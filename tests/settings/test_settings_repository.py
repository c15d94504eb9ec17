"""The bank of a repository: the same for its worktrees and clones, another for another repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from console.settings.repository import find_repository, normalise_origin


def git(folder: Path, *words: str) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=environ)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "Ledger Line"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def bank(folder: Path) -> str | None:
    found = find_repository(folder)
    return None if found is None else found.bank


def test_the_name_is_the_folder_and_six_digits(repo: Path) -> None:
    name = bank(repo)
    assert name is not None
    assert name.startswith("ledger-line-")
    assert len(name) == len("ledger-line-") + 6


def test_a_folder_inside_and_a_linked_worktree_have_the_same_bank(repo: Path) -> None:
    (repo / "src" / "deep").mkdir(parents=True)
    git(repo, "worktree", "add", "-q", str(repo.parent / "other-name"))
    assert bank(repo / "src" / "deep") == bank(repo.parent / "other-name") == bank(repo)


def test_two_repositories_of_one_name_differ(repo: Path) -> None:
    other = repo.parent / "elsewhere" / repo.name
    other.mkdir(parents=True)
    git(other, "init", "-q")
    assert bank(other) != bank(repo)


def test_a_clone_elsewhere_with_the_same_origin_is_the_same_bank(repo: Path) -> None:
    other = repo.parent / "elsewhere" / repo.name
    other.mkdir(parents=True)
    git(other, "init", "-q")
    git(repo, "remote", "add", "origin", "https://user:token@github.com/acme/ledger.git")
    git(other, "remote", "add", "origin", "git@github.com:acme/ledger")
    assert bank(other) == bank(repo)


def test_a_worktree_of_a_bare_repository_and_a_submodule_are_found(repo: Path) -> None:
    bare = repo.parent / "tool.git"
    git(repo.parent, "clone", "-q", "--bare", str(repo), str(bare))
    git(bare, "worktree", "add", "-q", str(repo.parent / "one"), "-b", "one")
    git(bare, "worktree", "add", "-q", str(repo.parent / "two"), "-b", "two")
    assert bank(repo.parent / "one") == bank(repo.parent / "two")
    assert str(bank(repo.parent / "one")).startswith("tool-")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(bare), "sub")
    git(repo / "sub", "worktree", "add", "-q", str(repo.parent / "sub-two"), "-b", "three")
    assert bank(repo.parent / "sub-two") == bank(repo / "sub")
    assert bank(repo / "sub") != bank(repo)


def test_outside_and_inside_a_bare_one_there_is_none(repo: Path) -> None:
    assert bank(repo.parent) is None
    git(repo.parent, "init", "-q", "--bare", "bare")
    assert bank(repo.parent / "bare") is None


ORIGINS = [
    ("https://github.com/Acme/App.git", "github.com/Acme/App"),
    ("https://user:secret@GitHub.com:443/Acme/App/", "github.com/Acme/App"),
    ("git@github.com:Acme/App.git", "github.com/Acme/App"),
    ("ssh://git@github.com:22/Acme/App.git", "github.com/Acme/App"),
    ("ssh://git@host:2222/x.git", "host:2222/x"),
    ("host:x/y.git", "host/x/y"),
    ("file:///srv/git/x.git", "/srv/git/x"),
    ("/srv/git/x.git", "/srv/git/x"),
    ("../x.git", "/home/x"),
]


@pytest.mark.parametrize(("url", "plain"), ORIGINS)
def test_origins_have_one_spelling_and_no_credentials(url: str, plain: str) -> None:
    assert normalise_origin(url, Path("/home/repo")) == plain


@pytest.mark.parametrize(
    "folder", ["日本語", "..x..", "A" * 100, "a__b--c", "-"], ids=["cjk", "dots", "long", "runs", "dash"]
)
def test_every_folder_name_gives_a_slug_that_the_mirror_takes_as_it_is(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder / ".git").mkdir(parents=True)
    (tmp_path / folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    name = bank(tmp_path / folder)
    assert name is not None
    assert len(name) <= 40
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert "--" not in name

"""Throw-away git repositories, without any configuration of the machine."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mirror.fakebank import FakeBank


@dataclass
class Repo:
    """A work tree and a shorthand for git in it."""

    path: Path

    def git(self, *args: str, check: bool = True, data: bytes | None = None) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *args], capture_output=True, input=data, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr.decode()}")
        return done.stdout.decode("utf-8", "replace")

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
        return file

    def commit_all(self, message: str = "work") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def tree(self, rev: str = "HEAD") -> str:
        return self.git("rev-parse", rev if ":" in rev else f"{rev}^{{tree}}").strip()

    def files(self, rev: str = "HEAD", folder: str = "") -> list[str]:
        return [
            p
            for p in self.git("ls-tree", "-r", "-z", "--name-only", rev, "--", folder or ".").split("\0")
            if p
        ]

    def show(self, path: str, rev: str = "HEAD") -> bytes:
        return subprocess.run(
            ["git", "-C", str(self.path), "cat-file", "blob", f"{rev}:{path}"],
            capture_output=True,
            check=True,
        ).stdout

    def status(self) -> str:
        return self.git("status", "--porcelain=v2", "--untracked-files=all")


@pytest.fixture(autouse=True)
def _git_alone(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "none"))


def make_repo(path: Path) -> Repo:
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    repo.git("config", "commit.gpgsign", "false")
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """One commit on main, no remote."""
    made = make_repo(tmp_path / "work")
    made.write("code.py", "print('hello')\n")
    made.commit_all("first")
    return made


@pytest.fixture
def bank() -> FakeBank:
    made = FakeBank()
    made.retain(
        "session/1",
        "ledgerline uses Postgres 16.\nIt runs on port 5433.\n",
        tags=["harness:omo"],
        context="omo",
    )
    made.retain("session/2", "Deploys happen on Tuesdays.\n", metadata={"session_id": "s2"})
    made.retain("決定", "退款期限是三十天。\n資料庫用 Postgres。\n")
    return made

"""A repository that wants to harm: settings still load, no process starts, no byte is sent."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.settings import Settings, load_settings


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return folder


@pytest.fixture
def load(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Settings]:
    """Load settings where starting a process or opening a socket fails the test."""

    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"reached for the outside: {args}")

    def run() -> Settings:
        with monkeypatch.context() as patch:
            for name in ("Popen", "run"):
                patch.setattr(subprocess, name, forbidden)
            patch.setattr(os, "system", forbidden)
            patch.setattr(socket, "socket", forbidden)
            return load_settings(
                cwd=repo, environ={}, config_dir=repo.parent / "c", data_dir=repo.parent / "d"
            )

    return run


def _deep_keys() -> bytes:
    return b".".join([b"a"] * 10_000) + b" = 1"


CONTENTS = {
    "empty": b"",
    "binary": bytes(range(256)) * 8,
    "not utf-8": b"bank = '\xff\xfe'",
    "huge": b"bank = 'x'\n" + b"#" * 80_000,
    "nested arrays": b"a = " + b"[" * 60_000,
    "nested tables": b"a = " + b"{b=" * 10_000,
    "deep keys": _deep_keys(),
    "a long number": b"a = " + b"9" * 50_000,
    "escape sequences": b'"\\u001b]0;pwned\\u0007" = 1\nbank = "ok"',
    "every key, wrong types": b"bank = []\nwiki = 1\nbranch = {}\nprobes = 1\ntags = [[]]\npolicies = 1\nstore = 1\n",
    "many keys": b"".join(b"k%d = 1\n" % n for n in range(5_000)),
    "a bank with controls": b'bank = "\\u001b[2J"',
    "BOM and CRLF": b"\xef\xbb\xbfbank = 'b'\r\n",
}


@pytest.mark.parametrize("name", CONTENTS)
def test_no_content_stops_loading(load: Callable[[], Settings], repo: Path, name: str) -> None:
    (repo / ".console.toml").write_bytes(CONTENTS[name])
    settings = load()
    assert settings.address.kind == "sqlite"
    assert len(settings.warnings) <= 1
    assert all(len(line) < 1_000 and line.isprintable() for line in settings.warnings)


def test_random_bytes_never_stop_loading(load: Callable[[], Settings], repo: Path) -> None:
    chance = random.Random(7)
    pieces = [
        b"bank",
        b"=",
        b'"',
        b"[",
        b"]",
        b"{",
        b"}",
        b"\n",
        b"store",
        b"profile",
        b".",
        b"\x00",
        b"\xf0",
        b"1e9",
        b"#",
    ]
    for _ in range(300):
        (repo / ".console.toml").write_bytes(b"".join(chance.choices(pieces, k=chance.randint(1, 40))))
        assert load().address.kind == "sqlite"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are made differently there")
@pytest.mark.parametrize("name", [".console.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    "kind", ["link to a file", "dangling link", "link to itself", "pipe", "folder", "no permission", "device"]
)
def test_what_is_no_regular_file_is_not_opened(
    load: Callable[[], Settings], repo: Path, name: str, kind: str
) -> None:
    path, secret = repo / name, repo.parent / "secret.toml"
    secret.write_text('bank = "stolen"\n[tool.console]\nbank = "stolen"\n', encoding="utf-8")
    match kind:
        case "link to a file":
            path.symlink_to(secret)
        case "dangling link":
            path.symlink_to(repo / "nowhere")
        case "link to itself":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "no permission":
            path.write_text('bank = "b"', encoding="utf-8")
            path.chmod(0)
        case "device":
            path.symlink_to("/dev/zero")
    settings = load()
    assert settings.bank != "stolen"
    if name == ".console.toml" and not (kind == "no permission" and os.geteuid() == 0):
        assert "ignored" in settings.warnings[0]


GIT_FILES = {
    "points to a network share": "gitdir: //evil.example/share/.git",
    "points to a UNC path": "gitdir: \\\\evil.example\\share",
    "points to itself": "gitdir: .git",
    "points to /etc": "gitdir: /etc",
    "holds a NUL": "gitdir: a\0b",
    "is nonsense": "\x1b[31mhello",
    "is empty": "",
}


@pytest.mark.parametrize("name", GIT_FILES)
def test_a_git_pointer_leads_nowhere_bad(load: Callable[[], Settings], repo: Path, name: str) -> None:
    (repo / ".git" / "HEAD").unlink()
    (repo / ".git").rmdir()
    (repo / ".git").write_text(GIT_FILES[name], encoding="utf-8")
    assert load().repository is None


GIT_CONFIGS = {
    "includes a file": '[include]\n\tpath = /etc/passwd\n[remote "origin"]\n\turl = https://host/x\n',
    "runs programs": '[core]\n\tfsmonitor = touch pwned\n\tsshCommand = touch pwned\n[remote "origin"]\n\turl = ext::touch pwned\n',
    "is binary": "\x00\x01\x02" * 100,
    "is unfinished": '[remote "origin\n\turl',
    "holds escapes": '[remote "origin"]\n\turl = "https://u:p@host/\\"x\\u001b"\n',
    "is long": '[remote "origin"]\n\turl = https://host/' + "x" * 200_000,
}


@pytest.mark.parametrize("name", GIT_CONFIGS)
def test_a_git_configuration_starts_nothing(load: Callable[[], Settings], repo: Path, name: str) -> None:
    (repo / ".git" / "config").write_text(GIT_CONFIGS[name], encoding="utf-8")
    bank = load().bank
    assert bank.startswith("repo-")
    assert len(bank) == len("repo-") + 6
    assert not (repo / "pwned").exists()

"""A console in a throw-away home: every test starts without settings, store or repository."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from console.cli import main


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one JSON value that it has to be."""
        return json.loads(self.out)


Console = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that is also the current one; the environment is clean."""
    root = tmp_path.resolve()
    for name in list(os.environ):
        if name.startswith(("CONSOLE_", "HINDSIGHT_", "XDG_", "GIT_")) and name != "CONSOLE_REQUIRE_SERVER":
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "COLUMNS", "EDITOR", "VISUAL", "PAGER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.setenv("USERPROFILE", str(root))
    monkeypatch.setenv("LOCALAPPDATA", str(root / "appdata"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def console(home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Console:
    """Run the program in this process: ``console("recall", "port")``."""

    def run(*words: str, stdin: bytes | None = b"") -> Ran:
        source = None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", source)
        capfd.readouterr()
        code = main(list(words))
        found = capfd.readouterr()
        return Ran(code, found.out, found.err)

    return run


@pytest.fixture
def story(console: Console) -> Console:
    """A console whose default bank holds two documents with two facts each."""
    console(
        "retain", "--id", "db", "--tag", "t", "Ledgerline uses Postgres 16. Locally it runs on port 5433.",
        "--at", "2026-11-01", "--context", "omo", "--metadata", "session=s1",
    )  # fmt: skip
    console("retain", "--id", "style", "We format with ruff. Tests run with pytest.")
    return console

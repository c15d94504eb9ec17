"""``console demo``: what it prints works when pasted, and what it refuses it refuses in one line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.demo import story

pytestmark = pytest.mark.xdist_group("demo")

PROGRAM = [sys.executable, "-c", "from console.cli import main; raise SystemExit(main())"]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run(where: Path, command: list[str]) -> Ran:
    """Run a command line whose first word is ``console`` (or another program) in ``where``, without a terminal."""
    argv = [*PROGRAM, *command[1:]] if command[0] == "console" else command
    home = where / "home"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CONSOLE_", "HINDSIGHT_", "GIT_", "XDG_"))
    } | {"HOME": str(home), "USERPROFILE": str(home), "PYTHONUTF8": "1", "COLUMNS": "200"}
    done = subprocess.run(
        argv, cwd=where, env=environment, capture_output=True, encoding="utf-8", timeout=120
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place with blanks")


@pytest.fixture(scope="module")
def first(place: Path) -> Ran:
    return run(place, ["console", "demo", "my demo", "--no-tui"])


def commands(ran: Ran) -> list[list[str]]:
    return [shlex.split(line) for line in ran.out.splitlines() if line.startswith("  ")]


def test_it_says_what_was_made_and_what_to_try(first: Ran) -> None:
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("Made my demo: 48 documents and ")
    assert len(commands(first)) >= 5


def test_every_command_it_prints_works_when_pasted(place: Path, first: Ran) -> None:
    for command in commands(first):
        done = run(place, command)
        assert (done.code, done.err.count("Traceback")) == (0, 0), (command, done)
        assert done.out.strip(), command


def test_the_first_one_recalls_the_wrong_conclusion_first(place: Path, first: Ran) -> None:
    done = run(place, commands(first)[0])
    assert story.WRONG.text in done.out.splitlines()[0]


def test_the_second_one_lists_who_repeated_it(place: Path, first: Ran) -> None:
    done = run(place, commands(first)[1])
    missing = [repeat.document for repeat in story.REPEATS if repeat.document not in done.out]
    assert missing == []


def test_a_second_run_says_that_it_is_there(place: Path, first: Ran) -> None:
    again = run(place, ["console", "demo", "my demo", "--no-tui"])
    assert again.code == 0
    assert again.out.startswith("There already, unchanged: my demo")


def test_json_is_one_value(place: Path, first: Ran) -> None:
    done = run(place, ["console", "--json", "demo", "my demo"])
    assert done.code == 0
    told = json.loads(done.out)
    assert told["store"] == f"sqlite:{Path('my demo') / 'memory.db'}"
    assert (told["bank_id"], told["documents"], told["created"]) == (story.BANK, len(story.load()), False)


def test_the_default_store_is_not_made(place: Path, first: Ran) -> None:
    assert not list((place / "home").rglob("*"))


def test_without_a_terminal_no_app_is_opened_and_the_hints_are_printed(place: Path, first: Ran) -> None:
    done = run(place, ["console", "demo", "my demo"])
    assert (done.code, done.err) == (0, "")
    assert commands(done) == commands(first)


@pytest.mark.parametrize(
    "option", [["--store", "sqlite:x.db"], ["--bank", "b"], ["--read-only"]], ids=lambda option: option[0]
)
def test_options_that_would_point_it_elsewhere_are_refused(tmp_path: Path, option: list[str]) -> None:
    done = run(tmp_path, ["console", *option, "demo", "d", "--no-tui"])
    assert done.code == 64
    assert option[0] in done.err
    assert not (tmp_path / "d").exists()


def test_a_folder_that_is_not_empty_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "thesis.tex").write_text("x", encoding="utf-8")
    done = run(tmp_path, ["console", "demo", "d", "--no-tui"])
    assert (done.code, done.out) == (64, "")
    assert done.err.count("\n") == 1
    assert "d-2" in done.err


def test_a_repository_around_it_is_left_alone(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert run(tmp_path, ["console", "demo", "d", "--no-tui"]).code == 0
    top = subprocess.run(
        ["git", "-C", str(tmp_path / "d"), "rev-parse", "--show-toplevel"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert Path(top).resolve() == (tmp_path / "d").resolve()
    heads = subprocess.run(
        ["git", "-C", str(tmp_path), "for-each-ref"], check=True, capture_output=True, text=True
    ).stdout
    assert heads == ""


def test_on_a_terminal_the_app_opens_on_the_demo_s_own_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from console.cli import app, demo
    from console.cli.base import State

    opened: list[State] = []
    monkeypatch.setattr(demo, "stdin_is_terminal", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(app, "open_app", lambda state: opened.append(state) or 0)
    monkeypatch.chdir(tmp_path)
    assert demo.demo.main(["d"], standalone_mode=False) == 0
    assert [(state.store, state.bank) for state in opened] == [
        (f"sqlite:{Path('d') / 'memory.db'}", story.BANK)
    ]

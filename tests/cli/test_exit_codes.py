"""Every way to call the program wrongly ends in one line and the documented code, never in a traceback."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import pytest

from console.cli import program
from console.memory.errors import Unavailable

from .conftest import Console

WRONG = [
    (["nonsense"], "no such command 'nonsense'"),
    (["--nonsense"], "no such option"),
    (["--json"], "--json needs a command"),
    (["banks", "nonsense"], "no such command"),
    (["banks", "list", "extra"], "unexpected extra argument"),
    (["banks", "list", "--limit", "-1"], "'--limit'"),
    (["banks", "create"], "missing argument"),
    (["documents", "get"], "missing argument"),
    (["documents", "--since", "someday"], "no time"),
    (["documents", "tags", "x", "a", "--clear"], "give the tags"),
    (["memories", "--type", "opinion"], "'opinion' is not one of"),
    (["memories", "edit", "x"], "say what to change"),
    (["memories", "edit", "x", "--text", " "], "--text is empty"),
    (["recall"], "missing argument"),
    (["recall", ""], "the query is empty"),
    (["recall", "x", "--from", "2026-01-01"], "go together"),
    (["recall", "x", "--from", "2026-01-02", "--to", "2026-01-01"], "--to is before --from"),
    (["recall", "x", "--min-score", "final"], "KEY=VALUE"),
    (["recall", "x", "--min-score", "fame=1"], "knows semantic"),
    (["recall", "x", "--min-score", "final=high"], "not a number"),
    (["recall", "x", "--tag-groups", "{"], "not JSON"),
    (["recall", "x", "--tag", "a", "--tag-groups", "[]"], "exclude each other"),
    (["reflect", "x", "--schema", "[]"], "not a JSON object"),
    (["retain"], "missing argument"),
    (["retain", "a", "b"], "put it in quotes"),
    (["retain", " "], "the text is empty"),
    (["retain", "notes/today.md"], "no file here"),
    (["retain", "./today"], "no file here"),
    (["retain", "today.md"], "no file here"),
    (["retain", "-", "x"], "stands alone"),
    (["retain", "-"], "standard input is empty"),
    (["retain", "x", "--metadata", "novalue"], "KEY=VALUE"),
    (["retain", "x", "--id", ""], "--id is empty"),
    (["retain", "x", "--at", "soon"], "no time"),
    (["--bank", "", "banks"], "--bank is empty"),
    (["--store", "nonsense", "banks"], "not a store"),
    (["--profile", "nobody", "banks"], "no profile"),
    (["settings", "trust"], "no settings file"),
]


@pytest.mark.parametrize(("words", "says"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_usage_is_64_and_one_line(console: Console, words: list[str], says: str) -> None:
    ran = console(*words)
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("console: ")
    assert says in ran.err


FAILING = [
    (["documents"], "no bank"),
    (["documents", "get", "x"], "no bank"),
    (["recall", "x"], "no bank"),
    (["banks", "stats", "other"], "no bank"),
    (["banks", "delete", "other", "--yes"], "no bank"),
    (["--store", "http://127.0.0.1:1", "banks"], "127.0.0.1:1"),
    (["--store", "wiki:x", "banks"], "no such folder"),
    (["--store", "sqlite:/dev/null/x.db", "retain", "x"], "/dev/null"),
    (["--read-only", "retain", "x"], "console: "),
]


@pytest.mark.parametrize(("words", "says"), FAILING, ids=[" ".join(words) for words, _ in FAILING])
def test_what_does_not_work_is_1_and_one_line(console: Console, words: list[str], says: str) -> None:
    ran = console(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert says in ran.err


def _raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(program.program, "get_command", lambda context, name: command)


class Spoken(Exception):
    exit_code = 4


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (Unavailable("busy", where="here", hint="try again"), 1, "console: busy (here): try again\n"),
        (Spoken("refused"), 4, "console: refused\n"),
        (KeyboardInterrupt(), 130, "console: interrupted\n"),
        (PermissionError(13, "Permission denied", "/x/y"), 1, "console: permission denied (/x/y)\n"),
        (BrokenPipeError(), 0, ""),
        (
            ZeroDivisionError("a\nb\x1b[31m"),
            1,
            "a b\\x1b[31m: this is a defect; CONSOLE_TRACEBACK=1 shows where\n",
        ),
    ],
    ids=["store", "with a code of its own", "ctrl-c", "system", "broken pipe", "defect"],
)
def test_every_error_has_its_code_and_its_line(
    console: Console, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, says: str
) -> None:
    if isinstance(error, BrokenPipeError):
        monkeypatch.setattr(program, "silence_stdout", lambda: None)
    _raising(monkeypatch, error)
    ran = console("x")
    assert ran.code == code
    assert ran.err.endswith(says)
    assert "Traceback" not in ran.err


def test_a_traceback_is_there_for_those_who_ask(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSOLE_TRACEBACK", "1")
    _raising(monkeypatch, ZeroDivisionError("x"))
    assert "Traceback" in console("x").err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["documents"], ["documents", "--json"]], ids=" ".join)
def test_a_full_disk_on_standard_output_is_an_error(story: Console, home: Path, words: list[str]) -> None:
    import subprocess

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "import sys; from console.cli import main; sys.exit(main())", *words],
            stdout=full, stderr=subprocess.PIPE, env={**os.environ}, timeout=60,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"console: no space left on device\n")


def test_standard_input_may_be_closed(console: Console) -> None:
    assert console("retain", "text", stdin=None).code == 0
    assert console("documents", stdin=None).code == 0
    ran = console("retain", "-", stdin=None)
    assert (ran.code, "standard input is closed" in ran.err) == (64, True)

"""What commands load: help and JSON answers start without the app's toolkit, the mirror and git."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest

from console.cli.program import program

_PROBE = """
import json, sys
from console.cli import main
code = main(json.loads(sys.argv[1]))
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""
NEVER = {"textual", "rich", "mirror.git", "mirror.sync", "git", "markdown_it", "yaml", "starlette", "uvicorn"}
ALSO_NOT = {"httpx", "mirror.page", "mirror.plan", "mirror.paths"}

COMMANDS = [
    ["--help"],
    ["--version"],
    ["recall", "--help"],
    ["retain", "--json", "Postgres runs on port 5433."],
    ["recall", "--json", "port"],
    ["reflect", "--json", "port"],
    ["banks", "--json"],
    ["banks", "stats", "--json"],
    ["documents", "--json"],
    ["memories", "--json"],
    ["operations", "--json"],
    ["settings", "--json"],
    ["doctor", "--json"],
    ["nonsense"],
]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("home")
    keep = {
        k: v for k, v in os.environ.items() if not k.startswith(("CONSOLE_", "HINDSIGHT_", "XDG_", "COV_"))
    }
    made = {**keep, "HOME": str(root), "XDG_CONFIG_HOME": str(root / "c"), "XDG_DATA_HOME": str(root / "d")}
    _loaded(["retain", "first"], made)
    return made


def _loaded(words: list[str], environ: dict[str, str]) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, json.dumps(words)],
        env=environ, cwd=environ["HOME"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_loads_only_what_it_needs(environ: dict[str, str], words: list[str]) -> None:
    code, modules = _loaded(words, environ)
    assert code == (64 if words == ["nonsense"] else 0)
    assert not modules & (NEVER | ALSO_NOT)


def test_the_probe_sees_an_import(environ: dict[str, str]) -> None:
    """The test above could not fail if the probe were blind."""
    _, modules = _loaded(["--store", "http://127.0.0.1:1", "--json", "banks"], environ)
    assert "httpx" in modules
    assert not modules & (NEVER - {"rich"})  # httpx itself loads rich where it is installed


def test_every_command_in_the_table_is_there_under_its_name() -> None:
    context = click.Context(program)
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        assert command.name == name

"""The program among other programs: pipes that close, locales that know only ASCII, interrupts."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Console

_PROGRAM = [sys.executable, "-c", "import sys; from console.cli import main; sys.exit(main())"]
_ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def program(*words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*_PROGRAM, *words],
        env={**os.environ, **environ}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def japanese(console: Console) -> Console:
    console("retain", "日本語の事実 on port 5433.", "--id", "団")
    return console


def test_people_see_escapes_where_the_locale_has_no_letters(japanese: Console) -> None:
    ran = program("documents", PYTHONIOENCODING="latin-1")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"\\u56e3" in ran.stdout


@pytest.mark.parametrize("environ", [_ASCII, {"PYTHONIOENCODING": "latin-1"}], ids=["C", "latin-1"])
class TestOtherLocales:
    def test_people_get_an_answer(self, japanese: Console, environ: dict[str, str]) -> None:
        ran = program("recall", "port", **environ)
        assert (ran.returncode, ran.stderr, b"5433" in ran.stdout) == (0, b"", True)

    def test_json_is_utf_8_all_the_same(self, japanese: Console, environ: dict[str, str]) -> None:
        ran = program("documents", "--json", **environ)
        assert json.loads(ran.stdout.decode("utf-8"))["items"][0]["id"] == "団"

    def test_an_argument_is_taken_as_utf_8(self, japanese: Console, environ: dict[str, str]) -> None:
        ran = program("recall", "日本語", "--json", **environ)
        assert json.loads(ran.stdout)["results"][0]["document_id"] == "団"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently there")
@pytest.mark.parametrize("words", [["memories"], ["memories", "--json"], ["--help"]], ids=" ".join)
def test_a_reader_that_goes_away_is_no_error(console: Console, words: list[str]) -> None:
    console("retain", "-", stdin="\n".join(f"Service {n} listens on port {n}." for n in range(400)).encode())
    limit = [] if words == ["--help"] else ["--limit", "1000"]
    process = subprocess.Popen(
        [*_PROGRAM, *words, *limit], env={**os.environ}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_an_interrupt_ends_with_130_and_one_line(home: Path) -> None:
    process = subprocess.Popen(
        [*_PROGRAM, "retain", "-"], env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    # More than a pipe holds: the write returns once the program reads, which is where it is to be interrupted.
    process.stdin.write(b"x" * 200_000)
    process.stdin.flush()
    for _ in range(100):  # one that comes just before the read blocks is seen only with the next
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
            break
    assert process.returncode == 130
    assert process.stderr is not None
    assert process.stderr.read() in (b"console: interrupted\n", b"")

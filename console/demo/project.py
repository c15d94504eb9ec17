"""The demo's folder and git repository: made with nothing of the user's configuration, refused where it is not ours.

Promise: a folder that this module did not make is never written to.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec

from console.demo import story
from console.memory.errors import StoreError

MARKER = ".console-demo.json"
"""Says that the folder is ours; in the repository's ignore list, so it never travels with a clone."""
MEMORY = "memory.db"
FORMAT = 1
USAGE = 64

_IDENTITY = "console demo"
_EMAIL = "demo@ledgerline.example"
_DATE = "2026-11-28T09:00:00+00:00"
_GIT_ENV = {
    "GIT_AUTHOR_NAME": _IDENTITY,
    "GIT_AUTHOR_EMAIL": _EMAIL,
    "GIT_AUTHOR_DATE": _DATE,
    "GIT_COMMITTER_NAME": _IDENTITY,
    "GIT_COMMITTER_EMAIL": _EMAIL,
    "GIT_COMMITTER_DATE": _DATE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""The user's templates, hooks, signing key and identity have no part in a sample repository."""

_SETTINGS = f"""\
# Made by `console demo`. A repository's settings name what belongs to the repository: the bank and the wiki.
# Where the bank is stored (and any token) belongs to the user, so it is not read from here.
bank = "{story.BANK}"
"""

_IGNORE = f"""\
/{MEMORY}*
/{MARKER}
"""

_README = """\
# ledgerline (sample project)

Made by `console demo`. Everything in it is invented: the people, the bank and the money.

- `memory.db` is the memory that three agents share (an embedded bank, not in git).
- `wiki/` is that memory as pages, kept by `console mirror sync`.
- `.console.toml` names the bank.

One thing that the agents believe is wrong. It was concluded once, and built on ever since.
"""


class DemoError(StoreError):
    """The demo cannot be made, or must not be: what, where, what to do."""

    def __init__(self, message: str, *, where: str = "", hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message, where=where, hint=hint)
        self.exit_code = exit_code


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What the marker file holds."""

    console_demo: int
    """The format's version."""
    complete: bool = False


def inspect(directory: Path) -> Marker | None:
    """The marker of a demo, None where one can be made. Raises DemoError for anything else, and writes nothing."""
    where, marker = str(directory), directory / MARKER
    try:
        if not directory.exists():
            if directory.is_symlink():
                raise DemoError("a link to nothing", where=where, hint="name another folder", exit_code=USAGE)
            return None
        if not directory.is_dir():
            raise DemoError(
                "the demo needs a folder, and this is a file",
                where=where,
                hint="name another",
                exit_code=USAGE,
            )
        if not marker.is_file():
            if any(directory.iterdir()):
                raise DemoError(
                    "the folder is not empty and holds no demo",
                    where=where,
                    hint=f"name another, such as `console demo {_sibling(directory)}`",
                    exit_code=USAGE,
                )
            return None
        found = msgspec.json.decode(marker.read_bytes(), type=Marker)
    except OSError as error:
        raise DemoError(f"the folder cannot be read: {error.strerror or error}", where=where) from error
    except msgspec.MsgspecError as error:
        raise DemoError(
            "the demo's own mark is damaged",
            where=str(marker),
            hint="remove the folder and make the demo again",
        ) from error
    if found.console_demo != FORMAT:
        raise DemoError(
            "another version made this demo", where=where, hint="remove the folder, or name another"
        )
    return found


def _sibling(directory: Path) -> Path:
    return directory.with_name(f"{directory.name or 'memory'}-2")


def prepare(directory: Path) -> None:
    """Make the folder ours and put the project's own files in it. Repeatable. Raises DemoError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        mark(directory, complete=False)
        for name, content in ((".console.toml", _SETTINGS), (".gitignore", _IGNORE), ("README.md", _README)):
            if not (directory / name).exists():
                _write(directory / name, content)
    except OSError as error:
        raise DemoError(
            f"the demo cannot be made: {error.strerror or error}",
            where=str(directory),
            hint="name a folder that you may write to",
        ) from error


def mark(directory: Path, *, complete: bool) -> None:
    content = msgspec.json.encode(Marker(console_demo=FORMAT, complete=complete)).decode() + "\n"
    _write(directory / MARKER, content)


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")


def make_repository(directory: Path) -> None:
    """A repository on ``main`` with the project's files in its first commit. Repeatable. Raises DemoError."""
    if not (directory / ".git").exists():
        _git(directory, "init", "--quiet", "--template=", "--initial-branch=main")
    if _git(directory, "rev-parse", "--quiet", "--verify", "HEAD", check=False).returncode:
        _git(directory, "add", "--", ".console.toml", ".gitignore", "README.md")
        _git(directory, "commit", "--quiet", "--no-verify", "--message", "Begin the sample project")


def head(directory: Path) -> str:
    """The commit id that the repository stands on."""
    return _git(directory, "rev-parse", "HEAD").stdout.decode("ascii", "replace").strip()


def require_git() -> None:
    """Before anything is made: without git there is no wiki to look at. Raises DemoError."""
    _run(["git", "--version"], "PATH")


def _git(directory: Path, *args: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    done = _run(["git", "-C", str(directory), *args], str(directory))
    if check and done.returncode:
        detail = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise DemoError(
            f"git {args[0]} failed", where=str(directory), hint=detail or f"exit {done.returncode}"
        )
    return done


def _run(command: list[str], where: str) -> subprocess.CompletedProcess[bytes]:
    # A demo made inside a hook or a rebase must not write into the surrounding repository.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=inherited | _GIT_ENV,
            check=False,
        )
    except FileNotFoundError as error:
        raise DemoError(
            "the git program was not found",
            where="PATH",
            hint="install git 2.30 or newer, then run this again",
        ) from error
    except OSError as error:
        raise DemoError(f"git could not be started: {error.strerror or error}", where=where) from error

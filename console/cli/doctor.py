"""``console doctor``: is everything that the console needs there, and if not, what to do."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from console import __version__
from console.cli.base import State, command, pass_state
from console.cli.output import count, out, print_json, styled
from console.memory.errors import NotFound, StoreError
from console.memory.store import MemoryStore
from console.settings import Settings, SettingsError
from console.text import one_line, pad


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. ``failed`` ends the command with 1; ``note`` is worth knowing and no failure."""

    check: str
    status: Literal["ok", "note", "failed"]
    detail: str


@command("doctor")
@pass_state
def doctor(state: State) -> None:
    """Check the store, the bank, git and the settings; exit 1 when something does not work."""
    settings = state.settings
    checks = [
        Check(
            "console",
            "ok",
            f"{__version__} on Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        ),
        *_settings(settings),
        *_store(state, settings),
        *_git(settings),
    ]
    failed = any(check.status == "failed" for check in checks)
    if state.as_json:
        print_json({"items": [asdict(check) for check in checks], "ok": not failed})
    else:
        wide = max(len(check.check) for check in checks)
        for check in checks:
            mark = {"ok": "ok    ", "note": "note  ", "failed": "FAILED"}[check.status]
            out(
                f"{styled(mark, bold=check.status == 'failed')}  {pad(check.check, wide)}  {one_line(check.detail)}"
            )
    if failed:
        click.get_current_context().exit(1)


def _settings(settings: Settings) -> Iterator[Check]:
    there = "read" if settings.config_file.exists() else "not there, which is fine"
    yield Check("settings", "ok", f"{settings.config_file} ({there})")
    file = settings.repo_file
    if file is not None:
        yield Check("repo file", "note" if file.warning else "ok", file.warning or str(file.path))


def _store(state: State, settings: Settings) -> Iterator[Check]:
    where = f"{settings.store} (from {settings.entries['store'].source})"

    async def look(store: MemoryStore) -> list[Check]:
        health, version = await store.health(), await store.version()
        healthy = health.status in ("healthy", "ok", "alive")
        found = [
            Check("store", "ok" if healthy else "failed", f"{where}: {health.status}"),
            Check("version", "ok", version.api_version or "not told"),
        ]
        try:
            stats = await store.bank_stats(settings.bank, refresh=True)
        except NotFound:
            hint = "`console retain TEXT` makes it"
            found.append(Check("bank", "note", f"{settings.bank!r} does not exist yet: {hint}"))
        else:
            size = f"{count(stats.total_documents, 'document')}, {count(stats.total_nodes, 'memory', 'memories')}"
            found.append(
                Check("bank", "ok", f"{settings.bank!r} (from {settings.entries['bank'].source}): {size}")
            )
            if stats.failed_operations:
                failed = count(stats.failed_operations, "operation")
                found.append(
                    Check("work", "note", f"{failed} failed: `console operations list --status failed`")
                )
        return found

    if settings.store.startswith("sqlite:"):
        yield from _file(Path(settings.store.removeprefix("sqlite:")).expanduser(), state.yes)
    try:
        yield from state.with_store(look)
    except (StoreError, SettingsError) as error:
        yield Check("store", "failed", str(error))


def _file(path: Path, repair: bool) -> Iterator[Check]:
    """The memory file itself. A damaged full-text index is rebuilt with --yes: no memory is in it alone."""
    from console.memory.embedded import backup

    if not path.exists():
        return
    try:
        found = backup.look(path)
        if found.index and not found.problems and repair:
            backup.rebuild_index(path)
            found = backup.look(path)
            yield Check("index", "note", "was damaged and has been rebuilt from the memories")
    except StoreError as error:
        yield Check("file", "failed", str(error))
        return
    if found.problems:
        hint = "`console banks restore FILE` puts a backup in its place"
        yield Check("file", "failed", f"{path} is damaged ({found.problems[0]}): {hint}")
    elif found.index:
        yield Check(
            "index",
            "failed",
            f"does not fit the memories ({found.index}): `console doctor --yes` rebuilds it",
        )
    else:
        yield Check("file", "ok", f"{path}, {path.stat().st_size / 2**20:.1f} MiB, sound")


def _git(settings: Settings) -> Iterator[Check]:
    program = shutil.which("git")
    if program is None:
        yield Check("git", "note", "no git program on PATH: the mirror needs it, all else works")
    else:
        yield Check("git", "ok", program)
    repository = settings.repository
    if repository is None:
        yield Check("repository", "note", "not inside one: `console mirror` needs one")
    else:
        yield Check(
            "repository",
            "ok",
            f"{repository.top}" + (f", origin {repository.origin}" if repository.origin else ""),
        )

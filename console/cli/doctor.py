"""``console doctor``: is everything that the console needs there, and if not, what to do."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from console import __version__, diagnose
from console.cli.base import State, command, pass_state
from console.cli.output import count, out, print_json, styled
from console.diagnose import Check
from console.memory.errors import NotFound, StoreError
from console.memory.models import DocumentQuery
from console.memory.store import MemoryStore
from console.settings import Settings, SettingsError
from console.text import one_line, pad

if TYPE_CHECKING:
    from console.memory.models import Version


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
        *diagnose.installed(),
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
            *diagnose.version(version),
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
        if settings.address.kind not in {"sqlite", "wiki"}:
            found += await _server(store, settings, version)
        return found

    if settings.store.startswith("sqlite:"):
        yield from _file(Path(settings.store.removeprefix("sqlite:")).expanduser(), state.yes)
    try:
        yield from state.with_store(look)
    except (StoreError, SettingsError) as error:
        yield Check("store", "failed", str(error))


async def _server(store: MemoryStore, settings: Settings, version: Version) -> list[Check]:
    """What only a server can have: each question is asked for itself, and one that fails is a finding."""
    from console.api.client import Api
    from console.memory.hindsight.http import Http

    http = store.http  # type: ignore[attr-defined]
    assert isinstance(http, Http)
    api, bank = Api(http, read_only=settings.read_only), settings.bank
    found = diagnose.transport(settings.store, settings.choice.credential is not None)

    async def clock() -> list[Check]:
        return diagnose.clock(await store.now(), datetime.now(UTC))

    async def banks() -> list[Check]:
        return diagnose.banks((await store.list_banks(limit=100_000)).items)

    async def model() -> list[Check]:
        answer = await api.ask("GET", "/v1/default/banks/{bank_id}/config", {"bank_id": bank})
        return diagnose.model(version, answer.get("config") or {}, answer.get("overrides") or {})

    async def work() -> list[Check]:
        listed = [
            await store.list_operations(bank, status=name, limit=100) for name in ("pending", "processing")
        ]
        return diagnose.operations(operation for page in listed for operation in page.items)

    async def paths() -> list[Check]:
        return diagnose.retain_paths((await store.list_documents(bank, DocumentQuery(limit=2000))).items)

    async def write() -> list[Check]:
        if settings.read_only:
            return [Check("write", "note", "the store is opened read-only: leave out --read-only to write")]
        # A retain of nothing: it asks for the permission, stores nothing and makes no bank (measured).
        await api.ask("POST", "/v1/default/banks/{bank_id}/memories", {"bank_id": bank}, body={"items": []})
        return [Check("write", "ok", "allowed (a retain of nothing was accepted)")]

    for name, ask in (("clock", clock), ("banks", banks), ("write", write), ("model", model), ("work", work), ("retain paths", paths)):  # fmt: skip
        try:
            found += await ask()
        except NotFound:
            continue  # no bank yet: said above
        except StoreError as error:
            found.append(Check(name, "failed", str(error)))
    return [*found, *await _wiki(store, settings)]


async def _wiki(store: MemoryStore, settings: Settings) -> list[Check]:
    """Whether the repository's wiki of this bank is bound to this very bank."""
    repository = settings.repository
    if repository is None or not (repository.top / settings.wiki).is_dir():
        return []
    from mirror.manifest import read_header
    from mirror.paths import bank_slug

    file = repository.top / settings.wiki / bank_slug(settings.bank) / ".mirror" / "header.json"
    if not file.is_file():
        return []
    try:
        header = read_header(file.read_bytes(), where=str(file))
        identity = await store.bank_identity(settings.bank)
    except Exception as error:
        if not hasattr(error, "exit_code"):
            raise
        return [Check("wiki", "failed", str(error))]
    if (header.bank_id, header.created_at) == (settings.bank, identity):
        return [Check("wiki", "ok", f"{file.parent.parent} is bound to this bank")]
    return [
        Check(
            "wiki",
            "failed",
            f"{file.parent.parent} is bound to a bank of this name made {header.created_at}, this one was made {identity}: "
            "another server, or made again; `console mirror init --rebind` after a rebuild",
        )
    ]


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

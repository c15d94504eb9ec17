"""Opening the file, and the one thread that uses it.

Promise: a file that this module opened is ours, of a layout that this version knows, and acknowledged
writes are on the disk (WAL with ``synchronous=FULL``).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.memory.embedded import faults, schema
from console.memory.errors import StoreError, Unavailable

_HEADER = b"SQLite format 3\x00"
BUSY_MS = 15_000
"""How long a write waits for another process's write. A batch of writes holds the file well below a second."""


def open_file(path: Path, *, read_only: bool, busy_ms: int = BUSY_MS) -> sqlite3.Connection:
    """Open or create the file. Raises StoreError only; an existing file that is not ours is not touched."""
    if sqlite3.sqlite_version_info < faults.OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old; 3.37 or newer is needed",
            where=str(path),
            hint="use a newer Python build",
        )
    if path.is_dir():
        raise faults.cannot_open(path)
    _check_header(path)
    with faults.told_plainly(path):
        if read_only:
            return _open_read_only(path, busy_ms)
        _create_private(path)
        return _prepared(_connect(path, "mode=rw", busy_ms), path, read_only=False)


def _open_read_only(path: Path, busy_ms: int) -> sqlite3.Connection:
    if not path.exists():
        raise faults.cannot_open(path)
    try:
        return _prepared(_connect(path, "mode=ro", busy_ms), path, read_only=True)
    except sqlite3.OperationalError:
        # A WAL file needs its -shm file beside it; in a folder that may not be written there can be none. With
        # no log left over either, nobody is writing and the file alone is the whole truth.
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _prepared(_connect(path, "immutable=1", busy_ms), path, read_only=True)


def _connect(path: Path, mode: str, busy_ms: int) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{mode}"
    return sqlite3.connect(
        uri, uri=True, timeout=busy_ms / 1000, isolation_level=None, check_same_thread=False
    )


def _create_private(path: Path) -> None:
    try:
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise Unavailable(
            f"the memory file cannot be made: {error.strerror or error}",
            where=str(path),
            hint="give another path, or check the folder's permissions",
        ) from error


def _prepared(db: sqlite3.Connection, path: Path, *, read_only: bool) -> sqlite3.Connection:
    try:
        _check_ours(db, path)
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA cache_size = -32768")
        db.create_function("contains", 2, _contains, deterministic=True)
        if not read_only:
            _wal(db)
            db.execute("PRAGMA synchronous = FULL")
            _upgrade(db, path)
        elif (version := _version(db)) != schema.VERSION:
            raise StoreError(
                f"the memory file has the older layout {version}",
                where=str(path),
                hint="open it once without read-only, which upgrades it",
            )
        db.execute("CREATE VIRTUAL TABLE temp.memory_terms USING fts5vocab (main, memory_index, row)")
    except BaseException:
        db.close()
        raise
    return db


def _check_header(path: Path) -> None:
    """SQLite takes a file of a few bytes for an empty one, and would write over it."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_HEADER))
    except OSError:
        return  # missing or shut: SQLite's own open tells
    if start and start != _HEADER:
        raise faults.not_a_bank(path)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _check_ours(db: sqlite3.Connection, path: Path) -> None:
    """The first read: tells what is not SQLite, not ours or newer, before anything is changed."""
    version = _version(db)
    owner = int(db.execute("PRAGMA application_id").fetchone()[0])
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if owner != schema.APPLICATION_ID and not (owner == 0 and version == 0 and empty):
        raise faults.not_a_bank(path)
    if version > schema.VERSION:
        raise faults.newer_file(path, version, schema.VERSION)


def _wal(db: sqlite3.Connection) -> None:
    """The switch to WAL does not wait for other openers by itself, so several first opens meet here."""
    deadline = time.monotonic() + 5
    while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _upgrade(db: sqlite3.Connection, path: Path) -> None:
    if _version(db) == schema.VERSION:
        return
    with writing(db):
        version = _version(db)  # another process may have done it while this one waited
        if version > schema.VERSION:
            raise faults.newer_file(path, version, schema.VERSION)
        schema.upgrade(db, version)


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: everything or nothing. The lock is taken first, so that a stamp taken inside
    is never older than what is already visible."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """One snapshot over several reads: a page and its total belong together."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


def _contains(haystack: str | None, needle: str) -> bool:
    """``needle`` is case-folded already."""
    return haystack is not None and needle in haystack.casefold()

"""SQLite's failures in the words of :mod:`console.memory.errors`: one line that names the file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.memory.errors import Corrupt, InvalidInput, ReadOnly, StoreError, Unavailable

OLDEST_SQLITE = (3, 37, 0)
"""STRICT tables. FTS5 is asked for when the tables are made."""

_PRIMARY = 0xFF
"""The low byte of an extended result code is the primary one."""


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """Anything that SQLite raises inside becomes a StoreError about ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "a text with a lone surrogate cannot be looked up", where=str(path), hint="leave it out"
        ) from error


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    where = str(path)
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & _PRIMARY if isinstance(code, int) and code >= 0 else None
    if primary == sqlite3.SQLITE_NOTADB:
        return not_a_bank(path)
    if primary == sqlite3.SQLITE_CORRUPT:
        return Corrupt(
            "the memory file is damaged",
            where=where,
            hint="restore a copy of it, or move it away and start a new one; nothing was changed",
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable(
            "another process keeps the memory file locked",
            where=where,
            hint="try again, or end the program that holds it",
        )
    if primary == sqlite3.SQLITE_FULL:
        return Unavailable(
            "the disk is full; this write was not done", where=where, hint="free some space and try again"
        )
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return ReadOnly(
            "the memory file may not be written",
            where=where,
            hint="check the permissions of the file and its folder, or give another file",
        )
    if primary == sqlite3.SQLITE_CANTOPEN:
        return cannot_open(path)
    if primary == sqlite3.SQLITE_IOERR:
        return Unavailable(
            "the disk failed while the memory file was used", where=where, hint="check the disk and try again"
        )
    if primary == sqlite3.SQLITE_TOOBIG:
        return StoreError("the text is too large for the memory file", where=where, hint="split it")
    if "no such module: fts5" in str(error):
        return StoreError(
            "this Python's SQLite has no full-text search (FTS5)",
            where=where,
            hint="use another Python build",
        )
    return StoreError(f"SQLite refused: {error}", where=where, hint="this is a defect; please report it")


def not_a_bank(path: Path) -> Corrupt:
    return Corrupt(
        "this is not a memory file", where=str(path), hint="give another path, or move that file away"
    )


def newer_file(path: Path, version: int, known: int) -> Corrupt:
    return Corrupt(
        f"the memory file has layout {version}; this program knows up to {known}",
        where=str(path),
        hint="upgrade memory-console",
    )


def cannot_open(path: Path) -> StoreError:
    """Why a path could not be opened, looked up after the failure: SQLite does not say."""
    where = str(path)
    if path.is_dir():
        return Unavailable(
            "the memory file's path is a folder", where=where, hint="give the path of a file inside it"
        )
    if not path.exists():
        return Unavailable(
            "there is no memory file", where=where, hint="check the path, or retain something first"
        )
    if not os.access(path, os.R_OK):
        return Unavailable("the memory file may not be read", where=where, hint="check its permissions")
    return Unavailable(
        "the memory file cannot be opened",
        where=where,
        hint="check the permissions of the file and its folder",
    )

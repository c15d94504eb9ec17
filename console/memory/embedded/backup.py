"""A copy of a memory file while others use it, and back; and looking whether a file is sound.

Promise: what stands at the destination afterwards was checked, is 0600, and came there by one rename: a kill leaves the
old file or the new one.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from console.memory.embedded import connect, faults
from console.memory.errors import Conflict, Corrupt, Unavailable

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Soundness:
    problems: tuple[str, ...]
    """Of the file itself; empty: none."""
    index: str
    """What is wrong with the full-text index alone (it can be rebuilt from the memories); '' when nothing is."""

    @property
    def sound(self) -> bool:
        return not self.problems and not self.index


def copy(source: Path, target: Path, *, replace: bool = False) -> int:
    """Copy the memory file ``source`` to ``target`` as one snapshot; the size of the copy in bytes.

    Raises Conflict where ``target`` exists and may not be replaced, Corrupt for a source that is damaged or is no
    memory file, Unavailable for what the disk refuses.
    """
    if target.exists() and not replace:
        raise Conflict("the file is there already", where=str(target), hint="give another path, or --yes")
    if target.exists() and source.exists() and target.samefile(source):
        raise Conflict("both are the same file", where=str(target), hint="give another path")
    opened = connect.open_file(source, read_only=True)
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)  # 0600
        os.close(handle)
    except OSError as error:
        opened.close()
        raise _refused(error, target) from error
    made = Path(name)
    try:
        with faults.told_plainly(made):
            copied = sqlite3.connect(made, isolation_level=None)
            try:
                opened.backup(copied, pages=1000)
                copied.execute("PRAGMA journal_mode = DELETE")
                found = _looked_at(copied)
            finally:
                copied.close()
        if found.problems:
            raise Corrupt(
                f"the memory file is damaged: {'; '.join(found.problems[:_SHOWN])}",
                where=str(source),
                hint="use a sound one; nothing was written",
            )
        with made.open("rb") as file:
            os.fsync(file.fileno())
        size = made.stat().st_size
        _drop_log(target)
        made.replace(target)
        return size
    except OSError as error:
        raise _refused(error, target) from error
    finally:
        opened.close()
        made.unlink(missing_ok=True)


def restore(backup: Path, target: Path, *, replace: bool = False) -> int:
    """Put a copy in the place of a memory file that nobody uses. Raises what :func:`copy` does, and Unavailable
    while another process has ``target`` open for writing."""
    if replace and target.exists():
        _fold_log(target)
    return copy(backup, target, replace=replace)


def look(path: Path) -> Soundness:
    """Raises Corrupt for what is no memory file at all."""
    with faults.told_plainly(path):
        db = connect.open_file(path, read_only=True)
        try:
            return _looked_at(db)
        finally:
            db.close()


def rebuild_index(path: Path) -> None:
    """Make the full-text index again from the live memories."""
    with faults.told_plainly(path):
        db = connect.open_file(path, read_only=False)
        try:
            with connect.writing(db):
                db.execute("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
                db.execute(
                    "INSERT INTO memory_index (rowid, text, context, tags, entities, grams)"
                    " SELECT mem, text, context, tags, entities, grams FROM memories WHERE state = 'valid'"
                )
        finally:
            db.close()


def _looked_at(db: sqlite3.Connection) -> Soundness:
    try:
        told = [str(row[0]) for row in db.execute("PRAGMA quick_check(20)")]
    except sqlite3.DatabaseError as error:
        told = [str(error)]
    index = [line for line in told if "memory_index" in line]
    problems = tuple(line for line in told if line != "ok" and line not in index)
    if index or problems:
        return Soundness(problems, index[0] if index else "")
    live = db.execute("SELECT count(*) FROM memories WHERE state = 'valid'").fetchone()[0]
    indexed = db.execute("SELECT count(*) FROM memory_index_docsize").fetchone()[0]
    return Soundness((), "" if live == indexed else f"{live} live memories, {indexed} in the index")


def _fold_log(path: Path) -> None:
    """Bring what is in the write-ahead log into the file, and see that nobody is writing."""
    try:
        db = sqlite3.connect(path, timeout=2, isolation_level=None)
        try:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            db.close()
    except sqlite3.DatabaseError:
        return  # damaged: that is why it is replaced
    if busy:
        raise Unavailable(
            "another process uses the memory file", where=str(path), hint="close it, then restore"
        )


def _drop_log(target: Path) -> None:
    """A log that belongs to the file that goes away must not be read into the one that comes."""
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)


def _refused(error: OSError, path: Path) -> Unavailable:
    return Unavailable(
        f"the copy cannot be written: {error.strerror or error}",
        where=str(path),
        hint="check the folder's permissions and the space left",
    )

"""The journal: every write that comes through the seam is on the disk before it is sent on.

One SQLite file (WAL, ``synchronous=FULL``: acknowledged means on the disk), written by one thread that commits
everything that is waiting in one transaction, so that many clients share one fsync. It holds bodies, never
headers: no token can get into it.

States of a write:

* ``pending``     journaled; on its way, or cut off by the end of a seam
* ``stored``      the bank acknowledged it (an async retain: its operation completed, as far as it was followed)
* ``rejected``    the bank refused it (4xx): nothing will change that
* ``failed``      it did not reach the bank (no connection, 5xx): can be sent again
* ``unknown``     sent, no answer: the bank may have it; looked for by its hash before anything else
* ``diverged``    the bank has another text under that id than was sent, and nothing here wrote it later
* ``superseded``  a later write of the same document was acknowledged: sending it again would undo that
* ``dropped``     taken out by a person
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from console.seam.errors import SpoolError

T = TypeVar("T")

SCHEMA = 1
KEPT = 7 * 86_400
"""Seconds that an acknowledged write stays in the spool."""
OPEN = ("pending", "failed", "unknown")
"""States in which the bank may not have it."""
STATES = (*OPEN, "stored", "rejected", "diverged", "superseded", "dropped")

_TABLES = """
CREATE TABLE IF NOT EXISTS writes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    changed REAL NOT NULL,
    label TEXT NOT NULL,
    upstream TEXT NOT NULL,
    bank TEXT NOT NULL,
    kind TEXT NOT NULL,
    method TEXT NOT NULL,
    target BLOB NOT NULL,
    content_type TEXT NOT NULL,
    body BLOB NOT NULL,
    documents TEXT NOT NULL,
    repeatable INTEGER NOT NULL,
    state TEXT NOT NULL,
    status INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    operations TEXT NOT NULL DEFAULT '[]',
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL DEFAULT 0,
    page INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS writes_state ON writes (state, id);
CREATE INDEX IF NOT EXISTS writes_page ON writes (page, id) WHERE page > 0;
CREATE TABLE IF NOT EXISTS written (
    bank TEXT NOT NULL, document TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (bank, document)
) STRICT;
"""

NO_PAGE, PAGE_DUE, PAGE_WAITS = 0, 1, 2
"""Of a row's page: nothing to write; to be written; written as sent, and again when the operation completes."""


@dataclass(frozen=True, slots=True)
class Write:
    """One request that changes memory."""

    bank: str
    kind: str
    """retain, files, import, tags, curate, delete, clear or bank."""
    method: str
    target: bytes
    """Path and query as sent, without the label's prefix."""
    content_type: str
    body: bytes
    label: str = ""
    upstream: str = ""
    documents: tuple[str, ...] = ()
    """Ids that the request names."""
    repeatable: bool = False
    """Whether sending it again gives the same bank: a replace with document ids."""


@dataclass(frozen=True, slots=True)
class Row(Write):
    """A write as the spool has it."""

    id: int = 0
    at: float = 0.0
    state: str = "pending"
    status: int = 0
    error: str = ""
    operations: tuple[str, ...] = ()
    attempts: int = 0
    due: float = 0.0
    page: int = 0


@dataclass(slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    done: Future[Any] = field(default_factory=Future)


class Spool:
    """Use from one event loop; the file belongs to one process at a time (see :mod:`console.seam.serve`)."""

    def __init__(self, path: Path, *, limit: int = 2 * 1024**3) -> None:
        self.path = path
        self.limit = limit
        """Bytes that the file may take before new writes are refused."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._db = open_spool(path)
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)
        self._thread.start()

    async def add(self, write: Write) -> int:
        """Journal it; its number, once it is on the disk. Raises SpoolError."""
        return await self._ask(lambda db: _insert(db, write, self.limit))

    async def settle(
        self,
        row: int,
        state: str,
        *,
        status: int = 0,
        error: str = "",
        operations: Sequence[str] = (),
        documents: Sequence[str] | None = None,
        bank: str | None = None,
        page: int | None = None,
        due: float | None = None,
        attempted: bool = False,
    ) -> None:
        """What became of a write; ``bank`` where the answer named another than the request (an alias)."""
        await self._ask(
            lambda db: _settle(
                db, row, state, status, error, operations, documents, bank, page, due, attempted
            )
        )

    async def page(self, row: int, page: int) -> None:
        """What is still to be written of its page."""
        await self._ask(lambda db: db.execute("UPDATE writes SET page = ? WHERE id = ?", (page, row)))

    async def due(self, upstream: str, now: float) -> list[Row]:
        """Writes to that bank's server that may be sent again by now, oldest first."""
        return await self._ask(
            lambda db: _rows(
                db, "state IN ('pending', 'failed', 'unknown') AND upstream = ? AND due <= ?", (upstream, now)
            )
        )

    async def pages(self, upstream: str) -> list[Row]:
        """Writes whose pages are not written yet, in order."""
        return await self._ask(lambda db: _rows(db, "page > 0 AND upstream = ?", (upstream,)))

    async def last(self) -> int:
        """The number of the newest write; 0 where there is none."""
        return await self._ask(lambda db: db.execute("SELECT coalesce(max(id), 0) FROM writes").fetchone()[0])

    async def superseded(self, row: Row) -> bool:
        """Whether a later write of one of its documents was acknowledged."""
        return await self._ask(lambda db: _superseded(db, row))

    async def purge(self, now: float | None = None) -> int:
        """Remove acknowledged writes older than a week; how many went."""
        moment = time.time() if now is None else now
        return await self._ask(
            lambda db: (
                db.execute(
                    "DELETE FROM writes WHERE state IN ('stored', 'superseded', 'dropped', 'rejected')"
                    " AND page = 0 AND changed < ?",
                    (moment - KEPT,),
                ).rowcount
            )
        )

    async def _ask(self, work: Callable[[sqlite3.Connection], T]) -> T:
        job = _Job(work)
        self._jobs.put(job)
        answer: T = await asyncio.wrap_future(job.done)
        return answer

    def close(self) -> None:
        """Everything that was asked for is written first."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
            self._db.close()

    def _run(self) -> None:
        ended = False
        while not ended:
            jobs: list[_Job] = []
            first = self._jobs.get()
            while True:
                if first is None:
                    ended = True
                    break
                jobs.append(first)
                try:
                    first = self._jobs.get_nowait()
                except queue.Empty:
                    break
            if jobs:
                self._commit(jobs)

    def _commit(self, jobs: list[_Job]) -> None:
        """All in one transaction; a job that fails fails alone, a commit that fails fails them all."""
        answers: list[tuple[_Job, Any, Exception | None]] = []
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for job in jobs:
                self._db.execute("SAVEPOINT one")
                try:
                    answers.append((job, job.work(self._db), None))
                except (sqlite3.Error, SpoolError) as refused:
                    self._db.execute("ROLLBACK TO one")
                    answers.append((job, None, refused))
                self._db.execute("RELEASE one")
            self._db.execute("COMMIT")
        except sqlite3.Error as failed:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            answers = [(job, None, failed) for job in jobs]
        for job, answer, error in answers:
            if error is None:
                job.done.set_result(answer)
            else:
                job.done.set_exception(error if isinstance(error, SpoolError) else _plain(error, self.path))


def open_spool(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """The file, 0600, in a folder that is made 0700; one that is there already keeps its mode (it may be /tmp). Raises
    SpoolError."""
    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
        db = sqlite3.connect(uri, uri=True, timeout=15, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise _plain(error, path) from error
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise SpoolError(
                f"the spool was written by a newer memory-console (layout {version})",
                where=str(path),
                hint="upgrade memory-console",
            )
        if not read_only:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(_TABLES)
            db.execute(f"PRAGMA user_version = {SCHEMA}")
    except (sqlite3.Error, SpoolError) as error:
        db.close()
        raise (error if isinstance(error, SpoolError) else _plain(error, path)) from error
    return db


def rows_of(
    path: Path, *, states: Sequence[str] = STATES, limit: int = 1000
) -> tuple[list[Row], dict[str, int]]:
    """(the newest rows in those states, state -> how many), read beside a running seam. Raises SpoolError."""
    if not path.exists():
        return [], {}
    db = open_spool(path, read_only=True)
    try:
        marks = ",".join("?" * len(states))
        found = _rows(db, f"state IN ({marks})", tuple(states), tail=f"DESC LIMIT {int(limit)}")
        counts = dict(db.execute("SELECT state, count(*) FROM writes GROUP BY state").fetchall())
    except sqlite3.Error as error:
        raise _plain(error, path) from error
    finally:
        db.close()
    return found, counts


def answer_rows(path: Path, rows: Sequence[int], *, drop: bool) -> int:
    """A person's word on writes that wait: send them again, or take them out. How many it concerned. Raises SpoolError."""
    db = open_spool(path)
    try:
        marks = ",".join("?" * len(rows))
        change = "state = 'dropped'" if drop else "state = 'failed', repeatable = 1, due = 0, attempts = 0"
        return db.execute(
            f"UPDATE writes SET {change}, changed = ? WHERE id IN ({marks})"
            " AND state IN ('pending', 'failed', 'unknown', 'diverged', 'rejected')",
            (time.time(), *rows),
        ).rowcount
    except sqlite3.Error as error:
        raise _plain(error, path) from error
    finally:
        db.close()


def _insert(db: sqlite3.Connection, write: Write, limit: int) -> int:
    pages = db.execute("PRAGMA page_count").fetchone()[0] - db.execute("PRAGMA freelist_count").fetchone()[0]
    if pages * db.execute("PRAGMA page_size").fetchone()[0] + len(write.body) > limit:
        raise SpoolError("the spool is full", hint="`console seam status` shows what waits in it")
    now = time.time()
    row = db.execute(
        "INSERT INTO writes (at, changed, label, upstream, bank, kind, method, target, content_type, body,"
        " documents, repeatable, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending')",
        (
            now,
            now,
            write.label,
            write.upstream,
            write.bank,
            write.kind,
            write.method,
            write.target,
            write.content_type,
            write.body,
            json.dumps(write.documents),
            int(write.repeatable),
        ),
    ).lastrowid
    assert row is not None
    return row


def _settle(
    db: sqlite3.Connection,
    row: int,
    state: str,
    status: int,
    error: str,
    operations: Sequence[str],
    documents: Sequence[str] | None,
    bank: str | None,
    page: int | None,
    due: float | None,
    attempted: bool,
) -> None:
    sets = ["state = ?", "status = ?", "error = ?", "changed = ?"]
    values: list[Any] = [state, status, error[:500], time.time()]
    if operations:
        sets.append("operations = ?")
        values.append(json.dumps(list(operations)))
    if documents is not None:
        sets.append("documents = ?")
        values.append(json.dumps(list(documents)))
    for name, value in (("bank", bank), ("page", page), ("due", due)):
        if value is not None:
            sets.append(f"{name} = ?")
            values.append(value)
    if attempted:
        sets.append("attempts = attempts + 1")
    db.execute(f"UPDATE writes SET {', '.join(sets)} WHERE id = ?", (*values, row))
    if state == "stored":
        found = db.execute("SELECT bank, documents FROM writes WHERE id = ?", (row,)).fetchone()
        if found is not None:
            db.executemany(
                "INSERT INTO written (bank, document, id) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET id = max(id, excluded.id)",
                [(found[0], document, row) for document in json.loads(found[1])],
            )


def _superseded(db: sqlite3.Connection, row: Row) -> bool:
    return any(
        found is not None and found[0] > row.id
        for document in row.documents
        if (
            found := db.execute(
                "SELECT id FROM written WHERE bank = ? AND document = ?", (row.bank, document)
            ).fetchone()
        )
    )


_COLUMNS = (
    "id, at, label, upstream, bank, kind, method, target, content_type, body, documents, repeatable, state,"
    " status, error, operations, attempts, due, page"
)


def _rows(db: sqlite3.Connection, where: str, values: tuple[Any, ...], *, tail: str = "") -> list[Row]:
    found = db.execute(f"SELECT {_COLUMNS} FROM writes WHERE {where} ORDER BY id {tail}", values).fetchall()
    return [
        Row(
            id=r[0],
            at=r[1],
            label=r[2],
            upstream=r[3],
            bank=r[4],
            kind=r[5],
            method=r[6],
            target=r[7],
            content_type=r[8],
            body=r[9],
            documents=tuple(json.loads(r[10])),
            repeatable=bool(r[11]),
            state=r[12],
            status=r[13],
            error=r[14],
            operations=tuple(json.loads(r[15])),
            attempts=r[16],
            due=r[17],
            page=r[18],
        )
        for r in found
    ]


def _plain(error: Exception, path: Path) -> SpoolError:
    text = error.strerror if isinstance(error, OSError) else str(error)
    return SpoolError(
        f"the spool cannot be used: {(text or type(error).__name__).lower()}",
        where=str(path),
        hint="check the folder's permissions and the free space on its disk",
    )

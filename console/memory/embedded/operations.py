"""A log of the retains that were asked to run in the background.

They run at once, so every operation that can be seen is completed. An operation id that comes again with the same
items writes nothing; with other items it is refused, where a server would drop them silently.
"""

from __future__ import annotations

import hashlib
import sqlite3
import uuid
from collections.abc import Sequence
from typing import Any

from console.memory.embedded import banks, times
from console.memory.embedded.codec import strings, to_json
from console.memory.embedded.listing import checked_page
from console.memory.errors import Conflict, InvalidInput, NotFound
from console.memory.models import Operation, Page, RetainItem

_KEPT = 1000
"""Newest operations of a bank."""
_COLUMNS = "id, task_type, status, items_count, document_ids, created_at, completed_at"


def digest(items: Sequence[RetainItem]) -> str:
    return hashlib.sha256(repr(tuple(items)).encode("utf-8", "surrogatepass")).hexdigest()


def checked_id(operation_id: str | None) -> str:
    """The id given, or a new one. Raises InvalidInput."""
    if operation_id is None:
        return str(uuid.uuid4())
    try:
        return str(uuid.UUID(operation_id))
    except ValueError:
        raise InvalidInput(
            f"the operation id {operation_id!r} is no UUID", hint="use one, or leave it out"
        ) from None


def seen(db: sqlite3.Connection, bank_id: str, operation_id: str, items_digest: str) -> bool:
    """Whether it was done already. Raises Conflict where it was done with something else."""
    row = db.execute(
        "SELECT o.digest, b.bank_id FROM operations o JOIN banks b USING (bank) WHERE o.id = ?",
        [operation_id],
    ).fetchone()
    if row is None:
        return False
    if row[1] != bank_id:
        raise Conflict(f"the operation id {operation_id} belongs to another bank", hint="use a new one")
    if row[0] != items_digest:
        raise Conflict(f"the operation id {operation_id} was used for other items", hint="use a new one")
    return True


def note(
    db: sqlite3.Connection, bank: int, operation_id: str, items_digest: str, ids: Sequence[str], count: int
) -> None:
    now = times.now()
    db.execute(
        "INSERT INTO operations (id, bank, task_type, status, digest, document_ids, items_count, created_at, completed_at)"
        " VALUES (?, ?, 'retain', 'completed', ?, ?, ?, ?, ?)",
        [operation_id, bank, items_digest, to_json(list(ids)), count, now, now],
    )
    db.execute(
        "DELETE FROM operations WHERE bank = ?1 AND op <="
        " (SELECT op FROM operations WHERE bank = ?1 ORDER BY op DESC LIMIT 1 OFFSET ?2)",
        [bank, _KEPT],
    )


def page(
    db: sqlite3.Connection, bank_id: str, status: str | None, limit: int, offset: int
) -> Page[Operation]:
    checked_page(limit, offset)
    bank = banks.find(db, bank_id)
    where, values = "bank = ?", [bank] if status is None else [bank, status]
    if status is not None:
        where += " AND status = ?"
    total = db.execute(f"SELECT count(*) FROM operations WHERE {where}", values).fetchone()[0]
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE {where} ORDER BY op DESC LIMIT ? OFFSET ?",
        [*values, limit, offset],
    )
    return Page(items=tuple(map(_model, rows)), total=total, limit=limit, offset=offset)


def get(db: sqlite3.Connection, bank_id: str, operation_id: str) -> Operation:
    bank = banks.find(db, bank_id)
    wanted = checked_id(operation_id)
    row = db.execute(
        f"SELECT {_COLUMNS} FROM operations WHERE bank = ? AND id = ?", [bank, wanted]
    ).fetchone()
    if row is None:
        raise NotFound(f"there is no operation {operation_id!r} in the bank {bank_id!r}")
    return _model(row)


def _model(row: tuple[Any, ...]) -> Operation:
    identifier, task_type, status, count, ids, created, completed = row
    documents = strings(ids)
    return Operation(
        id=identifier,
        task_type=task_type,
        status=status,
        items_count=count,
        document_id=documents[0] if len(documents) == 1 else None,
        document_ids=documents,
        created_at=times.iso(created),
        updated_at=times.iso(completed or created),
        completed_at=times.iso(completed),
    )

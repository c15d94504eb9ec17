"""Banks: made, found, listed, counted, deleted."""

from __future__ import annotations

import sqlite3
import uuid

from console.memory.embedded import times
from console.memory.embedded.listing import checked_page, literal
from console.memory.embedded.text import check_bank_id
from console.memory.errors import NotFound
from console.memory.models import Bank, BankStats, Page

_COLUMNS = """
    bank_id, name, mission, created_at, updated_at,
    (SELECT count(*) FROM memories m WHERE m.bank = b.bank AND m.state = 'valid'),
    (SELECT max(created_at) FROM documents d WHERE d.bank = b.bank),
    last_write_at
"""


def find(db: sqlite3.Connection, bank_id: str) -> int:
    """The row of a bank. Raises NotFound."""
    row = db.execute("SELECT bank FROM banks WHERE bank_id = ?", [_askable(bank_id)]).fetchone()
    if row is None:
        raise NotFound(f"there is no bank {bank_id!r}", hint="`console banks list` shows what there is")
    return int(row[0])


def make(db: sqlite3.Connection, bank_id: str, name: str | None = None, mission: str | None = None) -> int:
    """The row of a bank, made when it is missing. Raises InvalidInput for an id that is no bank's."""
    check_bank_id(bank_id)
    row = db.execute("SELECT bank FROM banks WHERE bank_id = ?", [bank_id]).fetchone()
    if row is not None:
        return int(row[0])
    now = times.now()
    made = db.execute(
        "INSERT INTO banks (bank_id, uuid, name, mission, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
        [bank_id, str(uuid.uuid4()), bank_id if name is None else name, mission, now, now],
    )
    return int(made.lastrowid or 0)


def touch(db: sqlite3.Connection, bank: int, now: int) -> None:
    """Note a write. Unlike a server's, this stamp never moves backwards."""
    db.execute(
        "UPDATE banks SET last_write_at = max(coalesce(last_write_at, 0), ?) WHERE bank = ?", [now, bank]
    )


def get(db: sqlite3.Connection, bank_id: str) -> Bank:
    bank = find(db, bank_id)
    return _model(db.execute(f"SELECT {_COLUMNS} FROM banks b WHERE bank = ?", [bank]).fetchone())


def identity(db: sqlite3.Connection, bank_id: str) -> str:
    row = db.execute("SELECT uuid FROM banks WHERE bank = ?", [find(db, bank_id)]).fetchone()
    return f"uuid:{row[0]}"


def page(db: sqlite3.Connection, q: str | None, limit: int, offset: int) -> Page[Bank]:
    checked_page(limit, offset)
    where, values = "1", list[object]()
    if q:
        by_id, values_id = literal("bank_id", q)
        by_name, values_name = literal("name", q)
        where, values = f"({by_id} OR {by_name})", [*values_id, *values_name]
    total = db.execute(f"SELECT count(*) FROM banks WHERE {where}", values).fetchone()[0]
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM banks b WHERE {where}"
        " ORDER BY coalesce(last_write_at, created_at) DESC, bank_id LIMIT ? OFFSET ?",
        [*values, limit, offset],
    )
    return Page(items=tuple(map(_model, rows)), total=total, limit=limit, offset=offset)


def delete(db: sqlite3.Connection, bank_id: str) -> int:
    """How many documents and memories went."""
    bank = find(db, bank_id)
    counted = db.execute(
        "SELECT (SELECT count(*) FROM documents WHERE bank = ?1) + (SELECT count(*) FROM memories WHERE bank = ?1)",
        [bank],
    ).fetchone()[0]
    db.execute("DELETE FROM banks WHERE bank = ?", [bank])
    return int(counted)


def stats(db: sqlite3.Connection, bank_id: str) -> BankStats:
    bank = find(db, bank_id)
    by_type = dict(
        db.execute(
            "SELECT fact_type, count(*) FROM memories WHERE bank = ? AND state = 'valid' GROUP BY fact_type",
            [bank],
        ).fetchall()
    )
    documents = db.execute("SELECT count(*) FROM documents WHERE bank = ?", [bank]).fetchone()[0]
    operations = dict(
        db.execute(
            "SELECT status, count(*) FROM operations WHERE bank = ? GROUP BY status", [bank]
        ).fetchall()
    )
    wrote = db.execute("SELECT last_write_at FROM banks WHERE bank = ?", [bank]).fetchone()[0]
    return BankStats(
        bank_id=bank_id,
        total_nodes=sum(by_type.values()),
        total_documents=documents,
        nodes_by_fact_type=by_type,
        operations_by_status=operations,
        last_memory_write_at=times.iso(wrote),
    )


def _askable(bank_id: str) -> str:
    """An id that SQLite cannot even be asked about is an id of no bank."""
    return check_bank_id(bank_id)


def _model(row: tuple[str, str | None, str | None, int, int, int, int | None, int | None]) -> Bank:
    bank_id, name, mission, created, updated, count, last_document, last_write = row
    return Bank(
        bank_id=bank_id,
        name=name,
        mission=mission,
        created_at=times.iso(created),
        updated_at=times.iso(updated),
        fact_count=count,
        last_document_at=times.iso(last_document),
        last_write_at=times.iso(last_write),
    )

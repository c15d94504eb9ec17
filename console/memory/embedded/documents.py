"""Documents and their chunks: read, listed, retagged, deleted, exported."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from console.memory.embedded import banks, memories, tags, times
from console.memory.embedded.codec import from_json, strings, to_json
from console.memory.embedded.listing import checked_page, literal, window
from console.memory.embedded.text import storable
from console.memory.errors import InvalidInput, NotFound
from console.memory.models import (
    ArchivedDocument,
    Chunk,
    Document,
    DocumentQuery,
    DocumentSummary,
    Memory,
    Page,
)

_COLUMNS = """
    doc, id, content_hash, created_at, updated_at, length, params, metadata, tags,
    (SELECT count(*) FROM memories m
     WHERE m.doc = d.doc AND m.state = 'valid' AND m.fact_type IN ('world', 'experience'))
"""


def find(db: sqlite3.Connection, bank_id: str, document_id: str) -> tuple[int, int]:
    """(bank row, document row). Raises NotFound."""
    bank = banks.find(db, bank_id)
    try:
        row = db.execute(
            "SELECT doc FROM documents WHERE bank = ? AND id = ?", [bank, document_id]
        ).fetchone()
    except UnicodeEncodeError:
        row = None
    if row is None:
        raise NotFound(f"there is no document {document_id!r} in the bank {bank_id!r}")
    return bank, int(row[0])


def get(db: sqlite3.Connection, bank_id: str, document_id: str) -> Document:
    _, doc = find(db, bank_id, document_id)
    row = db.execute(f"SELECT {_COLUMNS}, text FROM documents d WHERE doc = ?", [doc]).fetchone()
    return _document(db, bank_id, row)


def page(db: sqlite3.Connection, bank_id: str, query: DocumentQuery) -> Page[DocumentSummary]:
    checked_page(query.limit, query.offset)
    conditions, values = window(
        ("created_at", "updated_at"), query.time_field, "updated_at", query.start_date, query.end_date
    )
    tagged, tag_values = tags.condition("tags", query.tags, query.tags_match)
    if tagged:
        conditions.append(tagged)
        values += tag_values
    matched = "NULL, NULL"
    matched_values: list[object] = []
    if query.q:
        in_id, id_values = literal("id", query.q)
        in_text, text_values = literal("text", query.q)
        conditions.append(f"({in_id} OR {in_text})")
        values += [*id_values, *text_values]
        matched, matched_values = f"{in_id}, {in_text}", [*id_values, *text_values]
    where = " AND ".join(["bank = ?", *conditions])
    bank = banks.find(db, bank_id)
    order = f"{query.time_field} DESC, id" if query.time_field else "updated_at DESC, created_at DESC, id"
    total = db.execute(f"SELECT count(*) FROM documents d WHERE {where}", [bank, *values]).fetchone()[0]
    rows = db.execute(
        f"SELECT {_COLUMNS}, {matched} FROM documents d WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
        [*matched_values, bank, *values, query.limit, query.offset],
    )
    items = tuple(
        DocumentSummary(**_summary(bank_id, row), matched_fields=_matched(row[10:12])) for row in rows
    )
    return Page(items=items, total=total, limit=query.limit, offset=query.offset)


def chunks(db: sqlite3.Connection, bank_id: str, document_id: str, limit: int, offset: int) -> Page[Chunk]:
    checked_page(limit, offset)
    _, doc = find(db, bank_id, document_id)
    total = db.execute("SELECT count(*) FROM chunks WHERE doc = ?", [doc]).fetchone()[0]
    text = db.execute("SELECT text FROM documents WHERE doc = ?", [doc]).fetchone()[0]
    rows = db.execute(
        "SELECT idx, start, stop, created_at FROM chunks WHERE doc = ? ORDER BY idx LIMIT ? OFFSET ?",
        [doc, limit, offset],
    )
    items = tuple(
        Chunk(
            chunk_id=memories.chunk_id(bank_id, document_id, index),
            document_id=document_id,
            bank_id=bank_id,
            chunk_index=index,
            chunk_text=text[start:stop],
            created_at=times.iso(created),
        )
        for index, start, stop, created in rows
    )
    return Page(items=items, total=total, limit=limit, offset=offset)


def set_tags(db: sqlite3.Connection, bank_id: str, document_id: str, new: Sequence[str]) -> None:
    bank, doc = find(db, bank_id, document_id)
    if isinstance(new, str) or not all(isinstance(tag, str) for tag in new):
        raise InvalidInput("tags must be texts", hint="give a list of them; an empty one clears")
    now = times.now()
    wanted = tags.stored(map(storable, new))
    db.execute("UPDATE documents SET tags = ?, updated_at = ? WHERE doc = ?", [wanted, now, doc])
    db.execute(
        "UPDATE memories SET tags = ?, updated_at = ? WHERE doc = ? AND state = 'valid' AND tags <> ?",
        [wanted, now, doc, wanted],
    )
    banks.touch(db, bank, now)


def delete(db: sqlite3.Connection, bank_id: str, document_id: str) -> int:
    """How many live memories went with it; its invalidated ones go too."""
    bank, doc = find(db, bank_id, document_id)
    live = db.execute("SELECT count(*) FROM memories WHERE doc = ? AND state = 'valid'", [doc]).fetchone()[0]
    db.execute("DELETE FROM documents WHERE doc = ?", [doc])
    banks.touch(db, bank, times.now())
    return int(live)


def export(
    db: sqlite3.Connection, bank_id: str, after: int, only: Sequence[str] | None, count: int
) -> tuple[list[ArchivedDocument], int]:
    """The next ``count`` documents behind row ``after`` with their live facts, and the last row read."""
    bank = banks.find(db, bank_id)
    narrowed, values = "", list[object]()
    if only is not None:
        narrowed, values = "AND id IN (SELECT value FROM json_each(?))", [to_json(_askable(only))]
    rows = db.execute(
        f"SELECT {_COLUMNS}, text FROM documents d WHERE bank = ? AND doc > ? {narrowed} ORDER BY doc LIMIT ?",
        [bank, after, *values, count],
    ).fetchall()
    facts: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories.of_documents(db, bank_id, [row[0] for row in rows]):
        facts[str(memory.document_id)].append(memory)
    archived = [
        ArchivedDocument(document=_document(db, bank_id, row, facts[row[1]]), facts=tuple(facts[row[1]]))
        for row in rows
    ]
    return archived, rows[-1][0] if rows else after


def _askable(ids: Sequence[str]) -> list[str]:
    """An id with a lone surrogate cannot be stored, so no document has it."""
    return [value for value in ids if value.isascii() or value == value.encode("utf-8", "replace").decode()]


def _matched(flags: tuple[int | None, int | None]) -> tuple[str, ...] | None:
    if flags[0] is None:
        return None
    return tuple(name for name, flag in zip(("id", "original_text"), flags, strict=True) if flag)


def _summary(bank_id: str, row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "id": row[1],
        "bank_id": bank_id,
        "content_hash": row[2],
        "created_at": times.iso(row[3]),
        "updated_at": times.iso(row[4]),
        "text_length": row[5],
        "memory_unit_count": row[9],
        "retain_params": from_json(row[6]),
        "document_metadata": from_json(row[7]),
        "tags": strings(row[8]),
    }


def _document(
    db: sqlite3.Connection, bank_id: str, row: tuple[Any, ...], facts: Sequence[Memory] | None = None
) -> Document:
    if facts is None:
        counted = dict(
            db.execute(
                "SELECT fact_type, count(*) FROM memories WHERE doc = ? AND state = 'valid' GROUP BY fact_type",
                [row[0]],
            ).fetchall()
        )
    else:
        counted = {}
        for fact in facts:
            counted[fact.fact_type] = counted.get(fact.fact_type, 0) + 1
    return Document(**_summary(bank_id, row), original_text=row[10], nodes_by_fact_type=counted)

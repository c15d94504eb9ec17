"""Memories: read, listed, curated."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from console.memory.embedded import banks, tags, times, words
from console.memory.embedded.codec import from_json, strings, to_json
from console.memory.embedded.listing import checked_page, literal, window
from console.memory.embedded.text import storable
from console.memory.errors import Conflict, InvalidInput, NotFound
from console.memory.models import Curation, Memory, MemoryQuery, Page

TYPES = ("world", "experience")
TIME_FIELDS = ("created_at", "updated_at", "mentioned_at", "occurred_start", "occurred_end")

_COLUMNS = """
    m.id, m.text, m.context, m.fact_type, d.id, m.chunk, m.mentioned_at, m.occurred_start, m.occurred_end,
    m.entities, m.tags, m.metadata, m.proof_count, m.state, m.reason, m.invalidated_at, m.edited_at, m.updated_at
"""
_FROM = "memories m JOIN documents d ON d.doc = m.doc"


def chunk_id(bank_id: str, document_id: str, index: int) -> str:
    return f"{bank_id}_{document_id}_{index}"


def get(db: sqlite3.Connection, bank_id: str, memory_id: str) -> Memory:
    _, mem = _find(db, bank_id, memory_id)
    return _model(bank_id, db.execute(f"SELECT {_COLUMNS} FROM {_FROM} WHERE m.mem = ?", [mem]).fetchone())


def page(db: sqlite3.Connection, bank_id: str, query: MemoryQuery) -> Page[Memory]:
    checked_page(query.limit, query.offset)
    if query.state not in ("valid", "invalidated"):
        raise InvalidInput(f"unknown state {query.state!r}", hint="valid or invalidated")
    bank = banks.find(db, bank_id)
    conditions = ["m.bank = ?", "m.state = ?"]
    values: list[object] = [bank, query.state]
    in_window, window_values = window(
        TIME_FIELDS, query.time_field, "mentioned_at", query.start_date, query.end_date
    )
    conditions += [f"m.{condition}" for condition in in_window]
    values += window_values
    tagged, tag_values = tags.condition("m.tags", query.tags, query.tags_match)
    if tagged:
        conditions.append(tagged)
        values += tag_values
    if query.type:
        conditions.append("m.fact_type = ?")
        values.append(storable(query.type))
    if query.document_id is not None:
        conditions.append("m.doc = (SELECT doc FROM documents WHERE bank = ? AND id = ?)")
        values += [bank, query.document_id.encode("utf-8", "replace").decode()]
    if query.entity_id is not None:
        conditions.append("EXISTS (SELECT 1 FROM json_each(m.entities) WHERE value = ?)")
        values.append(_entity_name(db, bank, query.entity_id))
    if query.q:
        in_text, text_values = literal("m.text", query.q)
        in_context, context_values = literal("m.context", query.q)
        conditions.append(f"({in_text} OR coalesce({in_context}, 0))")
        values += [*text_values, *context_values]
    if query.consolidation_state not in (None, "done", "pending", "failed"):
        raise InvalidInput(
            f"unknown consolidation_state {query.consolidation_state!r}", hint="done, pending or failed"
        )
    if query.consolidation_state in ("failed", "done"):
        conditions.append("0")  # nothing is ever consolidated here
    where = " AND ".join(conditions)
    total = db.execute(f"SELECT count(*) FROM memories m WHERE {where}", values).fetchone()[0]
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE {where} ORDER BY m.mentioned_at DESC, m.mem DESC LIMIT ? OFFSET ?",
        [*values, query.limit, query.offset],
    )
    items = tuple(_model(bank_id, row) for row in rows)
    return Page(items=items, total=total, limit=query.limit, offset=query.offset)


def of_documents(db: sqlite3.Connection, bank_id: str, docs: Sequence[int]) -> Iterator[Memory]:
    """The live memories of some documents, in reading order."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM json_each(?) j JOIN memories m ON m.doc = j.value JOIN documents d ON d.doc = m.doc"
        " WHERE m.state = 'valid' AND m.fact_type IN ('world', 'experience') ORDER BY m.doc, m.position, m.mem",
        [to_json(docs)],
    )
    return (_model(bank_id, row) for row in rows)


def by_rows(db: sqlite3.Connection, bank_id: str, mems: Sequence[int]) -> dict[int, Memory]:
    rows = db.execute(
        f"SELECT {_COLUMNS}, m.mem FROM json_each(?) j JOIN memories m ON m.mem = j.value JOIN documents d ON d.doc = m.doc",
        [to_json(mems)],
    )
    return {row[-1]: _model(bank_id, row) for row in rows}


def curate(db: sqlite3.Connection, bank_id: str, memory_id: str, curation: Curation) -> Memory:
    """Edit and then invalidate or restore. Raises InvalidInput, Conflict, NotFound."""
    bank, mem = _find(db, bank_id, memory_id)
    now = times.now()
    state = db.execute("SELECT state FROM memories WHERE mem = ?", [mem]).fetchone()[0]
    edits = _edits(curation)
    if curation.state not in (None, "valid", "invalidated"):
        raise InvalidInput(f"unknown state {curation.state!r}", hint="invalidated or valid")
    if curation.reason is not None and curation.state != "invalidated":
        raise InvalidInput("a reason goes with state=invalidated only", hint="leave it out")
    if not edits and curation.state is None:
        raise InvalidInput("the curation changes nothing", hint="give a state or a field")
    changed = bool(edits)
    if edits:
        if state == "invalidated" and curation.state != "valid":
            raise Conflict("an invalidated memory cannot be edited", hint="restore it first")
        if curation.text is not None or curation.entities is not None:
            edits["grams"] = words.grams(_indexed(db, mem, edits))
        assignments = ", ".join(f"{column} = ?" for column in edits)
        db.execute(
            f"UPDATE memories SET {assignments}, edited_at = ?, updated_at = ? WHERE mem = ?",
            [*edits.values(), now, now, mem],
        )
    if curation.state == "invalidated":
        db.execute(
            "UPDATE memories SET state = 'invalidated', reason = ?,"
            " invalidated_at = coalesce(invalidated_at, ?) WHERE mem = ?",
            [None if curation.reason is None else storable(curation.reason), now, mem],
        )
        changed = True
    elif curation.state == "valid" and state == "invalidated":
        db.execute(
            "UPDATE memories SET state = 'valid', reason = NULL, invalidated_at = NULL WHERE mem = ?", [mem]
        )
        changed = True
    if changed:
        banks.touch(db, bank, now)
    return get(db, bank_id, memory_id)


def _find(db: sqlite3.Connection, bank_id: str, memory_id: str) -> tuple[int, int]:
    bank = banks.find(db, bank_id)
    try:
        row = db.execute(
            "SELECT mem FROM memories WHERE id = ? AND bank = ? AND state <> 'dormant'", [memory_id, bank]
        ).fetchone()
    except UnicodeEncodeError:
        row = None
    if row is None:
        raise NotFound(f"there is no memory {memory_id!r} in the bank {bank_id!r}")
    return bank, int(row[0])


def _indexed(db: sqlite3.Connection, mem: int, edits: dict[str, object]) -> str:
    text, entities = db.execute("SELECT text, entities FROM memories WHERE mem = ?", [mem]).fetchone()
    return f"{edits.get('text', text)} {' '.join(strings(str(edits.get('entities', entities))))}"


def _edits(curation: Curation) -> dict[str, object]:
    """Column -> new value of every field that is given."""
    edits: dict[str, object] = {}
    if curation.text is not None:
        text = storable(curation.text)
        if not text.strip():
            raise InvalidInput("the text of a memory cannot be empty", hint="invalidate it instead")
        edits["text"] = text
    if curation.context is not None:
        edits["context"] = storable(curation.context) or None
    if curation.fact_type is not None:
        if curation.fact_type not in TYPES:
            raise InvalidInput(f"unknown fact_type {curation.fact_type!r}", hint="world or experience")
        edits["fact_type"] = curation.fact_type
    for field in ("occurred_start", "occurred_end", "mentioned_at"):
        value = getattr(curation, field)
        if value is not None:
            edits[field] = times.stamp(value, field)
    if curation.entities is not None:
        distinct = {
            name.casefold(): name for name in map(storable, reversed(curation.entities)) if name.strip()
        }
        edits["entities"] = to_json(list(reversed(distinct.values())))
    return edits


def entity_id(bank_uuid: str, name: str) -> str:
    """The same name has the same id wherever it stands in a bank."""
    return str(uuid.uuid5(uuid.UUID(bank_uuid), name.casefold()))


def _entity_name(db: sqlite3.Connection, bank: int, wanted: str) -> str | None:
    try:
        asked = str(uuid.UUID(wanted))
    except ValueError:
        raise InvalidInput(f"{wanted!r} is no entity id", hint="it is a UUID") from None
    bank_uuid = db.execute("SELECT uuid FROM banks WHERE bank = ?", [bank]).fetchone()[0]
    names = db.execute(
        "SELECT DISTINCT e.value FROM memories m, json_each(m.entities) e WHERE m.bank = ?", [bank]
    )
    return next((name for (name,) in names if entity_id(bank_uuid, name) == asked), None)


def _model(bank_id: str, row: tuple[Any, ...]) -> Memory:
    mentioned = times.iso(row[6])
    started = times.iso(row[7])
    return Memory(
        id=row[0],
        text=row[1],
        context=row[2],
        fact_type=row[3],
        document_id=row[4],
        chunk_id=chunk_id(bank_id, row[4], row[5]),
        date=started or mentioned,
        mentioned_at=mentioned,
        occurred_start=started,
        occurred_end=times.iso(row[8]),
        entities=strings(row[9]),
        tags=strings(row[10]),
        metadata=from_json(row[11]),
        proof_count=row[12],
        state=row[13],
        invalidation_reason=row[14],
        invalidated_at=times.iso(row[15]),
        edited_at=times.iso(row[16]),
        updated_at=times.iso(row[17]),
    )

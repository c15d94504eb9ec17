"""Retain: a document's whole new state -> rows, keeping what did not change.

A fact is recognised by its key, anywhere in the document: its memory keeps id and curation while the
text around it changes. A fact that was taken back stays taken back, and an edited one stays edited, also
when its sentence went away and comes back: safer than a server, which revives both.
"""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from console.memory.embedded import banks, dates, tags, times, words
from console.memory.embedded.codec import from_json, strings, to_json
from console.memory.embedded.entities import entities as named_in
from console.memory.embedded.facts import facts
from console.memory.embedded.text import check_id, chunk_bounds, content_hash, storable
from console.memory.errors import InvalidInput
from console.memory.models import RetainItem

STEP = 10_000
"""Microseconds between the ``mentioned_at`` of a document's facts: keeps their reading order in every listing, as
a server does it (measured)."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One document of a call: items that share an id are one, their texts joined by a newline."""

    document_id: str
    text: str
    append: bool
    event_date: int | None
    now_dated: bool
    """No time was given: the moment of the write is it."""
    context: str | None
    metadata: str | None
    tags: str
    entities: tuple[str, ...]
    params: dict[str, Any]


def prepare(items: Sequence[RetainItem]) -> list[Prepared]:
    """Everything that can be refused is refused here, before the file is touched. Raises InvalidInput."""
    grouped: dict[str, list[Prepared]] = {}
    for number, item in enumerate(items):
        one = _prepared(item, number)
        grouped.setdefault(one.document_id, []).append(one)
    return [_joined(same) for same in grouped.values()]


def _prepared(item: RetainItem, number: int) -> Prepared:
    name = item.document_id or f"item {number + 1}"
    check_id(item.document_id, "document id")
    if not isinstance(item.content, str) or not storable(item.content).strip():
        raise InvalidInput(f"the text of {name!r} is empty", hint="retain needs some text")
    if item.update_mode not in ("replace", "append"):
        raise InvalidInput(f"unknown update_mode {item.update_mode!r} of {name!r}", hint="replace or append")
    if not all(isinstance(tag, str) for tag in item.tags):
        raise InvalidInput(f"the tags of {name!r} must be texts", hint="give a list of them")
    metadata = item.metadata or {}
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in metadata.items()):
        raise InvalidInput(f"the metadata values of {name!r} must be texts", hint="quote them")
    metadata = {storable(key): storable(value) for key, value in metadata.items()}
    unset = item.timestamp == "unset"
    event_date = None if unset else times.stamp(item.timestamp, f"the timestamp of {name!r}")
    context = storable(item.context) if item.context else None
    params: dict[str, Any] = {"event_date": times.iso(event_date)}
    if context:
        params["context"] = context
    if metadata:
        params["metadata"] = metadata
    if item.entities:
        params["entities"] = [{"text": one.text, "type": one.type or "CONCEPT"} for one in item.entities]
    if item.strategy:
        params["strategy"] = item.strategy
    if item.observation_scopes is not None:
        params["observation_scopes"] = item.observation_scopes
    try:
        params = from_json(storable(to_json(params)))
    except (msgspec.MsgspecError, TypeError, ValueError, UnicodeError) as error:
        raise InvalidInput(
            f"a field of {name!r} cannot be stored: {error}", hint="use plain JSON values"
        ) from None
    return Prepared(
        document_id=item.document_id,
        text=storable(item.content),
        append=item.update_mode == "append",
        event_date=event_date,
        now_dated=event_date is None and not unset,
        context=context,
        metadata=to_json(metadata) if metadata else None,
        tags=tags.stored(map(storable, item.tags)),
        entities=tuple(storable(one.text) for one in item.entities),
        params=params,
    )


def _joined(same: list[Prepared]) -> Prepared:
    if len(same) == 1:
        return same[0]
    first, last = same[0], same[-1]
    union = {tag for one in same for tag in strings(one.tags)}
    return Prepared(
        document_id=first.document_id,
        text="\n".join(one.text for one in same),
        append=first.append,
        event_date=last.event_date,
        now_dated=last.now_dated,
        context=last.context,
        metadata=last.metadata,
        tags=tags.stored(union),
        entities=tuple(dict.fromkeys(name for one in same for name in one.entities)),
        params=last.params,
    )


def write(db: sqlite3.Connection, bank: int, prepared: Iterable[Prepared]) -> None:
    """Inside the caller's write transaction."""
    now = times.now()
    for one in prepared:
        _write(db, bank, one, now)
    banks.touch(db, bank, now)


def _write(db: sqlite3.Connection, bank: int, one: Prepared, now: int) -> None:
    old = db.execute(
        "SELECT doc, text, content_hash FROM documents WHERE bank = ? AND id = ?", [bank, one.document_id]
    ).fetchone()
    text = f"{old[1]}\n{one.text}" if old is not None and one.append else one.text
    digest = content_hash(text)
    event_date = now if one.now_dated else one.event_date
    params = to_json({**one.params, "event_date": times.iso(event_date)})
    state = (text, len(text), digest, one.tags, one.metadata, params, now)
    if old is None:
        made = db.execute(
            "INSERT INTO documents (text, length, content_hash, tags, metadata, params, updated_at, bank, id, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*state, bank, one.document_id, now],
        )
        _write_facts(db, bank, int(made.lastrowid or 0), one, text, event_date, now, known=False)
        return
    doc = int(old[0])
    db.execute(
        "UPDATE documents SET text = ?, length = ?, content_hash = ?, tags = ?, metadata = ?, params = ?, updated_at = ?"
        " WHERE doc = ?",
        [*state, doc],
    )
    db.execute(
        "UPDATE memories SET tags = ?1, metadata = ?2, updated_at = ?3"
        " WHERE doc = ?4 AND state <> 'invalidated' AND (tags <> ?1 OR metadata IS NOT ?2)",
        [one.tags, one.metadata, now, doc],
    )
    if digest != old[2]:
        _write_facts(db, bank, doc, one, text, event_date, now, known=True)


def _write_facts(
    db: sqlite3.Connection,
    bank: int,
    doc: int,
    one: Prepared,
    text: str,
    event_date: int | None,
    now: int,
    *,
    known: bool,
) -> None:
    from mirror.keys import fact_key  # only where a text is stored: recall starts without the mirror

    bounds = chunk_bounds(text)
    _write_chunks(db, doc, bounds, now)
    old: dict[str, tuple[int, str, tuple[int, int, int]]] = {}
    if known:
        for mem, key, state, *place in db.execute(
            "SELECT mem, source_key, state, chunk, position, proof_count FROM memories WHERE doc = ?", [doc]
        ):
            old[key] = (mem, state, tuple(place))
    rows = []
    for position, fact in enumerate(facts(text, bounds, fact_key)):
        if fact.key in old:
            mem, state, place = old.pop(fact.key)
            if place != (new_place := (fact.chunk, position, fact.count)):
                db.execute(
                    "UPDATE memories SET chunk = ?, position = ?, proof_count = ? WHERE mem = ?",
                    [*new_place, mem],
                )
            if state == "dormant":
                db.execute("UPDATE memories SET state = 'valid' WHERE mem = ?", [mem])
            continue
        names = tuple(dict.fromkeys((*_mentioned(one.entities, fact.text), *named_in(fact.text))))
        mentioned = None if event_date is None else min(event_date + position * STEP, times.LATEST)
        occurred = dates.first(fact.text, event_date) or (None, None)
        rows.append(
            [
                memory_id(), bank, doc, fact.chunk, position, fact.key, fact.text, one.context, fact.fact_type,
                mentioned, *occurred, to_json(names), one.tags, one.metadata, words.grams(fact.text), fact.count, "valid", now, now,
            ]
        )  # fmt: skip
    _drop_gone(db, [(mem, state) for mem, state, _ in old.values()])
    db.executemany(
        "INSERT INTO memories (id, bank, doc, chunk, position, source_key, text, context, fact_type, mentioned_at,"
        " occurred_start, occurred_end, entities, tags, metadata, grams, proof_count, state, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def _drop_gone(db: sqlite3.Connection, gone: Sequence[tuple[int, str]]) -> None:
    """Facts that the text no longer says: deleted, except where a person's work hangs on them."""
    for mem, state in gone:
        if state == "valid":
            db.execute("UPDATE memories SET state = 'dormant' WHERE mem = ? AND edited_at IS NOT NULL", [mem])
            db.execute("DELETE FROM memories WHERE mem = ? AND edited_at IS NULL", [mem])


def _write_chunks(db: sqlite3.Connection, doc: int, bounds: Sequence[tuple[int, int]], now: int) -> None:
    """Chunks with the same bounds keep the time they were made."""
    db.execute("DELETE FROM chunks WHERE doc = ? AND idx >= ?", [doc, len(bounds)])
    db.executemany(
        "INSERT INTO chunks (doc, idx, start, stop, created_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (doc, idx) DO UPDATE SET start = excluded.start, stop = excluded.stop, created_at = excluded.created_at"
        " WHERE start <> excluded.start OR stop <> excluded.stop",
        [(doc, index, start, stop, now) for index, (start, stop) in enumerate(bounds)],
    )


def _mentioned(names: Iterable[str], text: str) -> list[str]:
    """Of the entities that came with the document, those that this fact names."""
    folded = text.casefold()
    return [name for name in names if name.strip() and name.casefold() in folded]


def memory_id() -> str:
    """A UUID that begins with the time, as version 7 does: new rows land side by side in the id's index."""
    stamp = time.time_ns() // 1_000_000
    raw = bytearray(stamp.to_bytes(6, "big") + os.urandom(10))
    raw[6] = raw[6] & 0x0F | 0x70
    raw[8] = raw[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(raw)))

"""Documents that bring their facts: straight into rows, nothing is extracted."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from console.memory.embedded import banks, tags, times, words
from console.memory.embedded.codec import from_json, to_json
from console.memory.embedded.retain import memory_id
from console.memory.embedded.text import check_id, chunk_bounds, content_hash, storable
from console.memory.errors import InvalidInput
from console.memory.models import ArchivedDocument, ImportResult, Memory

CONFLICTS = ("skip", "replace")
_TYPES = frozenset({"world", "experience"})


@dataclass(frozen=True, slots=True)
class Prepared:
    """One document as it is stored; of ``facts`` each row's columns by name, ``id`` '' for a new one."""

    document_id: str
    text: str
    tags: str
    metadata: str | None
    params: str
    created_at: int | None
    bounds: tuple[tuple[int, int], ...]
    facts: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    imported: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    facts: int = 0
    invalidated: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.imported + other.imported,
            self.skipped + other.skipped,
            self.facts + other.facts,
            self.invalidated + other.invalidated,
        )

    def result(self) -> ImportResult:
        return ImportResult(
            imported=self.imported, skipped=self.skipped, facts=self.facts, invalidated=self.invalidated
        )


def prepare(documents: Sequence[ArchivedDocument], on_conflict: str) -> list[Prepared]:
    """Everything that can be refused is refused here, before the file is touched. Raises InvalidInput."""
    if on_conflict not in CONFLICTS:
        raise InvalidInput(f"unknown on_conflict {on_conflict!r}", hint="skip or replace")
    prepared: dict[str, Prepared] = {}
    for one in documents:
        document = one.document
        check_id(document.id, "document id")
        if document.id in prepared:
            raise InvalidInput(f"the document {document.id!r} comes twice", hint="import it once")
        prepared[document.id] = _prepared(one)
    return list(prepared.values())


def _prepared(one: ArchivedDocument) -> Prepared:
    document = one.document
    text = storable(document.original_text or "")
    if not text:
        raise InvalidInput(
            f"the document {document.id!r} comes without its text", hint="the store it is from keeps none"
        )
    params = dict(document.retain_params or {})
    metadata = params.get("metadata") or document.document_metadata
    created = times.stamp(document.created_at, f"the created_at of {document.id!r}")
    try:
        params = from_json(storable(to_json({"event_date": None, **params})))
        stored_metadata = storable(to_json(metadata)) if metadata else None
    except (msgspec.MsgspecError, TypeError, ValueError, UnicodeError) as error:
        raise InvalidInput(
            f"a field of {document.id!r} cannot be stored: {error}", hint="use plain JSON values"
        ) from None
    return Prepared(
        document_id=document.id,
        text=text,
        tags=tags.stored(map(storable, document.tags)),
        metadata=stored_metadata,
        params=to_json(params),
        created_at=created,
        bounds=tuple(_bounds(text, one.chunks)),
        facts=tuple(_rows(one, stored_metadata, created)),
    )


def _bounds(text: str, chunks: Sequence[str]) -> list[tuple[int, int]]:
    """Where the given chunks stand; cut anew where they are not pieces of the text in order."""
    found: list[tuple[int, int]] = []
    for chunk in chunks:
        at = text.find(storable(chunk), found[-1][0] if found else 0) if chunk else -1
        if at < 0:
            return chunk_bounds(text)
        found.append((at, at + len(storable(chunk))))
    return found or chunk_bounds(text)


def _rows(one: ArchivedDocument, metadata: str | None, created: int | None) -> Iterable[dict[str, Any]]:
    from mirror.keys import fact_key

    facts = [fact for fact in one.facts if fact.fact_type in _TYPES]
    order = sorted(range(len(facts)), key=lambda at: (_chunk(facts[at]), at))
    for position, fact in enumerate(facts[at] for at in order):
        text = storable(fact.text)
        if not text.strip():
            raise InvalidInput(f"a fact of {one.document.id!r} is empty", hint="leave it out")
        what = f"of a fact of {one.document.id!r}"
        dead = fact.state == "invalidated"
        names = to_json(list(dict.fromkeys(storable(name) for name in fact.entities if name.strip())))
        yield {
            "id": _kept_id(fact.id),
            "chunk": _chunk(fact),
            "position": position,
            "source_key": fact_key(text),
            "text": text,
            "context": storable(fact.context) if fact.context else None,
            "fact_type": fact.fact_type,
            "mentioned_at": times.stamp(fact.mentioned_at, f"mentioned_at {what}"),
            "occurred_start": times.stamp(fact.occurred_start, f"occurred_start {what}"),
            "occurred_end": times.stamp(fact.occurred_end, f"occurred_end {what}"),
            "entities": names,
            "tags": tags.stored(map(storable, fact.tags)),
            "metadata": storable(to_json(fact.metadata)) if fact.metadata else metadata,
            "grams": words.grams(text),
            "proof_count": max(1, fact.proof_count or 1),
            "state": "invalidated" if dead else "valid",
            "reason": storable(fact.invalidation_reason) if dead and fact.invalidation_reason else None,
            "invalidated_at": times.stamp(fact.invalidated_at, f"invalidated_at {what}") if dead else None,
            "edited_at": times.stamp(fact.edited_at, f"edited_at {what}"),
            "created_at": created,
        }


def _chunk(fact: Memory) -> int:
    tail = (fact.chunk_id or "").rpartition("_")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0


def _kept_id(given: str) -> str:
    try:
        return str(uuid.UUID(given)) if given else ""
    except ValueError:
        return ""


def write(db: sqlite3.Connection, bank: int, prepared: Iterable[Prepared], *, replace: bool) -> Outcome:
    """Inside the caller's write transaction."""
    now = times.now()
    imported: list[str] = []
    skipped: list[str] = []
    live = dead = 0
    for one in prepared:
        known = db.execute(
            "SELECT doc FROM documents WHERE bank = ? AND id = ?", [bank, one.document_id]
        ).fetchone()
        if known is not None and not replace:
            skipped.append(one.document_id)
            continue
        if known is not None:
            db.execute("DELETE FROM documents WHERE doc = ?", [known[0]])
        _write(db, bank, one, now)
        imported.append(one.document_id)
        gone = sum(1 for fact in one.facts if fact["state"] == "invalidated")
        live += len(one.facts) - gone
        dead += gone
    if imported:
        banks.touch(db, bank, now)
    return Outcome(tuple(imported), tuple(skipped), live, dead)


def _write(db: sqlite3.Connection, bank: int, one: Prepared, now: int) -> None:
    created = now if one.created_at is None else one.created_at
    made = db.execute(
        "INSERT INTO documents (bank, id, text, length, content_hash, tags, metadata, params, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            bank, one.document_id, one.text, len(one.text), content_hash(one.text), one.tags, one.metadata, one.params,
            created, now,
        ],
    )  # fmt: skip
    doc = int(made.lastrowid or 0)
    db.executemany(
        "INSERT INTO chunks (doc, idx, start, stop, created_at) VALUES (?, ?, ?, ?, ?)",
        [(doc, index, start, stop, created) for index, (start, stop) in enumerate(one.bounds)],
    )
    taken = _taken(db, [fact["id"] for fact in one.facts])
    rows = []
    for fact in one.facts:
        kept = fact["id"] if fact["id"] and fact["id"] not in taken else memory_id()
        taken.add(kept)
        # A fact that was taken back at an unknown moment was taken back by now.
        gone = fact["state"] == "invalidated" and fact["invalidated_at"] is None
        rows.append(
            {**fact, "id": kept, "bank": bank, "doc": doc, "created_at": created, "updated_at": now}
            | ({"invalidated_at": now} if gone else {})
        )
    db.executemany(
        "INSERT INTO memories (id, bank, doc, chunk, position, source_key, text, context, fact_type, mentioned_at,"
        " occurred_start, occurred_end, entities, tags, metadata, grams, proof_count, state, reason, invalidated_at,"
        " edited_at, created_at, updated_at)"
        " VALUES (:id, :bank, :doc, :chunk, :position, :source_key, :text, :context, :fact_type, :mentioned_at,"
        " :occurred_start, :occurred_end, :entities, :tags, :metadata, :grams, :proof_count, :state, :reason,"
        " :invalidated_at, :edited_at, :created_at, :updated_at)",
        rows,
    )


def _taken(db: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
    """Ids that stand in the file already, in whatever bank."""
    wanted = to_json([one for one in ids if one])
    rows = db.execute("SELECT id FROM memories WHERE id IN (SELECT value FROM json_each(?))", [wanted])
    return {row[0] for row in rows}


__all__ = ["CONFLICTS", "Outcome", "Prepared", "prepare", "write"]

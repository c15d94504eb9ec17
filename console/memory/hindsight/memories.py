"""Memories: one shape from lists and single reads, and a search that is literal."""

from __future__ import annotations

import re
from typing import Any

from console.memory.errors import InvalidInput
from console.memory.hindsight.http import Http, Repeat
from console.memory.hindsight.ids import check_bank, check_document, check_uuid, shown
from console.memory.hindsight.paging import check_window, wants_tags
from console.memory.hindsight.urls import bank_path
from console.memory.hindsight.wire import MemoryPage, WireMemory, same_id
from console.memory.models import Curation, Memory, MemoryQuery, Page

_ALL = 1_000_000  # the server has no maximum here; 10,000 rows take 1.5 s (measured)
_WILDCARD = re.compile(r"[%_\\]")
_FILTERS = ("type", "document_id", "entity_id", "consolidation_state", "time_field", "start_date", "end_date")


async def list_memories(http: Http, bank_id: str, query: MemoryQuery) -> Page[Memory]:
    check_bank(bank_id)
    check_window(query.limit, query.offset)
    if query.state not in {"valid", "invalidated"}:
        raise InvalidInput(f"unknown memory state {shown(query.state)}", hint="use valid or invalidated")
    if query.document_id is not None:
        check_document(query.document_id, bank_id)
    if query.q and _WILDCARD.search(query.q):
        return await _literal(http, bank_id, query)
    rows, total = await _fetch(http, bank_id, query, query.q, query.limit, query.offset)
    return Page(items=tuple(rows), total=total, limit=query.limit, offset=query.offset)


async def _literal(http: Http, bank_id: str, query: MemoryQuery) -> Page[Memory]:
    """The server takes ``%`` and ``_`` for wildcards: it narrows by the longest plain part, the rest is done here."""
    plain = max(_WILDCARD.split(query.q or ""), key=len)
    rows, _ = await _fetch(http, bank_id, query, plain or None, _ALL, 0)
    wanted = (query.q or "").casefold()
    hits = [row for row in rows if wanted in row.text.casefold() or wanted in (row.context or "").casefold()]
    window = tuple(hits[query.offset : query.offset + query.limit])
    return Page(items=window, total=len(hits), limit=query.limit, offset=query.offset)


async def _fetch(
    http: Http, bank_id: str, query: MemoryQuery, q: str | None, limit: int, offset: int
) -> tuple[list[Memory], int]:
    sent = [("state", query.state), ("limit", str(limit)), ("offset", str(offset))]
    sent += [(name, value) for name in _FILTERS if (value := getattr(query, name))]
    if q:
        sent.append(("q", q))
    if wants_tags(query.tags, query.tags_match):
        sent += [("tags", tag) for tag in query.tags] + [("tags_match", query.tags_match)]
    answer = await http.call(
        "GET", bank_path(bank_id, "memories", "list"), query=sent, missing=f"bank {shown(bank_id)}"
    )
    page = answer.decode(MemoryPage)
    for row in page.items:
        if query.document_id and row.document_id is not None:
            same_id(query.document_id, row.document_id, answer.where)
    return [row.model() for row in page.items], page.total or 0


async def get_memory(http: Http, bank_id: str, memory_id: str) -> Memory:
    known = check_uuid(memory_id, "memory", check_bank(bank_id))
    answer = await http.call("GET", bank_path(bank_id, "memories", known), missing=_missing(bank_id, known))
    memory = answer.decode(WireMemory)
    same_id(known, memory.id, answer.where)
    return memory.model()


async def curate_memory(http: Http, bank_id: str, memory_id: str, curation: Curation) -> Memory:
    known = check_uuid(memory_id, "memory", check_bank(bank_id))
    answer = await http.call(
        "PATCH",
        bank_path(bank_id, "memories", known),
        body=curation_body(curation),
        repeat=Repeat.REFUSED,
        missing=_missing(bank_id, known),
    )
    memory = answer.decode(WireMemory)
    same_id(known, memory.id, answer.where)
    return memory.model()


def curation_body(curation: Curation) -> dict[str, Any]:
    """What to send: only what changes. Raises InvalidInput for a combination that the server refuses."""
    names = (
        "state",
        "reason",
        "text",
        "context",
        "fact_type",
        "occurred_start",
        "occurred_end",
        "mentioned_at",
    )
    body: dict[str, Any] = {name: value for name in names if (value := getattr(curation, name)) is not None}
    if curation.entities is not None:
        # A correction by hand must land on the name that was written, not on a similar one.
        body |= {"entities": list(curation.entities), "resolve_entities": False}
    if not body:
        raise InvalidInput("nothing to change", hint="give a state, a text or another field")
    if curation.reason is not None and curation.state != "invalidated":
        raise InvalidInput("a reason belongs to an invalidation", hint="set state to invalidated as well")
    if curation.text is not None and not curation.text.strip():
        raise InvalidInput("a memory's text must not be blank", hint="invalidate it instead")
    return body


def _missing(bank_id: str, memory_id: str) -> str:
    return f"memory {shown(memory_id)} in bank {shown(bank_id)}"

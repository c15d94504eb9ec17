"""Listings of a store, whole or in part: one page, or all of them as they come.

Promise: with ``--all`` every row is printed once, or the command fails: a server's pages shift when somebody writes
between two of them, and a row that fell between is not passed over in silence.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import msgspec

from console.cli.base import State
from console.cli.output import page_json, print_json, print_jsonl
from console.memory.errors import Conflict, Unsupported
from console.memory.models import DocumentQuery, DocumentSummary, Memory, MemoryQuery, Page
from console.memory.store import MemoryStore

R = TypeVar("R", DocumentSummary, Memory)
Q = TypeVar("Q", DocumentQuery, MemoryQuery)
PAGE = 10_000
"""Rows a request: one of 10,000 takes the server 0.7 s, a hundred of 100 take 5.4 s (measured)."""


async def every(
    fetch: Callable[[Q], Awaitable[Page[R]]], query: Q, size: int = PAGE
) -> AsyncIterator[Page[R]]:
    """All pages from the query's offset on. Raises Conflict at the end where rows were written meanwhile."""
    seen: set[str] = set()
    offset, first, doubles = query.offset, -1, 0
    while True:
        page = await fetch(msgspec.structs.replace(query, limit=size, offset=offset))
        first = page.total if first < 0 else first
        fresh = tuple(row for row in page.items if row.id not in seen)
        doubles += len(page.items) - len(fresh)
        seen.update(row.id for row in fresh)
        offset += len(page.items)
        yield msgspec.structs.replace(page, items=fresh)
        if len(page.items) < size:
            break
    if offset - query.offset > size and (doubles or page.total != first):
        raise Conflict(
            "the bank was written to while it was listed: rows may be missing",
            hint="run it again, or list less",
        )


def show_listing(
    state: State, list_: Callable[[MemoryStore, Q], Awaitable[Page[R]]], query: Q, whole: bool
) -> Page[R] | None:
    """The page to print as a table; None where it was printed as JSON already.

    With ``--jsonl`` rows are printed page by page: memory holds one page, whatever the bank holds.
    """

    async def work(store: MemoryStore) -> Page[R]:
        if not whole:
            return await list_(store, query)
        parts: list[R] = []
        total = 0
        async for page in every(lambda asked: list_(store, asked), await _steady(list_, store, query)):
            total = page.total
            if state.as_jsonl:
                await asyncio.to_thread(print_jsonl, page.items)
            else:
                parts += page.items
        return Page(items=tuple(parts), total=total, limit=len(parts), offset=query.offset)

    found = state.with_store(work)
    if state.as_jsonl:
        print_jsonl(found.items)
    elif state.as_json:
        print_json(page_json(found))
    else:
        return found
    return None


async def _steady(list_: Callable[[MemoryStore, Q], Awaitable[Page[R]]], store: MemoryStore, query: Q) -> Q:
    """The query in an order that an update does not change: else it would move a row between two pages. A server before
    1.1 has only the other order; there the check after the last page has to do."""
    if not isinstance(query, DocumentQuery) or query.time_field is not None:
        return query
    steady = msgspec.structs.replace(query, time_field="created_at")
    try:
        await list_(store, msgspec.structs.replace(steady, limit=0))
    except Unsupported:
        return query
    return steady

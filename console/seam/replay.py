"""Writes of which nobody knows that the bank has them: looked for, sent again where that is safe, kept otherwise.

Safe to send again is what gives the same bank however often it arrives: a replace with document ids, a tag
change, a curation, a delete. Everything else (a text without an id, an append, a clear) waits for a person's
word, and says so in ``console seam status``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from console.memory.errors import NotFound, StoreError
from console.memory.models import DocumentQuery
from console.memory.store import MemoryStore
from console.seam.delivery import LOST, UNREACHED, Delivery, log, next_try
from console.seam.errors import SpoolError
from console.seam.spool import PAGE_DUE, Row, Spool
from console.seam.stores import Stores
from console.seam.upstream import Headers
from console.seam.writes import Item, items_of, joined
from mirror.export import text_hash

EVERY = 2.0
"""Seconds between two looks at the spool."""
NEVER = 4_000_000_000.0
"""``due`` of a write that waits for a person."""
_SKEW = timedelta(minutes=2)


class Replay:
    """Runs beside the endpoint, on its loop."""

    def __init__(
        self,
        delivery: Delivery,
        spool: Spool,
        *,
        stores: Stores,
        authorizations: Mapping[str, bytes],
        written: Callable[[], None],
    ) -> None:
        self._delivery = delivery
        self._spool = spool
        self._stores = stores
        self._own = 0
        """Rows up to here were left by an earlier seam."""
        self._authorizations = authorizations
        self._written = written

    async def begin(self) -> None:
        """Before the first request: what is pending by now was left by an earlier seam. Raises SpoolError."""
        self._own = await self._spool.last()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.once()
                await self._spool.purge()
            except SpoolError as error:
                log.error("%s", error)
            await asyncio.sleep(EVERY)

    async def once(self, now: float | None = None) -> int:
        """Go through what is due, in the order it came; how many writes were settled. Raises SpoolError."""
        settled = 0
        blocked: set[tuple[str, str]] = set()
        for row in await self._spool.due(self._delivery.backend.url, time.time() if now is None else now):
            keys = {(row.bank, document) for document in row.documents}
            # A pending row of this process is being sent now, and its sender settles it whatever happens.
            sending = row.state == "pending" and row.id > self._own
            if sending or row.id in self._delivery.under_way or keys & blocked:
                blocked |= keys
                continue
            if await self._one(row):
                settled += 1
            else:
                blocked |= keys
        return settled

    async def _one(self, row: Row) -> bool:
        if row.repeatable and await self._spool.superseded(row):
            await self._spool.settle(row.id, "superseded", error="a later write of it is in the bank")
            return True
        try:
            if row.state != "failed" and await self._arrived(row):
                await self._spool.settle(row.id, "stored", page=PAGE_DUE)
                self._written()
                return True
        except StoreError as error:
            # Not knowing whether it is there, it is not sent: the next look asks again.
            await self._wait(row, f"cannot look for it in the bank: {error}", next_try(row.attempts))
            return False
        if not row.repeatable:
            words = "the bank may have it" if row.state != "failed" else row.error or "not sent"
            await self._wait(row, f"{words}; `console seam retry {row.id}` sends it again", NEVER)
            return False
        return await self._again(row)

    async def _again(self, row: Row) -> bool:
        try:
            await self._delivery.send(row.id, row, self._headers(row), tries=row.attempts)
        except (*UNREACHED, *LOST):
            return False
        self._written()
        return True

    async def _wait(self, row: Row, why: str, due: float) -> None:
        state = row.state if row.state != "pending" else "unknown"
        await self._spool.settle(row.id, state, status=row.status, error=why, due=due, attempted=True)

    def _headers(self, row: Row) -> Headers:
        headers: list[tuple[bytes, bytes]] = [(b"accept", b"application/json")]
        if row.content_type:
            headers.append((b"content-type", row.content_type.encode("latin-1")))
        if row.body:
            headers.append((b"content-length", str(len(row.body)).encode()))
        if shown := self._authorizations.get(row.label) or self._authorizations.get(""):
            headers.append((b"authorization", shown))
        return headers

    async def _arrived(self, row: Row) -> bool:
        """Whether the bank has what a retain said; False for what cannot be looked for. Raises StoreError."""
        if row.kind != "retain":
            return False
        wanted = joined(items_of(row.body))
        if not wanted or any(item.text is None or item.append for item in wanted.values()):
            return False
        store = self._stores.of(row.label)
        for document, item in wanted.items():
            if document is None:
                if await find_text(store, row, item) is None:
                    return False
                continue
            try:
                stored = await store.get_document(row.bank, document)
            except NotFound:
                return False
            if stored.content_hash != text_hash(item.text or ""):
                return False
        return True


async def find_text(store: MemoryStore, row: Row, item: Item) -> str | None:
    """The id of the document with that text, among those written since the write came in. Raises StoreError."""
    since = datetime.fromtimestamp(row.at, UTC) - _SKEW
    wanted = text_hash(item.text or "")
    offset = 0
    while True:
        try:
            page = await store.list_documents(
                row.bank,
                DocumentQuery(
                    time_field="updated_at", start_date=since.isoformat(), limit=1000, offset=offset
                ),
            )
        except NotFound:
            return None
        for document in page.items:
            if document.content_hash == wanted:
                return document.id
        offset += len(page.items)
        if not page.items or offset >= page.total:
            return None

"""Operations, each with the documents it writes.

The list names a document only where there is one. For the others the ids stand in the children's
result once they ran, and before that only in their payload, which holds whole texts: it is read for
the ids, in memory, and dropped.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from console.memory.errors import NotFound, Unavailable
from console.memory.hindsight.http import Http
from console.memory.hindsight.ids import check_bank, check_uuid, shown
from console.memory.hindsight.paging import gather_window
from console.memory.hindsight.urls import bank_path
from console.memory.hindsight.wire import OperationPage, WireOperation, same_id
from console.memory.models import Operation, Page

FINAL = frozenset({"completed", "failed", "cancelled"})
_WRITES_DOCUMENTS = frozenset({"batch_retain", "retain", "file_convert_retain"})
_MOST = 100  # the server's maximum
_AT_ONCE = 8


class Operations:
    """Remembers the documents of finished operations: those never change."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._finished: dict[tuple[str, str], tuple[str, ...]] = {}
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def list(self, bank_id: str, status: str | None, limit: int, offset: int) -> Page[Operation]:
        check_bank(bank_id)

        async def fetch(size: int, start: int) -> tuple[list[WireOperation], int]:
            query = [("limit", str(size)), ("offset", str(start))]
            if status:
                query.append(("status", status))
            answer = await self._http.call(
                "GET", bank_path(bank_id, "operations"), query=query, missing=f"bank {shown(bank_id)}"
            )
            page = answer.decode(OperationPage)
            return page.operations, page.total or 0

        rows, total = await gather_window(fetch, limit, offset, _MOST)
        # The server's order is not stable between pages: one row may come twice.
        unique = list({row.key: row for row in rows}.values())
        items = await asyncio.gather(*(self._filled(bank_id, row) for row in unique))
        return Page(items=tuple(items), total=total, limit=limit, offset=offset)

    async def get(self, bank_id: str, operation_id: str) -> Operation:
        known = check_uuid(operation_id, "operation", check_bank(bank_id))
        return await self._filled(bank_id, await self._read(bank_id, known), whole=True)

    async def wait(self, bank_id: str, operation_id: str, timeout: float) -> Operation:
        known = check_uuid(operation_id, "operation", check_bank(bank_id))
        deadline = time.monotonic() + timeout
        pause = 0.05
        while True:
            row = await self._read(bank_id, known)
            if row.status in FINAL:
                return await self._filled(bank_id, row, whole=True)
            if time.monotonic() + pause > deadline:
                raise Unavailable(
                    f"operation {shown(known)} is still {row.status} after {timeout:.0f} s",
                    where=str(self._http.address),
                    hint=row.error_message or "wait longer, or look at the bank's operations",
                )
            await asyncio.sleep(pause)
            pause = min(1.0, pause * 1.5)

    async def _read(self, bank_id: str, operation_id: str, *, payload: bool = False) -> WireOperation:
        missing = f"operation {shown(operation_id)} in bank {shown(bank_id)}"
        answer = await self._http.call(
            "GET",
            bank_path(bank_id, "operations", operation_id),
            query=[("include_payload", "true")] if payload else [],
            missing=missing,
        )
        row = answer.decode(WireOperation)
        same_id(operation_id, row.key, answer.where)
        if row.status == "not_found":  # with 200
            raise NotFound(f"{missing} not found", where=str(self._http.address))
        return row

    async def _filled(self, bank_id: str, row: WireOperation, *, whole: bool = False) -> Operation:
        """``whole`` says that ``row`` is from a single read, which carries children and result."""
        if row.kind not in _WRITES_DOCUMENTS:
            return row.model((row.document_id,) if row.document_id else ())
        cached = self._finished.get((bank_id, row.key))
        ids = cached if cached is not None else await self._documents(bank_id, row, whole)
        if row.status in FINAL:
            self._finished[bank_id, row.key] = ids
        return row.model(ids)

    async def _documents(self, bank_id: str, row: WireOperation, whole: bool) -> tuple[str, ...]:
        if row.document_id:
            return (row.document_id,)
        try:
            if not whole:
                async with self._gate:
                    row = await self._read(bank_id, row.key)
            if row.child_operations:
                children = [str(child.get("operation_id") or "") for child in row.child_operations]
                async with self._gate:
                    rows = [await self._read(bank_id, child) for child in children if child]
                found = [await self._own_documents(bank_id, child) for child in rows]
                return tuple(dict.fromkeys(name for names in found for name in names))
            return await self._own_documents(bank_id, row)
        except NotFound:  # pruned between the two reads
            return ()

    async def _own_documents(self, bank_id: str, row: WireOperation) -> tuple[str, ...]:
        result = row.result_metadata or {}
        known = _strings(result.get("document_ids"))
        count = row.items_count or result.get("items_count")
        if row.document_id:
            return tuple(dict.fromkeys((row.document_id, *known)))
        if isinstance(count, int) and len(known) >= count > 0:
            return known
        async with self._gate:
            payload = (await self._read(bank_id, row.key, payload=True)).task_payload or {}
        contents = payload.get("contents")
        items = contents if isinstance(contents, list) else []
        named = [item.get("document_id") for item in items if isinstance(item, dict)]
        return tuple(dict.fromkeys((*known, *_strings(named), *_strings([payload.get("document_id")]))))


def _strings(value: Any) -> tuple[str, ...]:
    return (
        tuple(entry for entry in value if isinstance(entry, str) and entry) if isinstance(value, list) else ()
    )

"""Pages of what came through the seam, on ``mirror/<bank-slug>`` of the repository: in a thread of its own.

Git takes a tenth of a second and rendering holds the interpreter, so nothing of it may run in a request. What
was acknowledged since the last round is written together, in one commit a bank.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from console.bridge import StoreSource
from console.memory.errors import NotFound, StoreError
from console.memory.store import Capability, MemoryStore
from console.seam.delivery import log
from console.seam.errors import SpoolError
from console.seam.replay import find_text
from console.seam.spool import NO_PAGE, PAGE_WAITS, Row, Spool
from console.seam.stores import Stores
from console.seam.writes import arguments_of, items_of, joined
from mirror.errors import MirrorError, NotBound
from mirror.export import text_hash
from mirror.sync import Options, sync
from mirror.touch import Sent, Touched, touch

POLL = 1.0
"""Seconds between two looks at operations that are not finished."""
_UNBOUND = 60.0
"""Seconds for which a bank without a wiki is not asked about again."""
_WHOLE = frozenset({"clear", "import", "files"})
"""Kinds whose documents the request does not name: the bank is listed."""
_ENDED = frozenset({"completed", "failed", "cancelled"})


@dataclass(slots=True)
class _Round:
    """What one bank's rows ask for."""

    touched: dict[str, Touched] = field(default_factory=dict)
    done: list[Row] = field(default_factory=list)
    waiting: list[Row] = field(default_factory=list)
    whole: bool = False


class Pages:
    """``start``, then ``wake`` after each acknowledged write, ``close`` at the end: what is due is written first."""

    def __init__(
        self,
        spool: Spool,
        upstream: str,
        *,
        stores: Stores,
        repos: Sequence[Path],
        wiki: str,
        default_branch: str | None,
    ) -> None:
        self._spool = spool
        self._upstream = upstream
        self._stores = stores
        self._repos = tuple(repos)
        self._wiki = wiki
        self._default_branch = default_branch
        self._wake = threading.Event()
        self._ending = False
        self._unbound: dict[str, float] = {}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="pages", daemon=True)

    def start(self) -> None:
        self._wake.set()
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def close(self, timeout: float = 10.0) -> None:
        self._ending = True
        self._wake.set()
        self._thread.join(timeout)

    async def _run(self) -> None:
        pause = POLL
        while True:
            ending = self._ending
            try:
                await self.once()
                pause = POLL
            except (SpoolError, MirrorError, StoreError) as error:
                log.warning("pages wait: %s", error)
                pause = min(60.0, pause * 2)
            if ending:
                await self._stores.aclose()
                return
            await asyncio.to_thread(self._wake.wait, pause)
            if pause > POLL and not self._ending:
                await asyncio.sleep(POLL)  # woken or not: what failed just now is not hammered
            self._wake.clear()

    async def once(self) -> int:
        """Write what is due; how many rows are done. Raises SpoolError, MirrorError or StoreError."""
        banks: dict[str, list[Row]] = {}
        for row in await self._spool.pages(self._upstream):
            banks.setdefault(row.bank, []).append(row)
        done = 0
        errors: list[Exception] = []
        for bank, rows in banks.items():
            try:
                done += await self._bank(bank, rows)
            except (MirrorError, StoreError) as error:
                errors.append(error)  # one bank's trouble is not another's
        if errors:
            raise errors[0]
        return done

    async def _bank(self, bank: str, rows: list[Row]) -> int:
        loop = asyncio.get_running_loop()
        if not bank or self._unbound.get(bank, 0.0) > loop.time():
            await self._finish(rows)
            return len(rows)
        store = self._stores.of(rows[-1].label)
        asked = _Round()
        for row in rows:
            await self._ask(store, row, asked)
        try:
            await self._write(StoreSource(store, bank), asked)
        except NotBound as error:
            log.info("passed on, not mirrored: %s", error)
            self._unbound[bank] = loop.time() + _UNBOUND
        except NotFound as error:
            log.info("the bank is gone: %s", error)
        await self._diverged(store, asked.done)
        await self._finish(asked.done)
        for row in asked.waiting:
            await self._spool.page(row.id, PAGE_WAITS)
        return len(asked.done)

    async def _write(self, source: StoreSource, asked: _Round) -> None:
        """In the first repository that has a wiki of the bank. Raises NotBound where none has."""
        for at, repo in enumerate(self._repos):
            try:
                if asked.whole:
                    options = Options(
                        wiki=self._wiki, branch=True, default_branch=self._default_branch, offline=True
                    )
                    await sync(source, repo, options)
                if asked.touched:
                    touched = list(asked.touched.values())
                    await touch(source, repo, touched, wiki=self._wiki, default_branch=self._default_branch)
                return
            except NotBound:
                if at + 1 == len(self._repos):
                    raise

    async def _finish(self, rows: Iterable[Row]) -> None:
        for row in rows:
            await self._spool.page(row.id, NO_PAGE)

    async def _ask(self, store: MemoryStore, row: Row, asked: _Round) -> None:
        """Add what a row needs to the round. Raises StoreError."""
        if row.kind == "bank":
            asked.done.append(row)
            return
        states = [await _operation(store, row.bank, operation) for operation in row.operations]
        ended = all(state.status in _ENDED for state in states)
        refused = "; ".join(dict.fromkeys(state.error for state in states if state.error))
        state, error = (
            ("rejected", f"taken, then failed in the bank: {refused}")
            if ended and refused
            else (row.state, row.error)
        )
        found = (*row.documents, *(i for state in states for i in state.documents))
        documents = list(dict.fromkeys(found))
        if not ended and row.page == PAGE_WAITS:
            return
        if row.kind in _WHOLE:
            if ended:
                asked.whole = True
                asked.done.append(row)
            else:
                asked.waiting.append(row)
            return
        if row.kind == "curate":
            documents = await _documents_of_memory(store, row)
        texts = joined(items_of(row.body)) if row.kind == "retain" else {}
        if row.kind == "retain" and not row.operations and None in texts:
            stored = await find_text(store, row, texts[None])
            if stored is None:
                asked.whole = True  # stored without an id and changed since: only a listing can tell
            else:
                documents.append(stored)
        elif row.kind == "retain" and not documents and ended:
            asked.whole = True
        await self._spool.settle(row.id, state, status=row.status, error=error, documents=documents)
        for document in dict.fromkeys(documents):
            item = texts.get(document) or (texts.get(None) if len(documents) == 1 else None)
            sent = None
            if not ended and item is not None and item.text is not None:
                sent = Sent(item.text, item.append, item.tags, item.context, item.metadata, item.params)
            label = row.label if row.kind == "retain" and row.label else None
            before = asked.touched.get(document)
            asked.touched[document] = Touched(document, label or (before.label if before else None), sent)
        (asked.done if ended else asked.waiting).append(row)

    async def _diverged(self, store: MemoryStore, rows: Iterable[Row]) -> None:
        """A replace that the bank acknowledged, and has not: another text under that id that nothing here wrote later."""
        for row in rows:
            if row.kind != "retain" or not row.repeatable or row.state != "stored":
                continue
            if await self._spool.superseded(row):
                continue
            for document, item in joined(items_of(row.body)).items():
                if document is None or item.text is None:
                    continue
                with suppress(NotFound):
                    stored = await store.get_document(row.bank, document)
                    if stored.content_hash and stored.content_hash != text_hash(item.text):
                        await self._spool.settle(
                            row.id,
                            "diverged",
                            status=row.status,
                            error="the bank has another text under that id",
                        )


@dataclass(frozen=True, slots=True)
class _Operation:
    status: str
    documents: tuple[str, ...] = ()
    error: str = ""


async def _operation(store: MemoryStore, bank: str, operation_id: str) -> _Operation:
    """How far an operation is; one that the bank no longer knows has ended, and a store without any has done it."""
    if Capability.OPERATIONS not in store.capabilities:
        return _Operation("completed")
    try:
        found = await store.get_operation(bank, operation_id)
    except NotFound:
        return _Operation("completed")
    documents = found.document_ids or ((found.document_id,) if found.document_id else ())
    error = (found.error_message or found.status) if found.status in ("failed", "cancelled") else ""
    return _Operation(found.status, documents, error)


async def _documents_of_memory(store: MemoryStore, row: Row) -> list[str]:
    """The document of the fact that a curation names, if it still has one."""
    memory_id = unquote(row.target.partition(b"?")[0].rsplit(b"/", 1)[-1].decode("ascii", "replace"))
    if row.method == "POST":  # over MCP
        given = arguments_of(row.body).get("memory_id")
        memory_id = given if isinstance(given, str) else ""
    try:
        memory = await store.get_memory(row.bank, memory_id)
    except NotFound:
        return []
    return [memory.document_id] if memory.document_id else []

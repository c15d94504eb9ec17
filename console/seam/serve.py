"""A seam from its start to its end: the spool's lock, the port, the endpoint, what runs beside it."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from filelock import FileLock, Timeout

from console.memory.store import MemoryStore
from console.seam.app import Doors, Seam
from console.seam.delivery import Backend
from console.seam.errors import SeamError, SeamLocked
from console.seam.pages import Pages
from console.seam.replay import Replay
from console.seam.spool import Spool
from console.seam.stores import Stores

PORT = 8898
_BACKLOG = 512


@dataclass(frozen=True, slots=True)
class Plan:
    """What to serve, and how."""

    backend: Callable[[], Backend]
    """Made once the loop runs."""
    open_store: Callable[[str | None], MemoryStore]
    """The same bank's server as a store, shown this token (None: no token)."""
    token: str | None
    """The settings' token: for the seam's own questions; a client's own is used where there is none."""
    spool: Path
    repos: tuple[Path, ...]
    """Repositories whose wikis are written; empty: none."""
    wiki: str
    default_branch: str | None
    doors: Doors
    fail_open: bool = False
    durable: bool = False


def serve(plan: Plan, *, ready: Callable[[], None] = lambda: None) -> None:
    """Until ctrl-c or SIGTERM. Raises SeamError."""
    with _one(plan.spool), _listening(plan.doors) as listener:
        asyncio.run(_serve(plan, listener, ready))


async def _serve(plan: Plan, listener: socket.socket, ready: Callable[[], None]) -> None:
    spool = Spool(plan.spool)
    backend = plan.backend()
    pages: list[Pages] = []

    def written() -> None:
        for each in pages:
            each.wake()

    seam = Seam(backend, spool, plan.doors, written=written, fail_open=plan.fail_open, durable=plan.durable)

    def shown(label: str) -> str | None:
        given = seam.authorizations.get(label) or seam.authorizations.get("")
        theirs = given.decode("latin-1").partition(" ")[2].strip() if given else None
        return plan.token or theirs or None

    stores = Stores(plan.open_store, shown)
    if plan.repos:
        pages.append(
            Pages(
                spool,
                backend.url,
                stores=Stores(plan.open_store, shown),
                repos=plan.repos,
                wiki=plan.wiki,
                default_branch=plan.default_branch,
            )
        )
        pages[0].start()
    again = Replay(seam.delivery, spool, stores=stores, authorizations=seam.authorizations, written=written)
    await again.begin()
    replay = asyncio.create_task(again.run())
    server = _Server(_config(seam), ready)
    try:
        await server.serve(sockets=[listener])
    finally:
        replay.cancel()
        with suppress(asyncio.CancelledError):
            await replay
        for each in pages:
            await asyncio.to_thread(each.close)
        await stores.aclose()
        await backend.aclose()
        spool.close()


class _Server(uvicorn.Server):
    """Says when it listens, and ends in order on ctrl-c and SIGTERM: that is how a seam is stopped, not an error."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, self.handle_exit) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _config(seam: Any) -> uvicorn.Config:
    return uvicorn.Config(
        seam,
        http="httptools",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=logging.CRITICAL,  # its access log would hold ids, its error log whatever a client sent
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=None,
    )


@contextmanager
def _one(spool: Path) -> Iterator[None]:
    """Hold the spool for this process; the system drops the lock when the process dies."""
    lock = FileLock(f"{spool}.lock", timeout=0)
    try:
        spool.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire()
    except Timeout as error:
        raise SeamLocked(
            "another seam uses this spool", where=str(spool), hint="stop it, or give --spool another file"
        ) from error
    except OSError as error:
        raise SeamError(
            "the spool's folder cannot be used", where=str(spool.parent), hint=error.strerror or str(error)
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _listening(doors: Doors) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in doors.host else socket.AF_INET
    # With the protocol named: asyncio switches Nagle's wait off for such sockets only, and it costs 40 ms an answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there it would let two programs share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((doors.host, doors.port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        listener.set_inheritable(False)
    except OSError as error:
        listener.close()
        raise SeamLocked(
            f"cannot listen: {(error.strerror or str(error)).lower()}",
            where=f"{doors.host}:{doors.port}",
            hint="another program has the port; give --port another one",
        ) from error
    try:
        yield listener
    finally:
        listener.close()

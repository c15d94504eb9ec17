"""The endpoint, as an ASGI application: every request to the bank as it came, every write journaled first.

ASGI without a framework, since nothing may be decoded, joined or buffered that the client or the bank sent: the
path goes on as the bytes it was, an endless event stream goes on chunk by chunk, and a client that leaves ends
its request at the bank.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from console.seam.delivery import LOST, READ, UNREACHED, Answered, Backend, Delivery, log, reason, value_of
from console.seam.errors import SpoolError
from console.seam.spool import Spool
from console.seam.upstream import Headers, forwarded
from console.seam.writes import carries, recognise, split_label

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

LARGEST = 64 * 1024 * 1024
"""Bytes of a write's body; a larger one is refused before it is read to its end."""
_FULL_RETRY = b"5"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class _Gone(Exception):
    """The client left."""


class _Refused(Exception):
    """A request that goes no further: the answer to it."""

    def __init__(self, status: int, detail: str, *more: tuple[bytes, bytes]) -> None:
        super().__init__(detail)
        self.status, self.detail, self.more = status, detail, more


@dataclass(frozen=True, slots=True)
class Doors:
    """Who may come in."""

    host: str
    port: int
    token: str | None = None
    """The seam's own token; needed on an address that is not loopback, and over a bank in this process."""
    upstream_token: str | None = None
    """What the bank gets instead of the seam's own token."""

    def hosts(self) -> frozenset[str]:
        names = {*_LOOPBACK, self.host if ":" not in self.host else f"[{self.host}]"}
        return frozenset({*(f"{name}:{self.port}" for name in names), *(names if self.port == 80 else ())})


class Seam:
    """``Seam(...)`` is the application."""

    def __init__(
        self,
        backend: Backend,
        spool: Spool,
        doors: Doors,
        *,
        written: Callable[[], None] = lambda: None,
        fail_open: bool = False,
        durable: bool = False,
    ) -> None:
        self.backend = backend
        self.spool = spool
        self.doors = doors
        self.delivery = Delivery(backend, spool)
        self.authorizations: dict[str, bytes] = {}
        """Label -> what the bank was last shown by it: for sending again. In memory only."""
        self._hosts = doors.hosts()
        self._written = written
        self._fail_open = fail_open
        self._durable = durable
        self._kept: set[asyncio.Task[Answered]] = set()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        exchange = _Exchange(self, scope, receive, send)
        try:
            await exchange.run()
        except _Refused as refused:
            await exchange.answer(refused.status, refused.detail, *refused.more)
        except _Gone:
            log.info("%s: the client left", exchange.name)
        except UNREACHED as error:
            await exchange.fail(502, f"the bank cannot be reached: {reason(error)}", error)
        except LOST as error:
            status = 504 if "Timeout" in type(error).__name__ else 502
            await exchange.fail(status, f"no answer from the bank: {reason(error)}", error)

    def admit(self, headers: Headers) -> Headers:
        """The headers for the bank. Raises _Refused for a request from another site or without the token."""
        host = value_of(headers, b"host")
        if host.lower() not in self._hosts:
            raise _Refused(403, "refused: the Host header does not name this seam")
        origin = value_of(headers, b"origin")
        if origin and origin.lower().partition("://")[2] not in self._hosts:
            raise _Refused(403, "refused: a page of another origin may not use this seam")
        if self.doors.token is None:
            return forwarded(headers)
        given = value_of(headers, b"authorization")
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip().encode("latin-1"), self.doors.token.encode("utf-8")
        ):
            raise _Refused(401, "the seam's own token is missing or wrong", (b"www-authenticate", b"Bearer"))
        out = [(name, value) for name, value in forwarded(headers) if name != b"authorization"]
        if self.doors.upstream_token:
            out.append((b"authorization", b"Bearer " + self.doors.upstream_token.encode("utf-8")))
        return out

    async def journal(self, write: Any) -> int | None:
        """The write's row; None where it could not be journaled and ``fail_open`` says to go on."""
        try:
            return await self.spool.add(write)
        except SpoolError as error:
            log.error("not journaled: %s", error)
            if self._fail_open:
                return None
            raise _Refused(
                503, f"not stored: {error.message}; nothing was sent on", (b"retry-after", _FULL_RETRY)
            ) from error

    def deliver(self, row: int | None, write: Any, headers: Headers) -> asyncio.Task[Answered]:
        task = asyncio.create_task(self.delivery.send(row, write, headers))
        if self._durable and row is not None:
            self._kept.add(task)
            task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Answered]) -> None:
        self._kept.discard(task)
        if not task.cancelled() and task.exception() is None:
            self._written()

    @property
    def durable(self) -> bool:
        return self._durable

    def written(self) -> None:
        self._written()


class _Exchange:
    """One request and its answer."""

    def __init__(self, seam: Seam, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.seam = seam
        self.method: str = scope["method"]
        raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8")
        self.label, self.path = split_label(raw)
        self.own = f"http://{seam.doors.host}:{seam.doors.port}".encode() + raw[: len(raw) - len(self.path)]
        self.query: bytes = scope["query_string"]
        self.headers: Headers = list(scope["headers"])
        self.name = f"{self.label or '-'} {self.method}"
        self._receive = receive
        self._send = send
        self._started = False

    async def run(self) -> None:
        headers = self.seam.admit(self.headers)
        target = self.path + (b"?" + self.query if self.query else b"")
        given = value_of(headers, b"authorization")
        if given:
            self.seam.authorizations[self.label] = given.encode("latin-1")
        if not carries(self.method, self.path):
            await self._pass_on(target, headers)
            return
        body = await self._whole()
        write = recognise(
            self.method,
            self.path,
            self.query,
            value_of(headers, b"content-type"),
            body,
            bank_header=value_of(headers, b"x-bank-id"),
        )
        out = _sized(headers, len(body))
        if write is None:
            await self._leaving(self._stream(target, out, body or None, READ))
            return
        write = replace(write, label=self.label, upstream=self.seam.backend.url)
        row = await self.seam.journal(write)
        task = self.seam.deliver(row, write, out)
        answered = await self._leaving(task, keep=self.seam.durable)
        await self._start(answered.status, answered.headers)
        await self._send({"type": "http.response.body", "body": answered.body})
        if 200 <= answered.status < 300 and not self.seam.durable:
            self.seam.written()

    async def _pass_on(self, target: bytes, headers: Headers) -> None:
        endless = self.method == "GET" and (
            self.path.startswith(b"/mcp") or "text/event-stream" in value_of(headers, b"accept")
        )
        read = None if endless else READ
        length = value_of(self.headers, b"content-length")
        chunked = bool(value_of(self.headers, b"transfer-encoding"))
        if not chunked and length in ("", "0"):
            await self._leaving(self._stream(target, headers, None, read))
            return
        if chunked:
            headers = [*headers, (b"transfer-encoding", b"chunked")]
        ended = asyncio.Event()
        await self._leaving(self._stream(target, headers, self._parts(ended), read), after=ended)

    async def _stream(
        self, target: bytes, headers: Headers, body: bytes | AsyncIterator[bytes] | None, read: float | None
    ) -> None:
        async with self.seam.backend.send(self.method, target, headers, body, read=read) as reply:
            await self._start(reply.status, reply.headers)
            async for part in reply.aiter_stream():
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _start(self, status: int, headers: Headers) -> None:
        out = [
            (name, self.seam.backend.located(value, self.own) if name == b"location" else value)
            for name, value in forwarded(headers)
        ]
        self._started = True
        await self._send({"type": "http.response.start", "status": status, "headers": out})

    async def _whole(self) -> bytes:
        length = value_of(self.headers, b"content-length")
        if length.isdigit() and int(length) > LARGEST:
            raise _Refused(413, f"a write of more than {LARGEST >> 20} MiB is not taken")
        parts: list[bytes] = []
        size = 0
        async for part in self._parts(asyncio.Event()):
            size += len(part)
            if size > LARGEST:
                raise _Refused(413, f"a write of more than {LARGEST >> 20} MiB is not taken")
            parts.append(part)
        return b"".join(parts)

    async def _parts(self, ended: asyncio.Event) -> AsyncIterator[bytes]:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            if part := message.get("body", b""):
                yield part
            if not message.get("more_body"):
                ended.set()
                return

    async def _leaving(self, work: Any, *, after: asyncio.Event | None = None, keep: bool = False) -> Any:
        """Do the work; when the client leaves first, end it, so that the bank's side ends too."""
        task = work if isinstance(work, asyncio.Task) else asyncio.create_task(work)
        watch = asyncio.create_task(self._left(after))
        try:
            await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if keep:
                log.info("%s: the client left; its write goes on", self.name)
            raise _Gone
        finally:
            watch.cancel()
            if not task.done() and not keep:
                task.cancel()
                with suppress(asyncio.CancelledError, *LOST, *UNREACHED):
                    await task

    async def _left(self, after: asyncio.Event | None) -> None:
        if after is not None:
            await after.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, status: int, detail: str, *more: tuple[bytes, bytes]) -> None:
        """An answer of the seam's own, in the shape of the bank's errors."""
        body = json.dumps({"detail": detail}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *more,
        ]
        self._started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def fail(self, status: int, detail: str, error: Exception) -> None:
        log.warning("%s: %s", self.name, detail)
        if self._started:
            # Half an answer went out: only a broken connection tells the client so.
            raise ConnectionAbortedError(detail) from error
        await self.answer(status, detail)


def _sized(headers: Headers, size: int) -> Headers:
    if not size and not value_of(headers, b"content-length"):
        return headers
    rest = [(name, value) for name, value in headers if name != b"content-length"]
    return [*rest, (b"content-length", str(size).encode())]

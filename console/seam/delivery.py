"""One try to bring a write to the bank: what became of it is in the spool before anyone hears of it."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import httpcore

from console.seam.errors import SpoolError
from console.seam.spool import NO_PAGE, PAGE_DUE, Spool, Write
from console.seam.upstream import Headers
from console.seam.writes import answer_of
from console.text import one_line

log = logging.getLogger("console.seam")
"""Labels, banks, kinds and reasons; never content, never a header."""

UNREACHED = (
    httpcore.ConnectError,
    httpcore.ConnectTimeout,
    httpcore.UnsupportedProtocol,
    httpcore.LocalProtocolError,
)
"""Nothing was sent."""
LOST = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.RemoteProtocolError)
"""It may have arrived."""

READ = 360.0
"""Seconds without a byte before a request counts as lost: above the server's own wall limit of 300."""
_LATER = (429, 500, 502, 503, 504)
_COPY = 4 * 1024 * 1024


class Reply(Protocol):
    """An answer whose body is still to be read, as httpcore has it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    def aiter_stream(self) -> AsyncIterator[bytes]: ...


class Backend(Protocol):
    """What answers: a server, or a bank in this process."""

    @property
    def url(self) -> str: ...

    def send(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes | AsyncIterator[bytes] | None,
        *,
        read: float | None,
    ) -> AbstractAsyncContextManager[Reply]: ...

    def located(self, value: bytes, own: bytes) -> bytes: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Answered:
    """A whole answer."""

    status: int
    headers: Headers
    body: bytes


class Delivery:
    """Sends writes, and keeps the spool right about them."""

    def __init__(self, backend: Backend, spool: Spool) -> None:
        self.backend = backend
        self.spool = spool
        self.under_way: set[int] = set()
        """Rows that are being sent now: nobody else may send them."""

    async def send(self, row: int | None, write: Write, headers: Headers, *, tries: int = 0) -> Answered:
        """One try. ``row`` is None for a write that could not be journaled. Raises httpcore's errors, after the spool
        knows; cancelled, it leaves the write as ``unknown``."""
        if row is None:
            return await self._try(write, headers)
        self.under_way.add(row)
        try:
            answered = await self._try(write, headers)
        except UNREACHED as error:
            await self._settle(row, "failed", error=reason(error), due=next_try(tries))
            raise
        except LOST as error:
            await self._settle(row, "unknown", error=reason(error), due=next_try(tries))
            raise
        except BaseException:  # cancelled: the client left, or the seam ends
            await self._settle(row, "unknown", error="the client left before the answer", due=next_try(tries))
            raise
        else:
            await self._judge(row, write, answered, tries)
            return answered
        finally:
            self.under_way.discard(row)

    async def _try(self, write: Write, headers: Headers) -> Answered:
        async with self.backend.send(
            write.method, write.target, headers, write.body or None, read=READ
        ) as reply:
            body = b"".join([part async for part in reply.aiter_stream()])
            return Answered(reply.status, list(reply.headers), body)

    async def _judge(self, row: int, write: Write, answered: Answered, tries: int) -> None:
        status = answered.status
        if 200 <= status < 300:
            found = answer_of(value_of(answered.headers, b"content-type"), decoded(answered))
            if found.refused:
                await self._settle(row, "rejected", status=status, error=found.refused)
                return
            await self._note(
                row,
                "stored",
                status=status,
                operations=found.operations,
                page=PAGE_DUE,
                bank=found.bank or None,
            )
        elif status in _LATER:
            await self._settle(
                row, "failed", status=status, error=f"the bank answered {status}", due=next_try(tries)
            )
        else:
            await self._settle(row, "rejected", status=status, error=f"the bank answered {status}")

    async def _settle(self, row: int, state: str, *, status: int = 0, error: str, due: float = 0) -> None:
        log.info("write %s: %s, %s", row, state, error)
        await self._note(row, state, status=status, error=error, page=NO_PAGE, due=due)

    async def _note(self, row: int, state: str, **what: Any) -> None:
        """A journal that cannot be written any more changes nothing about what the bank said: the client hears that,
        and the row, still pending, is looked for in the bank when a seam starts again."""
        try:
            await self.spool.settle(row, state, attempted=True, **what)
        except SpoolError as error:
            log.error("write %s is %s, but the journal does not say so: %s", row, state, error)


def next_try(tries: int, now: float | None = None) -> float:
    """When to try again after ``tries`` tries before this one: 2 s, then twice as long each time, 5 min at most."""
    return (time.time() if now is None else now) + min(300.0, 2.0 * 2.0 ** min(tries, 10))


def reason(error: BaseException) -> str:
    """An error of the connection, in words."""
    name = type(error).__name__
    text = {
        "ConnectError": "cannot connect",
        "ConnectTimeout": "no connection in time",
        "ReadTimeout": "no answer in time",
        "RemoteProtocolError": "the connection ended without an answer",
        "ReadError": "the connection broke",
        "WriteError": "the connection broke",
        "WriteTimeout": "the bank took no more bytes",
    }.get(name, name)
    detail = one_line(str(error))[:200]
    return f"{text} ({detail})" if detail else text


def value_of(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> str:
    """A header's first value; '' where there is none."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), "")


def decoded(answered: Answered) -> bytes:
    """The answer's body for our own reading; b'' where it cannot be unpacked or is too large to be an acknowledgement."""
    encoding = value_of(answered.headers, b"content-encoding").lower()
    if not encoding or encoding == "identity":
        return answered.body if len(answered.body) <= _COPY else b""
    try:
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
        body = unpack.decompress(answered.body, _COPY) if encoding in ("gzip", "deflate", "x-gzip") else b""
        return b"" if unpack.unconsumed_tail else body
    except zlib.error:
        return b""

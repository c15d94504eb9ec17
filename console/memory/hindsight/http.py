"""One connection pool to one server: sends, retries, limits, and turns every failure into a StoreError.

Promises: a request goes out only to the configured origin and to exactly the path that was built; the
token goes nowhere else and stands in no message; a write that may have happened is never repeated;
no answer grows over ``max_bytes``; nothing but StoreError (and cancellation) comes out.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeVar

import httpx
import msgspec

from console.memory.errors import BadAnswer, InvalidInput, StoreError, Unavailable, Unsupported
from console.memory.hindsight.faults import WRONG_URL, fault, retry_after
from console.memory.hindsight.ids import printable
from console.memory.hindsight.urls import Address, Query, check_outgoing, target

T = TypeVar("T")
RequestLog = Callable[[str, str, int | None, float], None]
"""Called after each try: method, path with query, status (None: no answer), milliseconds."""


class Repeat(Enum):
    """How often a request may be sent."""

    UNSENT = "only when it certainly never reached the server"
    REFUSED = "also when the server said that it did not begin (429, 503)"
    ALWAYS = "reading twice changes nothing"


@dataclass(frozen=True)
class Timeouts:
    """Seconds. The server itself gives up on reflect after 300."""

    connect: float = 10.0
    read: float = 60.0
    retain: float = 900.0
    recall: float = 120.0
    reflect: float = 330.0
    export: float = 600.0
    queue: float = 20.0
    """An export waits behind every retain and consolidation; after this, single reads are faster."""


@dataclass(frozen=True)
class Retries:
    """Full jitter: the n-th wait is random within ``base * 2**n``, at most ``cap``, at least Retry-After."""

    attempts: int = 4
    base: float = 0.3
    cap: float = 8.0
    longest_retry_after: float = 20.0
    random: Callable[[], float] = random.random

    def wait(self, attempt: int, asked: float | None) -> float | None:
        """Seconds before try ``attempt + 1``; None where no further one is due."""
        if attempt + 1 >= self.attempts or (asked is not None and asked > self.longest_retry_after):
            return None
        return self.random() * min(self.cap, self.base * 2.0**attempt) + (asked or 0.0)


LOOK = "it may still have been carried out: look before repeating it"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx.Headers
    content: bytes
    where: str
    writes: bool = False
    """An unreadable answer to a write says nothing of the write: it may have happened."""

    def decode(self, kind: type[T]) -> T:
        """The body as ``kind``. Raises BadAnswer for anything else, with the reason and never the body."""
        head = self.content[:64].lstrip().lower()
        if head.startswith((b"<!doctype", b"<html", b"<?xml")) or "html" in self.headers.get(
            "content-type", ""
        ):
            raise BadAnswer(
                "the server answered a web page instead of JSON",
                where=self.where,
                hint=LOOK if self.writes else WRONG_URL,
            )
        try:
            return msgspec.json.decode(self.content, type=kind)
        except msgspec.ValidationError as error:
            raise BadAnswer(
                f"the server's answer has another shape than expected: {printable(str(error), 160)}",
                where=self.where,
                hint=LOOK if self.writes else WRONG_URL,
            ) from None
        except RecursionError:
            raise BadAnswer(
                "the server's answer is nested too deeply",
                where=self.where,
                hint=LOOK if self.writes else WRONG_URL,
            ) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadAnswer(
                f"the server's answer is cut or is no JSON: {printable(str(error), 100)}",
                where=self.where,
                hint=LOOK if self.writes else "a proxy may have cut it; try again",
            ) from None


@dataclass(frozen=True, repr=False)
class _Secret:
    """A token that prints as nothing."""

    value: str = field(default="")

    def __repr__(self) -> str:
        return "<token>"


def _checked_token(token: str | None) -> _Secret:
    value = (token or "").strip()
    if not value.isascii() or not value.isprintable():
        raise InvalidInput("the token holds characters that no HTTP header can carry", hint="set it again")
    return _Secret(value)


class Http:
    """Requests to one server. See the module's promises."""

    def __init__(
        self,
        address: Address,
        *,
        token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        log: RequestLog | None = None,
        max_bytes: int = 256 * 1024 * 1024,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.address = address
        self.timeouts = timeouts or Timeouts()
        self._retries = retries or Retries()
        self._token = _checked_token(token)
        self._log = log
        self._max_bytes = max_bytes
        self._closed = False
        self._sleep = sleep
        try:
            self._client = httpx.AsyncClient(
                transport=transport,
                follow_redirects=False,
                limits=httpx.Limits(max_connections=20, max_keepalive_connections=20, keepalive_expiry=15.0),
                headers={"accept": "application/json", "user-agent": "memory-console"},
            )
        except (ValueError, OSError, ssl.SSLError) as error:
            # A proxy variable that is no URL, or SSL_CERT_FILE that names no certificates.
            raise InvalidInput(
                "the network settings of the environment cannot be used", hint=printable(str(error), 120)
            ) from None

    async def aclose(self) -> None:
        self._closed = True
        await self._client.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: Any = None,
        content: tuple[str, bytes] | None = None,
        repeat: Repeat = Repeat.ALWAYS,
        missing: str = "what was asked for",
        timeout: float | None = None,
        max_bytes: int | None = None,
        may_ignore: Collection[str] = (),
    ) -> Answer:
        """Send and return the successful answer. Raises StoreError for everything else.

        ``path`` is already encoded; ``missing`` names what a 404 is about; ``timeout`` bounds one try.
        ``content`` is a media type and bytes, in place of a JSON ``body``. ``may_ignore`` names parameters that an
        older server may ignore, because the caller sees that in the answer.
        """
        if self._closed:
            raise Unavailable("this store is closed", where=str(self.address))
        query = list(query)
        sent = target(path, query)
        where = f"{method} {self.address}{sent if len(sent) <= 200 else sent[:199] + '…'}"
        if body is not None:
            content = ("application/json", msgspec.json.encode(body))
        writes = repeat is not Repeat.ALWAYS
        attempt = 0
        while True:
            asked: float | None = None
            try:
                answer = await self._send(
                    method, sent, content, where, timeout or self.timeouts.read, max_bytes
                )
            except _Broken as broken:
                failure: StoreError = broken.as_error(where, writes)
                again = broken.unsent or (repeat is Repeat.ALWAYS and not broken.slow)
            else:
                if answer.status < 300:
                    self._refuse_ignored(answer, query, body, writes, may_ignore)
                    return replace(answer, writes=writes)
                asked = retry_after(answer.headers)
                failure = self._redacted(
                    fault(
                        answer.status,
                        answer.headers,
                        answer.content,
                        where=where,
                        missing=missing,
                        writes=writes,
                    )
                )
                again = answer.status in {429, 503} and repeat is not Repeat.UNSENT
                again = again or (answer.status == 502 and repeat is Repeat.ALWAYS)
            wait = self._retries.wait(attempt, asked) if again else None
            if wait is None:
                raise failure
            await self._sleep(wait)
            attempt += 1

    async def _send(
        self,
        method: str,
        sent: str,
        content: tuple[str, bytes] | None,
        where: str,
        seconds: float,
        max_bytes: int | None,
    ) -> Answer:
        wanted = self.address.prefix + sent
        headers = {"content-type": content[0]} if content is not None else {}
        started = time.monotonic()
        status: int | None = None
        try:
            request = self._client.build_request(
                method,
                self.address.origin + wanted,
                content=content[1] if content is not None else None,
                headers=headers,
                timeout=httpx.Timeout(seconds, connect=self.timeouts.connect, pool=seconds),
            )
            check_outgoing(request, self.address, wanted)
            if self._token.value:
                request.headers["authorization"] = f"Bearer {self._token.value}"
            # Per-read timeouts do not end an answer that drips; this bounds the whole try.
            async with asyncio.timeout(seconds + self.timeouts.connect):
                response = await self._client.send(request, stream=True)
                try:
                    status = response.status_code
                    body = await self._body(response, where, max_bytes or self._max_bytes)
                finally:
                    await response.aclose()
            return Answer(status, response.headers, body, where)
        except httpx.InvalidURL as error:
            raise InvalidInput("the id is too long for a URL", where=where[:120], hint=str(error)) from None
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, ssl.SSLError, OSError) as error:
            raise _Broken(error, status) from None
        finally:
            if self._log is not None:
                self._log(method, wanted, status, (time.monotonic() - started) * 1000.0)

    async def _body(self, response: httpx.Response, where: str, limit: int) -> bytes:
        too_big = BadAnswer(
            f"the server's answer is larger than {limit // (1024 * 1024)} MB",
            where=where,
            hint="ask for less at once",
        )
        declared = response.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            raise too_big
        parts: list[bytes] = []
        size = 0
        async for part in response.aiter_bytes():
            size += len(part)
            if size > limit:
                raise too_big
            parts.append(part)
        return b"".join(parts)

    def _redacted(self, error: StoreError) -> StoreError:
        """A server may echo what it was sent; the token must not come back through a message."""
        if self._token.value:
            error.message = error.message.replace(self._token.value, "***")
            error.hint = error.hint.replace(self._token.value, "***")
            error.args = (error.message,)
        return error

    @staticmethod
    def _refuse_ignored(
        answer: Answer, query: list[tuple[str, str]], body: Any, writes: bool, may_ignore: Collection[str]
    ) -> None:
        """The server answers 200 and names what it ignored: a filter that was ignored is not believed."""
        ignored = {name.strip() for name in answer.headers.get("x-ignored-params", "").split(",")} - {""}
        sent = {name for name, _ in query} | (set(body) if isinstance(body, dict) else set())
        ignored -= set(may_ignore)
        if ignored & sent:
            raise Unsupported(
                f"the server ignores {', '.join(sorted(ignored & sent))}",
                where=answer.where,
                hint="everything else was carried out: look at what is stored"
                if writes
                else "this version does not know it; leave it out or update the server",
            )


class _Broken(Exception):
    """No whole answer came back."""

    def __init__(self, cause: BaseException, status: int | None) -> None:
        super().__init__()
        self.cause = cause
        self.began = status is not None

    @property
    def unsent(self) -> bool:
        return (
            isinstance(self.cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
            and not self.tls
        )

    @property
    def slow(self) -> bool:
        return isinstance(self.cause, httpx.TimeoutException | TimeoutError)

    @property
    def tls(self) -> bool:
        text = str(self.cause).lower()
        return isinstance(self.cause, ssl.SSLError) or "ssl" in text or "certificate" in text

    def as_error(self, where: str, writes: bool) -> StoreError:
        look = LOOK
        cause = self.cause
        if self.tls:
            reason = printable(str(cause), 120)
            return Unavailable(
                f"no secure connection: {reason}",
                where=where,
                hint="check the URL's scheme and the certificate",
            )
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
            reason = (
                "no answer in time" if isinstance(cause, httpx.ConnectTimeout) else printable(str(cause), 120)
            )
            return Unavailable(
                f"cannot connect: {reason}", where=where, hint="is the server running, and its URL right?"
            )
        if self.slow:
            hint = look if writes else "ask for less at once, or try again later"
            return Unavailable("the server did not answer in time", where=where, hint=hint)
        if isinstance(cause, httpx.DecodingError):
            return BadAnswer("the server's answer cannot be decompressed", where=where, hint=WRONG_URL)
        if isinstance(cause, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
            return BadAnswer("the request cannot be sent in this form", where=where)
        if self.began:
            return BadAnswer("the server's answer was cut", where=where, hint=look if writes else "try again")
        hint = look if writes else "try again"
        name = printable(str(cause), 100) or type(cause).__name__
        return Unavailable(f"the connection broke: {name}", where=where, hint=hint)

"""Requests to the bank's server, byte for byte: the path is not decoded, headers and body are not touched."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpcore

Headers = Sequence[tuple[bytes, bytes]]

CONNECT = 2.0
"""Seconds to reach the server: a client must learn within that time that it is down."""

_KEPT = 20.0
"""Seconds for which an idle connection is used again: below the server's 30, so none is picked up that it closes."""
_IDLE = 100

_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"expect",
    }
)


def forwarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Without what belongs to one connection only (and whatever ``Connection`` names); in the order they came."""
    rows = [(name.lower(), value) for name, value in headers]
    named = {
        part.strip().lower() for name, value in rows if name == b"connection" for part in value.split(b",")
    }
    return [(name, value) for name, value in rows if name not in _HOP and name not in named]


class Upstream:
    """One server; ``url`` without credentials, with the path prefix that a proxy may put before the API."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self.scheme = parts.scheme.encode("ascii")
        self.host = (parts.hostname or "").encode("idna") if parts.hostname else b""
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.prefix = parts.path.rstrip("/").encode("utf-8")
        host = self.host if b":" not in self.host else b"[" + self.host + b"]"
        standard = self.port == (443 if parts.scheme == "https" else 80)
        self.authority = host if standard else host + b":" + str(self.port).encode("ascii")
        # No proxy from the environment: a loopback endpoint that asks a proxy for its neighbour is a surprise.
        self._ssl = ssl.create_default_context() if parts.scheme == "https" else None
        self._origin = httpcore.Origin(self.scheme, self.host, self.port)
        # Not httpcore's own pool: it asks every idle connection about itself at every request (measured: twice the
        # CPU time of everything else). The one used last is the one that is open most surely.
        self._idle: list[httpcore.AsyncHTTPConnection] = []

    @asynccontextmanager
    async def send(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes | AsyncIterator[bytes] | None,
        *,
        read: float | None,
    ) -> AsyncIterator[httpcore.Response]:
        """One request; the answer's body is read by the caller. ``read``: seconds without a byte, None for ever.

        Raises httpcore's own errors: ConnectError and ConnectTimeout mean that nothing was sent.
        """
        url = httpcore.URL(scheme=self.scheme, host=self.host, port=self.port, target=self.prefix + target)
        out = [(b"host", self.authority), *((n, v) for n, v in headers if n != b"host")]
        timeouts = {"connect": CONNECT, "read": read, "write": 60.0}
        request = httpcore.Request(
            method.encode("ascii"), url, headers=out, content=body, extensions={"timeout": timeouts}
        )
        connection = await self._connection()
        try:
            response = await connection.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            if connection.is_idle() and len(self._idle) < _IDLE:
                self._idle.append(connection)
            else:
                await connection.aclose()

    async def _connection(self) -> httpcore.AsyncHTTPConnection:
        while self._idle:
            found = self._idle.pop()
            if found.is_available() and not found.has_expired():
                return found
            await found.aclose()
        return httpcore.AsyncHTTPConnection(
            self._origin, ssl_context=self._ssl, keepalive_expiry=_KEPT, http1=True
        )

    def located(self, value: bytes, own: bytes) -> bytes:
        """A ``Location`` that names the server itself, as one that names the seam (``own``: ``http://host:port/src/x``):
        a client that follows it must not walk around the mirror."""
        for scheme in (b"http://", b"https://"):
            base = scheme + self.authority + self.prefix
            if value.startswith(base) and value[len(base) : len(base) + 1] in (b"", b"/", b"?"):
                return own + value[len(base) :]
        if value.startswith(b"/"):
            rest = value.removeprefix(self.prefix) if self.prefix else value
            return own + rest
        return value

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

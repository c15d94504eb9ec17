"""From ids to request targets, byte for byte. Pure.

Promise: what is sent is what was built. Every id is percent-encoded whole, dots too, because a client
or proxy that tidies ``/documents/..`` into ``/`` turns a document's DELETE into the bank's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import httpx

from console.memory.errors import InvalidInput

API = "/v1/default"
Query = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Address:
    """Where a server is: its origin, and the path prefix that a proxy may have put before it."""

    scheme: str
    host: str
    port: int | None
    prefix: str

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port is not None else "")

    def __str__(self) -> str:
        return self.origin + self.prefix

    def same_origin(self, url: httpx.URL) -> bool:
        return (url.scheme, url.host, url.port) == (self.scheme, self.host, self.port)


def parse_address(url: str) -> Address:
    """Raises InvalidInput, never repeating credentials that stand in the URL."""
    try:
        parsed = httpx.URL(url.strip())
    except (httpx.InvalidURL, TypeError, ValueError):
        raise InvalidInput(
            "the server's URL cannot be read", hint="write it as https://host[:port]"
        ) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidInput("the server's URL cannot be used", hint="write it as https://host[:port]")
    if parsed.userinfo:
        raise InvalidInput(
            "the server's URL holds credentials",
            where=parsed.host,
            hint="leave them out and set the token instead",
        )
    if parsed.query or parsed.fragment:
        raise InvalidInput(
            "the server's URL holds a query or fragment", where=parsed.host, hint="leave it out"
        )
    if parsed.port is not None and not 0 < parsed.port < 65536:
        raise InvalidInput("the server's URL has a port that cannot be", where=parsed.host)
    prefix = parsed.raw_path.decode("ascii").rstrip("/")
    if ".." in url or "%2e" in url.lower() or "//" in prefix:
        raise InvalidInput(
            "the server's URL has a path that cannot be used",
            where=parsed.host,
            hint="leave out '..' and '//'",
        )
    return Address(parsed.scheme, parsed.host, parsed.port, prefix)


def segment(text: str) -> str:
    """One path segment: everything but letters, digits, ``-``, ``_`` and ``~`` is percent-encoded."""
    return quote(text, safe="").replace(".", "%2E")


def bank_path(bank_id: str, *rest: str) -> str:
    """``/v1/default/banks/{bank_id}`` and what follows; ``rest`` is already encoded."""
    return "/".join((f"{API}/banks", segment(bank_id), *rest))


def document_path(bank_id: str, document_id: str, *rest: str) -> str:
    return bank_path(bank_id, "documents", segment(document_id), *rest)


def target(path: str, query: Query = ()) -> str:
    """The request target: path and, where there is one, query."""
    encoded = urlencode(list(query), quote_via=quote, safe="")
    return f"{path}?{encoded}" if encoded else path


def check_outgoing(request: httpx.Request, address: Address, wanted: str) -> None:
    """The last look before sending: the right origin, and exactly the path that was built."""
    if not address.same_origin(request.url) or request.url.raw_path != wanted.encode("ascii"):
        raise InvalidInput(
            "a request was about to go to another path than was asked for, and was not sent",
            where=f"{request.method} {address.origin}{wanted[:200]}",
        )

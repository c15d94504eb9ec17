"""Requests to a Hindsight server that are not part of the store's protocol.

Promise: they go through the same connection as the store's own (token, origin, limits, retries, errors), a
read-only console sends none that is not a GET, and nothing is sent under a path that was not built here.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from console.api.request import Target, fill
from console.api.spec import Operation, read_operations
from console.memory.errors import BadAnswer, ReadOnly, StoreError, Unsupported
from console.memory.hindsight import HindsightStore
from console.memory.hindsight.documents import get_document
from console.memory.hindsight.http import Answer, Http, Repeat
from console.memory.hindsight.ids import printable
from console.memory.models import Version
from console.settings import Settings

READS = ("recall", "reflect", "preview", "dry-run-extract", "dry-run-refresh", "llm")
"""Last segments of POSTs that store nothing (but a log line of the server)."""


@dataclass(frozen=True, slots=True)
class Api:
    """One server. ``read_only`` refuses what may write."""

    http: Http
    read_only: bool = False

    @property
    def url(self) -> str:
        return str(self.http.address)

    async def operations(self) -> tuple[Operation, ...]:
        """What the server says that it offers. Raises BadAnswer where it says nothing of that kind."""
        return read_operations(
            (await self.http.call("GET", "/openapi.json", missing="its description")).decode(dict)
        )

    async def send(
        self,
        method: str,
        target: Target,
        *,
        query: Iterable[tuple[str, str]] = (),
        body: Any = None,
        content: tuple[str, bytes] | None = None,
        missing: str = "what was asked for",
        timeout: float | None = None,
        may_ignore: Collection[str] = (),
    ) -> Answer:
        """Send one request. A write is repeated only where the server certainly did not begin it."""
        reads = method == "GET" or (method == "POST" and target.plain[-1] in READS)
        if self.read_only and not reads:
            raise ReadOnly("the store is opened read-only", where=self.url, hint="leave out --read-only")
        if target.document is not None:
            # An id such as a/../b leaves here encoded, but a proxy may tidy it: a read shows that without harm.
            await get_document(self.http, *target.document)
        try:
            return await self._call(method, target, query, body, content, reads, missing, timeout, may_ignore)
        except BadAnswer as error:
            if error.status != 404:
                raise
            raise await self._not_offered(method, target, error) from None

    async def _not_offered(self, method: str, target: Target, error: BadAnswer) -> StoreError:
        """No such route: of an older Hindsight say which, of something else say that it is none."""
        try:
            version = (await self.http.call("GET", "/version")).decode(Version).api_version
        except StoreError:
            return error
        if not version:
            return error
        route = f"{method} …/{'/'.join(target.plain[4:] or target.plain)}"
        return Unsupported(
            f"the server ({printable(version, 40)}) does not offer {printable(route, 120)}",
            where=self.url,
            hint="a newer server may; `console api --list` shows what this one has",
            status=404,
        )

    async def _call(
        self,
        method: str,
        target: Target,
        query: Iterable[tuple[str, str]],
        body: Any,
        content: tuple[str, bytes] | None,
        reads: bool,
        missing: str,
        timeout: float | None,
        may_ignore: Collection[str],
    ) -> Answer:
        return await self.http.call(
            method,
            target.path,
            query=query,
            body=body,
            content=content,
            repeat=_repeat(method, reads),
            missing=missing,
            timeout=timeout or (self.http.timeouts.reflect if method != "GET" else None),
            may_ignore=may_ignore,
        )

    async def ask(
        self,
        method: str,
        template: str,
        values: Mapping[str, str],
        *,
        query: Iterable[tuple[str, str | int | bool | None]] = (),
        body: Any = None,
        missing: str = "what was asked for",
        may_ignore: Collection[str] = (),
    ) -> Any:
        """Fill a template, send it, decode the JSON answer. Query values of None or '' are left out."""
        answer = await self.send(
            method,
            fill(method, template, values),
            query=wire_query(query),
            body=body,
            missing=missing,
            may_ignore=may_ignore,
        )
        return answer.decode(object) if answer.content else None


def _repeat(method: str, reads: bool) -> Repeat:
    if method == "GET":
        return Repeat.ALWAYS
    return Repeat.REFUSED if reads or method in {"PATCH", "PUT"} else Repeat.UNSENT


def wire_query(query: Iterable[tuple[str, str | int | bool | None]]) -> list[tuple[str, str]]:
    """Query values as the server reads them; those that say nothing are left out."""
    return [
        (name, ("true" if value else "false") if isinstance(value, bool) else str(value))
        for name, value in query
        if value is not None and value != ""
    ]


def check_server(settings: Settings, what: str) -> None:
    """Raises Unsupported where the store is no Hindsight server."""
    if settings.address.kind in {"sqlite", "wiki"}:
        raise Unsupported(
            f"{what} needs a Hindsight server",
            where=settings.store,
            hint="name one with --store https://HOST or HINDSIGHT_API_URL",
        )


@contextlib.asynccontextmanager
async def open_api(settings: Settings, what: str = "this command") -> AsyncIterator[Api]:
    """The server that the settings name. Raises Unsupported for other stores, before anything is opened."""
    check_server(settings, what)
    store = HindsightStore(settings.address.location, token=settings.token())
    try:
        yield Api(store.http, read_only=settings.read_only)
    finally:
        await store.aclose()

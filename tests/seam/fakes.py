"""A bank's server that says what it is told to and remembers every byte, and a seam in front of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.seam.app import Doors, Seam
from console.seam.serve import _config, _Server
from console.seam.spool import Row, Spool, rows_of
from console.seam.upstream import Upstream

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"


def answer(status: str, body: bytes = b"{}", *headers: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status}".encode(), b"content-length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


@dataclass
class Seen:
    line: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: bytes) -> bytes:
        return next((value for key, value in self.headers if key == name), b"")


@dataclass
class Server:
    """``reply`` answers each request with the bytes of a whole answer; None leaves it without one."""

    reply: Callable[[Seen], bytes | None] = lambda seen: answer("200 OK", b'{"success":true}')
    seen: list[Seen] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *rows = head[:-4].split(b"\r\n")
                headers = [(k.lower(), v.strip()) for k, _, v in (row.partition(b":") for row in rows)]
                seen = Seen(line, headers, b"")
                if length := seen.header(b"content-length"):
                    seen.body = await reader.readexactly(int(length))
                elif seen.header(b"transfer-encoding"):
                    while size := int((await reader.readline()).strip() or b"0", 16):
                        seen.body += await reader.readexactly(size)
                        await reader.readexactly(2)
                    await reader.readline()
                self.seen.append(seen)
                reply = self.reply(seen)
                if reply is None:
                    await reader.read()
                    return
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed.set()
            writer.close()


@asynccontextmanager
async def upstream(**more: Any) -> AsyncIterator[Server]:
    server = Server(**more)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


@dataclass
class Running:
    seam: Seam
    spool: Spool
    path: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rows(self) -> list[Row]:
        return list(reversed(rows_of(self.path)[0]))


@asynccontextmanager
async def seam(
    url: str, path: Path, *, token: str | None = None, upstream_token: str | None = None, **more: Any
) -> AsyncIterator[Running]:
    """A seam under its real HTTP server, in this loop."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    listener.setblocking(False)
    port = listener.getsockname()[1]
    spool = Spool(path, limit=more.pop("limit", 2 * 1024**3))
    backend = more.pop("backend", None) or Upstream(url)
    app = Seam(backend, spool, Doors("127.0.0.1", port, token, upstream_token), **more)
    started = asyncio.Event()
    server = _Server(_config(app), started.set)
    server.capture_signals = _nothing  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve(sockets=[listener]))
    await started.wait()
    try:
        yield Running(app, spool, path, port)
    finally:
        server.should_exit = True
        server.force_exit = True
        await task
        await backend.aclose()
        spool.close()
        listener.close()


class _Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def _nothing() -> Any:
    return _Nothing()


async def raw(port: int, request: bytes) -> bytes:
    """Send bytes, read the answer to its end (``connection: close`` is for the caller to say)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    try:
        return await asyncio.wait_for(reader.read(), 15)
    finally:
        writer.close()

"""A real socket that lies: answers that are cut, drip, never end or are no HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from console.memory.errors import BadAnswer, StoreError, Unavailable
from console.memory.hindsight import HindsightStore, Retries, Timeouts

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
FAST = {"timeouts": Timeouts(connect=0.5, read=0.5, retain=0.5), "retries": Retries(attempts=2, base=0.0)}
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]


@asynccontextmanager
async def lying(pieces: list[bytes | float], *, hang: bool = False) -> AsyncIterator[str]:
    """Sends the bytes, waits the numbers; then closes, or stays silent."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                if isinstance(piece, bytes):
                    writer.write(piece)
                    await writer.drain()
                else:
                    await asyncio.sleep(piece)
            if hang:
                await asyncio.sleep(30)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("case", "pieces", "hang", "kind"),
    [
        ("cut body", [HEAD + b'content-length: 500\r\n\r\n{"id": "d"'], False, BadAnswer),
        ("cut chunk", [HEAD + b'transfer-encoding: chunked\r\n\r\nff\r\n{"id"'], False, BadAnswer),
        ("closed at once", [], False, Unavailable),
        ("cut head", [b"HTTP/1.1 200 OK\r\ncontent-"], False, Unavailable),
        ("no http", [b"220 mail.example ESMTP\r\n"], False, Unavailable),
        ("silence", [], True, Unavailable),
        ("silence in the body", [HEAD + b'content-length: 500\r\n\r\n{"id"'], True, Unavailable),
        ("bad gzip", [HEAD + b"content-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd"], False, BadAnswer),
        ("endless head", [b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000], False, Unavailable),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_lying_socket_is_one_clear_line(
    case: str, pieces: list[bytes | float], hang: bool, kind: type[StoreError]
) -> None:
    async with lying(pieces, hang=hang) as url:
        opened = HindsightStore(url, **FAST)  # type: ignore[arg-type]
        with pytest.raises(StoreError) as failure:
            await opened.get_document("b", "d")
        await opened.aclose()
    assert type(failure.value) is kind, f"{case}: {failure.value!r}"
    assert str(failure.value).isprintable()


async def test_an_answer_that_drips_ends_in_time() -> None:
    """Each byte comes within the read timeout: only a bound on the whole answer ends this."""
    drip: list[bytes | float] = [HEAD + b"content-length: 500\r\n\r\n"]
    for _ in range(200):
        drip += [b" ", 0.1]
    async with lying(drip) as url:
        opened = HindsightStore(url, **FAST)  # type: ignore[arg-type]
        started = time.monotonic()
        with pytest.raises(Unavailable, match="in time"):
            await opened.get_document("b", "d")
        await opened.aclose()
    assert time.monotonic() - started < 5


async def test_an_answer_that_never_ends_is_bounded() -> None:
    endless: list[bytes | float] = [HEAD + b"transfer-encoding: chunked\r\n\r\n"]
    endless += [b"10000\r\n" + b"x" * 0x10000 + b"\r\n"] * 200
    async with lying(endless) as url:
        opened = HindsightStore(url, max_bytes=1024 * 1024, **FAST)  # type: ignore[arg-type]
        with pytest.raises(BadAnswer, match="larger than 1 MB"):
            await opened.get_document("b", "d")
        await opened.aclose()


async def test_nobody_listens() -> None:
    async with lying([]) as url:
        pass
    opened = HindsightStore(url, **FAST)  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="cannot connect"):
        await opened.health()
    await opened.aclose()


async def test_https_to_a_plain_server() -> None:
    async with lying([b"HTTP/1.1 400 Bad Request\r\n\r\n"]) as url:
        opened = HindsightStore(url.replace("http:", "https:"), **FAST)  # type: ignore[arg-type]
        with pytest.raises(Unavailable):
            await opened.health()
        await opened.aclose()

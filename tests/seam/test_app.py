"""The endpoint against a server that remembers every byte: what goes up, what comes back, what is refused."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from pathlib import Path

import httpx
import pytest

from tests.seam.fakes import Running, Seen, answer, raw, seam, upstream

BANK = "/v1/default/banks/demo"
RETAIN = f"{BANK}/memories"
BODY = b'{ "items": [{"content": "The queue is called orders.", "document_id": "s/1", "tags": null}] , "async": true}'
JSON = {"content-type": "application/json"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "spool.sqlite"


async def wait_for(rows: Running, state: str, within: float = 5.0) -> None:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if [row.state for row in rows.rows()] == [state]:
            return
        await asyncio.sleep(0.02)
    raise AssertionError([(row.state, row.error) for row in rows.rows()])


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v1/default/banks/demo/memories"),
        ("POST", "/v1/default/banks/acme%3A%3Aapp%2Fx/memories?a=1&a=2&q=%2F"),
        ("POST", "/v1/default/banks/demo/files/retain"),
        ("POST", "/mcp/demo/"),
        ("POST", "/mcp"),
        ("DELETE", "/v1/default/banks/demo/documents/a%2F..%2Fb"),
        ("DELETE", "/v1/default/banks/demo/memories?type=world"),
        ("DELETE", "/v1/default/banks/d%C3%A9mo"),
        ("PATCH", "/v1/default/banks/demo/documents/x%00y"),
        ("PATCH", "/v1/default/banks/demo/memories/f-1"),
        ("POST", "/v1/default/banks/demo/import"),
        ("PUT", "/v1/default/banks/demo"),
        ("POST", "/v1/default/banks/demo/memories/recall"),
        ("GET", "/v1/default/banks/demo/documents?tags=a&tags=b&q=%20"),
        ("GET", "//double//slash/../up"),
    ],
)
async def test_path_and_body_go_up_byte_for_byte(path: Path, method: str, target: str) -> None:
    async with upstream() as server, seam(server.url, path) as running:
        head = (
            f"{method} /src/omo%20x{target} HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\nconnection: close\r\n"
            f"content-type: application/json\r\nx-bank-id: q\r\nauthorization: Bearer s3cret\r\n"
        )
        body = BODY if method != "GET" else b""
        length = f"content-length: {len(body)}\r\n" if body else ""
        got = await raw(running.port, (head + length + "\r\n").encode() + body)
        assert got.startswith(b"HTTP/1.1 200 OK"), got
        (seen,) = server.seen
        assert seen.line == f"{method} {target} HTTP/1.1".encode()
        assert seen.body == body
        assert seen.header(b"authorization") == b"Bearer s3cret"
        assert seen.header(b"x-bank-id") == b"q"
        assert seen.header(b"host") == f"127.0.0.1:{server.port}".encode()
        assert seen.header(b"connection") != b"close"


async def test_a_chunked_body_arrives_whole_and_is_journaled(path: Path) -> None:
    async with upstream() as server, seam(server.url, path) as running:
        pieces = [BODY[:10], BODY[10:]]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
        head = (
            f"POST {RETAIN} HTTP/1.1\r\nhost: localhost:{running.port}\r\ncontent-type: application/json\r\n"
            "connection: close\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        got = await raw(running.port, head.encode() + chunks)
        assert b"200 OK" in got
        assert server.seen[0].body == BODY
        assert [(row.body, row.state, row.documents) for row in running.rows()] == [
            (BODY, "stored", ("s/1",))
        ]


async def test_a_chunked_body_that_is_no_write_is_streamed(path: Path) -> None:
    async with upstream() as server, seam(server.url, path) as running:

        async def parts():  # type: ignore[no-untyped-def]
            yield b'{"query":'
            yield b'"x"}'

        async with httpx.AsyncClient(base_url=running.url) as client:
            await client.post(f"{BANK}/memories/recall", content=parts(), headers=JSON)
        assert server.seen[0].body == b'{"query":"x"}'
        assert running.rows() == []


@pytest.mark.parametrize(
    ("status", "headers", "state"),
    [
        ("401 Unauthorized", [b"www-authenticate: Bearer"], "rejected"),
        ("404 Not Found", [], "rejected"),
        ("422 Unprocessable Entity", [], "rejected"),
        ("503 Service Unavailable", [b"retry-after: 7"], "failed"),
        ("429 Too Many Requests", [b"retry-after: 7"], "failed"),
        ("500 Internal Server Error", [], "failed"),
    ],
)
async def test_a_refusal_comes_back_unchanged(
    path: Path, status: str, headers: list[bytes], state: str
) -> None:
    body = b'{"detail":[{"loc":["body"],"msg":"no"}]}'
    async with (
        upstream(reply=lambda seen: answer(status, body, b"x-ignored-params: a", *headers)) as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        got = await client.post(f"/src/omo{RETAIN}", content=BODY, headers=JSON)
        assert (got.status_code, got.content) == (int(status[:3]), body)
        assert got.headers["x-ignored-params"] == "a"
        for header in headers:
            name, _, value = header.decode().partition(": ")
            assert got.headers[name] == value
        (row,) = running.rows()
        assert (row.state, row.status, row.label, row.body) == (state, int(status[:3]), "omo", BODY)


async def test_a_compressed_answer_stays_compressed_and_is_understood(path: Path) -> None:
    packed = gzip.compress(b'{"success":true,"bank_id":"real","operation_id":"op-1"}')
    async with (
        upstream(reply=lambda seen: answer("200 OK", packed, b"content-encoding: gzip")) as server,
        seam(server.url, path) as running,
    ):
        head = f"POST {RETAIN} HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\nconnection: close\r\ncontent-length: {len(BODY)}\r\n\r\n"
        got = await raw(running.port, head.encode() + BODY)
        assert got.endswith(packed) and b"content-encoding: gzip" in got.lower()
        (row,) = running.rows()
        assert (row.bank, row.operations) == ("real", ("op-1",)), "filed under the bank's own name"


async def test_a_redirect_names_the_seam_and_the_label(path: Path) -> None:
    def reply(seen: Seen) -> bytes:
        return answer(
            "307 Temporary Redirect", b"", b"location: http://" + seen.header(b"host") + b"/v1/x?y=%2F"
        )

    async with (
        upstream(reply=reply) as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        got = await client.post(f"/src/omo{RETAIN}/", content=BODY)
        assert got.status_code == 307
        assert got.headers["location"] == f"{running.url}/src/omo/v1/x?y=%2F"


async def test_head_and_options_have_no_body_and_keep_their_length(path: Path) -> None:
    def reply(seen: Seen) -> bytes:
        if seen.line.startswith(b"HEAD"):
            return b"HTTP/1.1 200 OK\r\ncontent-length: 41\r\n\r\n"
        return b"HTTP/1.1 204 No Content\r\nallow: GET\r\n\r\n"

    async with (
        upstream(reply=reply) as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        head = await client.head("/health")
        assert (head.status_code, head.headers["content-length"], head.content) == (200, "41", b"")
        assert (await client.options("/health")).headers["allow"] == "GET"


async def test_the_server_down_is_said_within_two_seconds_and_the_text_is_kept(path: Path) -> None:
    async with (
        seam("http://127.0.0.1:9", path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        began = time.monotonic()
        got = await client.post(f"/src/omo{RETAIN}", content=BODY, headers=JSON)
        assert time.monotonic() - began < 2
        assert got.status_code == 502 and "cannot be reached" in got.json()["detail"]
        (row,) = running.rows()
        assert (row.state, row.body, row.attempts) == ("failed", BODY, 1)
        assert (await client.get("/health")).status_code == 502


async def test_an_answer_that_never_comes_leaves_the_write_unknown(path: Path) -> None:
    async with (
        upstream(reply=lambda seen: b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf") as server,
        seam(server.url, path) as running,
    ):
        task = asyncio.create_task(
            httpx.AsyncClient(base_url=running.url, timeout=10).post(RETAIN, content=BODY, headers=JSON)
        )
        while not server.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        await wait_for(running, "unknown")


async def test_a_client_that_leaves_ends_its_request_at_the_bank(path: Path) -> None:
    async with upstream(reply=lambda seen: None) as server, seam(server.url, path) as running:
        async with httpx.AsyncClient(base_url=running.url, timeout=0.4) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post(RETAIN, content=BODY, headers=JSON)
        await asyncio.wait_for(server.closed.wait(), 5)
        await wait_for(running, "unknown")
        assert running.rows()[0].body == BODY


async def test_a_durable_seam_finishes_the_write_of_a_client_that_left(path: Path) -> None:
    said: list[bool] = []

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.8)
        writer.write(answer("200 OK", b'{"success":true}'))
        await writer.drain()

    server = await asyncio.start_server(slowly, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with seam(url, path, durable=True, written=lambda: said.append(True)) as running:
        async with httpx.AsyncClient(base_url=running.url, timeout=0.3) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post(RETAIN, content=BODY, headers=JSON)
        await wait_for(running, "stored")
        assert said == [True]
    server.close()


async def test_an_endless_stream_arrives_as_it_is_sent_while_writes_pass(path: Path) -> None:
    gate = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            writer.write(b"8\r\ndata: 1\n\r\n")
            await writer.drain()
            await gate.wait()
            writer.write(b"8\r\ndata: 2\n\r\n")
            await writer.drain()
            await reader.read()
            return
        while True:
            await reader.readexactly(len(BODY))
            writer.write(answer("200 OK", b'{"success":true}'))
            await reader.readuntil(b"\r\n\r\n")

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with seam(url, path) as running, httpx.AsyncClient(base_url=running.url) as client:
        async with client.stream("GET", "/mcp/demo/", headers={"mcp-session-id": "1"}) as stream:
            parts = stream.aiter_raw()
            assert await asyncio.wait_for(anext(parts), 2) == b"data: 1\n"
            for _ in range(100):
                assert (await client.post(RETAIN, content=BODY, headers=JSON)).status_code == 200
            gate.set()
            assert await asyncio.wait_for(anext(parts), 2) == b"data: 2\n"
        assert len(running.rows()) == 100
    server.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1:1"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({}, 200),
    ],
)
async def test_a_page_in_a_browser_cannot_use_it(path: Path, headers: dict[str, str], status: int) -> None:
    async with (
        upstream() as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        got = await client.post(RETAIN, content=BODY, headers={**JSON, **headers})
        assert got.status_code == status
        assert len(server.seen) == (status == 200)
        assert len(running.rows()) == (status == 200)
        if status == 403:
            assert isinstance(got.json()["detail"], str)


async def test_with_a_token_of_its_own_it_shows_the_bank_another(path: Path) -> None:
    async with (
        upstream() as server,
        seam(server.url, path, token="own", upstream_token="theirs") as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        assert (await client.get("/health")).status_code == 401
        assert (await client.get("/health", headers={"authorization": "Bearer no"})).status_code == 401
        assert (await client.get("/health", headers={"authorization": "Bearer own"})).status_code == 200
        assert [seen.header(b"authorization") for seen in server.seen] == [b"Bearer theirs"]


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_that_is_too_large_is_refused_and_nothing_is_sent(
    path: Path, announced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.seam.app.LARGEST", 1 << 20)

    async def parts():  # type: ignore[no-untyped-def]
        for _ in range(40):
            yield b" " * 65536

    async with upstream() as server, seam(server.url, path) as running:
        async with httpx.AsyncClient(base_url=running.url) as client:
            content = b" " * (1 << 20) + b"1" if announced else parts()
            got = await client.post(RETAIN, content=content, headers=JSON)
        assert got.status_code == 413 and "1 MiB" in got.json()["detail"]
        assert server.seen == [] and running.rows() == []


async def test_a_full_spool_refuses_and_sends_nothing_on(path: Path) -> None:
    async with (
        upstream() as server,
        seam(server.url, path, limit=1) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        got = await client.post(RETAIN, content=BODY, headers=JSON)
        assert (got.status_code, got.headers["retry-after"]) == (503, "5")
        assert "full" in got.json()["detail"]
        assert server.seen == []
        assert (await client.get("/health")).status_code == 200, "what writes nothing passes"


async def test_a_full_spool_that_may_fail_open_passes_it_on(path: Path) -> None:
    async with upstream() as server, seam(server.url, path, limit=1, fail_open=True) as running:
        async with httpx.AsyncClient(base_url=running.url) as client:
            assert (await client.post(RETAIN, content=BODY, headers=JSON)).status_code == 200
        assert [seen.body for seen in server.seen] == [BODY]
        assert running.rows() == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"items":1}', b'{"items":[1]}', b"\xff\xfe", b"[" * 100_000]
)
async def test_what_is_no_retain_goes_on_and_the_bank_says_so(path: Path, body: bytes) -> None:
    async with (
        upstream(reply=lambda seen: answer("422 Unprocessable Entity")) as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        assert (await client.post(RETAIN, content=body, headers=JSON)).status_code == 422
        assert server.seen[0].body == body
        assert running.rows() == []


async def test_no_token_is_in_the_journal(path: Path) -> None:
    async with (
        upstream() as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        headers = {**JSON, "authorization": "Bearer t0ken-of-mine", "x-api-key": "k3y-of-mine"}
        assert (await client.post(RETAIN, content=BODY, headers=headers)).status_code == 200
        assert running.rows()
    held = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.is_file())
    assert b"orders" in held
    assert b"t0ken-of-mine" not in held and b"k3y-of-mine" not in held


async def test_an_mcp_call_that_failed_with_200_is_rejected(path: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "retain", "arguments": {"content": "x", "document_id": "d"}},
    }
    body = b'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}\n\n'
    async with (
        upstream(reply=lambda seen: answer("200 OK", body, b"content-type: text/event-stream")) as server,
        seam(server.url, path) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        got = await client.post("/mcp/demo/", content=json.dumps(call).encode(), headers=JSON)
        assert got.content == body
        (row,) = running.rows()
        assert (row.state, row.bank, row.kind, row.documents) == ("rejected", "demo", "retain", ("d",))

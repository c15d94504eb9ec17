"""What the seam adds to a direct call: ``python -m tests.bench.seam_speed [SECONDS] [URL]``.

Side by side in one run, alternating, against one upstream in a process of its own (a stub that answers after
20 ms, as a quick call of a real server does; or the server at URL): p50 and p95 of a pass-through at 1 and at
16 clients, of a journaled retain, then 200 retains a second for SECONDS (60) with every one counted at the
upstream, and the seam's memory before and after.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

DELAY = 0.02
RETAIN = "/v1/default/banks/bench/memories"


def _upstream(pipe: Any) -> None:
    counted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal counted
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(row[15:])
                        for row in head.lower().split(b"\r\n")
                        if row.startswith(b"content-length:")
                    ),
                    0,
                )
                await reader.readexactly(length)
                if head.startswith(b"GET /counted"):
                    body = str(counted).encode()
                else:
                    counted += head.startswith(b"POST")
                    await asyncio.sleep(DELAY)
                    body = b'{"success":true,"bank_id":"bench","operation_id":null}'
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                    % len(body)
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=500)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(main())


def _seam(pipe: Any, url: str, port: int, spool: str) -> None:
    from console.memory.hindsight import HindsightStore
    from console.seam.app import Doors
    from console.seam.serve import Plan, serve
    from console.seam.upstream import Upstream

    plan = Plan(
        backend=lambda: Upstream(url),
        open_store=lambda token: HindsightStore(url, token=token),
        token=None,
        spool=Path(spool),
        repos=(),
        wiki="wiki",
        default_branch=None,
        doors=Doors("127.0.0.1", port),
    )
    serve(plan, ready=lambda: pipe.send(True))


async def _calls(client: httpx.AsyncClient, clients: int, count: int, retain: bool) -> list[float]:
    """Seconds of each call."""
    found: list[float] = []

    async def one(worker: int) -> None:
        for number in range(count // clients):
            began = time.perf_counter()
            if retain:
                item = {"content": f"Fact {worker} {number}.", "document_id": f"{worker}/{number}"}
                answer = await client.post(RETAIN, json={"items": [item], "async": True})
            else:
                answer = await client.get("/version")
            found.append(time.perf_counter() - began)
            assert answer.is_success, answer.text

    await asyncio.gather(*(one(worker) for worker in range(clients)))
    return found


def _points(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return statistics.median(ordered) * 1000, ordered[int(len(ordered) * 0.95)] * 1000


async def _side_by_side(direct: str, through: str, clients: int, count: int, retain: bool) -> None:
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    times: dict[str, list[float]] = {direct: [], through: []}
    for _ in range(4):
        for url in (direct, through):
            async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
                await _calls(client, clients, clients * 2, retain)  # connections are open
                times[url] += await _calls(client, clients, count // 4, retain)
    (d50, d95), (s50, s95) = _points(times[direct]), _points(times[through])
    what = "retain" if retain else "pass"
    print(
        f"{what:7} {clients:2} clients   direct p50 {d50:6.2f} p95 {d95:6.2f} ms   seam p50 {s50:6.2f} p95 {s95:6.2f} ms"
        f"   +{s50 - d50:.2f} / +{s95 - d95:.2f} ms   x{s50 / d50:.2f} / x{s95 / d95:.2f}"
    )


async def _sustained(direct: str, through: str, seconds: int, pid: int) -> None:
    async with httpx.AsyncClient(base_url=direct) as client:
        before = int((await client.get("/counted")).text)
    rss = [_rss(pid)]
    cpu = _cpu(pid)
    late: list[float] = []
    done = 0

    async def one(number: int, client: httpx.AsyncClient) -> None:
        nonlocal done
        item = {"content": f"Fact {number} " + "x" * 2000, "document_id": f"s/{number}"}
        began = time.perf_counter()
        answer = await client.post(RETAIN, json={"items": [item], "async": True})
        late.append(time.perf_counter() - began)
        done += answer.is_success

    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=through, limits=limits, timeout=60) as client:
        began = time.perf_counter()
        running: set[asyncio.Task[None]] = set()
        for number in range(200 * seconds):
            pause = began + number / 200 - time.perf_counter()
            if pause > 0:
                await asyncio.sleep(pause)
            task = asyncio.create_task(one(number, client))
            running.add(task)
            task.add_done_callback(running.discard)
            if number % 1000 == 999:
                rss.append(_rss(pid))
        await asyncio.gather(*running)
        took = time.perf_counter() - began
    async with httpx.AsyncClient(base_url=direct) as client:
        arrived = int((await client.get("/counted")).text) - before
    p50, p95 = _points(late)
    print(
        f"sustained {done / took:.0f} retains/s for {took:.0f} s: {done:,} acknowledged, {arrived:,} arrived,"
        f" p50 {p50:.1f} p95 {p95:.1f} ms; {(_cpu(pid) - cpu) / done * 1000:.2f} CPU ms each; memory {rss[0]:.0f} -> {max(rss):.0f} MiB at most"
    )


def _rss(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * 4096 / 2**20


def _cpu(pid: int) -> float:
    """CPU seconds so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100


def main(argv: list[str]) -> None:
    seconds = int(argv[0]) if argv else 60
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = context.Pipe()
        upstream = context.Process(target=_upstream, args=(theirs,), daemon=True)
        upstream.start()
        stub = f"http://127.0.0.1:{ours.recv()}"
        direct = argv[1] if len(argv) > 1 else stub
        for target, port in ((direct, 18898), (stub, 18899)):
            ours, theirs = context.Pipe()
            seam = context.Process(
                target=_seam, args=(theirs, target, port, f"{folder}/{port}.sqlite"), daemon=True
            )
            seam.start()
            ours.recv()
            through = f"http://127.0.0.1:{port}/src/bench"
            if target is direct and port == 18898:
                asyncio.run(_side_by_side(direct, through, 1, 400, False))
                asyncio.run(_side_by_side(direct, through, 16, 3200, False))
                asyncio.run(_side_by_side(direct, through, 1, 400, True))
                asyncio.run(_side_by_side(direct, through, 16, 1600, True))
            else:
                asyncio.run(_sustained(stub, through, seconds, int(seam.pid or 0)))
            seam.terminate()
            seam.join(10)
        upstream.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])

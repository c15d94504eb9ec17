"""Retain, open and recall by size: ``python -m tests.bench.speed [SIZE...]`` (default 10000 100000).

CPU milliseconds of this process, so that a busy machine does not count; wall time beside them. One short document
is one memory. Asks 60 queries of one to six words, common and rare ones, and says what 10 times the memories cost.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from console.memory.embedded import EmbeddedStore
from console.memory.models import RecallRequest, RetainItem

_COMMON = (
    "service queue deploy report user config test build server table page token error cache index".split()
)


def sentence(random_: random.Random) -> str:
    rare = f"{random_.choice('bcdfgklmnprstv')}{random_.choice('aeiou')}{random_.randrange(4000)}x"
    middle = [f"w{int(random_.paretovariate(0.7)) % 6000}" for _ in range(5)]
    return f"The {random_.choice(_COMMON)} {' '.join(middle)} needs {rare} for the {random_.choice(_COMMON)} of {random_.choice(_COMMON)}."


async def measure(size: int, folder: Path) -> float:
    random_ = random.Random(3)
    texts = [sentence(random_) for _ in range(size)]
    items = [
        RetainItem(content=text, document_id=f"d{n}", timestamp="2026-01-01T00:00:00Z", tags=(f"t{n % 50}",))
        for n, text in enumerate(texts)
    ]
    path = folder / f"{size}.db"
    store = EmbeddedStore(path)
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, size, 5000):
        await store.retain("b", items[start : start + 5000])
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    await store.aclose()
    print(f"\n{size:,} memories, {path.stat().st_size / 2**20:.0f} MiB")
    print(f"  retain   {size / cpu:8,.0f} documents a CPU second, {size / wall:,.0f} a second")
    store = EmbeddedStore(path)
    cpu, wall = time.process_time(), time.perf_counter()
    await store.health()
    print(
        f"  open     {1000 * (time.process_time() - cpu):8.1f} ms CPU, {1000 * (time.perf_counter() - wall):.1f} ms"
    )
    queries = [
        " ".join(random_.sample(random_.choice(texts)[4:-1].split(), random_.randint(1, 6)))
        for _ in range(60)
    ]
    used, waited = [], []
    for query in queries:
        cpu, wall = time.process_time(), time.perf_counter()
        await store.recall("b", RecallRequest(query=query))
        used.append(1000 * (time.process_time() - cpu))
        waited.append(1000 * (time.perf_counter() - wall))
    await store.aclose()
    for name, values in (("CPU", used), ("wall", waited)):
        cuts = statistics.quantiles(values, n=20)
        print(f"  recall   {name:4} p50 {statistics.median(values):6.1f} ms   p95 {cuts[18]:6.1f} ms")
    return statistics.median(used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    with tempfile.TemporaryDirectory() as folder:
        medians = [asyncio.run(measure(size, Path(folder))) for size in parser.parse_args().sizes]
    if len(medians) > 1:
        print(f"\nrecall grew {medians[-1] / medians[0]:.1f} times")


if __name__ == "__main__":
    main()

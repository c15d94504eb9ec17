"""The mirror's speed as ratios against floors measured in the same run. Not a test: run it by hand.

    python -m tests.bench.mirror_speed 10000              the embedded store
    python -m tests.bench.mirror_speed 10000 http://127.0.0.1:8888

Prints, for N documents of about 900 bytes: a cold sync against reading the same rows by the fastest endpoint
plus a bare ``git fast-import`` of the same bytes; a sync with nothing to do against the raw listings; a sync of
100 changed documents beyond the listing; the same pages by ``git add -A && git commit`` and by GitPython's index.
"""

from __future__ import annotations

import asyncio
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import git

from console.bridge import StoreSource
from console.memory.embedded import EmbeddedStore
from console.memory.hindsight import HindsightStore
from console.memory.models import RetainItem
from console.memory.store import MemoryStore
from mirror.sync import Options, sync

SENTENCES = 6


def texts(count: int) -> list[str]:
    """Texts of six sentences of about 22 made-up words, the same every time."""
    chance = random.Random(7)
    words = [
        "".join(chance.choice("abcdefghijklmnop") for _ in range(chance.randint(3, 9))) for _ in range(3000)
    ]
    return [
        "\n".join(
            " ".join(chance.choice(words) for _ in range(22)).capitalize() + f" {number}."
            for _ in range(SENTENCES)
        )
        for number in range(count)
    ]


async def timed(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """(wall, CPU) seconds of this process and its children."""
    before, wall = cpu(), time.perf_counter()
    await work()
    return time.perf_counter() - wall, cpu() - before


def cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


async def raw_listing(source: StoreSource) -> None:
    """The rows that any sync must see."""
    await source.documents(before=None, limit=10_000_000, offset=0)
    await source.facts(live=True, limit=10_000_000, offset=0)
    await source.facts(live=False, limit=10_000_000, offset=0)


def files_of(repo: Path) -> dict[str, bytes]:
    names = subprocess.run(["git", "-C", str(repo), "ls-files", "-z"], capture_output=True, check=True).stdout
    return {name: (repo / name).read_bytes() for name in names.decode().split("\0") if name}


def new_repo() -> Path:
    path = Path(tempfile.mkdtemp(prefix="mirror-bench-"))
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    for key, value in (("user.name", "bench"), ("user.email", "bench@localhost")):
        subprocess.run(["git", "-C", str(path), "config", key, value], check=True)
    return path


async def bare_import(files: dict[str, bytes]) -> None:
    repo = new_repo()
    parts = [b"commit refs/heads/main\ncommitter b <b@b> 1 +0000\ndata 1\nx\n"]
    for name, data in files.items():
        parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data))
    subprocess.run(["git", "-C", str(repo), "fast-import", "--quiet"], input=b"".join(parts), check=True)


async def git_add(files: dict[str, bytes]) -> None:
    repo = new_repo()
    write(repo, files)
    subprocess.run(["git", "-C", str(repo), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(repo), "commit", "-q", "-m", "x"], check=True)


async def gitpython(files: dict[str, bytes]) -> None:
    path = new_repo()
    write(path, files)
    with git.Repo(path) as repo:
        repo.index.add(list(files))
        repo.index.commit("x")


def write(repo: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_bytes(data)


async def main(count: int, url: str | None) -> None:
    store: MemoryStore = HindsightStore(url) if url else EmbeddedStore(Path(tempfile.mkdtemp()) / "bench.db")
    bank = f"bench{int(time.time())}"
    corpus = texts(count)
    items = [
        RetainItem(content=text, document_id=f"d{n}", tags=("harness:bench",))
        for n, text in enumerate(corpus)
    ]
    wall, _ = await timed(lambda: store.retain(bank, items))
    print(f"{count} documents, {count * SENTENCES} facts, retained in {wall:.1f} s")
    source, repo = StoreSource(store, bank), new_repo()

    async def fetch() -> None:
        await raw_listing(source)
        async for _ in source.texts([item.document_id for item in items]):
            pass

    async def run() -> None:
        await sync(source, repo, Options(first=True))

    rows: list[tuple[str, tuple[float, float]]] = []
    rows.append(("raw fetch: listings and texts", await timed(fetch)))
    rows.append(("cold sync", await timed(run)))
    files = files_of(repo)
    rows.append(("bare git fast-import of the same bytes", await timed(lambda: bare_import(files))))
    rows.append(("raw listings", await timed(lambda: raw_listing(source))))
    rows.append(("sync with nothing to do", await timed(run)))
    changed = [
        RetainItem(content=f"{corpus[n]}\nOne more sentence {n}.", document_id=f"d{n}") for n in range(100)
    ]
    await store.retain(bank, changed)
    rows.append(("sync of 100 changed documents", await timed(run)))
    rows.append(("git add -A && git commit of the same files", await timed(lambda: git_add(files))))
    if count <= 2000:
        rows.append(("GitPython index.add and commit", await timed(lambda: gitpython(files))))
    times = dict(rows)
    for name, (wall, spent) in rows:
        print(f"{name:<45} {wall:7.2f} s wall {spent:7.2f} s CPU")
    floor = times["raw fetch: listings and texts"], times["bare git fast-import of the same bytes"]
    for place, unit in enumerate(("wall", "CPU")):
        cold = times["cold sync"][place] / sum(part[place] for part in floor)
        idle = times["sync with nothing to do"][place] / times["raw listings"][place]
        more = times["sync of 100 changed documents"][place] - times["raw listings"][place]
        print(
            f"{unit}: cold {cold:.2f} x floor (asked: 2.0), nothing to do {idle:.2f} x listings (1.5), 100 changed {more:+.2f} s (2)"
        )
    print(
        f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB, the corpus of this script included"
    )
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2] if len(sys.argv) > 2 else None)
    )

"""Several processes on one file, and processes that are killed while they write."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.models import DocumentQuery, RecallRequest

WRITER = """
import asyncio, sys, time
from console.memory.embedded import EmbeddedStore
from console.memory.models import Curation, DocumentQuery, MemoryQuery, RecallRequest, RetainItem

async def main(path, name, seconds):
    store = EmbeddedStore(path)
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        ids = [f"{name}-{number}", "shared"]
        items = [
            RetainItem(content=f"Note {number} of {name} is about the queue.", document_id=ids[0], tags=(name,)),
            RetainItem(content=f"Writer {name} wrote number {number} here.", document_id="shared", update_mode="append"),
        ]
        await store.retain("b", items)
        print(ids[0], flush=True)   # acknowledged
        if number % 5 == 0:
            await store.recall("b", RecallRequest(query=f"queue note {number}"))
            memory = (await store.list_memories("b", MemoryQuery(tags=(name,), tags_match="all_strict", limit=1))).items[0]
            await store.curate_memory("b", memory.id, Curation(state="invalidated", reason="test"))
        number += 1
    await store.aclose()

asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
"""


def writer(path: Path, name: str, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_sound(path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    live = db.execute("SELECT count(*) FROM memories WHERE state = 'valid'").fetchone()[0]
    assert db.execute("SELECT count(*) FROM memory_index_docsize").fetchone()[0] == live
    db.close()


async def assert_holds(path: Path, acknowledged: set[str]) -> None:
    store = EmbeddedStore(path)
    ids = {one.id for one in (await store.list_documents("b", DocumentQuery(limit=100_000))).items}
    assert acknowledged <= ids
    shared = (await store.get_document("b", "shared")).original_text or ""
    for one in acknowledged:
        name, number = one.split("-")
        assert shared.count(f"Writer {name} wrote number {number} here.") == 1
    assert (await store.recall("b", RecallRequest(query="queue"))).results
    await store.aclose()


async def test_four_processes_write_and_read_one_file_without_an_error(path: Path, full: bool) -> None:
    running = [writer(path, f"w{n}", 30 if full else 3) for n in range(4)]  # the first opens race, too
    acknowledged: set[str] = set()
    for one in running:
        out, err = one.communicate(timeout=120)
        assert (one.returncode, err) == (0, "")
        acknowledged |= set(out.split())
    assert {one.split("-")[0] for one in acknowledged} == {"w0", "w1", "w2", "w3"}
    assert_sound(path)
    await assert_holds(path, acknowledged)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
async def test_a_kill_while_writing_loses_nothing_acknowledged(path: Path, full: bool) -> None:
    acknowledged: set[str] = set()
    for round_number in range(200 if full else 6):
        process = writer(path, f"k{round_number}", 60)
        assert process.stdout is not None
        acknowledged.add(process.stdout.readline().strip())
        time.sleep(0.013 * (round_number % 7))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate(timeout=30)
        # a last line that was cut by the kill was not heard by anyone
        acknowledged |= {line for line in out.split("\n")[:-1] if line}
        assert_sound(path)
    await assert_holds(path, acknowledged)

"""Files that cannot be used: one clear error that names the file, and the file as it was."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore, schema
from console.memory.errors import Corrupt, NotFound, ReadOnly, StoreError, Unavailable
from console.memory.models import MemoryQuery, RecallRequest, RetainItem
from console.memory.store import Capability

ITEM = RetainItem(content="The queue runs on Redis. Nobody knows why.", document_id="d")


async def made(path: Path, items: list[RetainItem] | None = None) -> None:
    store = EmbeddedStore(path)
    await store.retain("b", items or [ITEM])
    await store.aclose()


async def failure(path: Path, *, read_only: bool = False) -> StoreError:
    """What every kind of first call says; they must agree."""
    store = EmbeddedStore(path, read_only=read_only, busy_ms=50)
    with pytest.raises(StoreError) as read:
        await store.list_banks()
    await store.aclose()
    error = read.value
    assert str(path) in str(error) and "\n" not in str(error) and error.hint
    return error


async def test_the_file_is_private_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "memory.db"
    await made(path)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes()[:15] == b"SQLite format 3"


@pytest.mark.parametrize(
    "content",
    [
        b"not a database, only text that is long enough to look at\n" * 100,
        b"x",
        b"SQLite format 3\x00" + b"\xff" * 4096,
    ],
    ids=["text", "one byte", "a header and rubbish"],
)
async def test_a_file_that_is_not_sqlite_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert isinstance(await failure(path), Corrupt)
    assert isinstance(await failure(path, read_only=True), Corrupt)
    assert path.read_bytes() == content


async def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    before = path.read_bytes()
    assert isinstance(await failure(path), Corrupt)
    assert path.read_bytes() == before


async def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    await made(path)
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()
    error = await failure(path)
    assert isinstance(error, Corrupt) and "upgrade" in error.hint


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert isinstance(await failure(tmp_path), Unavailable)
    assert isinstance(await failure(tmp_path, read_only=True), Unavailable)


async def test_a_file_under_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert isinstance(await failure(tmp_path / "file" / "memory.db"), Unavailable)


async def test_read_only_makes_no_file(path: Path) -> None:
    assert isinstance(await failure(path, read_only=True), Unavailable)
    assert not path.exists()


async def test_read_only_reads_and_refuses_every_write(path: Path) -> None:
    await made(path)
    store = EmbeddedStore(path, read_only=True)
    assert Capability.WRITE not in store.capabilities
    assert (await store.recall("b", RecallRequest(query="Redis"))).results
    for write in (
        store.retain("b", [ITEM]),
        store.create_bank("x"),
        store.delete_bank("b"),
        store.delete_document("b", "d"),
        store.set_document_tags("b", "d", []),
    ):
        with pytest.raises(ReadOnly):
            await write
    await store.aclose()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anything")
async def test_a_file_in_a_folder_that_may_not_be_written_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "shut" / "memory.db"
    await made(path)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        store = EmbeddedStore(path, read_only=True)
        assert (await store.list_memories("b", MemoryQuery())).total == 2
        await store.aclose()
        writer = EmbeddedStore(path)
        assert Capability.WRITE not in writer.capabilities
        with pytest.raises(StoreError):
            await writer.retain("b", [ITEM])
        await writer.aclose()
    finally:
        path.parent.chmod(0o700)


HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


async def test_a_file_that_another_process_keeps_locked(path: Path) -> None:
    await made(path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        store = EmbeddedStore(path, busy_ms=50)
        with pytest.raises(Unavailable) as error:
            await store.retain("b", [ITEM])
        assert "locked" in str(error.value) and str(path) in str(error.value)
        assert holder.stdin is not None
        holder.stdin.close()
    await store.retain("b", [ITEM])  # and the store goes on when the other one is done
    await store.aclose()


async def test_a_full_disk_loses_this_write_only(path: Path) -> None:
    await made(path)
    store = EmbeddedStore(path)
    await store.health()
    assert store._db is not None
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    big = [
        RetainItem(content=f"Note {n} says {'much ' * 50} about it.", document_id=f"n{n}") for n in range(200)
    ]
    with pytest.raises(Unavailable) as error:
        await store.retain("b", big)
    assert "full" in str(error.value)
    assert [one.id for one in (await store.list_documents("b")).items] == ["d"]
    store._db.execute("PRAGMA max_page_count = 1073741823")
    await store.retain("b", big)
    assert (await store.list_documents("b")).total == 201
    await store.aclose()


async def test_a_damaged_file_is_told_as_damaged(path: Path) -> None:
    await made(
        path, [RetainItem(content=f"Note {n} is about this.", document_id=f"n{n}") for n in range(500)]
    )
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    store = EmbeddedStore(path)
    with pytest.raises(Corrupt) as error:
        await store.list_memories("b", MemoryQuery())
    assert "damaged" in str(error.value) and str(path) in str(error.value)
    await store.aclose()


async def test_closing_twice_is_fine_and_using_a_closed_store_is_told(store: EmbeddedStore) -> None:
    await store.list_banks()
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreError, match="closed"):
        await store.list_banks()


async def test_what_cannot_be_asked_is_told_and_not_raised(store: EmbeddedStore) -> None:
    await store.retain("b", [ITEM])
    with pytest.raises(NotFound):
        await store.get_document("b", "\ud800")
    with pytest.raises(NotFound):
        await store.get_memory("b", "\ud800")
    with pytest.raises(StoreError):
        await store.list_memories("b", MemoryQuery(type="\ud800", tags=("\ud800",)))


def test_recall_starts_without_the_mirror() -> None:
    code = (
        "import sys, console.memory.embedded\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('mirror', 'textual', 'httpx', 'snowballstemmer')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"

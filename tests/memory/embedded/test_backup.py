"""Copies of a memory file, and files that are not sound."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore, backup, connect
from console.memory.errors import Conflict, Corrupt
from console.memory.models import RecallRequest, RetainItem


async def put(store: EmbeddedStore, name: str, text: str) -> None:
    await store.retain("b", [RetainItem(content=text, document_id=name)])


async def found(path: Path, query: str) -> list[str]:
    store = EmbeddedStore(path)
    try:
        return [result.text for result in (await store.recall("b", RecallRequest(query=query))).results]
    finally:
        await store.aclose()


async def test_a_copy_of_a_file_in_use_holds_what_was_acknowledged(store: EmbeddedStore, path: Path) -> None:
    await put(store, "d", "The queue runs on Redis.")
    copy = path.with_name("copy.db")
    assert backup.copy(path, copy) == copy.stat().st_size
    if os.name == "posix":
        assert copy.stat().st_mode & 0o777 == 0o600
    await put(store, "e", "The queue moved to NATS.")
    assert await found(copy, "queue") == ["The queue runs on Redis."]
    assert backup.look(copy).sound


async def test_an_existing_file_is_not_replaced_unasked(store: EmbeddedStore, path: Path) -> None:
    await put(store, "d", "The queue runs on Redis.")
    other = path.with_name("other")
    other.write_text("mine", encoding="utf-8")
    with pytest.raises(Conflict):
        backup.copy(path, other)
    assert other.read_text(encoding="utf-8") == "mine"
    assert [file.name for file in path.parent.glob(".other-*")] == []


async def test_a_restore_brings_the_old_state_back(store: EmbeddedStore, path: Path) -> None:
    await put(store, "d", "The queue runs on Redis.")
    copy = path.with_name("copy.db")
    backup.copy(path, copy)
    await put(store, "d", "The queue moved to NATS.")
    await store.aclose()
    backup.restore(copy, path, replace=True)
    assert await found(path, "queue") == ["The queue runs on Redis."]


def test_what_is_no_memory_file_is_not_restored(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("not a database, but long enough to be looked at", encoding="utf-8")
    with pytest.raises(Corrupt):
        backup.restore(other, path)
    assert not path.exists()


async def test_an_index_that_lost_rows_is_seen_and_rebuilt(store: EmbeddedStore, path: Path) -> None:
    await put(store, "d", "The queue runs on Redis. Its port is 6379.")
    await store.aclose()
    db = sqlite3.connect(path)
    db.execute("INSERT INTO memory_index (memory_index) VALUES ('delete-all')")
    db.commit()
    db.close()
    assert not backup.look(path).sound
    assert await found(path, "queue") == []
    backup.rebuild_index(path)
    assert backup.look(path).sound
    assert (await found(path, "queue"))[0] == "The queue runs on Redis."


def test_a_file_of_the_first_layout_is_upgraded(path: Path) -> None:
    script = Path(__file__).with_name("layout-1.sql").read_text(encoding="utf-8")
    old = sqlite3.connect(path)
    old.executescript(script)
    old.close()
    db = connect.open_file(path, read_only=False)
    try:
        assert db.execute("PRAGMA user_version").fetchone()[0] == 2
        assert db.execute("SELECT text FROM memories").fetchall() == [("The queue runs on Redis.",)]
        hits = db.execute("SELECT rowid FROM memory_index WHERE memory_index MATCH 'queue'").fetchall()
        assert hits == [(1,)]
    finally:
        db.close()
    assert backup.look(path).sound

"""The journal: on the disk before anything else, one fsync for many, and what a person says about what waits."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from console.seam.errors import SpoolError
from console.seam.spool import KEPT, Spool, Write, answer_rows, rows_of

WRITE = Write(
    bank="demo",
    kind="retain",
    method="POST",
    target=b"/v1/default/banks/demo/memories",
    content_type="application/json",
    body=b'{"items":[{"content":"x","document_id":"d"}]}',
    documents=("d",),
    repeatable=True,
    upstream="http://up",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "spool.sqlite"


async def test_a_write_comes_back_as_it_was(path: Path) -> None:
    spool = Spool(path)
    hostile = replace(
        WRITE, target=b"/v1/default/banks/demo/memories?x=%2F..%00", body=bytes(range(256)), label="é\n"
    )
    number = await spool.add(hostile)
    spool.close()
    rows, counts = rows_of(path)
    assert counts == {"pending": 1}
    (row,) = rows
    assert (row.id, row.target, row.body, row.label) == (number, hostile.target, hostile.body, hostile.label)


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
async def test_nobody_else_can_read_it(path: Path) -> None:
    spool = Spool(path)
    await spool.add(WRITE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    spool.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
async def test_a_folder_of_somebody_else_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    Spool(shared / "spool.sqlite").close()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


async def test_many_writes_share_a_commit(path: Path) -> None:
    spool = Spool(path)
    statements: list[str] = []
    spool._db.set_trace_callback(statements.append)
    await asyncio.gather(*(spool.add(WRITE) for _ in range(200)))
    spool.close()
    assert rows_of(path)[1] == {"pending": 200}
    assert 1 <= sum(1 for s in statements if s == "COMMIT") < 50


async def test_an_acknowledged_write_survives_kill_9(path: Path) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from console.seam.spool import Spool\n"
        "from tests.seam.test_spool import WRITE\n"
        "async def main():\n"
        "    spool = Spool(Path(sys.argv[1]))\n"
        "    print(await spool.add(WRITE), flush=True)\n"
        "    os._exit(9)\n"
        "asyncio.run(main())\n"
    )
    for number in range(1, 4):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": "."},
        )
        assert done.stdout == f"{number}\n", done.stderr
        assert rows_of(path)[1] == {"pending": number}


async def test_a_later_stored_write_of_the_document_supersedes(path: Path) -> None:
    spool = Spool(path)
    one, two = await spool.add(WRITE), await spool.add(WRITE)
    await spool.settle(one, "failed", attempted=True)
    (row,) = [r for r in await spool.due("http://up", time.time()) if r.id == one]
    assert row.attempts == 1
    assert not await spool.superseded(row)
    await spool.settle(two, "stored", status=200)
    assert await spool.superseded(row)
    spool.close()


async def test_an_earlier_stored_write_does_not(path: Path) -> None:
    spool = Spool(path)
    one, two = await spool.add(WRITE), await spool.add(WRITE)
    await spool.settle(one, "stored")
    (row,) = [r for r in await spool.due("http://up", time.time()) if r.id == two]
    assert not await spool.superseded(row)
    spool.close()


async def test_a_full_spool_says_so_and_keeps_what_it_has(path: Path) -> None:
    spool = Spool(path, limit=200_000)
    await spool.add(replace(WRITE, body=b"x" * 100_000))
    with pytest.raises(SpoolError, match="the spool is full"):
        await spool.add(replace(WRITE, body=b"x" * 150_000))
    await spool.add(WRITE)
    spool.close()
    assert rows_of(path)[1] == {"pending": 2}


async def test_one_bad_write_does_not_take_the_others_with_it(path: Path) -> None:
    spool = Spool(path)
    bad = replace(WRITE, method=None)  # type: ignore[arg-type]
    done = await asyncio.gather(spool.add(WRITE), spool.add(bad), spool.add(WRITE), return_exceptions=True)
    assert [isinstance(entry, SpoolError) for entry in done] == [False, True, False]
    spool.close()
    assert rows_of(path)[1] == {"pending": 2}


async def test_acknowledged_writes_go_after_a_week_and_what_waits_stays(path: Path) -> None:
    spool = Spool(path)
    one, two = await spool.add(WRITE), await spool.add(WRITE)
    await spool.settle(one, "stored")
    await spool.settle(two, "failed")
    assert await spool.purge(time.time() + KEPT - 60) == 0
    assert await spool.purge(time.time() + KEPT + 60) == 1
    assert rows_of(path)[1] == {"failed": 1}
    spool.close()


async def test_a_persons_word(path: Path) -> None:
    spool = Spool(path)
    one, two, three = [await spool.add(replace(WRITE, repeatable=False)) for _ in range(3)]
    await spool.settle(one, "unknown")
    await spool.settle(two, "failed")
    await spool.settle(three, "stored")
    assert answer_rows(path, [one, three], drop=False) == 1, "what the bank has is not sent again"
    assert answer_rows(path, [two], drop=True) == 1
    spool.close()
    rows, _ = rows_of(path)
    assert {r.id: (r.state, r.repeatable) for r in rows} == {
        one: ("failed", True),
        two: ("dropped", False),
        three: ("stored", False),
    }


async def test_a_newer_layout_is_left_alone(path: Path) -> None:
    Spool(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(SpoolError, match="newer memory-console"):
        Spool(path)


async def test_a_file_that_is_no_spool(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("not a database, certainly not one that sqlite would take\n" * 50, encoding="utf-8")
    with pytest.raises(SpoolError, match="the spool cannot be used"):
        Spool(path)

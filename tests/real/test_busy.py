"""A document that is being ingested anew is left as it is until that has ended."""

from __future__ import annotations

import asyncio

from console.memory.models import RetainItem
from console.memory.store import MemoryStore
from tests.mirror.conftest import Repo
from tests.real.run import Run

LONG = "books/long"
SYNCS = 10


def text(edition: int, size: int = 170_000) -> str:
    """About ``size`` characters in long sentences, each of them new in each edition."""
    rows: list[str] = []
    length = 0
    while length < size:
        number = len(rows)
        row = (
            f"In edition {edition} paragraph {number} says that part {number * 7 % 1000} of the machine is checked, "
            + "cleaned, measured and written down " * 12
            + f"by team {number % 13}."
        )
        rows.append(row)
        length += len(row) + 1
    return "\n".join(rows) + "\n"


async def test_ten_syncs_of_a_running_ingest_write_nothing_of_it(
    server: MemoryStore, bank_id: str, repo: Repo
) -> None:
    run = Run(server, bank_id, repo)
    await run.retain(LONG, text(1))
    await run.retain("short", "This one is at rest all the time.\n")
    await run.sync()
    page, head = run.shown(LONG), repo.head()
    during = 0
    edition = 1
    while during < SYNCS:
        edition += 1
        assert edition < 12, f"only {during} syncs met a running ingest"
        answer = await server.retain(
            bank_id, [RetainItem(document_id=LONG, content=text(edition))], background=True
        )
        assert answer.operation_id
        while during < SYNCS:
            before = await server.get_operation(bank_id, answer.operation_id)
            report = await run.sync()
            after = await server.get_operation(bank_id, answer.operation_id)
            if before.status not in {"pending", "processing"}:
                break
            if LONG not in {busy.document_id for busy in report.busy}:
                # It ended while this sync listed the bank: then what it wrote is the final state.
                assert after.status == "completed"
                break
            during += 1
            assert (report.commit, repo.head(), run.shown(LONG)) == (None, head, page)
            await asyncio.sleep(0.1)
        done = await server.wait_operation(bank_id, answer.operation_id)
        assert done.status == "completed"
        report = await run.sync()
        assert report.busy == []
        page, head = run.shown(LONG), repo.head()
        assert run.texts()[LONG] == text(edition)
        assert f"In edition {edition} " in page
        assert f"In edition {edition - 1} " not in page
        assert (await run.verify()).differences == []

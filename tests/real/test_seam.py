"""``console seam`` in front of a real server: what harnesses write through it is in the bank and in the wiki, once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from console.memory.store import MemoryStore
from console.seam.spool import Row, rows_of
from mirror.sync import Options
from mirror.verify import verify
from tests.mirror.conftest import Repo
from tests.real.run import FIRST, Run

RETAIN = "/v1/default/banks/{}/memories"
TOKEN = "t0ken-that-nobody-may-read"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Seam:
    """The program, running."""

    def __init__(self, upstream: str, repo: Path, state: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        self.spool = state / "spool.sqlite"
        self._args = [sys.executable, "-c", "import sys; from console.cli import main; sys.exit(main())"]
        self._args += ["seam", "--store", upstream, "--port", str(self.port), "--repo", str(repo)]
        self._args += ["--spool", str(self.spool)]
        self.start()

    def start(self, within: float = 20) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HINDSIGHT_", "CONSOLE_"))}
        if own := os.environ.get("TEST_SEAM_TOKEN"):
            environment["CONSOLE_SEAM_TOKEN"] = own
        self.process = subprocess.Popen(
            self._args, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        end = time.monotonic() + within
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(self.process.communicate(timeout=5))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/src/omo"

    def rows(self) -> list[Row]:
        return list(reversed(rows_of(self.spool)[0]))

    def settled(self, within: float = 30) -> list[Row]:
        """The rows, once none has a page to be written."""
        end = time.monotonic() + within
        while any(row.page for row in self.rows()) or not self.rows():
            assert time.monotonic() < end, self.rows()
            time.sleep(0.05)
        return self.rows()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=10)

    def stop(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors.decode()


@contextmanager
def running(*args: Any, **more: Any) -> Iterator[Seam]:
    seam = Seam(*args, **more)
    try:
        yield seam
    finally:
        if seam.process.poll() is None:
            seam.kill()


def retain(seam: Seam, bank: str, *items: dict[str, Any], background: bool = False) -> httpx.Response:
    return httpx.post(
        seam.url + RETAIN.format(bank),
        json={"items": list(items), "async": background},
        headers={"authorization": f"Bearer {TOKEN}"},
        timeout=60,
    )


@pytest.fixture
async def run(server: MemoryStore, bank_id: str, repo: Repo) -> Run:
    run = Run(server, bank_id, repo)
    await run.retain("first", "The project is called Ledgerline.\n")
    await run.sync(FIRST)
    return run


async def test_every_kind_of_write_is_a_page_as_the_bank_has_it(
    run: Run, hindsight_url: str, tmp_path: Path
) -> None:
    branch = f"mirror/{run.bank}"
    with running(hindsight_url, run.repo.path, tmp_path / "state") as seam:
        head = run.repo.head()
        assert retain(seam, run.bank, {"content": "One.\r\nTwo.", "document_id": "a/b"}).is_success
        assert retain(seam, run.bank, {"content": "Without an id."}).is_success
        several = [
            {"content": "Part one.", "document_id": "s", "tags": ["x"]},
            {"content": "Part two.", "document_id": "s", "tags": ["y"]},
            {"content": "Another.", "document_id": "t"},
        ]
        assert retain(seam, run.bank, *several).is_success
        more = {"content": "Three.", "document_id": "a/b", "update_mode": "append"}
        assert retain(seam, run.bank, more, background=True).is_success
        rows = await asyncio.to_thread(seam.settled)
        assert [row.state for row in rows] == ["stored"] * 4, [(row.state, row.error) for row in rows]
        listed = await run.store.list_documents(run.bank)
        assert {d.id for d in listed.items} == {"first", "a/b", "s", "t", *rows[1].documents}
        for document in listed.items:
            page = run.shown(document.id, branch)
            assert ("**omo**" in page) == (document.id != "first")
        verified = await verify(run.source, run.repo.path, Options(branch=True, offline=True))
        assert (verified.differences, verified.documents) == ([], 5)
        assert run.repo.head() == head and run.repo.status() == "", "the checked-out branch does not move"

        httpx.patch(f"{seam.url}/v1/default/banks/{run.bank}/documents/t", json={"tags": ["later"]})
        fact = next(f for f in await run.facts() if "Without" in f.text)
        httpx.patch(
            f"{seam.url}/v1/default/banks/{run.bank}/memories/{fact.id}",
            json={"state": "invalidated", "reason": "wrong"},
        ).raise_for_status()
        httpx.delete(f"{seam.url}/v1/default/banks/{run.bank}/documents/s").raise_for_status()
        await asyncio.to_thread(seam.settled)
        assert '"later"' in run.shown("t", branch)
        assert "~~Without an id.~~" in run.shown(rows[1].documents[0], branch)
        assert run.page("s") not in run.repo.files(branch)
        assert (await run.sync(FIRST, branch=True, offline=True)).commit is None, "a whole run adds nothing"
        code, errors = seam.stop()
        assert code == 0 and "Traceback" not in errors
    held = b"".join(f.read_bytes() for f in (tmp_path / "state").iterdir() if f.is_file())
    assert TOKEN.encode() not in held
    assert TOKEN not in run.repo.git("log", "-p", "--all")


async def test_a_retracted_fact_stays_away_while_the_session_grows_through_the_seam(
    run: Run, hindsight_url: str, tmp_path: Path
) -> None:
    wrong = "The Ledgerline database listens on port 5433."
    text = f"Ledgerline stores invoices in Postgres.\n{wrong}\n"
    await run.retain("session", text)
    await run.sync(FIRST)
    run.mark("session", wrong, "it is 5434")
    run.repo.commit_all("Take back the port")
    await run.sync(FIRST)
    with running(hindsight_url, run.repo.path, tmp_path / "state") as seam:
        for turn in range(3):
            text += f"Turn {turn} happened as well.\n"
            item = {"content": text, "document_id": "session"}
            assert retain(seam, run.bank, item, background=True).is_success
            await asyncio.to_thread(seam.settled)
            assert wrong not in await run.recalled("On which port does the Ledgerline database listen?")
            assert f"Turn {turn} happened" in run.shown("session", f"mirror/{run.bank}")


async def test_killed_at_any_moment_nothing_acknowledged_is_missing_or_twice(
    run: Run, hindsight_url: str, tmp_path: Path, full: bool
) -> None:
    acknowledged: list[str] = []
    with running(hindsight_url, run.repo.path, tmp_path / "state") as seam:
        for kill in range(40 if full else 4):
            stop = asyncio.Event()

            async def load(worker: int, kill: int = kill, stop: asyncio.Event = stop) -> None:
                async with httpx.AsyncClient(timeout=30) as client:
                    for number in range(1000):
                        if stop.is_set():
                            return
                        name = f"k{kill}/{worker}/{number}"
                        body = {
                            "items": [{"content": f"Fact of {name}.", "document_id": name}],
                            "async": number % 2 == 0,
                        }
                        try:
                            got = await client.post(seam.url + RETAIN.format(run.bank), json=body)
                        except httpx.TransportError:
                            return
                        if got.is_success:
                            acknowledged.append(name)

            tasks = [asyncio.create_task(load(worker)) for worker in range(4)]
            await asyncio.sleep(0.4 + 0.37 * (kill % 5))
            await asyncio.to_thread(seam.kill)
            stop.set()
            await asyncio.gather(*tasks)
            await asyncio.to_thread(seam.start)
        await asyncio.to_thread(_quiet, seam)
        assert acknowledged
        listed = [d async for d in _documents(run)]
        assert len(listed) == len(set(listed))
        assert set(acknowledged) <= set(listed)
        tree = set(run.repo.files(f"mirror/{run.bank}"))
        missing = [name for name in acknowledged if run.page(name) not in tree]
        assert missing == []
        facts = [f.text for f in await run.facts()]
        assert len(facts) == len(set(facts))


async def _documents(run: Run) -> Any:
    from console.memory.models import DocumentQuery

    offset = 0
    while True:
        page = await run.store.list_documents(run.bank, DocumentQuery(limit=1000, offset=offset))
        for document in page.items:
            yield document.id
        offset += len(page.items)
        if not page.items or offset >= page.total:
            return


def _quiet(seam: Seam, within: float = 90) -> None:
    """Until nothing waits in the spool."""
    end = time.monotonic() + within
    while True:
        open_rows = [r for r in seam.rows() if r.page or r.state in ("pending", "failed", "unknown")]
        if not open_rows:
            return
        assert time.monotonic() < end, open_rows[:3]
        time.sleep(0.1)


async def test_what_the_server_missed_goes_there_when_it_is_back(
    run: Run, hindsight_url: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    port = free_port()
    with running(hindsight_url, run.repo.path, state) as seam:
        pass  # killed at once; what follows is written while "the server" is another, dead address
    from console.seam.spool import Spool, Write

    spool = Spool(seam.spool)
    body = json.dumps({"items": [{"content": "Kept.", "document_id": "kept"}], "async": True}).encode()
    older = json.dumps({"items": [{"content": "Old.", "document_id": "kept"}], "async": True}).encode()
    loose = json.dumps({"items": [{"content": "Loose."}]}).encode()
    for content, documents in ((older, ("kept",)), (body, ("kept",)), (loose, ())):
        number = await spool.add(
            Write(
                bank=run.bank,
                kind="retain",
                method="POST",
                target=RETAIN.format(run.bank).encode(),
                content_type="application/json",
                body=content,
                documents=documents,
                repeatable=bool(documents),
                label="omo",
                upstream=hindsight_url,
            )
        )
        await spool.settle(number, "failed", error="cannot connect", due=0, attempted=True)
    spool.close()
    with running(hindsight_url, run.repo.path, state, port=port) as seam:
        end = time.monotonic() + 30
        while [row.state for row in seam.rows()] != ["stored", "stored", "failed"]:
            assert time.monotonic() < end, [(row.state, row.error) for row in seam.rows()]
            await asyncio.sleep(0.1)
        assert "retry 3" in seam.rows()[2].error, "a text without an id waits for a person"
        end = time.monotonic() + 30
        while any(row.page for row in seam.rows()):
            assert time.monotonic() < end
            await asyncio.sleep(0.1)
        assert (await run.store.get_document(run.bank, "kept")).original_text == "Kept."
        assert "Kept." in run.shown("kept", f"mirror/{run.bank}")


async def test_a_write_whose_client_left_is_found_by_its_text(
    run: Run, hindsight_url: str, tmp_path: Path
) -> None:
    with running(hindsight_url, run.repo.path, tmp_path / "state") as seam:
        item = {"content": "A text that nobody waited for."}
        with pytest.raises(httpx.TimeoutException):
            httpx.post(seam.url + RETAIN.format(run.bank), json={"items": [item]}, timeout=0.05)
        end = time.monotonic() + 30
        while not (rows := seam.rows()) or rows[0].state == "pending" or rows[0].page:
            assert time.monotonic() < end, rows
            await asyncio.sleep(0.1)
        # Whether the server finished it or gave it up is the server's race: the journal must say which.
        stored = [text for text in (await run.stored()).values() if text == item["content"]]
        if stored:
            assert [row.state for row in seam.rows()] == ["stored"]
            assert "nobody waited" in run.shown(seam.rows()[0].documents[0], f"mirror/{run.bank}")
        else:
            assert seam.rows()[0].state == "unknown" and seam.rows()[0].body


async def test_two_clients_on_one_document_end_with_the_banks_text(
    run: Run, hindsight_url: str, tmp_path: Path
) -> None:
    with running(hindsight_url, run.repo.path, tmp_path / "state") as seam:
        async with httpx.AsyncClient(timeout=60) as client:
            answers = await asyncio.gather(
                *(
                    client.post(
                        seam.url + RETAIN.format(run.bank),
                        json={
                            "items": [{"content": f"Version {number}.", "document_id": "both"}],
                            "async": number % 2 == 0,
                        },
                    )
                    for number in range(12)
                )
            )
        assert all(answer.is_success for answer in answers)
        await asyncio.to_thread(_quiet, seam)
        stored = (await run.store.get_document(run.bank, "both")).original_text
        page = run.repo.show(run.page("both").removesuffix(".md") + ".txt", f"mirror/{run.bank}").decode()
        assert page == f"{stored}\n"
        verified = await verify(run.source, run.repo.path, Options(branch=True, offline=True))
        assert verified.differences == []


async def test_two_seams_on_one_spool_or_one_port_are_refused(
    run: Run, hindsight_url: str, tmp_path: Path
) -> None:
    with running(hindsight_url, run.repo.path, tmp_path / "state") as seam:
        for port, spool, word in (
            (free_port(), seam.spool, "another seam uses this spool"),
            (seam.port, tmp_path / "other.sqlite", "another program has the port"),
        ):
            args = ["--port", str(port), "--spool", str(spool), "--store", hindsight_url]
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "import sys; from console.cli import main; sys.exit(main())",
                    "seam",
                    "run",
                    *args,
                ],
                capture_output=True,
                text=True,
                timeout=30,
                cwd=run.repo.path,
            )
            assert done.returncode == 5
            assert word in done.stderr and len(done.stderr.splitlines()) == 1

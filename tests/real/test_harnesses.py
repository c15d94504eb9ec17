"""The official client through the seam: over a real server and over the embedded bank it must see the same."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.hindsight import HindsightStore
from console.memory.store import MemoryStore
from mirror.sync import Options
from tests.conftest import PYTHON
from tests.mirror.conftest import Repo, make_repo
from tests.real.run import FIRST, Run
from tests.real.test_seam import running

TOKEN = "the-seams-own-token"
DIFFERENCES: dict[str, str] = {
    "bank": "the server gives an existing bank another name; the embedded store keeps the one it has",
    "reflect": "the test server's stub of a model cannot write an answer from the facts",
}


def official(url: str, bank: str) -> dict[str, Any]:
    assert PYTHON
    done = subprocess.run(
        [PYTHON, str(Path(__file__).with_name("official.py")), url, TOKEN, bank],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


async def through_a_seam(
    store: MemoryStore, address: str, bank: str, repo: Repo, state: Path
) -> dict[str, Any]:
    run = Run(store, bank, repo)
    await store.create_bank(bank)
    await run.sync(FIRST)
    with running(address, repo.path, state) as seam:
        seen = await asyncio.to_thread(official, seam.url, bank)
        rows = await asyncio.to_thread(seam.settled)
        assert {row.state for row in rows} == {"stored"}, [(row.kind, row.state, row.error) for row in rows]
    pages = {i: run.shown(i, f"mirror/{bank}") for i in ("session/1", "session/2")}
    assert "**omo**" in pages["session/1"] and '"x"' in pages["session/1"]
    assert "The queue is called orders." in pages["session/2"]
    assert (await run.sync(Options(branch=True, offline=True))).commit is None
    return seen


@pytest.mark.server
async def test_the_official_client_sees_the_same_bank_both_ways(
    hindsight_url: str, bank_id: str, tmp_path: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = HindsightStore(hindsight_url)
    file = tmp_path / "banks.sqlite"
    embedded = EmbeddedStore(file)
    other = make_repo(tmp_path / "other")
    other.write("code.py", "print('hello')\n")
    other.commit_all("first")
    try:
        real = await through_a_seam(server, hindsight_url, bank_id, repo, tmp_path / "s1")
        monkeypatch.setenv("TEST_SEAM_TOKEN", TOKEN)
        ours = await through_a_seam(embedded, f"sqlite:{file}", bank_id, other, tmp_path / "s2")
    finally:
        await server.aclose()
        await embedded.aclose()
    different = {name for name in real if real[name] != ours.get(name)}
    assert different <= set(DIFFERENCES), {name: (real[name], ours.get(name)) for name in different}
    assert ours["reflect"] and ours["recall"][2] == "session/1"
    assert "CONSOLE_SEAM_TOKEN" not in os.environ

"""The hook against a real Hindsight server: accepted, extracted, recalled, and dated as it was said."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path

import pytest

from tests.hook.conftest import Harness


@pytest.mark.server
def test_what_was_said_comes_back_in_the_next_session(tmp_path: Path, hindsight_url: str) -> None:
    harness = Harness(tmp_path, hindsight_url)
    bank = f"hook-{time.time_ns()}"
    harness.settings["bankId"] = bank
    new = harness.run("recall", {"prompt": "which port does Postgres use"})
    assert (new.code, new.out, new.err) == (0, "", "")  # a bank that is not there yet is empty
    harness.write([
        {"role": "user", "content": "Postgres runs on port 5433.", "timestamp": "2026-12-01T09:00:00Z"},
    ])  # fmt: skip
    assert harness.run("retain").err == ""
    assert [entry["state"] for entry in harness.spooled()] == ["accepted"]
    end = time.monotonic() + 60
    while harness.spooled():
        assert time.monotonic() < end
        time.sleep(0.5)
        assert harness.run("session-start", {"session_id": "later"}).err == ""
    again = harness.run("recall", {"prompt": "which port does Postgres use"})
    assert "- Postgres runs on port 5433. [world] (2026-12-01T09:00:00" in again.out
    with urllib.request.urlopen(f"{hindsight_url}/v1/default/banks/{bank}/documents", timeout=10) as answer:
        found = json.loads(answer.read())
    assert [document["id"] for document in found["items"]] == ["s"]

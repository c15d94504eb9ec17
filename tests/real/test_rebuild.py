"""A wiki brings its bank back on both stores: afterwards wiki and bank say the same, records included."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from console.demo.build import build
from tests.cli.conftest import Console, console, home

__all__ = ["console", "home"]


def _pages(repo: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in (repo / "wiki").rglob("*") if p.suffix in {".md", ".txt"}}


@pytest.mark.parametrize(
    "kind",
    [
        "embedded",
        pytest.param("hindsight_url", marks=pytest.mark.server),
        pytest.param("hindsight_chunks_url", marks=pytest.mark.server),
    ],
)
def test_the_demo_comes_back(
    console: Console, home: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "sqlite:new.db" if kind == "embedded" else request.getfixturevalue(kind)
    repo = home / "demo"
    made = asyncio.run(build(repo))
    monkeypatch.chdir(repo)
    subprocess.run(["git", "config", "user.name", "Ada"], check=True)
    subprocess.run(["git", "config", "user.email", "ada@example.org"], check=True)
    before = _pages(repo)
    texts = sum(path.endswith(".txt") for path in before)
    place = ("--store", url, "--bank", made.bank_id)
    ran = console(*place, "mirror", "import", "--json")
    assert ran.code == 0, ran.out[-2000:] + ran.err
    assert (ran.json["documents"], ran.json["verification"]["differences"]) == (texts, [])
    assert ran.json["invalidated"] > 0
    assert _pages(repo) == before
    assert console(*place, "mirror", "verify").code == 0
    assert console(*place, "mirror", "sync", "--check").code == 0
    console(*place, "--yes", "banks", "delete", made.bank_id)

"""Every test of this folder runs on every store: the embedded one and a real Hindsight server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.errors import NotFound
from console.memory.hindsight import HindsightStore
from console.memory.store import MemoryStore


@pytest.fixture(params=["embedded", pytest.param("hindsight", marks=[pytest.mark.server])])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def store(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryStore]:
    opened: MemoryStore
    if kind == "embedded":
        opened = EmbeddedStore(tmp_path / "banks.sqlite")
    else:
        opened = HindsightStore(request.getfixturevalue("hindsight_url"))
    yield opened
    await opened.aclose()


@pytest.fixture
async def bank(store: MemoryStore, bank_id: str) -> str:
    """An empty bank. It stays: the store ends with the tests."""
    await store.create_bank(bank_id)
    return bank_id


async def forget(store: MemoryStore, bank_id: str) -> None:
    with contextlib.suppress(NotFound):
        await store.delete_bank(bank_id)

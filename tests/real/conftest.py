"""Whole runs: a store, a bank in it, and a git repository without any configuration of the machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.hindsight import HindsightStore
from tests.mirror.conftest import _git_alone, repo

__all__ = ["_git_alone", "repo"]


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    store = EmbeddedStore(tmp_path / "banks.sqlite")
    yield store
    await store.aclose()


@pytest.fixture
async def server(hindsight_url: str) -> AsyncIterator[HindsightStore]:
    """One fact a sentence."""
    store = HindsightStore(hindsight_url)
    yield store
    await store.aclose()


@pytest.fixture
async def rewording(hindsight_reword_url: str) -> AsyncIterator[HindsightStore]:
    """Other words for a fact each time."""
    store = HindsightStore(hindsight_reword_url)
    yield store
    await store.aclose()


@pytest.fixture
async def chunking(hindsight_chunks_url: str) -> AsyncIterator[HindsightStore]:
    """No model: a fact is a chunk."""
    store = HindsightStore(hindsight_chunks_url)
    yield store
    await store.aclose()

"""One store in a fresh file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[EmbeddedStore]:
    opened = EmbeddedStore(path)
    yield opened
    await opened.aclose()

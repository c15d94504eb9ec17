"""The command line's fixtures, and a server's stand-in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.stand_in import StandIn, stand_in
from tests.cli.conftest import console, home

__all__ = ["console", "home"]


@pytest.fixture
def server() -> Iterator[StandIn]:
    with stand_in() as running:
        yield running

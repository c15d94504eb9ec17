"""The table of differences is true, and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.differences import DIFFERENCES


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_difference_is_read_by_a_contract_test(name: str) -> None:
    here = Path(__file__)
    others = [path for path in here.parent.glob("test_*.py") if path != here]
    assert any(f'"{name}"' in path.read_text(encoding="utf-8") for path in others)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_difference_is_one(name: str) -> None:
    assert DIFFERENCES[name].embedded != DIFFERENCES[name].hindsight
    assert DIFFERENCES[name].why

"""Faults are tried on the same throw-away repositories and bank as the mirror's own tests."""

from __future__ import annotations

from tests.mirror.conftest import _git_alone, bank, repo

__all__ = ["_git_alone", "bank", "repo"]

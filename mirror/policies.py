"""What a repository decided about retractions, read from the default branch's tip: a pull request cannot change
the rules that judge it."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.plan import Policies

_FILES = (".console.toml", "pyproject.toml")
_CHOICES = dict.fromkeys(("resurfaced", "resurfaced_chunks", "later_facts"), ("retract", "report"))


def read(repo: Repository, commit: str | None, asked: Policies) -> Policies:
    """``asked`` with what ``[policies]`` of the repository's file says. Raises MirrorError for an unknown word."""
    for name in _FILES:
        data = repo.blob(commit, name)
        if data is None:
            continue
        try:
            value: Any = tomllib.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            if name == "pyproject.toml":
                continue
            raise MirrorError(
                "the repository's settings cannot be read", where=name, hint=str(error)
            ) from error
        table = (
            value.get("policies") if name == ".console.toml" else _dig(value, "tool", "console", "policies")
        )
        if isinstance(table, dict):
            return _with(asked, table, name)
    return asked


def _dig(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with(asked: Policies, table: dict[str, Any], where: str) -> Policies:
    changes: dict[str, Any] = {}
    for name, choices in _CHOICES.items():
        if name in table:
            if table[name] not in choices:
                raise MirrorError(
                    f"policy {name} = {table[name]!r} is not known",
                    where=where,
                    hint=f"use {' or '.join(choices)}",
                )
            changes[name] = str(table[name])
    return replace(asked, **changes)

"""Windows and tag filters as the store takes them, over a server that caps some and ignores others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from console.memory.errors import InvalidInput

T = TypeVar("T")
TAG_MODES = ("any", "all", "any_strict", "all_strict", "exact")


def check_window(limit: int, offset: int) -> None:
    """Raises InvalidInput."""
    if limit < 0 or offset < 0:
        raise InvalidInput(
            "limit and offset must not be negative", hint=f"got limit {limit}, offset {offset}"
        )


async def windows(limit: int, offset: int, most: int) -> AsyncIterator[tuple[int, int]]:
    """``(limit, offset)`` pairs of at most ``most`` rows that together cover the window."""
    done = 0
    while done < limit:
        size = min(most, limit - done)
        yield size, offset + done
        done += size


async def gather_window(
    fetch: Callable[[int, int], Awaitable[tuple[list[T], int]]], limit: int, offset: int, most: int
) -> tuple[list[T], int]:
    """Rows of the window and the total, over a route that takes 1 to ``most`` rows at once."""
    check_window(limit, offset)
    if limit == 0:
        _, total = await fetch(1, 0)
        return [], total
    rows: list[T] = []
    total = 0
    async for size, start in windows(limit, offset, most):
        part, total = await fetch(size, start)
        rows += part
        if len(part) < size:
            break
    return rows, total


def wants_tags(tags: Sequence[str], mode: str) -> bool:
    """Whether tags narrow at all: without tags only ``exact`` does. Raises InvalidInput for an unknown mode."""
    if mode not in TAG_MODES:
        raise InvalidInput(f"unknown tags_match '{mode[:40]}'", hint=f"use one of {', '.join(TAG_MODES)}")
    return bool(tags) or mode == "exact"

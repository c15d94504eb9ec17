"""What a table shows: rows, and the sources that give them page by page.

A source is asked for a window of rows and says how many there are in all. It never holds a widget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Cell:
    """Harmless text (see :mod:`console.tui.cells`) and the name of its look."""

    text: str
    look: str = ""
    """``dim``, ``accent``, ``good``, ``warn``, ``bad`` or nothing."""


@dataclass(frozen=True)
class Row:
    id: str
    """What the selection is kept by."""
    cells: tuple[Cell, ...]
    item: Any = None
    struck: bool = False


@dataclass(frozen=True)
class Batch:
    rows: tuple[Row, ...]
    total: int
    estimate: bool = False


@dataclass(frozen=True)
class Column:
    title: str
    width: int
    """Cells; the least where ``weight`` is set."""
    weight: int = 0
    """Share of what is left over."""
    right: bool = False
    from_width: int = 0
    """Only shown in tables at least this wide."""


class Source(Protocol):
    async def page(self, offset: int, limit: int) -> Batch:
        """At most ``limit`` rows from ``offset``. Raises StoreError."""


class ListSource:
    """Rows that are all there already."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = tuple(rows)

    async def page(self, offset: int, limit: int) -> Batch:
        return Batch(self._rows[offset : offset + limit], len(self._rows))


def layout(columns: Sequence[Column], width: int, gap: int = 2) -> tuple[int, ...]:
    """The width of each column in ``width`` cells; 0 for one that is not shown."""
    shown = [column for column in columns if width >= column.from_width]
    spare = width - sum(column.width for column in shown) - gap * (len(shown) - 1)
    weights = sum(column.weight for column in shown)
    widths: list[int] = []
    for column in columns:
        if column not in shown:
            widths.append(0)
        elif column.weight and weights:
            share = spare * column.weight // weights
            spare -= share
            weights -= column.weight
            widths.append(max(4, column.width + share))
        else:
            widths.append(column.width)
    return tuple(widths)

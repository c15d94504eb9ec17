"""What the listings share: literal search, time windows, page bounds."""

from __future__ import annotations

from console.memory.embedded import times
from console.memory.errors import InvalidInput

_LONGEST_PATTERN = 1000
MOST_ROWS = 2**62


def checked_page(limit: int, offset: int) -> None:
    """``limit=0`` counts only. Raises InvalidInput for negative ones."""
    for name, value in (("limit", limit), ("offset", offset)):
        if not 0 <= value <= MOST_ROWS:
            raise InvalidInput(f"{name} is {value}", hint="give a number of 0 or more")


def literal(column: str, q: str) -> tuple[str, list[object]]:
    """``column`` contains ``q``, whatever its case; nothing in ``q`` is a wildcard."""
    if q.isascii() and len(q) <= _LONGEST_PATTERN and "\x00" not in q:
        escaped = q.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{column} LIKE ? ESCAPE '\\'", [f"%{escaped}%"]
    folded = q.casefold().encode("utf-8", "replace").decode()
    return f"contains({column}, ?)", [folded]


def window(
    columns: tuple[str, ...], field: str | None, default: str, start: str | None, end: str | None
) -> tuple[list[str], list[object]]:
    """Conditions for ``start <= field < end``. Raises InvalidInput for a bad field, time or order."""
    column = field or default
    if column not in columns:
        raise InvalidInput(f"unknown time_field {field!r}", hint="one of " + ", ".join(columns))
    conditions: list[str] = []
    values: list[object] = []
    first, last = times.stamp(start, "start_date"), times.stamp(end, "end_date")
    if first is not None and last is not None and last <= first:
        raise InvalidInput("end_date is not after start_date", hint="swap them")
    if first is not None:
        conditions.append(f"{column} >= ?")
        values.append(first)
    if last is not None:
        conditions.append(f"{column} < ?")
        values.append(last)
    if field is not None:
        conditions.append(f"{column} IS NOT NULL")
    return conditions, values

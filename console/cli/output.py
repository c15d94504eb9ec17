"""What commands print: one JSON value, or tables and lines fitted to the screen.

Promise: with ``--json`` exactly one JSON value in UTF-8 goes to stdout, its control and direction
characters escaped; otherwise every text from a bank passes through :mod:`console.text`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click
import msgspec

from console.memory.models import Page, parse_time
from console.text import label, one_line, pad, truncate, width

_RISKY = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
_UNLIMITED = 1_000_000


def print_json(value: Any) -> None:
    """One JSON value and a newline on stdout, as UTF-8 whatever the locale says."""
    try:
        text = msgspec.json.encode(value).decode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate: JSON can carry it escaped, UTF-8 cannot
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=True)
    if sys.stdout.isatty():
        text = msgspec.json.format(text, indent=2)
    print_bytes((_RISKY.sub(_escaped, text) + "\n").encode("utf-8"))


def print_jsonl(rows: Sequence[Any]) -> None:
    """One JSON value a line on stdout, as UTF-8."""
    if not rows:
        return
    try:
        text = msgspec.json.encode(rows[0]).decode() if len(rows) == 1 else _lines(rows)
    except UnicodeEncodeError:  # a lone surrogate: JSON can carry it escaped, UTF-8 cannot
        text = "\n".join(json.dumps(msgspec.to_builtins(row), ensure_ascii=True) for row in rows)
    print_bytes((_RISKY.sub(_escaped, text.rstrip("\n")) + "\n").encode("utf-8"))


def _lines(rows: Sequence[Any]) -> str:
    return msgspec.json.Encoder().encode_lines(rows).decode("utf-8")


def print_bytes(data: bytes) -> None:
    """Bytes on stdout, after what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def page_json(page: Page[Any], key: str = "items") -> dict[str, Any]:
    """A listing as Hindsight answers it."""
    body: dict[str, Any] = {key: page.items, "total": page.total, "limit": page.limit, "offset": page.offset}
    if page.total_is_estimate:
        body["total_is_estimate"] = True
    return body


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. One that does not give is never cut: ids must stay usable."""

    title: str
    gives: bool = False
    right: bool = False
    exact: bool = False
    """An id: blanks in it count."""
    extra: bool = False
    """Left out where the screen is too narrow for all; the last one goes first."""


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], *, columns_wide: int | None = None
) -> list[str]:
    """Lines of a table no wider than the screen, as long as the columns that give can give.

    Cells are neutralised here; empty columns are left out. The title line comes first.
    """
    body = [[(label if columns[i].exact else one_line)(cell) for i, cell in enumerate(row)] for row in rows]
    shown = [i for i in range(len(columns)) if any(row[i] for row in body)]
    limit = screen_width() if columns_wide is None else columns_wide
    wide = {i: max([width(columns[i].title), *(width(row[i]) for row in body)]) for i in shown}

    def least(i: int) -> int:
        return min(wide[i], max(width(columns[i].title), 12)) if columns[i].gives else wide[i]

    while sum(map(least, shown)) + 2 * (len(shown) - 1) > limit:
        spare = [i for i in shown if columns[i].extra]
        if not spare:
            break
        shown.remove(spare[-1])
    missing = sum(wide[i] for i in shown) + 2 * (len(shown) - 1) - limit
    for i in sorted((i for i in shown if columns[i].gives), key=lambda i: -wide[i]):
        cut = max(0, min(missing, wide[i] - least(i)))
        wide[i] -= cut
        missing -= cut

    def line(cells: Sequence[str]) -> str:
        parts = [pad(truncate(cells[i], wide[i]), wide[i], right=columns[i].right) for i in shown]
        return "  ".join(parts).rstrip()

    return [line([column.title for column in columns]), *(line(row) for row in body)]


def print_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    style: Callable[[int], str | None] | None = None,
) -> None:
    """A table on stdout, its titles bold where the terminal can; ``style(row)`` names a row's look."""
    lines = table(columns, rows)
    if len(lines) == 1:
        return
    out(styled(lines[0], bold=True))
    for at, line in enumerate(lines[1:]):
        look = style(at) if style else None
        out(styled(line, dim=True) if look == "dim" else line)


def out(line: str = "") -> None:
    click.echo(line, color=True)


def styled(text: str, **look: Any) -> str:
    return click.style(text, **look) if colours() else text


def colours() -> bool:
    """NO_COLOR (any value that is not empty), a dumb terminal and a pipe mean no."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb" and sys.stdout.isatty()


def screen_width() -> int:
    """``COLUMNS``, else the terminal's; output that goes to a file or a pipe is not cut."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return max(20, int(asked))
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNLIMITED


def text_width() -> int:
    """The screen's width for running text: at most 100 columns."""
    return min(100, screen_width())


def number(value: int) -> str:
    """12041 -> ``12,041``."""
    return f"{value:,}"


def count(value: int, one: str, many: str | None = None) -> str:
    """``1 document``, ``12,041 documents``."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def print_range(page: Page[Any], what: str, *, more: str = "") -> None:
    """``500 of 12,041 documents`` under a listing."""
    shown, total = len(page.items), page.total
    about = "about " if page.total_is_estimate else ""
    if not shown and not total:
        out(f"no {what}")
        return
    if shown == total:
        out(f"{number(total)} {what}" if total != 1 else f"1 {_singular(what)}")
        return
    first = f", from {number(page.offset + 1)}" if page.offset and shown else ""
    out(f"{number(shown)} of {about}{number(total)} {what}{first}" + (f"; {more}" if more else ""))


def _singular(words: str) -> str:
    return words[:-3] + "y" if words.endswith("ies") else words.removesuffix("s")


def moment(value: str | None) -> str:
    """A time as people read it, in local time; what cannot be read as it is."""
    try:
        found = parse_time(value)
    except ValueError:
        return str(value)
    return "" if found is None else _local(found).strftime("%Y-%m-%d %H:%M")


def _local(value: datetime) -> datetime:
    try:
        return value.astimezone()
    except (OverflowError, OSError, ValueError):
        return value


def print_fields(rows: Iterable[tuple[str, str]]) -> None:
    """``name  value`` lines; rows without a value are left out."""
    found = [
        (name, (label if name in ("document", "bank", "memory") else one_line)(value))
        for name, value in rows
        if value
    ]
    wide = max((width(name) for name, _ in found), default=0)
    for name, value in found:
        out(f"{styled(pad(name, wide), bold=True)}  {value}")


def mapping_words(value: Any) -> str:
    """Metadata and the like on one line."""
    if not value:
        return ""
    return ", ".join(
        f"{key}={item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for key, item in value.items()
    )

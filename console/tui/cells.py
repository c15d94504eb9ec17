"""Text, times and counts made into terminal cells.

Promise: what comes out of here went through :mod:`console.text`, so bank text cannot steer the terminal,
and holds no joiner or selector, so that a cell is as wide as it was measured on every terminal.
Nothing here knows markup: callers put the result into ``rich.text.Text``, never into a markup string.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime

from rich.cells import cell_len, set_cell_size

from console.memory.models import parse_time
from console.text import neutralise, one_line

_MAX_MARKS = 2  # stacked combining marks ("zalgo") climb over the rows above and below
_PLAIN = re.compile(r"[ -~]*\Z")


def _steady(text: str) -> str:
    """Neutralised text without what terminals measure differently: joined emoji are drawn side by side."""
    if _PLAIN.match(text):
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        if character in "\u200d\u200c\ufe0e\ufe0f":
            continue
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def line(text: str, limit: int = 1000) -> str:
    """Any text as one harmless line: runs of white space are one blank; cut after ``limit`` characters."""
    return _steady(one_line(text[: limit * 2]))[:limit]


def block(text: str) -> str:
    """Any text with its line breaks kept, everything else harmless."""
    return _steady(neutralise(text.replace("\r\n", "\n")))


def fit(text: str, width: int, *, right: bool = False) -> str:
    """``text`` in exactly ``width`` cells: cut with an ellipsis, or filled with blanks."""
    if width <= 0:
        return ""
    size = cell_len(text)
    if size > width:
        return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)
    blanks = " " * (width - size)
    return blanks + text if right else text + blanks


def wrap(text: str, width: int) -> list[str]:
    """``block`` text -> lines of at most ``width`` cells, broken at blanks where there are some."""
    width = max(4, width)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if len(paragraph) * 2 <= width or cell_len(paragraph) <= width:
            lines.append(paragraph)
            continue
        lines.extend(_wrap_long(paragraph, width))
    return lines


def _wrap_long(paragraph: str, width: int) -> Iterator[str]:
    start, used, blank = 0, 0, -1
    index = 0
    while index < len(paragraph):
        character = paragraph[index]
        size = 1 if " " <= character <= "~" else cell_len(character)
        if used + size > width:
            end = blank + 1 if blank > start else index
            yield paragraph[start:end].rstrip(" ")
            start, index, used, blank = end, end, 0, -1
            continue
        if character == " ":
            blank = index
        used += size
        index += 1
    yield paragraph[start:]


def count(number: int) -> str:
    """12041 -> ``12,041``."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """``1 fact``, ``3 facts``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(value: str | None) -> datetime | None:
    """A store's time, or None where it is absent or not readable (a newer server may word it anew)."""
    try:
        return parse_time(value)
    except ValueError:
        return None


def clock() -> datetime:
    """Now. Pictures that must not change put another one here."""
    return datetime.now(UTC)


def age(value: str | None, now: datetime | None = None) -> str:
    """A time as people say it in a list: ``now``, ``5 min``, ``3 h``, ``12 d``, then the day."""
    now = now or clock()
    at = moment(value)
    if at is None:
        return "–" if not value else line(value, 16)
    seconds = (now - at).total_seconds()
    if -120 < seconds < 60:
        return "now"
    if 0 <= seconds < 3600:
        return f"{int(seconds // 60)} min"
    if 0 <= seconds < 86400:
        return f"{int(seconds // 3600)} h"
    if 0 <= seconds < 14 * 86400:
        return f"{int(seconds // 86400)} d"
    return at.strftime("%Y-%m-%d")


def stamp(value: str | None) -> str:
    """A time in full: ``2026-12-01 09:30 UTC``; ``–`` where there is none."""
    at = moment(value)
    if at is None:
        return "–" if not value else line(value, 40)
    return at.strftime("%Y-%m-%d %H:%M UTC")


def size(characters: int) -> str:
    """A text's length in characters: ``812``, ``4.1k``, ``1.2M``."""
    if characters < 1000:
        return str(characters)
    if characters < 999_950:
        return f"{characters / 1000:.1f}k"
    return f"{characters / 1_000_000:.1f}M"

"""Text from a bank made harmless for a terminal, and measured in its columns.

Promise: what comes out of :func:`neutralise` holds no control character but the newline, no escape
sequence, nothing that turns or hides text, and nothing that cannot be encoded; what was there is shown as
an escape such as ``\\x1b``, ``\\u202e`` or ``\\U000e0041``. Ordinary text of any script passes unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_TAB = 4

# Blank on every screen though Unicode calls them letters or marks.
_BLANK_LETTERS = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_SUSPECT = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_JOINER, _NON_JOINER = "\u200d", "\u200c"


def neutralise(text: str) -> str:
    """Several lines, each safe to print; tabs become blanks."""
    return _SUSPECT.sub(_shown, text)


def one_line(text: str) -> str:
    """The text on one line: every run of white space is one blank, the rest as :func:`neutralise`."""
    return neutralise(" ".join(text.split()))


def label(text: str) -> str:
    """An id on one line, exact: blanks stay as they are, a line feed or tab is shown as an escape."""
    return neutralise(text.replace("\t", "\\x09")).replace("\n", "\\x0a")


def _shown(found: re.Match[str]) -> str:
    char, at, text = found[0], found.start(), found.string
    if char == "\t":
        return " " * _TAB
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    code = ord(char)
    if (
        0xFE0E <= code <= 0xFE0F
        and before
        and (unicodedata.category(before) in ("So", "Sk", "Sm", "Po") or before in "#*0123456789\u20e3")
    ):
        return char  # text or emoji form of the sign before it
    if before == "\ufe0f" and at > 1:  # the sign that it gives its form to
        before = text[at - 2]
    if char == _JOINER and _emoji(before) and _emoji(after):
        return char  # one picture made of several
    if char in (_JOINER, _NON_JOINER) and _joins(before) and _joins(after):
        return char  # spelling in Arabic and Indic scripts
    if (
        0xE0100 <= code <= 0xE01EF
        and "\u3400" <= before <= "\U0003ffff"
        and unicodedata.category(before) == "Lo"
    ):
        return char  # a written form of the ideograph before it, as in Japanese names
    if 0x600 <= code <= 0x605 or code in (0x6DD, 0x70F):
        return char  # visible signs that span digits
    category = unicodedata.category(char)
    if category not in _HIDDEN and char not in _BLANK_LETTERS and not _selector(code):
        return char
    return escape(char)


def escape(char: str) -> str:
    """One character as ``\\x1b``, ``\\u202e`` or ``\\U000e0041``."""
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _selector(code: int) -> bool:
    return code == 0x34F or 0xFE00 <= code <= 0xFE0F or 0x180B <= code <= 0x180F or 0xE0000 <= code <= 0xE0FFF


def _emoji(char: str) -> bool:
    return bool(char) and (unicodedata.category(char) in ("So", "Sk"))


def _joins(char: str) -> bool:
    return bool(char) and (
        "\u0600" <= char <= "\u08ff" or "\u0900" <= char <= "\u0dff" or "\u1780" <= char <= "\u17ff"
    )


# Columns ----------------------------------------------------------------------------------------------


def width(text: str) -> int:
    """Terminal columns of one line of neutralised text."""
    if text.isascii():
        return len(text)
    return sum(columns for _, columns in _clusters(text))


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _clusters(text: str) -> list[tuple[str, int]]:
    """What moves the cursor as one: a base with its marks, an emoji sequence, a flag."""
    found: list[tuple[str, int]] = []
    for char in text:
        columns = _char_width(char)
        if found:
            last, taken = found[-1]
            if last.endswith(_JOINER) and taken == 2:
                found[-1] = (last + char, 2)
                continue
            if char == "\ufe0f":
                found[-1] = (last + char, 2)
                continue
            if columns == 0 or ("\U0001f3fb" <= char <= "\U0001f3ff" and taken == 2):
                found[-1] = (last + char, taken)
                continue
            if _regional(char) and len(last) == 1 and _regional(last):
                found[-1] = (last + char, 2)
                continue
        found.append((char, columns))
    return found


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def truncate(text: str, columns: int, mark: str = "…") -> str:
    """At most ``columns`` wide, never through a character; what was cut ends in ``mark``."""
    if columns <= 0:
        return ""
    if width(text) <= columns:
        return text
    room = columns - width(mark)
    return "" if room < 0 else _head(text, room).rstrip() + mark


def _head(text: str, room: int) -> str:
    taken = length = 0
    for cluster, columns in _clusters(text):
        taken += columns
        if taken > room:
            break
        length += len(cluster)
    return text[:length]


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Filled with blanks to ``columns``; ``right`` sets it to the right edge."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def wrap(text: str, columns: int, *, indent: str = "") -> list[str]:
    """Lines of at most ``columns``, broken at blanks where there are some; each begins with ``indent``."""
    room = max(8, columns - width(indent))
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            if line and width(line) + 1 + width(word) > room:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
            while width(line) > room:
                head = _head(line, room)
                lines.append(head)
                line = line[len(head) :]
        lines.append(line)
    return [(indent + line).rstrip() for line in lines]

"""A document's text <-> the bytes of its .txt. Same text, same bytes; same bytes, same text.

The file is the encoded text and exactly one newline. ``verbatim`` texts stand as they are; long lines are
``folded`` at 100 columns with a mark that does not occur in the text; a text that holds CR, controls, bidi or
invisible characters or trailing blanks is ``escaped``, so that the file never hides text, never is binary for
git, and survives editors that trim or change line ends. Bytes are recovered by slicing, never by a renderer.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

COLUMNS = 100
MARKS = "↩⏎↵⮐"
WITHHELD = "withheld"
"""First word of the mode of a text whose secrets were taken out: its bytes do not give the text back."""
# Written out: unicodedata's answers change with Python's version, and with them the folds of a text.
_WIDE = re.compile(
    "[\u1100-\u115f\u231a\u231b\u23e9-\u23f3\u2614\u2615\u2705\u2728\u274c\u2753-\u2757\u2e80-\u303e\u3041-\ua4cf"
    "\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001faff\U00020000-\U0003fffd]"
)
# Everything that an editor may eat, a terminal may obey or a reader may not see.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
)
# U+FE0F after a symbol only asks for its emoji look; anywhere else, and repeated, it hides.
_STRAY_FE0F = "(?<![#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"
HIDDEN = f"[{_HIDDEN}]|{_STRAY_FE0F}"
_ONE_HIDDEN = re.compile(f"[{_HIDDEN}]")
_STRAY = re.compile(_STRAY_FE0F)
_BLANKS = (
    " \t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_BLANK_ENDS = tuple(f"{blank}\n" for blank in _BLANKS)
_ESCAPED = re.compile(f"{HIDDEN}|\\\\|[{_BLANKS}](?=\\n|\\Z)")
_UNESCAPE = re.compile(r"\\(\\|r|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class TextFile:
    """``mode``: '' verbatim, else what the page says under ``text:`` (``escaped``, ``folded ↩``, both)."""

    data: bytes
    mode: str
    final_newline: bool


def encode(text: str) -> TextFile:
    """Text -> file."""
    final = text.endswith("\n")
    body = text[:-1] if final else text
    modes: list[str] = []
    if _needs_escape(body):
        body = _ESCAPED.sub(_escape, body)
        modes.append("escaped")
    mark = next((m for m in MARKS if m not in body), None)
    if mark is None and _longest(body) > COLUMNS:
        # All four marks occur: escape the first one, so that it can stand for the fold.
        mark = MARKS[0]
        if not modes:
            body = body.replace("\\", "\\\\")
            modes.append("escaped")
        body = body.replace(mark, f"\\u{ord(mark):04x}")
    if mark is not None and _longest(body) > COLUMNS:
        body = "\n".join(_fold(line, mark) for line in body.split("\n"))
        modes.append(f"folded {mark}")
    return TextFile((body + "\n").encode("utf-8"), " ".join(modes), final)


def decode(data: bytes, mode: str, *, final_newline: bool) -> str:
    """File -> text. A changed file gives a changed text: check it against its hash."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r", "").removesuffix("\n")
    words = mode.split()
    if "folded" in words:
        text = text.replace(f"{words[-1]}\n", "")
    if "escaped" in words:
        text = _UNESCAPE.sub(_unescape, text)
    return text + "\n" if final_newline else text


def _needs_escape(body: str) -> bool:
    """Asked in parts, cheapest first: nearly every text says no."""
    return (
        any(end in body for end in (_BLANK_ENDS[:2] if body.isascii() else _BLANK_ENDS))
        or body.endswith(tuple(_BLANKS))
        or _ONE_HIDDEN.search(body) is not None
        or ("\ufe0f" in body and _STRAY.search(body) is not None)
    )


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char == "\\":
        return "\\\\"
    if char == "\r":
        return "\\r"
    if char == "\t":
        return "\\t"
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code == "\\":
        return "\\"
    if code == "r":
        return "\r"
    if code == "t":
        return "\t"
    number = int(code[1:], 16)
    return chr(number) if number < 0x110000 else match[0]


def width(text: str) -> int:
    """Columns, CJK counting two."""
    return len(text) if text.isascii() else len(text) + len(_WIDE.findall(text))


def _longest(body: str) -> int:
    """At least the widest line's columns, without measuring short ones."""
    if body.isascii():
        return max(map(len, body.split("\n")))
    return max((width(line) if len(line) * 2 > COLUMNS else 0 for line in body.split("\n")), default=0)


def _fold(line: str, mark: str) -> str:
    """Cut before column 100: after a blank where there is one, at a JSON turn, else where it must."""
    if len(line) * 2 <= COLUMNS or width(line) <= COLUMNS:
        return line
    pieces: list[str] = []
    start = 0
    ascii_only = line.isascii()
    while True:
        end = _reach(line, start, ascii_only)
        if end >= len(line):
            pieces.append(line[start:])
            return f"{mark}\n".join(pieces)
        turn = line.find('}, {"role"', start, end)
        blank = line.rfind(" ", start + 1, end)
        cut = turn + 3 if turn > start else blank + 1 if blank > start + (end - start) // 2 else end
        if "\\" in line[start:cut]:
            cut = _not_inside_escape(line, start, cut)
        # Accents stay with their letter; a run of them longer than any word needs is cut like anything else.
        floor = max(start + 1, cut - 8)
        while floor < cut < len(line) and unicodedata.combining(line[cut]):
            cut -= 1
        pieces.append(line[start:cut])
        start = cut


def _reach(line: str, start: int, ascii_only: bool) -> int:
    room = COLUMNS - 1
    if ascii_only:
        return start + room
    at = start
    while at < len(line):
        room -= 2 if _WIDE.match(line, at) else 1
        if room < 0:
            break
        at += 1
    return max(at, start + 1)


def _not_inside_escape(line: str, start: int, cut: int) -> int:
    """A cut may split a backslash code: the pieces are joined before codes are read, so only looks matter."""
    back = line.rfind("\\", max(start + 1, cut - 10), cut)
    code = _UNESCAPE.match(line, back) if back > start else None
    return back if code is not None and code.end() > cut else cut

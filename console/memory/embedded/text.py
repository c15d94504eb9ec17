"""Text as it is stored, and its chunks.

Stored text is what was sent without NUL, the C0 controls other than tab, newline and CR, and lone
surrogates: what a Hindsight server removes (measured). Everything else is kept to the byte.
"""

from __future__ import annotations

import hashlib
import re

from console.memory.errors import InvalidInput

CHUNK_SIZE = 3000
"""Characters; a Hindsight server's default."""

_UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？；][」』”’）]*")
_BLANK = re.compile(r"\s")


def storable(text: str) -> str:
    return _UNSTORABLE.sub("", text)


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def check_id(value: str, what: str) -> str:
    """An id that can be stored and found again byte for byte. Raises InvalidInput."""
    if not value:
        raise InvalidInput(f"the {what} is empty", hint=f"give a {what}")
    if "\x00" in value or _SURROGATE.search(value):
        raise InvalidInput(f"the {what} {value!r} cannot be stored", hint="leave out NUL and lone surrogates")
    return value


def check_bank_id(bank_id: str) -> str:
    """Hindsight's rules. Raises InvalidInput."""
    check_id(bank_id, "bank id")
    if bank_id.startswith("_"):
        raise InvalidInput(
            f"the bank id {bank_id!r} starts with an underscore", hint="use another first character"
        )
    if len(bank_id.encode()) > 192:
        raise InvalidInput("the bank id is longer than 192 bytes", hint="use a shorter one")
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in bank_id):
        raise InvalidInput(f"the bank id {bank_id!r} has a control character", hint="leave it out")
    return bank_id


def chunk_bounds(text: str, size: int = CHUNK_SIZE) -> list[tuple[int, int]]:
    """Where to cut: bounds that cover the whole text in order.

    A cut looks only at the ``size`` characters before it, so text added at the end moves no earlier cut.
    """
    bounds = []
    start = 0
    while len(text) - start > size:
        stop = _cut(text, start, start + size)
        bounds.append((start, stop))
        start = stop
    if start < len(text) or not bounds:
        bounds.append((start, len(text)))
    return bounds


def _cut(text: str, start: int, limit: int) -> int:
    """The best place in the second half: a paragraph's end, a line's, a sentence's, a word's, or the limit."""
    half = start + (limit - start) // 2
    for mark in ("\n\n", "\n"):
        found = text.rfind(mark, half, limit)
        if found != -1:
            return found + len(mark)
    for pattern in (_SENTENCE_END, _BLANK):
        ends = [match.end() for match in pattern.finditer(text, half, limit)]
        if ends:
            return ends[-1]
    return limit

"""Text -> key: the one place that normalises. Same fact, same key, on every machine.

Key = first 12 hex digits of sha256 of the text after NFC, runs of whitespace folded to one blank, strip.
Case and punctuation count. ``str.split`` decides what whitespace is (Unicode's White_Space plus the four
information separators), so a fact folded onto one line keeps its key.
"""

from __future__ import annotations

import hashlib
import unicodedata

CHUNK_PREFIX = 200
"""Characters of a chunk that identify it: growth changes a chunk's end, not its start (measured)."""


def fold(text: str) -> str:
    """NFC, whitespace runs to one blank, stripped: what a fact's line shows."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fact_key(text: str) -> str:
    """The 12-hex key of a fact's text."""
    return _digest(fold(text))


def chunk_key(chunk_index: int, text: str) -> str:
    """The key of a chunk-mode fact: its index and its first 200 characters."""
    return _digest(f"chunk {chunk_index}\n{fold(text[:CHUNK_PREFIX])}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

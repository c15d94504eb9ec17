"""Where in a .txt a fact most likely stands: a hint for the reviewer, never proof. Same input, same lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from mirror.keys import fold

_WORD = re.compile(r"[a-z0-9_]{2,}|[^\W\d_a-z]", re.IGNORECASE)
_ENDS = 60
"""Characters of a chunk's start and end that are looked for."""


class Locator:
    """The lines of one .txt, ready to be asked."""

    def __init__(self, data: bytes, mode: str) -> None:
        words = mode.split()
        mark = words[-1] if "folded" in words else None
        self._lines = data.decode("utf-8", "replace").split("\n")[:-1]
        parts: list[str] = []
        starts: list[int] = []
        at = 0
        for line in self._lines:
            starts.append(at)
            if mark and line.endswith(mark):
                part = line[: -len(mark)]
                # A fold inside a word joins; one behind a blank keeps that one blank.
                piece = " ".join(part.split()) + (" " if part.endswith(" ") else "")
            else:
                piece = " ".join(line.split()) + " "
            if piece.strip() == "" and parts and parts[-1].endswith(" "):
                piece = ""
            parts.append(piece)
            at += len(piece)
        self._text = "".join(parts)
        self._starts = starts
        self._at = 0
        self._index: dict[str, list[int]] | None = None

    def find(self, fact: str) -> tuple[int, int] | None:
        """(first, last) line, 1-based, of a fact; None where nothing points anywhere."""
        wanted = fold(fact)
        if not wanted:
            return None
        at = self._text.find(wanted, self._at)
        if at < 0:
            at = self._text.find(wanted)
        if at >= 0:
            self._at = at
            line = self._line(at)
            return line, line
        best = self._by_words(wanted)
        return (best, best) if best else None

    def span(self, chunk: str) -> tuple[int, int] | None:
        """(first, last) line of a whole chunk."""
        wanted = fold(chunk)
        at = self._text.find(wanted[:_ENDS])
        if at < 0:
            return None
        end = self._text.find(wanted[-_ENDS:], at)
        last = end + len(wanted[-_ENDS:]) - 1 if end >= 0 else at
        return self._line(at), self._line(last)

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at)

    def _by_words(self, wanted: str) -> int:
        """The line that shares most rare words with the fact; 0 for none worth naming."""
        if self._index is None:
            self._index = {}
            for number, line in enumerate(self._lines, 1):
                for word in set(_WORD.findall(line.lower())):
                    self._index.setdefault(word, []).append(number)
        scores: Counter[int] = Counter()
        total = 0.0
        for word in sorted(set(_WORD.findall(wanted.lower()))):
            lines = self._index.get(word, ())
            total += 1
            if len(lines) > 200:
                continue
            for number in lines:
                scores[number] += 1000 // len(lines)
        if not scores or not total:
            return 0
        best = max(scores.values())
        return min(number for number, score in scores.items() if score == best) if best >= 300 else 0

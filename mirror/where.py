"""Where in a .txt a fact most likely stands: a hint for the reviewer, never proof. Same input, same lines."""

from __future__ import annotations

import re
from bisect import bisect_right

from mirror.keys import fold

_WORD = re.compile(r"[a-z0-9_]{3,}|[^\W\d_a-z]", re.IGNORECASE)
_ENDS = 60
"""Characters of a chunk's start and end that are looked for."""
_SEEN = 200
"""A word that stands in more lines than this says little: later ones are not counted."""
_LEAST, _ENOUGH, _BETTER = 0.25, 0.75, 1.3
"""Shares of a fact's words: what names a line at all, what ends the search, what a later line must be better by."""


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
        self._index: dict[str, list[int]] | None = None

    def find(self, fact: str) -> tuple[int, int] | None:
        """(first, last) line, 1-based, of a fact; None where nothing points anywhere."""
        wanted = fold(fact)
        if not wanted:
            return None
        # Always the first place: what a growing text says again later must not move an older fact's line.
        at = self._text.find(wanted)
        if at >= 0:
            line = self._line(at)
            return line, line
        best = self._by_words(wanted)
        return (best, best) if best else None

    def span(self, chunk: str) -> tuple[int, int] | None:
        """(first, last) line of a whole chunk."""
        wanted = fold(chunk)
        at = self._text.find(wanted)
        if at >= 0:
            return self._line(at), self._line(at + len(wanted) - 1)
        at = self._text.find(wanted[:_ENDS])
        if at < 0:
            return None
        end = self._text.find(wanted[-_ENDS:], at + len(wanted) // 2)
        last = end + len(wanted[-_ENDS:]) - 1 if end >= 0 else at
        return self._line(at), self._line(last)

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at)

    def _by_words(self, wanted: str) -> int:
        """The line that shares most of a reworded fact's words, 0 for none worth naming.

        Weights come from the fact alone and earlier lines win, so that text which is appended rarely moves a hint.
        """
        if self._index is None:
            self._index = _lines_of_words(self._lines)
        index = self._index
        scores: dict[int, int] = {}
        total = 0
        for word in set(_WORD.findall(wanted.lower())):
            # Short words are the ones that every line has.
            weight = min(len(word), 8) if word.isascii() else 4
            total += weight
            for number in index.get(word, ()):
                scores[number] = scores.get(number, 0) + weight
        best, best_score = 0, total * _LEAST / _BETTER
        for number in sorted(scores):
            if scores[number] >= best_score * _BETTER:
                best, best_score = number, scores[number]
                if best_score >= total * _ENOUGH:
                    break
        return best


def _lines_of_words(lines: list[str]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for number, line in enumerate(lines, 1):
        for word in set(_WORD.findall(line.lower())):
            found = index.get(word)
            if found is None:
                index[word] = [number]
            elif len(found) < _SEEN:
                found.append(number)
    return index

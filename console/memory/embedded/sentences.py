"""Prose -> sentences. No model: rules that would rather keep two sentences together than cut one in half."""

from __future__ import annotations

import re

LONGEST = 1200
"""Characters of one sentence; what is longer (minified text, endless lines) is cut at blanks."""

_END = re.compile(r"[.!?…]+[\"'”’»)\]*_]*(?=\s|$)|[。！？；]+[」』”’）]*|(?<=[\u3040-\u9fff])\.(?=\s|$)")
_CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
_WORD_BEFORE = re.compile(r"[\w.&'-]+$")
_ABBREVIATIONS = frozenset(
    "e.g i.e cf vs viz approx resp incl excl mr mrs ms dr prof st sr jr gen col sgt rev hon fig figs eq "
    "sec ch vol ed eds pp al ca est dept univ ave blvd rd no nos art par z.b d.h bzw ca ggf u.a sog evtl "
    "p.ej jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun min max avg std "
    "misc".split()
)
_ENDS_TOO = frozenset("etc inc ltd co corp llc bros u.s u.k u.n e.u a.m p.m ph.d usw".split())
"""Abbreviations that can close a sentence: they do before a capital."""
_NEEDS_DIGIT = frozenset("no nos fig figs eq sec ch vol art par pp p".split())


def sentences(text: str) -> list[tuple[int, str]]:
    """(offset, sentence) in order; whitespace around them left out."""
    found = []
    start = 0
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _END.finditer(text):
        stop = match.end()
        if match.start() < start or any(begin < match.start() < end for begin, end in code):
            continue
        if not _ends(text, start, match.start(), stop):
            continue
        found.append((start, text[start:stop]))
        start = stop
    found.append((start, text[start:]))
    pieces = []
    for offset, sentence in found:
        for inner, piece in _short_enough(sentence):
            stripped = piece.strip()
            if stripped:
                pieces.append((offset + inner + len(piece) - len(piece.lstrip()), stripped))
    return pieces


def _ends(text: str, start: int, mark: int, stop: int) -> bool:
    """Whether the full stop (or other mark) at ``mark`` really ends a sentence."""
    if text[mark] not in ".…":
        return text[mark] in "。！？；" or not _continues(text, stop)
    before = _WORD_BEFORE.search(text, max(start, mark - 40), mark)
    word = before[0].lower().lstrip("'") if before is not None else ""
    following = text[stop : stop + 60].lstrip()
    if not following:
        return True
    if _continues(text, stop):
        return False
    if word in _ENDS_TOO:
        return following[0].isupper()
    if word in _ABBREVIATIONS and before is not None:
        return word in _NEEDS_DIGIT and not following[0].isdigit()
    if len(word) == 1 and word.isalpha() and before is not None and before[0].isupper():
        # an initial ("J. Doe"), but "I." and "plan B." end sentences more often than names carry them
        return before[0] == "I" or not following[0].isupper()
    # "1. Do this" inside a line: a number alone opens a point
    return not (word.isdigit() and text[start:mark].strip() == word)


def _continues(text: str, stop: int) -> bool:
    following = text[stop : stop + 60].lstrip()
    return bool(following) and following[0].islower()


def _short_enough(sentence: str) -> list[tuple[int, str]]:
    pieces = []
    start = 0
    while len(sentence) - start > LONGEST:
        window = sentence[start : start + LONGEST]
        cut = max(window.rfind("; "), window.rfind(", "))
        if cut < LONGEST // 2:
            cut = window.rfind(" ")
        cut = LONGEST if cut < LONGEST // 2 else cut + 1
        pieces.append((start, sentence[start : start + cut]))
        start += cut
    pieces.append((start, sentence[start:]))
    return pieces

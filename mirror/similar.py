"""Whether a fact says again what was taken back, in other words. Pure, and slow to say yes.

A model words a text differently each time it reads it, so a retraction that held by exact text alone would be
undone by the next retain. Two texts say the same when their words overlap (rapidfuzz's token-set ratio) *and* they
have the same numbers, names and negations: a correction differs in just those and must never be taken back with
what it corrects.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum

from rapidfuzz import fuzz, utils

SAME_RATIO = 90
NEAR_RATIO = 75
CHUNK_SHARE = 0.9
"""Of a taken back chunk's lines, how many make another chunk its return."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"\w[\w'’./:@-]*\w|\w")
_IDENTIFIER = re.compile(r"[\w-]*(?:[_@/]|\w[.:-]\w|[a-z][A-Z]|[A-Z]{2}|[A-Za-z]\d)")
_SENTENCE_START = re.compile(r"(?:^|[.!?。！？:]\s+|[\"“(]\s*)$")
_NEGATIONS = frozenset(
    "no not never none nothing neither nor without cannot nicht nie kein keine keinen ohne ne pas jamais sans non "
    "nunca sin não sem не нет".split()
)
_CJK_NEGATION = re.compile("[不没沒無无未非]|ない|ません|않|없")
_PLAIN = frozenset(
    "the a an it its this that these those there here we i you he she they in on at by for from to of as and or but if "
    "when while after before because so then our their his her my your is are was were be all each every some".split()
)


class Likeness(Enum):
    """How near a fact is to one that was taken back."""

    SAME = "same"
    NEAR = "near"
    OTHER = "other"


def likeness(taken_back: str, fact: str) -> Likeness:
    """SAME at a ratio of 90 or more, NEAR from 75; OTHER whatever the ratio, when numbers, names or negations differ."""
    ratio = fuzz.token_set_ratio(taken_back, fact, processor=utils.default_process)
    if ratio < NEAR_RATIO or not _agree(taken_back, fact):
        return Likeness.OTHER
    return Likeness.SAME if ratio >= SAME_RATIO else Likeness.NEAR


def contains_chunk(chunk: str, taken_back: str) -> bool:
    """Whether at least 90 % of the taken back chunk's lines stand in this chunk."""
    wanted = [line.strip() for line in taken_back.splitlines() if line.strip()]
    there = {line.strip() for line in chunk.splitlines()}
    return bool(wanted) and sum(line in there for line in wanted) >= CHUNK_SHARE * len(wanted)


def _agree(one: str, other: str) -> bool:
    if Counter(_NUMBER.findall(one)) != Counter(_NUMBER.findall(other)):
        return False
    if _negations(one) != _negations(other):
        return False
    return _same_names(one, other)


def _negations(text: str) -> int:
    folded = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    words = sum(1 for word in folded if word in _NEGATIONS or word.endswith("n't"))
    return words + len(_CJK_NEGATION.findall(text))


def _same_names(one: str, other: str) -> bool:
    """Names in the middle of a sentence must stand in the other text. A sentence's first word may be an ordinary one,
    so it counts only when both texts begin a sentence with a word that the other lacks."""
    first_one, names_one = _names(one)
    first_other, names_other = _names(other)
    words_one, words_other = _words(one), _words(other)
    if not names_one <= words_other or not names_other <= words_one:
        return False
    return not (first_one - words_other and first_other - words_one)


def _names(text: str) -> tuple[set[str], set[str]]:
    """(first words of sentences that could be names, names)."""
    first: set[str] = set()
    names: set[str] = set()
    for match in _WORD.finditer(text):
        word = match[0]
        folded = word.casefold()
        if _IDENTIFIER.match(word) and not word[0].isdigit():
            names.add(folded)
        elif word[0].isupper() and folded not in _PLAIN:
            (first if _SENTENCE_START.search(text[: match.start()]) else names).add(folded)
    return first, names


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}

"""A text -> its facts: sentences, list items, table rows and whole code blocks, with no model.

Equal texts give equal facts. The exact repeats of a text are one fact with a count.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from console.memory.embedded.blocks import Block, blocks
from console.memory.embedded.sentences import sentences

LONGEST_CODE = 8000
"""Characters up to which a code block stays whole."""
_FALLBACK = 300

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_SPECIFIC = re.compile(r"\d|`|https?://|[a-z][A-Z]|\w_\w|\w/\w")
_FIRST_PERSON = re.compile(
    r"^(?:[\"'*_(]*)(?:I(?:['’](?:m|ve|ll|d))?\b(?!\.)|(?:My|We(?:['’](?:re|ve|ll|d))?|Our)\b|我|私は)"
)
_OTHERS = frozenset({"user", "human", "system", "developer", "tool"})


@dataclass(frozen=True, slots=True)
class Fact:
    key: str
    text: str
    """One line, whitespace folded; of a code block its lines as they are."""
    fact_type: str
    chunk: int
    count: int
    """How often the document says it."""


def facts(text: str, bounds: Sequence[tuple[int, int]], key_of: Callable[[str], str]) -> list[Fact]:
    """In reading order. ``bounds`` are the chunks; a fact belongs to the one in which it starts.

    ``key_of`` tells which texts are the same fact.
    """
    starts = [start for start, _ in bounds]
    found: dict[str, Fact] = {}
    for offset, fact, fact_type in _statements(text):
        key = key_of(fact)
        known = found.get(key)
        if known is not None:
            found[key] = replace(known, count=known.count + 1)
        else:
            found[key] = Fact(key, fact, fact_type, bisect_right(starts, offset) - 1, 1)
    return list(found.values())


def _statements(text: str) -> Iterator[tuple[int, str, str]]:
    nothing = True
    spare: list[tuple[int, str, str]] = []
    for block in blocks(text):
        if block.kind == "code":
            pieces = list(_code(block))
        elif block.kind == "heading":
            spare.append((block.start, _folded(block.text), "world"))
            continue
        else:
            pieces = [(block.start + offset, _folded(sentence)) for offset, sentence in sentences(block.text)]
        for offset, statement in pieces:
            row = (min(offset, len(text) - 1), statement, _type(statement, block.speaker))
            if block.kind == "code" or _says_something(statement):
                nothing = False
                yield row
            else:
                spare.append(row)
    if nothing:
        # A text of fragments only ("Postgres 16", a lone heading) was retained for a reason: keep it as one fact.
        told = " ".join(statement for _, statement, _ in spare)
        if _WORD.search(told):
            yield spare[0][0], told[:_FALLBACK].rstrip(), spare[0][2]


def _code(block: Block) -> Iterator[tuple[int, str]]:
    if len(block.text) <= LONGEST_CODE:
        inner = block.text.split("\n")[1:]
        if any(line.strip() and not line.strip().startswith(("```", "~~~")) for line in inner):
            yield block.start, block.text
        return
    piece: list[str] = []
    size = 0
    start = offset = block.start
    for line in block.text.split("\n"):
        for begin in range(0, max(len(line), 1), LONGEST_CODE):
            part = line[begin : begin + LONGEST_CODE]
            if piece and size + len(part) > LONGEST_CODE:
                yield start, "\n".join(piece)
                piece, size, start = [], 0, offset
            piece.append(part)
            size += len(part) + 1
        offset += len(line) + 1
    if any(line.strip() for line in piece):
        yield start, "\n".join(piece)


def _says_something(statement: str) -> bool:
    """Two words need something specific ("Port 5433."); "Thanks!" and "OK, done." are no facts."""
    cjk = len(_CJK.findall(statement))
    if cjk >= 4:
        return True
    words = len(_WORD.findall(_CJK.sub(" ", statement) if cjk else statement)) + cjk // 2
    if words >= 3:
        return _LETTERS.search(statement) is not None
    return words == 2 and _SPECIFIC.search(statement) is not None


def _type(statement: str, speaker: str) -> str:
    """An agent telling what it did is experience; the same words of a user tell about the world."""
    if speaker in _OTHERS:
        return "world"
    return "experience" if _FIRST_PERSON.match(statement) else "world"


def _folded(text: str) -> str:
    return " ".join(text.split())

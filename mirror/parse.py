"""A page -> what stands on it, line by line, whoever wrote it last. Nothing is rendered and nothing is judged.

Read is what people and their tools leave: CRLF, ``*`` and ``+`` bullets, moved lines, facts that a formatter
wrapped over several lines (the comment may then begin one), front matter that a formatter destroyed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirror import frontmatter
from mirror.errors import BadPage
from mirror.escape import unescape

_ITEM = re.compile(r" {0,3}[-*+](?:[ \t]+|$)")
_HEADING = re.compile(r"#{1,6}(?: |$)")
_TITLE = re.compile(r"# +(.*)$")
_FACTS = re.compile(r"#{1,6} +Facts\b")
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")
# The writer escapes every ``<!`` of a fact, so an unescaped one is ours or a person's.
_COMMENT = re.compile(r"(?<!\\)<!--\s*f:([0-9a-f]{12})(?![0-9a-f])([^<>]*?)\s*-->")
_DAMAGED = re.compile(r"(?<!\\)<!--\s*f:|\bf:[0-9a-f]{12}\b[^<>]*-->")


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """One item of a list that carries a fact's comment."""

    number: int
    """Line of the page where it begins, 1-based."""
    key: str
    retracted: bool
    """The state that the mirror wrote."""
    body: str
    """Markdown between bullet and comment, box and strike included, on one line."""
    note: str
    """Text behind the comment."""
    comment: str
    """``<!-- f:KEY L6 retracted -->``, as it should be written."""
    shown_hash: str = ""
    """Of a chunk fact: the hash of what its line shows."""
    comments: int = 1
    """More than one: two facts stand on one line."""

    @property
    def source(self) -> str:
        """The item on one line."""
        return " ".join(part for part in ("-", self.body, self.comment, self.note) if part)


@dataclass(frozen=True, slots=True)
class LooseItem:
    """An item of the facts list without a readable comment."""

    number: int
    body: str
    damaged: bool
    """What is left of a comment is there."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """``front`` None: it is missing or cannot be read, ``front_problem`` says why and where."""

    front: Mapping[str, Any] | None
    front_problem: str
    title: str
    lines: tuple[ParsedLine, ...]
    loose: tuple[LooseItem, ...] = ()
    conflicts: tuple[int, ...] = ()
    """Lines with a merge-conflict marker."""


def parse(data: bytes, *, where: str = "page") -> ParsedPage:
    """Never raises, whatever the bytes. ``where``: the path that problems name."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    front: Mapping[str, Any] | None = None
    problem = ""
    taken = frontmatter.split(lines)
    if taken is None:
        problem = f"front matter is missing or has no end ({where}:1)"
    else:
        try:
            front = frontmatter.read(lines[1 : taken - 1], where=where)
        except BadPage as error:
            problem = str(error)
    found: list[ParsedLine] = []
    loose: list[LooseItem] = []
    title = ""
    in_facts = False
    for number, parts in _blocks(lines, taken or 0):
        first = parts[0]
        if _HEADING.match(first):
            in_facts = _FACTS.match(first) is not None
            if not title and (heading := _TITLE.match(first)):
                title = unescape(heading[1].strip())
            continue
        item = _ITEM.match(first)
        if item is None:
            continue
        joined = " ".join(" ".join([first[item.end() :], *parts[1:]]).split())
        line = _line(number, joined)
        if line is not None:
            found.append(line)
        elif in_facts or _DAMAGED.search(joined):
            loose.append(LooseItem(number, joined, _DAMAGED.search(joined) is not None))
    return ParsedPage(
        front=front,
        front_problem=problem,
        title=title,
        lines=tuple(found),
        loose=tuple(loose),
        conflicts=tuple(n for n, line in enumerate(lines, 1) if _CONFLICT.match(line)),
    )


def _blocks(lines: Sequence[str], start: int) -> list[tuple[int, list[str]]]:
    """(line number, lines) of each heading, item with its continuation lines, and paragraph."""
    blocks: list[tuple[int, list[str]]] = []
    current: list[str] | None = None
    for number in range(start, len(lines)):
        line = lines[number]
        if not line.strip():
            current = None
        elif current is None or _ITEM.match(line) or _HEADING.match(line) or _HEADING.match(current[0]):
            current = [line]
            blocks.append((number + 1, current))
        else:
            current.append(line.strip())
    return blocks


def _line(number: int, joined: str) -> ParsedLine | None:
    comments = list(_COMMENT.finditer(joined))
    if not comments:
        return None
    comment = comments[0]
    words = comment[2].split()
    return ParsedLine(
        number=number,
        key=comment[1],
        retracted="retracted" in words,
        body=joined[: comment.start()].strip(),
        note=joined[comment.end() :].strip(),
        comment=" ".join(["<!--", f"f:{comment[1]}", *words, "-->"]),
        shown_hash=next((word[2:] for word in words if word.startswith("s:")), ""),
        comments=len(comments),
    )

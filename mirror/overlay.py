"""Marks that were not carried out stay on the page: a regenerated page gets the person's lines back.

Pure. A line is found by its key, whatever moved around it; a page-level mark is the front matter's status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirror import frontmatter
from mirror.parse import ParsedPage

_KEY = re.compile(rb"<!-- f:([0-9a-f]{12})(?= |-)")


@dataclass(frozen=True, slots=True)
class Pending:
    """Of one page: key -> the line as the person wrote it, and the status that waits."""

    lines: Mapping[str, str] = field(default_factory=dict)
    status: Mapping[str, str] = field(default_factory=dict)
    """status, reason, superseded_by: as far as a person wrote them."""


def pending_of(parsed: ParsedPage, keys: set[str], *, whole: bool) -> Pending:
    """What of a person's page waits: the lines with ``keys``, and the status where ``whole``."""
    lines = {line.key: line.source for line in parsed.lines if line.key in keys}
    status: dict[str, str] = {}
    if whole and parsed.front is not None:
        for name in ("status", "reason", "superseded_by"):
            value = parsed.front.get(name)
            if isinstance(value, str):
                status[name] = value
    return Pending(lines, status)


def put(page: bytes, pending: Pending) -> bytes:
    """The page as the mirror renders it, with the waiting marks on it."""
    if pending.lines:
        out = []
        for line in page.split(b"\n"):
            found = _KEY.search(line)
            theirs = pending.lines.get(found[1].decode("ascii")) if found and line.startswith(b"- ") else None
            out.append(line if theirs is None else theirs.encode("utf-8"))
        page = b"\n".join(out)
    if pending.status:
        head, mark, rest = page.decode("utf-8").partition("\n---\n")
        rows = [row for row in head.split("\n") if row.split(":")[0] not in pending.status]
        rows += [f"{name}: {frontmatter.quote(value)}" for name, value in pending.status.items()]
        page = ("\n".join([rows[0], *_sorted_rows(rows[1:])]) + mark + rest).encode("utf-8")
    return page


def _sorted_rows(rows: list[str]) -> list[str]:
    """Keys in order; the rows of a block map stay behind their key."""
    groups: list[list[str]] = []
    for row in rows:
        if row.startswith(" ") and groups:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [row for group in sorted(groups, key=lambda g: g[0].split(":")[0]) for row in group]

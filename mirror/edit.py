"""Marks written for a person: the same change that they would make by hand. Pure.

``page`` in, ``page`` out; line ends and everything else stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from mirror import frontmatter
from mirror.errors import MirrorError
from mirror.escape import escape
from mirror.keys import fold

_LINE = re.compile(
    r"^(?P<bullet>\s{0,3}[-*+]\s+)(?P<box>\[[ xX]\]\s+)?(?P<body>.*?)(?P<comment>\s*<!-- f:(?P<key>[0-9a-f]{12})[^>]*-->)(?P<note>.*?)(?P<end>\r?)$"
)


def retract(page: str, key: str, reason: str, *, where: str) -> str:
    """``[ ]`` before the fact and the reason after its comment."""

    def change(match: re.Match[str]) -> str:
        note = f" {escape(reason)}" if reason else match["note"]
        return f"{match['bullet']}[ ] {match['body']}{match['comment']}{note}{match['end']}"

    return _change(page, key, change, where)


def restore(page: str, key: str, *, where: str) -> str:
    """``[x]`` before a retracted fact."""

    def change(match: re.Match[str]) -> str:
        return f"{match['bullet']}[x] {match['body']}{match['comment']}{match['note']}{match['end']}"

    return _change(page, key, change, where)


def _change(page: str, key: str, change: Callable[[re.Match[str]], str], where: str) -> str:
    lines = page.split("\n")
    found = [n for n, line in enumerate(lines) if (m := _LINE.match(line)) and m["key"] == key]
    if len(found) != 1:
        what = "no fact with this key" if not found else "more than one line with this key"
        raise MirrorError(
            what, where=f"{where}, key {key}", hint="look at the page, or run `console mirror sync` first"
        )
    match = _LINE.match(lines[found[0]])
    if match is not None:
        lines[found[0]] = change(match)
    return "\n".join(lines)


def set_status(page: str, status: str, reason: str, *, where: str) -> str:
    """The front matter's status, and why."""
    fields = {
        "status": frontmatter.quote(status),
        "reason": frontmatter.quote(fold(reason)) if reason else None,
    }
    return set_fields(page, fields, where=where)


def set_fields(page: str, fields: Mapping[str, str | None], *, where: str) -> str:
    """Front matter keys with written YAML values; None takes a key out."""
    lines = page.split("\n")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip("\r") == "---"), None)
    if lines[0].rstrip("\r") != "---" or end is None:
        raise MirrorError(
            "the page's front matter is broken",
            where=where,
            hint="run `console mirror sync` to have it written anew",
        )
    kept = [line for line in lines[1:end] if line.split(":")[0] not in fields]
    kept += [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\n".join(["---", *kept, *lines[end:]])

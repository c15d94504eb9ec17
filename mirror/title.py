"""The first line of a text that means something: a page's title, a chunk's line."""

from __future__ import annotations

import json
import re

from mirror.keys import fold
from mirror.textfile import width

COLUMNS = 72
_ROLE = re.compile(r"\s*\[role:\s*([\w-]+)\]\s*(.*)\Z", re.IGNORECASE)
_ROLE_LINE = re.compile(
    r"\s*(?:\*\*)?(user|human|assistant|system|tool)(?:\*\*)?\s*:(?:\*\*)?\s*(.*)\Z", re.IGNORECASE
)
_FENCE = re.compile(r"\s*(```|~~~)")
_NOISE = re.compile(r"\s*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?|>\s*|\d{1,3}[.)]\s+)+")
_SCAN = 20_000
"""Characters that are looked at: a title further down is no title."""


def title(text: str) -> str:
    """At most 72 columns; '' where the text has no word at all."""
    head = text[:_SCAN]
    spoken = _from_json(text) or _first_user(head)
    for line in (spoken or "").split("\n"):
        if found := _meaning(line):
            return clip(found)
    return clip(meaningful_line(head))


def meaningful_line(text: str) -> str:
    """The first line that is no front matter, fence, role marker or rule; whole."""
    lines = text[:_SCAN].split("\n")
    start = 0
    if lines[0].rstrip() == "---":
        closing = next((n for n, line in enumerate(lines[1:60], 1) if line.rstrip() in ("---", "...")), 0)
        start = closing + 1 if closing else 0
    for line in lines[start:]:
        if _FENCE.match(line):
            continue
        marker = _ROLE.match(line) or _ROLE_LINE.match(line)
        if found := _meaning(marker[2] if marker else line):
            return found
    return next((found for line in lines if (found := fold(line))), "")


def clip(text: str, columns: int = COLUMNS) -> str:
    """Cut at a blank where one is near, with an ellipsis."""
    text = fold(text)
    if width(text) <= columns:
        return text
    room = columns - 1
    end = 0
    if text.isascii():
        end = room
    else:
        while (room := room - width(text[end])) >= 0:
            end += 1
    blank = text.rfind(" ", 0, end)
    if blank > end * 2 // 3:
        end = blank
    return text[:end].rstrip() + "…"


def _meaning(line: str) -> str:
    found = fold(_NOISE.sub("", line, count=1) if _NOISE.match(line) else line)
    return found if any(c.isalnum() for c in found) else ""


def _first_user(text: str) -> str | None:
    """The first user message of a transcript with role markers."""
    if "role:" not in text and not re.match(
        r"\s*(?:\*\*)?(?:user|human|assistant|system)(?:\*\*)?\s*:", text, re.IGNORECASE
    ):
        return None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        marker = _ROLE.match(line) or _ROLE_LINE.match(line)
        if marker and marker[1].lower() in ("user", "human"):
            body = [marker[2]]
            for following in lines[number + 1 : number + 40]:
                if _ROLE.match(following) or _ROLE_LINE.match(following):
                    break
                if not _FENCE.match(following):
                    body.append(following)
            return "\n".join(body)
    return None


def _from_json(text: str) -> str | None:
    """The first user message of a transcript that is a JSON list of messages."""
    start = text.lstrip()[:1]
    if start != "[" or '"role"' not in text[:_SCAN] or len(text) > 2_000_000:
        return None
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict) and isinstance(block.get("text"), str):
                    return str(block["text"])
    return None

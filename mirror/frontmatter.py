"""A page's front matter: our own writer, a safe reader.

Written: keys sorted, every string double-quoted with YAML's own escapes (JSON strings are not YAML strings,
measured), lists and maps inside a line except ``metadata``, which is a block map because formatters disagree on
``{ "a": 1 }``. Read back as plain text, so that ``no``, ``1e3`` and ``2026-12-01`` stay what a person typed;
aliases, duplicate keys, other shapes and more than 64 KiB are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from mirror.textfile import HIDDEN

LIMIT = 64 * 1024
_QUOTE = re.compile(rf'["\\\t\n\r]|{HIDDEN}|[\ufdd0-\ufdef]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}

Value = str | list[Any] | dict[str, Any]


def quote(text: str) -> str:
    """A double-quoted YAML string on one line."""
    return f'"{_QUOTE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def flow(value: Any) -> str:
    """Any plain value inside one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quote(str(k))}: {flow(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return quote("" if value is None else str(value))


def write(fields: Mapping[str, Any]) -> str:
    """The block with its two ``---`` lines; keys whose value is None are left out."""
    lines = ["---"]
    for key in sorted(fields):
        value = fields[key]
        if value is None:
            continue
        if key == "metadata":
            lines.append("metadata:")
            lines += [f"  {quote(str(k))}: {flow(v)}" for k, v in sorted(value.items())]
        else:
            lines.append(f"{key}: {flow(value)}")
    lines.append("---")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """``fields`` None: it cannot be read, ``problem`` says why. ``lines``: how many lines it takes, fences included."""

    fields: dict[str, Value] | None
    lines: int = 0
    problem: str = ""


def read(text: str) -> FrontMatter:
    """The front matter at the start of a page (LF line ends)."""
    if not text.startswith("---\n"):
        return FrontMatter(None, problem="there is no front matter")
    end = text.find("\n---\n", 3)
    if end < 0:
        return FrontMatter(None, problem="the front matter has no end")
    block = text[4 : end + 1]
    lines = block.count("\n") + 2
    if len(block.encode("utf-8", "surrogatepass")) > LIMIT:
        return FrontMatter(None, lines, "the front matter is larger than 64 KiB")
    try:
        node = _compose(block)
        if not isinstance(node, yaml.MappingNode):
            raise _Refused("the front matter is not a list of keys")
        value = _plain(node, set(), 0)
    except _Refused as error:
        return FrontMatter(None, lines, str(error))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        return FrontMatter(None, lines, f"the front matter is not YAML{where}")
    return FrontMatter(value if isinstance(value, dict) else None, lines)


class _Refused(Exception):
    pass


def _compose(block: str) -> yaml.Node | None:
    fast = getattr(yaml, "CSafeLoader", None)
    if fast is not None:
        try:
            return yaml.compose(block, Loader=fast)
        except (yaml.YAMLError, ValueError):
            pass  # the C loader knows no lone surrogates: the pure one decides
    return yaml.compose(block, Loader=yaml.SafeLoader)


def _plain(node: yaml.Node, seen: set[int], depth: int) -> Value:
    if id(node) in seen or depth > 20:
        raise _Refused("the front matter uses aliases or is nested too deep")
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, seen, depth + 1) for item in node.value]
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = _plain(key, seen, depth + 1)
        if not isinstance(name, str):
            raise _Refused("a key of the front matter is not text")
        if name in found:
            raise _Refused(f"the front matter has the key {name!r} twice")
        found[name] = _plain(value, seen, depth + 1)
    return found

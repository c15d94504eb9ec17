"""The block between two ``---`` at the head of a page: our own writer, and a reader that trusts nobody.

The writer quotes every string, because YAML reads ``no``, ``1_000``, ``2024-01-01`` and ``12:30:45`` as something
else; its escapes are those that PyYAML's pure and C loaders both take (JSON strings are not YAML strings).
The reader gives strings for everything but ``true``, ``false`` and plain whole or decimal numbers, whoever
wrote it; it builds no object, follows no alias and nests no deeper than ``DEPTH``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from mirror.errors import BadPage
from mirror.textfile import HIDDEN

LIMIT = 64 * 1024
"""Bytes of a block that is read."""
DEPTH = 16
FENCE = "---"

_BARE_KEY = re.compile(r"[a-z][a-z0-9_]*")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?")
# Surrogates have no YAML escape that the C loader takes; the bracket that writes them is written so itself.
_BRACKETED = re.compile("[\u27e6\ud800-\udfff]")
_UNBRACKET = re.compile("\u27e6U\\+(27E6|D[89A-F][0-9A-F]{2})\u27e7")
_ESCAPE = re.compile(f'[\\\\"\\n\\t]|{HIDDEN}')
_NAMED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def quote(text: str) -> str:
    """A double-quoted scalar on one line, without any character that hides."""
    if text.isascii() and text.isprintable() and "\\" not in text and '"' not in text:
        return f'"{text}"'
    text = _BRACKETED.sub(lambda match: f"\u27e6U+{ord(match[0]):04X}\u27e7", text)
    return f'"{_ESCAPE.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    number = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def write(values: Mapping[str, Any]) -> str:
    """The whole block with both fences and a last newline; keys sorted, None left out."""
    lines = [FENCE]
    for key in sorted(values):
        if values[key] is not None:
            name = key if _BARE_KEY.fullmatch(key) else quote(key)
            lines += _entry(name, values[key], "")
    return "\n".join([*lines, FENCE, ""])


def _entry(name: str, value: Any, indent: str) -> Iterator[str]:
    inline = _inline(value)
    if inline is not None:
        yield f"{indent}{name}: {inline}"
        return
    yield f"{indent}{name}:"
    yield from _block(value, f"{indent}  ")


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in sorted((str(k), v) for k, v in value.items()):
            if item is not None:
                yield from _entry(quote(key), item, indent)
        return
    for item in value:
        if item is None:
            continue
        inline = _inline(item)
        if inline is not None:
            yield f"{indent}- {inline}"
            continue
        lines = list(_block(item, f"{indent}  "))
        yield f"{indent}- {lines[0].lstrip(' ')}"
        yield from lines[1:]


def _inline(value: Any) -> str | None:
    """The value on one line; None for what needs a block."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if _INTEGER.fullmatch(str(value)) else quote(str(value))
    if isinstance(value, float):
        written = repr(value)
        return written if _FLOAT.fullmatch(written) else quote(written)
    if isinstance(value, Mapping):
        return None if any(item is not None for item in value.values()) else "{}"
    if isinstance(value, Sequence):
        items = [item for item in value if item is not None]
        if any(
            isinstance(item, Mapping) or (isinstance(item, Sequence) and not isinstance(item, str))
            for item in items
        ):
            return None
        return f"[{', '.join(_inline(item) or '' for item in items)}]"
    return quote(str(value))


def split(lines: Sequence[str]) -> int | None:
    """Number of lines that the block takes, fences included; None where no block begins or ends."""
    if not lines or lines[0].rstrip() != FENCE:
        return None
    for number in range(1, len(lines)):
        if lines[number].rstrip() in (FENCE, "..."):
            return number + 1
    return None


def read(lines: Sequence[str], *, where: str = "front matter") -> dict[str, Any]:
    """The values of the lines between the fences. Raises BadPage, ``where`` with the line of the page."""
    text = "\n".join(lines)
    if len(text.encode("utf-8", "surrogatepass")) > LIMIT:
        raise BadPage("front matter is over 64 KiB", where=f"{where}:1", hint="restore it from git history")
    try:
        return _Reader(text, where).mapping()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 2
        problem = getattr(error, "problem", None) or "it holds a character that YAML does not allow"
        raise BadPage(
            f"front matter is not YAML: {problem}",
            where=f"{where}:{line}",
            hint="restore it from git history",
        ) from error


class _Reader:
    """Builds plain values from parse events, so that aliases and types of YAML never come up."""

    def __init__(self, text: str, where: str) -> None:
        self.events = yaml.parse(text, Loader=_LOADER)
        self.where = where

    def mapping(self) -> dict[str, Any]:
        for event in self.events:
            if isinstance(event, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
                continue
            if isinstance(event, yaml.StreamEndEvent):
                return {}
            value = self.value(event, 0)
            if not isinstance(value, dict):
                raise self.bad(event, "front matter is not a list of `key: value`")
            for rest in self.events:
                if isinstance(rest, yaml.DocumentStartEvent):
                    raise self.bad(rest, "front matter holds a second document")
            return value
        return {}

    def bad(self, event: Any, problem: str) -> BadPage:
        return BadPage(
            problem, where=f"{self.where}:{event.start_mark.line + 2}", hint="restore it from git history"
        )

    def value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.bad(event, "front matter holds an anchor or alias")
        if depth > DEPTH:
            raise self.bad(event, "front matter is nested too deeply")
        if getattr(event, "tag", None) not in (None, "!"):
            raise self.bad(event, "front matter holds a YAML tag")
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value, quoted=event.style is not None)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            for item in self.events:
                if isinstance(item, yaml.SequenceEndEvent):
                    return items
                items.append(self.value(item, depth + 1))
        found: dict[str, Any] = {}
        for key_event in self.events:
            if isinstance(key_event, yaml.MappingEndEvent):
                break
            if not isinstance(key_event, yaml.ScalarEvent):
                raise self.bad(key_event, "front matter has a key that is not a word")
            if key_event.anchor or key_event.tag not in (None, "!"):
                raise self.bad(key_event, "front matter holds an anchor or tag")
            key = _text(key_event.value)
            if key in found:
                raise self.bad(key_event, f"front matter has the key {key!r} twice")
            found[key] = self.value(next(self.events), depth + 1)
        return found


def _scalar(text: str, *, quoted: bool) -> Any:
    if quoted:
        return _text(text)
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _text(text: str) -> str:
    return _UNBRACKET.sub(lambda match: chr(int(match[1], 16)), text) if "\u27e6" in text else text

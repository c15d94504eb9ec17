"""A text -> its blocks: what is prose, a list item, a table row, code, or only layout.

Pure and line by line. Every block knows where it starts in the text, so that a fact finds its chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_MARKER = re.compile(r"^\s*\[(?:role:\s*([\w .-]{1,40})|([\w.-]{1,40}):end)\]\s*$", re.IGNORECASE)
_ROLE = r"user|assistant|system|human|ai|agent|tool|developer|bot|model"
_TURN = re.compile(rf"^\s*(?:\*\*)?({_ROLE})(?:\*\*)?\s*[:：](?:\*\*)?(?:\s+|$)", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r"^\s{0,3}(?:([-*_=~])\s*)(?:\1\s*){2,}$")
_ITEM = re.compile(r"^\s*(?:[-*+•·]|\d{1,3}[.)]|[a-z][)])\s+(?:\[[ xX-]\]\s+)?(?=\S)")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*$")
_LABELLED = re.compile(r"^\s*[\w .-]{1,30}[:：=]\s")
_COMMENT = re.compile(r"<!--.*?-->")
_ONLY_TAGS = re.compile(r"^\s*(?:</?[a-zA-Z][^>]*>\s*)+$")
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
_CJK_END = re.compile(f"[{_CJK}]$")
_CJK_START = re.compile(f"^[{_CJK}]")

WRAPPED = 45
"""A line shorter than this was not wrapped by an editor: the next one starts a new statement when it
looks like a start."""
WRAPPED_CJK = 10


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """prose, item, row, code or heading."""
    text: str
    start: int
    """Offset of its first character in the document."""
    speaker: str = ""
    """Lower-case role of the chat turn that it stands in; '' outside a transcript."""


def blocks(text: str) -> Iterator[Block]:
    """In reading order."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.speaker = ""
        self.kind = "prose"
        self.lines: list[str] = []
        self.start = 0
        self.header: list[str] | None = None

    def read(self) -> Iterator[Block]:
        fence = ""
        code: list[str] = []
        code_start = 0
        for offset, line in self._lines():
            marker = _MARKER.match(line)
            if fence:
                closing = _FENCE.match(line)
                closes = (
                    closing is not None and closing[1].startswith(fence) and not line.strip().strip(fence[0])
                )
                if marker is None:
                    code.append(line)
                    if not closes:
                        continue
                yield Block("code", "\n".join(code), code_start, self.speaker)
                fence, code = "", []
                if marker is None:
                    continue
            if marker is not None:
                yield from self._flush()
                self.speaker = (marker[1] or "").strip().lower()
                continue
            opening = _FENCE.match(line)
            if opening is not None:
                yield from self._flush()
                fence, code, code_start = opening[1], [line], offset
                continue
            yield from self._line(line, offset)
        if code:
            yield Block("code", "\n".join(code), code_start, self.speaker)
        yield from self._flush()

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Lines ended by LF, CRLF or CR, without the front matter."""
        position = _front_matter_end(self.text)
        for line in self.text[position:].splitlines(keepends=True):
            yield position, line.rstrip("\r\n")
            position += len(line)

    def _line(self, line: str, offset: int) -> Iterator[Block]:
        line = _COMMENT.sub("", line)
        quote = _QUOTE.match(line)
        if quote is not None:
            offset += quote.end()
            line = line[quote.end() :]
        if not line.strip() or _ONLY_TAGS.match(line):
            yield from self._flush()
            self.header = None
            return
        if _RULE.match(line) or _TABLE_RULE.match(line):
            if line.strip()[0] in "=-" and self.kind == "prose" and len(self.lines) == 1 and "|" not in line:
                self.kind = "heading"  # underlined
            yield from self._flush()
            return
        heading = _HEADING.match(line)
        if heading is not None:
            yield from self._flush()
            if heading[1]:
                yield Block("heading", heading[1], offset, self.speaker)
            return
        if _TABLE.match(line):
            yield from self._flush()
            yield from self._row(line, offset)
            return
        turn = _TURN.match(line)
        if turn is not None:
            yield from self._flush()
            self.speaker = turn[1].lower()
            offset += turn.end()
            line = line[turn.end() :]
            if not line.strip():
                return
        item = _ITEM.match(line)
        if item is not None:
            yield from self._flush()
            self.kind = "item"
            offset += item.end()
            line = line[item.end() :]
        elif self.lines and self._starts_anew(line):
            yield from self._flush()
        if not self.lines:
            self.start = offset + len(line) - len(line.lstrip())
        self.lines.append(line.strip())

    def _starts_anew(self, line: str) -> bool:
        """Whether a line in the same paragraph is a statement of its own rather than wrapped text."""
        before = self.lines[-1]
        if self.kind == "item":
            return not line[:1].isspace() and len(before) < WRAPPED
        if _LABELLED.match(before) and _LABELLED.match(line):
            return True
        if _CJK_END.search(before) and _CJK_START.match(line):
            return len(before) < WRAPPED_CJK or before[-1] in "。！？；"
        first = line.lstrip()[0]
        return len(before) < WRAPPED and not first.islower() and first not in ",;)]}"

    def _row(self, line: str, offset: int) -> Iterator[Block]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if self.header is None:
            self.header = cells
            return
        named = zip(self.header, cells, strict=False)
        told = "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        if told:
            yield Block("row", told, offset, self.speaker)

    def _flush(self) -> Iterator[Block]:
        if self.lines:
            yield Block(self.kind, _joined(self.lines), self.start, self.speaker)
        self.lines = []
        self.kind = "prose"


def _joined(lines: list[str]) -> str:
    """Wrapped lines as one: with a blank, except between two CJK characters."""
    text = lines[0]
    for line in lines[1:]:
        glue = "" if _CJK_END.search(text) and _CJK_START.match(line) else " "
        text += glue + line
    return text


def _front_matter_end(text: str) -> int:
    """Where the text starts behind a YAML front matter; 0 without one."""
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---\n", 3, 20_000)
    if end == -1:
        return 0
    inside = text[4:end].splitlines()
    looks = all(re.match(r"^(?:[\w\"'-][^:]*:(?:\s|$)|\s|#|-\s|$)", line) for line in inside)
    return end + 5 if looks else 0

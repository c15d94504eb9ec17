"""Long text drawn line by line, so that a document of ten megabytes scrolls like one of ten lines.

Only this widget wraps; large texts are wrapped in a thread, and a wrap that was overtaken is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.worker import Worker

from console.tui.actions import bindings
from console.tui.cells import block, fit, wrap

LABEL = 13
"""Cells of the label column."""
IN_LOOP = 50_000
"""Characters that are wrapped at once; wrapping this many takes about 10 ms."""
LOOKS = ("dim", "accent", "good", "warn", "bad", "title")


@dataclass(frozen=True)
class Part:
    """A piece of text from anywhere (it is neutralised here), with an optional label before it."""

    text: str
    look: str = ""
    label: str = ""


@dataclass(frozen=True)
class _Line:
    text: str
    look: str
    lead: str


def _lines(parts: Sequence[Part], width: int, numbered: bool) -> list[_Line]:
    lines: list[_Line] = []
    for part in parts:
        text = block(part.text)
        if numbered:
            paragraphs = text.split("\n")
            digits = len(str(len(paragraphs)))
            for number, paragraph in enumerate(paragraphs, 1):
                for index, piece in enumerate(wrap(paragraph, width - digits - 2)):
                    lead = str(number).rjust(digits) if index == 0 else " " * digits
                    lines.append(_Line(piece, part.look, lead + "  "))
        elif part.label:
            for index, piece in enumerate(wrap(text, width - LABEL)):
                lines.append(_Line(piece, part.look, fit(part.label if index == 0 else "", LABEL)))
        else:
            lines.extend(_Line(piece, part.look, "") for piece in wrap(text, width))
    return lines


class TextView(ScrollView, can_focus=True):
    BINDINGS: ClassVar = bindings("text")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"text--lead", *(f"text--{look}" for look in LOOKS)}

    def __init__(
        self,
        *,
        numbered: bool = False,
        id: str | None = None,
        classes: str | None = None,
        focusable: bool = True,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.can_focus = focusable
        self._numbered = numbered
        self._parts: tuple[Part, ...] = ()
        self._drawn: list[_Line] = []
        self._width = 0
        self._wrapping: Worker[None] | None = None

    @property
    def plain(self) -> str:
        """What is shown, as text."""
        return "\n".join((line.lead + line.text).rstrip() for line in self._drawn)

    def show(self, *parts: Part) -> None:
        """Replace the text and scroll to its top."""
        self._parts = parts
        self._arrange()
        self.scroll_to(y=0, animate=False)

    def _arrange(self) -> None:
        width = self.scrollable_content_region.width
        self._width = width
        if width <= 0:
            return
        if self._wrapping is not None:
            self._wrapping.cancel()
            self._wrapping = None
        if sum(len(part.text) for part in self._parts) <= IN_LOOP:
            self._set(_lines(self._parts, width, self._numbered))
        else:
            self._set([_Line("laying out …", "dim", "")])
            self._wrapping = self.run_worker(partial(self._arrange_aside, self._parts, width), group="wrap")

    async def _arrange_aside(self, parts: tuple[Part, ...], width: int) -> None:
        lines = await asyncio.to_thread(_lines, parts, width, self._numbered)
        if parts is self._parts and width == self._width:
            self._set(lines)

    def _set(self, lines: list[_Line]) -> None:
        self._drawn = lines
        self.virtual_size = Size(self._width, len(lines))
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        if self.scrollable_content_region.width != self._width:
            self._arrange()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        base = self.rich_style
        index = self.scroll_offset.y + y
        if index >= len(self._drawn):
            return Strip.blank(width, base)
        line = self._drawn[index]
        segments = []
        if line.lead:
            segments.append(
                Segment(line.lead, base + self.get_component_rich_style("text--lead", partial=True))
            )
        style = base
        if line.look:
            style = base + self.get_component_rich_style(f"text--{line.look}", partial=True)
        segments.append(Segment(line.text, style))
        return Strip(segments).adjust_cell_length(width, base)

    def _go(self, y: float) -> None:
        self.scroll_to(y=max(0, y), animate=False)

    def action_up(self) -> None:
        self._go(self.scroll_y - 1)

    def action_down(self) -> None:
        self._go(self.scroll_y + 1)

    def action_first(self) -> None:
        self._go(0)

    def action_last(self) -> None:
        self._go(self.max_scroll_y)

    def action_page_up(self) -> None:
        self._go(self.scroll_y - max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        self._go(self.scroll_y + max(1, self.size.height - 1))

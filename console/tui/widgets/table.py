"""The one table: draws only the lines on the screen and holds only the rows near them.

Promise: whatever the total, the table holds at most ``KEEP`` pages of ``PAGE`` rows, asks its source only
for pages that touch the view (and half a screen around it), cancels a request that the view has left, and
keeps its selection by id when rows are loaded again. An answer of an older source is never shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.worker import Worker

from console.memory.errors import StoreError
from console.tui.actions import bindings
from console.tui.asking import guarded
from console.tui.cells import count, fit
from console.tui.rows import Batch, Column, Row, Source, layout

PAGE = 50
KEEP = 6
SETTLE = 0.03
"""Seconds that a scroll must rest before it asks for rows: a dragged scroll bar passes over thousands."""
GAP = "  "
LOOKS = ("dim", "accent", "good", "warn", "bad")


class Table(ScrollView, can_focus=True):
    BINDINGS: ClassVar = bindings("table")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "table--header",
        "table--cursor",
        "table--cursor-blurred",
        "table--waiting",
        *(f"table--{look}" for look in LOOKS),
    }

    @dataclass
    class Highlighted(Message):
        """Another row is selected, or none."""

        table: Table
        row: Row | None

        @property
        def control(self) -> Table:
            return self.table

    @dataclass
    class Chosen(Message):
        """A row was double-clicked. The enter key belongs to the screen."""

        table: Table
        row: Row

        @property
        def control(self) -> Table:
            return self.table

    @dataclass
    class Loaded(Message):
        """Rows arrived; the total may have changed."""

        table: Table

        @property
        def control(self) -> Table:
            return self.table

    @dataclass
    class Failed(Message):
        """The source could not answer; :meth:`Table.reload` asks again."""

        table: Table
        error: StoreError

        @property
        def control(self) -> Table:
            return self.table

    def __init__(
        self, columns: Sequence[Column], *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._source: Source | None = None
        self._generation = 0
        self._pages: dict[int, tuple[Row, ...]] = {}
        self._pending: dict[int, Worker[None]] = {}
        self._failed: set[int] = set()
        self._reloading: Worker[None] | None = None
        self._settle: Timer | None = None
        self.total: int | None = None
        """Rows in all; None until the source has answered."""
        self.estimate = False
        self.cursor = 0
        self._cursor_id: str | None = None

    # What others ask ----------------------------------------------------------------------------------

    @property
    def selected(self) -> Row | None:
        return self.row_at(self.cursor)

    def row_at(self, index: int) -> Row | None:
        rows = self._pages.get(index // PAGE, ())
        place = index % PAGE
        return rows[place] if 0 <= place < len(rows) else None

    @property
    def held(self) -> int:
        """Rows in memory now."""
        return sum(len(rows) for rows in self._pages.values())

    @property
    def position(self) -> str:
        """``500 of 12,041``."""
        if self.total is None:
            return "loading …"
        if not self.total:
            return "nothing"
        about = "about " if self.estimate else ""
        return f"{count(self.cursor + 1)} of {about}{count(self.total)}"

    def visible_rows(self) -> list[Row]:
        top = self.scroll_offset.y
        rows = (self.row_at(index) for index in range(top, top + max(0, self.size.height - 1)))
        return [row for row in rows if row is not None]

    def set_source(self, source: Source | None, *, select: str | None = None, after: float = 0.0) -> None:
        """Show another source from its start; the old rows stay until the first answer.

        ``after``: seconds to wait first, so that fast typing asks once.
        """
        self.cancel()
        self._generation += 1
        self._source = source
        self._failed.clear()
        self._cursor_id = select
        if source is None:
            self._show({}, 0, False, scroll=0)
            return
        self._reloading = self.run_worker(
            partial(self._load, self._generation, from_start=True, after=after), group="table"
        )

    def reload(self) -> None:
        """Ask for the rows in view again; the selection stays on its id."""
        if self._source is None:
            return
        self.cancel()
        self._generation += 1
        self._failed.clear()
        self._reloading = self.run_worker(
            partial(self._load, self._generation, from_start=self.total is None), group="table"
        )

    def cancel(self) -> None:
        """Stop every request: the view is being left."""
        if self._settle is not None:
            self._settle.stop()
            self._settle = None
        if self._reloading is not None:
            self._reloading.cancel()
            self._reloading = None
        for worker in self._pending.values():
            worker.cancel()
        self._pending.clear()

    def resume(self) -> None:
        """Ask for what is missing in the view."""
        if self.total is None:
            self.reload()
        else:
            self._ask_for_view()

    def replace_row(self, row: Row) -> None:
        """Draw one row anew, without a request."""
        for number, rows in self._pages.items():
            for place, old in enumerate(rows):
                if old.id == row.id:
                    self._pages[number] = (*rows[:place], row, *rows[place + 1 :])
                    self.refresh()
                    return

    # Loading --------------------------------------------------------------------------------------------

    def _wanted(self) -> range:
        height = max(1, self.size.height or 24)
        top = self.scroll_offset.y
        last = top + height + height // 2
        if self.total is not None:
            last = min(last, max(0, self.total - 1))
        first = max(0, min(top - height // 2, last))
        return range(first // PAGE, last // PAGE + 1)

    async def _load(self, generation: int, *, from_start: bool, after: float = 0.0) -> None:
        source = self._source
        assert source is not None
        if after:
            await asyncio.sleep(after)
        pages: dict[int, tuple[Row, ...]] = {}
        batch = Batch((), 0)
        try:
            for number in range(1) if from_start else self._wanted():
                batch = await guarded(source.page(number * PAGE, PAGE))
                pages[number] = batch.rows
        except StoreError as error:
            if generation == self._generation:
                self._reloading = None
                self.post_message(self.Failed(self, error))
            return
        if generation != self._generation:
            return
        self._reloading = None
        self._show(pages, batch.total, batch.estimate, scroll=0 if from_start else None)

    def _show(
        self, pages: dict[int, tuple[Row, ...]], total: int, estimate: bool, *, scroll: int | None
    ) -> None:
        self._pages, self.total, self.estimate = pages, total, estimate
        self.virtual_size = Size(self.size.width, total + 1)
        found = next(
            (
                number * PAGE + place
                for number, rows in pages.items()
                for place, row in enumerate(rows)
                if row.id == self._cursor_id
            ),
            None,
        )
        if scroll is not None:
            self.cursor = found or 0
            self.scroll_to(y=scroll, animate=False)
        elif found is not None:
            # The selection keeps its place on the screen when rows came or went above it.
            moved = found - self.cursor
            self.cursor = found
            if moved:
                self.scroll_to(y=max(0, self.scroll_offset.y + moved), animate=False)
        self.cursor = max(0, min(self.cursor, total - 1))
        self._reveal()
        self._selection_changed()
        self.refresh()
        self.post_message(self.Loaded(self))
        self._ask_for_view()

    def _ask_for_view(self) -> None:
        self._settle = None
        if self._source is None or self.total is None or self._reloading is not None:
            return
        wanted = self._wanted() if self.total else range(0)
        for number in [number for number in self._pending if number not in wanted]:
            self._pending.pop(number).cancel()
        for number in wanted:
            if number not in self._pages and number not in self._pending and number not in self._failed:
                self._pending[number] = self.run_worker(
                    partial(self._fetch, self._generation, number), group="table"
                )
        if len(self._pages) > KEEP:
            middle = (wanted.start + wanted.stop) / 2
            for number in sorted(self._pages, key=lambda at: abs(at - middle))[KEEP:]:
                del self._pages[number]

    async def _fetch(self, generation: int, number: int) -> None:
        source = self._source
        assert source is not None
        try:
            batch = await guarded(source.page(number * PAGE, PAGE))
        except StoreError as error:
            if generation == self._generation:
                self._pending.pop(number, None)
                self._failed.add(number)
                self.post_message(self.Failed(self, error))
            return
        if generation != self._generation:
            return
        self._pending.pop(number, None)
        self._pages[number] = batch.rows
        if batch.total != self.total:
            self.total = batch.total
            self.virtual_size = Size(self.size.width, batch.total + 1)
            self.cursor = max(0, min(self.cursor, batch.total - 1))
        if self.cursor // PAGE == number:
            self._selection_changed()
        self.refresh()
        self.post_message(self.Loaded(self))
        self._ask_for_view()

    # Moving ---------------------------------------------------------------------------------------------

    def move(self, index: int) -> None:
        """Select the row at ``index`` and bring it into view."""
        if not self.total:
            return
        self.cursor = max(0, min(index, self.total - 1))
        self._reveal()
        self._selection_changed()
        self.refresh()

    def _reveal(self) -> None:
        rows = max(1, self.size.height - 1)
        top = self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + rows:
            self.scroll_to(y=self.cursor - rows + 1, animate=False)

    def _selection_changed(self) -> None:
        row = self.selected
        if row is not None:
            self._cursor_id = row.id
        self.post_message(self.Highlighted(self, row))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            if self._settle is not None:
                self._settle.stop()
            self._settle = self.set_timer(SETTLE, self._ask_for_view)

    def on_resize(self, event: events.Resize) -> None:
        if self.total is not None:
            self.virtual_size = Size(event.size.width, self.total + 1)
            self._reveal()
            self._ask_for_view()

    def action_up(self) -> None:
        self.move(self.cursor - 1)

    def action_down(self) -> None:
        self.move(self.cursor + 1)

    def action_first(self) -> None:
        self.move(0)

    def action_last(self) -> None:
        self.move((self.total or 1) - 1)

    def action_page_up(self) -> None:
        self.move(self.cursor - max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        self.move(self.cursor + max(1, self.size.height - 2))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y < 1:
            return
        index = self.scroll_offset.y + offset.y - 1
        if index < (self.total or 0):
            self.move(index)
            row = self.selected
            if event.chain == 2 and row is not None:
                self.post_message(self.Chosen(self, row))

    # Drawing --------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            return self._header(width)
        index = self.scroll_offset.y + y - 1
        base = self.rich_style
        if index >= (self.total or 0):
            return Strip.blank(width, base)
        here = index == self.cursor
        if here:
            base += self._look("cursor" if self.has_focus else "cursor-blurred")
        row = self.row_at(index)
        if row is None:
            return Strip([Segment(fit("  ·", width), base + self._look("waiting"))], width)
        # The bar shows the selection where there are no colours.
        segments = [Segment("▌ " if here else "  ", base)]
        for column, size, cell in zip(
            self._columns, layout(self._columns, width - 3), row.cells, strict=False
        ):
            if not size:
                continue
            style = base + self._look(cell.look) if cell.look else base
            if row.struck:
                style += Style(strike=True)
            segments.append(Segment(fit(cell.text, size, right=column.right), style))
            segments.append(Segment(GAP, base))
        return Strip(segments).adjust_cell_length(width, base)

    def _header(self, width: int) -> Strip:
        style = self.rich_style + self._look("header")
        segments = [Segment("  ", style)]
        for column, size in zip(self._columns, layout(self._columns, width - 3), strict=True):
            if size:
                segments.append(Segment(fit(column.title, size, right=column.right) + GAP, style))
        return Strip(segments).adjust_cell_length(width, style)

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(f"table--{name}", partial=True)

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.refresh()

"""The windowed table: what it asks for, what it holds, what it keeps selected."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.app import ComposeResult
from textual.pilot import Pilot

import console.tui.app
from console.memory.errors import StoreError, Unavailable
from console.tui.app import ConsoleApp
from console.tui.history import Place
from console.tui.rows import Batch, Cell, Column, Row, layout
from console.tui.screens.base import ConsoleScreen
from console.tui.widgets.table import KEEP, PAGE, Table
from tests.tui.conftest import settle
from tests.tui.fake import FakeStore


class Numbers:
    """Rows ``n0`` … that remember which of them were asked for."""

    def __init__(self, total: int) -> None:
        self.ids = [f"n{index}" for index in range(total)]
        self.asked: list[tuple[int, int]] = []
        self.gate: asyncio.Event | None = None
        self.error: StoreError | None = None

    async def page(self, offset: int, limit: int) -> Batch:
        self.asked.append((offset, limit))
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        ids = self.ids[offset : offset + limit]
        return Batch(tuple(Row(name, (Cell(name),)) for name in ids), len(self.ids))


class TableScreen(ConsoleScreen):
    def __init__(self, source: Numbers) -> None:
        super().__init__(Place("banks"))
        self.source = source

    def compose_body(self) -> ComposeResult:
        yield Table([Column("NAME", 10, weight=1)])

    def load(self) -> None:
        table = self.query_one(Table)
        table.focus()
        table.set_source(self.source)


class TableApp(ConsoleApp):
    CSS_PATH = Path(console.tui.app.__file__).with_name("app.tcss")

    def __init__(self, source: Numbers) -> None:
        super().__init__(FakeStore(), theme="console-dark")
        self.source = source

    def _screen_of(self, place: Place) -> ConsoleScreen:
        return TableScreen(self.source)

    @property
    def table(self) -> Table:
        return self.screen.query_one(Table)


def rows_asked(source: Numbers) -> int:
    return sum(limit for _, limit in source.asked)


async def test_of_100_000_rows_only_those_near_the_view_are_asked_for() -> None:
    source = Numbers(100_000)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert app.table.total == 100_000
        assert rows_asked(source) <= 2 * PAGE
        source.asked.clear()
        await pilot.press("G")
        await settle(pilot)
        assert app.table.selected is not None and app.table.selected.id == "n99999"
        assert rows_asked(source) <= 2 * PAGE
        assert min(offset for offset, _ in source.asked) >= 99_900 - PAGE


async def test_memory_is_bounded_while_everything_is_scrolled_through() -> None:
    source = Numbers(2_000)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for _ in range(50):
            await pilot.press("pagedown")
            await pilot.pause(0.03)
            assert app.table.held <= (KEEP + 2) * PAGE
        await settle(pilot)
        assert app.table.cursor > 900
        assert app.table.selected is not None


async def test_a_dragged_scroll_bar_asks_only_where_it_rests() -> None:
    source = Numbers(100_000)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        source.asked.clear()
        for y in range(0, 90_000, 1_000):
            app.table.scroll_to(y=y, animate=False)
        await pilot.pause(0.1)
        await settle(pilot)
        assert rows_asked(source) <= 3 * PAGE


async def test_a_request_that_the_view_has_left_is_cancelled() -> None:
    source = Numbers(10_000)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        source.gate = asyncio.Event()
        app.table.scroll_to(y=5_000, animate=False)
        await pilot.pause(0.1)
        left = dict(app.table._pending)
        assert left
        app.table.scroll_to(y=0, animate=False)
        await pilot.pause(0.1)
        assert all(worker.is_cancelled for worker in left.values())
        assert not app.table._pending


MOVES = [
    (["j"], 1),
    (["j", "j", "k"], 1),
    (["down", "down", "up"], 1),
    (["k"], 0),
    (["G"], 299),
    (["G", "j"], 299),
    (["G", "g"], 0),
    (["end", "home"], 0),
    (["pagedown", "pageup"], 0),
]


async def test_keys_move_the_selection() -> None:
    app = TableApp(Numbers(300))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for keys, expected in MOVES:
            app.table.move(0)
            await pilot.press(*keys)
            await settle(pilot)
            assert app.table.cursor == expected, keys
            assert app.table.selected is not None and app.table.selected.id == f"n{expected}", keys


async def test_the_selection_stays_on_its_id_when_rows_come_above_it() -> None:
    source = Numbers(300)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("j", "j", "j")
        source.ids[:0] = ["new1", "new2"]
        app.table.reload()
        await settle(pilot)
        assert app.table.selected is not None and app.table.selected.id == "n3"
        assert app.table.cursor == 5


async def test_a_row_that_went_leaves_the_selection_in_its_place() -> None:
    source = Numbers(4)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("G")
        del source.ids[3]
        app.table.reload()
        await settle(pilot)
        assert app.table.selected is not None and app.table.selected.id == "n2"
        assert app.table.position == "3 of 3"


async def test_an_answer_of_the_old_source_is_never_shown() -> None:
    old, new = Numbers(10), Numbers(3)
    old.gate = asyncio.Event()
    app = TableApp(old)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.table.set_source(new)
        old.gate.set()
        await settle(pilot)
        assert app.table.total == 3


async def test_an_error_is_said_and_reload_asks_again() -> None:
    source = Numbers(5)
    source.error = Unavailable("down", where="here")
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, ConsoleScreen)
        assert "down" in screen.error_shown
        source.error = None
        app.table.reload()
        await settle(pilot)
        assert app.table.total == 5


async def test_a_failed_page_is_not_asked_for_again_and_again() -> None:
    source = Numbers(1_000)
    app = TableApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        source.error = Unavailable("down", where="here")
        source.asked.clear()
        app.table.scroll_to(y=505, animate=False)
        await pilot.pause(0.1)
        for y in (506, 507, 508):
            app.table.scroll_to(y=y, animate=False)
            await pilot.pause(0.1)
        assert len(source.asked) == len(set(source.asked))


async def test_a_click_selects_and_the_wheel_scrolls() -> None:
    app = TableApp(Numbers(300))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.click(Table, offset=(5, 4))
        assert app.table.cursor == 3
        await _wheel(pilot, app.table)
        assert app.table.scroll_offset.y > 0


async def _wheel(pilot: Pilot[None], table: Table) -> None:
    table.action_scroll_down()
    await pilot.pause(0.3)


LAYOUTS = [
    ((Column("A", 10, weight=1), Column("B", 5)), 40, (33, 5)),
    ((Column("A", 10, weight=1), Column("B", 5, from_width=60)), 40, (40, 0)),
    ((Column("A", 4, weight=1), Column("B", 4, weight=3)), 50, (14, 34)),
    ((Column("A", 10, weight=1), Column("B", 5)), 8, (4, 5)),
]


def test_columns_share_the_width() -> None:
    for columns, width, expected in LAYOUTS:
        assert layout(columns, width) == expected, (columns, width)

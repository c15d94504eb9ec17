"""The list of banks."""

from __future__ import annotations

import pytest
from textual.widgets import Button, Input

from console.tui.screens.banks import BanksScreen
from console.tui.screens.dialogs import DeleteBank
from console.tui.widgets.text import TextView
from tests.tui.conftest import Opened, picture, settle, write
from tests.tui.fake import FakeStore


async def test_banks_are_listed_with_their_counts(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        shown = picture(pilot.app)
        assert "alpha" in shown and "gamma" in shown
        assert "1 of 3" in shown
        assert "3 world" in pilot.app.screen.query_one("#stats", TextView).plain


async def test_only_banks_in_view_are_counted(opened: Opened) -> None:
    store = FakeStore([f"bank-{index:03}" for index in range(500)])
    async with opened(store):
        assert len(store.asked("bank_stats")) <= 24
        assert sum(limit for _, limit, _ in store.asked("list_banks")) <= 100


async def test_typing_filters_and_escape_clears(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("slash", *"gam")
        await settle(pilot)
        assert "1 of 3 match" in picture(pilot.app)
        assert [q for q, *_ in store.asked("list_banks")][-1] == "gam"
        # Fast typing asks once, not once for each key.
        assert len(store.asked("list_banks")) == 2
        await pilot.press("escape")
        await settle(pilot)
        assert "1 of 3" in picture(pilot.app) and "match" not in picture(pilot.app)


async def test_enter_opens_the_documents_and_r_recall(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("enter")
        await settle(pilot)
        assert pilot.app.place_screen.place.kind == "documents"
        await pilot.press("b", "r")
        await settle(pilot)
        assert pilot.app.place_screen.place.kind == "recall"


async def test_a_bank_is_created_and_selected(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("n")
        await settle(pilot)
        await write(pilot, "zeta")
        await pilot.press("enter")
        await settle(pilot)
        assert store.asked("create_bank") == ["zeta"]
        screen = pilot.app.screen
        assert isinstance(screen, BanksScreen)
        assert screen.chosen is not None and screen.chosen.bank_id == "zeta"


@pytest.mark.parametrize("keys", [["escape"], ["tab", "tab", "enter"]])
async def test_creating_can_be_given_up(opened: Opened, store: FakeStore, keys: list[str]) -> None:
    async with opened(store) as pilot:
        await pilot.press("n")
        await settle(pilot)
        await write(pilot, "zeta")
        await pilot.press(*keys)
        await settle(pilot)
        assert store.asked("create_bank") == []
        assert isinstance(pilot.app.screen, BanksScreen)


async def test_deleting_says_what_is_lost_and_needs_the_name(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("D")
        await settle(pilot)
        assert isinstance(pilot.app.screen, DeleteBank)
        assert "2 documents and 3 facts will be lost" in picture(pilot.app)
        await write(pilot, "alph")
        await pilot.press("enter")
        await settle(pilot)
        assert pilot.app.screen.query_one("#ok", Button).disabled
        assert store.asked("delete_bank") == []
        await write(pilot, "a")
        await pilot.press("enter")
        await settle(pilot)
        assert store.asked("delete_bank") == ["alpha"]
        assert "alpha" not in store.banks
        assert "1 of 2" in picture(pilot.app)


async def test_nothing_leads_back_to_a_deleted_bank(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("enter", "b")
        await settle(pilot)
        await pilot.press("D")
        await settle(pilot)
        await write(pilot, "alpha")
        await pilot.press("enter")
        await settle(pilot)
        await pilot.press("left_square_bracket")
        await settle(pilot)
        assert isinstance(pilot.app.screen, BanksScreen)


async def test_an_empty_store_says_what_to_do(opened: Opened) -> None:
    async with opened(FakeStore()) as pilot:
        shown = picture(pilot.app)
        assert "console demo" in shown and "console retain" in shown


@pytest.mark.parametrize("how", ["store", "flag"])
async def test_read_only_hides_what_writes(opened: Opened, store: FakeStore, how: str) -> None:
    if how == "store":
        store.capabilities = frozenset()
    async with opened(store, read_only=how == "flag") as pilot:
        shown = picture(pilot.app)
        assert "read-only" in shown
        assert "New bank" not in shown and "Delete" not in shown
        await pilot.press("n", "D")
        await settle(pilot)
        assert isinstance(pilot.app.screen, BanksScreen)
        await pilot.press("question_mark")
        await settle(pilot)
        assert "Create a bank" not in picture(pilot.app)


NAMES = {
    "emoji": "👩‍👩‍👧‍👦" * 7 + "🇯🇵" * 2,
    "escape": "\x1b[31mred\x1b]0;owned\x07\x1b[2J",
    "markup": "[bold red]x[/] [@click=app.quit]y[/] [link=http://evil]z",
    "open markup": "[/nothing] [",
    "right to left": "שלום\u202eevil\u2066",
    "wide": "團隊記憶庫" * 12,
    "marks": "e" + "\u0301" * 60,
    "blank": "  ",
    "lines": "a\r\nb\tc\x00",
}


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_hostile_names_are_only_text_in_a_list(opened: Opened, size: tuple[int, int]) -> None:
    store = FakeStore([*NAMES.values(), "zz-last"])
    async with opened(store, size=size) as pilot:
        shown = picture(pilot.app)
        assert "zz-last" in shown and "owned" in shown
        assert "\x1b" not in shown and "\u202e" not in shown and "\x07" not in shown


WALKED = {  # several hazards in a name: a walk through the screens takes seconds
    "letters": "e\u0301\u0301\u0301" + "👩‍👩‍👧‍👦🇯🇵" * 3 + "團隊記憶庫" * 6,
    "commands": "\x1b[31mred\x1b]0;owned\x07\x1b[2J[/nothing] [ [@click=app.quit]y[/]\u202eevil\u2066",
    "blank": "  ",
    "lines": "a\r\nb\tc\x00[bold red]x[/] [link=http://evil]z",
}


@pytest.mark.parametrize("name", WALKED.values(), ids=WALKED)
async def test_a_hostile_name_is_only_text(opened: Opened, name: str) -> None:
    store = FakeStore([name, "zz-last"])
    store.add_document(name, name, name, [name], tags=(name,), retain_params={"context": name})
    async with opened(store) as pilot:
        before = picture(pilot.app)
        rows = [line for line in before.split("\n") if "zz-last" in line]
        assert rows and "\x1b" not in before and "\u202e" not in before
        await pilot.press("D")
        await settle(pilot)
        assert isinstance(pilot.app.screen, DeleteBank)
        await pilot.press("escape", "enter")
        await settle(pilot)
        await pilot.press("enter", "2", "3", "4")
        await settle(pilot)
        assert pilot.app.place_screen.place.document == name
        await pilot.press("question_mark", "escape", "ctrl+p")
        await pilot.pause(0.3)
        assert "\x1b" not in picture(pilot.app)


async def test_columns_stay_aligned_beside_wide_names(opened: Opened) -> None:
    from rich.cells import cell_len

    store = FakeStore(["plain", "團隊記憶庫", "👩‍👩‍👧 family", "e\u0301\u0301\u0301", "שלום"])
    async with opened(store) as pilot:
        rows = picture(pilot.app).split("\n")[3:8]
        assert {cell_len(row) for row in rows} == {80}
        ends = {cell_len(row[: row.index("0")]) for row in rows}
        assert len(ends) == 1


async def test_focus_is_in_the_list_at_the_start(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        assert pilot.app.focused is not None and pilot.app.focused.id == "banks"
        await pilot.press("slash")
        assert isinstance(pilot.app.focused, Input)
        await pilot.press("enter")
        assert pilot.app.focused.id == "banks"

"""A bank's documents, and one document with its facts."""

from __future__ import annotations

from typing import Any

from console.memory.models import Curation
from console.tui.history import Place
from console.tui.screens.document import DocumentScreen
from console.tui.screens.documents import DocumentsScreen
from console.tui.widgets.text import TextView
from tests.tui.conftest import Opened, picture, settle, write
from tests.tui.fake import FakeStore

PORTS = Place("document", "alpha", "docs/ports.md")


async def test_documents_are_listed_newest_first_with_tags(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        shown = picture(pilot.app)
        assert shown.index("notes/monday.md") < shown.index("docs/ports.md")
        assert "kind:howto" in shown
        assert "1 of 2" in shown


async def test_a_filter_is_sent_to_the_store(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await pilot.press("slash")
        await write(pilot, "listens #kind:howto")
        query = store.asked("list_documents")[-1]
        assert (query.q, query.tags) == ("listens", ("kind:howto",))
        assert "1 of 2 match" in picture(pilot.app)


async def test_a_wide_terminal_shows_what_is_selected_beside_the_list(
    opened: Opened, store: FakeStore
) -> None:
    async with opened(store, bank="alpha", size=(160, 48)) as pilot:
        await pilot.press("j")
        await settle(pilot)
        side = pilot.app.screen.query_one("#summary", TextView)
        assert "how-to" in side.plain and "priya" in side.plain
        assert store.asked("get_document") == []


async def test_an_empty_bank_says_what_to_do(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="beta") as pilot:
        assert "no documents yet" in picture(pilot.app)


async def _document(pilot: Any) -> DocumentScreen:
    pilot.app.go(PORTS)
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, DocumentScreen)
    return screen


async def test_a_tab_asks_only_for_what_it_shows(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await _document(pilot)
        assert "The database listens on 5434." in picture(pilot.app)
        assert store.asked("list_memories") == [] and store.asked("list_chunks") == []
        await pilot.press("2")
        await settle(pilot)
        assert "✓" in picture(pilot.app) and store.asked("list_chunks") == []
        await pilot.press("4")
        await settle(pilot)
        assert store.asked("list_chunks") != []
        await pilot.press("3")
        await settle(pilot)
        shown = picture(pilot.app)
        assert "kind:howto" in shown and "priya" in shown and "how-to" in shown


async def test_tabs_go_round_with_arrows(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        screen = await _document(pilot)
        seen = [screen.tab]
        for key in ("right", "right", "right", "right", "left"):
            await pilot.press(key)
            seen.append(screen.tab)
        assert seen == ["text", "facts", "about", "chunks", "text", "chunks"]


async def test_a_fact_is_taken_back_with_a_reason_and_undone(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await _document(pilot)
        await pilot.press("2")
        await settle(pilot)
        await pilot.press("x")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert store.asked("curate_memory") == [], "a reason is asked for"
        await write(pilot, "it moved to 5435")
        await pilot.press("enter")
        await settle(pilot)
        assert store.asked("curate_memory") == [
            ("docs/ports.md#0", Curation(state="invalidated", reason="it moved to 5435"))
        ]
        shown = picture(pilot.app)
        assert "✗" in shown
        await pilot.press("z")
        await settle(pilot)
        assert store.asked("curate_memory")[-1] == ("docs/ports.md#0", Curation(state="valid"))
        assert "✗" not in picture(pilot.app).replace("✗ ctrl", "")


async def test_an_invalidated_fact_shows_its_reason_and_is_restored(opened: Opened, store: FakeStore) -> None:
    await store.curate_memory("alpha", "docs/ports.md#0", Curation(state="invalidated", reason="it moved"))
    async with opened(store, bank="alpha") as pilot:
        await _document(pilot)
        await pilot.press("2", "G")
        await settle(pilot)
        await pilot.press("G")
        await settle(pilot)
        shown = picture(pilot.app)
        assert "it moved" in shown
        assert "Restore" in shown and "Invalidate" not in shown
        await pilot.press("v")
        await settle(pilot)
        assert store.asked("curate_memory")[-1] == ("docs/ports.md#0", Curation(state="valid"))
        await pilot.press("z")
        await settle(pilot)
        assert store.asked("curate_memory")[-1] == (
            "docs/ports.md#0",
            Curation(state="invalidated", reason="it moved"),
        )


async def test_read_only_shows_facts_without_curation(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha", read_only=True) as pilot:
        await _document(pilot)
        await pilot.press("2")
        await settle(pilot)
        assert "Invalidate" not in picture(pilot.app)
        await pilot.press("x")
        await settle(pilot)
        assert isinstance(pilot.app.screen, DocumentScreen)


async def test_facts_of_a_long_document_come_page_by_page(opened: Opened, store: FakeStore) -> None:
    store.add_document("alpha", "long", "x", [f"Fact {index}." for index in range(5_000)])
    async with opened(store, bank="alpha") as pilot:
        pilot.app.go(Place("document", "alpha", "long"))
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot)
        assert "Facts 5,000" in picture(pilot.app)
        await pilot.press("G")
        await settle(pilot)
        assert "Fact 4999." in picture(pilot.app)
        assert sum(query.limit for query in store.asked("list_memories")) <= 600


async def test_a_document_of_ten_megabytes_is_laid_out_aside(opened: Opened, store: FakeStore) -> None:
    store.add_document("alpha", "big", "A line of a big document.\n" * 400_000)
    async with opened(store, bank="alpha") as pilot:
        pilot.app.go(Place("document", "alpha", "big"))
        await settle(pilot)
        text = pilot.app.screen.query_one("#pane-text", TextView)
        for _ in range(200):
            if text.virtual_size.height > 400_000:
                break
            await pilot.pause(0.05)
        await pilot.press("G")
        await pilot.pause()
        assert text.scroll_offset.y > 399_000
        assert "400000" in picture(pilot.app)


async def test_back_and_forward_keep_the_selection(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await pilot.press("j", "enter")
        await settle(pilot)
        assert pilot.app.place_screen.place == PORTS
        await pilot.press("left_square_bracket")
        await settle(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, DocumentsScreen)
        assert screen.chosen is not None and screen.chosen.id == "docs/ports.md"
        await pilot.press("right_square_bracket")
        await settle(pilot)
        assert pilot.app.place_screen.place == PORTS


async def test_escape_goes_up_level_by_level(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await _document(pilot)
        kinds = []
        for _ in range(3):
            await pilot.press("escape")
            await settle(pilot)
            kinds.append(pilot.app.place_screen.place.kind)
        assert kinds == ["documents", "banks", "banks"]


async def test_the_id_is_copied(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await pilot.press("j", "y")
        await settle(pilot)
        assert pilot.app.clipboard == "docs/ports.md"

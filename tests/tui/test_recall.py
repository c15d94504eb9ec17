"""Recall: the query and its options, the results and their documents."""

from __future__ import annotations

from typing import Any

from textual.widgets import Checkbox, Input, Select

from console.tui.history import Place
from console.tui.screens.recall import RecallScreen
from console.tui.widgets.text import TextView
from tests.tui.conftest import Opened, picture, settle, write
from tests.tui.fake import FakeStore


async def _ask(pilot: Any, query: str) -> RecallScreen:
    pilot.app.go(Place("recall", "alpha"))
    await settle(pilot)
    await write(pilot, query)
    await pilot.press("enter")
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, RecallScreen)
    return screen


async def test_results_come_with_scores_documents_and_timings(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        screen = await _ask(pilot, "listens")
        shown = picture(pilot.app)
        assert "1.00" in shown and "docs/ports.md" in shown
        assert "2 results" in shown
        assert "keyword 12 ms" in str(screen.query_one("#said").render())


async def test_the_options_are_sent(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        pilot.app.go(Place("recall", "alpha"))
        await settle(pilot)
        screen = pilot.app.screen
        screen.query_one("#type-observation", Checkbox).value = False
        screen.query_one("#budget", Select).value = "high"
        screen.query_one("#match", Select).value = "all_strict"
        screen.query_one("#tags", Input).value = "#kind:howto, team:x"
        await settle(pilot)
        assert store.asked("recall") == [], "options alone ask nothing"
        await write(pilot, "listens")
        await pilot.press("enter")
        await settle(pilot)
        request = store.asked("recall")[-1]
        assert request.types == ("world", "experience")
        assert (request.budget, request.tags_match) == ("high", "all_strict")
        assert request.tags == ("kind:howto", "team:x")
        assert request.trace


async def test_an_option_asks_again_once_there_was_a_query(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        screen = await _ask(pilot, "listens")
        screen.query_one("#type-world", Checkbox).value = False
        await settle(pilot)
        assert store.asked("recall")[-1].types == ("experience", "observation")
        assert "Nothing in this bank matches." in screen.query_one("#result", TextView).plain


async def test_one_key_leads_to_the_document_and_its_fact(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await _ask(pilot, "redis")
        await pilot.press("enter")
        await settle(pilot)
        place = pilot.app.place_screen.place
        assert (place.kind, place.document, place.memory) == ("document", "docs/ports.md", "docs/ports.md#1")
        assert pilot.app.screen.selected_id() == "docs/ports.md#1"
        await pilot.press("left_square_bracket")
        await settle(pilot)
        assert "1 result" in picture(pilot.app)


async def test_taking_a_result_back_changes_what_recall_says(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        screen = await _ask(pilot, "redis")
        await pilot.press("x")
        await settle(pilot)
        await write(pilot, "wrong")
        await pilot.press("enter")
        await settle(pilot)
        assert screen.table.total == 0
        await pilot.press("z")
        await settle(pilot)
        assert screen.table.total == 1


async def test_a_stale_answer_never_replaces_a_newer_one(opened: Opened, store: FakeStore) -> None:
    import asyncio

    async with opened(store, bank="alpha") as pilot:
        pilot.app.go(Place("recall", "alpha"))
        await settle(pilot)
        gate = store.gate["recall"] = asyncio.Event()
        await pilot.press(*"redis", "enter")
        await pilot.pause()
        del store.gate["recall"]
        field = pilot.app.screen.query_one("#query", Input)
        field.value = "listens"
        await pilot.press("enter")
        await settle(pilot)
        gate.set()
        await settle(pilot)
        assert [request.query for request in store.asked("recall")] == ["redis", "listens"]
        assert pilot.app.screen.query_one("#results").total == 2
        assert store.cancelled == ["recall"]


async def test_an_empty_query_asks_nothing(opened: Opened, store: FakeStore) -> None:
    async with opened(store, bank="alpha") as pilot:
        await _ask(pilot, "   ")
        assert store.asked("recall") == []

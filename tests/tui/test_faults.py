"""What the store does wrong: said in a bar that stays, retried by a key, never the end of the app."""

from __future__ import annotations

import asyncio

import pytest

from console.tui.history import Place
from tests.tui.conftest import Opened, picture, settle, write
from tests.tui.fake import FAULTS, FakeStore

PLACES = {
    "list_banks": Place("banks"),
    "list_documents": Place("documents", "alpha"),
    "get_document": Place("document", "alpha", "docs/ports.md"),
    "list_memories": Place("document", "alpha", "docs/ports.md", "docs/ports.md#0"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("method", PLACES)
async def test_an_error_stays_until_the_retry_works(
    opened: Opened, store: FakeStore, method: str, fault: str
) -> None:
    store.fail[method] = fault
    async with opened(store, bank=None if method == "list_banks" else "alpha") as pilot:
        pilot.app.go(PLACES[method])
        await settle(pilot)
        message = FAULTS[fault]().args[0]
        assert message in picture(pilot.app)
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert message in picture(pilot.app), "still failing: still said"
        del store.fail[method]
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert message not in picture(pilot.app)
        assert pilot.app.is_running
        assert pilot.app.place_screen.place == PLACES[method]


async def test_escape_dismisses_the_error_and_nothing_else(opened: Opened, store: FakeStore) -> None:
    store.fail["list_documents"] = "500"
    async with opened(store, bank="alpha") as pilot:
        assert "the server failed" in picture(pilot.app)
        await pilot.press("escape")
        await settle(pilot)
        assert "the server failed" not in picture(pilot.app)
        assert pilot.app.place_screen.place.kind == "documents"


async def test_a_dismissed_write_is_not_repeated_by_a_refresh(opened: Opened, store: FakeStore) -> None:
    store.fail["delete_bank"] = "disconnect"
    async with opened(store) as pilot:
        await pilot.press("D")
        await settle(pilot)
        await write(pilot, "alpha")
        await pilot.press("enter")
        await settle(pilot)
        assert "the connection was lost" in picture(pilot.app)
        await pilot.press("escape")
        await settle(pilot)
        del store.fail["delete_bank"]
        await pilot.press("ctrl+r")
        await settle(pilot)
        assert "alpha" in store.banks
        assert len(store.asked("delete_bank")) == 1


async def test_a_failed_curation_changes_nothing_and_cannot_be_undone(
    opened: Opened, store: FakeStore
) -> None:
    store.fail["curate_memory"] = "500"
    async with opened(store, bank="alpha") as pilot:
        pilot.app.go(Place("document", "alpha", "docs/ports.md", "docs/ports.md#0"))
        await settle(pilot)
        await pilot.press("x")
        await settle(pilot)
        await write(pilot, "wrong")
        await pilot.press("enter")
        await settle(pilot)
        assert "the server failed" in picture(pilot.app)
        await pilot.press("z")
        await settle(pilot)
        assert len(store.asked("curate_memory")) == 1


async def test_keys_work_while_the_store_is_slow(opened: Opened, store: FakeStore) -> None:
    store.gate["list_documents"] = asyncio.Event()
    async with opened(store, wait=False) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("question_mark")
        await pilot.pause()
        assert "Everywhere" in picture(pilot.app)
        await pilot.press("escape", "slash", *"abc")
        await pilot.pause()
        assert "abc" in picture(pilot.app)


async def test_leaving_a_view_cancels_its_requests(opened: Opened, store: FakeStore) -> None:
    store.gate["list_documents"] = asyncio.Event()
    async with opened(store) as pilot:
        await pilot.press("enter")
        await pilot.pause(0.05)
        await pilot.press("b")
        await settle(pilot)
        assert store.cancelled == ["list_documents"]
        del store.gate["list_documents"]
        await pilot.press("left_square_bracket")
        await settle(pilot)
        assert "notes/monday.md" in picture(pilot.app), "a cancelled view asks again when it is returned to"


async def test_hostile_errors_are_only_text(opened: Opened, store: FakeStore) -> None:
    from console.memory.errors import BadAnswer

    FAULTS["hostile"] = lambda: BadAnswer("[bold]\x1b[2J[/nothing]", where="[link=x]")
    store.fail["list_banks"] = "hostile"
    try:
        async with opened(store) as pilot:
            assert "[bold]" in picture(pilot.app) and "\x1b" not in picture(pilot.app)
    finally:
        del FAULTS["hostile"]


async def test_the_store_is_closed_at_the_end(opened: Opened, store: FakeStore) -> None:
    async with opened(store):
        assert not store.closed
    assert store.closed

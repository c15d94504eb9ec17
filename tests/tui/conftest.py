"""What the app's tests share: a small store, and waiting for work instead of sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console.tui.app import ConsoleApp
from tests.tui.fake import FakeStore


async def settle(pilot: Pilot[Any]) -> None:
    """Until no worker, no typing delay and no message is left (at most two seconds)."""
    for _ in range(100):
        await pilot.pause()
        waiting = [worker for worker in pilot.app.workers if not worker.is_finished]
        if not waiting:
            await pilot.pause()
            if not [worker for worker in pilot.app.workers if not worker.is_finished]:
                return
        await asyncio.sleep(0.02)


async def write(pilot: Pilot[Any], text: str) -> None:
    """Put text into the focused field, as a paste does."""
    field = pilot.app.focused
    assert isinstance(field, Input)
    field.insert_text_at_cursor(text)
    await settle(pilot)


def picture(app: ConsoleApp) -> str:
    """What stands on the screen, as text."""
    screen = app.screen
    return "\n".join(strip.text for strip in screen._compositor.render_strips())


Opened = Callable[..., AbstractAsyncContextManager[Pilot[Any]]]


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore(["alpha", "beta", "gamma"])
    store.add_document(
        "alpha",
        "docs/ports.md",
        "The database listens on 5434.\nRedis listens on 6381.",
        ["The database listens on 5434.", "Redis listens on 6381."],
        tags=("kind:howto",),
        retain_params={"context": "how-to"},
        document_metadata={"author": "priya"},
    )
    store.add_document("alpha", "notes/monday.md", "We deploy on Monday.", ["We deploy on Monday."])
    return store


@pytest.fixture
def opened() -> Opened:
    @asynccontextmanager
    async def open_(
        store: Any, *, size: tuple[int, int] = (80, 24), wait: bool = True, **options: Any
    ) -> AsyncIterator[Pilot[Any]]:
        app = ConsoleApp(store, theme="console-dark", **options)
        async with app.run_test(size=size) as pilot:
            if wait:
                await settle(pilot)
            yield pilot

    return open_

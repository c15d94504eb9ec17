"""Help, palette, themes, terminals; and the embedded store under the same screens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.models import RetainItem
from console.tui.actions import BY_ID, actions_of
from console.tui.history import Place
from tests.tui.conftest import Opened, picture, settle, write
from tests.tui.fake import FakeStore

ALL = [
    Place("banks"),
    Place("documents", "alpha"),
    Place("document", "alpha", "docs/ports.md"),
    Place("recall", "alpha"),
]


@pytest.mark.parametrize("place", ALL, ids=lambda place: place.kind)
async def test_help_names_every_action_of_its_screen(opened: Opened, store: FakeStore, place: Place) -> None:
    async with opened(store, size=(100, 60)) as pilot:
        pilot.app.go(place)
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot)
        shown = picture(pilot.app)
        screen = pilot.app.place_screen
        for action in actions_of(place.kind):
            if screen.check_action(action.name.split("(")[0], ()):
                assert action.help in shown, action.id
        assert BY_ID["everywhere.leave"].help in shown


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (160, 48), (240, 60)])
@pytest.mark.parametrize("place", ALL, ids=lambda place: place.kind)
async def test_every_screen_fits(
    opened: Opened, store: FakeStore, place: Place, size: tuple[int, int]
) -> None:
    async with opened(store, size=size) as pilot:
        pilot.app.go(place)
        await settle(pilot)
        lines = picture(pilot.app).split("\n")
        assert len(lines) == size[1]
        assert "Banks" in lines[0]
        assert "Help" in lines[-1] or size[0] < 80


async def test_the_palette_runs_an_action_of_the_screen(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause(0.2)
        await pilot.press(*"New bank")
        await pilot.pause(0.4)
        await pilot.press("enter")
        await settle(pilot)
        assert "Its id, as agents will name it" in picture(pilot.app)


async def test_the_palette_finds_a_bank(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause(0.2)
        await pilot.press(*"gamm")
        await pilot.pause(0.4)
        await pilot.press("enter")
        await settle(pilot)
        assert pilot.app.place_screen.place == Place("documents", "gamma")


async def test_the_palette_offers_nothing_that_writes_when_read_only(
    opened: Opened, store: FakeStore
) -> None:
    async with opened(store, read_only=True) as pilot:
        offered = {action.id for action in pilot.app.available_actions(pilot.app.screen)}
        assert "banks.open" in offered
        assert not {name for name in offered if BY_ID[name].writes}


async def test_the_theme_switches_between_dark_and_light(opened: Opened, store: FakeStore) -> None:
    async with opened(store) as pilot:
        names = [pilot.app.theme]
        for _ in range(2):
            await pilot.press("t")
            await settle(pilot)
            names.append(pilot.app.theme)
        assert names == ["console-dark", "console-light", "console-dark"]


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "nord", "textual-light", "console-light"])
async def test_every_theme_can_be_used(opened: Opened, store: FakeStore, theme: str) -> None:
    async with opened(store) as pilot:
        pilot.app.theme = theme
        await settle(pilot)
        assert "alpha" in picture(pilot.app)


async def test_no_color_still_shows_where_the_selection_is(
    opened: Opened, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(store) as pilot:
        assert pilot.app.no_color
        await pilot.press("j")
        await settle(pilot)
        marked = [line for line in picture(pilot.app).split("\n") if line.startswith("▌")]
        assert len(marked) == 1 and "beta" in marked[0]


async def test_a_resize_storm_keeps_selection_and_rows(opened: Opened) -> None:
    store = FakeStore([f"bank-{index:03}" for index in range(300)])
    async with opened(store) as pilot:
        await pilot.press("G")
        await settle(pilot)
        for size in ((40, 10), (200, 60), (20, 5), (80, 24), (1, 1), (120, 40)):
            await pilot.resize_terminal(*size)
        await settle(pilot)
        assert "bank-299" in picture(pilot.app)


async def _filled(path: Path) -> EmbeddedStore:
    store = EmbeddedStore(path)
    await store.retain(
        "team",
        [
            RetainItem(
                document_id="a.md", content="The payout limit is 40. The bank allows 60.", tags=("kind:ops",)
            ),
            RetainItem(document_id="..", content="A document with an odd name."),
        ],
    )
    return store


async def test_the_embedded_store_from_bank_to_undo(opened: Opened, tmp_path: Path) -> None:
    store = await _filled(tmp_path / "memory.db")
    async with opened(store) as pilot:
        assert "team" in picture(pilot.app)
        await pilot.press("r")
        await settle(pilot)
        await write(pilot, "payout limit")
        await pilot.press("enter")
        await settle(pilot)
        assert "The payout limit is 40." in picture(pilot.app)
        await pilot.press("x")
        await settle(pilot)
        await write(pilot, "it is 60 now")
        await pilot.press("enter")
        await settle(pilot)
        rows = [
            line for line in picture(pilot.app).split("\n") if "1.00" in line and "payout limit is 40" in line
        ]
        assert rows == []
        pilot.app.go(Place("document", "team", "a.md"))
        await settle(pilot)
        await pilot.press("2")
        await settle(pilot)
        assert "✗ The payout limit is 40." in " ".join(picture(pilot.app).split())
        await pilot.press("z")
        await settle(pilot)
        assert "✗ The payout limit" not in " ".join(picture(pilot.app).split())


async def test_a_document_named_dot_dot_is_opened(opened: Opened, tmp_path: Path) -> None:
    store = await _filled(tmp_path / "memory.db")
    async with opened(store, bank="team") as pilot:
        pilot.app.go(Place("document", "team", ".."))
        await settle(pilot)
        assert "A document with an odd name." in picture(pilot.app)


async def test_a_new_embedded_store_starts_empty_and_takes_a_bank(opened: Opened, tmp_path: Path) -> None:
    async with opened(EmbeddedStore(tmp_path / "new" / "memory.db")) as pilot:
        assert "console demo" in picture(pilot.app)
        await pilot.press("n")
        await settle(pilot)
        await write(pilot, "first")
        await pilot.press("enter")
        await settle(pilot)
        assert "1 of 1" in picture(pilot.app)


def test_the_first_paint_imports_only_the_first_screen() -> None:
    """Screens, dialogs, palette and HTTP come when they are wanted: start-up is designed, not hoped for."""
    code = (
        "import sys, console.tui.app as a; from console.tui.history import Place; a.make_screen(Place('banks'));"
        "late = ['console.tui.screens.' + n for n in ('documents', 'document', 'recall', 'help', 'dialogs')]"
        " + ['console.tui.palette', 'httpx', 'git', 'mirror.git', 'markdown_it', 'console.cli'];"
        "print([n for n in late if n in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

"""Draw the screens on the demo bank: ``python screenshots/make.py`` rewrites the SVGs beside this file.

Same code, same bytes: fixed sizes and themes, the demo is built anew in a temporary folder, ages are said
as of the demo's last day, timings and new ids (which no two runs share) are drawn as fixed ones.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from console.demo import story
from console.demo.build import build
from console.memory.embedded import EmbeddedStore, retain
from console.tui import cells, trace
from console.tui.app import ConsoleApp
from console.tui.history import Place
from console.tui.screens import recall

HERE = Path(__file__).resolve().parent
CLOCK = datetime(2026, 11, 29, 9, 0, tzinfo=UTC)
NARROW, WIDE = (80, 24), (120, 34)


@dataclass(frozen=True)
class Shot:
    name: str
    place: str
    size: tuple[int, int] = WIDE
    theme: str = "console-dark"
    document: str | None = None
    query: str | None = None
    keys: Sequence[str] = ()


WRONG = story.WRONG.document
SHOTS = (
    Shot("banks", "banks"),
    Shot("documents", "documents"),
    Shot("documents-80x24-light", "documents", size=NARROW, theme="console-light"),
    Shot("document", "document", document=WRONG),
    Shot("facts", "document", document=WRONG, keys=("2",)),
    Shot("recall", "recall", query=story.QUESTION),
    Shot("recall-light", "recall", query=story.QUESTION, theme="console-light"),
    Shot("invalidate", "recall", query=story.QUESTION, keys=("x",)),
    Shot("help", "documents", keys=("f1",)),
)


async def settle(pilot: Pilot[Any]) -> None:
    """Until nothing is asked for and nothing is left to draw."""
    for _ in range(200):
        await pilot.pause(0.02)
        if all(worker.is_finished for worker in pilot.app.workers):
            break
    await pilot.pause(0.05)


async def draw(shot: Shot, memory: Path, bank: str) -> str:
    app = ConsoleApp(EmbeddedStore(memory), theme=shot.theme)
    app.animation_level = "none"
    async with app.run_test(size=shot.size) as pilot:
        await settle(pilot)
        app.go(Place(shot.place, None if shot.place == "banks" else bank, shot.document))
        await settle(pilot)
        if shot.query is not None:
            app.screen.query_one("#query", Input).value = shot.query
            await pilot.press("enter")
            await settle(pilot)
        for key in shot.keys:
            await pilot.press(key)
            await settle(pilot)
        for field in app.screen.query(Input):
            field.cursor_blink = False
        await settle(pilot)
        svg = app.export_screenshot(title=f"console · {shot.name}")
    # Rich names its classes after a hash of the drawing; the name of the shot changes less often.
    return re.sub(r"terminal-\d+", f"terminal-{shot.name}", svg)


async def main() -> int:
    cells.clock = lambda: CLOCK
    numbers = itertools.count(1)
    retain._memory_id = lambda: f"00000000-0000-7000-8000-{next(numbers):012}"
    trace.milliseconds = recall.milliseconds = lambda seconds: "12 ms"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the pictures show a relative path, the same on every machine
        made = await build(Path("memory-demo"))
        for shot in SHOTS:
            svg = await draw(shot, made.memory, made.bank_id)
            (HERE / f"{shot.name}.svg").write_text(svg, encoding="utf-8", newline="\n")
            print(f"{shot.name}.svg")
        os.chdir(HERE)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

"""Makes the pictures that README shows, from the demo: `python screenshots/make.py`.

Each picture is the app itself at 120x30 on a demo made for it, so a picture can be made again and compared.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["TZ"] = "UTC"  # the app shows local times
if hasattr(time, "tzset"):
    time.tzset()

from textual.pilot import Pilot
from textual.widgets import Input

from console.demo import story
from console.demo.build import build
from console.memory.embedded import EmbeddedStore
from console.tui.app import ConsoleApp
from console.tui.history import Place

HERE = Path(__file__).resolve().parent
SIZE = (120, 30)


async def settled(pilot: Pilot[Any]) -> None:
    """Until no worker is left: what was asked of the store stands on the screen."""
    for _ in range(200):
        await pilot.pause()
        if all(worker.is_finished for worker in pilot.app.workers):
            await pilot.pause()
            return
        await asyncio.sleep(0.02)
    raise RuntimeError("the app is still working after four seconds")


async def ask(pilot: Pilot[Any]) -> None:
    field = pilot.app.focused
    assert isinstance(field, Input)
    field.insert_text_at_cursor(story.QUESTION)
    await pilot.press("enter")


async def look(pilot: Pilot[Any]) -> None:
    """Nothing to do: the place as it opens."""


PICTURES = {
    "documents": (Place("documents", story.BANK), look),
    "document": (Place("document", story.BANK, story.WRONG.document), look),
    "recall": (Place("recall", story.BANK), ask),
}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the pictures show a relative path, the same on every machine
        made = await build(Path("memory-demo"))
        for name, (place, act) in PICTURES.items():
            app = ConsoleApp(EmbeddedStore(made.memory), bank=made.bank_id)
            async with app.run_test(size=SIZE) as pilot:
                await settled(pilot)
                app.go(place)
                await settled(pilot)
                await act(pilot)
                await settled(pilot)
                svg = app.export_screenshot(title=f"console: {name}", simplify=True)
            (HERE / f"{name}.svg").write_text(svg, encoding="utf-8", newline="\n")
            print(f"{name}.svg")
        os.chdir(HERE)


if __name__ == "__main__":
    asyncio.run(main())

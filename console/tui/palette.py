"""The command palette: the registry's actions that can be run here, the banks, and the themes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from console.memory.errors import StoreError
from console.tui import cells
from console.tui.history import Place

if TYPE_CHECKING:
    from console.tui.app import ConsoleApp

BANKS = 20
"""Banks that a search shows at most."""


class Actions(Provider):
    """What can be done on the screen below, and its keys."""

    def _entries(self) -> list[tuple[str, str, Callable[[], object]]]:
        app = cast("ConsoleApp", self.app)
        entries: list[tuple[str, str, Callable[[], object]]] = [
            (f"{action.label}  ({action.keys})", action.help, partial(app.perform, action))
            for action in app.available_actions(self.screen)
            if action.palette
        ]
        entries += [
            (f"Theme: {name}", "Use this theme now.", partial(setattr, app, "theme", name))
            for name in sorted(app.available_themes)
            if name != app.theme
        ]
        return entries

    async def discover(self) -> Hits:
        for label, about, run in self._entries():
            if not label.startswith("Theme: ") or "console" in label:
                yield DiscoveryHit(label, run, help=about)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for label, about, run in self._entries():
            score = matcher.match(label)
            if score > 0:
                yield Hit(score, matcher.highlight(label), run, help=about)


class Banks(Provider):
    """Any bank of the store by a piece of its name."""

    async def search(self, query: str) -> Hits:
        app = cast("ConsoleApp", self.app)
        try:
            page = await app.store.list_banks(q=query, limit=BANKS)
        except StoreError:
            # The list of banks says what is wrong with the store; a palette with actions only still works.
            return
        matcher = self.matcher(query)
        for bank in page.items:
            label = f"Bank: {cells.line(bank.bank_id, 80)}"
            yield Hit(
                max(matcher.match(label), 0.1),
                matcher.highlight(label),
                partial(app.go, Place("documents", bank.bank_id)),
                help=cells.plural(bank.fact_count, "fact"),
            )

"""Taking a fact back and giving it back, the same on every screen that shows facts."""

from __future__ import annotations

from dataclasses import dataclass

from console.memory.models import Curation, Memory
from console.tui import cells
from console.tui.screens.base import ConsoleScreen

CURATED_TYPES = ("world", "experience")
"""Observations are derived: their sources are curated instead."""


@dataclass(frozen=True)
class Undo:
    """How to take one curation back."""

    label: str
    bank: str
    memory_id: str
    curation: Curation


class CuratingScreen(ConsoleScreen):
    def invalidate(self, memory_id: str, text: str) -> None:
        """Ask for the reason, then invalidate."""
        from console.tui.screens.dialogs import InvalidateFact

        bank, store = self.bank, self.store

        def answered(reason: str | None) -> None:
            if reason:
                change = Curation(state="invalidated", reason=reason)
                self.ask("curate", lambda: store.curate_memory(bank, memory_id, change), done)

        def done(memory: Memory) -> None:
            self.console_app.remember(
                Undo(f"invalidated: {cells.line(text, 40)}", bank, memory_id, Curation(state="valid"))
            )
            self.notify("invalidated: recall no longer finds it (z undoes)", markup=False)
            self.curated(memory)

        self.app.push_screen(InvalidateFact(text), answered)

    def restore(self, memory: Memory) -> None:
        """Make an invalidated fact valid again."""
        bank, store = self.bank, self.store
        back = Curation(state="invalidated", reason=memory.invalidation_reason)

        def done(now: Memory) -> None:
            self.console_app.remember(Undo(f"restored: {cells.line(memory.text, 40)}", bank, memory.id, back))
            self.notify("restored: recall finds it again (z undoes)", markup=False)
            self.curated(now)

        self.ask("curate", lambda: store.curate_memory(bank, memory.id, Curation(state="valid")), done)

    def curated(self, memory: Memory) -> None:
        """A fact changed: show it."""
        del memory
        self.load()

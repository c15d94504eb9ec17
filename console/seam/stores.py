"""The bank as a store, for the seam's own questions: one open store for each token that clients showed."""

from __future__ import annotations

from collections.abc import Callable

from console.memory.store import MemoryStore


class Stores:
    """Belongs to one event loop. Opening a store takes a tenth of a second (certificates), so it is kept."""

    def __init__(
        self, open_store: Callable[[str | None], MemoryStore], shown: Callable[[str], str | None]
    ) -> None:
        self._open_store = open_store
        self._shown = shown
        self._open: dict[str | None, MemoryStore] = {}

    def of(self, label: str) -> MemoryStore:
        """The store with the token that this label's client shows."""
        token = self._shown(label)
        if token not in self._open:
            self._open[token] = self._open_store(token)
        return self._open[token]

    async def aclose(self) -> None:
        while self._open:
            await self._open.popitem()[1].aclose()

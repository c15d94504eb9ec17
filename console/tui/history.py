"""Where the user is, was and can go back to: places as data, and the list of them.

Pure: no widget, no I/O. The app turns a place into a screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """One view: ``kind`` names the screen, the rest says what it shows."""

    kind: str
    bank: str | None = None
    document: str | None = None
    memory: str | None = None
    """The fact to select there."""

    def crumbs(self) -> tuple[Place, ...]:
        """The places above this one and itself, outermost first."""
        trail = [Place("banks")]
        if self.bank is not None:
            trail.append(Place("documents", self.bank))
            if self.kind not in ("documents",):
                trail.append(self)
        elif self.kind != "banks":
            trail.append(self)
        return tuple(trail)


class History:
    """A browser's history. At most ``limit`` places; going somewhere new forgets what was ahead."""

    def __init__(self, start: Place, *, limit: int = 32) -> None:
        self._places = [start]
        self._at = 0
        self._limit = limit

    @property
    def here(self) -> Place:
        return self._places[self._at]

    @property
    def can_back(self) -> bool:
        return self._at > 0

    @property
    def can_forward(self) -> bool:
        return self._at < len(self._places) - 1

    def visit(self, place: Place) -> None:
        """Go somewhere new. The place where one is already is no visit."""
        if place == self.here:
            return
        del self._places[self._at + 1 :]
        self._places.append(place)
        del self._places[: -self._limit]
        self._at = len(self._places) - 1

    def back(self) -> Place:
        self._at = max(0, self._at - 1)
        return self.here

    def forward(self) -> Place:
        self._at = min(len(self._places) - 1, self._at + 1)
        return self.here

    def forget(self, gone: Callable[[Place], bool]) -> None:
        """Drop the places that no longer exist (a deleted bank's), and repeats that this leaves."""
        kept: list[Place] = []
        at = 0
        for index, place in enumerate(self._places):
            if not gone(place) and (not kept or kept[-1] != place):
                kept.append(place)
            if index == self._at:
                at = max(0, len(kept) - 1)
        self._places = kept or [Place("banks")]
        self._at = min(at, len(self._places) - 1)

    def places(self) -> tuple[Place, ...]:
        return tuple(self._places)

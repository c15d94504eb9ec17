"""The bars around every screen: where one is, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from console.tui.cells import fit, line
from console.tui.history import Place

TITLES = {
    "banks": "Banks",
    "documents": "Documents",
    "document": "Document",
    "recall": "Recall",
    "help": "Help",
}
TABS = ("documents", "recall")
"""The views of a bank, in the order of their number keys."""


class TopBar(Widget):
    """One line: crumbs on the left, the store on the right. The innermost crumb is never cut away."""

    COMPONENT_CLASSES = {"top--here", "top--dim"}  # noqa: RUF012 - Textual's own convention

    def __init__(self, place: Place, store: str, *, read_only: bool) -> None:
        super().__init__()
        self._place = place
        self._store = line(store)
        self._read_only = read_only

    def render(self) -> Text:
        here = self.get_component_rich_style("top--here", partial=True)
        dim = self.get_component_rich_style("top--dim", partial=True)
        width = self.size.width
        right = self._store if width >= 100 else ""
        if self._read_only:
            right = f"read-only  {right}".strip()
        right = fit(right, min(len(right), width // 3)) if right else ""
        names = [_name(place) for place in self._place.crumbs()]
        if self._place.bank is not None and self._place.kind == "documents":
            names.append("Documents")
        room = width - len(right) - 2
        names = _shorten(names, room)
        text = Text(no_wrap=True, end="")
        for index, name in enumerate(names):
            last = index == len(names) - 1
            if index:
                text.append(" › ", dim)
            text.append(name, here if last else dim)
        gap = width - text.cell_len - Text(right).cell_len
        text.append(" " * max(1, gap))
        text.append(right, dim)
        return text


def _name(place: Place) -> str:
    if place.kind == "document" and place.document is not None:
        return line(place.document, 200)
    if place.kind == "documents" and place.bank is not None:
        return line(place.bank, 200)
    return TITLES.get(place.kind, place.kind)


def _shorten(names: list[str], room: int) -> list[str]:
    """Cut the longest crumbs first until all fit in ``room`` cells."""
    sizes = [cell_len(name) for name in names]
    while sum(sizes) + 3 * (len(names) - 1) > room and max(sizes) > 8:
        sizes[sizes.index(max(sizes))] -= 1
    return [fit(name, size) for name, size in zip(names, sizes, strict=True)]


class ErrorBar(Static):
    """What went wrong, until it is dismissed. Takes no room while all is well."""

    message: reactive[str] = reactive("")

    def watch_message(self, message: str) -> None:
        self.set_class(bool(message), "-shown")
        if message:
            text = Text("✗ ", style="bold")
            text.append(message)
            text.append("   ctrl+r retries · esc dismisses", style="dim")
            self.update(text)
        else:
            self.update("")


class BankTabs(Widget):
    """The views of a bank, each with its number key; a click goes there."""

    COMPONENT_CLASSES = {"tabs--here", "tabs--other", "tabs--key"}  # noqa: RUF012 - Textual's own convention

    def __init__(
        self, here: str, names: tuple[tuple[str, str], ...] | None = None, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.names = names or tuple((tab, TITLES[tab]) for tab in TABS)
        self.here = here

    @dataclass
    class Picked(Message):
        """A tab was clicked."""

        name: str

    def show(self, here: str, names: tuple[tuple[str, str], ...] | None = None) -> None:
        """Another tab is open, or the names changed (counts in them)."""
        self.here = here
        self.names = names or self.names
        self.refresh()

    def render(self) -> Text:
        text = Text(no_wrap=True, end="")
        key = self.get_component_rich_style("tabs--key", partial=True)
        for index, (name, title) in enumerate(self.names, 1):
            look = self.get_component_rich_style(
                "tabs--here" if name == self.here else "tabs--other", partial=True
            )
            text.append(f" {index}", key + look if name == self.here else key)
            text.append(f" {title} ", look)
            text.append(" ")
        return text

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        at = 0
        for name, title in self.names:
            at += cell_len(title) + 5
            if offset.x < at:
                self.post_message(self.Picked(name))
                return

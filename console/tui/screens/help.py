"""What can be done here. Made from the registry of actions, so it cannot drift from the keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from console.tui.actions import EVERYWHERE, Action
from console.tui.widgets.text import Part, TextView

SECTIONS = {EVERYWHERE: "Everywhere", "table": "In lists", "text": "In texts"}


def help_parts(title: str, about: str, actions: list[Action]) -> list[Part]:
    """The page: what the screen is for, then its actions, then those of its widgets and of the app."""
    parts = [Part(about, "dim")]
    where = ""
    for action in actions:
        if action.where != where:
            where = action.where
            parts += [Part(""), Part(SECTIONS.get(where, title), "title")]
        parts.append(Part(action.help, label=action.keys))
    return parts


class HelpScreen(ModalScreen[None]):
    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar = [Binding("escape,question_mark,f1,q", "close", "Close")]

    def __init__(self, title: str, about: str, actions: list[Action]) -> None:
        super().__init__()
        self._parts = help_parts(title, about, actions)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield TextView(id="keys")
            yield Static("esc closes · arrows scroll", id="foot", markup=False)

    def on_mount(self) -> None:
        keys = self.query_one(TextView)
        keys.focus()
        self.call_after_refresh(keys.show, *self._parts)

    def action_close(self) -> None:
        self.dismiss(None)

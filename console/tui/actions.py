"""The one registry of what a user can do. Bindings, footer, help and palette are made from it.

A key is written down here and nowhere else. ``where`` names the screen (or widget) that carries the
action; its method is ``action_<name>``, or the Textual action given in ``run``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.binding import Binding, BindingType

EVERYWHERE = "everywhere"


@dataclass(frozen=True)
class Action:
    id: str
    """``<where>.<name>``; also the id under which a user's key map knows it."""
    key: str
    """Textual key names, comma separated."""
    label: str
    """One or two words: footer and palette."""
    help: str
    """One sentence: help and palette."""
    footer: bool = False
    writes: bool = False
    """Hidden on a read-only store or in read-only mode."""
    palette: bool = True
    priority: bool = False
    """Works while a text field has the focus."""
    shown_key: str | None = None
    run: str | None = None

    @property
    def where(self) -> str:
        return self.id.split(".", 1)[0]

    @property
    def name(self) -> str:
        return self.run or self.id.split(".", 1)[1]

    @property
    def keys(self) -> str:
        """The keys as people read them."""
        if self.shown_key:
            return self.shown_key
        names = {
            "question_mark": "?",
            "slash": "/",
            "left_square_bracket": "[",
            "right_square_bracket": "]",
            "escape": "esc",
            "pageup": "pgup",
            "pagedown": "pgdn",
            "exclamation_mark": "!",
        }
        return " ".join(names.get(key, key.replace("ctrl+", "^")) for key in self.key.split(","))


ACTIONS: tuple[Action, ...] = (
    # Everywhere
    Action(
        "everywhere.help", "question_mark,f1", "Help", "What can be done here, with its keys.", footer=True
    ),
    Action(
        "everywhere.palette",
        "ctrl+p",
        "Palette",
        "Find an action, a bank or a theme by name.",
        footer=True,
        palette=False,
        priority=True,
        run="command_palette",
    ),
    Action(
        "everywhere.escape",
        "escape",
        "Back out",
        "Dismiss the error, clear the filter, or go up one level.",
        palette=False,
    ),
    Action("everywhere.go_back", "left_square_bracket,alt+left", "Back", "Go back to where you were."),
    Action("everywhere.go_forward", "right_square_bracket,alt+right", "Forward", "Go forward again."),
    Action(
        "everywhere.reload",
        "ctrl+r,f5",
        "Refresh",
        "Ask the store again; retries what failed.",
        priority=True,
    ),
    Action("everywhere.banks", "b", "Banks", "Go to the list of banks."),
    Action("everywhere.undo", "z", "Undo", "Undo the last curation.", writes=True),
    Action("everywhere.theme_next", "t", "Theme", "Switch between dark and light."),
    Action("everywhere.copy", "y", "Copy", "Copy the selected id to the clipboard (OSC 52)."),
    Action("everywhere.leave", "ctrl+q", "Quit", "Leave the app.", priority=True, run="quit"),
    # Tables
    Action("table.up", "up,k", "Up", "One row up.", palette=False),
    Action("table.down", "down,j", "Down", "One row down.", palette=False),
    Action("table.first", "g,home", "First", "To the first row.", palette=False),
    Action("table.last", "G,end", "Last", "To the last row.", palette=False),
    Action("table.page_up", "pageup,ctrl+b", "Page up", "One screenful up.", palette=False),
    Action(
        "table.page_down",
        "pagedown,ctrl+f,space",
        "Page down",
        "One screenful down.",
        palette=False,
        shown_key="pgdn space",
    ),
    # Long text
    Action("text.up", "up,k", "Up", "One line up.", palette=False),
    Action("text.down", "down,j", "Down", "One line down.", palette=False),
    Action("text.first", "g,home", "Top", "To the top.", palette=False),
    Action("text.last", "G,end", "Bottom", "To the bottom.", palette=False),
    Action("text.page_up", "pageup,ctrl+b", "Page up", "One screenful up.", palette=False),
    Action(
        "text.page_down",
        "pagedown,ctrl+f,space",
        "Page down",
        "One screenful down.",
        palette=False,
        shown_key="pgdn space",
    ),
    # Banks
    Action("banks.open", "enter", "Open", "Open the bank: its documents.", footer=True),
    Action("banks.recall", "r", "Recall", "Search the memories of the bank.", footer=True),
    Action(
        "banks.filter", "slash", "Filter", "Show the banks whose name contains what you type.", footer=True
    ),
    Action("banks.create", "n", "New bank", "Create a bank.", footer=True, writes=True),
    Action(
        "banks.delete",
        "D",
        "Delete",
        "Delete the bank with everything in it (asks first).",
        footer=True,
        writes=True,
    ),
    # A bank's documents
    Action("documents.open", "enter", "Open", "Open the document: text, facts, tags, chunks.", footer=True),
    Action(
        "documents.filter",
        "slash",
        "Filter",
        "Show the documents whose id or text contains what you type.",
        footer=True,
    ),
    Action(
        "documents.recall", "2,r", "Recall", "Search the memories of this bank.", footer=True, shown_key="2 r"
    ),
    # One document
    Action("document.tab_text", "1", "Text", "The text as it was retained.", footer=True, run="tab('text')"),
    Action(
        "document.tab_facts",
        "2",
        "Facts",
        "The facts taken from it, with their state.",
        footer=True,
        run="tab('facts')",
    ),
    Action(
        "document.tab_about",
        "3",
        "About",
        "Tags, metadata and how it was retained.",
        footer=True,
        run="tab('about')",
    ),
    Action(
        "document.tab_chunks", "4", "Chunks", "The pieces it was cut into.", footer=True, run="tab('chunks')"
    ),
    Action("document.next_tab", "right,l", "Next tab", "To the next tab.", run="cycle(1)"),
    Action("document.previous_tab", "left,h", "Previous tab", "To the previous tab.", run="cycle(-1)"),
    Action(
        "document.invalidate",
        "x",
        "Invalidate",
        "Take the selected fact back: recall stops finding it.",
        footer=True,
        writes=True,
    ),
    Action(
        "document.restore",
        "v",
        "Restore",
        "Make the selected invalidated fact valid again.",
        footer=True,
        writes=True,
    ),
    # Recall
    Action("recall.open", "enter", "Document", "Open the document that the result came from.", footer=True),
    Action("recall.query", "slash", "Query", "Go to the query field.", footer=True),
    Action("recall.documents", "1", "Documents", "The documents of this bank.", footer=True),
    Action(
        "recall.invalidate",
        "x",
        "Invalidate",
        "Take the selected fact back: recall stops finding it.",
        footer=True,
        writes=True,
    ),
)

BY_ID = {action.id: action for action in ACTIONS}


def actions_of(*places: str) -> tuple[Action, ...]:
    """The actions that these places carry, in registry order of the places given."""
    return tuple(action for place in places for action in ACTIONS if action.where == place)


def bindings(*places: str) -> list[BindingType]:
    """The same as Textual bindings, each with the action's id, so that a key map can move it."""
    return [
        Binding(
            action.key,
            action.name,
            action.label,
            show=action.footer,
            key_display=action.keys.split(" ")[0] if action.footer else None,
            priority=action.priority,
            tooltip=action.help,
            id=action.id,
        )
        for action in actions_of(*places)
    ]


def writing_names(actions: Iterable[Action] = ACTIONS) -> frozenset[str]:
    """The method names of what writes (``action_<name>``)."""
    return frozenset(action.name.split("(")[0] for action in actions if action.writes)


WRITING = writing_names()

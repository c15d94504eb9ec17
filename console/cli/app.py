"""No command on a terminal: the app."""

from __future__ import annotations

from importlib import import_module

from console.cli.base import State


def open_app(state: State) -> int:
    """Open the app on the settings; what it ended with."""
    return int(import_module("console.tui.app").run(state.settings))

"""No command on a terminal: the app."""

from __future__ import annotations

from console.cli.base import State


def open_app(state: State) -> int:
    """Open the app on the settings; what it ended with."""
    from console.tui.app import run

    return run(state.settings)

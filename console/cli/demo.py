"""``console demo``: a sample project memory."""

from __future__ import annotations

from pathlib import Path

import click

from console.cli.base import State, command, pass_state
from console.cli.streams import stdin_is_terminal


@command("demo")
@click.argument(
    "folder", metavar="[DIR]", required=False, default="memory-demo", type=click.Path(path_type=Path)
)
@click.option("--no-tui", is_flag=True, help="Only create it and say what to try next.")
@pass_state
def demo(state: State, folder: Path, no_tui: bool) -> None:
    """Make a sample project memory in DIR (default ./memory-demo) and open the app on it."""
    from importlib import import_module

    import_module("console.demo.build").build(folder)
    if no_tui or not stdin_is_terminal():
        return

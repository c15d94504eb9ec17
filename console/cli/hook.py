"""``console hook``: the row in the table of commands. ``console.cli.main`` runs it before any of this is loaded."""

from __future__ import annotations

import click

from console.cli.base import command


@command("hook", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def hook(words: tuple[str, ...]) -> None:
    """What a harness runs at its events, JSON on standard input."""
    from console.hook import main

    click.get_current_context().exit(main(words))

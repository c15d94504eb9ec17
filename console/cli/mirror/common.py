"""What the mirror's verbs share: options, the open bank, progress, lines."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from console.cli.base import State
from console.text import neutralise
from mirror.sync import Bank, Progress

T = TypeVar("T")
SHOWN = 20
"""Rows of a list that the readable output shows; ``--json`` has them all."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a verb works."""

    repo: Path
    wiki: str
    default_branch: str | None
    here: bool
    offline: bool
    branch: bool


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where; they arrive as the argument ``place``."""

    @click.pass_context
    def gathered(
        context: click.Context,
        /,
        repo: Path,
        wiki: str | None,
        default_branch: str | None,
        here: bool,
        offline: bool,
        branch: bool,
        **more: Any,
    ) -> Any:
        settings = context.ensure_object(State).settings
        place = Place(repo, wiki or settings.wiki, default_branch or settings.branch, here, offline, branch)
        return context.invoke(command, place=place, **more)

    gathered.__doc__ = command.__doc__
    gathered.__name__ = command.__name__
    wrapped: Callable[..., Any] = gathered
    parameters = getattr(command, "__click_params__", [])
    for option in reversed(
        [
            click.option(
                "--repo", type=click.Path(path_type=Path), default=Path(), help="A folder of the repository."
            ),
            click.option(
                "--wiki", metavar="FOLDER", help="The wiki's folder in the repository (default: wiki)."
            ),
            click.option("--default-branch", metavar="NAME", help="The branch whose pages count."),
            click.option("--here", is_flag=True, help="Work on the checked-out branch, whatever it is."),
            click.option("--offline", is_flag=True, help="Do not fetch the default branch first."),
            click.option(
                "--branch",
                is_flag=True,
                help="Work on mirror/<bank>, touching neither index, HEAD nor files.",
            ),
        ]
    ):
        wrapped = option(wrapped)
    wrapped.__click_params__ = [*getattr(wrapped, "__click_params__", []), *parameters]  # type: ignore[attr-defined]
    return wrapped


def run(state: State, work: Callable[[Bank, Progress | None], Awaitable[T]]) -> T:
    """Open the bank, do the work with progress on stderr, close it."""
    from console.bridge import StoreSource

    settings = state.settings
    with Bar() as bar:
        return state.with_store(lambda store: work(StoreSource(store, settings.bank), bar.tell))


class Bar:
    """Progress on stderr, only on a terminal, one line that is wiped at the end."""

    def __init__(self) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def tell(self, what: str, done: int, total: int) -> None:
        if self._on:
            sys.stderr.write(f"\r\x1b[K{what} {done:,} of {total:,}")
            sys.stderr.flush()


def say(line: str) -> None:
    """One line of readable output, harmless whatever it holds."""
    click.echo(neutralise(line))


def more(count: int) -> None:
    if count > SHOWN:
        say(f"          {count - SHOWN:,} more; --json lists them all")

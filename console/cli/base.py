"""What every command shares: global options on both sides of the command, lazy groups, an open store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

import click

from console.cli.streams import stdin_is_terminal
from console.memory.store import MemoryStore
from console.settings import Settings, load_settings
from console.text import one_line

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Lazy = Mapping[str, tuple[str, str]]
"""Command name -> (``module:attribute``, the line that help shows without importing it)."""


@dataclass
class State:
    """What the global options said, and the settings once somebody needs them."""

    store: str | None = None
    bank: str | None = None
    profile: str | None = None
    read_only: bool | None = None
    as_json: bool = False
    as_jsonl: bool = False
    yes: bool = False
    _settings: Settings | None = field(default=None, repr=False)

    @property
    def settings(self) -> Settings:
        """Loaded on first use; its warnings are said once, on stderr."""
        if self._settings is None:
            self._settings = load_settings(
                store=self.store, bank=self.bank, profile=self.profile, read_only=self.read_only
            )
            for line in self._settings.warnings:
                note(line)
        return self._settings

    def with_store(self, work: Callable[[MemoryStore], Awaitable[T]]) -> T:
        """Open the store, do the work, close the store."""
        from console.stores import open_store

        settings = self.settings

        async def whole() -> T:
            store = open_store(settings)
            try:
                return await work(store)
            finally:
                await store.aclose()

        return asyncio.run(whole())


def note(line: str) -> None:
    """One line on stderr that is no error."""
    click.echo(f"console: {one_line(line)}", err=True)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value is not None and value is not False:
        setattr(context.ensure_object(State), str(option.name), value)


def jsonl_option(command: F) -> F:
    """``--jsonl`` for a command whose answer is rows."""
    return click.option(
        "--jsonl",
        "as_jsonl",
        is_flag=True,
        callback=_remember,
        expose_value=False,
        help="One JSON object a line, as they come.",
    )(command)


def with_globals(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the global options; what they say goes to :class:`State`, not to the function."""
    for option in reversed(_globals()):
        command = option(command)
    return command


def _globals() -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    def option(*names: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        return click.option(*names, callback=_remember, expose_value=False, **more)

    return [
        option("--store", metavar="URL", help="sqlite:PATH, https://HOST, http://HOST or wiki:PATH."),
        option("--bank", metavar="ID", help="The bank to work in."),
        option("--profile", metavar="NAME", help="A [profile.NAME] of your configuration."),
        option("--json", "as_json", is_flag=True, help="Print one JSON value."),
        option("--read-only", is_flag=True, help="Refuse every write."),
        option("--yes", is_flag=True, help="Do not ask before deleting."),
    ]


class Command(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = {name for parameter in self.params for name in parameter.opts}
        self.params = [*self.params, *(p for p in _global_parameters() if not own & set(p.opts))]


def _global_parameters() -> list[click.Parameter]:
    @click.command()
    @with_globals
    def holder() -> None: ...

    return list(holder.params)


class Group(click.Group):
    """A group that imports a command only when it runs, and says usage errors in the same words everywhere."""

    command_class = Command

    def __init__(
        self, *args: Any, lazy: Lazy | None = None, default: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy: Lazy = lazy or {}
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.default is not None and not self._names_verb(args):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _names_verb(self, args: list[str]) -> bool:
        """Whether a verb (or a wrong one, or --help) comes before any option that this group does not know."""
        known = {name: parameter for parameter in self.params for name in parameter.opts}
        rest = iter(args)
        for word in rest:
            if not word.startswith("-") or word == "--help":
                return True
            name, equals, _ = word.partition("=")
            parameter = known.get(name)
            if not isinstance(parameter, click.Option):
                return False
            if not equals and not parameter.is_flag:
                next(rest, None)
        return False

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, line) for name, (_, line) in self.lazy.items()]
        rows += [
            (name, command.get_short_help_str(limit=72))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group(name: str, *, default: str | None = None, **more: Any) -> Callable[[Callable[..., Any]], Group]:
    """A group of verbs with the global options; without a verb ``default`` runs, with the options that follow."""

    def decorate(function: Callable[..., Any]) -> Group:
        made: Group = click.command(name=name, cls=Group, default=default, **more)(with_globals(function))
        return made

    return decorate


def command(name: str, **more: Any) -> Callable[[Callable[..., Any]], Command]:
    """A command with the global options that stands alone."""

    def decorate(function: Callable[..., Any]) -> Command:
        made: Command = click.command(name=name, cls=Command, **more)(function)
        return made

    return decorate


def pass_state(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command's function the :class:`State` as its first argument."""
    return click.make_pass_decorator(State, ensure=True)(function)


class Refused(click.UsageError):
    """A usage error whose message already says what to do."""


def confirm(state: State, action: str) -> None:
    """Ask on a terminal; ``--yes`` answers; in a script without it, refuse (64).

    ``action`` is what would be done, as in ``delete 2 documents``.
    """
    if state.yes:
        return
    if not stdin_is_terminal():
        raise Refused(f"will not {action} unasked, and there is no terminal to ask on: add --yes")
    if not click.confirm(one_line(f"{action[:1].upper()}{action[1:]}?"), default=False, err=True):
        note("nothing was changed")
        click.get_current_context().exit(1)


def check_text(value: str, what: str) -> str:
    """An argument as text. Raises UsageError where the command line held bytes that are no text."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        try:
            return value.encode(sys.getfilesystemencoding(), "surrogateescape").decode("utf-8")
        except UnicodeError as error:
            raise click.UsageError(f"{what} is not valid UTF-8") from error
    return value

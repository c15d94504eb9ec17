"""The program: the table of commands, and the one place where anything that goes wrong becomes a line and a code.

Promise: a user never sees a traceback unless ``CONSOLE_TRACEBACK=1`` asks for it, and usage errors end with 64.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import click

from console import __version__
from console.cli.base import Group, Refused, State, note, with_globals
from console.cli.streams import prepare_streams, silence_stdout
from console.memory.errors import StoreError
from console.settings import SettingsError
from console.text import one_line

USAGE = 64
INTERRUPTED = 130

_COMMANDS = {
    "retain": ("console.cli.retain:retain", "Store a text, standard input or files."),
    "recall": ("console.cli.recall:recall", "Search the memories of a bank."),
    "reflect": ("console.cli.recall:reflect", "Answer a question from the memories of a bank."),
    "banks": ("console.cli.banks:banks", "List, create, inspect and delete banks."),
    "documents": ("console.cli.documents:documents", "The texts that were retained."),
    "memories": ("console.cli.memories:memories", "The facts in a bank: list, edit, take back, restore."),
    "entities": ("console.cli.entities:entities", "Who and what the memories are about."),
    "tags": ("console.cli.entities:tags", "The tags of a bank, with how many memories carry each."),
    "models": ("console.cli.models:models", "Mental models: summaries that a bank keeps up to date."),
    "knowledge": ("console.cli.knowledge:knowledge", "Knowledge pages: what a bank writes of itself."),
    "directives": ("console.cli.directives:directives", "The rules that a bank's answers obey."),
    "observations": ("console.cli.observations:observations", "What a bank concluded from several facts."),
    "consolidation": ("console.cli.observations:consolidation", "Make observations from new facts."),
    "operations": ("console.cli.operations:operations", "Background work of a store."),
    "seam": ("console.cli.seam:seam", "The endpoint that harnesses point at: journaled and mirrored."),
    "mirror": ("console.cli.mirror:mirror", "The wiki: a bank's documents as pages in a git repository."),
    "probe": ("console.cli.probe:probe", "Saved queries with what they should find."),
    "api": ("console.cli.api:api", "Any operation of a Hindsight server."),
    "hook": ("console.cli.hook:hook", "What a harness runs at its events."),
    "settings": ("console.cli.settings:settings", "Every setting and where it comes from."),
    "doctor": ("console.cli.doctor:doctor", "Check the store, the bank, git and the settings."),
    "demo": ("console.cli.demo:demo", "Make a sample project memory and open it."),
}

_EPILOG = """\b
Without a command, the app opens. Global options may stand before or after the command.
\b
Stores:  sqlite:PATH  https://HOST  http://HOST  (default: a file in your data folder)
Bank:    --bank, HINDSIGHT_BANK_ID, the repository's file, else the repository's own
Exit:    0 done, 1 error, 2 changes pending, 3 conflicts, 4 refused by a guard,
         5 locked, 6 secrets found, 64 wrong usage, 130 interrupted
"""


@click.command(
    cls=Group,
    name="console",
    lazy=_COMMANDS,
    invoke_without_command=True,
    epilog=_EPILOG,
    help="Browse, query and curate agent memory banks, and mirror them as a wiki in git.",
)
@click.version_option(__version__, prog_name="console", message="%(prog)s %(version)s")
@with_globals
@click.pass_context
def program(context: click.Context) -> None:
    if context.invoked_subcommand is not None:
        return
    state = context.ensure_object(State)
    if not state.as_json and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from console.cli.app import open_app

        context.exit(open_app(state))
    if state.as_json:
        raise click.UsageError("--json needs a command", context)
    click.echo(context.get_help())
    note("the app needs a terminal; without one, name a command")


def run(argv: Sequence[str] | None = None) -> int:
    """Run the program on ``argv`` (without its name); the exit code."""
    prepare_streams()
    try:
        code = _invoke(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        silence_stdout()
        return 0
    except (KeyboardInterrupt, click.Abort, EOFError):
        return _fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        return _fail(_usage(error), USAGE if isinstance(error, click.UsageError) else 1)
    except (StoreError, SettingsError) as error:
        return _fail(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence: reported below, never hidden
        return _unexpected(error)


def _invoke(argv: list[str]) -> int:
    # Not program.main(): it ends a broken pipe with 1 and prints usage errors in its own form.
    if "_CONSOLE_COMPLETE" in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, "console", "_CONSOLE_COMPLETE", os.environ["_CONSOLE_COMPLETE"])
    try:
        with program.make_context("console", argv) as context:
            code = program.invoke(context)
    except click.exceptions.Exit as ended:
        return int(ended.exit_code)
    return code if isinstance(code, int) else 0


def _unexpected(error: Exception) -> int:
    # The mirror's and the demo's errors speak for themselves; importing their classes here would load git.
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return _fail(str(error), code)
    if os.environ.get("CONSOLE_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{error.strerror.lower()}{where}", 1)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _fail(f"unexpected error, {text}: this is a defect; CONSOLE_TRACEBACK=1 shows where", 1)


def _usage(error: click.ClickException) -> str:
    text = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None or isinstance(error, click.FileError | Refused):
        return text
    text = text[:1].lower() + text[1:]
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        text = "name a verb"
    return f"{text}: see `{context.command_path} --help`"


def _fail(line: str, code: int) -> int:
    """Say it on stderr in one line, whatever the text holds; the code."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"console: {one_line(line)}\n")
            sys.stderr.flush()
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        silence_stdout()
    return code

"""``console demo``: a sample project memory."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.cli.base import State, command, pass_state
from console.cli.output import count, out, print_json, styled
from console.cli.streams import stderr_is_terminal, stdin_is_terminal
from console.text import one_line

if TYPE_CHECKING:
    from console.demo.build import DemoResult


@command("demo")
@click.argument(
    "folder", metavar="[DIR]", required=False, default="memory-demo", type=click.Path(path_type=Path)
)
@click.option("--no-tui", is_flag=True, help="Only create it and say what to try next.")
@pass_state
def demo(state: State, folder: Path, no_tui: bool) -> int | None:
    """Make a sample project memory in DIR (default ./memory-demo) and open the app on it.

    DIR gets an embedded bank, a git repository and the bank's wiki. Your own store is not touched.
    """
    for option, given in (("--store", state.store), ("--bank", state.bank), ("--profile", state.profile)):
        if given is not None:
            raise click.UsageError(f"the demo has a store and a bank of its own; leave out {option}")
    if state.read_only:
        raise click.UsageError("the demo has to be written; leave out --read-only")
    made = _build(folder)
    if state.as_json:
        print_json(_summary(made))
        return None
    _tell(made)
    if no_tui or not (stdin_is_terminal() and sys.stdout.isatty()):
        _tell_next(made)
        return None
    from console.cli.app import open_app

    return open_app(State(store=made.store_url, bank=made.bank_id))


def _build(folder: Path) -> DemoResult:
    from console.demo.build import build

    hidden = not stderr_is_terminal()
    with click.progressbar(length=1, label="retaining", file=sys.stderr, hidden=hidden) as bar:

        def progress(what: str, done: int, total: int) -> None:
            label = one_line(what)
            if label != bar.label:
                bar.label, bar.pos, bar.finished = label, 0, False
            bar.length = max(total, 1)
            if done > bar.pos:
                bar.update(done - bar.pos)

        return asyncio.run(build(folder, progress=progress))


def _summary(made: DemoResult) -> dict[str, Any]:
    return {
        "directory": str(made.directory),
        "store": made.store_url,
        "bank_id": made.bank_id,
        "created": made.created,
        "documents": made.documents,
        "facts": made.facts,
        "retracted": made.retracted,
        "agents": made.agents,
        "commit": made.commit,
    }


def _tell(made: DemoResult) -> None:
    verb = "Made" if made.created else "There already, unchanged:"
    out(
        f"{verb} {one_line(str(made.directory))}: {count(made.documents, 'document')} and "
        f"{count(made.facts, 'fact')} of {count(len(made.agents), 'agent')}, with a git repository and a wiki."
    )


def _tell_next(made: DemoResult) -> None:
    from console.demo import story

    console = f"{program()} --store {shlex.quote(made.store_url)} --bank {made.bank_id}"
    folder = shlex.quote(str(made.directory))
    out()
    out("One thing that these agents believe is wrong. It was concluded once, and others built on it.")
    for title, line in (
        ("What the memory answers:", f'{console} recall "{story.QUESTION}"'),
        ("Who else says so, and since when:", f'{console} documents list --q "payout-retry"'),
        ("What was known before that:", f'{console} documents get "{story.TRUTH[0].document}"'),
        ("The same memory as a wiki in git:", f'git -C {folder} grep -i "duplicate payouts" -- "wiki/*.md"'),
        ("Whether the wiki says what the memory says:", f"{console} mirror verify --repo {folder}"),
        ("The app:", console),
    ):
        out()
        out(styled(title, bold=True))
        out(f"  {line}")


def program() -> str:
    """How this program can be called again: ``console`` where that is found, else the path that it was called by."""
    called = Path(sys.argv[0])
    found = shutil.which("console")
    try:
        if found is not None and called.samefile(found):
            return "console"
    except OSError:
        pass  # one of the two went away meanwhile: the path is still the better answer
    return shlex.quote(str(called)) if called.name.startswith("console") else "console"

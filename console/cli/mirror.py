"""``console mirror``: the wiki of a bank in a git repository."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from console.cli.base import State, group, pass_state
from console.text import neutralise
from mirror.listing import Busy
from mirror.sync import Bank, Options, Progress, Report
from mirror.verify import Verification

T = TypeVar("T")
_SHOWN = 20
"""Rows of a list that the readable output shows; ``--json`` has them all."""


@group("mirror", help="A bank's documents as reviewable pages in a git repository.")
def mirror() -> None: ...


def _repository_options(command: Callable[..., Any]) -> Callable[..., Any]:
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
        ]
    ):
        command = option(command)
    return command


def _branch_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--branch", is_flag=True, help="Commit on mirror/<bank>, touching neither index, HEAD nor files."
    )(command)


def _max_gone(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--max-gone",
        type=click.IntRange(min=0),
        metavar="N",
        help="Allow N pages to go with their documents.",
    )(command)


@mirror.command("init")
@_repository_options
@_branch_option
@click.option("--rebind", is_flag=True, help="Bind the wiki to a bank that was deleted and made again.")
@_max_gone
@pass_state
def init(
    state: State,
    repo: Path,
    wiki: str | None,
    default_branch: str | None,
    here: bool,
    offline: bool,
    branch: bool,
    rebind: bool,
    max_gone: int | None,
) -> int:
    """Bind a wiki folder to the bank and write its first pages."""
    options = Options(
        wiki=wiki or state.settings.wiki,
        branch=branch,
        default_branch=default_branch or state.settings.branch,
        here=here,
        offline=offline,
        first=True,
        rebind=rebind,
        max_gone=max_gone,
    )
    return _sync(state, repo, options)


@mirror.command("sync")
@_repository_options
@_branch_option
@click.option(
    "--check", is_flag=True, help="Say what would change, write nothing; exit 2 when there is something."
)
@_max_gone
@pass_state
def sync(
    state: State,
    repo: Path,
    wiki: str | None,
    default_branch: str | None,
    here: bool,
    offline: bool,
    branch: bool,
    check: bool,
    max_gone: int | None,
) -> int:
    """Bring the wiki up to the bank, in one commit. The first time: `mirror init`, or --yes."""
    options = Options(
        wiki=wiki or state.settings.wiki,
        branch=branch,
        default_branch=default_branch or state.settings.branch,
        here=here,
        offline=offline,
        first=state.yes,
        check=check,
        max_gone=max_gone,
    )
    return _sync(state, repo, options)


@mirror.command("status")
@_repository_options
@_branch_option
@_max_gone
@pass_state
def status(
    state: State,
    repo: Path,
    wiki: str | None,
    default_branch: str | None,
    here: bool,
    offline: bool,
    branch: bool,
    max_gone: int | None,
) -> int:
    """How the wiki stands against the bank. Writes nothing; exit 0 also when a sync has something to do."""
    options = Options(
        wiki=wiki or state.settings.wiki,
        branch=branch,
        default_branch=default_branch or state.settings.branch,
        here=here,
        offline=offline,
        check=True,
        max_gone=max_gone,
    )
    report = _run(state, lambda source, progress: _sync_call(source, repo, options, progress))
    if state.as_json:
        _print_json(_report_json(report))
        return 0
    _say(f"bank      {report.bank_id}  {report.documents:,} documents, {report.facts:,} facts")
    bound = (
        "not set up yet: `console mirror init`"
        if report.first
        else f"{report.branch}, {report.unchanged:,} pages up to date"
    )
    _say(f"wiki      {report.folder}  {bound}")
    if report.remote:
        _say(f"remote    {report.remote}")
    _say(f"to write  {_counts(report) or 'nothing'}")
    _print_details(report)
    return 0


@mirror.command("verify")
@_repository_options
@_branch_option
@pass_state
def verify(
    state: State,
    repo: Path,
    wiki: str | None,
    default_branch: str | None,
    here: bool,
    offline: bool,
    branch: bool,
) -> int:
    """Compare every page and text with the bank, and every hash with its bytes. Exit 3 on a difference."""
    options = Options(
        wiki=wiki or state.settings.wiki,
        branch=branch,
        default_branch=default_branch or state.settings.branch,
        here=here,
        offline=offline,
    )

    async def work(source: Bank, progress: Progress | None) -> Verification:
        from mirror.verify import verify as compare

        return await compare(source, repo, options, progress)

    result = _run(state, work)
    if state.as_json:
        _print_json(asdict(result))
        return result.exit_code
    for difference in result.differences[:_SHOWN]:
        _say(f"{difference.path}: {difference.what}")
    _more(len(result.differences))
    _print_busy(result.busy)
    _say(
        f"{len(result.differences):,} differences: {result.pages:,} pages of {result.folder} on {result.branch} against "
        f"{result.documents:,} documents and {result.facts:,} facts of bank {result.bank_id}"
    )
    return result.exit_code


def _sync(state: State, repo: Path, options: Options) -> int:
    report = _run(state, lambda source, progress: _sync_call(source, repo, options, progress))
    if state.as_json:
        _print_json(_report_json(report))
        return report.exit_code
    if report.first:
        remote = f", remote {report.remote}" if report.remote else ""
        _say(
            f"bound {report.folder} to bank {report.bank_id} ({report.documents:,} documents) on {report.branch}{remote}"
        )
    counts = _counts(report)
    if options.check:
        _say(f"would write {counts}" if report.pending else "nothing to do")
    elif report.commit:
        _say(f"{counts or 'side files'}: commit {report.commit[:12]} on {report.branch}")
    else:
        _say(f"nothing to do: {report.unchanged:,} pages are up to date")
    _print_details(report)
    return report.exit_code


async def _sync_call(source: Bank, repo: Path, options: Options, progress: Progress | None) -> Report:
    from mirror.sync import sync as run_sync

    return await run_sync(source, repo, options, progress)


def _run(state: State, work: Callable[[Bank, Progress | None], Awaitable[T]]) -> T:
    from console.bridge import StoreSource

    settings = state.settings
    with _Bar() as bar:
        return state.with_store(lambda store: work(StoreSource(store, settings.bank), bar.tell))


class _Bar:
    """Progress on stderr, only on a terminal, one line that is wiped at the end."""

    def __init__(self) -> None:
        self._on = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def tell(self, what: str, done: int, total: int) -> None:
        if self._on:
            sys.stderr.write(f"\r\x1b[K{what} {done:,} of {total:,}")
            sys.stderr.flush()


def _counts(report: Report) -> str:
    pairs = (
        (report.added, "added"),
        (report.changed, "changed"),
        (report.restored, "restored"),
        (report.removed, "removed"),
    )
    text = ", ".join(f"{count:,} {what}" for count, what in pairs if count)
    return text or (f"{report.files} side files" if report.files else "")


def _print_details(report: Report) -> None:
    for line in report.unread:
        _say(f"unread    {line}")
    for path in report.skipped[:_SHOWN]:
        _say(f"skipped   {path}: it has uncommitted changes")
    _more(len(report.skipped))
    _print_busy(report.busy)
    if report.repaired:
        _say(f"repaired  {report.repaired} files that an interrupted run left behind")


def _print_busy(busy: list[Busy]) -> None:
    for row in busy[:_SHOWN]:
        operation = f" (operation {row.operation_id})" if row.operation_id else ""
        _say(f"busy      {row.document_id}: {row.reason}{operation}")
    _more(len(busy))


def _more(count: int) -> None:
    if count > _SHOWN:
        _say(f"          {count - _SHOWN:,} more; --json lists them all")


def _report_json(report: Report) -> dict[str, Any]:
    return asdict(report) | {"exit_code": report.exit_code}


def _print_json(value: Any) -> None:
    click.echo(msgspec.json.encode(value).decode("utf-8"))


def _say(line: str) -> None:
    click.echo(neutralise(line))

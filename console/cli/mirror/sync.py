"""``console mirror init | status | plan | sync | apply | verify``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from console.cli.base import State, command, pass_state
from console.cli.mirror.common import SHOWN, Place, more, place_options, run, say
from console.cli.output import count, print_json
from mirror.listing import Busy
from mirror.plan import ERASE, RESTORE, Policies
from mirror.sync import Bank, Options, Progress, Report, Withheld
from mirror.verify import Verification

_MAX_GONE = click.option(
    "--max-gone", type=click.IntRange(min=0), metavar="N", help="Allow N pages to go with their documents."
)
_MAX_RETRACTIONS = click.option(
    "--max-retractions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Allow N marks to be sent in one run (50).",
)
_MAX_ERASE = click.option(
    "--max-erase",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Allow N pages marked `erased` to be deleted for good.",
)
_PUSH = click.option(
    "--push", is_flag=True, help="Push what landed, never by force; a lost race is planned again."
)
_PR = click.option(
    "--pr", is_flag=True, help="With --branch --push: open a pull request, or bring the open one up to date."
)


def _options(place: Place, **more_options: Any) -> Options:
    erase = more_options.pop("max_erase", 0)
    if more_options.get("push") and place.offline:
        raise click.UsageError("--push needs the remote, --offline leaves it alone: give one of them")
    return Options(
        wiki=place.wiki,
        branch=place.branch,
        default_branch=place.default_branch,
        here=place.here,
        offline=place.offline,
        policies=Policies(erase=erase),
        **more_options,
    )


@command("init")
@place_options
@click.option("--rebind", is_flag=True, help="Bind the wiki to a bank that was deleted and made again.")
@_PUSH
@_MAX_GONE
@click.option(
    "--github",
    is_flag=True,
    help="Write the workflow that checks pull requests and syncs; opens no bank, commits nothing.",
)
@click.option("--dry-run", is_flag=True, help="With --github: show the workflow, write nothing.")
@pass_state
def init(
    state: State, place: Place, rebind: bool, push: bool, max_gone: int | None, github: bool, dry_run: bool
) -> int:
    """Bind a wiki folder to the bank and write its first pages, in one commit."""
    if github:
        from console.cli.mirror.workflow import write

        return write(state, place, dry_run=dry_run)
    if dry_run:
        raise click.UsageError(
            "--dry-run goes with --github; `console mirror plan` shows what a sync would do"
        )
    return _sync(state, place, _options(place, first=True, rebind=rebind, push=push, max_gone=max_gone))


@command("sync")
@place_options
@click.option(
    "--check", is_flag=True, help="Say what would be done, do nothing; exit 2 when there is something."
)
@_PUSH
@_PR
@click.option(
    "--watch",
    is_flag=False,
    flag_value=60,
    type=click.IntRange(min=1),
    metavar="[SECONDS]",
    help="Repeat every SECONDS (60) until ctrl-c: for banks that CI cannot reach.",
)
@_MAX_GONE
@_MAX_RETRACTIONS
@_MAX_ERASE
@pass_state
def sync(
    state: State,
    place: Place,
    check: bool,
    push: bool,
    pr: bool,
    watch: int | None,
    max_gone: int | None,
    max_retractions: int | None,
    max_erase: int,
) -> int:
    """Carry merged marks to the bank, then bring the wiki up to it, in one commit.

    The first time: `console mirror init`, or --yes.
    """
    options = _options(
        place,
        first=state.yes,
        check=check,
        push=push,
        max_gone=max_gone,
        max_retractions=max_retractions,
        max_erase=max_erase,
    )
    if pr and not (push and place.branch):
        raise click.UsageError("--pr needs --branch and --push: a pull request is made of a pushed branch")
    if check and (push or watch):
        raise click.UsageError("--check writes nothing: leave out --push and --watch")
    if watch:
        from console.cli.mirror.watch import watch as keep_on

        return keep_on(state, place, options, seconds=watch, pr=pr)
    return _sync(state, place, options, pr=pr)


@command("apply")
@place_options
@click.option(
    "--check", is_flag=True, help="Say what would be sent, send nothing; exit 2 when there is something."
)
@_MAX_RETRACTIONS
@_MAX_ERASE
@pass_state
def apply(state: State, place: Place, check: bool, max_retractions: int | None, max_erase: int) -> int:
    """Carry merged marks to the bank; write no page. The next sync shows them on the pages."""
    options = _options(place, export=False, check=check, max_retractions=max_retractions, max_erase=max_erase)
    return _sync(state, place, options)


@command("plan")
@place_options
@_MAX_GONE
@_MAX_RETRACTIONS
@_MAX_ERASE
@pass_state
def plan(
    state: State, place: Place, max_gone: int | None, max_retractions: int | None, max_erase: int
) -> int:
    """What a sync would send to the bank and write. Exit 2 when there is something to do."""
    options = _options(
        place, check=True, max_gone=max_gone, max_retractions=max_retractions, max_erase=max_erase
    )
    return _sync(state, place, options, details=True)


@command("status")
@place_options
@pass_state
def status(state: State, place: Place) -> int:
    """How the wiki stands against the bank. Writes nothing; exit 0 also when a sync has something to do."""
    options = _options(place, check=True, max_gone=1_000_000, max_retractions=1_000_000)
    report = run(state, lambda bank, progress: _call(bank, place, options, progress))
    if state.as_json:
        print_json(report_json(report))
        return 0
    say(f"bank      {report.bank_id}  {count(report.documents, 'document')}")
    bound = (
        "not set up yet: `console mirror init`"
        if report.first
        else f"{report.branch}, {count(report.unchanged, 'page')} up to date"
    )
    say(f"wiki      {report.folder}  {bound}")
    if report.remote:
        say(f"remote    {report.remote}")
    say(f"to send   {len(report.actions):,} changes to the bank" if report.actions else "to send   nothing")
    say(f"to write  {counts(report) or 'nothing'}")
    _print_details(report)
    return 0


@command("verify")
@place_options
@pass_state
def verify(state: State, place: Place) -> int:
    """Compare every page and text with the bank, and every hash with its bytes. Exit 3 on a difference."""
    options = _options(place)

    async def work(bank: Bank, progress: Progress | None) -> Verification:
        from mirror.verify import verify as compare

        return await compare(bank, place.repo, options, progress)

    result = run(state, work)
    if state.as_json:
        print_json(asdict(result) | {"exit_code": result.exit_code})
        return result.exit_code
    for difference in result.differences[:SHOWN]:
        say(f"{difference.path}: {difference.what}")
    more(len(result.differences))
    _print_busy(result.busy)
    say(
        f"{count(len(result.differences), 'difference')}: {count(result.pages, 'page')} of {result.folder} on {result.branch} against "
        f"{count(result.documents, 'document')} and {count(result.facts, 'fact')} of bank {result.bank_id}"
        + (f"; {count(result.withheld, 'document')} shown without their secrets" if result.withheld else "")
    )
    return result.exit_code


def _sync(state: State, place: Place, options: Options, *, details: bool = False, pr: bool = False) -> int:
    report = run(state, lambda bank, progress: _call(bank, place, options, progress))
    pull, line, code = pull_request(report, place) if pr else (None, "", 0)
    code = 1 if code else report.exit_code
    if state.as_json:
        value = report_json(report) | {"exit_code": code}
        print_json(value | {"pull_request": pull} if pr else value)
        return code
    print_report(report, options, details=details)
    if pr:
        say(line)
    return code


def pull_request(report: Report, place: Place) -> tuple[dict[str, Any] | None, str, int]:
    """(for JSON, one line, exit code): the sync stands whatever becomes of its pull request."""
    from console.cli.mirror.proposal import open_or_update, why_not
    from console.github import GitHubError
    from mirror.errors import MirrorError

    if reason := why_not(report):
        return None, f"no pull request: {reason}", 0
    try:
        made = open_or_update(report, place)
    except (GitHubError, MirrorError) as error:
        return {"error": str(error)}, f"the branch is pushed; {error}", 1
    return asdict(made), f"pull request #{made.number} {made.what}: {made.url}", 0


def print_report(report: Report, options: Options, *, details: bool = False) -> None:
    """What a run did, in lines."""
    if report.first and not options.check:
        remote = f", remote {report.remote}" if report.remote else ""
        say(
            f"bound {report.folder} to bank {report.bank_id} ({count(report.documents, 'document')}) on {report.branch}{remote}"
        )
    _print_actions(report, options)
    written = counts(report)
    if options.check:
        if options.export:
            say(f"would write {written}" if report.files else "nothing to write")
    elif report.commit:
        pushed = ", pushed" if report.pushed else ""
        say(f"{written or 'side files'}: commit {report.commit[:12]} on {report.branch}{pushed}")
    elif report.pushed:
        say(f"nothing to write; {report.branch} was pushed")
    elif options.export:
        say(f"nothing to write: {count(report.unchanged, 'page')} up to date")
    if details:
        for row in report.written[:SHOWN]:
            say(f"{row.what:<9} {row.path}")
        more(len(report.written))
    _print_details(report)


async def _call(bank: Bank, place: Place, options: Options, progress: Progress | None) -> Report:
    from mirror.sync import sync as run_sync

    return await run_sync(bank, place.repo, options, progress)


def _print_actions(report: Report, options: Options) -> None:
    for sent in report.texts[:SHOWN]:
        verb = "would be sent" if options.check else "went to the bank"
        say(f"{sent.kind} of {sent.document_id} {verb}  {sent.where}")
    more(len(report.texts))
    if not report.actions:
        return
    words = {RESTORE: "restore", ERASE: "erase"}
    verb = "would be sent" if options.check else "went to the bank"
    say(f"{len(report.actions):,} {'change' if len(report.actions) == 1 else 'changes'} {verb}:")
    for action in report.actions[:SHOWN]:
        text = action.record.text if action.record else action.key
        again = " again" if action.cause == "resurfaced" else ""
        why = f" ({action.reason})" if action.reason else ""
        place = f"  {action.where}" if action.where else ""
        what = words.get(action.kind, "retract")
        say(f"  {what}{again}  {action.document_id}: {' '.join(text.split())[:120]}{why}{place}")
    more(len(report.actions))


def counts(report: Report) -> str:
    """``3 added, 1 changed``; '' for nothing."""
    pairs = (
        (report.added, "added"),
        (report.changed, "changed"),
        (report.restored, "restored"),
        (report.removed, "removed"),
    )
    text = ", ".join(f"{count:,} {what}" for count, what in pairs if count)
    return text or (f"{report.files} side files" if report.files else "")


def _print_details(report: Report) -> None:
    print_secrets(report.secrets)
    for failure in report.failed[:SHOWN]:
        say(
            f"failed    {failure.action.where or failure.action.document_id}: {failure.reason}; its mark stays"
        )
    for item in report.unsettled[:SHOWN]:
        say(f"{item.kind:<9} {item.where or item.document_id}: {item.what}")
        for name, text in item.texts.items():
            if text:
                say(f"            {name}: {' '.join(text.split())[:160]}")
    more(len(report.unsettled))
    for edit in report.refused[:SHOWN]:
        say(f"refused   {edit.where}: {edit.what}")
        if edit.write:
            say(f"            {edit.write}")
    more(len(report.refused))
    for line in (*report.notes, *report.unread):
        say(f"note      {line}")
    for path in report.skipped[:SHOWN]:
        say(f"skipped   {path}: it has uncommitted changes; marks count once they are committed")
    more(len(report.skipped))
    _print_busy(report.busy)
    if report.repaired:
        say(f"repaired  {report.repaired} files that an interrupted run left behind")


def print_secrets(secrets: list[Withheld]) -> None:
    """What is withheld, and what to do about what nobody settled. Never a value."""
    open_ones = [secret for secret in secrets if not secret.settled]
    for secret in open_ones[:SHOWN]:
        say(f"secret    {secret.path}: {secret.rule} withheld ({secret.fingerprint})")
    more(len(open_ones))
    if open_ones:
        say(
            "          It is in the bank, where agents read it: change the secret itself first, then delete the document "
            "(`console mirror erase ID`)"
        )
        say(
            "          or settle it: `console mirror secrets keep FINGERPRINT` (stays withheld) or `allow` (is shown)."
        )


def _print_busy(busy: list[Busy]) -> None:
    for row in busy[:SHOWN]:
        operation = f" (operation {row.operation_id})" if row.operation_id else ""
        say(f"busy      {row.document_id}: {row.reason}{operation}")
    more(len(busy))


def report_json(report: Report) -> dict[str, Any]:
    """The report's fields, and the exit code."""
    return asdict(report) | {"exit_code": report.exit_code}


__all__ = ["apply", "init", "plan", "print_secrets", "report_json", "status", "sync", "verify"]

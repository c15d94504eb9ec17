"""``console mirror retract | restore | erase``: marks written for a person, or sent at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from console.cli.base import State, command, confirm, pass_state
from console.cli.mirror.common import Place, place_options, run, say
from console.cli.mirror.sync import report_json
from console.cli.output import count as count_of
from console.cli.output import print_json
from mirror import edit, find, frontmatter, textfile
from mirror.cover import Cover
from mirror.errors import CurationFailed, MirrorError
from mirror.files import inside, write_file
from mirror.git import Repository
from mirror.paths import BankFolder, page_name, wiki_path
from mirror.plan import RESTORE, RETRACT, Wish
from mirror.state import Wiki, read
from mirror.sync import Bank, Options, Progress, Report
from mirror.veil import Veiled

_DOCUMENT = click.option("--document", metavar="ID", help="The document that the fact stands in.")


class Work:
    """The wiki of the checked-out commit, and its pages as files."""

    def __init__(self, state: State, place: Place) -> None:
        self.repo = Repository.find(place.repo)
        self.folder = BankFolder(wiki_path(place.wiki), state.settings.bank)
        self.wiki: Wiki = read(self.repo, self.repo.resolve("HEAD"), self.folder)
        if self.wiki.header is None:
            raise MirrorError(
                f"no wiki of bank {state.settings.bank!r} here yet",
                where=self.folder.root,
                hint="run `console mirror init` first",
            )

    def change(self, path: str, change: Callable[[str], str]) -> None:
        file = inside(self.repo.top, path)
        try:
            before = file.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MirrorError(
                "the page cannot be read", where=path, hint=f"git checkout -- {path}"
            ) from error
        write_file(file, change(before).encode("utf-8"))

    def known(self, document_id: str) -> str:
        """The id that the wiki has for a document: its alias where the id itself holds a secret."""
        return (
            document_id
            if document_id in self.wiki.entries
            else Cover(header=self.wiki.header).alias(document_id)
        )

    def document_page(self, document_id: str) -> str:
        entry = self.wiki.entries.get(document_id)
        if entry is None or not entry.page:
            raise MirrorError(
                "the wiki has no page of this document",
                where=repr(document_id),
                hint="see `console documents list`",
            )
        return self.folder.path(page_name(self.folder.bank_id, document_id).page)


@command("retract")
@click.argument("fact", required=False)
@_DOCUMENT
@click.option("--reason", metavar="TEXT", default="", help="Why; it goes to the bank and stays on the page.")
@click.option(
    "--now", is_flag=True, help="Send it to the bank at once and sync, instead of marking the page."
)
@click.option(
    "--redact",
    is_flag=True,
    help="Also take its sentence out of the source text, which recall with chunks reads.",
)
@place_options
@pass_state
def retract(
    state: State, fact: str | None, document: str | None, reason: str, now: bool, redact: bool, place: Place
) -> int:
    """Take FACT back: its 12-digit key or its words. Without FACT, the whole --document."""
    if redact and now:
        raise click.UsageError("--redact goes through the page: leave out --now")
    return _mark(state, place, fact, document, reason, now, live=False, redact=redact)


@command("restore")
@click.argument("fact", required=False)
@_DOCUMENT
@click.option(
    "--pr", type=click.IntRange(min=1), metavar="N", help="Everything that pull request N took back."
)
@click.option(
    "--now", is_flag=True, help="Send it to the bank at once and sync, instead of marking the page."
)
@place_options
@pass_state
def restore(
    state: State, fact: str | None, document: str | None, pr: int | None, now: bool, place: Place
) -> int:
    """Let a retracted FACT live again: its 12-digit key or its words. Without FACT, the whole --document.

    With --pr, a whole review is taken back.
    """
    if pr is not None:
        from console.cli.mirror.takeback import restore_review

        if fact is not None or document is not None:
            raise click.UsageError("--pr names everything already: leave out the fact and --document")
        return restore_review(state, place, Work(state, place), pr, now=now)
    return _mark(state, place, fact, document, "", now, live=True)


def _mark(
    state: State,
    place: Place,
    fact: str | None,
    document: str | None,
    reason: str,
    now: bool,
    *,
    live: bool,
    redact: bool = False,
) -> int:
    if fact is None and document is None:
        raise click.UsageError("name a fact (its key or its words), or a whole document with --document")
    work = Work(state, place)
    verb = "restore" if live else "retract"
    document = None if document is None else work.known(document)
    if fact is None:
        path = work.document_page(str(document))
        where, keys, text = f"{path}:1", None, str(document)
        document_id = str(document)
    else:
        found = find.one(work.repo, work.wiki, fact, document=document)
        if found.line.retracted is not live:
            raise MirrorError(
                "this fact is live already" if live else "this fact is retracted already",
                where=f"{found.path}:{found.line.number}",
                hint="nothing was changed",
            )
        path, where, keys, text = found.path, f"{found.path}:{found.line.number}", found.line.key, found.text
        document_id = found.document_id
    if now:
        return _now(state, place, work, document_id, keys, reason, live=live)
    if keys is None:
        status = "active" if live else "retracted"
        work.change(path, lambda page: edit.set_status(page, status, reason, where=path))
    elif live:
        work.change(path, lambda page: edit.restore(page, keys, where=path))
    else:
        work.change(path, lambda page: edit.retract(page, keys, reason, where=path))
    if redact:
        work.change(path, lambda page: edit.set_fields(page, {"redact": "true"}, where=path))
    if state.as_json:
        print_json({"document_id": document_id, "key": keys, "path": path, "marked": verb, "sent": 0})
        return 0
    say(f"marked {where}: {verb} {' '.join(text.split())[:120]}")
    say(f"next: git commit -m '{verb.capitalize()} a fact' -- {path} && console mirror sync")
    return 0


def _now(
    state: State, place: Place, work: Work, document_id: str, key: str | None, reason: str, *, live: bool
) -> int:
    wish = Wish(RESTORE if live else RETRACT, document_id, key, "", reason=reason, by=work.repo.identity()[0])
    report = send(state, place, (wish,))
    verb = "restored" if live else "retracted"
    if state.as_json:
        print_json({"document_id": document_id, "key": key, "sent": report.sent, "sync": report_json(report)})
        return report.exit_code
    say(
        f"{verb} {report.sent} {'memory' if report.sent == 1 else 'memories'} of {document_id} in bank {work.folder.bank_id}"
    )
    print_settled(report)
    return report.exit_code


def send(state: State, place: Place, wanted: tuple[Wish, ...]) -> Report:
    """One sync that carries these out as if they stood on their pages. Raises CurationFailed where none could be."""
    options = Options(
        wiki=place.wiki,
        branch=place.branch,
        default_branch=place.default_branch,
        here=place.here,
        offline=place.offline,
        wishes=wanted,
        max_retractions=max(50, len(wanted)),
    )

    async def go(bank: Bank, progress: Progress | None) -> Report:
        from mirror.sync import sync

        return await sync(bank, place.repo, options, progress)

    report = run(state, go)
    if not report.sent and not report.commit:
        reasons = [u.what for u in report.unsettled] + [f.reason for f in report.failed]
        raise CurationFailed(
            "the bank has nothing to change for it",
            where=wanted[0].document_id,
            hint=reasons[0] if reasons else "run `console mirror sync` first",
        )
    return report


def print_settled(report: Report) -> None:
    if report.commit:
        say(f"commit {report.commit[:12]} on {report.branch}")
    for failure in report.failed:
        say(f"failed    {failure.action.document_id}: {failure.reason}")
    for item in report.unsettled:
        say(f"{item.kind:<9} {item.document_id}: {item.what}")


@command("correct")
@click.argument("document")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@place_options
@pass_state
def correct(state: State, document: str, file: Path, place: Place) -> int:
    """Put the text of FILE (or - for standard input) in place of DOCUMENT's source text.

    Written into the .txt beside the page, with `correct: true` on the page: once committed, the next sync sends it
    to the bank and applies the document's other retractions again.
    """
    work = Work(state, place)
    path = work.document_page(document)
    entry = work.wiki.entries[document]
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MirrorError("the corrected text cannot be read", where=str(file), hint=str(error)) from error
    if not text.strip():
        raise MirrorError(
            "the corrected text is empty",
            where=str(file),
            hint="to take the document back use retract or erase",
        )
    # A document keeps whether its text ends with a newline: the manifest holds that, not the file.
    text = text.removesuffix("\n") + ("\n" if entry.final_newline else "")
    encoded = textfile.encode(text)
    mode = frontmatter.quote(encoded.mode) if encoded.mode else None
    fields = {"text": mode, "correct": "true"}
    work.change(path, lambda page: edit.set_fields(page, fields, where=path))
    target = path.removesuffix(".md") + ".txt"
    write_file(inside(work.repo.top, target), encoded.data)
    if state.as_json:
        print_json({"document_id": document, "path": path, "text_path": target, "marked": "correct"})
        return 0
    say(f"corrected {target}")
    say(f"next: git commit -m 'Correct a text' -- {path} {target} && console mirror sync")
    return 0


@command("erase")
@click.argument("document")
@click.option("--dry-run", is_flag=True, help="Say what would go and where the text stays; delete nothing.")
@place_options
@pass_state
def erase(state: State, document: str, dry_run: bool, place: Place) -> int:
    """Delete DOCUMENT and all its facts from the bank for good, and its page from the wiki.

    Git's history keeps what was committed: the checklist names the commits.
    """
    work = Work(state, place)
    document = work.known(document)
    path = work.document_page(document)
    commits = [commit.hexsha for commit in work.repo.log("HEAD", path)]
    checklist = _checklist(path, commits)

    async def count(bank: Bank, _progress: Progress | None) -> int:
        bank = Veiled(bank, Cover(await bank.bank(), work.wiki.header))
        rows = 0
        for live in (True, False):
            offset = 0
            while True:
                page = await bank.facts(live=live, limit=10_000, offset=offset)
                rows += sum(1 for fact in page.items if fact.document_id == document)
                offset += page.seen
                if not page.seen or offset >= page.total:
                    break
        return rows

    facts = run(state, count)
    if dry_run:
        _print_erase(
            state,
            {"document_id": document, "facts": facts, "erased": False, "path": path, "checklist": checklist},
        )
        return 0
    confirm(state, f"delete document {document!r} and its {count_of(facts, 'fact')} for good")

    async def go(bank: Bank, progress: Progress | None) -> Report:
        from mirror.sync import sync

        bank = Veiled(bank, Cover(await bank.bank(), work.wiki.header))
        if not await bank.erase(document):
            raise MirrorError(
                "the bank does not have this document", where=repr(document), hint="run `console mirror sync`"
            )
        options = Options(
            wiki=place.wiki,
            branch=place.branch,
            default_branch=place.default_branch,
            here=place.here,
            offline=place.offline,
        )
        return await sync(bank, place.repo, options, progress)

    report = run(state, go)
    _print_erase(
        state,
        {
            "document_id": document,
            "facts": facts,
            "erased": True,
            "path": path,
            "commit": report.commit,
            "checklist": checklist,
        },
    )
    return report.exit_code


def _checklist(path: str, commits: list[str]) -> list[str]:
    text = path.removesuffix(".md") + ".txt"
    return [
        "If it held a secret: change that secret first; everything below takes time.",
        f"{len(commits)} commits hold the page: {', '.join(c[:12] for c in commits[:10])}{' ...' if len(commits) > 10 else ''}",
        f"To rewrite history, on a fresh clone: git filter-repo --invert-paths --path {path} --path {text}; then force-push, and everyone clones again.",
        "Ask the host (GitHub support) to drop cached views and pull request refs; forks and clones keep theirs.",
    ]


def _print_erase(state: State, value: dict[str, Any]) -> None:
    if state.as_json:
        print_json(value)
        return
    say(
        f"{'erased' if value['erased'] else 'would erase'} {value['document_id']}: {value['facts']} facts, page {value['path']}"
    )
    for number, line in enumerate(value["checklist"], 1):
        say(f"  {number}. {line}")


__all__ = ["correct", "erase", "restore", "retract"]

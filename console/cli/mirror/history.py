"""``console mirror diff | log | blame``: from git alone; no store is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from console.cli.base import State, command, pass_state
from console.cli.mirror.common import say
from console.cli.output import print_bytes, print_json
from mirror import digest, history, revisions
from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.history import Blame, Retraction, Step
from mirror.paths import BankFolder, wiki_path
from mirror.review import CHANGED, DocumentChange, FactChange, Review, bank_folders, review
from mirror.state import Wiki, read

_FORMATS = click.Choice(["text", "markdown", "json"])
_SIGNS = {
    "added": "+", "removed": "-", "erased": "-", "changed": "~", "retracted": "x", "restored": "o", "resurfaced": "!",
}  # fmt: skip


def place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The two options that say where; nothing else is needed to read history."""
    function = click.option("--wiki", metavar="FOLDER", help="The wiki's folder in the repository (default: wiki).")(
        function
    )  # fmt: skip
    return click.option(
        "--repo", type=click.Path(path_type=Path), default=Path(), help="A folder of the repository."
    )(function)


@contextmanager
def open_repository(repo: Path) -> Iterator[Repository]:
    found = Repository.find(repo)
    try:
        yield found
    finally:
        found.close()


@command("diff")
@click.argument("revisions_", metavar="[BASE[..HEAD]]", required=False)
@click.option("--format", "form", type=_FORMATS, help="text (default), markdown for a pull request, or json.")
@click.option("--default-branch", metavar="NAME", help="The branch to compare with, when no BASE is given.")
@place
@pass_state
def diff(
    state: State, revisions_: str | None, form: str | None, default_branch: str | None, repo: Path, wiki: str | None
) -> int:  # fmt: skip
    """What changed in memory between two revisions: facts added, changed, retracted, restored, resurfaced.

    BASE alone is compared with HEAD; BASE...HEAD starts where the two parted. Without any: what this branch, or
    the bank's mirror branch, changed since it left the default branch; else the newest commit of the wiki.
    """
    settings = state.settings
    folder = wiki_path(wiki or settings.wiki)
    with open_repository(repo) as found:
        base, head = revisions.find(
            found,
            revisions_,
            wiki=folder,
            bank=settings.bank,
            default_branch=default_branch or settings.branch,
        )
        result = review(found, base, head, wiki=folder, bank=state.bank)
    if form == "json" or (form is None and state.as_json):
        print_json(_review_json(result))
    elif form == "markdown":
        print_bytes(digest.markdown(result).encode("utf-8", "replace"))
    else:
        _print_review(result)
    return 0


def _review_json(result: Review) -> dict[str, Any]:
    return asdict(result) | {"counts": result.counts}


def _print_review(result: Review) -> None:
    base = result.base[:12] or "the beginning"
    for bank in result.banks:
        for document in bank.documents:
            _print_document(document)
    for problem in (*result.problems, *(p for bank in result.banks for p in bank.problems)):
        say(f"unread    {problem}")
    say(f"{base}..{result.head[:12]}: {digest.counts_line(result) or 'nothing changed in memory'}")


def _print_document(document: DocumentChange) -> None:
    session = f"session {document.session}" if document.session else ""
    who = ", ".join(part for part in (document.agent, session, document.day) if part)
    what = "" if document.what == CHANGED else f"{document.what}: "
    say(f"{what}{_flat(document.title or document.document_id)}" + (f"  ({who})" if who else ""))
    say(f"    {document.path}")
    if document.reason:
        say(f"    reason: {_flat(document.reason)}")
    for fact in document.facts:
        _print_fact(fact)
    if not document.facts and document.text_changed:
        say("  ~ the retained text changed; its facts did not")
    say("")


def _print_fact(fact: FactChange) -> None:
    place = f"  (line {fact.line})" if fact.line else ""
    waiting = ", not applied yet" if fact.marked else ""
    if fact.what == CHANGED:
        say(f"  ~ changed   {_flat(fact.old_text)}")
        say(f"         now  {_flat(fact.text)}{place}")
        return
    say(f"  {_SIGNS[fact.what]} {fact.what:<9} {_flat(fact.text)}{place}{waiting}")
    why = "; ".join(part for part in (fact.reason, fact.by, fact.pr, fact.when) if part)
    if why:
        say(f"              {_flat(why)}")


def _flat(text: str) -> str:
    return " ".join(text.split())


@command("log")
@click.argument("revision", required=False, default="HEAD")
@click.option("--retractions", is_flag=True, help="What was taken back: fact, reason, by whom, when, where.")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, metavar="N", help="Commits (20).")
@click.option("--format", "form", type=_FORMATS, help="text (default), markdown or json.")
@place
@pass_state
def log(
    state: State, revision: str, retractions: bool, limit: int, form: str | None, repo: Path, wiki: str | None
) -> int:
    """The commits of the bank's wiki, newest first, with what they brought; or --retractions."""
    form = form or ("json" if state.as_json else "text")
    with open_repository(repo) as found:
        commit = revisions.commit_of(found, revision)
        found_wiki = one_wiki(state, found, commit, wiki)
        if retractions:
            _print_retractions(history.retractions(found, found_wiki), form)
        else:
            _print_steps(history.steps(found, found_wiki, commit, limit=limit), form, found_wiki)
    return 0


def one_wiki(state: State, repo: Repository, commit: str, wiki: str | None) -> Wiki:
    """Of the bank that was named, or of the only one; raises MirrorError that names them."""
    folder = wiki_path(wiki or state.settings.wiki)
    banks = {f.bank_id: f for f in bank_folders(repo, [commit], folder).values()}
    wanted = state.bank or (state.settings.bank if state.settings.bank in banks else None)
    if wanted is None and len(banks) == 1:
        wanted = next(iter(banks))
    if wanted is None and banks:
        raise MirrorError(
            "several banks have a wiki here",
            where=folder,
            hint=f"name one with --bank: {', '.join(sorted(banks))}",
        )
    if wanted not in banks:
        where = BankFolder(folder, wanted).root if wanted else folder
        what = f"no wiki of bank {wanted!r} here yet" if wanted else "no wiki of a bank here yet"
        raise MirrorError(what, where=where, hint="run `console mirror init`, or check --wiki and --bank")
    return read(repo, commit, banks[wanted])


def _counts(step: Step) -> str:
    words = ", ".join(f"{count:,} {what}" for what, count in step.counts.items())
    return words or ("side files" if step.mirror else "no page")


def _print_steps(steps: list[Step], form: str, wiki: Wiki) -> None:
    if form == "json":
        print_json({"bank_id": wiki.folder.bank_id, "commits": [asdict(step) for step in steps]})
        return
    for step in steps:
        merge = ", merge" if step.merge and not step.mirror else ""
        if form == "markdown":
            what = "" if step.mirror else f" · {digest.safe(step.summary)}"
            line = f"- {step.day} `{step.commit[:12]}` **{_counts(step)}{merge}** · {digest.safe(step.author)}{what}\n"
            print_bytes(line.encode("utf-8", "replace"))
            continue
        title = "" if step.mirror else f"  {_flat(step.summary)}"
        say(f"{step.day}  {step.commit[:12]}  {_counts(step)}{merge}  {_flat(step.author)}{title}")
    if not steps and form == "text":
        say("no commit touched this wiki")


def _print_retractions(rows: list[Retraction], form: str) -> None:
    if form == "json":
        print_json({"retractions": [asdict(row) for row in rows], "total": len(rows)})
        return
    if form == "markdown":
        lines = [_retraction_markdown(row) for row in rows] or ["Nothing was taken back.\n"]
        print_bytes("".join(lines).encode("utf-8", "replace"))
        return
    for row in rows:
        say(f"{row.when or '----------'}  {row.state:<10} {row.key or 'document'}  {row.document_id}")
        if row.text:
            say(f"            {_flat(row.text)}")
        why = "; ".join(part for part in (row.reason, row.by, row.pr) if part)
        if why:
            say(f"            {_flat(why)}")
    say(f"{len(rows):,} taken back")


def _retraction_markdown(row: Retraction) -> str:
    place = (
        f" · {digest.link('page', row.path, f'?plain=1#L{row.line}' if row.line else '')}" if row.path else ""
    )
    why = "; ".join(digest.safe(part) for part in (row.reason, row.by, row.pr, row.when) if part)
    what = digest.safe(row.text) if row.text else "the whole document"
    return f"- **{row.state}** {what} · {digest.safe(row.document_id)} · {why or 'no reason given'}{place}\n"


@command("blame")
@click.argument("fact")
@click.option("--document", metavar="ID", help="The document that the fact stands in.")
@place
@pass_state
def blame(state: State, fact: str, document: str | None, repo: Path, wiki: str | None) -> int:
    """Who said FACT (its 12-digit key or its words), when it appeared, and how it was taken back."""
    with open_repository(repo) as found:
        commit = revisions.commit_of(found, "HEAD")
        found_wiki = one_wiki(state, found, commit, wiki)
        result = history.blame(found, found_wiki, fact, document=document, revision=commit)
    if state.as_json:
        print_json(asdict(result))
        return 0
    _print_blame(result)
    return 0


def _print_blame(result: Blame) -> None:
    def row(name: str, value: str) -> None:
        if value:
            say(f"{name:<12}{_flat(value)}")

    row("fact", result.text)
    row("state", result.state)
    row("document", result.document_id)
    row("page", f"{result.path}:{result.line}" if result.path else "")
    row("agent", result.agent)
    row("session", result.session)
    row("tags", ", ".join(result.tags))
    row("retained", f"first on {result.first_retained}" if result.first_retained else "")
    if result.appeared:
        pr = f", {result.appeared_pr}" if result.appeared_pr else ""
        cut = "; this clone is shallow, so it may be older" if result.shallow else ""
        row("appeared", f"{result.appeared.day} in {result.appeared.commit[:12]}{pr}{cut}")
    elif result.shallow:
        row("appeared", "before this shallow clone begins: git fetch --unshallow")
    taken = result.retraction
    if taken:
        why = "; ".join(part for part in (taken.reason, taken.by, taken.pr) if part)
        row("taken back", f"{taken.when}: {why or 'no reason given'}")
    if result.retracted_in:
        row("shown in", f"{result.retracted_in.day} in {result.retracted_in.commit[:12]}")


__all__ = ["blame", "diff", "log", "one_wiki", "open_repository", "place"]

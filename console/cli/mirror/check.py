"""``console mirror check``: are the edits on the pages marks? Needs a clone and nothing else."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass

import click

from console.cli.base import State, command, pass_state
from console.cli.mirror.common import SHOWN, Place, more, place_options, say
from console.cli.output import print_json
from mirror import state as wiki_state
from mirror import wishes
from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.paths import BankFolder, wiki_path
from mirror.review import bank_folders
from mirror.wishes import RefusedEdit

_ANNOTATIONS = 10
"""Of one kind per step: GitHub drops the rest in silence."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark that counts once it is merged."""

    kind: str
    where: str
    document_id: str
    text: str
    reason: str


@command("check")
@click.argument("revisions", metavar="[BASE...HEAD]", required=False)
@place_options
@pass_state
def check(state: State, revisions: str | None, place: Place) -> int:
    """Read the marks on the committed pages, of all banks or of --bank; exit 3 on an edit that is no mark.

    With BASE...HEAD only pages that differ between the two are looked at. No bank is opened and no secret is needed.
    """
    repo = Repository.find(place.repo)
    try:
        wiki = wiki_path(place.wiki)
        head, touched = _range(repo, revisions, wiki)
        marks: list[Mark] = []
        refused: list[RefusedEdit] = []
        notes: list[str] = []
        folders = bank_folders(repo, (head,), wiki)
        if state.bank is not None:
            folders = {root: f for root, f in folders.items() if f.bank_id == state.bank}
            if not folders:
                raise MirrorError(
                    f"no wiki of bank {state.bank!r} at this revision",
                    where=BankFolder(wiki, state.bank).root,
                    hint="check --bank and --wiki",
                )
        for _, folder in sorted(folders.items()):
            try:
                found = wiki_state.read(repo, head, folder)
            except MirrorError as error:
                refused.append(RefusedEdit(error.where or folder.root, error.message))
                continue
            refused += [
                RefusedEdit(e.where, e.message, e.hint) for e in found.errors if _in(e.where, touched)
            ]
            reading = wishes.read(repo, found, found.entries, who=False)
            refused += [edit for edit in reading.refused if _in(edit.where, touched)]
            notes += [line for line in reading.notes if _in(line, touched)]
            marks += [
                Mark(w.kind, w.where, w.document_id, w.text, w.reason)
                for w in reading.wishes
                if _in(w.where, touched)
            ]
    finally:
        repo.close()
    code = 3 if refused else 0
    if state.as_json:
        print_json(
            {
                "marks": [asdict(mark) for mark in marks],
                "refused": [asdict(edit) for edit in refused],
                "notes": notes,
                "exit_code": code,
            }
        )
        return code
    _print(marks, refused, notes)
    return code


def _range(repo: Repository, revisions: str | None, wiki: str) -> tuple[str, frozenset[str] | None]:
    """(the commit whose pages are read, the paths that count; None: all)."""
    base, dots, name = (revisions or "HEAD").rpartition("...")
    if not dots:
        base, dots, name = (revisions or "HEAD").rpartition("..")
    head = repo.resolve(name or "HEAD")
    if head is None:
        raise MirrorError(
            "there is no such commit", where=name or "HEAD", hint="fetch it first (fetch-depth: 0)"
        )
    if not dots:
        return head, None
    old = repo.resolve(base)
    if old is None:
        raise MirrorError("there is no such commit", where=base, hint="fetch it first (fetch-depth: 0)")
    if dots == "...":
        old = repo.merge_base(old, head) or old
    before, after = repo.tree(old, wiki), repo.tree(head, wiki)
    return head, frozenset(p for p in {*before, *after} if before.get(p) != after.get(p))


def _in(where: str, touched: frozenset[str] | None) -> bool:
    """``where`` is ``path``, ``path:line`` or ``path: words``."""
    return touched is None or where in touched or where.split(":", 1)[0] in touched


def _print(marks: list[Mark], refused: list[RefusedEdit], notes: list[str]) -> None:
    on_github = os.environ.get("GITHUB_ACTIONS") == "true"

    def tell(line: str) -> None:
        # The runner takes `##[command]` anywhere in a line as an order.
        say(line.replace("##[", "# #[") if on_github else line)

    for mark in marks[:SHOWN]:
        why = f" ({mark.reason})" if mark.reason else ""
        tell(f"{mark.kind:<9} {mark.where}: {' '.join(mark.text.split())[:160] or mark.document_id}{why}")
    more(len(marks))
    for number, edit in enumerate(refused):
        if on_github and number < _ANNOTATIONS:
            click.echo(annotation(edit))
        tell(f"refused   {edit.where}: {edit.what}")
        if edit.write:
            tell(f"  write:  {edit.write}")
    for line in notes[:SHOWN]:
        tell(f"note      {line}")
    more(len(notes))
    say(f"{len(marks):,} marks, {len(refused):,} edits that are no marks")


def annotation(edit: RefusedEdit) -> str:
    """The runner's command that shows an edit at its line in the pull request."""
    path, _, line = edit.where.rpartition(":")
    if not line.isdigit():
        path, line = edit.where, "1"
    said = edit.what + (f"\nwrite: {edit.write}" if edit.write else "")
    return f"::error file={_property(path)},line={line},title=This edit is no mark::{_data(said)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""``console mirror restore --pr N``: a whole review taken back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from console.cli.base import State
from console.cli.mirror.common import SHOWN, Place, more, say
from console.cli.mirror.marks import Work, print_settled, send
from console.cli.mirror.sync import report_json
from console.cli.output import print_json
from mirror import edit
from mirror.errors import MirrorError
from mirror.manifest import Entry
from mirror.plan import RESTORE, Wish
from mirror.state import Wiki


@dataclass(frozen=True, slots=True)
class Taken:
    """One thing that the review took back. ``key`` None: the whole document."""

    document_id: str
    key: str | None
    text: str


def of_review(wiki: Wiki, number: int) -> tuple[list[Taken], list[str]]:
    """(what pull request ``number`` took back, what cannot be told apart, one line each)."""
    names = (f"#{number}", f"!{number}")
    found: list[Taken] = []
    mixed: list[str] = []
    for document_id, entry in sorted(wiki.entries.items()):
        whole = entry.retraction is not None and entry.retraction.pr in names
        if whole and all(record.pr in names for record in entry.records):
            found.append(Taken(document_id, None, document_id))
        elif whole:
            mixed.append(
                f"{document_id}: other reviews took facts of it back too; restore it with --document, then retract those again"
            )
        else:
            found += [Taken(document_id, r.key, r.text) for r in entry.records if r.pr in names]
    return found, mixed


def restore_review(state: State, place: Place, work: Work, number: int, *, now: bool) -> int:
    """Marks on the pages, or with ``now`` one sync. Exit 3 when something of it is left."""
    taken, left = of_review(work.wiki, number)
    if not taken and not left:
        raise MirrorError(
            f"no retraction of pull request #{number} stands in the wiki",
            where=work.folder.root,
            hint=_known(work.wiki.entries.values()),
        )
    if now and taken:
        by = work.repo.identity()[0]
        wanted = tuple(Wish(RESTORE, t.document_id, t.key, "", text=t.text, by=by) for t in taken)
        report = send(state, place, wanted)
        code = report.exit_code or (3 if left else 0)
        if state.as_json:
            print_json({"pr": number, "sent": report.sent, "left": left, "sync": report_json(report)})
            return code
        say(f"restored {report.sent} memories that #{number} took back")
        print_settled(report)
        _print_left(left)
        return code
    paths: dict[str, int] = {}
    for item in taken:
        path = work.document_page(item.document_id)
        try:
            _mark(work, path, item)
        except MirrorError as error:
            left.append(str(error))
        else:
            paths[path] = paths.get(path, 0) + 1
    marked = sum(paths.values())
    if state.as_json:
        print_json({"pr": number, "marked": marked, "paths": sorted(paths), "left": left, "sent": 0})
        return 3 if left else 0
    for path, count in sorted(paths.items())[:SHOWN]:
        say(f"marked {path}: restore {count}")
    more(len(paths))
    _print_left(left)
    if marked:
        say(
            f"next: git commit -m 'Restore what #{number} took back' -- {work.folder.root} && console mirror sync"
        )
    return 3 if left else 0


def _mark(work: Work, path: str, item: Taken) -> None:
    key = item.key
    if key is None:
        work.change(path, lambda page: edit.set_status(page, "active", "", where=path))
    else:
        work.change(path, lambda page: edit.restore(page, key, where=path))


def _print_left(left: list[str]) -> None:
    for line in left[:SHOWN]:
        say(f"left      {line}")
    more(len(left))


def _known(entries: Iterable[Entry]) -> str:
    names: set[str] = set()
    for entry in entries:
        names |= {record.pr for record in (*entry.records, entry.retraction) if record and record.pr}
    pulls = sorted(name for name in names if name[:1] in "#!")
    return (
        f"there are some of {', '.join(pulls[:10])}"
        if pulls
        else "no pull request is known of any retraction"
    )

"""Which marks stand on the pages of a commit, who made them, and under which pull request.

Only committed pages are read. A page is looked at when its bytes are not the ones that the mirror wrote; the
mirror's own bytes can never hold a mark, whatever a migration or an export did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirror import marks
from mirror.git import Repository
from mirror.manifest import Entry
from mirror.overlay import Pending, pending_of
from mirror.parse import ParsedPage, parse
from mirror.paths import page_name
from mirror.plan import Wish
from mirror.state import PAGE_LIMIT, Wiki

_SQUASHED = re.compile(r"\(#(\d+)\)\s*$")
_MERGED = re.compile(r"(?:Merge pull request #(\d+)|Merge branch '.*'.*\(#(\d+)\)|\bMerge request .*!(\d+))")


@dataclass(frozen=True, slots=True)
class RefusedEdit:
    """An edit that is no mark, and the line to write instead."""

    where: str
    """``path:line``."""
    what: str
    write: str = ""
    document_id: str = ""
    key: str = ""


@dataclass(slots=True)
class Reading:
    """Everything that people wrote on the pages of one commit."""

    wishes: list[Wish] = field(default_factory=list)
    refused: list[RefusedEdit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parsed: dict[str, ParsedPage] = field(default_factory=dict)
    """Document id -> its edited page."""

    def pending(self, done: set[tuple[str, str | None]]) -> dict[str, Pending]:
        """Document id -> what stays on its page: marks that are not in ``done`` (document, key), and refused edits
        of a fact's line, so that they are reported until a person settles them."""
        keys: dict[str, set[str]] = {}
        whole: set[str] = set()
        for edit in self.refused:
            if edit.key:
                keys.setdefault(edit.document_id, set()).add(edit.key)
        for wish in self.wishes:
            if (wish.document_id, wish.key) in done:
                continue
            if wish.key is None:
                whole.add(wish.document_id)
            else:
                keys.setdefault(wish.document_id, set()).add(wish.key)
        return {
            i: pending_of(self.parsed[i], keys.get(i, set()), whole=i in whole)
            for i in {*keys, *whole}
            if i in self.parsed
        }


def read(repo: Repository, wiki: Wiki, base: Mapping[str, Entry], *, who: bool = True) -> Reading:
    """The marks at ``wiki.commit``. ``who``: also find out who made them (costs a blame per page)."""
    reading = Reading()
    edited: dict[str, Entry] = {}
    for document_id, entry in base.items():
        shown = wiki.tree.get(page_name(wiki.folder.bank_id, document_id).page)
        if entry.page and shown is not None and shown.oid != entry.page:
            edited[document_id] = entry
    if not edited:
        return reading
    oids = {i: wiki.tree[page_name(wiki.folder.bank_id, i).page].oid for i in edited}
    sizes = repo.sizes(oids.values())
    blobs = dict(
        repo.blobs(
            [*(o for o in oids.values() if sizes.get(o, 0) <= PAGE_LIMIT), *(e.page for e in edited.values())]
        )
    )
    for document_id, entry in sorted(edited.items()):
        path = wiki.folder.path(page_name(wiki.folder.bank_id, document_id).page)
        mode = wiki.tree[page_name(wiki.folder.bank_id, document_id).page].mode
        if mode not in ("100644", "100755"):
            reading.refused.append(
                RefusedEdit(path, "a link or submodule stands where the page should", "", document_id)
            )
            continue
        data = blobs.get(oids[document_id])
        if data is None:
            reading.refused.append(RefusedEdit(path, "the page is too large to read", "", document_id))
            continue
        page = parse(data, where=path)
        written = parse(blobs[entry.page]) if entry.page in blobs else None
        found = marks.read(page, document_id=document_id, base=written)
        reading.parsed[document_id] = page
        reading.notes += [f"{path}: {note}" for note in found.notes]
        reading.refused += [
            RefusedEdit(f"{path}:{item.line}" if item.line else path, item.what, item.write, document_id)
            for item in found.refused
        ]
        if found.marks:
            blame = _Blame(repo, wiki.commit or "HEAD", path) if who else None
            for mark in found.marks:
                by, pr = blame.of(mark.line) if blame else ("", "")
                reading.wishes.append(
                    Wish(
                        mark.kind,
                        document_id,
                        mark.key,
                        f"{path}:{mark.line}",
                        mark.text,
                        mark.reason,
                        by,
                        pr,
                    )
                )
    return reading


def standing(repo: Repository, wiki: Wiki, base: Mapping[str, Entry]) -> dict[str, frozenset[str]]:
    """Document id -> keys of the facts that its page shows as live, of the documents with records."""
    pages: dict[str, str] = {}
    for document_id, entry in base.items():
        shown = wiki.tree.get(page_name(wiki.folder.bank_id, document_id).page)
        if entry.records and shown is not None:
            pages[document_id] = shown.oid
    sizes = repo.sizes(pages.values())
    blobs = dict(repo.blobs([oid for oid in pages.values() if sizes.get(oid, 0) <= PAGE_LIMIT]))
    return {
        document_id: frozenset(line.key for line in parse(blobs[oid]).lines if not line.retracted)
        for document_id, oid in pages.items()
        if oid in blobs
    }


class _Blame:
    """Who last wrote each line of a page, and in which pull request that reached the tip."""

    def __init__(self, repo: Repository, tip: str, path: str) -> None:
        self._repo = repo
        self._tip = tip
        self._path = path
        self._lines: dict[int, tuple[str, str, str]] | None = None
        self._pulls: dict[str, str] = {}

    def of(self, line: int) -> tuple[str, str]:
        """(author, ``#12`` or the commit's first 12 digits)."""
        if self._lines is None:
            self._lines = self._repo.blame(self._tip, self._path)
        commit, author, summary = self._lines.get(line, ("", "", ""))
        if not commit:
            return "", ""
        if commit not in self._pulls:
            self._pulls[commit] = pull_request(self._repo, commit, self._tip, summary=summary) or commit[:12]
        return author, self._pulls[commit]


def pull_request(repo: Repository, commit: str, tip: str, *, summary: str | None = None) -> str:
    """``#12``: the pull request in which a commit reached ``tip``, by its summary or the merge that brought it; or ''."""
    if summary is None:
        summary = next((str(found.summary) for found in repo.log(commit, "", limit=1)), "")
    if match := _SQUASHED.search(summary):
        return f"#{match[1]}"
    for title in repo.merges_between(commit, tip):
        if match := _MERGED.search(title) or _SQUASHED.search(title):
            return f"#{next(g for g in match.groups() if g)}"
    return ""

"""Who said a fact, when it appeared, and when, why and by whom it was taken back: from git alone.

The commits of a bank's folder, the records of its manifest, and pickaxe searches for one fact's key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mirror import find
from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.model import Record
from mirror.parse import ParsedPage, parse
from mirror.paths import PageName, page_name
from mirror.state import Wiki
from mirror.wishes import pull_request

if TYPE_CHECKING:
    from git.objects.commit import Commit

_COUNT = re.compile(r"\b(\d+) (added|changed|restored|removed)\b")
_OURS = re.compile(r"mirror [a-z0-9-]+: ")


@dataclass(frozen=True, slots=True)
class Step:
    """One commit that touched a bank's folder; counts are of pages."""

    commit: str
    day: str
    author: str
    summary: str
    merge: bool
    mirror: bool
    """Written by the mirror itself."""
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Retraction:
    """One record: what was taken back, and whether that still holds."""

    bank_id: str
    document_id: str
    key: str
    """'' for a whole document."""
    text: str
    reason: str
    by: str
    when: str
    pr: str
    state: str
    """retracted; resurfaced: live again on its page; gone: the document is no longer in the bank."""
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Blame:
    """All that the wiki and its history know of one fact."""

    bank_id: str
    document_id: str
    key: str
    text: str
    state: str
    """live, retracted, resurfaced or gone."""
    path: str
    line: int
    title: str = ""
    agent: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    first_retained: str = ""
    """Day of the document."""
    appeared: Step | None = None
    """The first commit whose page has it; None where the history of this clone does not reach."""
    appeared_pr: str = ""
    shallow: bool = False
    """The history is cut off: it may have appeared earlier."""
    retraction: Retraction | None = None
    retracted_in: Step | None = None


def steps(repo: Repository, wiki: Wiki, revision: str, *, limit: int) -> list[Step]:
    """Newest first."""
    return [_step(repo, wiki, commit) for commit in repo.log(revision, wiki.folder.root, limit=limit)]


def _step(repo: Repository, wiki: Wiki, commit: Commit) -> Step:
    summary = str(commit.summary)
    ours = _OURS.match(summary) is not None
    counts = {what: int(count) for count, what in _COUNT.findall(summary)} if ours else {}
    return Step(
        commit=commit.hexsha,
        day=commit.authored_datetime.date().isoformat(),
        author=str(commit.author.name or ""),
        summary=summary,
        merge=len(commit.parents) > 1,
        mirror=ours,
        counts=counts or _counted(repo, wiki, commit),
    )


def _counted(repo: Repository, wiki: Wiki, commit: Commit) -> dict[str, int]:
    root = wiki.folder.root
    parent = commit.parents[0].hexsha if commit.parents else None
    before = repo.tree(parent, root) if parent is None or repo.resolve(parent) else {}
    after = repo.tree(commit.hexsha, root)
    counts = {"added": 0, "changed": 0, "removed": 0}
    for path in before.keys() | after.keys():
        if before.get(path) == after.get(path) or not re.search(r"/pages/[0-9a-f]{2}/[^/]+\.md$", path):
            continue
        what = "added" if path not in before else "removed" if path not in after else "changed"
        counts[what] += 1
    return {what: count for what, count in counts.items() if count}


def retractions(repo: Repository, wiki: Wiki) -> list[Retraction]:
    """Every record of the manifest, newest day first."""
    holders = {i: e for i, e in wiki.entries.items() if e.records or e.retraction}
    pages = _pages(repo, wiki, {i: page_name(wiki.folder.bank_id, i) for i in holders})
    found: list[Retraction] = []
    for document_id, entry in holders.items():
        page = pages.get(document_id)
        found += [_retraction(wiki, document_id, record, page) for record in entry.records]
        if entry.retraction is not None:
            found.append(_retraction(wiki, document_id, entry.retraction, page, whole=True))
    found.sort(key=lambda r: (r.document_id, r.key))
    return sorted(found, key=lambda r: r.when, reverse=True)


def _pages(repo: Repository, wiki: Wiki, names: Mapping[str, PageName]) -> dict[str, ParsedPage]:
    oids = {wiki.tree[name.page].oid: i for i, name in names.items() if name.page in wiki.tree}
    return {oids[oid]: parse(data) for oid, data in repo.blobs(oids)}


def _retraction(
    wiki: Wiki, document_id: str, record: Record, page: ParsedPage | None, *, whole: bool = False
) -> Retraction:
    line = None if page is None else next((row for row in page.lines if row.key == record.key), None)
    state = "gone" if page is None else "retracted"
    if line is not None and not line.retracted and not whole:
        state = "resurfaced"
    return Retraction(
        bank_id=wiki.folder.bank_id,
        document_id=document_id,
        key="" if whole else record.key,
        text="" if whole else record.text,
        reason=record.reason,
        by=record.by,
        when=record.when,
        pr=record.pr,
        state=state,
        path="" if page is None else wiki.folder.path(page_name(wiki.folder.bank_id, document_id).page),
        line=line.number if line else 0,
    )


def blame(repo: Repository, wiki: Wiki, fact: str, *, document: str | None, revision: str) -> Blame:
    """Of one fact, by its key or its words. Raises MirrorError when none or several match."""
    fact = find.bare(fact)
    gone = None
    if not find.facts(repo, wiki, fact, document=document):
        gone = _gone(repo, wiki, fact, document)
    if gone is not None:
        return Blame(
            wiki.folder.bank_id, gone.document_id, gone.key, gone.text, gone.state, gone.path, gone.line,
            retraction=gone,
        )  # fmt: skip
    found = find.one(repo, wiki, fact, document=document)
    entry = wiki.entries[found.document_id]
    page = _pages(repo, wiki, {found.document_id: page_name(wiki.folder.bank_id, found.document_id)})
    parsed = page[found.document_id]
    record = next((r for r in entry.records if r.key == found.line.key), None)
    taken = None if record is None else _retraction(wiki, found.document_id, record, parsed)
    front: Mapping[str, Any] = parsed.front or {}
    metadata = front.get("metadata")
    session = metadata.get("session_id") or metadata.get("session") if isinstance(metadata, dict) else ""
    tags = front.get("tags")
    first = repo.first_change(revision, found.path, f"f:{found.line.key}")
    state = taken.state if taken else "retracted" if found.line.retracted else "live"
    again = None
    if found.line.retracted or taken is not None:
        again = repo.first_change(revision, found.path, f"f:{found.line.key}[^>]*retracted")
    return Blame(
        bank_id=wiki.folder.bank_id,
        document_id=found.document_id,
        key=found.line.key,
        text=found.text,
        state=state,
        path=found.path,
        line=found.line.number,
        title=entry.title,
        agent=entry.agent,
        session=session if isinstance(session, str) else "",
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        first_retained=entry.created[:10],
        appeared=_of(repo, wiki, first),
        appeared_pr=pull_request(repo, first, revision) if first else "",
        shallow=repo.is_shallow(),
        retraction=taken,
        retracted_in=_of(repo, wiki, again),
    )


def _of(repo: Repository, wiki: Wiki, commit: str | None) -> Step | None:
    if commit is None:
        return None
    found = next(iter(repo.log(commit, "", limit=1)), None)
    return None if found is None else _step(repo, wiki, found)


def _gone(repo: Repository, wiki: Wiki, fact: str, document: str | None) -> Retraction | None:
    """A record whose document, or whose line, is not there any more."""
    known = [
        row
        for row in retractions(repo, wiki)
        if row.key == fact and (document is None or row.document_id == document)
    ]
    if len(known) > 1:
        raise MirrorError(
            f"{len(known)} documents had this fact",
            where=fact,
            hint=f"name one with --document: {'; '.join(row.document_id for row in known[:5])}",
        )
    return known[0] if known else None

"""A fact by its key or its words, among the pages of a wiki at a commit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirror.errors import MirrorError
from mirror.escape import unescape
from mirror.git import Repository
from mirror.keys import fold
from mirror.parse import ParsedLine, parse
from mirror.paths import page_name
from mirror.state import Wiki

_KEY = re.compile("(?:f:)?([0-9a-f]{12})")


def bare(wanted: str) -> str:
    """A key without the ``f:`` that stands before it on a page; words as they are."""
    key = _KEY.fullmatch(wanted.strip())
    return key[1] if key else wanted


@dataclass(frozen=True, slots=True)
class Found:
    """One line of one page. ``path`` is relative to the repository."""

    document_id: str
    path: str
    line: ParsedLine

    @property
    def text(self) -> str:
        body = self.line.body.removeprefix("[ ] ").removeprefix("[x] ")
        if body.startswith("~~") and body.endswith("~~"):
            body = body[2:-2]
        return unescape(body)


def facts(repo: Repository, wiki: Wiki, wanted: str, *, document: str | None = None) -> list[Found]:
    """Lines whose key is ``wanted``, or whose text is or holds it (case-insensitive); exact ones alone where there are any."""
    wanted = bare(wanted)
    entries = [e for i, e in wiki.entries.items() if e.page and (document is None or i == document)]
    places = {page_name(wiki.folder.bank_id, e.document_id).page: e.document_id for e in entries}
    oids = {wiki.tree[path].oid: path for path in places if path in wiki.tree}
    text = fold(wanted)
    exact: list[Found] = []
    near: list[Found] = []
    for oid, data in repo.blobs(oids):
        path = oids[oid]
        for line in parse(data).lines:
            found = Found(places[path], wiki.folder.path(path), line)
            if line.key == wanted or fold(found.text) == text:
                exact.append(found)
            elif text and text.casefold() in found.text.casefold():
                near.append(found)
    return sorted(exact or near, key=lambda f: (f.path, f.line.number))


def one(repo: Repository, wiki: Wiki, wanted: str, *, document: str | None = None) -> Found:
    """The only one; raises MirrorError that lists what else there is."""
    found = facts(repo, wiki, wanted, document=document)
    if len(found) == 1:
        return found[0]
    if not found:
        raise MirrorError(
            "no page has such a fact",
            where=repr(wanted),
            hint="give its 12-digit key or its words; see `console mirror diff`",
        )
    shown = "; ".join(f"{f.line.key} in {f.document_id} ({f.text[:60]})" for f in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    raise MirrorError(
        f"{len(found)} facts match",
        where=repr(wanted),
        hint=f"name one with its key and --document: {shown}{more}",
    )

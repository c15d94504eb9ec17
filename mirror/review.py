"""What changed between two revisions, in domain words. No judgement: that is another layer's.

Promise: both sides are read from git objects alone, so nothing but a clone is needed; a page that cannot be
read is named and the rest goes on. ``compare`` is pure; ``review`` does the reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirror import marks
from mirror.errors import MirrorError
from mirror.escape import unescape
from mirror.git import Repository, TreeEntry
from mirror.manifest import Entry
from mirror.parse import ParsedLine, ParsedPage, parse
from mirror.paths import BankFolder, PageName, page_name
from mirror.state import PAGE_LIMIT, Wiki, read

ADDED = "added"
CHANGED = "changed"
RETRACTED = "retracted"
RESTORED = "restored"
RESURFACED = "resurfaced"
REMOVED = "removed"
ERASED = "erased"
WORDS = (RESURFACED, RETRACTED, RESTORED, CHANGED, ADDED, REMOVED, ERASED)
"""In the order in which counts are told: what a person decided, or should look at, comes first."""

SIMILAR = 0.5
"""Shared words by all words of two texts, from which one counts as the other reworded."""
ON_ONE_LINE = 0.2
"""The same for two facts of the same source line."""
PAIRS = 40_000
"""Comparisons of one page; above it (a page rewritten as a whole) only equal source lines pair."""

_LINES = re.compile(r" L([0-9]{1,9})(?:-L([0-9]{1,9}))?(?= |$)")


@dataclass(frozen=True, slots=True)
class FactChange:
    """One fact of one document. ``line`` is of the page at the newer revision where it stands there."""

    what: str
    """One of WORDS."""
    key: str
    text: str
    old_text: str = ""
    """Of a changed one: what it said before."""
    old_key: str = ""
    reason: str = ""
    by: str = ""
    pr: str = ""
    when: str = ""
    marked: bool = False
    """A person's mark that the mirror has not carried out yet."""
    line: int = 0
    source_line: tuple[int, int] | None = None
    """First and last line of the .txt; a hint."""
    suggestion: str = ""
    """The line that would take it back, for a review suggestion; '' where there is nothing to take back."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One document and who retained it. Paths are relative to the repository."""

    what: str
    """added, changed, removed; or what a mark asks for the whole of it: retracted, restored, erased."""
    document_id: str
    path: str
    text_path: str
    title: str = ""
    agent: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    day: str = ""
    text_changed: bool = False
    """The retained text changed too."""
    reason: str = ""
    facts: tuple[FactChange, ...] = ()


@dataclass(frozen=True, slots=True)
class BankChanges:
    """Documents in the order of their first day, then id."""

    bank_id: str
    folder: str
    documents: tuple[DocumentChange, ...] = ()
    problems: tuple[str, ...] = ()
    """``path[:line]: what``: what could not be read."""


@dataclass(frozen=True, slots=True)
class Review:
    """``base`` and ``head`` are commit ids; '' for nothing at all (before the first commit)."""

    base: str
    head: str
    banks: tuple[BankChanges, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Facts by word, and documents as ``documents added`` and so on; only what occurs."""
        found: Counter[str] = Counter()
        for bank in self.banks:
            for document in bank.documents:
                found[f"documents {document.what}"] += 1
                found.update(fact.what for fact in document.facts)
        return dict(found)


@dataclass(frozen=True, slots=True)
class Side:
    """One document at one revision."""

    page: ParsedPage
    entry: Entry | None
    text_oid: str = ""


@dataclass(frozen=True, slots=True)
class _Fact:
    line: ParsedLine
    text: str
    retracted: bool
    marked: bool
    reason: str


# The pure core ------------------------------------------------------------------------------------------


def compare(
    document_id: str, path: str, text_path: str, before: Side | None, after: Side | None
) -> DocumentChange:
    """What became of one document. ``before`` or ``after`` None: it has no page on that side."""
    shown = after or before
    assert shown is not None
    front: Mapping[str, Any] = shown.page.front or {}
    facts, whole, reason = _facts(before, after)
    if before is None:
        what = ADDED
    elif after is None:
        what = REMOVED
    else:
        what = whole or CHANGED
    entry = shown.entry
    return DocumentChange(
        what=what,
        document_id=document_id,
        path=path,
        text_path=text_path,
        title=(entry.title if entry else "") or shown.page.title,
        agent=(entry.agent if entry else "") or _word(front.get("context")),
        session=_session(front),
        tags=tuple(str(tag) for tag in _list(front.get("tags"))),
        day=entry.created[:10] if entry else "",
        text_changed=(before.text_oid if before else "") != (after.text_oid if after else ""),
        reason=reason,
        facts=facts,
    )


def _facts(before: Side | None, after: Side | None) -> tuple[tuple[FactChange, ...], str, str]:
    old, _, _ = _read(before)
    new, whole, reason = _read(after)
    if after is None:
        gone = [_change(ERASED, fact, None, before) for fact in old.values() if not fact.retracted]
        return tuple(gone), "", ""
    records = {record.key for record in after.entry.records} if after.entry else set()
    changes: list[FactChange] = []
    came: list[_Fact] = []
    for key, fact in new.items():
        was = old.get(key)
        if fact.retracted:
            if was is None or not was.retracted:
                changes.append(_change(RETRACTED, fact, fact, after))
        elif was is None:
            if key in records:
                changes.append(_change(RESURFACED, fact, fact, after))
            else:
                came.append(fact)
        elif was.retracted:
            back = RESURFACED if key in records and not fact.marked else RESTORED
            changes.append(_change(back, fact, fact, after))
    went = [fact for key, fact in old.items() if key not in new]
    pairs = pair(
        [(_span(fact.line), fact.text) for fact in went if not fact.retracted],
        [(_span(fact.line), fact.text) for fact in came],
    )
    live = [fact for fact in went if not fact.retracted]
    for one, other in pairs.items():
        changed = _change(CHANGED, came[other], came[other], after, old=live[one])
        changes.append(changed)
    changes += [_change(ADDED, f, f, after) for n, f in enumerate(came) if n not in pairs.values()]
    changes.sort(key=lambda change: change.line)
    paired = {live[one].line.key for one in pairs}
    changes += [_change(REMOVED, fact, None, before) for fact in went if fact.line.key not in paired]
    return tuple(changes), whole, reason


def pair(
    went: Sequence[tuple[tuple[int, int] | None, str]], came: Sequence[tuple[tuple[int, int] | None, str]]
) -> dict[int, int]:
    """Index of what went -> index of what came in its place; each at most once, the likeliest first."""
    gone_at = Counter(span for span, _ in went)
    come_at = Counter(span for span, _ in came)
    old_words, new_words = [_words(text) for _, text in went], [_words(text) for _, text in came]
    by_line: dict[tuple[int, int] | None, list[int]] = {}
    for n, (span, _) in enumerate(came):
        by_line.setdefault(span, []).append(n)
    everywhere = len(went) * len(came) <= PAIRS
    scored: list[tuple[float, int, int]] = []
    for one, (span, _) in enumerate(went):
        for other in range(len(came)) if everywhere else by_line.get(span, ()):
            likeness = _likeness(old_words[one], new_words[other])
            same = span is not None and span == came[other][0]
            alone = same and gone_at[span] == come_at[span] == 1
            if likeness >= SIMILAR or alone or (same and likeness >= ON_ONE_LINE):
                scored.append((-likeness - (0.3 if same else 0.0), one, other))
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, one, other in sorted(scored):
        if one not in pairs and other not in taken:
            pairs[one] = other
            taken.add(other)
    return pairs


def _words(text: str) -> frozenset[str]:
    """Words; of a script without blanks, pairs of characters."""
    found = re.findall(r"\w+", text.casefold())
    if len(found) < 3 and len(text) > 3:
        found = [text[n : n + 2] for n in range(len(text) - 1)]
    return frozenset(found)


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _read(side: Side | None) -> tuple[dict[str, _Fact], str, str]:
    """(key -> fact as the page asks for it, what a mark asks of the whole document, its reason)."""
    if side is None:
        return {}, "", ""
    found = marks.read(side.page)
    wanted = {mark.key: mark for mark in found.marks if mark.key is not None}
    facts: dict[str, _Fact] = {}
    for line in side.page.lines:
        mark = wanted.get(line.key)
        retracted = line.retracted if mark is None else mark.kind == marks.RETRACT
        reason = unescape(line.note) if mark is None else mark.reason
        facts.setdefault(line.key, _Fact(line, fact_text(line), retracted, mark is not None, reason))
    whole = next((mark for mark in found.marks if mark.key is None), None)
    if whole is None:
        return facts, "", ""
    return facts, {marks.RETRACT: RETRACTED, marks.RESTORE: RESTORED}.get(whole.kind, ERASED), whole.reason


def fact_text(line: ParsedLine) -> str:
    """The fact as its line shows it, without box and strike."""
    body = re.sub(r"\A\[[ xX]\]\s+", "", line.body)
    struck = re.fullmatch(r"(~~)(.+)~~", body)
    return unescape(struck[2] if struck else body)


def _span(line: ParsedLine) -> tuple[int, int] | None:
    found = _LINES.search(line.comment.removesuffix(" -->"))
    return None if found is None else (int(found[1]), int(found[2] or found[1]))


def _change(
    what: str, fact: _Fact, standing: _Fact | None, side: Side | None, *, old: _Fact | None = None
) -> FactChange:
    record = None
    if side is not None and side.entry is not None and not fact.marked:
        record = next((r for r in side.entry.records if r.key == fact.line.key), None)
    live = standing is not None and not fact.retracted
    return FactChange(
        what=what,
        key=fact.line.key,
        text=fact.text,
        old_text=old.text if old else "",
        old_key=old.line.key if old else "",
        reason=(record.reason if record else fact.reason) if what in (RETRACTED, RESURFACED) else "",
        by=record.by if record else "",
        pr=record.pr if record else "",
        when=record.when if record else "",
        marked=fact.marked,
        line=fact.line.number if standing is not None else 0,
        source_line=_span(fact.line),
        suggestion=f"- [ ] {_bare(fact.line.body)} {fact.line.comment}" if live and not fact.marked else "",
    )


def _bare(body: str) -> str:
    return re.sub(r"\A\[[xX]\]\s+", "", body)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _session(front: Mapping[str, Any]) -> str:
    metadata = front.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    return _word(metadata.get("session_id")) or _word(metadata.get("session"))


# Reading ------------------------------------------------------------------------------------------------


def bank_folders(repo: Repository, revisions: Iterable[str | None], wiki: str) -> dict[str, BankFolder]:
    """Root -> folder of every bank below the wiki folder at any of the revisions."""
    from mirror.manifest import read_header

    found: dict[str, BankFolder] = {}
    for revision in revisions:
        heads = {
            path: entry
            for path, entry in repo.tree(revision, wiki).items()
            if path.endswith("/.mirror/header.json")
        }
        blobs = dict(repo.blobs(entry.oid for entry in heads.values()))
        for path, entry in heads.items():
            root = path.removesuffix("/.mirror/header.json")
            try:
                bank_id = read_header(blobs.get(entry.oid, b""), where=path).bank_id
            except MirrorError:
                continue
            folder = BankFolder(wiki, bank_id)
            if folder.root == root:
                found[root] = folder
    return found


def review(
    repo: Repository, base: str | None, head: str | None, *, wiki: str, bank: str | None = None
) -> Review:
    """Compare two commits: all banks below ``wiki``, or one. None stands for an empty repository."""
    folders = bank_folders(repo, (base, head), wiki)
    problems: list[str] = []
    if bank is not None:
        folders = {root: folder for root, folder in folders.items() if folder.bank_id == bank}
    if not folders:
        problems.append(
            f"{wiki}: no wiki of a bank at either revision"
            if bank is None
            else f"{BankFolder(wiki, bank).root}: no wiki of bank {bank!r} at either revision"
        )
    banks = [_bank(repo, base, head, folder) for _, folder in sorted(folders.items())]
    return Review(
        base or "", head or "", tuple(b for b in banks if b.documents or b.problems), tuple(problems)
    )


def _bank(repo: Repository, base: str | None, head: str | None, folder: BankFolder) -> BankChanges:
    problems: list[str] = []
    before = _wiki(repo, base, folder, problems)
    after = _wiki(repo, head, folder, problems)
    problems += [str(error) for error in after.errors]
    old, new = _places(before), _places(after)
    touched = [
        place
        for place in sorted(old.keys() | new.keys())
        if _oids(before, old.get(place) or new[place]) != _oids(after, new.get(place) or old[place])
    ]
    pages = _Pages(repo, folder, problems)
    pages.load(before, [old[p] for p in touched if p in old])
    pages.load(after, [new[p] for p in touched if p in new])
    ids = {page_name(folder.bank_id, i).page: i for i in (*before.entries, *after.entries)}
    documents: list[DocumentChange] = []
    for place in touched:
        name = new.get(place) or old[place]
        one = pages.side(before, old.get(place), ids.get(place))
        other = pages.side(after, new.get(place), ids.get(place))
        unread = (place in old and one is None) or (place in new and other is None)
        shown = other or one
        if unread or shown is None:
            continue
        front: Mapping[str, Any] = shown.page.front or {}
        document_id = ids.get(place) or _word(front.get("document")) or name.stem
        documents.append(compare(document_id, folder.path(name.page), folder.path(name.text), one, other))
    documents.sort(key=lambda d: (d.day, d.document_id))
    return BankChanges(folder.bank_id, folder.root, tuple(documents), tuple(dict.fromkeys(problems)))


def _wiki(repo: Repository, commit: str | None, folder: BankFolder, problems: list[str]) -> Wiki:
    try:
        return read(repo, commit, folder)
    except MirrorError as error:
        if repo.tree(commit, folder.root):
            problems.append(str(error))
        return Wiki(folder, commit)


def _places(wiki: Wiki) -> dict[str, PageName]:
    return dict(wiki.pages)


def _oids(wiki: Wiki, name: PageName) -> tuple[str, str]:
    nothing = TreeEntry("", "")
    return wiki.tree.get(name.page, nothing).oid, wiki.tree.get(name.text, nothing).oid


@dataclass
class _Pages:
    """Parsed pages of the two revisions, by blob; what cannot be read becomes a problem."""

    repo: Repository
    folder: BankFolder
    problems: list[str]
    parsed: dict[str, ParsedPage] = field(default_factory=dict)

    def load(self, wiki: Wiki, names: Sequence[PageName]) -> None:
        wanted: dict[str, str] = {}
        for name in names:
            entry = wiki.tree[name.page]
            path = self.folder.path(name.page)
            if entry.mode in ("100644", "100755"):
                wanted[entry.oid] = path
            else:
                self.problems.append(f"{path}: a link or submodule stands where the page should")
        sizes = self.repo.sizes(wanted)
        large = {oid for oid in wanted if sizes.get(oid, 0) > PAGE_LIMIT}
        self.problems += [f"{wanted[oid]}: the page is too large to read" for oid in sorted(large)]
        for oid, data in self.repo.blobs(oid for oid in wanted if oid not in large):
            page = parse(data, where=wanted[oid])
            if page.conflicts:
                self.problems.append(f"{wanted[oid]}:{page.conflicts[0]}: a merge conflict was committed")
                continue
            if page.front_problem:
                self.problems.append(page.front_problem)
            self.parsed[oid] = page

    def side(self, wiki: Wiki, name: PageName | None, document_id: str | None) -> Side | None:
        if name is None:
            return None
        page = self.parsed.get(wiki.tree[name.page].oid)
        if page is None:
            return None
        text = wiki.tree.get(name.text)
        entry = wiki.entries.get(document_id) if document_id is not None else None
        return Side(page, entry, text.oid if text else "")

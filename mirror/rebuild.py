"""Page, text and manifest line -> the document with the facts that they tell of. Pure.

What a page does not say is made so that it says the same again: facts are mentioned in reading order, and stand in
the chunk where their words stand. ``strict`` proves it: the rebuilt document is rendered, and every byte compared.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from mirror import page as pages
from mirror import textfile
from mirror.errors import BadPage
from mirror.escape import unescape
from mirror.export import text_hash
from mirror.git import Repository
from mirror.keys import chunk_key, fact_key
from mirror.manifest import Entry
from mirror.model import PageSource, Record
from mirror.parse import ParsedLine, parse
from mirror.paths import page_name
from mirror.source import SourceFact
from mirror.state import PAGE_LIMIT, UNKNOWN, Wiki

Cut = Callable[[str], Sequence[tuple[int, int]]]
"""Text -> bounds of its chunks, in order."""
BATCH = 200
"""Documents that are in memory at once."""
_STEP = timedelta(milliseconds=10)
_CHUNK = re.compile(r"chunk (\d{1,6}): ")
_BOX = re.compile(r"\[[ xX]\]\s+")
_STRIKE = re.compile(r"\A~~(.*)~~\Z", re.DOTALL)
_SPAN = re.compile(r" L(\d+)(?:-L(\d+))?(?= )")
_PARAMS = ("entities", "strategy", "observation_scopes")
_WORD = re.compile(r"\S+")
_LONGEST_LINE = 4000
"""Characters of a line in which a chunk's beginning is looked for."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A document as a bank should hold it. ``facts``: live and taken back, in reading order, ids = keys."""

    document_id: str
    text: str
    created_at: str
    tags: tuple[str, ...] = ()
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[SourceFact, ...] = ()
    chunks: tuple[str, ...] = ()


def problems(wiki: Wiki) -> list[BadPage]:
    """Why this wiki cannot be rebuilt as it stands: everything that a person edited, or that is not in it."""
    found = list(wiki.errors)
    folder = wiki.folder
    for document_id, entry in sorted(wiki.entries.items()):
        if not entry.page:
            continue
        name = page_name(folder.bank_id, document_id)
        where = folder.path(name.page)
        shown, text = wiki.tree.get(name.page), wiki.tree.get(name.text)
        if entry.page == UNKNOWN:
            found.append(BadPage("the manifest does not vouch for this page", where=where))
        elif shown is None:
            found.append(BadPage("the page is missing", where=where))
        elif shown.oid != entry.page:
            found.append(BadPage("the page was edited by a person", where=where))
        elif entry.withheld:
            found.append(BadPage("a secret is withheld: the wiki does not have this text whole", where=where))
        elif not entry.text:
            found.append(BadPage("the wiki does not have this document's text", where=where))
        elif text is None or text.oid != entry.text_blob:
            what = "the text is missing" if text is None else "the text was edited by a person"
            found.append(BadPage(what, where=folder.path(name.text)))
    expected = {page_name(folder.bank_id, i).page for i in wiki.entries}
    found += [
        BadPage("a page that the manifest does not name", where=folder.path(path))
        for path in sorted(set(wiki.pages) - expected)
    ]
    return found


def read(repo: Repository, wiki: Wiki, cut: Cut) -> Iterator[Rebuilt | BadPage]:
    """Every document of the wiki at its commit, each proved; what cannot be rebuilt comes as its error."""
    bank_id = wiki.folder.bank_id
    entries = [entry for _, entry in sorted(wiki.entries.items()) if entry.page and entry.page != UNKNOWN]
    for start in range(0, len(entries), BATCH):
        part = entries[start : start + BATCH]
        blobs = dict(repo.blobs(oid for entry in part for oid in (entry.page, entry.text_blob) if oid))
        for entry in part:
            where = wiki.folder.path(page_name(bank_id, entry.document_id).page)
            try:
                yield rebuild(
                    bank_id,
                    entry,
                    blobs.get(entry.page, b""),
                    blobs.get(entry.text_blob, b""),
                    cut,
                    where=where,
                )
            except BadPage as error:
                yield error


def rebuild(
    bank_id: str, entry: Entry, page: bytes, text: bytes, cut: Cut, *, where: str, strict: bool = True
) -> Rebuilt:
    """One document. Without ``strict`` what cannot be proved is taken as it reads. Raises BadPage."""
    if len(page) > PAGE_LIMIT:
        raise BadPage("the page is too large to be read", where=where)
    parsed = parse(page, where=where)
    front = parsed.front
    if front is None:
        raise BadPage(parsed.front_problem, where=where)
    if strict and front.get("document") != entry.document_id:
        raise BadPage("the page is of another document than its manifest line", where=where)
    whole = textfile.decode(text, _mode(entry.text_mode), final_newline=entry.final_newline)
    if strict and text_hash(whole) != entry.text:
        raise BadPage("the text does not hash to what the manifest says", where=where)
    metadata = front.get("metadata")
    tags = front.get("tags")
    base = Rebuilt(
        document_id=entry.document_id,
        text=whole,
        created_at=_moment(entry.created).isoformat(),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        context=front["context"] if isinstance(front.get("context"), str) else None,
        metadata={str(k): str(v) for k, v in metadata.items()} if isinstance(metadata, dict) else {},
        params={
            name: value
            for name, value in {**_mapping(front.get("params")), **front}.items()
            if name in _PARAMS
        },
    )
    reader = _Facts(entry, base, text, cut, where, strict)
    lines = reader.lines(parsed.lines)
    for raw, trailing in ((True, True), (False, True), (True, False), (False, False)):
        facts = reader.place(lines, raw=raw, trailing=trailing)
        if not strict or _renders(bank_id, entry, base, facts, page):
            return Rebuilt(
                base.document_id, base.text, base.created_at, base.tags, base.context, base.metadata, base.params,
                facts, reader.chunks(facts, lines),
            )  # fmt: skip
    raise BadPage("the facts of this page cannot be put back so that it reads the same", where=where)


def _mode(mode: str) -> str:
    return mode.removeprefix(textfile.WITHHELD).strip()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _moment(created: str) -> datetime:
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        moment = datetime(1970, 1, 1)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _renders(bank_id: str, entry: Entry, base: Rebuilt, facts: tuple[SourceFact, ...], page: bytes) -> bool:
    source = PageSource(
        bank_id=bank_id,
        document_id=base.document_id,
        text=base.text,
        created_at=base.created_at,
        tags=base.tags,
        context=base.context,
        metadata=base.metadata,
        params=base.params,
        facts=facts,
        records=entry.records,
        label=entry.label,
        retraction=entry.retraction,
    )
    return pages.render(source, text_name=page_name(bank_id, base.document_id).text_name).page == page


@dataclass(frozen=True, slots=True)
class _Line:
    """A fact before it has its place. ``fixed``: a chunk fact's own index; ``near``: where its words stand."""

    key: str
    text: str
    live: bool
    fixed: int | None = None
    near: int | None = None
    raw: str = ""
    """The same fact with its line breaks, where it is a block of code."""
    record: Record | None = None


class _Facts:
    """Reads the lines of one page against its text."""

    def __init__(self, entry: Entry, base: Rebuilt, data: bytes, cut: Cut, where: str, strict: bool) -> None:
        self._entry = entry
        self._base = base
        self._where = where
        self._strict = strict
        self._records = {record.key: record for record in entry.records}
        self._rows = data.split(b"\n")
        self._mode = _mode(entry.text_mode)
        self._bounds = list(cut(base.text)) or [(0, len(base.text))]
        self._chunk_starts = [start for start, _ in self._bounds]
        self._words = list(_WORD.finditer(base.text))
        self._joined = " ".join(word[0] for word in self._words)
        self._starts: list[int] = []
        at = 0
        for word in self._words:
            self._starts.append(at)
            at += len(word[0]) + 1

    def lines(self, parsed: Sequence[ParsedLine]) -> list[_Line]:
        found: dict[str, _Line] = {}
        for line in parsed:
            if line.key not in found and (read := self._line(line)) is not None:
                found[line.key] = read
        return list(found.values())

    def _line(self, line: ParsedLine) -> _Line | None:
        body = line.body
        if box := _BOX.match(body):
            body = body[box.end() :]
        shown = unescape(_STRIKE.sub(r"\1", body))
        record = self._records.get(line.key)
        if chunk := _CHUNK.match(shown) if line.shown_hash else None:
            return self._chunk_line(line, int(chunk[1]), record)
        if fact_key(shown) != line.key:
            if self._strict:
                raise BadPage("a fact's text is not the one of its key", where=f"{self._where}:{line.number}")
            return None
        span = self._find(shown)
        raw = ""
        if span is not None:
            piece = self._base.text[span[0] : span[1]]
            raw = piece if piece.startswith(("```", "~~~")) and "\n" in piece else ""
            near: int | None = self._chunk_at(span[0])
        else:
            hint = _SPAN.search(line.comment)
            near = self._chunk_at(self._offset(int(hint[1]))) if hint else None
        return _Line(line.key, shown, not line.retracted, near=near, raw=raw, record=record)

    def _chunk_line(self, line: ParsedLine, index: int, record: Record | None) -> _Line | None:
        if record is not None and record.is_chunk and line.retracted:
            return _Line(line.key, record.text, False, fixed=index, record=record)
        hint = _SPAN.search(line.comment)
        if hint is not None:
            first, last = int(hint[1]), int(hint[2] or hint[1])
            start, end = self._offset(first), self._offset(last + 1)
            stop = self._base.text.find("\n", start)
            reach = min(stop if stop >= 0 else end, start + _LONGEST_LINE)
            for at in range(start, max(reach, start + 1)):
                text = self._base.text[at:end].rstrip("\n")
                if chunk_key(index, text) == line.key:
                    return _Line(line.key, text, not line.retracted, fixed=index, record=record)
        if self._strict:
            raise BadPage("the chunk is not found in the text", where=f"{self._where}:{line.number}")
        return None

    def _find(self, shown: str) -> tuple[int, int] | None:
        """Offsets of the fact's words in the text, whatever blanks stand between them there."""
        at = self._joined.find(shown)
        if at < 0 or not shown:
            return None
        return self._back(at), self._back(at + len(shown) - 1) + 1

    def _back(self, at: int) -> int:
        number = bisect_right(self._starts, at) - 1
        return self._words[number].start() + at - self._starts[number]

    def _offset(self, line: int) -> int:
        """Offset in the text where a line (1-based) of the .txt begins."""
        if line <= 1:
            return 0
        rows = b"\n".join(self._rows[: line - 1]) + b"\n"
        before = textfile.decode(rows + b"\n", self._mode, final_newline=False)
        return min(len(before), len(self._base.text))

    def _chunk_at(self, offset: int) -> int:
        return max(bisect_right(self._chunk_starts, offset) - 1, 0)

    def place(self, lines: Sequence[_Line], *, raw: bool, trailing: bool) -> tuple[SourceFact, ...]:
        """The facts with chunks that never fall and moments that rise. ``trailing`` False leaves out retracted
        lines at the end: the bank did not list those either, their records do."""
        kept = list(lines)
        while not trailing and kept and not kept[-1].live:
            kept.pop()
        indices = _rising([line.near if line.fixed is None else line.fixed for line in kept])
        created = _moment(self._entry.created)
        facts = []
        for number, (line, index) in enumerate(zip(kept, indices, strict=True)):
            note = self._entry.facts.get(line.key, {})
            record = line.record
            reason = "; ".join(p for p in (record.reason, record.by) if p) if record else ""
            facts.append(
                SourceFact(
                    id=line.key,
                    document_id=self._base.document_id,
                    text=line.raw if raw and line.raw else line.text,
                    fact_type=note.get("type", "world"),
                    live=line.live,
                    chunk_index=line.fixed if line.fixed is not None else index,
                    mentioned_at=(created + number * _STEP).isoformat(timespec="microseconds"),
                    occurred_start=note.get("occurred_start"),
                    occurred_end=note.get("occurred_end"),
                    reason=None if line.live else reason or None,
                    invalidated_at=record.when or None if record and not line.live else None,
                )
            )
        return tuple(facts)

    def chunks(self, facts: Sequence[SourceFact], lines: Sequence[_Line]) -> tuple[str, ...]:
        """In chunk mode the facts are the chunks; else as the text is cut here."""
        whole = {line.key for line in lines if line.fixed is not None}
        if not whole:
            return tuple(self._base.text[start:stop] for start, stop in self._bounds)
        texts = {fact.chunk_index: fact.text for fact in facts if fact.id in whole}
        if len(whole) == len(lines) and sorted(texts) == list(range(len(texts))):
            return tuple(texts[index] for index in sorted(texts))
        return ()


def _rising(wanted: Sequence[int | None]) -> list[int]:
    """Indices that never fall, as near to the wanted ones as most of them allow: outliers take their neighbour's."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = [-1] * len(wanted)
    for number, value in enumerate(wanted):
        if value is None:
            continue
        at = bisect_right(tails, value)
        before[number] = ends[at - 1] if at else -1
        if at == len(tails):
            tails.append(value)
            ends.append(number)
        else:
            tails[at], ends[at] = value, number
    keep: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        keep.add(at)
        at = before[at]
    result: list[int] = []
    current = 0
    for number, value in enumerate(wanted):
        if number in keep and value is not None:
            current = value
        result.append(current)
    return result

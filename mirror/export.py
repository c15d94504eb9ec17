"""Bank + wiki -> the files that should stand there.

A page is a pure function of the bank and of the carried records: the same bank gives the same bytes
whether the wiki is written afresh or brought up to date. What did not change is neither fetched nor
rendered: the manifest's digest of a page's inputs says so.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirror import index, overlay, page, secrets, textfile
from mirror.cover import Cover, Covered
from mirror.git import Change, Repository
from mirror.listing import Busy, Snapshot
from mirror.manifest import Entry, Header, blob_id, encode_shard
from mirror.model import SCHEMA, PageSource, Record, RenderedPage
from mirror.overlay import Pending
from mirror.paths import PageName, page_name
from mirror.source import Source, SourceBank, SourceDocument, SourceFact
from mirror.state import UNKNOWN, Wiki

RENDERER = 1
"""Raised when the same inputs give other bytes: then every page is rendered again."""
BATCH = 400
"""Documents whose texts are in memory at once."""
ATTRIBUTES = (
    "# Written by console mirror init: pages and texts keep their bytes, texts and manifest fold in a review.\n"
    "*.md -text diff=markdown\n"
    "*.txt -text linguist-generated\n"
    "*.jsonl -text linguist-generated\n"
    "header.json -text linguist-generated\n"
)


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one document's page."""

    document_id: str
    path: str
    what: str
    """added, changed, restored or removed."""


@dataclass(slots=True)
class Target:
    """The bank's folder as it should be, as a difference to ``wiki.tree``. Paths are relative to the folder."""

    entries: dict[str, Entry] = field(default_factory=dict)
    changes: dict[str, bytes | None] = field(default_factory=dict)
    written: list[Written] = field(default_factory=list)
    busy: dict[str, Busy] = field(default_factory=dict)
    unchanged: int = 0
    fetched: int = 0
    """Document texts asked of the bank."""
    facts: int = 0


def inputs_digest(source: PageSource, volatile: frozenset[str]) -> str:
    """Digest of what a page is made of, in rendered order, without ids and moments that it does not show."""
    facts = sorted(source.facts, key=lambda f: (f.chunk_index, f.mentioned_at or "", f.text, f.id))
    value = [
        RENDERER,
        secrets.VERSION,
        source.document_id,
        source.created_at[:10],
        source.tags,
        source.context,
        sorted((k, v) for k, v in source.metadata.items() if k not in volatile),
        sorted(source.params.items()),
        source.label,
        [
            (f.chunk_index, f.text, f.fact_type, f.occurred_start, f.occurred_end)
            if f.live
            else (
                f.chunk_index,
                f.text,
                f.fact_type,
                f.occurred_start,
                f.occurred_end,
                f.reason,
                (f.invalidated_at or "")[:10],
            )
            for f in facts
        ],
        [(r.key, r.text, r.reason, r.by, r.when, r.pr, r.chunk_index) for r in source.records],
        [source.retraction.reason, source.retraction.by, source.retraction.when]
        if source.retraction
        else None,
    ]
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def page_source(
    bank_id: str,
    document: SourceDocument,
    facts: tuple[SourceFact, ...],
    base: Entry | None,
    text: str | None = None,
) -> PageSource:
    """A document as its page is made of it; records and label are carried from the manifest."""
    return PageSource(
        bank_id=bank_id,
        document_id=document.id,
        text=text,
        created_at=document.created_at,
        tags=document.tags,
        context=document.context,
        metadata=document.metadata,
        params=document.params,
        facts=facts,
        records=base.records if base else (),
        label=base.label if base else None,
        retraction=base.retraction if base else None,
    )


async def build(
    source: Source,
    bank: SourceBank,
    snapshot: Snapshot,
    wiki: Wiki,
    repo: Repository,
    *,
    base: Mapping[str, Entry],
    gone: Sequence[str],
    keep: frozenset[str] = frozenset(),
    pending: Mapping[str, Pending] | None = None,
    cover: Cover | None = None,
    volatile: frozenset[str] = page.VOLATILE,
    progress: Callable[[str, int, int], None] | None = None,
) -> Target:
    """Everything that must change in the wiki.

    ``gone``: documents whose absence the bank confirmed. ``keep``: paths relative to the folder that this run
    must leave as they are (a person is editing them); their documents keep their manifest line. ``pending``:
    marks that stay on their page.
    """
    cover = cover or Cover(bank, wiki.header)
    target = Target(busy=dict(snapshot.busy))
    marked = pending or {}
    work: list[tuple[SourceDocument, PageSource, str]] = []
    for document_id, document in snapshot.documents.items():
        old = base.get(document_id)
        name = page_name(bank.bank_id, document_id)
        if name.page in keep or name.text in keep:
            if old is not None:
                target.entries[document_id] = old
            continue
        facts = snapshot.facts.get(document_id, ())
        target.facts += sum(1 for fact in facts if fact.live)
        made_of = page_source(bank.bank_id, document, facts, old)
        digest = inputs_digest(made_of, volatile)
        if (
            document_id not in marked
            and old is not None
            and _settled(old, cover)
            and _stands(wiki, name, old, digest, document.content_hash)
        ):
            target.entries[document_id] = old
            target.unchanged += 1
        else:
            work.append((document, made_of, digest))

    remote: dict[str, tuple[SourceDocument, PageSource, str]] = {}
    done = 0

    def write(row: tuple[SourceDocument, PageSource, str], text: str | None) -> None:
        nonlocal done
        document, made_of, digest = row
        old = base.get(document.id)
        made_of = replace(made_of, text=text)
        _write(target, wiki, bank, document, made_of, digest, old, volatile, marked.get(document.id), cover)
        done += 1
        if progress is not None and done % BATCH == 0:
            progress("pages", done, len(work))

    for start in range(0, len(work), BATCH):
        part = work[start : start + BATCH]
        texts = _stored_texts(repo, wiki, base, [document for document, _, _ in part])
        for row in part:
            if row[0].id in texts:
                write(row, texts[row[0].id])
            else:
                remote[row[0].id] = row
    # The others are asked of the bank in one go, so that it can take its fastest way, and written as they come.
    target.fetched = len(remote)
    if remote:
        async for document_id, text in source.texts(list(remote)):
            asked = remote.get(document_id)
            if asked is not None and (text is None or text_hash(text) == asked[0].content_hash):
                del remote[document_id]
                write(asked, text)
    for document_id in remote:
        target.busy[document_id] = Busy(document_id, "its text changed while the bank was listed")

    for document_id in target.busy:
        if document_id not in target.entries:
            _carry(target, base.get(document_id))
    _remove(target, wiki, bank, base, gone, keep)
    _carry_rest(target, base, snapshot, gone)
    target.entries = {
        i: e if e is base.get(i) is wiki.entries.get(i) else cover.entry(e) for i, e in target.entries.items()
    }
    _side_files(target, wiki, bank, repo, keep)
    return target


def _settled(old: Entry, cover: Cover) -> bool:
    """Whether the page still shows and withholds what people settled."""
    return all(cover.settled.get(mark) != secrets.ALLOW for mark in old.withheld) and all(
        cover.settled.get(mark) == secrets.ALLOW for mark in old.allowed
    )


def _stands(wiki: Wiki, name: PageName, old: Entry, digest: str, content_hash: str) -> bool:
    """Whether page and text are the very files that the mirror wrote from the same inputs."""
    if not old.page or old.inputs != digest or old.text != content_hash:
        return False
    shown = wiki.tree.get(name.page)
    if shown is None or shown.oid != old.page or shown.mode != "100644":
        return False
    text = wiki.tree.get(name.text)
    return text is None if not old.text_blob else text is not None and text.oid == old.text_blob


def _carry(target: Target, old: Entry | None) -> None:
    if old is not None:
        target.entries[old.document_id] = old


def _stored_texts(
    repo: Repository, wiki: Wiki, base: Mapping[str, Entry], documents: Sequence[SourceDocument]
) -> dict[str, str | None]:
    """Id -> text of the documents whose text stands in the wiki, by the bank's own hash, or is kept nowhere."""
    found: dict[str, str | None] = {}
    blobs: dict[str, list[Entry]] = {}
    for document in documents:
        old = base.get(document.id)
        stands = wiki.tree.get(page_name(wiki.folder.bank_id, document.id).text)
        if not document.content_hash:
            found[document.id] = None
        elif old and old.text == document.content_hash and stands and stands.oid == old.text_blob:
            blobs.setdefault(stands.oid, []).append(old)
    for oid, data in repo.blobs(blobs):
        for old in blobs[oid]:
            stored = textfile.decode(data, old.text_mode, final_newline=old.final_newline)
            if text_hash(stored) == old.text:
                found[old.document_id] = stored
    return found


def text_hash(text: str) -> str:
    """sha256 hex of UTF-8, as the bank computes ``content_hash``."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _write(
    target: Target,
    wiki: Wiki,
    bank: SourceBank,
    document: SourceDocument,
    made_of: PageSource,
    digest: str,
    old: Entry | None,
    volatile: frozenset[str],
    marked: Pending | None,
    cover: Cover,
) -> None:
    name = page_name(bank.bank_id, document.id)
    carried = (made_of.records, made_of.label, made_of.retraction)
    # A fact that was invalidated in the bank becomes a record: the bank will forget it (measured).
    made_of = replace(made_of, records=_records(made_of))
    covered = cover.document(made_of)
    shown = covered.source
    if carried != (shown.records, shown.label, shown.retraction):
        # As the next run will find it in the manifest.
        digest = inputs_digest(
            replace(made_of, records=shown.records, label=shown.label, retraction=shown.retraction), volatile
        )
    rendered, late = render(covered, name, volatile, cover)
    entry = Entry(
        document_id=document.id,
        page=blob_id(rendered.page),
        text=document.content_hash,
        text_blob="" if rendered.text is None else blob_id(rendered.text),
        text_mode=rendered.text_mode,
        final_newline=rendered.final_newline,
        inputs=digest,
        created=document.created_at[:16],
        title=rendered.title,
        agent=rendered.agent,
        label=shown.label,
        facts=_fact_notes(made_of, rendered),
        records=shown.records,
        retraction=shown.retraction,
        withheld={**covered.withheld, **late},
        allowed=covered.allowed,
        corrected=old.corrected if old is not None else "",
    )
    target.entries[document.id] = entry
    touched = _put(
        target, wiki, name.page, rendered.page if marked is None else overlay.put(rendered.page, marked)
    )
    touched |= _put(target, wiki, name.text, rendered.text)
    if touched:
        what = (
            "changed" if name.page in wiki.tree else "restored" if old is not None and old.page else "added"
        )
        target.written.append(Written(document.id, wiki.folder.path(name.page), what))
    else:
        target.unchanged += 1


def render(
    covered: Covered, name: PageName, volatile: frozenset[str], cover: Cover
) -> tuple[RenderedPage, Mapping[str, str]]:
    """The two files without secrets, and what only the finished page showed to be one (fingerprint -> rule)."""
    rendered = page.render(
        covered.source,
        text_name=name.text_name,
        volatile=volatile,
        hide=covered.hide,
        hidden_text=covered.hidden_text,
    )
    return cover.page(rendered)


def _put(target: Target, wiki: Wiki, path: str, data: bytes | None) -> bool:
    """Plan one file; False where it stands already."""
    stands = wiki.tree.get(path)
    if data is None:
        if stands is None:
            return False
    elif stands is not None and stands.oid == blob_id(data) and stands.mode == "100644":
        return False
    target.changes[path] = data
    return True


def _records(made_of: PageSource) -> tuple[Record, ...]:
    """The carried records, and a new one for each invalidated fact that has none; sorted by key."""
    if all(fact.live for fact in made_of.facts):
        return made_of.records
    known = {record.key: record for record in made_of.records}
    for line in page.fact_lines(made_of):
        if line.live or line.key in known:
            continue
        dead = [f for f in made_of.facts if not f.live and f.id in line.fact_ids]
        first = min(dead, key=lambda f: (f.invalidated_at or "", f.id), default=None)
        if first is None:
            continue
        known[line.key] = Record(
            key=line.key,
            text=line.text,
            reason=first.reason or "",
            when=(first.invalidated_at or "")[:10],
            memory_id=first.id,
            chunk_index=line.chunk_index,
            is_chunk=line.is_chunk,
        )
    return tuple(known[key] for key in sorted(known))


def _fact_notes(made_of: PageSource, rendered: RenderedPage) -> dict[str, dict[str, str]]:
    """What a rebuild of the bank needs of the facts and the page does not show."""
    by_id = {fact.id: fact for fact in made_of.facts}
    notes: dict[str, dict[str, str]] = {}
    for line in rendered.facts:
        fact = next((by_id[i] for i in line.fact_ids if i in by_id), None)
        if fact is None:
            continue
        note = {}
        if fact.fact_type != "world":
            note["type"] = fact.fact_type
        if fact.occurred_start:
            note["occurred_start"] = fact.occurred_start
        if fact.occurred_end:
            note["occurred_end"] = fact.occurred_end
        if note:
            notes[line.key] = note
    return notes


def _remove(
    target: Target,
    wiki: Wiki,
    bank: SourceBank,
    base: Mapping[str, Entry],
    gone: Sequence[str],
    keep: frozenset[str],
) -> None:
    for document_id in gone:
        old = base.get(document_id)
        name = page_name(bank.bank_id, document_id)
        if name.page in keep or name.text in keep:
            _carry(target, old)
            continue
        touched = _put(target, wiki, name.page, None)
        touched |= _put(target, wiki, name.text, None)
        if touched:
            target.written.append(Written(document_id, wiki.folder.path(name.page), "removed"))
        if old is not None and (old.records or old.retraction):
            # The same id may be retained again: its retractions must still be known then.
            target.entries[document_id] = Entry(
                document_id=document_id, label=old.label, records=old.records, retraction=old.retraction
            )


def _carry_rest(target: Target, base: Mapping[str, Entry], snapshot: Snapshot, gone: Sequence[str]) -> None:
    """Lines of documents that are not in the bank, not gone and not busy: their absence is not confirmed."""
    settled = set(gone)
    for document_id, old in base.items():
        if (
            document_id not in target.entries
            and document_id not in settled
            and document_id not in snapshot.documents
        ):
            target.entries[document_id] = old


def _same_lines(lines: Sequence[Entry], wiki: Wiki, count: int) -> bool:
    """Whether a shard holds just the lines that were read from it: then it need not be encoded to know."""
    return len(lines) == count and all(
        wiki.entries.get(entry.document_id) is entry and entry.page != UNKNOWN for entry in lines
    )


def _side_files(target: Target, wiki: Wiki, bank: SourceBank, repo: Repository, keep: frozenset[str]) -> None:
    shards: dict[str, list[Entry]] = {}
    for entry in target.entries.values():
        shards.setdefault(page_name(bank.bank_id, entry.document_id).shard, []).append(entry)
    paths = {p for p in wiki.tree if p.startswith(".mirror/") and p.endswith(".jsonl")}
    paths |= {f".mirror/{shard}.jsonl" for shard in shards}
    counts = Counter(page_name(bank.bank_id, document_id).shard for document_id in wiki.entries)
    prefix = wiki.folder.path("")
    stale = {error.where.removeprefix(prefix).partition(":")[0] for error in wiki.errors}
    for path in paths - keep:
        lines = shards.get(path[8:-6], ())
        if path not in stale and path in wiki.tree and _same_lines(lines, wiki, counts.get(path[8:-6], 0)):
            continue
        _put(target, wiki, path, encode_shard(lines) or None)

    origins = tuple(dict.fromkeys([*(wiki.header.origins if wiki.header else ()), bank.origin]))
    settled = wiki.header.secrets if wiki.header else {}
    header = Header(bank.bank_id, bank.created_at, SCHEMA, origins[-5:], settled)
    if ".mirror/header.json" not in keep:
        _put(target, wiki, ".mirror/header.json", header.encode())

    months = index.split_months(target.entries)
    known = {p[6:-3] for p in wiki.tree if p.startswith("index/") and p.endswith(".md")}
    oids = {
        wiki.tree[p].oid
        for p in ["README.md", *(f"index/{m}.md" for m in known | set(months))]
        if p in wiki.tree and wiki.tree[p].mode in ("100644", "100755")
    }
    blobs = dict(repo.blobs(oids))

    def existing(path: str) -> bytes | None:
        stands = wiki.tree.get(path)
        return None if stands is None else blobs.get(stands.oid)

    for month in sorted(known | set(months)):
        path = f"index/{month}.md"
        if path in keep:
            continue
        before = existing(path)
        if month in months:
            _put(target, wiki, path, index.month_page(bank.bank_id, month, months[month], before))
        elif before is not None and index.BEGIN.encode() in before:
            emptied = index.month_page(bank.bank_id, month, (), before)
            _put(
                target,
                wiki,
                path,
                None if emptied == index.month_page(bank.bank_id, month, (), None) else emptied,
            )
    if "README.md" not in keep:
        _put(target, wiki, "README.md", index.readme(bank.bank_id, months, existing("README.md")))


def as_changes(target: Target, wiki: Wiki, *, attributes: bool) -> list[Change]:
    """The target's differences as paths of the repository, sorted; with the wiki's ``.gitattributes`` on first use."""
    changes = [Change(wiki.folder.path(path), data) for path, data in sorted(target.changes.items())]
    if attributes:
        changes.append(Change(wiki.folder.attributes, ATTRIBUTES.encode()))
    return changes

"""A bank from one store into another: texts, facts, tags, times and curation, with no model.

Repeatable: a document that the target has already, with the same facts in the same state, is passed over; one whose
curation did not arrive before a run died is brought in again; one that says something else there stays as it is and
is named, unless ``replace``. Afterwards both banks are listed and compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from console.memory.errors import InvalidInput, NotFound, ReadOnly, Unsupported
from console.memory.models import (
    ArchivedDocument,
    DocumentQuery,
    DocumentSummary,
    Memory,
    MemoryQuery,
    parse_time,
)
from console.memory.store import Capability, MemoryStore

Progress = Callable[[str, int, int], None]
BATCH = 200
_ALL = 1_000_000
_TYPES = frozenset({"world", "experience"})
_Fact = tuple[str, str]


@dataclass(slots=True)
class TransferReport:
    """Counts of documents unless they say otherwise."""

    source: str
    target: str
    bank: str
    to_bank: str
    documents: int = 0
    """In the source."""
    facts: int = 0
    """Live ones in the source."""
    invalidated: int = 0
    transferred: int = 0
    present: int = 0
    """Were in the target already, the same."""
    different: list[str] = field(default_factory=list)
    """Documents that say something else in the target: left as they are there."""
    differences: list[str] = field(default_factory=list)
    """What the comparison afterwards found, ``document: what``."""
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        return 3 if self.different or self.differences else 0


@dataclass(frozen=True, slots=True)
class _Side:
    """A bank as its listings show it."""

    documents: dict[str, DocumentSummary]
    live: dict[str, Counter[_Fact]]
    gone: dict[str, Counter[_Fact]]
    memories: dict[str, list[Memory]]
    """Invalidated ones by document."""


async def transfer(
    source: MemoryStore,
    target: MemoryStore,
    bank: str,
    to_bank: str,
    *,
    replace: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> TransferReport:
    """Raises StoreError; what came in before stays, and the next run goes on behind it."""
    if source.url == target.url and bank == to_bank:
        raise InvalidInput("source and target are the same bank", where=source.url, hint="add --to-bank ID")
    await target.version()  # tells a server's switched-off features
    if Capability.WRITE not in target.capabilities:
        raise ReadOnly("the target cannot be written", where=target.url, hint="name another one")
    if Capability.IMPORT not in target.capabilities:
        raise Unsupported(
            "the target takes no documents with their facts",
            where=target.url,
            hint="on a Hindsight server set HINDSIGHT_API_ENABLE_DOCUMENT_IMPORT_API=true",
        )
    about = await source.get_bank(bank)
    here = await _side(source, bank)
    try:
        there = await _side(target, to_bank)
    except NotFound:
        there = _Side({}, {}, {}, {})
    report = TransferReport(
        source.url,
        target.url,
        bank,
        to_bank,
        documents=len(here.documents),
        facts=sum(sum(counted.values()) for counted in here.live.values()),
        invalidated=sum(sum(counted.values()) for counted in here.gone.values()),
        dry_run=dry_run,
    )
    send: list[str] = []
    # Oldest first, so that a run that died half way has moved a beginning, not a random part.
    for document_id in sorted(here.documents, key=lambda i: (here.documents[i].created_at or "", i)):
        what = _difference(here, there, document_id)
        if what is None:
            report.present += 1
        elif document_id not in there.documents or replace or _unfinished(here, there, document_id):
            send.append(document_id)
        else:
            report.different.append(document_id)
    if dry_run:
        report.transferred = len(send)
        return report
    await target.create_bank(to_bank, name=about.name, mission=about.mission)
    for start in range(0, len(send), BATCH):
        batch = [entry async for entry in source.export_documents(bank, send[start : start + BATCH])]
        whole = [await _whole(source, bank, here, entry) for entry in batch]
        result = await target.import_documents(to_bank, whole, on_conflict="replace")
        report.transferred += len(result.imported)
        if progress is not None:
            progress("documents", min(start + BATCH, len(send)), len(send))
    await _compare(target, here, report)
    return report


async def _compare(target: MemoryStore, here: _Side, report: TransferReport) -> None:
    there = await _side(target, report.to_bank)
    left = set(report.different)
    for document_id in here.documents:
        if document_id not in left and (what := _difference(here, there, document_id)) is not None:
            report.differences.append(f"{document_id}: {what}")


async def _side(store: MemoryStore, bank: str) -> _Side:
    listed = await store.list_documents(bank, DocumentQuery(limit=_ALL, time_field="created_at"))
    live: dict[str, Counter[_Fact]] = defaultdict(Counter)
    gone: dict[str, Counter[_Fact]] = defaultdict(Counter)
    kept: dict[str, list[Memory]] = defaultdict(list)
    for state, counted in (("valid", live), ("invalidated", gone)):
        for memory in (await store.list_memories(bank, MemoryQuery(state=state, limit=_ALL))).items:
            if memory.fact_type in _TYPES and memory.document_id is not None:
                counted[memory.document_id][memory.text, memory.fact_type] += 1
                if state == "invalidated":
                    kept[memory.document_id].append(memory)
    return _Side({document.id: document for document in listed.items}, live, gone, kept)


def _difference(here: _Side, there: _Side, document_id: str) -> str | None:
    """What of a document is not the same on both sides; None: nothing."""
    ours, theirs = here.documents[document_id], there.documents.get(document_id)
    if theirs is None:
        return "missing"
    if ours.content_hash != theirs.content_hash:
        return "another text"
    if sorted(ours.tags) != sorted(theirs.tags):
        return "other tags"
    if parse_time(ours.created_at) != parse_time(theirs.created_at):
        return "another created_at"
    if here.live.get(document_id, Counter()) != there.live.get(document_id, Counter()):
        return "other live facts"
    if here.gone.get(document_id, Counter()) != there.gone.get(document_id, Counter()):
        return "other facts that were taken back"
    return None


def _unfinished(here: _Side, there: _Side, document_id: str) -> bool:
    """The same document, of which the target lacks curation only: a run died before it took facts back there."""
    ours, theirs = here.documents[document_id], there.documents[document_id]
    if ours.content_hash != theirs.content_hash or parse_time(ours.created_at) != parse_time(
        theirs.created_at
    ):
        return False
    none: Counter[_Fact] = Counter()
    gone, gone_there = here.gone.get(document_id, none), there.gone.get(document_id, none)
    same = here.live.get(document_id, none) + gone == there.live.get(document_id, none) + gone_there
    return same and gone_there <= gone and gone_there != gone


async def _whole(store: MemoryStore, bank: str, here: _Side, entry: ArchivedDocument) -> ArchivedDocument:
    """With what a bulk export leaves out: facts that were taken back, and chunks where it has none."""
    document_id = entry.document.id
    chunks: Sequence[str] = entry.chunks
    if not chunks:
        listed = (await store.list_chunks(bank, document_id, limit=_ALL)).items
        if [chunk.chunk_index for chunk in listed] == list(range(len(listed))):
            chunks = [chunk.chunk_text for chunk in listed]
    return msgspec.structs.replace(
        entry, facts=(*entry.facts, *here.memories.get(document_id, ())), chunks=tuple(chunks)
    )

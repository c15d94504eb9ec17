"""A listing that is safe while others write.

Promise: a document is in the snapshot with all its facts, or it is named as busy, or its absence was
confirmed by the bank for that id alone. Nothing is concluded from a row that was not seen.

How (each point measured on a real server): documents are listed by ``created_at`` below a fixed end, so an
update cannot move them between pages; ids seen must equal the total, else everything is listed again; a
document whose retain is pending, whose ``updated_at`` moved while we read, or whose live facts do not add
up to the bank's own count is busy and left as it is.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from mirror.errors import SourceIncomplete
from mirror.source import BusyOperation, Source, SourceDocument, SourceFact

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)

PAGE = 10_000
"""Rows a request: one page of 10,000 is twice as fast as ten of 1,000 (measured: 0.71 s, 1.28 s)."""
ATTEMPTS = 3
OVERLAP = timedelta(seconds=5)
"""A write becomes visible after its ``updated_at`` (measured: 0.2 s): look that far back, and more."""

AHEAD = timedelta(seconds=2)
"""A server tells its time in whole seconds and up to a second late (measured): without this, what was retained just
before a run would not be in its listing."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Why a document is left as it is in this run."""

    document_id: str
    reason: str
    operation_id: str = ""
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the bank holds: quiet documents with their facts, and the busy ones by name."""

    documents: Mapping[str, SourceDocument] = field(default_factory=dict)
    facts: Mapping[str, tuple[SourceFact, ...]] = field(default_factory=dict)
    busy: Mapping[str, Busy] = field(default_factory=dict)
    total: int = 0
    """Documents that the bank claims, busy ones included."""


async def take(source: Source, progress: Callable[[str, int, int], None] | None = None) -> Snapshot:
    """List the bank. Raises SourceIncomplete when it does not add up after three attempts."""
    tell = progress or (lambda _what, _done, _total: None)
    since, end = _window(await source.now())
    end = _beyond(end, await source.touched(since))
    pending = dict(await source.busy())
    documents = await _documents(source, end, tell)
    live = await _facts(source, True, tell)
    dead = await _facts(source, False, tell)
    touched = await source.touched(since)
    pending.update(await source.busy())

    by_document: dict[str, list[SourceFact]] = {}
    for fact in (*live.values(), *dead.values()):
        by_document.setdefault(fact.document_id, []).append(fact)

    busy: dict[str, Busy] = {}
    for document_id, operation in pending.items():
        busy[document_id] = _busy_operation(document_id, operation)
    for document_id, moved in touched.items():
        listed = documents.get(document_id)
        if listed is None:
            busy.setdefault(document_id, Busy(document_id, "retained while the bank was listed"))
        elif listed.updated_at != moved:
            busy.setdefault(document_id, Busy(document_id, "written while the bank was listed"))
    for document_id, document in documents.items():
        count = sum(1 for fact in by_document.get(document_id, ()) if fact.live)
        if count != document.fact_count:
            reason = f"{count} live facts listed, the bank counts {document.fact_count}"
            busy.setdefault(document_id, Busy(document_id, reason))
    quiet = {i: d for i, d in documents.items() if i not in busy}
    return Snapshot(
        documents=quiet,
        facts={i: tuple(by_document.get(i, ())) for i in quiet},
        busy=busy,
        total=len(documents),
    )


def _window(now: str) -> tuple[str, str]:
    """(from when writes may have been missed, the fixed end)."""
    try:
        moment = datetime.fromisoformat(now)
        return (moment - OVERLAP).isoformat(), (moment + AHEAD).isoformat()
    except (ValueError, OverflowError) as error:
        raise SourceIncomplete(
            "the bank's clock gives no time",
            where=repr(now)[:80],
            hint="nothing was written; check --store: this is not how a memory server answers",
        ) from error


def _beyond(end: str, written: Mapping[str, str]) -> str:
    """The end, or what the bank wrote last where that is later: a busy server's clock lags by more than ``AHEAD``."""
    latest = datetime.fromisoformat(end)
    for moment in written.values():
        with contextlib.suppress(ValueError, TypeError, OverflowError):  # no time, or one without a zone
            latest = max(latest, datetime.fromisoformat(moment) + timedelta(milliseconds=1))
    return latest.isoformat()


def _moment(text: str) -> str:
    """A time as the bank gave it, or '' for what is none: days name files and stand on pages."""
    return text if _MOMENT.fullmatch(text) else ""


def _busy_operation(document_id: str, operation: BusyOperation) -> Busy:
    return Busy(document_id, f"retain {operation.status}", operation.operation_id, operation.since)


def _dated(document: SourceDocument) -> SourceDocument:
    created = _moment(document.created_at)
    return document if created == document.created_at else replace(document, created_at=created)


async def _documents(
    source: Source, end: str, tell: Callable[[str, int, int], None]
) -> dict[str, SourceDocument]:
    story = ""
    for _ in range(ATTEMPTS):
        seen: dict[str, SourceDocument] = {}
        repeated = 0
        offset = total = 0
        while True:
            rows = await source.documents(before=end, limit=PAGE, offset=offset)
            total = rows.total
            new = len(seen)
            for document in rows.items:
                repeated += document.id in seen
                seen[document.id] = _dated(document)
            offset += rows.seen
            tell("documents", len(seen), total)
            # A page without anything new comes from a server that ignores the offset: it would never end.
            if offset >= total or len(seen) == new:
                break
        if len(seen) == total and not repeated:
            return seen
        story = f"{len(seen)} of {total} documents seen, {repeated} listed twice"
    raise SourceIncomplete(
        "the bank's document listing does not add up",
        where=story,
        hint=f"tried {ATTEMPTS} times; nothing was written; run it again when the bank is quieter",
    )


async def _facts(source: Source, live: bool, tell: Callable[[str, int, int], None]) -> dict[str, SourceFact]:
    """Live facts may be short of some under writes: the count of each document shows it. Others may not."""
    story = ""
    seen: dict[str, SourceFact] = {}
    for _ in range(ATTEMPTS):
        seen = {}
        offset = total = rows_of_facts = 0
        while True:
            rows = await source.facts(live=live, limit=PAGE, offset=offset)
            total = rows.total
            rows_of_facts += len(rows.items)
            new = len(seen)
            for fact in rows.items:
                seen[fact.id] = fact
            offset += rows.seen
            tell("facts" if live else "invalidated facts", offset, total)
            if rows.seen <= 0 or offset >= total or (rows.items and len(seen) == new):
                break
        if offset == total and rows_of_facts == len(seen):
            return seen
        story = f"{offset} of {total} rows seen, {rows_of_facts - len(seen)} twice"
    if live:
        return seen
    raise SourceIncomplete(
        "the bank's listing of invalidated facts does not add up",
        where=story,
        hint=f"tried {ATTEMPTS} times; nothing was written; run it again when the bank is quieter",
    )

"""A bank in memory that the mirror can read, with faults on demand: no store, no server."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirror.errors import CurationFailed
from mirror.source import BusyOperation, Rows, SourceBank, SourceDocument, SourceFact


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class FakeBank:
    """Documents by id; each line of a text is one fact."""

    bank_id: str = "demo"
    created_at: str = "2026-11-01T00:00:00+00:00"
    origin: str = "fake"
    docs: dict[str, SourceDocument] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    fact_rows: dict[str, SourceFact] = field(default_factory=dict)
    operations: dict[str, BusyOperation] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    page_limit: int = 10_000
    on_documents: Callable[[int, Rows], Rows] | None = None
    """(offset, honest rows) -> what is answered instead."""
    fail_once: set[str] = field(default_factory=set)
    """Fact ids whose next change is answered with an error."""
    _clock: int = 0
    _ids: int = 0

    def _tick(self) -> str:
        self._clock += 1
        return f"2026-11-{1 + self._clock // 86400:02d}T{self._clock // 3600 % 24:02d}:{self._clock // 60 % 60:02d}:{self._clock % 60:02d}+00:00"

    def retain(
        self,
        document_id: str,
        text: str,
        *,
        tags: Iterable[str] = (),
        context: str | None = None,
        metadata: Mapping[str, str] | None = None,
        facts: Sequence[str] | None = None,
    ) -> None:
        now = self._tick()
        old = self.docs.get(document_id)
        self.text[document_id] = text
        for fact_id in [i for i, f in self.fact_rows.items() if f.document_id == document_id]:
            del self.fact_rows[fact_id]
        statements = [line for line in text.splitlines() if line.strip()] if facts is None else list(facts)
        for statement in statements:
            self._ids += 1
            self.fact_rows[f"m{self._ids}"] = SourceFact(
                id=f"m{self._ids}",
                document_id=document_id,
                text=statement,
                fact_type="world",
                live=True,
                mentioned_at=f"2026-11-01T00:00:{self._ids % 60:02d}.{self._ids:06d}+00:00",
            )
        self.docs[document_id] = SourceDocument(
            id=document_id,
            content_hash=sha(text),
            created_at=old.created_at if old else now,
            updated_at=now,
            fact_count=len(statements),
            tags=tuple(sorted(tags)),
            context=context,
            metadata=dict(metadata or {}),
        )

    def touch_all(self) -> None:
        """Only ``updated_at`` moves."""
        for document_id, document in self.docs.items():
            self.docs[document_id] = replace(document, updated_at=self._tick())

    def delete(self, document_id: str) -> None:
        del self.docs[document_id], self.text[document_id]
        for fact_id in [i for i, f in self.fact_rows.items() if f.document_id == document_id]:
            del self.fact_rows[fact_id]

    def invalidate(self, text: str, reason: str = "wrong") -> None:
        for fact_id, fact in self.fact_rows.items():
            if fact.text == text and fact.live:
                self.fact_rows[fact_id] = replace(
                    fact, live=False, reason=reason, invalidated_at="2026-11-20T08:00:00+00:00"
                )
                document = self.docs[fact.document_id]
                self.docs[fact.document_id] = replace(document, fact_count=document.fact_count - 1)

    # mirror.source.Source ------------------------------------------------------------------------------

    async def bank(self) -> SourceBank:
        return SourceBank(self.bank_id, self.created_at, self.origin)

    async def now(self) -> str:
        return "2026-12-31T00:00:00+00:00"

    async def documents(self, *, before: str | None, limit: int, offset: int) -> Rows:
        self.calls.append(f"documents {offset}")
        ordered = sorted(self.docs.values(), key=lambda d: (d.created_at, d.id), reverse=True)
        size = min(limit, self.page_limit)
        items = tuple(ordered[offset : offset + size])
        rows = Rows(items, len(ordered), len(items))
        return self.on_documents(offset, rows) if self.on_documents else rows

    async def facts(self, *, live: bool, limit: int, offset: int) -> Rows:
        self.calls.append(f"facts {live} {offset}")
        rows = [f for f in self.fact_rows.values() if f.live is live]
        items = tuple(rows[offset : offset + min(limit, self.page_limit)])
        return Rows(items, len(rows), len(items))

    async def touched(self, since: str) -> Mapping[str, str]:
        return {}

    async def texts(self, document_ids: Sequence[str]) -> AsyncIterator[tuple[str, str | None]]:
        for document_id in document_ids:
            if document_id in self.text:
                self.calls.append(f"text {document_id}")
                yield document_id, self.text[document_id]

    async def exists(self, document_id: str) -> bool:
        self.calls.append(f"exists {document_id}")
        return document_id in self.docs

    async def fact(self, fact_id: str) -> SourceFact | None:
        return self.fact_rows.get(fact_id)

    async def curate(self, fact_id: str, *, live: bool, reason: str) -> None:
        self.calls.append(f"curate {fact_id} {'valid' if live else 'invalidated'}")
        if fact_id in self.fail_once:
            self.fail_once.discard(fact_id)
            raise CurationFailed("the server answered 500", where=fact_id)
        fact = self.fact_rows[fact_id]
        when = None if live else "2026-11-20T08:00:00+00:00"
        self.fact_rows[fact_id] = replace(fact, live=live, reason=reason or None, invalidated_at=when)
        document = self.docs[fact.document_id]
        step = 1 if live else -1
        self.docs[fact.document_id] = replace(document, fact_count=document.fact_count + step)

    async def replace_text(
        self, document_id: str, text: str, *, tags: Sequence[str] | None = None, context: str | None = None
    ) -> None:
        self.calls.append(f"text of {document_id} replaced")
        old = self.docs.get(document_id)
        if tags is None:
            if old is None:
                raise CurationFailed("no such document", where=document_id)
            tags, context = old.tags, old.context
        self.retain(document_id, text, tags=tags, context=context, metadata=old.metadata if old else None)

    async def erase(self, document_id: str) -> bool:
        self.calls.append(f"erase {document_id}")
        if document_id not in self.docs:
            return False
        self.delete(document_id)
        return True

    async def document(self, document_id: str) -> SourceDocument | None:
        self.calls.append(f"document {document_id}")
        return self.docs.get(document_id)

    async def document_facts(self, document_id: str) -> tuple[SourceFact, ...]:
        return tuple(f for f in self.fact_rows.values() if f.document_id == document_id)

    async def busy(self) -> Mapping[str, BusyOperation]:
        return dict(self.operations)

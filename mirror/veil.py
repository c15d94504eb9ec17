"""A bank whose documents go by the ids that the wiki may show: those that hold a secret by their alias."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from mirror.cover import Cover
from mirror.errors import CurationFailed
from mirror.paths import withheld_hash
from mirror.source import BusyOperation, Curator, Rows, Source, SourceBank, SourceFact


class Bank(Source, Curator, Protocol):
    """One bank, read and curated."""


class Veiled:
    """Passes everything on; document ids go through the cover in both directions."""

    def __init__(self, bank: Bank, cover: Cover) -> None:
        self.inner: Bank = bank.inner if isinstance(bank, Veiled) else bank
        self._cover = cover
        self._alias: dict[str, str] = {}
        self._real: dict[str, str] = {}

    def shown(self, document_id: str) -> str:
        """The id by which the wiki knows the document."""
        alias = self._alias.get(document_id)
        if alias is None:
            alias = self._alias[document_id] = self._cover.alias(document_id)
            if alias != document_id:
                self._real[alias] = document_id
        return alias

    async def _own(self, alias: str) -> str | None:
        """The bank's id; None where no document of the bank has this alias."""
        if withheld_hash(alias) is None:
            return alias
        if alias not in self._real:
            offset = 0
            while True:
                rows = await self.inner.documents(before=None, limit=10_000, offset=offset)
                for document in rows.items:
                    self.shown(document.id)
                offset += rows.seen
                if not rows.seen or offset >= rows.total:
                    break
        return self._real.get(alias)

    async def bank(self) -> SourceBank:
        return await self.inner.bank()

    async def now(self) -> str:
        return await self.inner.now()

    async def documents(self, *, before: str | None, limit: int, offset: int) -> Rows:
        rows = await self.inner.documents(before=before, limit=limit, offset=offset)
        shown = [(document, self.shown(document.id)) for document in rows.items]
        if all(alias == document.id for document, alias in shown):
            return rows
        return replace(rows, items=tuple(replace(document, id=alias) for document, alias in shown))

    async def facts(self, *, live: bool, limit: int, offset: int) -> Rows:
        rows = await self.inner.facts(live=live, limit=limit, offset=offset)
        if not any(self.shown(fact.document_id) != fact.document_id for fact in rows.items):
            return rows
        return replace(
            rows, items=tuple(replace(f, document_id=self.shown(f.document_id)) for f in rows.items)
        )

    async def touched(self, since: str) -> Mapping[str, str]:
        return {self.shown(i): moved for i, moved in (await self.inner.touched(since)).items()}

    async def texts(self, document_ids: Sequence[str]) -> AsyncIterator[tuple[str, str | None]]:
        own = [real for i in document_ids if (real := await self._own(i)) is not None]
        async for document_id, text in self.inner.texts(own):
            yield self.shown(document_id), text

    async def exists(self, document_id: str) -> bool:
        own = await self._own(document_id)
        return own is not None and await self.inner.exists(own)

    async def busy(self) -> Mapping[str, BusyOperation]:
        return {self.shown(i): operation for i, operation in (await self.inner.busy()).items()}

    async def fact(self, fact_id: str) -> SourceFact | None:
        fact = await self.inner.fact(fact_id)
        return None if fact is None else replace(fact, document_id=self.shown(fact.document_id))

    async def curate(self, fact_id: str, *, live: bool, reason: str) -> None:
        await self.inner.curate(fact_id, live=live, reason=reason)

    async def replace_text(
        self, document_id: str, text: str, *, tags: Sequence[str] | None = None, context: str | None = None
    ) -> None:
        own = await self._own(document_id)
        if own is None:
            raise CurationFailed("the bank does not have this document any more", where=document_id)
        await self.inner.replace_text(own, text, tags=tags, context=context)

    async def erase(self, document_id: str) -> bool:
        own = await self._own(document_id)
        return own is not None and await self.inner.erase(own)

"""A document that is retained again, grown, stays searchable; and a history can be replayed at its own times."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.models import DocumentQuery, RecallRequest, RetainItem

FIRST = "The queue runs on Redis. Reconciliation takes forty minutes."
GROWN = FIRST + "\nReconciliation now takes fifty seconds."


@pytest.mark.parametrize(
    ("then", "tags"),
    [(GROWN, ("a",)), (GROWN, ("b",)), (FIRST, ("b",))],
    ids=["more text", "more text and other tags", "other tags"],
)
async def test_recall_works_after_a_document_was_retained_again(
    tmp_path: Path, then: str, tags: tuple[str, ...]
) -> None:
    store = EmbeddedStore(tmp_path / "m.db")
    try:
        await store.retain("b", [RetainItem(content=FIRST, document_id="d", tags=("a",))])
        await store.retain("b", [RetainItem(content=then, document_id="d", tags=tags)])
        answer = await store.recall("b", RecallRequest(query="reconciliation takes minutes"))
        assert answer.results[0].text == "Reconciliation takes forty minutes."
    finally:
        await store.aclose()


async def test_a_given_clock_stamps_everything(tmp_path: Path) -> None:
    moments = iter(range(1_000_000_000_000_000, 1_000_000_000_001_000))
    store = EmbeddedStore(tmp_path / "m.db", clock=lambda: next(moments))
    try:
        await store.create_bank("b")
        await store.retain("b", [RetainItem(content=FIRST, document_id="d")])
        bank, page = await store.get_bank("b"), await store.list_documents("b", DocumentQuery())
        stamps = [
            bank.created_at,
            bank.updated_at,
            page.items[0].created_at,
            page.items[0].updated_at,
            await store.now(),
        ]
        assert {str(stamp)[:10] for stamp in stamps} == {"2001-09-09"}
    finally:
        await store.aclose()

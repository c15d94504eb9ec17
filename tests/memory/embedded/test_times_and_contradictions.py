"""Resolved times, the time that a recall asks for, and statements that cannot both hold."""

from __future__ import annotations

import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.errors import InvalidInput
from console.memory.models import RecallRequest, ReflectRequest, RetainItem


async def put(store: EmbeddedStore, name: str, text: str, at: str) -> None:
    await store.retain("b", [RetainItem(content=text, document_id=name, timestamp=at)])


async def test_yesterday_is_resolved_against_the_document(store: EmbeddedStore) -> None:
    await put(store, "d", "Yesterday the queue moved to Redis.", "2026-05-14T10:00:00Z")
    (result,) = (await store.recall("b", RecallRequest(query="queue"))).results
    assert str(result.occurred_start) == "2026-05-13T00:00:00+00:00"
    assert str(result.occurred_end)[:19] == "2026-05-13T23:59:59"


async def test_a_window_ranks_and_does_not_filter(store: EmbeddedStore) -> None:
    for month in ("01", "03", "05"):
        await put(store, month, "The queue was restarted by hand.", f"2026-{month}-10")
    window = {"start": "2026-03-01T00:00:00Z", "end": "2026-03-31T00:00:00Z"}
    answer = await store.recall("b", RecallRequest(query="queue", temporal_window=window))
    assert answer.results[0].document_id == "03"
    assert len(answer.results) == 3
    named = await store.recall(
        "b", RecallRequest(query="queue in January", query_timestamp="2026-06-01T00:00:00Z")
    )
    assert named.results[0].document_id == "01"


@pytest.mark.parametrize(
    "window", [{"start": "soon"}, {"start": "2026-02-01", "end": "2026-01-01"}, {"from": "2026"}]
)
async def test_a_window_that_makes_no_sense_is_refused(store: EmbeddedStore, window: dict[str, str]) -> None:
    await put(store, "d", "The queue runs on Redis.", "2026-05-14")
    with pytest.raises(InvalidInput):
        await store.recall("b", RecallRequest(query="queue", temporal_window=window))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The database listens on port 8080.", "The database listens on port 8081."),
        ("The database is replicated.", "The database is not replicated."),
    ],
)
async def test_contradictions_stand_side_by_side(store: EmbeddedStore, old: str, new: str) -> None:
    await put(store, "new", new, "2026-05-14")
    await put(store, "old", old, "2026-01-14")
    text = (await store.reflect("b", ReflectRequest(query="database port replicated"))).text
    assert "Contradictions:" in text
    assert "is newer (2026-05-14)" in text

"""The embedded bank behind Hindsight's API: our own client, which knows the server's shapes, must see the same bank."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from console.memory.embedded import EmbeddedStore
from console.memory.errors import AuthFailed, InvalidInput, NotFound
from console.memory.hindsight import HindsightStore
from console.memory.models import (
    Curation,
    DocumentQuery,
    MemoryQuery,
    RecallRequest,
    ReflectRequest,
    RetainItem,
)
from console.seam.embedded import Embedded
from tests.seam.fakes import Running, seam

RETAIN = "/v1/default/banks/demo/memories"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    store = EmbeddedStore(tmp_path / "banks.sqlite")
    async with seam("", tmp_path / "state" / "spool.sqlite", token="own", backend=Embedded(store)) as opened:
        yield opened


@pytest.fixture
async def client(running: Running) -> AsyncIterator[HindsightStore]:
    opened = HindsightStore(f"{running.url}/src/omo", token="own")
    yield opened
    await opened.aclose()


async def post(running: Running, path: str, body: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=running.url, headers={"authorization": "Bearer own"}) as http:
        return await http.post(path, content=body if isinstance(body, bytes) else json.dumps(body))


async def test_the_official_shapes_all_the_way(client: HindsightStore, running: Running) -> None:
    assert (await client.version()).api_version == "1.1.0"
    assert (await client.health()).status == "healthy"
    assert await client.now()
    await client.create_bank("demo", name="Demo", mission="Remember.")
    bank = await client.get_bank("demo")
    assert (bank.bank_id, bank.name, bank.mission) == ("demo", "Demo", "Remember.")
    await client.retain(
        "demo", [RetainItem(content="The queue is called orders.", document_id="s/1", tags=("x",))]
    )
    await client.retain("demo", [RetainItem(content="Ada deploys on Friday.", document_id="../s2")])
    listed = await client.list_documents("demo", DocumentQuery(tags=("x",)))
    assert [d.id for d in listed.items] == ["s/1"] and listed.total == 1
    document = await client.get_document("demo", "../s2")
    assert document.original_text == "Ada deploys on Friday."
    (fact,) = (await client.list_memories("demo", MemoryQuery(document_id="../s2"))).items
    assert fact.text == "Ada deploys on Friday."
    found = await client.recall("demo", RecallRequest(query="Who deploys?"))
    assert found.results[0].id == fact.id and found.results[0].document_id == "../s2"
    answer = await client.reflect("demo", ReflectRequest(query="Who deploys?"))
    assert "Ada" in answer.text and answer.based_on is not None
    curated = await client.curate_memory("demo", fact.id, Curation(state="invalidated", reason="wrong"))
    assert (curated.state, curated.invalidation_reason) == ("invalidated", "wrong")
    assert (await client.recall("demo", RecallRequest(query="Who deploys?"))).results == ()
    await client.set_document_tags("demo", "s/1", ["y"])
    assert (await client.get_document("demo", "s/1")).tags == ("y",)
    assert (await client.bank_stats("demo")).total_documents == 2
    await client.delete_document("demo", "s/1")
    with pytest.raises(NotFound):
        await client.get_document("demo", "s/1")
    assert [(row.kind, row.state) for row in running.rows()] == [
        ("retain", "stored"),
        ("retain", "stored"),
        ("curate", "stored"),
        ("tags", "stored"),
        ("delete", "stored"),
    ]


async def test_a_queued_retain_is_done_and_its_operation_says_so(client: HindsightStore) -> None:
    answer = await client.retain(
        "demo", [RetainItem(content="The queue is called orders.", document_id="s")], background=True
    )
    assert answer.operation_id is not None
    done = await client.wait_operation("demo", answer.operation_id)
    assert (done.status, done.document_ids) == ("completed", ("s",))
    with pytest.raises(NotFound):
        await client.get_operation("demo", "8b0c0d3e-0000-4000-8000-000000000000")


async def test_items_are_grouped_as_the_server_groups_them(client: HindsightStore, running: Running) -> None:
    got = await post(running, RETAIN, {"items": [{"content": "One."}, {"content": "Two."}]})
    assert got.json()["items_count"] == 2
    (document,) = (await client.list_documents("demo")).items
    assert (await client.get_document("demo", document.id)).original_text == "One.\nTwo."
    rows = [
        {"content": "A.", "document_id": "s", "tags": ["x"]},
        {"content": [{"type": "text", "text": "B."}], "document_id": "s", "tags": ["y"]},
        {"content": "C."},
    ]
    assert (await post(running, RETAIN, {"items": rows, "document_tags": ["z"]})).status_code == 200
    joined = await client.get_document("demo", "s")
    assert (joined.original_text, joined.tags) == ("A.\nB.", ("x", "y", "z"))
    assert (await client.list_documents("demo")).total == 3


async def test_the_same_operation_twice_is_stored_once_and_another_text_is_not_swallowed(
    client: HindsightStore, running: Running
) -> None:
    operation = "8b0c0d3e-0000-4000-8000-000000000000"
    body = {"items": [{"content": "One."}], "async": True, "operation_id": operation}
    for _ in range(2):
        assert (await post(running, RETAIN, body)).json()["operation_id"] == operation
    assert (await client.list_documents("demo")).total == 1
    await post(running, RETAIN, {**body, "items": [{"content": "Two."}]})
    assert (await client.list_documents("demo")).total == 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (RETAIN, b"{", 422),
        (RETAIN, b"[]", 422),
        (RETAIN, {"items": []}, 422),
        (RETAIN, {"items": [{"content": " "}]}, 422),
        (RETAIN, {"items": [{"content": [{"type": "image", "data": ""}]}]}, 501),
        (f"{RETAIN}/recall", {"query": 3}, 422),
        (f"{RETAIN}/recall", {}, 422),
        ("/v1/default/banks/demo/import", {}, 501),
        ("/v1/default/banks/demo/files/retain", {}, 501),
        ("/mcp/demo/", {"jsonrpc": "2.0", "method": "tools/call", "params": {}}, 501),
        ("/v1/default/banks/%FF/reflect", {"query": "x"}, 422),
    ],
)
async def test_what_it_cannot_do_it_says_in_the_servers_shape(
    running: Running, path: str, body: Any, status: int
) -> None:
    got = await post(running, path, body)
    assert got.status_code == status, got.text
    assert got.json()["detail"]


async def test_without_the_token_nothing_is_answered(running: Running) -> None:
    stranger = HindsightStore(running.url)
    with pytest.raises(AuthFailed):
        await stranger.health()
    await stranger.aclose()


async def test_a_mission_is_said_to_be_ignored(running: Running) -> None:
    async with httpx.AsyncClient(base_url=running.url, headers={"authorization": "Bearer own"}) as http:
        got = await http.patch("/v1/default/banks/demo/config", json={"updates": {"reflect_mission": "x"}})
        assert (got.status_code, got.headers["x-ignored-params"]) == (200, "updates")
        assert (await http.head("/health")).status_code == 200
        assert (await http.get("/v1/default/banks/demo/knowledge-base/tree")).status_code == 501


async def test_a_bad_page_is_refused(client: HindsightStore) -> None:
    await client.create_bank("demo")
    with pytest.raises(InvalidInput):
        await client.list_memories("demo", MemoryQuery(time_field="nonsense", start_date="x"))

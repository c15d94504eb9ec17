"""What a request says about itself: which requests change memory, and what can be told of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.seam.upstream import Upstream, forwarded
from console.seam.writes import answer_of, carries, items_of, joined, recognise, split_label

BANK = b"/v1/default/banks/a%2Fb"


def body(**value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("path", "label", "rest"),
    [
        (b"/src/omo/v1/x", "omo", b"/v1/x"),
        (b"/src/a%20b/mcp/", "a b", b"/mcp/"),
        (b"/v1/src/x", "", b"/v1/src/x"),
        (b"/src/omo", "", b"/src/omo"),
        (b"/src//v1", "", b"/src//v1"),
        (b"/src/%ff/v1", "�", b"/v1"),
    ],
)
def test_label(path: bytes, label: str, rest: bytes) -> None:
    assert split_label(path) == (label, rest)


@pytest.mark.parametrize(
    ("method", "path", "kind", "documents"),
    [
        ("POST", BANK + b"/memories", "retain", ("d",)),
        ("POST", BANK + b"/memories/", "retain", ("d",)),
        ("DELETE", BANK + b"/documents/x%2F..", "delete", ("x/..",)),
        ("PATCH", BANK + b"/documents/x%3Ay", "tags", ("x:y",)),
        ("PATCH", BANK + b"/memories/1-2", "curate", ()),
        ("DELETE", BANK + b"/memories", "clear", ()),
        ("DELETE", BANK, "bank", ()),
        ("POST", BANK + b"/import", "import", ()),
        ("POST", BANK + b"/files/retain", "files", ()),
    ],
)
def test_what_changes_memory_is_recognised(
    method: str, path: bytes, kind: str, documents: tuple[str, ...]
) -> None:
    assert carries(method, path)
    write = recognise(
        method, path, b"", "application/json", body(items=[{"content": "x", "document_id": "d"}])
    )
    assert write is not None
    assert (write.bank, write.kind, write.documents, write.target) == ("a/b", kind, documents, path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", BANK + b"/memories"),
        ("POST", BANK + b"/memories/recall"),
        ("POST", BANK + b"/reflect"),
        ("GET", BANK + b"/documents/x"),
        ("PUT", BANK),
        ("GET", b"/mcp/demo/"),
        ("POST", b"/v1/other/banks/x/memories"),
    ],
)
def test_the_rest_is_not(method: str, path: bytes) -> None:
    assert not carries(method, path)


@pytest.mark.parametrize(
    "broken", [b"", b"{", b"[]", b'{"items":3}', b'{"items":[3]}', b"\xff\xfe", b"[" * 5000]
)
def test_a_body_that_no_bank_takes_is_no_write(broken: bytes) -> None:
    assert recognise("POST", BANK + b"/memories", b"", "application/json", broken) is None


def test_only_a_replace_with_ids_can_be_sent_again() -> None:
    def again(*items: dict[str, Any]) -> bool:
        write = recognise("POST", BANK + b"/memories", b"", "application/json", body(items=list(items)))
        assert write is not None
        return write.repeatable

    assert again({"content": "x", "document_id": "d"})
    assert not again({"content": "x"})
    assert not again({"content": "x", "document_id": "d", "update_mode": "append"})
    assert not again({"content": "x", "document_id": "d"}, {"content": "y"})


def test_items_of_one_document_are_joined() -> None:
    rows = joined(
        items_of(
            body(
                items=[
                    {"content": "one", "document_id": "d", "tags": ["b"]},
                    {"content": "two", "document_id": "d", "tags": ["a"]},
                    {"content": "alone"},
                ],
                document_tags=["t"],
            )
        )
    )
    assert {i: (row.text, row.tags) for i, row in rows.items()} == {"d": ("one\ntwo", ("a", "b", "t"))}


def test_items_without_any_id_share_a_document() -> None:
    rows = joined(items_of(body(items=[{"content": "one"}, {"content": "two"}])))
    assert {i: row.text for i, row in rows.items()} == {None: "one\ntwo"}


def test_mcp_calls() -> None:
    call = body(
        jsonrpc="2.0",
        id=1,
        method="tools/call",
        params={"name": "retain", "arguments": {"content": "x", "tags": '["a"]', "document_id": "d"}},
    )
    assert carries("POST", b"/mcp/demo")
    write = recognise("POST", b"/mcp/demo/", b"", "application/json", call)
    assert write is not None and (write.bank, write.kind, write.documents) == ("demo", "retain", ("d",))
    (item,) = items_of(call)
    assert (item.tags, item.context) == (("a",), "general")
    assert recognise("POST", b"/mcp", b"", "application/json", call, bank_header="h") is not None
    assert recognise("POST", b"/mcp/", b"", "application/json", body(method="tools/list")) is None


def test_answers() -> None:
    assert answer_of(
        "application/json", body(bank_id="real", operation_id="o", operation_ids=["p", "o"])
    ) == (answer_of("application/json", body(bank_id="real", operation_ids=["p", "o"])))
    stream = b'event: message\r\ndata: {"jsonrpc":"2.0","result":{"isError":true,"content":[]}}\r\n\r\n'
    assert answer_of("text/event-stream", stream).refused
    assert answer_of("text/html", b"<html>").operations == ()


def test_headers_of_one_connection_stay_there() -> None:
    rows = [
        (b"Connection", b"close, X-Private"),
        (b"X-Private", b"1"),
        (b"Authorization", b"Bearer t"),
        (b"TE", b"x"),
    ]
    assert forwarded(rows) == [(b"authorization", b"Bearer t")]


def test_location_leads_back_through_the_seam() -> None:
    up = Upstream("http://127.0.0.1:8888/base/")
    own = b"http://127.0.0.1:8899/src/omo"
    assert up.located(b"http://127.0.0.1:8888/base/v1/x?y", own) == own + b"/v1/x?y"
    assert up.located(b"/base/v1/x", own) == own + b"/v1/x"
    assert up.located(b"https://elsewhere.example/x", own) == b"https://elsewhere.example/x"
    assert up.located(b"http://127.0.0.1:88889/base", own) == b"http://127.0.0.1:88889/base"

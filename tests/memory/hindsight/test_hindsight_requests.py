"""What goes out: to the right place, under the right path, with the token nowhere else."""

from __future__ import annotations

import json
import logging
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.memory.errors import InvalidInput, NotFound, StoreError, Unsupported
from console.memory.hindsight import HindsightStore
from console.memory.hindsight.urls import check_outgoing, document_path, parse_address, segment, target
from console.memory.models import RetainItem
from tests.memory.hindsight.fake import URL, answer, store

TOKEN = "hs-very-secret-token"


@pytest.mark.parametrize(
    ("document_id", "sent"),
    [
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("a/../b", "a%2F%2E%2E%2Fb"),
        ("../../other", "%2E%2E%2F%2E%2E%2Fother"),
        ("%41", "%2541"),
        ("%2E%2E", "%252E%252E"),
        ("a?b#c", "a%3Fb%23c"),
        ("é🙂", "%C3%A9%F0%9F%99%82"),
        ("a b+c", "a%20b%2Bc"),
        ("x\\y", "x%5Cy"),
        ("x:y@z;w=1&v", "x%3Ay%40z%3Bw%3D1%26v"),
    ],
)
async def test_an_id_is_one_encoded_segment(document_id: str, sent: str) -> None:
    opened, seen = store(answer({"id": document_id}))
    await opened.get_document("b.c", document_id)
    assert seen.lines == [f"GET /v1/default/banks/b%2Ec/documents/{sent}"]


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1))
def test_any_text_is_one_segment_that_no_client_tidies(text: str) -> None:
    encoded = segment(text)
    assert unquote(encoded) == text
    assert not set(encoded) & set("./\\?# ")
    wanted = target(document_path("b", text))
    request = httpx.Request("DELETE", URL + wanted)
    check_outgoing(request, parse_address(URL), wanted)
    assert request.url.raw_path.count(b"/") == 6


@pytest.mark.parametrize(
    "actual",
    [
        f"{URL}/v1/default/banks/b",
        f"{URL}/v1/default/banks/b/documents/x/",
        f"{URL}/v1/default/banks/b/documents/x?all=true",
        "http://else.test:8888/v1/default/banks/b/documents/x",
        "https://memory.test:8888/v1/default/banks/b/documents/x",
        "http://memory.test/v1/default/banks/b/documents/x",
    ],
)
def test_a_request_that_would_go_elsewhere_is_stopped(actual: str) -> None:
    with pytest.raises(InvalidInput, match="not sent"):
        check_outgoing(httpx.Request("DELETE", actual), parse_address(URL), "/v1/default/banks/b/documents/x")


@pytest.mark.parametrize("document_id", ["x\n", "a\nb", "\n", "", "a\x00", "a\ud800"])
async def test_an_id_that_would_reach_another_document_is_never_sent(document_id: str) -> None:
    opened, seen = store(answer({"id": "x"}))
    for act in (
        lambda: opened.delete_document("b", document_id),
        lambda: opened.set_document_tags("b", document_id, ["t"]),
    ):
        with pytest.raises((NotFound, Unsupported)):
            await act()
    with pytest.raises(InvalidInput):
        await opened.retain("b", [RetainItem(document_id=document_id, content="The gate opens.")])
    assert seen.requests == []


@pytest.mark.parametrize("document_id", ["..", "a/../b", "a//b", "/x", "x/", "./x", "a\\b"])
async def test_before_a_delete_a_tidying_proxy_is_found_out(document_id: str) -> None:
    """A proxy that decodes and tidies the path answers a read about something else: then nothing is deleted."""
    opened, seen = store(answer({"id": "x", "bank_id": "b"}))
    with pytest.raises(StoreError):
        await opened.delete_document("b", document_id)
    assert [request.method for request in seen.requests] == ["GET"]


@pytest.mark.parametrize("bank_id", ["", ".", "..", "a/b", "_x", "a\nb", "x" * 193])
async def test_an_impossible_bank_id_is_never_sent(bank_id: str) -> None:
    opened, seen = store(answer({}))
    for act in (
        lambda: opened.delete_bank(bank_id),
        lambda: opened.get_document(bank_id, "d"),
        lambda: opened.list_memories(bank_id),
    ):
        with pytest.raises(NotFound):
            await act()
    with pytest.raises(InvalidInput):
        await opened.create_bank(bank_id)
    assert seen.requests == []


async def test_a_missing_bank_is_not_deleted() -> None:
    opened, seen = store(answer({"banks": [{"bank_id": "bb"}, {"bank_id": "B"}]}))
    with pytest.raises(NotFound):
        await opened.delete_bank("b")
    assert [request.method for request in seen.requests] == ["GET"]


async def test_an_existing_bank_is_not_written() -> None:
    opened, seen = store(answer({"banks": [{"bank_id": "b", "name": "First"}]}))
    assert (await opened.create_bank("b", name="Second")).name == "First"
    assert [request.method for request in seen.requests] == ["GET"]


async def test_a_proxys_prefix_stands_before_every_path() -> None:
    opened, seen = store(answer({"id": "d"}), url=f"{URL}/memory/")
    await opened.get_document("b", "d")
    assert seen.lines == ["GET /memory/v1/default/banks/b/documents/d"]
    assert opened.url == f"{URL}/memory"


@pytest.mark.parametrize(
    "url",
    ["", "memory.test", "ftp://memory.test", "http://", "http://u:pw-secret@memory.test", f"{URL}/?x=1", f"{URL}/#x",
     "http://[::1", "http://memory.test:99999999", f"{URL}/a/../b/%2E%2E", "sqlite:x"],
)  # fmt: skip
def test_a_url_that_cannot_be_used_is_refused_without_repeating_secrets(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        HindsightStore(url)
    assert "pw-secret" not in str(refused.value)


@pytest.mark.parametrize("token", ["a\nb", "tök", "a\x00b"])
def test_a_token_that_no_header_carries_is_refused_unseen(token: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        HindsightStore(URL, token=token)
    assert token not in str(refused.value)


async def test_the_token_goes_with_each_request_and_shows_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[tuple[str, str, int | None, float]] = []
    echo = answer({"detail": f"bad key {TOKEN}"}, 401)
    opened, seen = store(answer({"id": "d"}), echo, token=TOKEN, log=lambda *entry: heard.append(entry))
    await opened.get_document("b", "d")
    with pytest.raises(StoreError) as refused:
        await opened.get_document("b", "d")
    assert [request.headers["authorization"] for request in seen.requests] == [f"Bearer {TOKEN}"] * 2
    shown = (
        str(refused.value),
        repr(refused.value),
        repr(opened),
        repr(vars(opened._http)),
        str(heard),
        caplog.text,
    )
    for text in shown:
        assert TOKEN not in text


async def test_a_redirect_gets_no_second_request_and_no_token() -> None:
    for status in (301, 302, 303, 307, 308):
        opened, seen = store(answer(b"", status, location="http://else.test/steal"), token=TOKEN)
        with pytest.raises(StoreError):
            await opened.delete_document("b", "d")
        with pytest.raises(StoreError):
            await opened.get_document("b", "d")
        assert {request.url.host for request in seen.requests} == {"memory.test"}


async def test_an_archive_elsewhere_is_not_fetched() -> None:
    operation = "00000000-0000-4000-8000-000000000000"
    for url in (
        "http://else.test/x.zip",
        "//else.test/x",
        "/v1/default/banks/b",
        "/v1/default/files/download/../../banks",
    ):
        done = {"operation_id": operation, "status": "completed", "result_metadata": {"download_url": url}}
        opened, seen = store(answer(done), token=TOKEN)
        with pytest.raises(StoreError):
            await opened.get_document("b", "x/chunks")
        assert {request.url.host for request in seen.requests} == {"memory.test"}
        assert f"GET {url}" not in seen.lines


async def test_the_log_hears_method_path_status_and_time() -> None:
    heard: list[tuple[str, str, int | None, float]] = []
    opened, _ = store(httpx.ReadError(""), answer({"id": "d"}), log=lambda *entry: heard.append(entry))
    await opened.get_document("b", "d")
    assert [entry[:3] for entry in heard] == [
        ("GET", "/v1/default/banks/b/documents/d", None),
        ("GET", "/v1/default/banks/b/documents/d", 200),
    ]
    assert all(entry[3] >= 0 for entry in heard)


async def test_a_whole_bank_export_asks_for_documents_only() -> None:
    """``transfer/export`` of a whole bank would carry its webhooks' secrets."""
    opened, seen = store(answer({"detail": "refused"}, 403))
    with pytest.raises(StoreError):
        _ = [entry async for entry in opened.export_documents("b")]
    assert seen.lines[0] == "POST /v1/default/banks/b/document-transfer/export"
    assert not any(line.startswith("POST") and "/transfer/export" in line for line in seen.lines)


async def test_retain_sends_only_what_is_set() -> None:
    opened, seen = store(answer({"success": True}))
    await opened.retain("b", [RetainItem(document_id="d", content="The gate opens.", tags=("b", "a", "b"))])
    assert json.loads(seen.requests[0].content) == {
        "items": [{"content": "The gate opens.", "document_id": "d", "tags": ["a", "b"]}],
        "async": False,
    }

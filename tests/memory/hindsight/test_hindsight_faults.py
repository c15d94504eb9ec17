"""Whatever a server or a network does becomes one clear line of the right kind, and no write is repeated."""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable

import httpx
import pytest

from console.memory.errors import (
    AuthFailed,
    BadAnswer,
    Conflict,
    InvalidInput,
    NotFound,
    ServerFailed,
    StoreError,
    Unavailable,
    Unsupported,
)
from console.memory.hindsight import Retries
from console.memory.models import Curation, DocumentQuery, RecallRequest, ReflectRequest, RetainItem
from tests.memory.hindsight.fake import answer, store

MEMORY = "00000000-0000-4000-8000-000000000000"
ITEM = RetainItem(document_id="d", content="The gate opens at nine.")
BUSY = answer(
    {"detail": "Server is at capacity for 'recall' (16 concurrent); try again shortly."}, 503, retry_after="2"
)


@pytest.mark.parametrize(
    ("got", "kind", "says"),
    [
        (answer({"detail": "Authentication failed: Invalid API key"}, 401), AuthFailed, "HINDSIGHT_API_TOKEN"),
        (answer({"detail": "not for you"}, 403), AuthFailed, "not for you"),
        (answer({"detail": "Bank 'b' not found"}, 404), NotFound, "Bank 'b' not found"),
        (answer({"detail": "Document not found"}, 404), NotFound, "document 'd' in bank 'b' not found"),
        (answer({"detail": "Document not found"}, 404), NotFound, "check the id and the bank"),
        (answer({"detail": "Not Found"}, 404), BadAnswer, "check the server's URL"),
        (answer(b"<html>nginx</html>", 404, content_type="text/html"), BadAnswer, "check the server's URL"),
        (answer({"detail": "Document export API is disabled."}, 404), Unsupported, "disabled"),
        (answer({"detail": "operation_id belongs to another bank"}, 409), Conflict, "another bank"),
        (answer({"detail": "This route is gone; use config"}, 410), Unsupported, "use config"),
        (answer({"detail": "Invalid start_date"}, 400), InvalidInput, "Invalid start_date"),
        (
            answer({"detail": [{"loc": ["body", "items", 0, "content"], "msg": "is empty", "input": "SECRET"}]}, 422),
            InvalidInput,
            "items.0.content: is empty",
        ),
        (answer({"detail": {"violations": ["pii"]}}, 422), InvalidInput, "pii"),
        (answer({"detail": "unknown type"}, 422), InvalidInput, "unknown type"),
        (answer({"detail": "duplicate key value"}, 500), ServerFailed, "duplicate key value"),
        (answer(b"oops", 500), ServerFailed, "500"),
        (answer({"detail": "too slow"}, 504), Unavailable, "too slow"),
        (answer(b"Bad Gateway", 502), Unavailable, "502"),
        (BUSY, Unavailable, "try again in 2 s"),
        (answer({"detail": "slow down"}, 429), Unavailable, "slow down"),
        (answer(b"", 301, location="https://user:pw@else.test/x?token=1"), BadAnswer, "else.test/x"),
        (answer(b"<!DOCTYPE html><p>Welcome", content_type="text/html"), BadAnswer, "web page"),
        (answer(b"  <html>no type", content_type="application/json"), BadAnswer, "web page"),
        (answer(b'{"id": "d", "original_te'), BadAnswer, "cut"),
        (answer(b""), BadAnswer, "cut"),
        (answer(b"\xff\xfe{}"), BadAnswer, "JSON"),
        (answer(b"[" * 200_000), BadAnswer, "another shape"),
        (answer(b'{"id": "d", "x": ' + b"[" * 200_000), BadAnswer, "nested"),
        (answer([1, 2]), BadAnswer, "another shape"),
        (answer({"id": 7}), BadAnswer, "another shape"),
        (answer({"document_id": "x", "items": []}), BadAnswer, "another shape"),
        (answer({"id": "e"}), BadAnswer, "asked about 'd', the server answered about 'e'"),
        (answer({"id": "d", "bank_id": "real"}), NotFound, "alias"),
        (httpx.ConnectError("[Errno 111] Connection refused"), Unavailable, "Connection refused"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), Unavailable, "Name or service not known"),
        (httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number"), Unavailable, "no secure connection"),
        (ssl.SSLCertVerificationError("certificate verify failed"), Unavailable, "no secure connection"),
        (httpx.ConnectTimeout(""), Unavailable, "no answer in time"),
        (httpx.ReadTimeout(""), Unavailable, "did not answer in time"),
        (httpx.ReadError(""), Unavailable, "connection broke"),
        (httpx.RemoteProtocolError("peer closed connection"), Unavailable, "peer closed connection"),
        (httpx.DecodingError("bad gzip"), BadAnswer, "decompressed"),
    ],
    ids=lambda value: re.sub(r"\W+", "-", str(getattr(value, "content", value))[:40]),
)  # fmt: skip
async def test_each_fault_is_one_clear_line(
    got: httpx.Response | Exception, kind: type[StoreError], says: str
) -> None:
    opened, _ = store(got)
    with pytest.raises(StoreError) as failure:
        await opened.get_document("b", "d")
    line = str(failure.value)
    assert type(failure.value) is kind, line
    assert says in line
    assert line.isprintable() and len(line) < 600
    assert "memory.test" in line or kind is NotFound
    for secret in ("SECRET", "pw@", "token=1", "Traceback"):
        assert secret not in line


@pytest.mark.parametrize("body", [b'{"success": tr', b"<html>hello", b"", b"[1]"], ids=str)
async def test_an_unreadable_answer_to_a_write_says_that_it_may_have_happened(body: bytes) -> None:
    opened, _ = store(answer(body))
    with pytest.raises(BadAnswer, match="look before repeating it"):
        await opened.retain("b", [RetainItem(content="A text.", document_id="d")])


@pytest.mark.parametrize(
    "got",
    [
        BUSY,
        answer(b"", 502),
        httpx.ReadError(""),
        httpx.RemoteProtocolError(""),
        httpx.ConnectError("refused"),
    ],
    ids=str,
)
async def test_a_read_is_tried_again_until_it_works(got: httpx.Response | Exception) -> None:
    opened, seen = store(got, got, answer({"id": "d"}))
    waits: list[float] = []
    opened._http._sleep = waits_into(waits)
    assert (await opened.get_document("b", "d")).id == "d"
    assert len(seen.requests) == 3
    assert len(waits) == 2
    if got is BUSY:
        assert min(waits) >= 2.0, "Retry-After is the least wait"


def waits_into(waits: list[float]) -> Callable[[float], Awaitable[None]]:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return sleep


async def test_a_read_is_given_up_in_the_end() -> None:
    opened, seen = store(httpx.ReadError(""))
    with pytest.raises(Unavailable):
        await opened.get_document("b", "d")
    assert len(seen.requests) == 4


async def test_a_long_retry_after_is_told_not_waited_for() -> None:
    opened, seen = store(answer({"detail": "busy"}, 503, retry_after="3600"))
    with pytest.raises(Unavailable, match="3600 s") as failure:
        await opened.get_document("b", "d")
    assert failure.value.retry_after == 3600.0
    assert len(seen.requests) == 1


@pytest.mark.parametrize("wait", range(4))
def test_waits_grow_within_full_jitter(wait: int) -> None:
    longest = Retries(attempts=9, base=1.0, cap=5.0, random=lambda: 1.0)
    assert longest.wait(wait, None) == min(5.0, 2.0**wait)
    assert Retries(attempts=9, random=lambda: 0.0).wait(wait, 1.5) == 1.5


WRITES = {
    "retain": lambda opened: opened.retain("b", [ITEM]),
    "delete document": lambda opened: opened.delete_document("b", "d"),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    "got",
    [
        BUSY,
        answer({"detail": "boom"}, 500),
        answer(b"", 502),
        answer(b"", 504),
        httpx.ReadTimeout(""),
        httpx.ReadError(""),
        httpx.RemoteProtocolError("closed"),
        answer(b'{"succ'),
    ],
    ids=str,
)
async def test_a_write_that_may_have_happened_is_never_repeated(
    write: str, got: httpx.Response | Exception
) -> None:
    opened, seen = store(got)
    with pytest.raises(StoreError):
        await WRITES[write](opened)
    assert len(seen.requests) == 1


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_never_left_is_repeated(write: str) -> None:
    good = answer({"success": True, "document_id": "d", "memory_units_deleted": 1})
    opened, seen = store(httpx.ConnectError("refused"), good)
    await WRITES[write](opened)
    assert len(seen.requests) == 2


@pytest.mark.parametrize("status", [500, 504])
async def test_after_a_failed_write_the_user_is_told_to_look(status: int) -> None:
    opened, _ = store(answer({"detail": "boom"}, status))
    with pytest.raises(StoreError, match="look"):
        await opened.retain("b", [ITEM])


async def test_a_background_retain_carries_an_id_so_it_may_be_repeated() -> None:
    opened, seen = store(httpx.ReadError(""), answer({"operation_id": MEMORY}))
    await opened.retain("b", [ITEM], background=True)
    bodies = {request.content for request in seen.requests}
    assert len(seen.requests) == 2 and len(bodies) == 1
    assert b'"operation_id"' in bodies.pop()


async def test_a_later_batch_that_fails_says_how_many_were_stored() -> None:
    opened, _ = store(answer({"success": True}), answer({"detail": "boom"}, 500))
    items = [RetainItem(document_id=f"d{number}", content="The gate opens at nine.") for number in range(40)]
    with pytest.raises(ServerFailed, match="32 of 40 were stored before"):
        await opened.retain("b", items)


async def test_reflect_without_a_model_is_not_supported() -> None:
    opened, _ = store(
        answer({"detail": "Reflect requires an LLM provider (HINDSIGHT_API_LLM_PROVIDER is none)"}, 400)
    )
    with pytest.raises(Unsupported, match="without a model"):
        await opened.reflect("b", ReflectRequest(query="gate"))


@pytest.mark.parametrize("ignored", ["start_date", "time_field, start_date"])
async def test_a_filter_that_the_server_ignored_is_not_believed(ignored: str) -> None:
    opened, _ = store(answer({"items": [], "total": 0}, x_ignored_params=ignored))
    with pytest.raises(Unsupported, match="start_date"):
        await opened.list_documents("b", DocumentQuery(time_field="created_at", start_date="2026-01-01"))


async def test_an_ignored_name_that_was_not_sent_is_no_fault() -> None:
    opened, _ = store(answer({"items": [], "total": 0}, x_ignored_params="proxy_added"))
    assert (await opened.list_documents("b")).total == 0


async def test_an_ignored_field_of_a_recall_is_not_believed() -> None:
    opened, _ = store(answer({"results": []}, x_ignored_params="prefer_observations"))
    with pytest.raises(Unsupported, match="prefer_observations"):
        await opened.recall("b", RecallRequest(query="gate", prefer_observations=True))


async def test_an_answer_over_the_limit_is_not_taken_in() -> None:
    big = answer({"id": "d", "original_text": "x" * 100_000})
    opened, _ = store(big, max_bytes=50_000)
    with pytest.raises(BadAnswer, match="larger than"):
        await opened.get_document("b", "d")


async def test_a_missing_operation_is_missing_although_the_server_says_200() -> None:
    opened, _ = store(answer({"operation_id": MEMORY, "status": "not_found"}))
    with pytest.raises(NotFound):
        await opened.get_operation("b", MEMORY)


async def test_an_operation_that_does_not_end_is_given_up() -> None:
    opened, _ = store(answer({"operation_id": MEMORY, "status": "pending"}))
    with pytest.raises(Unavailable, match="still pending"):
        await opened.wait_operation("b", MEMORY, timeout=0.2)


async def test_a_memory_answered_for_another_is_refused() -> None:
    opened, _ = store(answer({"id": "11111111-0000-4000-8000-000000000000"}))
    with pytest.raises(BadAnswer, match="asked about"):
        await opened.curate_memory("b", MEMORY, Curation(state="invalidated"))


async def test_a_closed_store_says_so() -> None:
    opened, seen = store(answer({"id": "d"}))
    await opened.aclose()
    with pytest.raises(Unavailable, match="closed"):
        await opened.get_document("b", "d")
    assert seen.requests == []


async def test_newer_and_older_answers_are_readable() -> None:
    """Unknown fields, unknown values and missing ones: only an id is needed."""
    opened, _ = store(
        answer(
            {"items": [{"id": "m", "fact_type": "rumour", "new_field": {"a": 1}}, {"id": "n", "tags": None}]}
        )
    )
    found = (await opened.list_memories("b")).items
    assert [(memory.id, memory.fact_type, memory.tags) for memory in found] == [
        ("m", "rumour", ()),
        ("n", "world", ()),
    ]

"""The bulk path: an archive that is damaged, foreign, hostile or refused never becomes a document."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import httpx
import pytest

from console.memory.errors import BadAnswer, NotFound
from console.memory.hindsight import Timeouts
from console.memory.hindsight.archive import unpack
from tests.memory.hindsight.fake import answer, store

OPERATION = "00000000-0000-4000-8000-000000000000"
FACT = {
    "text": "The gate opens at nine.",
    "source_id": "m1",
    "fact_type": "world",
    "chunk_index": 0,
    "entities": ["B", "A"],
}
DOCUMENT = {"id": "d", "original_text": "The gate opens at nine.", "tags": ["b", "a"], "facts": [FACT]}


def packed(*documents: Any, bank: str = "b", **others: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, document in enumerate(documents):
            archive.writestr(f"documents/{number:06}.json", json.dumps(document))
        archive.writestr("manifest.json", json.dumps({"schema_version": 1, "source_bank_id": bank}))
        for name, content in others.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def exporting(archive: bytes, single: Any = None) -> Any:
    """A server whose export works, and whose single reads answer ``single``."""

    def handle(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "POST":
            return answer({"operation_id": OPERATION, "status": "pending"}, 202)
        if "/operations/" in path:
            url = "/v1/default/files/download/banks/b/exports/x.zip"
            done = {
                "operation_id": OPERATION,
                "status": "completed",
                "result_metadata": {"download_url": url},
            }
            return answer(done)
        if "/files/download/" in path:
            return answer(archive, content_type="application/zip")
        if path.endswith("/memories/list"):
            return answer({"items": [{"id": "m1", "text": "Read alone.", "document_id": "d"}], "total": 1})
        if path.endswith("/documents"):
            return answer({"items": [{"id": "d"}, {"id": "gone"}], "total": 2})
        if path.endswith("/documents/d"):
            return answer(single or {"id": "d", "original_text": "Read alone."})
        return answer({"detail": "Document not found"}, 404)

    return handle


def test_an_archived_document_is_a_document() -> None:
    (entry,) = unpack("b", packed(DOCUMENT), "here")
    model = entry.model()
    assert (model.document.id, model.document.tags, model.document.memory_unit_count) == ("d", ("a", "b"), 1)
    assert model.document.content_hash == hashlib.sha256(b"The gate opens at nine.").hexdigest()
    assert [(fact.id, fact.chunk_id, fact.entities) for fact in model.facts] == [("m1", "b_d_0", ("A", "B"))]


@pytest.mark.parametrize(
    ("case", "content"),
    [
        ("no zip", b"<html>"),
        ("empty", b""),
        ("cut", packed(DOCUMENT)[:-40]),
        ("other bank", packed(DOCUMENT, bank="other")),
        ("no manifest", packed(DOCUMENT).replace(b"manifest.json", b"manifesto.xml")),
        ("nested", packed(**{"documents/9.json": b"[" * 200_000})),
        ("no id", packed({"original_text": "x"})),
        ("no object", packed([1])),
        (
            "damaged",
            bytes(byte ^ (0x55 if 60 < place < 90 else 0) for place, byte in enumerate(packed(DOCUMENT))),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # an archive's bytes hold the time of day
)
def test_a_bad_archive_is_refused(case: str, content: bytes) -> None:
    with pytest.raises(BadAnswer):
        list(unpack("b", content, "here"))


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.memory.hindsight.archive._MAX_ENTRY", 1024 * 1024)
    with pytest.raises(BadAnswer, match="too large"):
        list(unpack("b", packed(**{"documents/9.json": b" " * (2 * 1024 * 1024)}), "here"))


async def test_the_export_is_the_way_where_it_works() -> None:
    opened, seen = store(exporting(packed(DOCUMENT)))
    entries = [entry async for entry in opened.export_documents("b")]
    assert [entry.document.original_text for entry in entries] == ["The gate opens at nine."]
    assert not any("/documents/d" in line for line in seen.lines)


@pytest.mark.parametrize(
    "broken",
    [
        answer({"detail": "Document export API is disabled."}, 404),
        answer({"detail": "tag-scoped keys may not export"}, 403),
        answer({"detail": "busy"}, 503),
        answer({"detail": "boom"}, 500),
        answer(b"<html>"),
        httpx.ReadTimeout(""),
    ],
    ids=str,
)
async def test_single_reads_take_over_where_the_export_does_not(broken: httpx.Response | Exception) -> None:
    works = exporting(b"")

    def handle(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            if isinstance(broken, Exception):
                raise broken
            return httpx.Response(broken.status_code, headers=broken.headers, content=broken.content)
        return works(request)  # type: ignore[no-any-return]

    opened, _ = store(handle)
    entries = [entry async for entry in opened.export_documents("b")]
    assert [(entry.document.id, entry.document.original_text) for entry in entries] == [("d", "Read alone.")]
    assert [fact.text for fact in entries[0].facts] == ["Read alone."]


async def test_an_export_that_waits_too_long_is_cancelled_and_read_one_by_one() -> None:
    works = exporting(b"")

    def handle(request: httpx.Request) -> httpx.Response:
        if "/operations/" in request.url.path:
            return answer({"operation_id": OPERATION, "status": "pending"})
        return works(request)  # type: ignore[no-any-return]

    opened, seen = store(handle, timeouts=Timeouts(queue=0.1))
    entries = [entry async for entry in opened.export_documents("b")]
    assert [entry.document.original_text for entry in entries] == ["Read alone."]
    assert [line for line in seen.lines if line.startswith("DELETE")] == [
        f"DELETE /v1/default/banks/b/operations/{OPERATION}"
    ]


async def test_a_broken_archive_is_read_one_by_one() -> None:
    opened, _ = store(exporting(b"no zip"))
    entries = [entry async for entry in opened.export_documents("b", ["d", "gone"])]
    assert [entry.document.original_text for entry in entries] == ["Read alone."]


async def test_an_id_that_is_a_route_is_read_through_the_archive() -> None:
    opened, seen = store(exporting(packed(DOCUMENT | {"id": "x/history"})))
    assert (await opened.get_document("b", "x/history")).original_text == "The gate opens at nine."
    assert "include_bank_config=false" in seen.lines[0] and "document_id=x%2Fhistory" in seen.lines[0]
    with pytest.raises(NotFound):
        await opened.get_document("b", "y/history")

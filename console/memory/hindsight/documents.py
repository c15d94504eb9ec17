"""Documents by their own id and no other: every answer is checked against what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from console.memory.errors import NotFound, ServerFailed, Unsupported
from console.memory.hindsight import archive
from console.memory.hindsight.http import Http, Repeat
from console.memory.hindsight.ids import (
    check_bank,
    check_document,
    check_writable,
    readable_by_path,
    rewritable,
    shown,
)
from console.memory.hindsight.paging import check_window, gather_window, wants_tags
from console.memory.hindsight.urls import bank_path, document_path
from console.memory.hindsight.wire import (
    Anything,
    ChunkPage,
    Deleted,
    DocumentPage,
    WireDocument,
    same_bank,
    same_id,
)
from console.memory.models import Chunk, Document, DocumentQuery, DocumentSummary, Page

_MOST_CHUNKS = 1000  # the server's maximum


def _missing(bank_id: str, document_id: str) -> str:
    return f"document {shown(document_id)} in bank {shown(bank_id)}"


async def list_documents(http: Http, bank_id: str, query: DocumentQuery) -> Page[DocumentSummary]:
    check_bank(bank_id)
    check_window(query.limit, query.offset)
    sent = [("limit", str(query.limit)), ("offset", str(query.offset))]
    sent += [
        (name, value)
        for name in ("q", "time_field", "start_date", "end_date")
        if (value := getattr(query, name))
    ]
    if wants_tags(query.tags, query.tags_match):
        sent += [("tags", tag) for tag in query.tags] + [("tags_match", query.tags_match)]
    answer = await http.call(
        "GET", bank_path(bank_id, "documents"), query=sent, missing=f"bank {shown(bank_id)}"
    )
    page = answer.decode(DocumentPage)
    for document in page.items:
        same_bank(bank_id, document.bank_id)
    return Page(
        items=tuple(document.summary() for document in page.items),
        total=page.total or 0,
        limit=query.limit,
        offset=query.offset,
        total_is_estimate=bool(page.total_is_estimate),
    )


async def get_document(http: Http, bank_id: str, document_id: str) -> Document:
    check_document(document_id, check_bank(bank_id))
    if not readable_by_path(document_id):
        return (await _archived(http, bank_id, document_id)).document()
    answer = await http.call(
        "GET", document_path(bank_id, document_id), missing=_missing(bank_id, document_id)
    )
    document = answer.decode(WireDocument)
    same_id(document_id, document.id, answer.where)
    same_bank(bank_id, document.bank_id)
    return document.model()


async def _archived(http: Http, bank_id: str, document_id: str) -> archive.Archived:
    """A document whose path the server takes for something else, read through the export."""
    try:
        found = [entry async for entry in archive.read(http, bank_id, [document_id])]
    except (Unsupported, ServerFailed) as error:
        raise Unsupported(
            f"{_missing(bank_id, document_id)} cannot be read",
            where=error.where,
            hint="the server takes its id for another route, and its document export does not work here",
        ) from None
    if not found:
        raise NotFound(f"{_missing(bank_id, document_id)} not found", where=str(http.address))
    return found[0]


async def list_chunks(http: Http, bank_id: str, document_id: str, limit: int, offset: int) -> Page[Chunk]:
    check_document(document_id, check_bank(bank_id))
    check_window(limit, offset)
    if "\n" in document_id:
        chunks = (await _archived(http, bank_id, document_id)).chunks()
        return Page(items=chunks[offset : offset + limit], total=len(chunks), limit=limit, offset=offset)

    async def fetch(size: int, start: int) -> tuple[list[Chunk], int]:
        answer = await http.call(
            "GET",
            document_path(bank_id, document_id, "chunks"),
            query=[("limit", str(size)), ("offset", str(start))],
            missing=_missing(bank_id, document_id),
        )
        page = answer.decode(ChunkPage)
        for chunk in page.items:
            same_id(document_id, chunk.document_id, answer.where)
            same_bank(bank_id, chunk.bank_id)
        return [chunk.model() for chunk in page.items], page.total or 0

    rows, total = await gather_window(fetch, limit, offset, _MOST_CHUNKS)
    return Page(items=tuple(rows), total=total, limit=limit, offset=offset)


async def set_document_tags(http: Http, bank_id: str, document_id: str, tags: Sequence[str]) -> None:
    await _look_first(http, bank_id, document_id)
    answer = await http.call(
        "PATCH",
        document_path(bank_id, document_id),
        body={"tags": sorted(set(tags))},  # the server would keep duplicates
        repeat=Repeat.REFUSED,
        missing=_missing(bank_id, document_id),
    )
    answer.decode(Anything)


async def delete_document(http: Http, bank_id: str, document_id: str) -> int:
    await _look_first(http, bank_id, document_id)
    answer = await http.call(
        "DELETE",
        document_path(bank_id, document_id),
        repeat=Repeat.UNSENT,
        missing=_missing(bank_id, document_id),
    )
    deleted = answer.decode(Deleted)
    same_id(document_id, deleted.document_id, answer.where)
    return deleted.memory_units_deleted or 0


async def _look_first(http: Http, bank_id: str, document_id: str) -> None:
    """Before a change by path: an id such as ``..`` or ``a//b`` must come back as itself from a read.

    The path leaves here encoded, but a proxy in between may decode and tidy it; a read shows that
    without harm.
    """
    check_writable(check_document(document_id, check_bank(bank_id)))
    if rewritable(document_id):
        await get_document(http, bank_id, document_id)

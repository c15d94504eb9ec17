"""Retain: refused up front where the server would store something else, sent in batches, never sent twice."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from console.memory.errors import InvalidInput, StoreError
from console.memory.hindsight.http import Http, Repeat
from console.memory.hindsight.ids import check_new_bank, check_new_document, shown
from console.memory.hindsight.urls import bank_path
from console.memory.hindsight.wire import WireRetain, same_bank
from console.memory.models import RetainItem, RetainResponse

BATCH_ITEMS = 32
BATCH_CHARACTERS = 120_000
"""One synchronous request. A model takes seconds for each 3,000 characters, and the progress moves once a request."""


def check_items(items: Sequence[RetainItem]) -> None:
    """Raises InvalidInput, naming the document."""
    for item in items:
        check_new_document(item.document_id)
        if not item.content.strip():
            raise InvalidInput(
                f"the text of document {shown(item.document_id)} is empty", hint="nothing was stored"
            )
        if item.update_mode not in {"replace", "append"}:
            raise InvalidInput(f"unknown update mode {shown(item.update_mode)}", hint="use replace or append")


def wire_item(item: RetainItem) -> dict[str, Any]:
    """What is left out is cleared on the document, as the protocol says: nothing is sent for it."""
    sent: dict[str, Any] = {"content": _encodable(item.content), "document_id": item.document_id}
    if item.tags:
        sent["tags"] = sorted(set(item.tags))
    if item.entities:
        sent["entities"] = [
            {"text": entity.text} | ({"type": entity.type} if entity.type else {}) for entity in item.entities
        ]
    if item.metadata:
        sent["metadata"] = dict(item.metadata)
    if item.update_mode != "replace":
        sent["update_mode"] = item.update_mode
    for name in ("timestamp", "context", "strategy", "observation_scopes"):
        if (value := getattr(item, name)) is not None:
            sent[name] = value
    return sent


def _encodable(text: str) -> str:
    """Without lone surrogates: JSON in UTF-8 cannot carry them, and the server drops them too (measured)."""
    return text.encode("utf-8", "ignore").decode("utf-8")


def batches(items: Sequence[RetainItem]) -> Iterator[list[RetainItem]]:
    """In order of first appearance. All items of one document share a request: the server joins their texts,
    and in two requests the second would replace the first."""
    grouped: dict[str, list[RetainItem]] = {}
    for item in items:
        grouped.setdefault(item.document_id, []).append(item)
    batch: list[RetainItem] = []
    size = 0
    for same in grouped.values():
        length = sum(len(item.content) for item in same)
        if batch and (len(batch) + len(same) > BATCH_ITEMS or size + length > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch += same
        size += length
    if batch:
        yield batch


async def retain_now(
    http: Http, bank_id: str, items: Sequence[RetainItem], progress: Callable[[int], None] | None
) -> RetainResponse:
    check_new_bank(bank_id)
    check_items(items)
    done = 0
    usage: dict[str, int] = {}
    for batch in batches(items):
        try:
            answered = await _post(
                http, bank_id, {"items": [wire_item(item) for item in batch], "async": False}
            )
        except StoreError as error:
            if done:
                error.hint = f"{error.hint}; {done} of {len(items)} were stored before".removeprefix("; ")
            raise
        for name, count in (answered.usage or {}).items():
            usage[name] = usage.get(name, 0) + (count if isinstance(count, int) else 0)
        done += len(batch)
        if progress is not None:
            progress(done)
    return RetainResponse(
        bank_id=bank_id, items_count=done, document_ids=_document_ids(items), usage=usage or None
    )


async def retain_later(
    http: Http, bank_id: str, items: Sequence[RetainItem], operation_id: str | None
) -> RetainResponse:
    """With an operation id a repeated request is taken for the first one; so there is always one where possible."""
    check_new_bank(bank_id)
    check_items(items)
    ids = _document_ids(items)
    if len(ids) != len(items):
        raise InvalidInput(
            "one document stands twice in one background retain",
            hint="send one after the other, or wait for each",
        )
    if not items:
        return RetainResponse(bank_id=bank_id)
    if operation_id is not None:
        try:
            operation_id = str(uuid.UUID(operation_id))
        except ValueError:
            raise InvalidInput(f"operation id {shown(operation_id)} is no UUID") from None
    elif len({item.strategy for item in items}) == 1:  # the server refuses an id for mixed strategies
        operation_id = str(uuid.uuid4())
    body: dict[str, Any] = {"items": [wire_item(item) for item in items], "async": True}
    if operation_id is not None:
        body["operation_id"] = operation_id
    answered = await _post(http, bank_id, body, Repeat.ALWAYS if operation_id else Repeat.UNSENT)
    return RetainResponse(
        success=answered.success is not False,
        bank_id=bank_id,
        items_count=len(items),
        operation_id=answered.operation_id,
        operation_ids=tuple(answered.operation_ids or ()),
        document_ids=ids,
    )


async def _post(
    http: Http, bank_id: str, body: Mapping[str, Any], repeat: Repeat = Repeat.UNSENT
) -> WireRetain:
    answer = await http.call(
        "POST",
        bank_path(bank_id, "memories"),
        body=dict(body),
        repeat=repeat,
        missing=f"bank {shown(bank_id)}",
        timeout=http.timeouts.retain,
    )
    answered = answer.decode(WireRetain)
    same_bank(bank_id, answered.bank_id)
    return answered


def _document_ids(items: Sequence[RetainItem]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.document_id for item in items))

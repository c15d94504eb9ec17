"""The bank in this process as a backend: Hindsight's API answered from a :class:`MemoryStore`, with no server.

What harnesses and the official clients call is answered in the server's shapes (measured on 1.1); the rest
answers 501 in its error shape. Where the server would only queue, the work is done before the answer: the
operation that it names is completed already.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

import msgspec

from console.memory.errors import (
    AuthFailed,
    Conflict,
    InvalidInput,
    NotFound,
    ReadOnly,
    StoreError,
    Unavailable,
    Unsupported,
)
from console.memory.models import (
    Bank,
    Curation,
    DocumentQuery,
    EntityInput,
    Memory,
    MemoryQuery,
    Page,
    RecallRequest,
    ReflectRequest,
    RetainItem,
)
from console.memory.store import MemoryStore
from console.seam.upstream import Headers

API_VERSION = "1.1.0"
"""The server whose shapes these are."""
_PREFIX = ("v1", "default", "banks")
_KNOWN_OPERATIONS = 10_000
_FEATURES = {
    "observations": False,
    "mcp": False,
    "worker": False,
    "bank_config_api": False,
    "bank_llm_health": False,
    "file_upload_api": False,
    "document_export_api": False,
    "document_import_api": False,
    "audit_log": False,
    "llm_trace": False,
    "store_document_text": True,
}
"""All that the official client insists on."""
_DISPOSITION = {"skepticism": 3, "literalism": 3, "empathy": 3}
"""The server's own default; nothing here is steered by it."""
_STATUS: tuple[tuple[type[StoreError], int], ...] = (
    (InvalidInput, 422),
    (NotFound, 404),
    (Conflict, 409),
    (ReadOnly, 403),
    (Unsupported, 501),
    (AuthFailed, 401),
    (Unavailable, 503),
)


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is there already."""

    status: int
    headers: Headers
    body: bytes

    async def aiter_stream(self) -> AsyncIterator[bytes]:
        yield self.body


class _Refused(Exception):
    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(str(detail))
        self.status, self.detail = status, detail


class Embedded:
    """A backend (see :class:`console.seam.delivery.Backend`) over a store that this process opened."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._operations: dict[str, tuple[str, dict[str, Any]]] = {}
        """Operation id -> (hash of its request, the operation as it is shown); the newest ones."""

    @property
    def url(self) -> str:
        return self._store.url

    def located(self, value: bytes, own: bytes) -> bytes:
        return value

    async def aclose(self) -> None:
        await self._store.aclose()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        target: bytes,
        headers: Headers,
        body: bytes | AsyncIterator[bytes] | None,
        *,
        read: float | None,
    ) -> AsyncIterator[Whole]:
        if body is None or isinstance(body, bytes):
            data = body or b""
        else:
            data = b"".join([part async for part in body])
        path, _, query = target.partition(b"?")
        extra: list[tuple[bytes, bytes]] = []
        try:
            whole = _whole(200, await self._answer(method, path, query, data, extra), extra)
        except _Refused as refused:
            whole = _whole(refused.status, {"detail": refused.detail}, extra)
        except StoreError as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
            if status == 503:
                extra.append((b"retry-after", b"2"))
            whole = _whole(status, {"detail": error.message}, extra)
        yield whole

    async def _answer(
        self, method: str, path: bytes, query: bytes, data: bytes, extra: list[tuple[bytes, bytes]]
    ) -> Any:
        parts = [_text(part) for part in path.rstrip(b"/").split(b"/")[1:]]
        if method in ("GET", "HEAD"):
            if parts == ["health"]:
                return {"status": "healthy", "database": "connected"}
            if parts == ["version"]:
                return {"api_version": API_VERSION, "features": _FEATURES}
        if tuple(parts[:3]) != _PREFIX:
            raise _Refused(501, f"the embedded store does not answer {method} {'/'.join(parts[:2])}")
        asked = _Asked(
            method="GET" if method == "HEAD" else method,
            parts=parts[3:],
            query=parse_qs(query.decode("latin-1"), keep_blank_values=True),
            data=data,
            ignored=lambda names: extra.append((b"x-ignored-params", names.encode())),
        )
        match (asked.method, asked.parts):
            case ("GET", []):
                found = await self._store.list_banks(q=asked.one("q"), **asked.window(100))
                return {
                    "banks": [_profile(bank) for bank in found.items],
                    "total": found.total,
                    **_window(found),
                }
            case (_, [bank]):
                return await self._bank(asked, bank)
            case (_, [bank, "config"]):
                return await self._config(asked, bank)
            case ("GET", [bank, "profile"]):
                return await self._profile(bank)
            case ("GET", [bank, "stats"]):
                return await self._store.bank_stats(bank)
            case (_, [bank, "memories", *rest]):
                return await self._memories(asked, bank, rest)
            case ("POST", [bank, "reflect"]):
                return await self._reflect(asked, bank)
            case (_, [bank, "documents", *rest]):
                return await self._documents(asked, bank, rest)
            case ("GET", [bank, "operations", *rest]):
                return self._operation(bank, rest)
            case ("GET", [_, "mental-models" | "directives" | "entities"]):
                return {"items": [], "total": 0, "limit": 100, "offset": 0}
        raise _Refused(501, f"the embedded store does not answer {method} …/{'/'.join(asked.parts[1:3])}")

    async def _bank(self, asked: _Asked, bank: str) -> Any:
        if asked.method in ("PUT", "PATCH"):
            body = asked.object()
            mission = body.get("mission") or body.get("reflect_mission")
            await self._store.create_bank(
                bank, name=_string(body.get("name")) or None, mission=_string(mission) or None
            )
            return await self._profile(bank)
        if asked.method == "DELETE":
            return {"success": True, "deleted_count": await self._store.delete_bank(bank)}
        raise _Refused(405, "Method Not Allowed")

    async def _profile(self, bank: str) -> dict[str, Any]:
        return _profile(await self._store.get_bank(bank))

    async def _config(self, asked: _Asked, bank: str) -> dict[str, Any]:
        await self._store.create_bank(bank)
        if asked.method == "PATCH":
            # There is no model here that a mission could steer; the server says so in this header too.
            asked.ignored("updates")
        elif asked.method != "GET":
            raise _Refused(405, "Method Not Allowed")
        return {"bank_id": bank, "config": {}, "overrides": {}}

    # Memories ----------------------------------------------------------------------------------------

    async def _memories(self, asked: _Asked, bank: str, rest: Sequence[str]) -> Any:
        match (asked.method, rest):
            case ("POST", []):
                return await self._retain(asked, bank)
            case ("POST", ["recall"]):
                return await self._recall(asked, bank)
            case ("GET", ["list"]):
                wanted = {
                    **asked.window(100),
                    **asked.texts(
                        "q",
                        "type",
                        "state",
                        "document_id",
                        "entity_id",
                        "tags_match",
                        "consolidation_state",
                        "time_field",
                        "start_date",
                        "end_date",
                    ),
                    "tags": asked.many("tags"),
                }
                page = await self._store.list_memories(bank, _convert(wanted, MemoryQuery))
                return {"items": [_listed(m) for m in page.items], "total": page.total, **_window(page)}
            case ("GET", [memory]):
                return _memory(await self._store.get_memory(bank, memory))
            case ("PATCH", [memory]):
                curation = _convert(
                    {k: v for k, v in asked.object().items() if k != "resolve_entities"}, Curation
                )
                return _memory(await self._store.curate_memory(bank, memory, curation))
        raise _Refused(
            501, f"the embedded store does not answer {asked.method} memories/{'/'.join(rest)[:40]}"
        )

    async def _retain(self, asked: _Asked, bank: str) -> dict[str, Any]:
        body = asked.object()
        rows = body.get("items")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise _Refused(422, [_invalid("items", "a list of at least one item is needed")])
        background = body.get("async") is True
        digest = hashlib.sha256(asked.data).hexdigest()
        operation = _string(body.get("operation_id"))
        known = self._operations.get(operation) if operation else None
        if known is None or known[0] != digest:
            items = _items(rows, _strings(body.get("document_tags")))
            stored = await self._store.retain(bank, items)
            ids = list(dict.fromkeys(item.document_id for item in items))
            operation = operation or str(uuid.uuid4())
            if background:
                self._remember(operation, digest, bank, ids, len(rows))
            usage: Any = stored.usage
        else:
            usage = None
        return {
            "success": True,
            "bank_id": bank,
            "items_count": len(rows),
            "async": background,
            "operation_id": operation if background else None,
            "operation_ids": None,
            "usage": usage,
        }

    def _remember(self, operation: str, digest: str, bank: str, ids: list[str], count: int) -> None:
        self._operations[operation] = (
            digest,
            {
                "operation_id": operation,
                "bank_id": bank,
                "operation_type": "retain",
                "status": "completed",
                "items_count": count,
                "document_id": ids[0] if len(ids) == 1 else None,
                "result_metadata": {"items_count": count, "document_ids": ids},
                "error_message": None,
            },
        )
        while len(self._operations) > _KNOWN_OPERATIONS:
            del self._operations[next(iter(self._operations))]

    def _operation(self, bank: str, rest: Sequence[str]) -> dict[str, Any]:
        mine = [row for _, row in self._operations.values() if row["bank_id"] == bank]
        if not rest:
            return {"operations": mine[::-1][:100], "total": len(mine), "limit": 100, "offset": 0}
        found = next((row for row in mine if row["operation_id"] == rest[0]), None)
        return found or {"operation_id": rest[0], "status": "not_found"}

    async def _recall(self, asked: _Asked, bank: str) -> Any:
        body = asked.object()
        include = body.pop("include", None) or {}
        body.pop("bank_id", None)
        request = _convert(
            {k: v for k, v in body.items() if v is not None and k in RecallRequest.__struct_fields__},
            RecallRequest,
        )
        wanted = msgspec.structs.replace(
            request,
            include_chunks=include.get("chunks") is not None,
            include_entities="entities" not in include or include["entities"] is not None,
        )
        answer = msgspec.to_builtins(await self._store.recall(bank, wanted))
        return {"results": answer.pop("results"), **answer}

    async def _reflect(self, asked: _Asked, bank: str) -> Any:
        body = asked.object()
        include = body.pop("include", None) or {}
        request = _convert(
            {k: v for k, v in body.items() if v is not None and k in ReflectRequest.__struct_fields__},
            ReflectRequest,
        )
        wanted = msgspec.structs.replace(request, include_facts=include.get("facts") is not None)
        return await self._store.reflect(bank, wanted)

    # Documents ---------------------------------------------------------------------------------------

    async def _documents(self, asked: _Asked, bank: str, rest: Sequence[str]) -> Any:
        match (asked.method, rest):
            case ("GET", []):
                wanted = {
                    **asked.window(100),
                    **asked.texts("q", "tags_match", "time_field", "start_date", "end_date"),
                    "tags": asked.many("tags"),
                }
                page = await self._store.list_documents(bank, _convert(wanted, DocumentQuery))
                return {"items": page.items, "total": page.total, **_window(page)}
            case ("GET", [document]):
                return await self._store.get_document(bank, document)
            case ("GET", [document, "chunks"]):
                chunks = await self._store.list_chunks(bank, document, **asked.window(100))
                return {"items": chunks.items, "total": chunks.total, **_window(chunks)}
            case ("PATCH", [document]):
                tags = asked.object().get("tags")
                if not isinstance(tags, list):
                    raise _Refused(422, [_invalid("tags", "a list of tags is needed")])
                await self._store.set_document_tags(bank, document, _strings(tags))
                return {"success": True, "document_id": document}
            case ("DELETE", [document]):
                gone = await self._store.delete_document(bank, document)
                return {"success": True, "document_id": document, "memory_units_deleted": gone}
        raise _Refused(
            501, f"the embedded store does not answer {asked.method} documents/…/{'/'.join(rest[1:])[:40]}"
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    parts: list[str]
    query: Mapping[str, list[str]]
    data: bytes
    ignored: Callable[[str], None]

    def one(self, name: str) -> str | None:
        return self.query[name][-1] if self.query.get(name) else None

    def many(self, name: str) -> tuple[str, ...]:
        return tuple(self.query.get(name, ()))

    def texts(self, *names: str) -> dict[str, str]:
        return {name: value for name in names if (value := self.one(name))}

    def window(self, limit: int) -> dict[str, int]:
        found = {"limit": limit, "offset": 0}
        for name in found:
            given = self.one(name)
            if given is not None:
                if not given.isascii() or not given.isdigit():
                    raise _Refused(422, [_invalid(name, "a whole number is needed", where="query")])
                found[name] = int(given)
        return found

    def object(self) -> dict[str, Any]:
        try:
            value = msgspec.json.decode(self.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _Refused(422, [_invalid("", f"the body is no JSON: {error}")]) from error
        if not isinstance(value, dict):
            raise _Refused(422, [_invalid("", "the body must be an object")])
        return value


def _items(rows: Sequence[Mapping[str, Any]], shared: Sequence[str]) -> list[RetainItem]:
    """As the server groups them: none has an id: one document of all; an id twice: joined, tags united."""
    named = any(_string(row.get("document_id")) for row in rows)
    one = str(uuid.uuid4())
    found: dict[str, RetainItem] = {}
    for at, row in enumerate(rows):
        document = _string(row.get("document_id")) or (str(uuid.uuid4()) if named else one)
        item = RetainItem(
            content=_content(row.get("content"), at),
            document_id=document,
            timestamp=_string(row.get("timestamp")) or None,
            context=_string(row.get("context")) or None,
            metadata={str(k): str(v) for k, v in row["metadata"].items()}
            if isinstance(row.get("metadata"), dict) and row["metadata"]
            else None,
            tags=tuple(dict.fromkeys((*_strings(row.get("tags")), *shared))),
            entities=tuple(
                EntityInput(text=str(e["text"]), type=_string(e.get("type")) or None)
                for e in row.get("entities") or ()
                if isinstance(e, dict) and "text" in e
            ),
            strategy=_string(row.get("strategy")) or None,
            observation_scopes=row.get("observation_scopes"),
            update_mode=_string(row.get("update_mode")) or "replace",
        )
        before = found.get(document)
        found[document] = (
            item
            if before is None
            else msgspec.structs.replace(
                before,
                content=f"{before.content}\n{item.content}",
                tags=tuple(dict.fromkeys((*before.tags, *item.tags))),
                context=item.context or before.context,
            )
        )
    return list(found.values())


def _content(value: Any, at: int) -> str:
    if isinstance(value, list):  # blocks: only text can be kept here
        texts = [b.get("text") for b in value if isinstance(b, dict) and b.get("type") == "text"]
        if len(texts) != len(value):
            raise _Refused(501, "the embedded store keeps text only: no images, no files")
        value = "\n".join(str(text) for text in texts)
    if not isinstance(value, str) or not value.strip():
        raise _Refused(422, [_invalid(f"items.{at}.content", "a text is needed")])
    return value


def _convert(value: Mapping[str, Any], kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _Refused(422, [_invalid("", str(error))]) from error


def _profile(bank: Bank) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(bank)
    return {
        **built,
        "name": bank.name or bank.bank_id,
        "mission": bank.mission or "",
        "disposition": _DISPOSITION,
    }


def _listed(memory: Memory) -> dict[str, Any]:
    """A list names a memory's entities in one text, a single read as a list."""
    return {**_memory(memory), "entities": ", ".join(memory.entities)}


def _memory(memory: Memory) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(memory)
    return {**built, "type": built.get("fact_type")}


def _window(page: Page[Any]) -> dict[str, int]:
    return {"limit": page.limit, "offset": page.offset}


def _invalid(field: str, message: str, *, where: str = "body") -> dict[str, Any]:
    return {
        "loc": [where, *(int(p) if p.isdigit() else p for p in field.split(".") if p)],
        "msg": message,
        "type": "value_error",
    }


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: Any) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _text(raw: bytes) -> str:
    try:
        return unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Refused(422, [_invalid("", "the path is no UTF-8", where="path")]) from error


def _whole(status: int, value: Any, extra: Sequence[tuple[bytes, bytes]]) -> Whole:
    body = msgspec.json.encode(value)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"date", formatdate(usegmt=True).encode()),
        *extra,
    ]
    return Whole(status, headers, body)

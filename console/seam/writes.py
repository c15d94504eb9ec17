"""Which requests change memory, and what of them can be told from the request alone. Pure.

A request that is not recognised is passed on without being journaled, so nothing here may guess: only the
paths of Hindsight's own API count, as they were sent. Ids are decoded for our copy; what goes upstream is never
rebuilt from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

from console.seam.spool import Write

_BANK = re.compile(rb"/v1/default/banks/([^/?]+)(/[^?]*)?\Z")
_MCP = re.compile(rb"/mcp(?:/([^/?]+))?/?\Z")
_LABEL = re.compile(rb"/src/([^/?]{1,200})(?=/)")

_LOST = {ord(c): None for c in map(chr, [*range(9), 11, 12, *range(14, 32)])}
"""What the bank takes out of a text: controls other than tab, newline and return (measured)."""

MCP_WRITES: Mapping[str, str] = {
    "retain": "retain",
    "sync_retain": "retain",
    "update_memory": "curate",
    "invalidate_memory": "curate",
    "delete_document": "delete",
    "clear_memories": "clear",
    "delete_bank": "bank",
    "update_bank": "bank",
}


def split_label(path: bytes) -> tuple[str, bytes]:
    """``/src/<label>/rest`` -> (label, ``/rest``); ('', path) where there is no label."""
    found = _LABEL.match(path)
    if found is None:
        return "", path
    return _text(found[1]), path[found.end() :]


def _text(raw: bytes) -> str:
    return unquote_to_bytes(raw).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a retain."""

    text: str | None
    """As the bank stores it; None where that cannot be told (images, files)."""
    document_id: str | None
    append: bool = False
    tags: tuple[str, ...] = ()
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


def carries(method: str, path: bytes) -> bool:
    """Whether a request may change memory: its body has to be read before it is sent on."""
    if method in ("GET", "HEAD", "OPTIONS"):
        return False
    if _MCP.match(path):
        return method == "POST"
    found = _BANK.match(path)
    return found is not None and _kind(method, found[2] or b"") is not None


def _kind(method: str, rest: bytes) -> str | None:
    rest = rest.rstrip(b"/")
    parts = rest.split(b"/")[1:]
    if not parts:
        return "bank" if method == "DELETE" else None
    match (method, parts):
        case ("POST", [b"memories"]):
            return "retain"
        case ("POST", [b"files", b"retain"]):
            return "files"
        case ("DELETE", [b"memories"]):
            return "clear"
        case ("DELETE", [b"documents", _]):
            return "delete"
        case ("PATCH", [b"documents", _]):
            return "tags"
        case ("PATCH", [b"memories", _]):
            return "curate"
        case ("POST", [b"documents", _, b"reprocess"]):
            return "reprocess"
        case ("POST", [b"import" | b"document-transfer" | b"clone"] | [b"transfer", b"import"]):
            return "import"
    return None


def recognise(
    method: str, path: bytes, query: bytes, content_type: str, body: bytes, *, bank_header: str = ""
) -> Write | None:
    """The write that a request is; None for one that changes no memory, or that the bank will refuse."""
    target = path + (b"?" + query if query else b"")
    if found := _MCP.match(path):
        return _mcp(method, target, content_type, body, _text(found[1]) if found[1] else bank_header)
    bank = _BANK.match(path)
    kind = _kind(method, (bank[2] or b"") if bank else b"") if bank else None
    if bank is None or kind is None:
        return None
    name = _text(bank[1])
    parts = (bank[2] or b"").rstrip(b"/").split(b"/")[1:]
    documents: tuple[str, ...] = ()
    repeatable = False
    if kind == "retain":
        items = items_of(body)
        if not items:
            return None
        documents = tuple(dict.fromkeys(i.document_id for i in items if i.document_id))
        repeatable = all(item.document_id and not item.append for item in items)
    elif kind in ("delete", "tags", "reprocess"):
        documents = (_text(parts[1]),)
        repeatable = kind in ("delete", "tags")
    elif kind == "curate":
        repeatable = True
    elif kind == "clear" and not parse_qs(query).get(b"type"):
        repeatable = False
    return Write(
        bank=name,
        kind=kind,
        method=method,
        target=target,
        content_type=content_type,
        body=body,
        documents=documents,
        repeatable=repeatable,
    )


def _mcp(method: str, target: bytes, content_type: str, body: bytes, bank: str) -> Write | None:
    call = _json(body)
    if not isinstance(call, dict) or call.get("method") != "tools/call":
        return None
    params = call.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    arguments = params.get("arguments") if isinstance(params, dict) else None
    kind = MCP_WRITES.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(arguments, dict):
        return None
    given = arguments.get("bank_id")
    documents = arguments.get("document_id")
    return Write(
        bank=bank or (given if isinstance(given, str) else ""),
        kind=kind,
        method=method,
        target=target,
        content_type=content_type,
        body=body,
        documents=(documents,) if isinstance(documents, str) and documents else (),
        # A session of its own belongs to every call: it cannot be sent again.
        repeatable=False,
    )


def arguments_of(body: bytes) -> Mapping[str, Any]:
    """The arguments of an MCP call; {} for anything else."""
    value = _json(body)
    params = value.get("params") if isinstance(value, dict) and value.get("method") == "tools/call" else None
    arguments = params.get("arguments") if isinstance(params, dict) else None
    return arguments if isinstance(arguments, dict) else {}


def items_of(body: bytes) -> list[Item]:
    """The items of a retain's body, or of an MCP retain's; [] where it is none that a bank would take."""
    value = _json(body)
    if not isinstance(value, dict):
        return []
    if value.get("method") == "tools/call":
        arguments = arguments_of(body)
        rows: Any = [{"context": "general", **arguments}] if arguments else []
    else:
        rows = value.get("items")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return []
    shared = _strings(value.get("document_tags"))
    return [_item(row, shared) for row in rows]


def _item(row: Mapping[str, Any], shared: Sequence[str]) -> Item:
    document_id = row.get("document_id")
    context = row.get("context")
    metadata = row.get("metadata")
    return Item(
        text=_content(row.get("content")),
        document_id=document_id if isinstance(document_id, str) and document_id else None,
        append=row.get("update_mode") == "append",
        tags=tuple(sorted({*_strings(row.get("tags")), *shared})),
        context=context if isinstance(context, str) and context else None,
        metadata={str(k): str(v) for k, v in metadata.items()} if isinstance(metadata, dict) else {},
        params={
            name: row[name]
            for name in ("entities", "strategy", "observation_scopes")
            if row.get(name) not in (None, [], {}, "")
        },
    )


def _content(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return value.translate(_LOST).encode("utf-8", "ignore").decode("utf-8")


def _strings(value: Any) -> list[str]:
    if isinstance(value, str) and value.startswith("["):  # an MCP server takes a list written as a string
        value = _json(value.encode("utf-8", "replace"))
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def joined(items: Sequence[Item]) -> dict[str | None, Item]:
    """Document id -> what the request leaves in it: items of one document are joined with a newline, tags united.

    Items without an id share one document (None) where no item has an id, and are left out otherwise: each gets
    an id that only the bank knows.
    """
    named = any(item.document_id for item in items)
    found: dict[str | None, Item] = {}
    for item in items:
        if item.document_id is None and named:
            continue
        before = found.get(item.document_id)
        if before is None:
            found[item.document_id] = item
            continue
        text = None if before.text is None or item.text is None else f"{before.text}\n{item.text}"
        found[item.document_id] = Item(
            text=text,
            document_id=item.document_id,
            append=before.append and item.append,
            tags=tuple(sorted({*before.tags, *item.tags})),
            context=item.context or before.context,
            metadata={**before.metadata, **item.metadata},
            params={**before.params, **item.params},
        )
    return found


@dataclass(frozen=True, slots=True)
class Answer:
    """What an acknowledgement tells."""

    bank: str = ""
    """The bank's own id, where an alias was used."""
    operations: tuple[str, ...] = ()
    refused: str = ""
    """Of an MCP call that came back as an error with status 200."""


def answer_of(content_type: str, body: bytes) -> Answer:
    """Read an acknowledgement's copy: JSON, or the one message of an event stream."""
    if "text/event-stream" in content_type:
        lines = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
        value = _json(lines[-1]) if lines else None
    else:
        value = _json(body)
    if not isinstance(value, dict):
        return Answer()
    result = value.get("result")
    if isinstance(result, dict):
        content = result.get("structuredContent")
        if not isinstance(content, dict):
            texts = [part.get("text") for part in result.get("content", ()) if isinstance(part, dict)]
            content = (
                _json(texts[0].encode("utf-8", "replace")) if texts and isinstance(texts[0], str) else {}
            )
        value = content if isinstance(content, dict) else {}
        if isinstance(value.get("result"), dict):
            value = value["result"]
        if result.get("isError") or value.get("status") == "error":
            return Answer(refused="the tool answered with an error")
    elif "error" in value and "jsonrpc" in value:
        return Answer(refused="the tool answered with an error")
    operations = _strings(value.get("operation_ids"))
    single = value.get("operation_id")
    if isinstance(single, str) and single:
        operations.append(single)
    bank = value.get("bank_id")
    return Answer(bank if isinstance(bank, str) else "", tuple(dict.fromkeys(operations)))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None

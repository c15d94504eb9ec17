"""Which ids a Hindsight server can hold and address, and why not. Pure.

Measured on 1.1.0: a document id is any string, but the server's routes decide what can be reached.

* control characters are dropped from an id in silence, so the text would land under another id;
* ``x/chunks`` and ``x/history`` are shadowed by routes of document ``x`` when read;
* a line break never matches a route, and *one at the end is dropped by it*: ``DELETE …/documents/x%0A``
  deletes document ``x``.
"""

from __future__ import annotations

import re
import uuid

from console.memory.errors import InvalidInput, NotFound, Unsupported

_STRIPPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_PLACEHOLDER = "\u27e6hs-att:"


def printable(text: str, limit: int = 300) -> str:
    """``text`` as one line that cannot steer a terminal, cut at ``limit`` characters."""
    flat = _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", " ".join(text[: limit * 4].split(" ")))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def shown(identifier: str) -> str:
    """An id inside a message: quoted, printable, at most 80 characters."""
    return f"'{printable(identifier, 80)}'"


def bank_fault(bank_id: str) -> str | None:
    """Why no bank of this id can exist on a server, or None."""
    if not bank_id:
        return "a bank id must not be empty"
    if bank_id in {".", ".."}:
        return "'.' and '..' are not used as bank ids, because a proxy may take them for a folder"
    if "/" in bank_id:
        return "a bank id with '/' cannot be addressed on a Hindsight server"
    if _UNPRINTABLE.search(bank_id):
        return "a bank id must not hold control or invisible characters"
    if bank_id.startswith("_"):
        return "a bank id must not start with '_'"
    if len(bank_id.encode("utf-8")) > 192:
        return "a bank id must be at most 192 bytes of UTF-8"
    return None


def check_new_bank(bank_id: str) -> str:
    """The id, for calls that may create the bank. Raises InvalidInput."""
    if fault := bank_fault(bank_id):
        raise InvalidInput(f"bank id {shown(bank_id)} is not possible", hint=fault)
    return bank_id


def check_bank(bank_id: str) -> str:
    """The id, for calls on an existing bank. Raises NotFound where it cannot exist."""
    if fault := bank_fault(bank_id):
        raise NotFound(f"bank {shown(bank_id)} not found", hint=fault)
    return bank_id


def document_fault(document_id: str) -> str | None:
    """Why no document of exactly this id can be stored, or None."""
    if not document_id:
        return "a document id must not be empty"
    if _STRIPPED.search(document_id) or _PLACEHOLDER in document_id:
        return "the server drops such characters, so the text would land under another id"
    return None


def check_new_document(document_id: str) -> str:
    """The id, before retaining under it. Raises InvalidInput."""
    fault = document_fault(document_id)
    if fault is None and "\n" in document_id:
        fault = "the server could never delete a document whose id holds a line break"
    if fault:
        raise InvalidInput(f"document id {shown(document_id)} is not possible", hint=fault)
    return document_id


def check_document(document_id: str, bank_id: str) -> str:
    """The id, for calls on an existing document. Raises NotFound where it cannot exist."""
    if fault := document_fault(document_id):
        raise NotFound(f"document {shown(document_id)} not found in bank {shown(bank_id)}", hint=fault)
    return document_id


def readable_by_path(document_id: str) -> bool:
    """Whether GET on the document's own path answers that document (else: read it through the export)."""
    return not ("\n" in document_id or document_id.endswith(("/chunks", "/history")))


def rewritable(document_id: str) -> bool:
    """Whether something on the way that tidies paths could turn this id into another one."""
    return "\\" in document_id or any(part in {"", ".", ".."} for part in document_id.split("/"))


def check_writable(document_id: str) -> str:
    """The id, before changing or deleting the document by path. Raises Unsupported."""
    if "\n" in document_id:
        raise Unsupported(
            f"document {shown(document_id)} cannot be changed or deleted",
            hint="its id holds a line break, and the server would take it for another document",
        )
    if rewritable(document_id) and not readable_by_path(document_id):
        raise Unsupported(
            f"document {shown(document_id)} cannot be changed or deleted safely",
            hint="its path cannot be checked before the change",
        )
    return document_id


def check_uuid(identifier: str, kind: str, bank_id: str) -> str:
    """A memory's or operation's id. Raises NotFound for what is no UUID (``list`` is a route, not a memory)."""
    try:
        return str(uuid.UUID(identifier))
    except ValueError:
        raise NotFound(
            f"{kind} {shown(identifier)} not found in bank {shown(bank_id)}", hint="its id would be a UUID"
        ) from None

"""From a template and its values to one request, and what that request would destroy. Pure.

Promise: no value of a template can reach another route than the template's: every one is encoded whole, an id
that a server would take for something else is refused, and a path that is written out may not hold ``.``,
``..`` or empty segments in any encoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from console.memory.errors import InvalidInput, Unsupported
from console.memory.hindsight.ids import (
    check_bank,
    check_document,
    check_writable,
    readable_by_path,
    rewritable,
    shown,
)
from console.memory.hindsight.urls import segment

_NAMES = re.compile(r"\{([A-Za-z_]+)\}")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TYPES = ("world", "experience", "observation")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. ``path`` is encoded; ``document`` is an id that a read has to confirm first."""

    path: str
    plain: tuple[str, ...]
    """The decoded segments."""
    document: tuple[str, str] | None = None


def names(template: str) -> tuple[str, ...]:
    """The names in a template, in order."""
    return tuple(_NAMES.findall(template))


def fill(method: str, template: str, values: Mapping[str, str]) -> Target:
    """The request's path. Raises InvalidInput for a name without a value, a value without a name, or a path
    that could mean another one; NotFound and Unsupported for an id that no server can address."""
    if not template.startswith("/"):
        raise InvalidInput(f"{shown(template)} is no path", hint="it begins with /, as in /v1/default/banks")
    if "?" in template or "#" in template:
        raise InvalidInput(
            f"{shown(template)} holds a query",
            hint="give it as --query name=value, an id as --path name=value",
        )
    wanted = names(template)
    for name in values:
        if name not in wanted and name != "bank_id":
            raise InvalidInput(
                f"the path has no {{{name}}}", hint=f"it has {', '.join(wanted) or 'no names'}"
            )
    plain: list[str] = []
    encoded: list[str] = []
    for part in template[1:].split("/"):
        found = _NAMES.fullmatch(part)
        if found is None:
            if "{" in part or "}" in part:
                raise InvalidInput(f"{shown(part)} is not a whole {{name}}", hint="write it as /{name}/")
            text = _written_out(part, template)
            plain.append(text)
            encoded.append(segment(text))
            continue
        value = values.get(found[1])
        if value is None:
            raise InvalidInput(f"{{{found[1]}}} has no value", hint=f"give it as --path {found[1]}=VALUE")
        for text in _value(found[1], value):
            plain.append(text)
            encoded.append(segment(text))
    document = _checked(method, tuple(plain))
    return Target("/" + "/".join(encoded), tuple(plain), document)


def _written_out(part: str, template: str) -> str:
    """A segment that stands in the path itself, decoded."""
    text = unquote(part, errors="surrogateescape")
    if text in {"", ".", ".."} or "/" in text or "\\" in text or _HIDDEN.search(text):
        raise InvalidInput(
            f"the path {shown(template)} holds a segment that a server or proxy may tidy away",
            hint="give an id as --path name=value with {name} in the path: then it reaches exactly that id",
        )
    return text


def _value(name: str, value: str) -> list[str]:
    if not value:
        raise InvalidInput(f"{{{name}}} is empty", hint="an empty id would reach the route above it")
    if name == "key":  # files/download: the one name that spans segments
        parts = value.strip("/").split("/")
        if any(part in {"", ".", ".."} or _HIDDEN.search(part) for part in parts):
            raise InvalidInput(
                f"{shown(value)} is no key of a file", hint="take it from an operation's result"
            )
        return parts
    if _HIDDEN.search(value) and name != "document_id":
        raise InvalidInput(f"{{{name}}} holds a control character", hint="no server route matches it")
    if name not in {"document_id", "chunk_id"} and (value in {".", ".."} or "/" in value or "\\" in value):
        raise InvalidInput(f"{{{name}}} cannot be {shown(value)}", hint="a proxy may take it for a folder")
    return [value]


def _checked(method: str, plain: tuple[str, ...]) -> tuple[str, str] | None:
    """Bank and document ids by the store's own rules; the document that a read has to confirm first."""
    if plain[:3] != ("v1", "default", "banks") or len(plain) < 4:
        return None
    bank = check_bank(plain[3])
    if len(plain) < 6 or plain[4] != "documents":
        return None
    document = check_document(plain[5], bank)
    if "\n" in document:
        raise Unsupported(
            f"document {shown(document)} cannot be addressed",
            hint="its id holds a line break, and no route matches it",
        )
    if method == "GET":
        if len(plain) == 6 and not readable_by_path(document):
            raise Unsupported(
                f"document {shown(document)} cannot be read by its path",
                hint="the server takes its id for another route; `console documents get` reads it",
            )
        return None
    check_writable(document)
    return (bank, document) if rewritable(document) else None


def destroys(method: str, target: Target, query: Mapping[str, str]) -> str | None:
    """What the request would destroy, as in "delete bank 'x' with everything in it"; None where it only adds or reads.

    Raises InvalidInput for a ``type`` that the server would answer with 200 and "cleared 0".
    """
    plain = target.plain
    if plain[:3] != ("v1", "default", "banks") or len(plain) < 4:
        return f"{method} /{'/'.join(plain)}" if method == "DELETE" else None
    bank, rest = shown(plain[3]), plain[4:]
    if method == "DELETE":
        if not rest:
            return f"delete bank {bank} with everything in it"
        if rest == ("memories",):
            kind = query.get("type")
            if kind is not None and kind not in _TYPES:
                raise InvalidInput(f"no memories are of type {shown(kind)}", hint=f"use {', '.join(_TYPES)}")
            if kind is None:
                return f"delete every document and every memory of bank {bank}"
            return f"delete every {kind} memory of bank {bank}"
        if rest[0] == "documents" and len(rest) == 2:
            return f"delete document {shown(rest[1])} of bank {bank} with its memories"
        if rest[0] == "knowledge-base":
            return f"delete {shown(rest[-1])} and all below it from the knowledge base of bank {bank}"
        return f"delete {shown('/'.join(rest))} of bank {bank}"
    if method == "POST" and rest[0:1] == ("documents",) and rest[-1] == "reprocess":
        return f"extract document {shown(rest[1])} anew: edits are lost and what was taken back is live again"
    if method == "POST" and rest[-1:] == ("clear",):
        return f"empty {shown('/'.join(rest[:-1]))} of bank {bank}"
    if method == "POST" and rest in {("transfer", "import"), ("document-transfer",)}:
        if "replace" in {query.get("document_conflict"), query.get("on_conflict")}:
            return f"replace documents of bank {bank} by those of an archive"
        return None
    if (
        method == "POST"
        and rest == ("import",)
        and query.get("dry_run", "false").lower() not in {"true", "1"}
    ):
        return f"overwrite configuration, models and directives of bank {bank}"
    return None

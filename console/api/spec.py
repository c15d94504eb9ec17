"""A server's ``/openapi.json`` as a table of operations. Pure.

Promise: a description of any shape gives a table; what cannot be understood in it is left out, and nothing
in it is followed further than its own ``components``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_RETIRED = re.compile(r"\*\*Removed\.\*\*|\(removed\b")
# 1.1 marks these two only as deprecated and answers 410 to both (measured).
_ALSO_RETIRED = {("POST", "/v1/default/banks/{bank_id}/entities/{entity_id}/regenerate")}
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that an operation takes. ``place``: path, query or body."""

    name: str
    place: str
    kind: str
    """For people: ``string``, ``integer``, ``list of string``, ``one of a, b``."""
    required: bool = False
    default: Any = None
    about: str = ""
    choices: tuple[str, ...] = ()
    several: bool = False
    """A list: a query names it repeatedly."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. ``path`` is the template, with ``{names}``."""

    method: str
    path: str
    operation_id: str
    summary: str = ""
    about: str = ""
    deprecated: bool = False
    retired: bool = False
    """Answers 410 to everybody."""
    parameters: tuple[Parameter, ...] = ()
    media: str = ""
    """Of the body: ``application/json``, ``multipart/form-data`` or '' for none."""

    def of(self, place: str) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.place == place)


def read_operations(document: Any) -> tuple[Operation, ...]:
    """The operations in the order of the description; header parameters are left out (the client sets them)."""
    paths = document.get("paths") if isinstance(document, Mapping) else None
    found: list[Operation] = []
    for path, methods in paths.items() if isinstance(paths, Mapping) else ():
        if not isinstance(path, str) or not isinstance(methods, Mapping):
            continue
        for method, body in methods.items():
            if isinstance(body, Mapping) and str(method).upper() in METHODS:
                found.append(_operation(document, str(method).upper(), path, body))
    return tuple(found)


def find(operations: Iterable[Operation], method: str, path: str) -> Operation | None:
    """The operation whose template this path is, or fits; a template that is written out wins over one with names."""
    same = [operation for operation in operations if operation.method == method]
    exact = next((operation for operation in same if operation.path == path), None)
    if exact is not None:
        return exact
    fitting = [operation for operation in same if _pattern(operation.path).fullmatch(path)]
    return min(fitting, key=lambda operation: operation.path.count("{"), default=None)


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]*\})", template)
    fits = {"{key}": ".+"}  # a file's key is the one name that spans segments
    return re.compile(
        "".join(fits.get(part, "[^/]+") if part.startswith("{") else re.escape(part) for part in parts)
    )


def _operation(document: Mapping[str, Any], method: str, path: str, body: Mapping[str, Any]) -> Operation:
    about, summary = _text(body.get("description")), _text(body.get("summary"))
    media, fields = _body(document, body.get("requestBody"))
    listed = body.get("parameters")
    parameters = [
        _parameter(document, entry)
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, Mapping) and entry.get("in") in ("path", "query")
    ]
    return Operation(
        method=method,
        path=path,
        operation_id=_text(body.get("operationId")),
        summary=summary,
        about=about,
        deprecated=body.get("deprecated") is True,
        retired=bool(_RETIRED.search(f"{summary} {about}"))
        or (body.get("deprecated") is True and (method, path) in _ALSO_RETIRED),
        parameters=(*parameters, *fields),
        media=media,
    )


def _parameter(document: Mapping[str, Any], entry: Mapping[str, Any]) -> Parameter:
    schema = _resolved(document, entry.get("schema"))
    return _described(
        document,
        _text(entry.get("name")),
        str(entry.get("in")),
        schema,
        entry.get("required") is True,
        _text(entry.get("description")) or _text(schema.get("description")),
    )


def _body(document: Mapping[str, Any], body: Any) -> tuple[str, tuple[Parameter, ...]]:
    content = body.get("content") if isinstance(body, Mapping) else None
    if not isinstance(content, Mapping) or not content:
        return "", ()
    media = str(next(iter(content)))
    entry = content[media]
    schema = _resolved(document, entry.get("schema") if isinstance(entry, Mapping) else None)
    fields, required = schema.get("properties"), schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    return media, tuple(
        _described(
            document,
            str(name),
            "body",
            part,
            name in needed,
            _text(_resolved(document, part).get("description")),
        )
        for name, part in (fields.items() if isinstance(fields, Mapping) else ())
    )


def _described(
    document: Mapping[str, Any], name: str, place: str, schema: Any, required: bool, about: str
) -> Parameter:
    whole = schema if isinstance(schema, Mapping) else {}
    resolved = _resolved(document, whole)
    choices = resolved.get("enum")
    return Parameter(
        name=name,
        place=place,
        kind=_kind(document, whole),
        required=required,
        default=whole.get("default", resolved.get("default")),
        about=about,
        choices=tuple(map(str, choices)) if isinstance(choices, list) else (),
        several=resolved.get("type") == "array",
    )


def _kind(document: Mapping[str, Any], schema: Any, depth: int = 0) -> str:
    found = _resolved(document, schema)
    choices = found.get("enum")
    if isinstance(choices, list) and choices:
        return "one of " + ", ".join(map(str, choices))
    if found.get("type") == "array":
        return f"list of {_kind(document, found.get('items'), depth + 1)}" if depth < _DEPTH else "list"
    several = found.get("anyOf") or found.get("oneOf")
    if isinstance(several, list) and depth < _DEPTH:
        kinds = [_kind(document, part, depth + 1) for part in several]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    return _text(found.get("type")) or "anything"


def _resolved(document: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """The schema behind references and behind "this or null"."""
    for _ in range(_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            place: Any = document
            for step in reference[2:].split("/"):
                place = place.get(step) if isinstance(place, Mapping) else None
            schema = place
            continue
        parts = schema.get("anyOf")
        if isinstance(parts, list):
            real = [part for part in parts if isinstance(part, Mapping) and part.get("type") != "null"]
            if len(real) == 1:
                schema = real[0]
                continue
        return schema
    return {}


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""

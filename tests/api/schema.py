"""Is a JSON value what an OpenAPI schema promises? The few words of JSON Schema that Hindsight's description uses.

A word that is not known here fails: a check that passes over it would prove nothing.
"""

from __future__ import annotations

from typing import Any

from tests.api.described import document

_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float),
}  # fmt: skip
_KNOWN = {
    "$ref", "anyOf", "oneOf", "allOf", "type", "enum", "const", "properties", "required", "items", "additionalProperties",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format", "default", "pattern",
    "discriminator", "exclusiveMinimum", "propertyNames", "prefixItems", "contentMediaType", "deprecated",
}  # fmt: skip


def faults(schema: Any, value: Any, at: str = "$") -> list[str]:
    """Where the value is not what the schema says; [] where it is."""
    if schema is True or schema == {}:
        return []
    unknown = set(schema) - _KNOWN
    assert not unknown, f"the check does not know {unknown}"
    if "$ref" in schema:
        return faults(document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], value, at)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            tried = [faults(part, value, at) for part in schema[word]]
            return [] if any(not found for found in tried) else min(tried, key=len)
    found: list[str] = [fault for part in schema.get("allOf", ()) for fault in faults(part, value, at)]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at} is {value!r}, not one of {schema['enum']}")
    kind = schema.get("type")
    if kind is not None:
        right = isinstance(value, _TYPES[kind]) and not (
            kind in {"integer", "number"} and isinstance(value, bool)
        )
        if not right:
            return [*found, f"{at} is {type(value).__name__}, not {kind}"]
    if isinstance(value, dict):
        found += [f"{at} has no {name}" for name in schema.get("required", ()) if name not in value]
        parts = schema.get("properties", {})
        more = schema.get("additionalProperties", True)
        for name, item in value.items():
            inner = parts.get(name, more if isinstance(more, dict) else True)
            found += faults(inner, item, f"{at}.{name}")
            if name not in parts and more is False:
                found.append(f"{at} has an unknown {name}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += faults(schema.get("items", True), item, f"{at}[{index}]")
    return found


def answer_faults(operation_id: str, value: Any) -> list[str]:
    """The same for the successful answer of an operation."""
    for methods in document()["paths"].values():
        for operation in methods.values():
            if operation["operationId"] == operation_id:
                [content] = [r["content"] for r in operation["responses"].values()][:1]
                return faults(content.get("application/json", {}).get("schema", True), value)
    raise KeyError(operation_id)

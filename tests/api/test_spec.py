"""The table of operations, from real descriptions and from hostile ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.api.spec import METHODS, find, read_operations
from tests.api.described import document, operations


@pytest.mark.parametrize(("version", "count", "retired"), [("1.1.0", 101, 5), ("0.9.1", 89, 2)])
def test_every_operation_of_a_version_is_read(version: str, count: int, retired: int) -> None:
    found = operations(version)
    listed = [(m.upper(), path) for path, methods in document(version)["paths"].items() for m in methods]
    assert [(o.method, o.path) for o in found] == listed
    assert len(found) == count
    assert sum(o.retired for o in found) == retired
    assert all(o.operation_id for o in found)


def test_parameters_and_body_fields_say_what_they_take() -> None:
    recall = next(o for o in operations() if o.operation_id == "recall_memories")
    fields = {p.name: p for p in recall.of("body")}
    assert fields["query"].required
    assert fields["budget"].choices == ("low", "mid", "high")
    assert fields["tags_match"].kind == "one of any, all, any_strict, all_strict, exact"
    assert fields["types"].several
    listed = next(o for o in operations() if o.operation_id == "list_documents")
    assert {p.name for p in listed.of("query")} >= {"q", "tags", "tags_match", "time_field", "start_date"}
    upload = next(o for o in operations() if o.operation_id == "file_retain")
    assert upload.media == "multipart/form-data"


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("GET", "/v1/default/banks/b/memories/list", "list_memories"),
        ("GET", "/v1/default/banks/b/memories/123", "get_memory"),
        ("GET", "/v1/default/banks/{bank_id}/documents/{document_id}", "get_document"),
        ("DELETE", "/v1/default/banks/b", "delete_bank"),
    ],
)
def test_a_path_finds_its_operation(method: str, path: str, operation: str) -> None:
    found = find(operations(), method, path)
    assert found is not None
    assert found.operation_id == operation


def test_a_path_that_nothing_offers_finds_nothing() -> None:
    assert find(operations(), "PUT", "/v1/default/banks/b/memories/list") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_a_description_of_any_shape_gives_a_table(value: Any) -> None:
    read_operations(value)
    read_operations({"paths": {"/x": {"get": value}}, "components": value})
    found = read_operations(
        {"paths": {"/x": {"get": {"parameters": value, "requestBody": {"content": {"a": value}}}}}}
    )
    assert [(o.method, o.path) for o in found] == [("GET", "/x")]


def test_a_reference_to_itself_ends() -> None:
    loop = {"$ref": "#/components/schemas/A"}
    parameter = {"name": "p", "in": "query", "schema": loop}
    found = read_operations(
        {"paths": {"/x": {"get": {"parameters": [parameter]}}}, "components": {"schemas": {"A": loop}}}
    )
    assert found[0].parameters[0].kind == "anything"


def test_methods_are_those_that_the_client_can_send() -> None:
    assert {o.method for o in operations()} <= set(METHODS)

"""A template and its values: exactly that route, exactly that id, or nothing at all."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.api.request import destroys, fill
from console.memory.errors import StoreError
from tests.api.described import operations

DOCUMENT = "/v1/default/banks/{bank_id}/documents/{document_id}"


@pytest.mark.parametrize(
    ("document_id", "sent"),
    [
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("../../other", "%2E%2E%2F%2E%2E%2Fother"),
        ("a b?c#d", "a%20b%3Fc%23d"),
        ("%2e", "%252e"),
    ],
)
def test_an_id_stays_one_segment(document_id: str, sent: str) -> None:
    target = fill("DELETE", DOCUMENT, {"bank_id": "b", "document_id": document_id})
    assert target.path == f"/v1/default/banks/b/documents/{sent}"


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(operations()))
def test_no_value_leaves_its_template(one: str, two: str, operation: object) -> None:
    """Whatever ids hold: the path has the template's number of segments and the values stand where the names stood."""
    template = operation.path  # type: ignore[attr-defined]
    values = {name: (one, two)[at % 2] for at, name in enumerate(_names(template))}
    try:
        target = fill(operation.method, template, values)  # type: ignore[attr-defined]
    except StoreError:
        return
    pieces, parts = target.path.split("/"), template.split("/")
    if "{key}" not in template:
        assert len(pieces) == len(parts)
    for piece, part in zip(pieces, parts, strict=False):
        assert piece not in {"", ".", ".."} or part == ""
        assert "." not in piece
        if part.startswith("{") and part != "{key}":
            assert unquote(piece) == values[part[1:-1]]


def _names(template: str) -> list[str]:
    return [part[1:-1] for part in template.split("/") if part.startswith("{")]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/default/banks/b/documents/..",
        "/v1/default/banks/b/documents/%2e%2E",
        "/v1/default/banks/b/documents/%2e%2e%2f%2e%2e",
        "/v1/default/banks/b/documents/",
        "/v1/default/banks//documents",
        "/v1/default/banks/b/documents/a%2Fb",
        "/v1/default/banks/b/documents/x%0A",
        "/v1/default/banks/b/documents/a\\b",
        "v1/default/banks",
        "/v1/default/banks?limit=1",
        "/v1/default/banks/b#x",
        "/v1/default/banks/b{bank_id}",
    ],
)
def test_a_path_that_could_mean_another_one_is_refused(path: str) -> None:
    with pytest.raises(StoreError):
        fill("DELETE", path, {"bank_id": "b"})


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"bank_id": "b"}, "has no value"),
        ({"bank_id": "b", "document_id": ""}, "is empty"),
        ({"bank_id": "", "document_id": "x"}, "is empty"),
        ({"bank_id": "..", "document_id": "x"}, "cannot be"),
        ({"bank_id": "a/b", "document_id": "x"}, "cannot be"),
        ({"bank_id": "b", "document_id": "x\n"}, "line break"),
        ({"bank_id": "b", "document_id": "x", "other": "y"}, "no {other}"),
    ],
)
def test_values_are_checked_before_anything_is_sent(values: dict[str, str], says: str) -> None:
    with pytest.raises(StoreError) as caught:
        fill("DELETE", DOCUMENT, values)
    assert says in str(caught.value)


@pytest.mark.parametrize("document_id", ["x/history", "x/chunks"])
def test_a_document_whose_path_is_another_route_is_not_read_by_it(document_id: str) -> None:
    """Trap 9: GET of ``x/history`` answers 200 with another object."""
    with pytest.raises(StoreError, match="cannot be read by its path"):
        fill("GET", DOCUMENT, {"bank_id": "b", "document_id": document_id})


def test_an_id_that_a_proxy_may_tidy_is_to_be_read_first() -> None:
    target = fill("DELETE", DOCUMENT, {"bank_id": "b", "document_id": "a/../b"})
    assert target.document == ("b", "a/../b")
    assert fill("DELETE", DOCUMENT, {"bank_id": "b", "document_id": "a-b"}).document is None


def test_every_delete_asks_and_no_read_does() -> None:
    for operation in operations():
        values = dict.fromkeys(_names(operation.path), "x")
        destroyed = destroys(operation.method, fill(operation.method, operation.path, values), {})
        if operation.method == "DELETE":
            assert destroyed, operation
        if operation.method == "GET":
            assert destroyed is None, operation


@pytest.mark.parametrize(
    ("method", "path", "query", "says"),
    [
        ("DELETE", "/v1/default/banks/b", {}, "bank 'b' with everything"),
        ("DELETE", "/v1/default/banks/b/memories", {}, "every document and every memory"),
        ("DELETE", "/v1/default/banks/b/memories", {"type": "world"}, "every world memory"),
        ("POST", "/v1/default/banks/b/documents/d/reprocess", {}, "edits are lost"),
        ("POST", "/v1/default/banks/b/mental-models/m/clear", {}, "empty"),
        (
            "POST",
            "/v1/default/banks/b/transfer/import",
            {"document_conflict": "replace"},
            "replace documents",
        ),
        ("POST", "/v1/default/banks/b/import", {}, "overwrite"),
        ("POST", "/v1/default/banks/b/import", {"dry_run": "true"}, None),
        ("POST", "/v1/default/banks/b/transfer/import", {"document_conflict": "skip"}, None),
        ("POST", "/v1/default/banks/b/memories/recall", {}, None),
    ],
)
def test_what_destroys_is_known_by_name(
    method: str, path: str, query: dict[str, str], says: str | None
) -> None:
    found = destroys(method, fill(method, path, {}), query)
    assert found is None if says is None else found is not None and says in found


def test_a_type_that_does_not_exist_is_no_reason_to_clear_nothing() -> None:
    """Trap 4: the server answers a typo with 200 and "cleared 0"."""
    with pytest.raises(StoreError, match="no memories are of type"):
        destroys("DELETE", fill("DELETE", "/v1/default/banks/b/memories", {}), {"type": "wrold"})

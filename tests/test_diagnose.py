"""What doctor finds on a server: each finding from the smallest thing that causes it, and none without."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from console import diagnose
from console.memory.models import Bank, DocumentSummary, Operation, Version

NOW = datetime(2026, 12, 7, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("url", "token", "status"),
    [
        ("https://memory.example.org", True, "ok"),
        ("http://127.0.0.1:8888", True, "ok"),
        ("http://[::1]:8888", True, "ok"),
        ("http://localhost:8888", True, "ok"),
        ("http://memory.example.org", True, "failed"),
        ("http://memory.example.org", False, "note"),
        ("http://localhost.example.org", True, "failed"),
        ("http://10.0.0.1", True, "failed"),
    ],
)
def test_tls(url: str, token: bool, status: str) -> None:
    assert [c.status for c in diagnose.transport(url, token)] == [status]


@pytest.mark.parametrize(
    ("told", "status"),
    [("1.1.0", "ok"), ("1.2", "ok"), ("2.0.0", "ok"), ("0.9.1", "note"), ("1.0.5", "note"), ("next", "ok")],
)
def test_version(told: str, status: str) -> None:
    assert diagnose.version(Version(api_version=told))[0].status == status


def test_switched_off_features_are_named() -> None:
    found = diagnose.version(
        Version(api_version="1.1.0", features={"document_export_api": False, "mcp": False})
    )
    assert "document_export_api" in found[1].detail


@pytest.mark.parametrize(
    ("features", "config", "overrides", "says"),
    [
        ({"observations": False}, {"retain_extraction_mode": "chunks"}, {}, "has no model"),
        (
            {"observations": False},
            {"retain_extraction_mode": "chunks"},
            {"retain_extraction_mode": "chunks"},
            "this bank stores chunks",
        ),
        ({"observations": True}, {"retain_extraction_mode": "concise"}, {}, "extraction concise"),
    ],
)
def test_model(
    features: dict[str, bool], config: dict[str, Any], overrides: dict[str, Any], says: str
) -> None:
    [found] = diagnose.model(Version(features=features), config, overrides)
    assert says in found.detail


@pytest.mark.parametrize(
    ("server", "status"),
    [
        ("2026-12-07T12:00:00Z", "ok"),
        ("2026-12-07T11:59:59Z", "ok"),
        ("2026-12-07T11:59:00Z", "note"),
        ("2026-12-07T11:50:00Z", "failed"),
        ("2026-12-07T12:10:00Z", "failed"),
    ],
)
def test_clock(server: str, status: str) -> None:
    [found] = diagnose.clock(server, NOW)
    assert found.status == status


@pytest.mark.parametrize(
    "name",
    ["None", "null", "undefined", "hindsight_retain", "a/b", " x", "${BANK}", "{bank_id}", "omo-{project}"],
)
def test_a_bank_that_a_wrong_setting_made(name: str) -> None:
    [found] = diagnose.banks([Bank(bank_id="fine"), Bank(bank_id=name)])
    assert found.status == "note"
    assert repr(name) in found.detail


@pytest.mark.parametrize("name", ["default", "acme::app", "nonesuch", "hindsight", "my bank"])
def test_a_bank_that_is_meant(name: str) -> None:
    assert [c.status for c in diagnose.banks([Bank(bank_id=name)])] == ["ok"]


@pytest.mark.parametrize(
    ("status", "updated", "found"),
    [
        ("pending", "2026-12-07T10:59:00Z", "failed"),
        ("processing", "2026-12-07 10:00:00+00", "failed"),
        ("processing", "2026-12-07T11:30:00Z", "ok"),
        ("completed", "2026-12-01T00:00:00Z", "ok"),
        ("pending", "some day", "ok"),
    ],
)
def test_work_that_does_not_end(status: str, updated: str, found: str) -> None:
    operation = Operation(id="op", task_type="retain", status=status, updated_at=updated)
    assert [c.status for c in diagnose.operations([operation], NOW)] == [found]


def document(name: str, context: str, tags: tuple[str, ...] = (), **more: Any) -> DocumentSummary:
    return DocumentSummary(id=name, tags=tags, retain_params={"context": context}, **more)


def test_two_ways_into_one_bank() -> None:
    same = {"content_hash": "h"}
    assert (
        diagnose.retain_paths([document("a", "omo", **same), document("b", "omo", **same)])[0].status == "ok"
    )
    [found] = diagnose.retain_paths([document("a", "omo", **same), document("b", "claude-code", **same)])
    assert found.status == "note"
    assert "context omo" in found.detail
    assert "context claude-code" in found.detail
    session = {"document_metadata": {"session_id": "s1"}}
    [found] = diagnose.retain_paths(
        [document("a", "", ("harness:omo",), **session), document("b", "", ("harness:codex",), **session)]
    )
    assert "harness:codex" in found.detail

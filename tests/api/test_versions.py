"""An older server: what it lacks is named, what it ignores is not believed, what it has works. Driven by its OpenAPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.coverage import BY_API, FIRST_CLASS, RETIRED
from tests.api.described import operations
from tests.api.stand_in import stand_in
from tests.api.test_coverage import argv
from tests.cli.conftest import Console

OLD = {o.operation_id: o for o in operations("0.9.1")}
NEW = {o.operation_id: o for o in operations("1.1.0")}
ADDED = sorted(set(NEW) - set(OLD))
TABLE = FIRST_CLASS | BY_API


def words(operation: str, home: Path) -> list[str]:
    return [*(["api"] if operation in BY_API else []), *argv(TABLE[operation], home)]


def test_1_1_added_twelve_operations_and_took_none_away() -> None:
    assert len(ADDED) == 12
    assert not set(OLD) - set(NEW)


@pytest.mark.parametrize("operation", sorted(set(OLD) - set(RETIRED)))
def test_what_0_9_1_has_works(console: Console, home: Path, operation: str) -> None:
    with stand_in("0.9.1") as server:
        ran = console("--store", server.url, "--bank", "b", *words(operation, home))
        assert ran.code == 0, ran.err
        assert operation in server.seen


@pytest.mark.parametrize("operation", ADDED)
def test_what_0_9_1_lacks_is_named_with_its_version(console: Console, home: Path, operation: str) -> None:
    with stand_in("0.9.1") as server:
        ran = console("--store", server.url, "--bank", "b", *words(operation, home))
    assert ran.code == 1
    assert "the server (0.9.1) does not offer" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "ignored"),
    [
        ("documents list --changed-since 2d", "start_date, time_field"),
        ("documents list --since 2d --json", "start_date"),
        ("documents list --until 2026-01-01 --jsonl", "end_date"),
        ("memories list --since 2d --all --json", "start_date"),
        ("memories list --time-field mentioned_at", "time_field"),
    ],
)
def test_a_filter_that_the_server_ignores_is_not_believed(console: Console, line: str, ignored: str) -> None:
    with stand_in("0.9.1") as server:
        ran = console("--store", server.url, "--bank", "b", *line.split())
    assert (ran.code, ran.out) == (1, "")
    assert f"the server ignores {ignored}" in ran.err


def test_a_filter_of_api_that_nobody_knows_is_not_believed(console: Console) -> None:
    with stand_in() as server:
        ran = console("--store", server.url, "--bank", "b", "api", "GET", "/v1/default/banks/{bank_id}/documents", "--query", "sort=asc")  # fmt: skip
    assert (ran.code, "the server ignores sort" in ran.err) == (1, True)


def test_a_listing_of_everything_works_on_both(console: Console) -> None:
    """0.9.1 knows no time_field, so --all must not need it."""
    for version in ("0.9.1", "1.1.0"):
        with stand_in(version) as server:
            for noun in ("documents", "memories"):
                ran = console("--store", server.url, "--bank", "b", noun, "list", "--all", "--json")
                assert ran.code == 0, ran.err


def test_doctor_names_what_an_old_server_lacks(console: Console) -> None:
    with stand_in("0.9.1") as server:
        ran = console("--store", server.url, "--bank", "b", "doctor", "--json")
    [found] = [c for c in ran.json["items"] if c["check"] == "version"]
    assert found["status"] == "note"
    assert "document history" in found["detail"]


def test_what_is_no_hindsight_server_is_not_called_an_old_one(console: Console) -> None:
    with stand_in("") as server:
        ran = console("--store", server.url, "--bank", "b", "entities")
    assert ran.code == 1
    assert "does not look like a Hindsight API" in ran.err

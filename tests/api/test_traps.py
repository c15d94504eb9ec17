"""The ten traps of the Hindsight API, each walked into on a real server: nothing may be destroyed or corrupted.

Each test would find a loss where the trap were fallen into.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

import console.cli.rows as rows
from console.memory.hindsight import HindsightStore
from console.memory.models import DocumentQuery, Page
from tests.cli.conftest import Console, Ran


class Bank:
    def __init__(self, console: Console, url: str, bank: str) -> None:
        self._console, self.url, self.bank = console, url, bank

    def run(self, *words: str, stdin: bytes = b"") -> Ran:
        return self._console("--store", self.url, "--bank", self.bank, *words, stdin=stdin)

    def ok(self, *words: str, stdin: bytes = b"") -> Ran:
        ran = self.run(*words, stdin=stdin)
        assert ran.code == 0, (words, ran.err)
        return ran

    def json(self, *words: str) -> Any:
        return self.ok(*words, "--json").json

    def documents(self) -> set[str]:
        return {row["id"] for row in self.json("documents", "list", "--all")["items"]}

    def facts(self, *words: str) -> dict[str, str]:
        return {row["text"]: row["id"] for row in self.json("memories", "list", "--all", *words)["items"]}


@pytest.fixture
def bank(console: Console, hindsight_url: str, bank_id: str) -> Bank:
    made = Bank(console, hindsight_url, bank_id)
    made.ok("retain", "--id", "keep", "--tag", "t", "Postgres runs on port 5433. Redis runs on port 6379.")
    return made


DOCUMENT = "/v1/default/banks/{bank_id}/documents/{document_id}"


def test_1_a_document_named_dot_dot_takes_no_bank_with_it(bank: Bank) -> None:
    bank.ok("retain", "--id", "..", "The gate is green.")
    for words in (
        ["api", "DELETE", f"/v1/default/banks/{bank.bank}/documents/..", "--yes"],
        ["api", "DELETE", f"/v1/default/banks/{bank.bank}/documents/%2e%2e", "--yes"],
        ["api", "DELETE", f"/v1/default/banks/{bank.bank}/documents/", "--yes"],
    ):
        assert bank.run(*words).code == 64
    assert bank.documents() == {"keep", ".."}
    bank.ok("api", "DELETE", DOCUMENT, "--path", "document_id=..", "--yes")
    assert bank.documents() == {"keep"}
    bank.ok("retain", "--id", "../../other", "The gate is green.")
    bank.ok("documents", "delete", "../../other", "--yes")
    assert bank.documents() == {"keep"}


def test_2_reprocess_says_what_it_would_revive_and_asks(bank: Bank) -> None:
    facts = bank.facts()
    bank.ok("memories", "invalidate", facts["Postgres runs on port 5433."], "--reason", "moved")
    bank.ok("memories", "edit", facts["Redis runs on port 6379."], "--text", "Redis runs on port 6380.")
    ran = bank.run("documents", "reprocess", "keep")
    assert ran.code == 64
    assert "1 edit lost, 1 retracted fact live again" in ran.err
    assert bank.run("api", "POST", f"{DOCUMENT}/reprocess", "--path", "document_id=keep").code == 64
    assert set(bank.facts()) == {"Redis runs on port 6380."}
    assert set(bank.facts("--state", "invalidated")) == {"Postgres runs on port 5433."}


def test_3_an_addition_keeps_tags_context_and_metadata(bank: Bank) -> None:
    bank.ok(
        "retain",
        "--id",
        "d",
        "--tag",
        "a",
        "--tag",
        "b",
        "--context",
        "omo",
        "--metadata",
        "k=v",
        "One is first.",
    )
    bank.ok("retain", "--id", "d", "--append", "--tag", "c", "Two is second.")
    found = bank.json("documents", "get", "d")
    assert found["original_text"] == "One is first.\nTwo is second."
    assert found["tags"] == ["a", "b", "c"]
    assert found["retain_params"]["context"] == "omo"
    assert found["retain_params"]["metadata"] == {"k": "v"}
    bank.ok("documents", "retag", "d", "--add", "x")
    assert bank.json("documents", "get", "d")["tags"] == ["a", "b", "c", "x"]


def test_4_clearing_memories_says_that_documents_go_too(bank: Bank) -> None:
    path = "/v1/default/banks/{bank_id}/memories"
    assert "every document" in bank.ok("api", "DELETE", path, "--dry-run").err
    assert bank.run("api", "DELETE", path).code == 64
    assert "1 documents and 2 memories" in bank.run("banks", "clear").err
    assert bank.run("api", "DELETE", path, "--query", "type=wrold", "--yes").code == 64
    assert bank.run("banks", "clear", "--type", "wrold", "--yes").code == 64
    assert bank.documents() == {"keep"}
    assert len(bank.facts()) == 2
    # And where it was cleared by type, the way back that works is the one that help names.
    bank.ok("banks", "clear", "--type", "world", "--yes")
    assert bank.facts() == {}
    bank.ok("documents", "reprocess", "keep", "--yes", "--wait")
    assert len(bank.facts()) == 2


def test_5_what_changes_nothing_moves_no_timestamp(bank: Bank) -> None:
    before = bank.json("documents", "get", "keep")
    bank.ok("documents", "retag", "keep", "--add", "t")
    bank.ok("documents", "tags", "keep", "t")
    assert bank.json("documents", "get", "keep") == before


def test_6_a_document_that_is_being_written_is_not_deleted_or_overtaken(bank: Bank) -> None:
    for attempt in range(3):
        name = f"busy{attempt}"
        operation = bank.json("retain", "--id", name, "--async", "The harbour is closed.")["operation_id"]
        ran = bank.run("documents", "delete", name, "--yes")
        bank.ok("operations", "wait", operation)
        assert (name in bank.documents()) == (ran.code != 0), ran.err
        operation = bank.json("retain", "--id", name + "x", "--async", "Version one is here.")["operation_id"]
        ran = bank.run("retain", "--id", name + "x", "Version two is here.")
        bank.ok("operations", "wait", operation)
        text = bank.json("documents", "get", name + "x")["original_text"]
        assert text == ("Version two is here." if ran.code == 0 else "Version one is here."), ran.err


def test_7_no_write_is_taken_for_an_earlier_one_and_an_unknown_operation_is_not_found(bank: Bank) -> None:
    first = bank.json("retain", "--id", "d", "--async", "One is first.")["operation_id"]
    bank.ok("operations", "wait", first)
    second = bank.json("retain", "--id", "d", "--async", "Two is second.")["operation_id"]
    assert first != second
    bank.ok("operations", "wait", second)
    assert bank.json("documents", "get", "d")["original_text"] == "Two is second."
    ran = bank.run("operations", "get", str(uuid.uuid4()))
    assert (ran.code, "not found" in ran.err) == (1, True)


def test_8_a_listing_that_shifts_is_an_error_not_a_short_list(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(4):
        bank.ok("retain", "--id", f"d{at}", f"Number {at} is here.")
    assert len(bank.documents()) == 5
    monkeypatch.setattr(rows.every, "__defaults__", (2,))
    assert len(bank.documents()) == 5
    asked: list[int] = []
    real = HindsightStore.list_documents

    async def meanwhile(store: HindsightStore, bank_id: str, query: DocumentQuery) -> Page[Any]:
        page = await real(store, bank_id, query)
        if query.limit:
            asked.append(query.offset)
        if asked == [0]:
            await store.delete_document(bank_id, page.items[0].id)
        return page

    monkeypatch.setattr(HindsightStore, "list_documents", meanwhile)
    ran = bank.run("documents", "list", "--all", "--jsonl")
    assert ran.code == 1
    assert "run it again" in ran.err


def test_9_ids_that_look_like_routes_are_themselves(bank: Bank) -> None:
    for name in ("keep/history", "CASE", "case", "keep/chunks"):
        bank.ok("retain", "--id", name, f"This is {name} itself.")
    for name in ("keep/history", "CASE", "case", "keep/chunks"):
        assert bank.json("documents", "get", name)["id"] == name
    assert bank.run("api", "GET", DOCUMENT, "--path", "document_id=keep/history").code == 1
    bank.ok("documents", "delete", "keep/history", "CASE", "--yes")
    assert bank.documents() == {"keep", "case", "keep/chunks"}
    assert bank.run("documents", "delete", "keep\n", "--yes").code == 1
    assert "keep" in bank.documents()


def test_10_a_failure_that_wrote_is_said(console: Console, hindsight_chunks_url: str, bank_id: str) -> None:
    bank = Bank(console, hindsight_chunks_url, bank_id)
    bank.ok("banks", "create", bank_id)
    ran = bank.run("models", "create", "Ports", "Which ports?")
    assert ran.code == 1
    [left] = bank.json("models", "list")["items"]
    assert f"model {left['id']} named 'Ports' is there" in ran.err
    bank.ok("models", "delete", left["id"], "--yes")


def test_10_what_would_break_the_bank_later_is_refused_and_no_secret_is_shown(bank: Bank) -> None:
    assert bank.run("models", "create", "N", "Q", "--id", "Bad ID").code == 64
    bank.ok("api", "GET", "/v1/default/banks/{bank_id}/export")
    ran = bank.run("directives", "create", "a", "b", "--bank", bank.bank + "-missing")
    assert (ran.code, "foreign" in ran.err) == (1, False)
    hook = [
        "api",
        "POST",
        "/v1/default/banks/{bank_id}/webhooks",
        "--field",
        "url=https://hooks.example.org/x",
    ]
    bank.ok(*hook, "--field", "secret=hush-hush", "--field", 'event_types=["retain.completed"]')
    bank.ok("retain", "--id", "d", "--async", "The harbour is closed.")
    for operation in bank.json("operations", "list")["operations"]:
        shown = bank.ok("operations", "get", operation["id"], "--json").out
        assert "hush-hush" not in shown
        assert "harbour" not in shown
    assert "hush-hush" not in json.dumps(bank.json("operations", "list"))

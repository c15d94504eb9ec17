"""What each command answers, for people and as JSON, on the embedded store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from console.cli import base
from console.text import width

from .conftest import Console

LISTS = [
    (["banks"], "banks", {"bank_id", "name", "fact_count", "last_write_at", "created_at"}),
    (
        ["documents"],
        "items",
        {"id", "content_hash", "tags", "retain_params", "text_length", "memory_unit_count"},
    ),
    (["documents", "chunks", "db"], "items", {"chunk_id", "chunk_index", "chunk_text", "document_id"}),
    (["memories"], "items", {"id", "text", "fact_type", "document_id", "state", "mentioned_at"}),
    (["operations"], "operations", set()),
]


@pytest.mark.parametrize(("words", "key", "fields"), LISTS, ids=[" ".join(case[0]) for case in LISTS])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_listing_is_one_json_value_in_hindsights_words(
    story: Console, words: list[str], key: str, fields: set[str], place: str
) -> None:
    ran = story("--json", *words) if place == "before" else story(*words, "--json")
    assert ran.code == 0
    assert ran.err == ""
    assert set(ran.json) >= {key, "total", "limit", "offset"}
    for row in ran.json[key]:
        assert set(row) >= fields


def test_recall_finds_the_fact_and_names_its_document(story: Console) -> None:
    first = story("recall", "which", "port", "--json").json["results"][0]
    assert (first["text"], first["document_id"]) == ("Locally it runs on port 5433.", "db")
    assert re.search(r"1\. Locally it runs on port 5433\.\n +world +· +in db", story("recall", "port").out)


def test_recall_takes_all_that_a_request_has(story: Console) -> None:
    ran = story(
        "recall", "port", "--type", "world", "--budget", "high", "--max-tokens", "500", "--at", "2026-12-01",
        "--tag", "t", "--tags-match", "all_strict", "--min-score", "final=0", "--from", "2026-10-01", "--to",
        "2026-12-01", "--no-prefer-observations", "--chunks", "--entities", "--source-facts", "--trace", "--json",
    )  # fmt: skip
    assert ran.code == 0
    assert ran.json["results"]
    assert ran.json["trace"]
    assert ran.json["chunks"]


def test_a_trace_says_which_arm_found_what(story: Console) -> None:
    out = story("recall", "port", "--trace").out
    assert re.search(r"\nTrace\nARM +FOUND +IN ANSWER +TIME\n\S+ +\d+ +\d+", out)
    assert re.search(r"why: .*\w 1\.", out)


def test_nothing_found_is_said_and_is_no_error(story: Console) -> None:
    ran = story("recall", "zebra")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing found" in ran.err
    assert story("recall", "zebra", "--json").json["results"] == []


def test_reflect_answers_with_its_sources(story: Console) -> None:
    assert "5433" in story("reflect", "which port").out
    answer = story("reflect", "which port", "--json").json
    assert answer["extractive"] is True
    assert answer["based_on"]["memories"]


def test_a_fact_is_taken_back_restored_and_edited(story: Console) -> None:
    fact = story("memories", "--q", "5433", "--json").json["items"][0]["id"]
    taken = story("memories", "invalidate", fact, "--reason", "outdated", "--json").json
    assert (taken["state"], taken["invalidation_reason"]) == ("invalidated", "outdated")
    assert story("recall", "port", "--json").json["results"] == []
    assert "invalidated" in story("memories", "--state", "invalidated").out
    assert story("memories", "restore", fact, "--json").json["state"] == "valid"
    edited = story("memories", "edit", fact, "--text", "It runs on port 5434.", "--json").json
    assert edited["text"] == "It runs on port 5434."
    assert "5434" in story("memories", "get", edited["id"]).out


def test_tags_are_shown_added_removed_and_replaced(story: Console) -> None:
    tags = ["documents", "tags", "db"]
    assert story(*tags).out == "t\n"
    assert story(*tags, "--add", "b", "--add", "a", "--remove", "t", "--json").json["tags"] == ["a", "b"]
    assert story(*tags, "x", "y", "--json").json["tags"] == ["x", "y"]
    assert story(*tags, "--clear", "--json").json["tags"] == []
    assert story("documents", "get", "db", "--json").json["tags"] == []


DELETIONS = [
    (["documents", "delete", "db"], "1 document with 2 memories"),
    (["documents", "delete", "db", "style"], "2 documents with 4 memories"),
    (["banks", "delete", "default"], "2 documents and 4 memories"),
]


@pytest.mark.parametrize(("words", "says"), DELETIONS, ids=[" ".join(case[0]) for case in DELETIONS])
class TestDeleting:
    def test_a_dry_run_says_how_much_and_deletes_nothing(
        self, story: Console, words: list[str], says: str
    ) -> None:
        ran = story(*words, "--dry-run")
        assert (ran.code, says in ran.err) == (0, True)
        assert story("documents", "--json").json["total"] == 2

    def test_a_script_without_yes_is_refused(self, story: Console, words: list[str], says: str) -> None:
        ran = story(*words)
        assert (ran.code, says in ran.err, "--yes" in ran.err) == (64, True, True)
        assert story("documents", "--json").json["total"] == 2

    @pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"\n", 1), (b"", 130), (b"y\n", 0)])
    def test_a_terminal_is_asked(
        self,
        story: Console,
        monkeypatch: pytest.MonkeyPatch,
        words: list[str],
        says: str,
        answer: bytes,
        code: int,
    ) -> None:
        monkeypatch.setattr(base, "stdin_is_terminal", lambda: True)
        ran = story(*words, stdin=answer)
        assert (ran.code, ran.out, says in ran.err) == (code, "", True)
        assert (story("documents", "--json").code, code) != (0, 0) or story("documents", "--json").json[
            "total"
        ] < 2

    def test_yes_deletes(self, story: Console, words: list[str], says: str) -> None:
        ran = story(*words, "--yes", "--json")
        assert (ran.code, ran.json["success"]) == (0, True)


def test_deleting_looks_at_every_id_before_the_first_is_gone(story: Console) -> None:
    assert story("documents", "delete", "db", "nosuch", "--yes").code == 1
    assert story("documents", "--json").json["total"] == 2


def test_a_listing_says_how_much_there_is(story: Console) -> None:
    assert story("memories", "--limit", "3").out.endswith("3 of 4 memories; --offset 3 or --all shows more\n")
    assert story("memories").out.endswith("4 memories\n")
    assert story("banks").out.endswith("1 bank\n")


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("words", [["documents"], ["banks"], ["settings"]], ids=" ".join)
def test_tables_fit_the_screen(
    console: Console, monkeypatch: pytest.MonkeyPatch, words: list[str], columns: int
) -> None:
    console(
        "retain",
        "One fact.",
        "--id",
        "a-very-long-document-id-" + "日本" * 20,
        "--tag",
        "x" * 50,
        "--context",
        "y" * 90,
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    table = [line for line in console(*words).out.splitlines() if ":  " not in line and ": " not in line]
    assert table
    assert max(map(width, table)) <= max(columns, 30)


def test_ids_are_never_cut(story: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    ids = {row["id"] for row in story("memories", "--json").json["items"]}
    assert {line.split()[0] for line in story("memories").out.splitlines()[1:-1]} == ids


HOSTILE = "red \x1b[31m c1 \x9b2J bidi \u202eabc zero\u200bwidth tag\U000e0041 bell\x07 back\x08 cr\rend line\u2028sep."


@pytest.mark.parametrize(
    "words",
    [["documents"], ["documents", "get", "ID"], ["documents", "get", "ID", "--text"], ["documents", "chunks", "ID"],
     ["documents", "tags", "ID"], ["memories"], ["recall", "red"], ["recall", "red", "--chunks", "--trace"],
     ["reflect", "red"], ["banks", "--bank", "default"]],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_control_character_of_a_bank_reaches_the_terminal(
    console: Console, words: list[str], form: str
) -> None:
    name = "id\u202e\x85x"
    made = console(
        "retain", "-", "--id", name, "--tag", "tag\x9b\u200b", "--context", HOSTILE, stdin=HOSTILE.encode()
    )
    assert made.code == 0, made.err
    name = console("documents", "--json").json["items"][0]["id"]
    words = [name if word == "ID" else word for word in words]
    ran = console(*words, *(["--json"] if form == "json" else []))
    assert ran.code == 0, ran.err
    shown = made.out + ran.out + ran.err
    assert [
        char for char in shown if char != "\n" and (not char.isprintable() and char not in "\ufe0f")
    ] == []
    if form == "json":
        json.loads(ran.out)


def test_raw_gives_the_stored_bytes(console: Console) -> None:
    console("retain", "-", "--id", "x", stdin="a\r\nb\u200bé\n".encode())
    assert console("documents", "get", "x", "--raw").out.encode() == "a\r\nb\u200bé\n".encode()


# Settings and the token ----------------------------------------------------------------------------------

TOKEN = "tok-5ecre7-value"
EVERY = [
    ["settings"], ["settings", "--json"], ["doctor"], ["doctor", "--json"], ["banks"], ["banks", "--json"],
    ["recall", "x"], ["documents", "get", "x"], ["retain", "x"], ["--help"], ["settings", "trust"],
]  # fmt: skip


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
@pytest.mark.parametrize("way", ["environment", "user", "elsewhere", "invalid", "command"])
def test_no_output_holds_the_token(
    console: Console, home: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], way: str
) -> None:
    config = home / "config" / "memory-console" / "config.toml"
    config.parent.mkdir(parents=True)
    token = f"{TOKEN} ü" if way == "invalid" else TOKEN
    if way == "command":
        config.write_text(f'store = "http://127.0.0.1:1"\ntoken_command = "echo {token}"\n', encoding="utf-8")
    elif way == "user":
        config.write_text(f'store = "http://127.0.0.1:1"\ntoken = "{token}"\n', encoding="utf-8")
    else:
        monkeypatch.setenv("HINDSIGHT_API_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("HINDSIGHT_API_TOKEN", token)
    extra = ["--store", "http://127.0.0.1:2"] if way == "elsewhere" else []
    monkeypatch.setenv("CONSOLE_TRACEBACK", "1")
    ran = console(*extra, *words)
    assert TOKEN not in ran.out + ran.err


def test_settings_name_the_source_of_each_value(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDSIGHT_API_URL", "https://host")
    monkeypatch.setenv("HINDSIGHT_API_TOKEN", TOKEN)
    rows: dict[str, Any] = {
        row["name"]: row for row in console("settings", "--json", "--bank", "b").json["items"]
    }
    assert (rows["store"]["value"], rows["store"]["source"]) == ("https://host", "HINDSIGHT_API_URL")
    assert (rows["bank"]["value"], rows["bank"]["source"]) == ("b", "--bank")
    assert (rows["token"]["value"], rows["token"]["source"]) == ("********", "HINDSIGHT_API_TOKEN")
    assert rows["wiki"]["source"] == "default"


def test_trust_lets_a_repositorys_file_name_the_store(console: Console, home: Path) -> None:
    (home / ".git").mkdir()
    (home / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (home / ".console.toml").write_text('store = "sqlite:team.db"\n', encoding="utf-8")
    assert "only a trusted file may set" in console("banks").err
    ran = console("settings", "trust")
    assert (ran.code, "it now sets: store" in ran.err) == (0, True)
    assert console("settings", "--json").json["items"][0]["value"] == f"sqlite:{home / 'team.db'}"
    assert console("settings", "trust", "--revoke").code == 0
    assert "memory.db" in console("settings", "--json").json["items"][0]["value"]


def test_doctor_says_what_works_and_what_does_not(story: Console) -> None:
    assert {row["status"] for row in story("doctor", "--json").json["items"]} <= {"ok", "note"}
    ran = story("doctor", "--store", "http://127.0.0.1:1", "--json")
    assert (ran.code, ran.json["ok"]) == (1, False)
    assert [row["check"] for row in ran.json["items"] if row["status"] == "failed"] == ["store"]


def test_without_a_command_and_a_terminal_help_is_shown(console: Console) -> None:
    ran = console()
    assert (ran.code, ran.out.startswith("Usage: console")) == (0, True)
    assert "needs a terminal" in ran.err

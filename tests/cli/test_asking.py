"""recall, reflect and probe on the command line: options that go together, comparing, several banks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.stand_in import stand_in

from .conftest import Console


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from", "2d"], "--from and --to go together"),
        (["--from", "1d", "--to", "2d"], "--to is before --from"),
        (["--tag", "a", "--tag-groups", "[]"], "exclude each other"),
        (["--tag-groups", '[{"tags":[]}]'], "list of texts"),
        (["--tag-groups", '[{"tags":["a"],"or":[]}]'], "one of tags, and, or, not"),
        (["--tag-groups", '[{"not":{"tags":["a"],"match":"most"}}]'], "match is one of"),
        (["--tag-groups", "[" + '{"and":[' * 40 + "1" + "]}" * 40 + "]"], "too deeply"),
        (["--tag", " "], "a tag is empty"),
        (["--min-score", "best=1"], "knows semantic"),
        (["--min-score", "final=x"], "not a number"),
        (["--chunk-tokens", "5"], "goes with --chunks"),
        (["--source-tokens", "5"], "goes with --source-facts"),
        (["--entity-tokens", "5"], "goes with --entities"),
        (["--prefer-observations", "--type", "world"], "needs observations"),
        (["--compare", "--nonsense"], "no such option"),
        (["--compare", "other query"], "no query"),
        (["--compare", "'"], "no closing quotation"),
        (["--compare", "--budget low", "--bank", "a", "--bank", "b"], "one bank"),
    ],
)
def test_a_recall_that_cannot_be_is_not_sent(console: Console, words: list[str], says: str) -> None:
    with stand_in() as server:
        ran = console("--store", server.url, "recall", "port", *words)
        assert (ran.code, server.requests) == (64, [])
    assert says.lower() in ran.err.lower()
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--tag", "a", "--tag-groups", "[]"], "exclude each other"),
        (["--no-tool-output"], "goes with --tool-calls"),
        (["--no-models", "--without-model", "m"], "adds nothing"),
        (["--schema", "[]"], "not a JSON object"),
    ],
)
def test_a_reflect_that_cannot_be_is_not_sent(console: Console, words: list[str], says: str) -> None:
    with stand_in() as server:
        ran = console("--store", server.url, "reflect", "port", *words)
        assert (ran.code, server.requests) == (64, [])
    assert says in ran.err


def test_every_recall_option_is_sent_by_its_name(console: Console) -> None:
    words = ["--type", "observation", "--type", "world", "--budget", "high", "--max-tokens", "9", "--at", "2026-01-01",
             "--tag-groups", '[{"tags":["a"]}]', "--min-score", "final=0.5", "--min-score", "keyword=1",
             "--from", "2026-01-01", "--to", "2026-02-01", "--prefer-observations", "--chunks", "--chunk-tokens", "1",
             "--entities", "--entity-tokens", "2", "--source-facts", "--source-tokens", "3", "--source-tokens-each", "-1",
             "--trace"]  # fmt: skip
    with stand_in() as server:
        assert console("--store", server.url, "--bank", "b", "recall", "port", *words).code == 0
        [(_, _, body)] = server.requests
    assert json.loads(body) == {
        "query": "port", "types": ["observation", "world"], "budget": "high", "max_tokens": 9, "trace": True,
        "query_timestamp": "2026-01-01T00:00:00Z", "tag_groups": [{"tags": ["a"]}],
        "min_scores": {"final": 0.5, "keyword": 1.0}, "prefer_observations": True,
        "temporal_window": {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"},
        "include": {"chunks": {"max_tokens": 1}, "entities": {"max_tokens": 2},
                    "source_facts": {"max_tokens": 3, "max_tokens_per_observation": -1}},
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["any", "all", "any_strict", "all_strict", "exact"])
def test_all_five_ways_of_matching_tags_are_sent(console: Console, mode: str) -> None:
    with stand_in() as server:
        assert console("--store", server.url, "recall", "x", "--tag", "a", "--tags-match", mode).code == 0
        assert json.loads(server.requests[0][2])["tags_match"] == mode


def test_every_reflect_option_is_sent_by_its_name(console: Console) -> None:
    words = ["--type", "world", "--budget", "mid", "--max-tokens", "9", "--tag-groups", '[{"tags":["a"]}]', "--schema", "{}",
             "--all-directives", "--without-model", "m", "--observation-tokens", "5", "--observation-entities",
             "--no-facts", "--tool-calls", "--no-tool-output"]  # fmt: skip
    with stand_in() as server:
        assert console("--store", server.url, "reflect", "port", *words).code == 0
        [(_, _, body)] = server.requests
    assert json.loads(body) == {
        "query": "port", "budget": "mid", "max_tokens": 9, "fact_types": ["world"], "tag_groups": [{"tags": ["a"]}],
        "response_schema": {}, "apply_all_directives": True, "exclude_mental_model_ids": ["m"],
        "reflect_search_observations_max_tokens": 5, "reflect_search_observations_include_entities": True,
        "include": {"facts": None, "tool_calls": {"output": False}},
    }  # fmt: skip


def test_options_that_need_a_model_are_refused_without_one(story: Console) -> None:
    ran = story("reflect", "port", "--no-models")
    assert ran.code == 1
    assert "--no-models needs a model" in ran.err


def test_comparing_two_sets_of_options(story: Console) -> None:
    ran = story("recall", "Postgres port tests", "--compare", "--tag t --tags-match any_strict", "--json")
    before, after = ({r["id"] for r in ran.json[name]["results"]} for name in ("before", "after"))
    assert after < before
    assert {m["id"] for m in ran.json["comparison"]["left"]} == before - after
    assert (
        "left" in story("recall", "Postgres port tests", "--compare", "--tag t --tags-match any_strict").out
    )


def test_several_banks_keep_their_ranks_and_their_errors(story: Console) -> None:
    story("--bank", "two", "retain", "--id", "x", "The port of two is 99.")
    ran = story("recall", "port", "--bank", "default", "--bank", "two", "--bank", "none", "--json")
    assert ran.code == 1
    answers = {row["bank_id"]: row for row in ran.json["banks"]}
    assert answers["two"]["answer"]["results"][0]["document_id"] == "x"
    assert answers["default"]["answer"]["results"][0]["document_id"] == "db"
    assert "error" in answers["none"]
    assert "bank 'none'" in ran.err


def test_one_bank_may_stand_before_or_after(story: Console) -> None:
    story("--bank", "two", "retain", "--id", "x", "The port of two is 99.")
    after = story("recall", "port", "--bank", "two", "--json").json
    assert after["results"][0]["document_id"] == "x"
    assert [r["id"] for r in story("--bank", "two", "recall", "port", "--json").json["results"]] == [
        r["id"] for r in after["results"]
    ]


def test_probes_are_compared_with_the_last_run(story: Console, home: Path) -> None:
    (home / "p.yaml").write_text(
        "probes: [{query: which port, facts: [port 5433]}, {query: pytest, documents: [style]}]"
    )
    first = story("probe", "run", "p.yaml", "--json")
    assert (first.code, first.json["passed"], first.json["changes"]) == (0, 2, [])
    fact = next(m for m in story("memories", "--json").json["items"] if "5433" in m["text"])
    story("memories", "invalidate", fact["id"], "--reason", "moved")
    for _ in range(2):  # a regression stays one until it is repaired
        ran = story("probe", "run", "p.yaml", "--json")
        assert (ran.code, ran.json["regressed"]) == (1, 1)
    assert "regressed" in story("probe", "run", "p.yaml").out
    story("memories", "restore", fact["id"])
    assert story("probe", "run", "p.yaml").code == 0


def test_a_baseline_in_a_file(story: Console, home: Path) -> None:
    (home / "p.yaml").write_text("probes: [{query: which port, facts: [port 5433]}]")
    assert story("probe", "run", "p.yaml", "--save", "base.json").code == 0
    (home / "p.yaml").write_text("probes: [{query: which port, facts: [port 9]}]")
    ran = story("probe", "run", "p.yaml", "--baseline", "base.json")
    assert ran.code == 1
    (home / "base.json").write_text("[]")
    ran = story("probe", "run", "p.yaml", "--baseline", "base.json")
    assert (ran.code, "no earlier run" in ran.err) == (64, True)
    assert story("probe", "run").code == 64


def test_times_may_be_relative(story: Console) -> None:
    assert story("documents", "--changed-since", "2d", "--json").json["total"] == 2
    assert story("documents", "--until", "yesterday", "--json").json["total"] == 0
    assert story("documents", "--since", "1d", "--until", "2d").code == 64
    assert story("memories", "--since", "soon").code == 64

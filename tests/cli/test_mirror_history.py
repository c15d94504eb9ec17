"""``mirror diff | log | blame`` in a checkout: git alone answers, no store is reachable."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Console

DEAD = ("--store", "http://127.0.0.1:1")
"""Nothing listens there: a command that opened the store would fail."""


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, check=True)
    return done.stdout.decode("utf-8")


@pytest.fixture
def wiki(story: Console, home: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """A repository with the wiki of the story's two documents; one fact taken back under pull request 7."""
    repo = home / "repo"
    repo.mkdir()
    for words in (
        ["init", "-q", "-b", "main", str(repo)],
        ["-C", str(repo), "config", "user.name", "Ada"],
        ["-C", str(repo), "config", "user.email", "ada@example.org"],
    ):
        git(*words)
    (repo / ".console.toml").write_text('bank = "default"\n', encoding="utf-8", newline="\n")
    git("-C", str(repo), "add", ".")
    git("-C", str(repo), "commit", "-q", "-m", "first")
    monkeypatch.chdir(repo)
    assert story("mirror", "init").code == 0
    assert story("mirror", "retract", "Locally it runs on port 5433.", "--reason", "it is 5434").code == 0
    git("commit", "-q", "-a", "-m", "Take back the port (#7)")
    assert story("mirror", "sync").code == 0
    return story


def test_diff_tells_what_was_taken_back(wiki: Console) -> None:
    ran = wiki("mirror", "diff", "HEAD~2..HEAD", *DEAD)
    assert (ran.code, ran.err) == (0, "")
    assert "x retracted Locally it runs on port 5433." in ran.out
    assert "it is 5434; Ada; #7" in ran.out
    assert ran.out.splitlines()[-1].endswith("1 fact retracted; 1 document changed")


def test_diff_as_json_has_the_counts_and_each_fact(wiki: Console) -> None:
    value = wiki("mirror", "diff", "HEAD~2", "--json", *DEAD).json
    assert value["counts"] == {"documents changed": 1, "retracted": 1}
    [document] = value["banks"][0]["documents"]
    assert document["facts"][0]["pr"] == "#7"
    assert value == wiki("mirror", "diff", "HEAD~2", "--format", "json", *DEAD).json


def test_diff_as_markdown(wiki: Console) -> None:
    text = wiki("mirror", "diff", "HEAD~2", "--format", "markdown", *DEAD).out
    assert text.startswith("1 fact retracted; 1 document changed.\n")
    assert "- **retracted** Locally it runs on port 5433. · it is 5434; Ada; #<!-- -->7; " in text


@pytest.mark.parametrize("words", [["diff", "nope"], ["log", "nope"], ["diff", "HEAD..nope"]])
def test_an_unknown_revision_is_one_line(wiki: Console, words: list[str]) -> None:
    ran = wiki("mirror", *words, *DEAD)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "no such revision" in ran.err


def test_log_names_each_commit_with_its_counts(wiki: Console) -> None:
    commits = wiki("mirror", "log", "--json", *DEAD).json["commits"]
    assert [(c["mirror"], c["counts"], c["author"]) for c in commits] == [
        (True, {"changed": 1}, "Ada"),
        (False, {"changed": 1}, "Ada"),
        (True, {"added": 2}, "Ada"),
    ]
    assert "Take back the port (#7)" in wiki("mirror", "log", *DEAD).out
    assert len(wiki("mirror", "log", "-n", "1", *DEAD).out.splitlines()) == 1


def test_log_of_retractions_in_every_form(wiki: Console) -> None:
    [row] = wiki("mirror", "log", "--retractions", "--json", *DEAD).json["retractions"]
    assert (row["document_id"], row["text"], row["reason"], row["by"], row["pr"], row["state"]) == (
        "db", "Locally it runs on port 5433.", "it is 5434", "Ada", "#7", "retracted",
    )  # fmt: skip
    text = wiki("mirror", "log", "--retractions", *DEAD).out
    assert "it is 5434; Ada; #7" in text
    shown = wiki("mirror", "log", "--retractions", "--format", "markdown", *DEAD).out
    assert shown.startswith(
        "- **retracted** Locally it runs on port 5433. · db · it is 5434; Ada; #<!-- -->7; "
    )
    assert f"?plain=1#L{row['line']})" in shown


@pytest.mark.parametrize("by", ["key", "key of the page", "words"])
def test_blame_says_who_said_it_and_how_it_was_taken_back(wiki: Console, by: str) -> None:
    key = wiki("mirror", "log", "--retractions", "--json", *DEAD).json["retractions"][0]["key"]
    asked = {"key": key, "key of the page": f"f:{key}", "words": "port 5433"}[by]
    found = wiki("mirror", "blame", asked, "--json", *DEAD).json
    first = git("rev-parse", "HEAD~2").strip()
    assert (found["agent"], found["session"], found["tags"], found["state"]) == (
        "omo",
        "s1",
        ["t"],
        "retracted",
    )
    assert (found["appeared"]["commit"], found["retraction"]["pr"]) == (first, "#7")
    assert found["retracted_in"]["commit"] == git("rev-parse", "HEAD").strip()


def test_blame_follows_a_mirror_branch_whose_commits_all_have_two_parents(wiki: Console) -> None:
    git("checkout", "-q", "-b", "elsewhere")
    wiki("retain", "--id", "new", "Backups run nightly.")
    assert wiki("mirror", "sync", "--branch", "--default-branch", "main").code == 0
    tip = git("rev-parse", "mirror/default").strip()
    git("merge", "-q", "--no-ff", "-m", "Merge pull request #9 from x/mirror", "mirror/default")
    found = wiki("mirror", "blame", "Backups run nightly.", "--json", *DEAD).json
    assert (found["appeared"]["commit"], found["appeared_pr"]) == (tip, "#9")


@pytest.mark.parametrize(
    ("fact", "says"), [("0123456789ab", "no page has such a fact"), ("with", "2 facts match")]
)
def test_blame_of_none_or_several_is_one_line(wiki: Console, fact: str, says: str) -> None:
    ran = wiki("mirror", "blame", fact, *DEAD)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert says in ran.err


def test_a_checkout_without_a_wiki_is_told_so(console: Console, home: Path) -> None:
    git("init", "-q", str(home))
    git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    for words in (["log"], ["blame", "x"], ["log", "--retractions"]):
        ran = console("mirror", *words, *DEAD)
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "no wiki of a bank here yet" in ran.err
    assert "no wiki of a bank at either revision" in console("mirror", "diff", *DEAD).out

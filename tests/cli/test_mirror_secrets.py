"""``mirror sync`` and ``mirror secrets`` on a bank that holds a key: named by rule and place, never by value."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Console

TOKEN = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
DEAD = ("--store", "http://127.0.0.1:1")


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout


@pytest.fixture
def leaky(console: Console, home: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """A repository, and a bank with the key in a document's text and in another one's id."""
    repo = home / "repo"
    git("init", "-q", "-b", "main", str(repo))
    monkeypatch.chdir(repo)
    git("config", "user.name", "Ada")
    git("config", "user.email", "ada@example.org")
    (repo / ".console.toml").write_text('bank = "default"\n', encoding="utf-8", newline="\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    console("retain", "--id", "doc", f"The key is {TOKEN} since May.")
    console("retain", "--id", f"s/{TOKEN}", "--text", "A plain fact.")
    return console


def fingerprint(console: Console) -> str:
    [mark] = {row["fingerprint"] for row in console("mirror", "secrets", "--json", *DEAD).json["withheld"]}
    return str(mark)


def test_no_verb_prints_it_and_git_does_not_have_it(leaky: Console) -> None:
    for words, code in (
        (["init"], 6),
        (["sync"], 6),
        (["plan"], 6),
        (["status"], 0),
        (["verify"], 0),
        (["secrets"], 6),
        (["diff"], 0),
        (["log"], 0),
        (["retract", "The key is"], 0),
    ):
        for form in ([], ["--json"]):
            ran = leaky("mirror", *words, *form) if words != ["retract", "The key is"] or not form else None
            if ran is None:
                continue
            assert ran.code == code, (words, ran.err)
            assert TOKEN not in ran.out + ran.err
    git("commit", "-q", "-a", "-m", "Take it back")
    ran = leaky("mirror", "sync", "--json")
    assert (ran.json["sent"], TOKEN in ran.out + ran.err) == (1, False)
    oids = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    stored = subprocess.run(
        ["git", "cat-file", "--batch"], input=oids, capture_output=True, check=True
    ).stdout
    assert TOKEN.encode() not in stored
    assert TOKEN.lower().encode() not in stored


def test_a_run_says_what_to_do(leaky: Console) -> None:
    out = leaky("mirror", "init").out
    assert "github-token withheld" in out
    assert "change the secret itself first" in out
    assert "mirror secrets keep FINGERPRINT" in out


def test_keep_ends_with_0(leaky: Console) -> None:
    leaky("mirror", "init")
    ran = leaky("mirror", "secrets", "keep", fingerprint(leaky), *DEAD)
    assert (ran.code, ran.out.count("\n")) == (0, 2)
    git("commit", "-q", "-a", "-m", "Settle a secret")
    assert leaky("mirror", "sync").code == 0
    assert leaky("mirror", "secrets", *DEAD).code == 0


def test_allow_shows_it(leaky: Console) -> None:
    leaky("mirror", "init")
    leaky("mirror", "secrets", "allow", fingerprint(leaky), *DEAD)
    git("commit", "-q", "-a", "-m", "Settle a secret")
    assert leaky("mirror", "sync", "--max-gone", "2").code == 0
    assert TOKEN.encode() in git("grep", "-h", "The key is", "HEAD", "--", "wiki")


def test_a_document_whose_id_holds_it_can_be_erased_by_either_id(leaky: Console) -> None:
    leaky("mirror", "init")
    alias = next(
        row["document_id"]
        for row in leaky("mirror", "secrets", "--json", *DEAD).json["withheld"]
        if row["document_id"].startswith("withheld--")
    )
    for name in (f"s/{TOKEN}", alias):
        ran = leaky("mirror", "erase", name, "--dry-run", "--json")
        assert (ran.code, ran.json["facts"]) == (0, 1)
        assert TOKEN not in ran.out + ran.err
    unasked = leaky("mirror", "erase", alias)
    assert (unasked.code, "will not delete document" in unasked.err) == (64, True)
    assert "1 fact for good unasked" in unasked.err
    leaky("mirror", "erase", alias, "--yes")
    assert leaky("documents", "--json").json["total"] == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["keep", "nonsense"], 64, "12 hex digits"),
        (["keep", "0123456789ab"], 1, "no page has a secret"),
        (["publish", "0123456789ab"], 64, "publish"),
    ],
)
def test_bad_input_is_one_line(leaky: Console, words: list[str], code: int, says: str) -> None:
    leaky("mirror", "init")
    ran = leaky("mirror", "secrets", *words, *DEAD)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert ran.err.count(": see ") <= 1

"""``mirror import``: the bank is lost, the wiki is there; afterwards both say the same, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Console
from tests.cli.test_mirror_history import git, wiki

__all__ = ["wiki"]
PORT = "Locally it runs on port 5433."
CODE = "Run this:\n\n```sh\nmake db-up\nmake migrate\n```\n\nThen the database is ready. I checked it on 2026-11-03.\n"


def pages() -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Path("wiki").rglob("*") if p.suffix in {".md", ".txt"}}


def test_a_lost_bank_comes_back_with_what_was_taken_back(wiki: Console) -> None:
    assert wiki("retain", "--id", "how", "--text", CODE).code == 0
    assert wiki("mirror", "sync").code == 0
    before = pages()
    ran = wiki("--store", "sqlite:new.db", "mirror", "import", "--json")
    assert ran.code == 0, ran.out + ran.err
    assert (ran.json["documents"], ran.json["invalidated"]) == (3, 1)
    assert ran.json["verification"]["differences"] == []
    assert pages() == before
    assert wiki("--store", "sqlite:new.db", "mirror", "verify").code == 0
    assert PORT not in wiki("--store", "sqlite:new.db", "recall", "port", "--json").out
    [gone] = wiki("--store", "sqlite:new.db", "memories", "list", "--state", "invalidated", "--json").json[
        "items"
    ]
    assert (gone["text"], gone["invalidation_reason"]) == (PORT, "it is 5434; Ada")
    assert "bound to another bank" in wiki("mirror", "verify").err, "the wiki is of the new bank now"


def test_a_dry_run_writes_nothing(wiki: Console, home: Path) -> None:
    head = git("rev-parse", "HEAD")
    ran = wiki("--store", "sqlite:new.db", "mirror", "import", "--dry-run", "--json")
    assert (ran.code, ran.json["documents"], ran.json["facts"]) == (0, 2, 3)
    assert git("rev-parse", "HEAD") == head
    assert wiki("--store", "sqlite:new.db", "banks", "--json").json["total"] == 0


def test_a_bank_that_holds_something_needs_merge(wiki: Console) -> None:
    store = ("--store", "sqlite:new.db")
    wiki(*store, "retain", "--id", "db", "--text", "Another text under the same id.")
    wiki(*store, "retain", "--id", "own", "--text", "The new bank knows this alone.")
    ran = wiki(*store, "mirror", "import")
    assert ran.code == 1
    assert "not empty" in ran.err
    merged = wiki(*store, "mirror", "import", "--merge", "--json")
    assert merged.json["skipped"] == ["db"]
    assert merged.json["documents"] == 1
    assert wiki(*store, "documents", "--json").json["total"] == 3
    assert merged.json["verification"]["differences"] == []


@pytest.mark.parametrize(
    ("suffix", "said"),
    [(".md", "the page was edited"), (".txt", "the text was edited")],
    ids=["page", "text"],
)
def test_an_edited_page_is_refused_by_name_and_nothing_comes_in(
    wiki: Console, suffix: str, said: str
) -> None:
    file = next(
        p for p in Path("wiki").rglob(f"pages/*/*{suffix}") if "pytest" in p.read_text(encoding="utf-8")
    )
    text = file.read_text(encoding="utf-8").replace("pytest", "unittest")
    file.write_text(text, encoding="utf-8", newline="\n")
    git("commit", "-q", "-a", "-m", "edit")
    ran = wiki("--store", "sqlite:new.db", "mirror", "import", "--json")
    assert ran.code == 3
    [line] = ran.json["refused"]
    assert said in line
    assert file.name in line
    assert wiki("--store", "sqlite:new.db", "banks", "--json").json["total"] == 0

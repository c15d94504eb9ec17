"""Many things at once: ids on standard input, a result for each, and what failed given again."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from console.cli.rows import every
from console.memory.errors import Conflict
from console.memory.models import DocumentQuery, DocumentSummary, Page

from .conftest import Console

NOBODY = "00000000-0000-4000-8000-000000000009"


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("flags", [["--jsonl"], ["--json"], ["--jsonl", "--all"], ["--json", "--all"]])
def test_a_listing_is_piped_into_a_change(story: Console, flags: list[str]) -> None:
    listed = story("memories", "list", "--document", "db", *flags)
    ran = story("memories", "invalidate", "-", "--reason", "outdated", stdin=listed.out.encode())
    assert ran.code == 0, ran.err
    assert ran.out.count("invalidated") == 2
    gone = story("memories", "--state", "invalidated", "--json").json["items"]
    assert {(m["document_id"], m["invalidation_reason"]) for m in gone} == {("db", "outdated")}
    assert len(gone) == 2


def test_each_has_its_result_and_what_failed_can_be_given_again(story: Console, home: Path) -> None:
    good = story("memories", "--json").json["items"][0]["id"]
    given = f'"{good}"\n{NOBODY}\n{{"id": "{good}"}}\n\n'.encode()
    ran = story("memories", "invalidate", "-", "--json", "--failed", "left.jsonl", stdin=given)
    assert ran.code == 1
    assert [(row["id"], row["success"]) for row in ran.json["items"]] == [(good, True), (NOBODY, False)]
    [left] = lines((home / "left.jsonl").read_text())
    assert left["id"] == NOBODY
    assert "no memory" in str(left["error"])
    again = story("memories", "invalidate", "-", "--jsonl", stdin=(home / "left.jsonl").read_bytes())
    assert again.code == 1
    assert [row["id"] for row in lines(again.out)] == [NOBODY]


def test_a_dry_run_changes_nothing(story: Console) -> None:
    before = story("memories", "--json").out
    listed = story("memories", "--jsonl").out.encode()
    ran = story("memories", "invalidate", "-", "--dry-run", stdin=listed)
    assert (ran.code, ran.out.count("would be invalidated")) == (0, 4)
    assert story("memories", "--json").out == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b"", "names nothing"),
        (b"\n \n", "names nothing"),
        (b"{", "line 1 of standard input is no JSON"),
        (b'"a"\n{"x": 1}', "line 2 of standard input names no id"),
        (b"\xff", "line 1 of standard input is not UTF-8"),
        (b"[[1]]", "names no id"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_list_of_ids_changes_nothing(story: Console, given: bytes, says: str) -> None:
    before = story("memories", "--json").out
    ran = story("memories", "invalidate", "-", stdin=given)
    assert ran.code == 64
    assert says in ran.err
    assert story("memories", "--json").out == before


def test_documents_are_deleted_from_a_pipe_only_with_a_yes(story: Console) -> None:
    listed = story("documents", "--jsonl", "--q", "pytest").out.encode()
    ran = story("documents", "delete", "-", stdin=listed)
    assert (ran.code, "add --yes" in ran.err) == (64, True)
    ran = story("documents", "delete", "-", "--yes", "--jsonl", stdin=listed)
    assert lines(ran.out) == [{"id": "style", "success": True, "result": {"memory_units_deleted": 2}}]
    assert [d["id"] for d in story("documents", "--json").json["items"]] == ["db"]


def test_tags_are_added_and_removed_and_the_rest_stays(story: Console) -> None:
    ran = story(
        "documents",
        "retag",
        "-",
        "--add",
        "new",
        "--remove",
        "t",
        stdin=story("documents", "--jsonl").out.encode(),
    )
    assert ran.code == 0
    found = {d["id"]: d["tags"] for d in story("documents", "--json").json["items"]}
    assert found == {"db": ["new"], "style": ["new"]}
    assert story("documents", "retag", "db", "--add", "x", "--remove", "x").code == 64
    assert story("documents", "retag", "db").code == 64


def test_lines_carry_hostile_text_escaped(story: Console) -> None:
    story("retain", "--id", "esc\x1b[2J", "--text", "Red \x1b[31m alert \u202e here is one.")
    out = story("documents", "--jsonl").out
    assert "\x1b" not in out
    assert "esc\x1b[2J" in {row["id"] for row in lines(out)}


class Shifting:
    """A listing between whose pages somebody writes."""

    def __init__(self, total: int, gone_after: int | None) -> None:
        self.rows = [DocumentSummary(id=f"d{at}") for at in range(total)]
        self.gone_after, self.asked = gone_after, 0

    async def page(self, query: DocumentQuery) -> Page[DocumentSummary]:
        self.asked += 1
        rows = self.rows[query.offset : query.offset + query.limit]
        answer = Page(items=tuple(rows), total=len(self.rows), limit=query.limit, offset=query.offset)
        if self.asked == self.gone_after:
            del self.rows[0]
        return answer


@pytest.mark.parametrize("total", [0, 1, 9, 10, 11, 20, 25])
async def test_all_pages_are_all_rows(total: int) -> None:
    bank = Shifting(total, None)
    found = [row.id async for page in every(bank.page, DocumentQuery(), 10) for row in page.items]
    assert found == [f"d{at}" for at in range(total)]


async def test_a_row_that_fell_between_two_pages_is_not_passed_over() -> None:
    """Trap 8: after a delete the next page begins one row later."""
    bank = Shifting(25, 1)
    seen: list[str] = []
    with pytest.raises(Conflict, match="run it again"):
        async for page in every(bank.page, DocumentQuery(), 10):
            seen += [row.id for row in page.items]
    assert "d10" not in seen


def test_every_row_of_json_lines_is_a_row_of_json(story: Console) -> None:
    for noun in ("documents", "memories"):
        assert lines(story(noun, "list", "--jsonl").out) == story(noun, "list", "--json").json["items"]
        assert msgspec.json.decode(story(noun, "--json", "--all").out)["total"] in (2, 4)

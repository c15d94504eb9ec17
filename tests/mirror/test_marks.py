"""What a reviewer wrote on a page, edit by edit."""

from __future__ import annotations

import pytest

from mirror import marks, page
from mirror.marks import ERASE, RESTORE, RETRACT, PageMarks
from mirror.model import PageSource, Record, RenderedPage
from mirror.parse import parse
from mirror.source import SourceFact

FACTS = (
    "ledgerline uses Postgres 16 in every environment.",
    "Run `make db-up` and then `make migrate`, see https://handbook.example/db?x=1&y=2.",
    "payments_webhook_retry waits 2 * 30 seconds <by default>.",
)
GONE = "Locally it runs on port 5433."


def rendered(*, live: bool = True, gone: bool = True, chunk: str = "") -> RenderedPage:
    facts = [
        SourceFact(str(n), "ses_1", text, "world", live, 0, f"2026-12-01T10:00:0{n}")
        for n, text in enumerate(FACTS)
    ]
    if gone:
        facts.append(
            SourceFact(
                "g",
                "ses_1",
                GONE,
                "world",
                False,
                0,
                "2026-12-01T10:00:09",
                reason="outdated; jonas",
                invalidated_at="2026-12-02",
            )
        )
    if chunk:
        facts.append(SourceFact("c", "ses_1", chunk, "world", True, 3))
    return page.render(
        PageSource(
            "demo", "ses_1", " ".join([*FACTS, GONE]) + "\n", "2026-12-01T10:00:00Z", facts=tuple(facts)
        ),
        text_name="ses-1.txt",
    )


PAGE = rendered().page.decode()
LINES = {text: page.write_line(line) for text, line in zip([*FACTS, GONE], rendered().facts, strict=True)}
LIVE, CODE, ODD, DEAD = (LINES[text] for text in [*FACTS, GONE])
KEYS = [line.key for line in rendered().facts]


def read(text: str | bytes, *, base: bool = True, document_id: str = "ses_1") -> PageMarks:
    data = text if isinstance(text, bytes) else text.encode()
    return marks.read(parse(data), document_id=document_id, base=parse(PAGE.encode()) if base else None)


def edited(old: str, new: str) -> str:
    assert PAGE.count(old) == 1, old
    return PAGE.replace(old, new)


def found(result: PageMarks) -> list[tuple[str, int, str]]:
    return [(m.kind, KEYS.index(m.key) if m.key else -1, m.reason) for m in result.marks]


def with_body(line: str, change: str) -> str:
    """``change`` with ``{}`` for the fact's markdown; the comment stays behind it."""
    body, comment = line.removeprefix("- ").split(" <!--", 1)
    body = body.removeprefix("[ ] ").strip("~")
    return change.format(body) + " <!--" + comment


@pytest.mark.parametrize(
    ("line", "change", "expected"),
    [
        (LIVE, "- {}", []),
        (LIVE, "- [x] {}", []),
        (LIVE, "- [X] {}", []),
        (LIVE, "* {}", []),
        (LIVE, "+ [x] {}", []),
        (LIVE, "- [ ] {}", [(RETRACT, 0, "")]),
        (LIVE, "* [ ] {}", [(RETRACT, 0, "")]),
        (LIVE, "-   [ ]   {}", [(RETRACT, 0, "")]),
        (LIVE, "- ~~{}~~", [(RETRACT, 0, "")]),
        (LIVE, "- ~{}~", [(RETRACT, 0, "")]),
        (LIVE, "- [ ] ~~{}~~", [(RETRACT, 0, "")]),
        (CODE, "- [ ] {}", [(RETRACT, 1, "")]),
        (ODD, "- ~~{}~~", [(RETRACT, 2, "")]),
        (DEAD, "- [ ] ~~{}~~", []),
        (DEAD, "- [ ] {}", []),
        (DEAD, "- ~~{}~~", []),
        (DEAD, "- [x] ~~{}~~", [(RESTORE, 3, "outdated; jonas; 2026-12-02")]),
        (DEAD, "- [x] {}", [(RESTORE, 3, "outdated; jonas; 2026-12-02")]),
        (DEAD, "- {}", [(RESTORE, 3, "outdated; jonas; 2026-12-02")]),
    ],
)
@pytest.mark.parametrize("base", [True, False])
def test_a_look_that_differs_from_the_comment_is_a_mark(
    line: str, change: str, expected: list[tuple[str, int, str]], base: bool
) -> None:
    result = read(edited(line, with_body(line, change)), base=base)
    assert (found(result), result.refused) == (expected, ())


def test_what_stands_behind_the_comment_is_the_reason() -> None:
    result = read(edited(LIVE, with_body(LIVE, "- [ ] {}") + " 17 since *May*; see #12"))
    assert found(result) == [(RETRACT, 0, "17 since *May*; see #12")]


def test_the_comment_may_be_struck_along() -> None:
    result = read(edited(LIVE, f"- ~~{LIVE[2:]}~~ wrong"))
    assert (found(result), result.refused) == ([(RETRACT, 0, "wrong")], ())


@pytest.mark.parametrize(
    ("line", "new", "says", "write"),
    [
        (LIVE, LIVE.replace("16", "17"), "text was changed", f"- [ ] {LIVE[2:]}"),
        (LIVE, "- [ ] " + LIVE[2:].replace("16", "17"), "text was changed", f"- [ ] {LIVE[2:]}"),
        (LIVE, LIVE.replace("Postgres 16", "~~Postgres 16~~"), "only a part", f"- [ ] {LIVE[2:]}"),
        (
            LIVE,
            with_body(LIVE, "- [ ] {} this is wrong"),
            "before the comment",
            f"- [ ] {LIVE[2:]} this is wrong",
        ),
        (LIVE, with_body(LIVE, "- [-] {}"), "`[-]` is no mark", f"- [ ] {LIVE[2:]}"),
        (LIVE, with_body(LIVE, "- [] {}"), "`[]` is no mark", f"- [ ] {LIVE[2:]}"),
        (LIVE, with_body(LIVE, "- [ ]{}"), "`[ ]` is no mark", f"- [ ] {LIVE[2:]}"),
        (LIVE, with_body(LIVE, "- ( ) {}"), "`( )` is no mark", f"- [ ] {LIVE[2:]}"),
        (LIVE, with_body(LIVE, "- [x] ~~{}~~"), "ticked and struck", f"- [ ] {LIVE[2:]}"),
        (LIVE, f"{LIVE} why?", "reason without a mark", f"- [ ] {LIVE[2:]} why?"),
        (LIVE, "", "was deleted", f"- [ ] {LIVE[2:]}"),
        (LIVE, LIVE.split(" <!--")[0], "comment behind this fact", LIVE),
        (LIVE, f"- [ ] {LIVE[2:].split(' <!--')[0]}", "comment behind this fact", f"- [ ] {LIVE[2:]}"),
        (LIVE, LIVE.replace("<!-- f:", "<!-- f:zz"), "comment behind this fact", LIVE),
        (LIVE, f"{LIVE}\n- a new fact of mine", "without a fact's comment", ""),
        (DEAD, "", "was deleted", DEAD),
    ],
)
def test_an_edit_that_is_no_mark_is_answered_with_the_line_to_write(
    line: str, new: str, says: str, write: str
) -> None:
    result = read(edited(line, new))
    assert found(result) == []
    (refused,) = result.refused
    assert says in refused.what
    assert refused.write == write
    if write:
        assert read(edited(line, write)).refused == (), "the answer itself must be accepted"


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (f"{LIVE}\n{LIVE}", "more than once"),
        (f"{LIVE}\n- [ ] {LIVE[2:]}", "more than once"),
        (f"{LIVE} {CODE[2:]}", "two facts"),
        (f"{LIVE}\n- foreign <!-- f:0123456789ab -->", "never had"),
        (f"{LIVE}\n- [ ] foreign <!-- f:0123456789ab L3 -->", "never had"),
    ],
)
def test_unknown_and_doubled_keys_are_refused(new: str, says: str) -> None:
    result = read(edited(LIVE, new))
    assert found(result) == []
    assert says in result.refused[0].what


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> topic", "||||||| base"])
def test_nothing_counts_on_a_page_with_a_conflict_marker(marker: str) -> None:
    result = read(edited(LIVE, f"- [ ] {LIVE[2:]}\n{marker}"))
    assert found(result) == []
    assert "merge conflict" in result.refused[0].what
    assert PAGE.split("\n").index(LIVE) + 2 == result.refused[0].line


def test_a_page_of_another_document_counts_for_nothing() -> None:
    result = read(edited(LIVE, f"- [ ] {LIVE[2:]}"), document_id="ses_2")
    assert (found(result), len(result.refused)) == ([], 1)


class TestStatus:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [("retracted", [(RETRACT, -1, "")]), ("erased", [(ERASE, -1, "")]), ("active", [])],
    )
    def test_a_status_that_the_mirror_did_not_write_is_a_mark(
        self, status: str, expected: list[object]
    ) -> None:
        assert found(read(edited('status: "active"', f"status: {status}"))) == expected

    def test_active_again_restores_a_retracted_document(self) -> None:
        text = rendered(live=False).page.decode()
        assert 'status: "retracted"' in text
        assert found(read(text, base=False)) == []
        assert found(read(text.replace('"retracted"', '"active"'), base=False)) == [(RESTORE, -1, "")]

    def test_reason_and_successor_are_read(self) -> None:
        text = edited('status: "active"', 'reason: wrong customer\nstatus: retracted\nsuperseded_by: "ses_9"')
        (mark,) = read(text).marks
        assert (mark.kind, mark.reason, mark.superseded_by) == (RETRACT, "wrong customer", "ses_9")

    def test_a_restore_on_a_page_that_is_taken_back_is_refused(self) -> None:
        text = edited('status: "active"', "status: retracted").replace(DEAD, DEAD.replace("[ ]", "[x]"))
        result = read(text)
        assert found(result) == [(RETRACT, -1, "")]
        assert "whole document" in result.refused[0].what

    @pytest.mark.parametrize(
        "front",
        [
            "status: retracted\nstatus: active",
            "status: *a",
            "- status: retracted",
            "status: &a retracted",
            "x: [",
            'a: "\\ud800"',
        ],
    )
    def test_nothing_is_read_from_front_matter_that_is_not_in_order(self, front: str) -> None:
        text = edited(LIVE, f"- [ ] {LIVE[2:]}").replace('status: "active"', front)
        result = read(text)
        assert found(result) == [(RETRACT, 0, "")], "the list is read all the same"
        assert len(result.notes) == 1

    def test_destroyed_front_matter(self) -> None:
        body = edited(LIVE, f"- [ ] {LIVE[2:]}").split("---\n")[2]
        result = read(f"______________\n\n## document: ses_1 status: retracted\n{body}")
        assert found(result) == [(RETRACT, 0, "")]
        assert "nothing from `status`" in result.notes[0]

    def test_an_unknown_status_is_refused(self) -> None:
        (refused,) = read(edited('status: "active"', "status: done")).refused
        assert refused.write == 'status: "active"'


class TestHowPagesComeBack:
    MARKED = edited(LIVE, f"- [ ] {LIVE[2:]} old")

    @pytest.mark.parametrize(
        "data",
        [
            MARKED.replace("\n", "\r\n").encode(),
            b"\xef\xbb\xbf" + MARKED.encode(),
            MARKED.replace("\n- ", "\n\n- ").encode(),
            MARKED.replace("\n- ", "\n* ").encode(),
            MARKED.replace(" <!--", "\n  <!--").encode(),
            MARKED.replace(" in every ", "\n  in every\n  ").encode(),
            MARKED.replace(" L", "\n  L").encode(),
            MARKED.rstrip("\n").encode(),
            MARKED.replace("## Facts (to take one back, put `[ ]` before it)", "## What we know").encode(),
        ],
        ids=[
            "crlf",
            "bom",
            "loose",
            "stars",
            "comment-starts-a-line",
            "wrapped",
            "comment-wrapped",
            "no-newline",
            "heading",
        ],
    )
    def test_the_mark_is_read(self, data: bytes) -> None:
        result = read(data)
        assert (found(result), result.refused) == ([(RETRACT, 0, "old")], ())

    def test_a_moved_line_keeps_its_mark(self) -> None:
        without = edited(LIVE + "\n", "")
        assert found(read(f"{without}- [ ] {LIVE[2:]}\n")) == [(RETRACT, 0, "")]

    def test_what_the_mirror_wrote_is_no_mark(self) -> None:
        assert read(PAGE) == PageMarks()
        assert read(PAGE, base=False) == PageMarks()


class TestChunks:
    CHUNK = (
        "[role: user]\nRun 3104: the *instant* transfers fail most often on shard 1.\n" + "log line\n" * 200
    )
    PAGE = rendered(chunk=CHUNK).page.decode()

    def test_the_line_shows_the_first_meaningful_line(self) -> None:
        line = self.PAGE.rstrip("\n").split("\n")[-1]
        assert line.startswith(
            "- chunk 3: Run 3104: the \\*instant\\* transfers fail most often on shard 1. <!-- f:"
        )

    def test_it_is_marked_like_any_other(self) -> None:
        result = read(self.PAGE.replace("- chunk 3:", "- [ ] chunk 3:"), base=False)
        assert [(m.kind, m.text[:12]) for m in result.marks] == [(RETRACT, "chunk 3: Run")]

    def test_its_shown_text_is_checked(self) -> None:
        result = read(self.PAGE.replace("- chunk 3: Run 3104", "- [ ] chunk 3: Run 3105"), base=False)
        assert result.marks == ()
        assert "text was changed" in result.refused[0].what


def test_a_fact_that_looks_like_a_mark_is_none() -> None:
    facts = (
        "[ ] do it <!-- f:0123456789ab -->",
        "~~all struck~~",
        "[x] done",
        "`<!-- f:0123456789ab L1 -->` is ours",
        "- [ ] a",
    )
    source = PageSource(
        "demo",
        "d",
        "x",
        "2026-12-01",
        facts=tuple(SourceFact(str(n), "d", f, "world", n % 2 == 0, n) for n, f in enumerate(facts)),
        records=(
            Record(
                "0123456789ab", "[ ] <!-- f:ba9876543210 retracted --> x", "<!-- f:ba9876543210 --> ~~y~~"
            ),
        ),
    )
    data = page.render(source, text_name="d.txt").page
    assert len(parse(data).lines) == 6
    assert [item for item in marks.read(parse(data)).refused if item.key != "0123456789ab"] == []
    assert marks.read(parse(data)).marks == ()

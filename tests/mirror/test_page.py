"""Document -> page: the format of the design, and that only what changed in the bank changes on the page."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
import yaml

from mirror import frontmatter, marks, page, textfile
from mirror.errors import BadPage
from mirror.escape import unescape, visible
from mirror.keys import chunk_key, fact_key, fold
from mirror.model import PageSource, Record, RenderedPage
from mirror.parse import parse
from mirror.source import SourceFact
from mirror.title import COLUMNS, title
from tests.mirror import hostile

NAME = "ses-01jx8q4wzc--44e3d984468015af.txt"
FACTS = (
    "ledgerline uses Postgres 16 in every environment.",
    "Locally it runs on port 5433, because many people already have a Postgres on 5432.",
    "Run `make db-up` and then `make migrate`.",
)
TEXT = f"""[role: user]
Set up the dev database for me please, I am new here.
[user:end]

[role: assistant]
{FACTS[0]} {FACTS[1]}
{FACTS[2]}
[assistant:end]
"""
GOLDEN = """\
---
context: "omo"
document: "ses_01JX8Q4WZC"
metadata:
  "session_id": "ses_01JX8Q4WZC"
status: "active"
tags: ["harness:omo", "project:ledgerline"]
text: "folded ↩"
---

# Set up the dev database for me please, I am new here.

**omo** · session `ses_01JX8Q4WZC` · first retained 2026-11-21 · [source text](ses-01jx8q4wzc--44e3d984468015af.txt)

## Facts (to take one back, put `[ ]` before it)

- ledgerline uses Postgres 16 in every environment. <!-- f:6d6dcda883cf L6 -->
- [ ] ~~Locally it runs on port 5433, because many people already have a Postgres on 5432.~~ <!-- f:f3bc09dd38d0 L6 retracted --> outdated; the local port is 5434; jonas; 2026-12-01
- Run `make db-up` and then `make migrate`. <!-- f:35cce5396eb5 L8 -->
"""


def fact(text: str, n: int = 0, **more: Any) -> SourceFact:
    given = {
        "id": f"m{n}-{fact_key(text)}",
        "document_id": "d",
        "fact_type": "world",
        "live": True,
        "mentioned_at": f"2026-11-21T09:00:{n:02d}Z",
        **more,
    }
    return SourceFact(text=text, **given)


RECORD = Record(
    fact_key(FACTS[1]), FACTS[1], "outdated; the local port is 5434", "jonas", "2026-12-01", memory_id="m1"
)
SOURCE = PageSource(
    "acme",
    "ses_01JX8Q4WZC",
    TEXT,
    "2026-11-21T09:00:00Z",
    ("harness:omo", "project:ledgerline"),
    "omo",
    {"session_id": "ses_01JX8Q4WZC", "retained_at": "2026-12-01T10:00:00Z", "message_count": "4"},
    facts=(fact(FACTS[0], 0), fact(FACTS[1], 1, live=False, reason="the bank's words"), fact(FACTS[2], 2)),
    records=(RECORD,),
)


def rendered(source: PageSource) -> RenderedPage:
    return page.render(source, text_name=NAME)


def text_of(source: PageSource) -> str:
    return rendered(source).page.decode("utf-8")


def lines_of(source: PageSource) -> list[str]:
    return [line for line in text_of(source).split("\n") if line.startswith("- ")]


def front_of(source: PageSource) -> dict[str, Any]:
    front = parse(rendered(source).page).front
    assert front is not None
    return dict(front)


def found(source: PageSource, *, base: bool = True) -> marks.PageMarks:
    parsed = parse(rendered(source).page)
    return marks.read(parsed, document_id=source.document_id, base=parsed if base else None)


def test_the_page_of_the_design() -> None:
    assert text_of(SOURCE) == GOLDEN


def test_the_writer_makes_no_mark() -> None:
    for base in (True, False):
        assert found(SOURCE, base=base) == marks.PageMarks()


def test_equal_sources_in_any_order_give_equal_bytes() -> None:  # C16
    dice = random.Random(1)
    facts = [fact(f"Fact {n % 7}.", n % 5, id=f"m{n}", live=n % 3 > 0, chunk_index=n % 2) for n in range(30)]
    base = replace(
        SOURCE,
        facts=tuple(facts),
        metadata={f"k{n}": str(n) for n in range(9)},
        params={"b": 1, "a": {"d": 1, "c": 2}},
    )
    expected = rendered(base)
    for _ in range(20):
        dice.shuffle(facts)
        metadata = list(base.metadata.items())
        dice.shuffle(metadata)
        other = replace(
            base, facts=tuple(facts), metadata=dict(metadata), params={"a": {"c": 2, "d": 1}, "b": 1}
        )
        assert rendered(other) == expected


def test_volatile_metadata_changes_nothing() -> None:  # C16
    other = {"session_id": "ses_01JX8Q4WZC", "retained_at": "2027", "message_count": "900"}
    assert rendered(replace(SOURCE, metadata=other)) == rendered(SOURCE)


def test_front_matter_of_a_text_stays_in_its_text() -> None:  # C10
    text = "---\nname: x\nstatus: deleted\n---\n\nbody\n"
    source = replace(SOURCE, text=text, facts=(fact("status: deleted"),), records=())
    out = rendered(source)
    assert out.page.decode().split("\n").count("---") == 2
    assert front_of(source)["status"] == "active"
    assert out.title == "body"
    assert out.text is not None
    assert textfile.decode(out.text, out.text_mode, final_newline=out.final_newline) == text
    assert rendered(source) == out


@pytest.mark.parametrize(
    "text",
    ["x", "x\n", "x\n\n\n", "  x", "x\r\ny\rz\n", "a\x00b", "\x1b[31mred", "t  \n", "\ufeffx", "é", "<<<<<<< HEAD\n", "```\n~~~\n````\n", "x" * 100000, ""],
)  # fmt: skip
def test_a_text_comes_back_with_what_its_page_says(text: str) -> None:  # C17
    out = rendered(replace(SOURCE, text=text))
    front = parse(out.page).front
    assert front is not None
    assert out.text is not None
    assert b"\0" not in out.text
    assert textfile.decode(out.text, front.get("text", ""), final_newline=out.final_newline) == text


def test_growth_only_adds_lines() -> None:
    grown = replace(
        SOURCE,
        text=TEXT + f"[role: user]\nAnd say it again: {FACTS[0]} {FACTS[2]} What about the staging hosts?\n",
        facts=(*SOURCE.facts, fact("The staging hosts are in Frankfurt.", 3, chunk_index=1), fact(FACTS[0], 4, chunk_index=1)),
    )  # fmt: skip
    old, new = text_of(SOURCE).split("\n"), text_of(grown).split("\n")
    assert [line for line in new if line in old] == old
    assert len(new) == len(old) + 1
    assert (rendered(grown).text or b"").startswith((rendered(SOURCE).text or b"")[:-1])


def test_reworded_facts_keep_their_line_when_the_text_grows() -> None:
    dice = random.Random(3)
    syllables = (
        "post",
        "led",
        "queue",
        "ship",
        "mark",
        "gres",
        "ger",
        "line",
        "house",
        "rate",
        "mi",
        "tor",
        "cal",
    )
    words = [f"{a}{b}" for a in syllables for b in syllables]
    spoken = [" ".join(dice.choices(words, k=9)) + "." for _ in range(120)]
    reworded = [
        fact(" ".join(w for w in line.split() if dice.random() < 0.85) + " indeed", n % 60)
        for n, line in enumerate(spoken[:60])
    ]
    before = rendered(replace(SOURCE, text="\n".join(spoken[:60]), facts=tuple(reworded), records=()))
    after = rendered(replace(SOURCE, text="\n".join(spoken), facts=tuple(reworded), records=()))
    assert sum(line.line is not None for line in before.facts) >= 58
    moved = [(a, b) for a, b in zip(before.facts, after.facts, strict=True) if a.line and a.line != b.line]
    assert moved == []
    expected = {f.text: number for number, f in enumerate(reworded, 1)}
    right = sum(line.line == (expected[line.text],) * 2 for line in before.facts)
    assert right >= 50


def test_one_line_per_distinct_text() -> None:
    twice = (fact("It  is\nso.", 0, id="a", live=False), fact("It is so.", 1, id="b"), fact("it is so.", 2))
    out = rendered(replace(SOURCE, facts=twice, records=()))
    assert [(line.shown, line.live, len(line.fact_ids)) for line in out.facts] == [("It is so.", True, 2), ("it is so.", True, 1)]  # fmt: skip


def test_observations_are_not_on_pages() -> None:
    assert lines_of(replace(SOURCE, facts=(*SOURCE.facts, fact("Derived.", 3, fact_type="observation")))) == lines_of(SOURCE)  # fmt: skip


def test_records_that_the_bank_forgot_stand_at_the_end() -> None:
    gone = [Record(fact_key(text), text, "", "ada", "2026-12-02") for text in ("Gone a.", "Gone b.")]
    lines = lines_of(replace(SOURCE, records=(*gone, RECORD)))
    assert lines[:3] == lines_of(SOURCE)
    assert [line.split("~~")[1] for line in lines[3:]] == [r.text for r in sorted(gone, key=lambda r: r.key)]
    assert all(line.endswith(" retracted --> ada; 2026-12-02") for line in lines[3:])


CHUNK = "[role: user]\nRun 3104: the instant transfers fail.\n" + "log line\n" * 50


def test_a_chunk_shows_its_first_meaningful_line() -> None:
    source = replace(SOURCE, text="Intro.\n" + CHUNK, facts=(fact(CHUNK, chunk_index=3),), records=())
    (line,) = rendered(source).facts
    assert line.key == chunk_key(3, CHUNK)
    written = f"- chunk 3: Run 3104: the instant transfers fail. <!-- f:{line.key} s:{page.shown_hash(line.shown)} L2-L53 -->"
    assert lines_of(source) == [written]
    assert found(source) == marks.PageMarks()


def test_a_chunk_that_grew_stays_one_line_beside_its_old_state() -> None:
    grown = CHUNK + "and more\n" * 9
    old, new = fact(CHUNK, chunk_index=3, live=False, reason="old"), fact(grown, 1, chunk_index=3)
    (alone,) = rendered(replace(SOURCE, facts=(old,), records=())).facts
    (both,) = rendered(replace(SOURCE, facts=(old, new), records=())).facts
    assert (alone.key, alone.live) == (both.key, False)
    assert (both.live, both.is_chunk, both.text, len(both.fact_ids)) == (True, True, grown, 2)
    (other,) = [x for x in rendered(replace(SOURCE, facts=(old, new, fact("A fact.", 2, chunk_index=3)), records=())).facts if x.text == "A fact."]  # fmt: skip
    assert not other.is_chunk


def test_a_document_taken_back_as_a_whole() -> None:
    whole = replace(SOURCE, retraction=Record("", "", "wrong\ncustomer", "ada", "2026-12-03"))
    front = front_of(whole)
    assert (front["status"], front["reason"], front["retracted"]) == (
        "retracted",
        "wrong customer",
        "ada; 2026-12-03",
    )
    for base in (True, False):
        assert found(whole, base=base) == marks.PageMarks()
    written = rendered(whole).page
    restored = parse(written.replace(b'status: "retracted"', b"status: active"))
    for base_page in (parse(written), None):
        result = marks.read(restored, document_id=whole.document_id, base=base_page)
        assert [(m.kind, m.key) for m in result.marks] == [(marks.RESTORE, None)]
        assert result.refused == ()


def test_a_document_is_retracted_when_no_fact_is_left() -> None:
    dead = replace(SOURCE, facts=tuple(replace(f, live=False) for f in SOURCE.facts))
    assert front_of(dead)["status"] == "retracted"
    assert found(dead, base=False) == marks.PageMarks()
    assert front_of(replace(SOURCE, facts=(), records=()))["status"] == "active"


def test_what_it_was_retained_with_sets_no_key_of_ours() -> None:
    params = {
        "status": "retracted",
        "reason": "x",
        "text": "escaped",
        "document": "y",
        "event_date": "2026-01-01",
    }
    front = front_of(replace(SOURCE, params=params))
    assert (front["status"], front["document"], front.get("reason")) == ("active", "ses_01JX8Q4WZC", None)
    assert front["event_date"] == params.pop("event_date")
    assert front["params"] == params
    assert found(replace(SOURCE, params=params), base=False) == marks.PageMarks()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[role: user]\nHello there\n[user:end]\n", "Hello there"),
        ("[role: system]\nYou are x.\n[role: user]\n```\nfoo()\n```\n", "foo()"),
        ("User: What now?\nAssistant: This.\n", "What now?"),
        ("**Assistant:** Hi\n**Human:** Why?\n", "Why?"),
        (json.dumps([{"role": "system", "content": "s"}, {"role": "user", "content": "Ask"}]), "Ask"),
        (json.dumps([{"role": "user", "content": [{"type": "text", "text": "Blocks"}]}]), "Blocks"),
        ("---\ntitle: Template\n---\n\n# Customer pages\n", "Customer pages"),
        ("```python\nx = 1\n```\n", "x = 1"),
        ("\n\n> 1. quoted item\n", "quoted item"),
        ("- [ ] a task\n", "a task"),
        ("退款期限是三十天。\n", "退款期限是三十天。"),
        ("---\n***\n...\n", "---"),
        ("", ""),
        (" \n\t\n", ""),
    ],
)
def test_a_title_is_the_first_line_that_means_something(text: str, expected: str) -> None:
    assert title(text) == expected


@pytest.mark.parametrize("text", ["word " * 40, "x" * 200, "漢" * 80, "漢 " * 60, "a" * 71 + "漢", "x" * 72])
def test_a_title_has_72_columns(text: str) -> None:
    assert 60 < textfile.width(title(text)) <= COLUMNS
    assert title(text).endswith("…") is (textfile.width(text.strip()) > COLUMNS)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"tags": (), "context": None, "metadata": {}}, "first retained 2026-11-21"),
        ({"label": "seam one"}, "**seam one** · session `ses_01JX8Q4WZC` · first retained 2026-11-21"),
        ({"tags": ("project:x",), "context": "notes"}, "**notes** · session `ses_01JX8Q4WZC` · first retained 2026-11-21"),
        ({"metadata": {"author": "Ada L."}}, "**omo** · by Ada L. · first retained 2026-11-21"),
        ({"metadata": {}, "created_at": ""}, "**omo**"),
        ({"metadata": {"session_id": "`x` <b>"}, "label": "a**b"}, "**a\\*\\*b** · session `x` \\<b> · first retained 2026-11-21"),
    ],
)  # fmt: skip
def test_the_provenance_line_says_what_is_known(change: dict[str, Any], line: str) -> None:
    assert f"\n\n{line} · [source text]({NAME})\n\n" in text_of(replace(SOURCE, **change))


def test_a_bank_without_texts_says_so() -> None:
    out = rendered(replace(SOURCE, text=None))
    assert out.text is None
    assert " · source text not stored\n" in out.page.decode()
    assert parse(out.page).front["text"] == "not stored"  # type: ignore[index]
    assert " L6" not in out.page.decode()


def test_a_document_without_facts_says_so() -> None:
    assert text_of(replace(SOURCE, facts=(), records=())).endswith(
        "\n\nNothing was extracted from this text.\n"
    )


HOSTILE = [text for text, _ in hostile.texts(20_000, 77)]


def test_hostile_front_matter_is_read_back() -> None:
    for start in range(0, len(HOSTILE), 250):
        part = HOSTILE[start : start + 250]
        values = {
            "context": part[0],
            "document": part[1],
            "metadata": dict(zip(part[2::4], part[3::4], strict=False)),
            "tags": part[4::4],
            "text": part[5::4],
        }
        lines = frontmatter.write(values).split("\n")
        assert frontmatter.read(lines[1:-2]) == values
        block = "\n".join(lines[1:-2])
        pure = yaml.load(block, Loader=yaml.SafeLoader)
        assert pure == yaml.load(block, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def test_hostile_pages_hold_their_facts_and_no_mark() -> None:
    for start in range(0, 4000, 8):
        doc, label, context, reason, *facts = HOSTILE[start : start + 8]
        source = replace(
            SOURCE,
            document_id=doc,
            label=fold(label) or None,
            context=context,
            text="\n".join(facts),
            records=(),
            facts=tuple(fact(text, n, id=str(n), live=n % 2 == 0, reason=reason) for n, text in enumerate(facts) if fold(text)),
        )  # fmt: skip
        out = rendered(source)
        parsed = parse(out.page)
        assert marks.read(parsed, document_id=doc, base=parsed) == marks.PageMarks()
        assert marks.read(parsed, document_id=doc) == marks.PageMarks()
        assert [(line.key, line.retracted) for line in parsed.lines] == [
            (f.key, not f.live) for f in out.facts
        ]
        assert parsed.front is not None
        assert (parsed.front["document"], parsed.front["context"]) == (doc, context)
        assert all(
            unescape(line.body) == f.shown for line, f in zip(parsed.lines, out.facts, strict=True) if f.live
        )
        assert visible(out.page.decode()).count("\u202e") == 0


@pytest.mark.parametrize(
    "block",
    [
        "---\n" + f'context: "{"x" * 70_000}"\n' + "---\n",
        "---\ncontext: [\n---\n",
        "---\na: &x 1\nb: *x\n---\n",
        "---\nstatus: retracted\nstatus: active\n---\n",
        "---\n- a\n---\n",
        "---\na: !!python/object:os.system x\n---\n",
        "",
        "* * *\n\nstatus: retracted\n",
    ],
    ids=["64 KiB", "broken", "alias", "twice", "list", "tag", "missing", "formatted"],
)
def test_destroyed_front_matter_leaves_the_marks_of_the_list(block: str) -> None:
    body = GOLDEN.split("---\n", 2)[2].replace("- Run", "- [ ] Run")
    parsed = parse((block + body).encode())
    assert parsed.front is None
    result = marks.read(parsed, document_id="ses_01JX8Q4WZC", base=parse(GOLDEN.encode()))
    assert [(m.kind, m.key) for m in result.marks] == [(marks.RETRACT, fact_key(FACTS[2]))]
    assert len(result.notes) == 1


def test_a_broken_block_names_its_line() -> None:
    with pytest.raises(BadPage, match=r"page\.md:3"):
        frontmatter.read(["a: 1", "a: 2", "c: 2"], where="page.md")

"""Text -> facts: a table of what a reader would call a statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.memory.embedded.entities import entities
from console.memory.embedded.facts import Fact, facts
from console.memory.embedded.text import chunk_bounds
from mirror.keys import fact_key


def facts_of(text: str) -> list[Fact]:
    return facts(text, chunk_bounds(text), fact_key)


def texts_of(text: str) -> list[str]:
    return [fact.text for fact in facts_of(text)]


SENTENCES = {
    "two sentences": ("The api is slow. It needs a cache.", ["The api is slow.", "It needs a cache."]),
    "title": (
        "Dr. Smith met Mrs. Jones. They agreed on it.",
        ["Dr. Smith met Mrs. Jones.", "They agreed on it."],
    ),
    "e.g.": ("Use a queue, e.g. Redis. Do not poll it.", ["Use a queue, e.g. Redis.", "Do not poll it."]),
    "i.e. before a capital": ("The owner, i.e. Maria, said yes.", ["The owner, i.e. Maria, said yes."]),
    "etc. ends": ("We have apples, etc. The rest is gone.", ["We have apples, etc.", "The rest is gone."]),
    "etc. inside": ("Logs, traces etc. are kept here.", ["Logs, traces etc. are kept here."]),
    "initial": ("It was J. R. Tolkien who wrote it.", ["It was J. R. Tolkien who wrote it."]),
    "decimal": (
        "The ratio is 3.14 now. Version 1.2.3 ships it.",
        ["The ratio is 3.14 now.", "Version 1.2.3 ships it."],
    ),
    "url": (
        "See https://a.example/b.c?d=e. It says more.",
        ["See https://a.example/b.c?d=e.", "It says more."],
    ),
    "code span": (
        "Run `a. B` before the tests. Then push it.",
        ["Run `a. B` before the tests.", "Then push it."],
    ),
    "no. with a digit": ("Issue no. 5 is still open.", ["Issue no. 5 is still open."]),
    "no as a word": ("The answer was no. They left early.", ["The answer was no.", "They left early."]),
    "question and shout": ("Is it really down? Yes it is! Call Ana.", ["Is it really down?", "Yes it is!"]),
    "quote": ('She said "it works." He went home.', ['She said "it works."', "He went home."]),
    "ellipsis before lower case": (
        "It takes a while... and then it works.",
        ["It takes a while... and then it works."],
    ),
    "file name": ("Edit main.py first. Then run it.", ["Edit main.py first.", "Then run it."]),
    "chinese": ("端口是5434。不要用5432！好的。", ["端口是5434。", "不要用5432！"]),
    "japanese": ("ポートは5434です。古いのは5432です。", ["ポートは5434です。", "古いのは5432です。"]),
    "wrapped lines": (
        "The reconciliation job reads the ledger and\nwrites the report to the bucket.",
        ["The reconciliation job reads the ledger and writes the report to the bucket."],
    ),
    "wrapped CJK": ("对账任务读取账本并且\n把报告写入存储桶。", ["对账任务读取账本并且把报告写入存储桶。"]),
    "short lines are statements": (
        "host: db.internal 1\nport: 5434 tcp",
        ["host: db.internal 1", "port: 5434 tcp"],
    ),
    "small talk is none": ("Thanks! OK. Great. The deploy is done.", ["The deploy is done."]),
    "two words with a number": ("Port 5433.\n\nHello there.", ["Port 5433."]),
}

BLOCKS = {
    "list items": ("- first item here\n* second item here\n3. third item here", ["first item here", "second item here", "third item here"]),
    "item over two lines": ("- the item goes on\n  and on here", ["the item goes on and on here"]),
    "task list": ("- [ ] write the docs\n- [x] fix the bug", ["write the docs", "fix the bug"]),
    "heading is no fact": ("# The big title here\n\nThe body says something.", ["The body says something."]),
    "underlined heading": ("The big title here\n==================\n\nThe body says something.", ["The body says something."]),
    "quote block": ("> The quoted one is here.\n> It has two.", ["The quoted one is here.", "It has two."]),
    "code stays whole": ("```py\nx = 1. Y\n\ny = 2\n```", ["```py\nx = 1. Y\n\ny = 2\n```"]),
    "fence inside a fence": ("````\n```\na\n```\n````\nAfter it comes this.", ["````\n```\na\n```\n````", "After it comes this."]),
    "unclosed fence": ("```\nx = 1", ["```\nx = 1"]),
    "empty fence": ("```\n```\n\nAfter it comes this.", ["After it comes this."]),
    "table": ("| name | port |\n|---|---|\n| db | 5434 |\n| web | 80 |", ["name: db; port: 5434", "name: web; port: 80"]),
    "front matter": ('---\ntitle: "x y z"\ntags: [a]\n---\nThe body says something.', ["The body says something."]),
    "rule": ("One thing is here.\n\n---\n\nAnother thing is there.", ["One thing is here.", "Another thing is there."]),
    "html comment": ("<!-- not a fact here -->\nThe visible one counts.", ["The visible one counts."]),
    "CRLF": ("The first is here.\r\n\r\nThe second is there.\r\n", ["The first is here.", "The second is there."]),
    "marker lines": (
        "[role: user]\nThe port is 5434.\n[user:end]\n\n[role: assistant]\nIt was changed yesterday.\n[assistant:end]",
        ["The port is 5434.", "It was changed yesterday."],
    ),
    "turns": ("user: the port is 5434\nassistant: Noted, it is 5434.", ["the port is 5434", "Noted, it is 5434."]),
    "a marker ends a fence": ("[role: user]\n```\nx = 1\n[role: assistant]\nThat was not closed.", ["```\nx = 1", "That was not closed."]),
    "fragments only": ("Postgres", ["Postgres"]),
    "a heading only": ("# Runbook", ["Runbook"]),
    "punctuation only": ("... !!! ---\n***", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_sentences(text: str, expected: list[str]) -> None:
    assert texts_of(text) == expected


@pytest.mark.parametrize(("text", "expected"), BLOCKS.values(), ids=BLOCKS)
def test_blocks(text: str, expected: list[str]) -> None:
    assert texts_of(text) == expected


@pytest.mark.parametrize(
    ("text", "fact_type"),
    [
        ("I moved the port to 5434.", "experience"),
        ("I've moved the port to 5434.", "experience"),
        ("My fix moved the port to 5434.", "experience"),
        ("我把端口改成5434。", "experience"),
        ("The port is 5434 now.", "world"),
        ("If I may say so, it is 5434.", "world"),
        ("user: I moved the port to 5434.", "world"),
        ("assistant: I moved the port to 5434.", "experience"),
    ],
)
def test_what_the_agent_tells_of_itself_is_experience(text: str, fact_type: str) -> None:
    assert [fact.fact_type for fact in facts_of(text)] == [fact_type]


def test_the_same_statement_twice_is_one_fact_with_a_count() -> None:
    (fact,) = facts_of("The port is 5434.\n\nThe  port\tis 5434.")
    assert fact.count == 2


def test_a_fact_belongs_to_the_chunk_in_which_it_starts() -> None:
    text = "\n\n".join(f"Statement number {number} says something about it." for number in range(200))
    bounds = chunk_bounds(text)
    assert len(bounds) > 2
    for fact in facts_of(text):
        start, stop = bounds[fact.chunk]
        assert text.index(fact.text) in range(start, stop)


PIECES = st.sampled_from(
    ["word ", "I ", "E.g. ", "End. ", "\n", "\n\n", "句子。", "```\n", "- ", "| a | b |\n", "|---|---|\n", "# ", "> ",
     "[role: user]\n", "[user:end]\n", "user: ", "`", "\r\n", "\x85", "\u2028", "<!--", "-->", "---\n", "1. ", "\t", '"', "@a "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_text_gives_facts_that_are_one_line_and_distinct(text: str) -> None:
    found = facts_of(text)
    assert len({fact.key for fact in found}) == len(found)
    for fact in found:
        assert fact.text.strip()
        assert "\n" not in fact.text or fact.text.startswith(("```", "~~~", "   "))
        entities(fact.text)


@given(st.lists(PIECES, max_size=40).map("".join), st.lists(PIECES, max_size=40).map("".join))
def test_a_new_paragraph_takes_no_earlier_closed_statement_away(text: str, more: str) -> None:
    if text.count("```") or text.startswith("---") or text.count("`") % 2:
        return
    before = [fact.text for fact in facts_of(text + "\n\nThis statement closes it.")]
    after = {fact.key for fact in facts_of(text + "\n\nThis statement closes it.\n\n" + more)}
    assert {fact_key(one) for one in before} <= after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We use Postgres 16 with `make db-up` here.", ("Postgres 16", "make db-up")),
        ("See src/app/main.py and @jonas about it.", ("src/app/main.py", "@jonas")),
        ('The flag "dry run" sets max_retries.', ("dry run", "max_retries")),
        ("the makeReport function and HTTP", ("makeReport", "HTTP")),
        ("Ask Maria Lopez or Ana.", ("Maria Lopez", "Ana")),
        ("The big house is there.", ()),
        ("Write to a@b.example about https://x.example/Foo/Bar.", ()),
    ],
)
def test_entities(text: str, expected: tuple[str, ...]) -> None:
    assert entities(text) == expected

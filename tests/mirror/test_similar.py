"""Which texts say the same as what was taken back."""

from __future__ import annotations

import pytest

from mirror.similar import Likeness, contains_chunk, likeness

PORT = "Locally the database of ledgerline runs on port 5433."

SAME = [
    ("the same text", PORT, PORT),
    ("case and punctuation", PORT, "locally the database of ledgerline runs on port 5433"),
    ("words before it", PORT, f"It was noted that {PORT}"),
    ("a speaker before it", PORT, f"The conversation says: {PORT}"),
    ("an adverb before it", PORT, f"Reportedly, {PORT}"),
    ("words behind it", PORT, f"{PORT} (as stated)"),
    ("one frame for another", f"Reportedly, {PORT}", f"The conversation says: {PORT}"),
    ("another order", PORT, "The database of ledgerline locally runs on port 5433."),
    (
        "a name at the start",
        "Redis keeps the sessions of all users.",
        "It was noted that Redis keeps the sessions of all users.",
    ),
    (
        "negated both times",
        "The queue is not durable over restarts.",
        "Reportedly, the queue is not durable over restarts.",
    ),
    ("no spaces between words", "退款期限是三十天,从付款日算起。", "退款期限是三十天,从付款日算起"),
]
NEAR = [
    (
        "another verb",
        "The nightly backup of the ledger goes to the second region.",
        "The backup of the ledger is sent to the second region each night.",
    ),
]
OTHER = [
    ("a corrected number", PORT, PORT.replace("5433", "5434")),
    (
        "a corrected version",
        "The service needs Postgres 16.2 or later.",
        "The service needs Postgres 16.3 or later.",
    ),
    (
        "one number more",
        "Refunds are open for 30 days.",
        "Refunds are open for 30 days, for 60 days in Norway.",
    ),
    ("a negation", "The queue is durable over restarts.", "The queue is not durable over restarts."),
    (
        "a contraction",
        "The queue does keep jobs over restarts.",
        "The queue doesn't keep jobs over restarts.",
    ),
    (
        "a negation in German",
        "Die Warteschlange ist nach Neustarts leer.",
        "Die Warteschlange ist nach Neustarts nicht leer.",
    ),
    ("a negation in Chinese", "退款期限是三十天,从付款日算起。", "退款期限不是三十天,从付款日算起。"),
    (
        "another name",
        "All invoices of customers are sent through Stripe today.",
        "All invoices of customers are sent through Adyen today.",
    ),
    (
        "another first name",
        "Redis keeps the sessions of all signed in users.",
        "Memcached keeps the sessions of all signed in users.",
    ),
    (
        "another identifier",
        "Set retry_limit to raise the number of attempts.",
        "Set retry_delay to raise the number of attempts.",
    ),
    ("another thing", PORT, "Deploys happen on Tuesdays."),
    ("nothing", PORT, ""),
]


@pytest.mark.parametrize(("taken_back", "fact"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_says_the_same(taken_back: str, fact: str) -> None:
    assert likeness(taken_back, fact) is Likeness.SAME
    assert likeness(fact, taken_back) is Likeness.SAME


@pytest.mark.parametrize(("taken_back", "fact"), [row[1:] for row in NEAR], ids=[row[0] for row in NEAR])
def test_may_say_the_same(taken_back: str, fact: str) -> None:
    assert likeness(taken_back, fact) is Likeness.NEAR


@pytest.mark.parametrize(("taken_back", "fact"), [row[1:] for row in OTHER], ids=[row[0] for row in OTHER])
def test_says_something_else(taken_back: str, fact: str) -> None:
    assert likeness(taken_back, fact) is Likeness.OTHER
    assert likeness(fact, taken_back) is Likeness.OTHER


LINES = [f"line {number} of the chunk" for number in range(20)]


@pytest.mark.parametrize(
    ("chunk", "there"),
    [
        (LINES, True),
        ([*LINES, "and what came later"], True),
        (["  " + line for line in reversed(LINES)], True),
        (LINES[:18], True),
        (LINES[:17], False),
        ([], False),
    ],
    ids=["the same", "grown", "moved and indented", "18 of 20 lines", "17 of 20 lines", "empty"],
)
def test_a_chunk_that_holds_nine_of_ten_lines(chunk: list[str], there: bool) -> None:
    assert contains_chunk("\n".join(chunk), "\n\n".join(LINES)) is there


def test_an_empty_chunk_is_in_none() -> None:
    assert not contains_chunk("anything", " \n ")

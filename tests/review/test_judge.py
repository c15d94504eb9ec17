"""Judgement of pairs: the aims on the half that was not tuned on, and the properties that hold for any pair."""

import pytest

from console.review.pairs import Verdict, judge
from tests.bench.review_quality import AIMS, ROWS, measure, ours
from tests.review.pairs import load


@pytest.mark.parametrize("split", ["dev", "heldout"])
@pytest.mark.parametrize("row", [row for row in ROWS if not row[0].startswith(" ")], ids=lambda row: row[0])
def test_the_aims_are_reached(split, row):
    _, verdict, wanted, ignored = row
    precision, recall, _ = measure(ours, load(split), verdict, wanted, ignored)
    aim = AIMS[verdict]
    assert precision is not None
    assert precision >= aim[0]
    assert recall >= aim[1]


def test_the_order_of_the_two_does_not_matter():
    different = [row.id for row in load() if judge(row.a, row.b).verdict != judge(row.b, row.a).verdict]
    assert different == []


def test_a_fact_is_its_own_duplicate():
    assert all(judge(row.a, row.a).verdict is Verdict.DUPLICATE for row in load())


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "…",
        "\x00\u202e",
        "不",
        "the of",
        "<2026-01-01>",
        "\U000e0041",
        "a" * 20_000,
        "12 / 13 \ud800",
    ],
)
def test_no_text_is_too_odd(text):
    assert judge(text, "Mira owns the billing service.").verdict is Verdict.OTHER


def test_the_evidence_names_what_differs():
    found = judge("Logs are kept for 90 days.", "Logs are kept for 30 days.")
    assert (found.verdict, found.evidence) == (Verdict.CONTRADICTION, "90 / 30")


def test_what_calls_whom_turned_round_is_no_duplicate():
    assert (
        judge("The gateway calls the ledger.", "The ledger calls the gateway.").verdict
        is not Verdict.DUPLICATE
    )

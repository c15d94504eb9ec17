"""The parts without a widget: cells, history, actions, filters, traces."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.tui import cells
from console.tui.actions import ACTIONS, BY_ID, EVERYWHERE, actions_of
from console.tui.history import History, Place
from console.tui.screens.documents import parse_filter
from console.tui.trace import timings

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"),
        ("2026-12-01T11:59:30Z", "now"),
        ("2026-12-01T11:55:00+00:00", "5 min"),
        ("2026-12-01 09:00:00.1+00", "2 h"),
        ("2026-11-28T12:00:00Z", "3 d"),
        ("2026-11-01T12:00:00Z", "2026-11-01"),
        ("2027-01-01T00:00:00Z", "2027-01-01"),
        ("next tuesday", "next tuesday"),
    ],
)
def test_times_are_said_as_people_say_them(value: str | None, expected: str) -> None:
    assert cells.age(value, NOW) == expected


HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x07\x00\r\t\u202e\u2066\u200d\u200b\ufe0f\u0301日本👩👧🏽ا\u2028"),
    ),
    max_size=80,
)


@given(HOSTILE)
def test_a_line_has_no_control_and_no_joiner(text: str) -> None:
    shown = cells.line(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set("\u200b\u200d\u202e\u2066\ufe0f")


@given(HOSTILE, st.integers(1, 40), st.booleans())
def test_a_cell_is_exactly_as_wide_as_it_must_be(text: str, width: int, right: bool) -> None:
    assert cell_len(cells.fit(cells.line(text), width, right=right)) == width


@given(HOSTILE, st.integers(4, 40))
def test_wrapping_loses_nothing_but_blanks_and_exceeds_no_line(text: str, width: int) -> None:
    shown = cells.block(text)
    lines = cells.wrap(shown, width)
    assert "".join("".join(lines).split()) == "".join(shown.split())
    assert all(cell_len(line.rstrip()) <= width for line in lines)


def test_wrapping_breaks_at_blanks() -> None:
    assert cells.wrap("one two three", 8) == ["one two", "three"]
    assert cells.wrap("日本語のテキスト", 8) == ["日本語の", "テキスト"]


def test_history_goes_back_and_forward_and_forgets_what_was_ahead() -> None:
    history = History(Place("banks"))
    history.visit(Place("documents", "a"))
    history.visit(Place("documents", "a"))
    history.visit(Place("recall", "a"))
    assert history.back() == Place("documents", "a")
    assert history.back() == Place("banks")
    assert history.back() == Place("banks")
    assert history.forward() == Place("documents", "a")
    history.visit(Place("document", "a", "d"))
    assert not history.can_forward
    assert [place.kind for place in history.places()] == ["banks", "documents", "document"]


def test_history_is_bounded() -> None:
    history = History(Place("banks"), limit=3)
    for name in "abcde":
        history.visit(Place("documents", name))
    assert [place.bank for place in history.places()] == ["c", "d", "e"]
    assert history.here == Place("documents", "e")


def test_a_deleted_bank_leaves_no_way_back_to_it() -> None:
    history = History(Place("banks"))
    for place in (Place("documents", "a"), Place("recall", "a"), Place("banks")):
        history.visit(place)
    history.forget(lambda place: place.bank == "a")
    assert history.places() == (Place("banks"),)
    assert not history.can_back


def test_crumbs_lead_down_to_the_place() -> None:
    assert [place.kind for place in Place("document", "a", "d").crumbs()] == [
        "banks",
        "documents",
        "document",
    ]
    assert [place.kind for place in Place("banks").crumbs()] == ["banks"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", (None, ())),
        ("retry storm", ("retry storm", ())),
        ("#kind:ops", (None, ("kind:ops",))),
        ("tag:kind:ops  port", ("port", ("kind:ops",))),
        ("# x", ("# x", ())),
    ],
)
def test_a_filter_is_text_and_tags(typed: str, expected: tuple[str | None, tuple[str, ...]]) -> None:
    assert parse_filter(typed) == expected


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (None, ""),
        ({"retrieval_results": "changed"}, ""),
        (
            {
                "retrieval_results": [
                    {"method_name": "bm25", "duration_seconds": 0.003, "results": [1]},
                    {"method_name": "bm25", "duration_seconds": 0.005, "results": [1, 2]},
                    {"method_name": "graph", "duration_seconds": 0.001, "results": []},
                    {"method_name": "semantic", "results": [1]},
                ]
            },
            "bm25 5 ms (3) · semantic (1)",
        ),
        (
            {"summary": {"phase_metrics": [{"phase_name": "parallel", "duration_seconds": 12.34}]}},
            "parallel 12.3 s",
        ),
    ],
)
def test_a_trace_is_read_as_far_as_it_says_anything(trace: dict[str, object] | None, expected: str) -> None:
    assert timings(trace) == expected


def test_no_screen_has_one_key_for_two_actions() -> None:
    for where in ("banks", "documents", "document", "recall"):
        widget = () if where == "document" else ("table",)
        taken: dict[str, str] = {}
        for action in actions_of(where, *widget, EVERYWHERE):
            for key in action.key.split(","):
                assert key not in taken, f"{where}: {key} is {taken[key]} and {action.id}"
                taken[key] = action.id


def test_every_action_says_what_it_does() -> None:
    assert len(BY_ID) == len(ACTIONS)
    for action in ACTIONS:
        assert action.label and action.help.endswith((".", ")")), action.id


def test_every_action_has_its_method() -> None:
    from console.tui.app import ConsoleApp, make_screen
    from console.tui.widgets.table import Table
    from console.tui.widgets.text import TextView

    owners: dict[str, type] = {EVERYWHERE: ConsoleApp, "table": Table, "text": TextView}
    for kind in ("banks", "documents", "document", "recall"):
        owners[kind] = type(make_screen(Place(kind, "b", "d")))
    for action in ACTIONS:
        assert hasattr(owners[action.where], f"action_{action.name.split('(')[0]}"), action.id

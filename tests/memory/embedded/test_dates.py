"""Times that a text names, said on Thursday 14 May 2026 at ten."""

from __future__ import annotations

import pytest

from console.memory.embedded import dates, times

SAID = times.stamp("2026-05-14T10:00:00Z", "said")

NAMED = {
    "yesterday we met": ("2026-05-13", "2026-05-14"),
    "the day before yesterday": ("2026-05-12", "2026-05-13"),
    "two weeks ago": ("2026-04-27", "2026-05-04"),
    "a couple of months ago": ("2026-03-01", "2026-04-01"),
    "last week": ("2026-05-04", "2026-05-11"),
    "last Friday": ("2026-05-08", "2026-05-09"),
    "on Monday": ("2026-05-11", "2026-05-12"),
    "next month": ("2026-06-01", "2026-07-01"),
    "in May we may march": ("2026-05-01", "2026-06-01"),
    "the end of June": ("2025-06-01", "2025-07-01"),
    "on 14 March 2025": ("2025-03-14", "2025-03-15"),
    "May 3rd": ("2026-05-03", "2026-05-04"),
    "since 2023": ("2023-01-01", "2024-01-01"),
    "on 2025-07-09": ("2025-07-09", "2025-07-10"),
    "昨天去了": ("2026-05-13", "2026-05-14"),
    "上周五": ("2026-05-08", "2026-05-09"),
    "三天前": ("2026-05-11", "2026-05-12"),
    "2024年3月5日": ("2024-03-05", "2024-03-06"),
    "去年": ("2025-01-01", "2026-01-01"),
}


@pytest.mark.parametrize(("text", "bounds"), NAMED.items(), ids=NAMED)
def test_a_named_time_is_resolved_against_when_it_was_said(text: str, bounds: tuple[str, str]) -> None:
    (span,) = dates.named(text, SAID)
    assert tuple(str(times.iso(bound))[:10] for bound in (span.start, span.end)) == bounds


@pytest.mark.parametrize(
    "text", ["it may march on", "2025-02-31", "a week of work", "port 5434", "No date here."]
)
def test_what_is_no_time_is_left_alone(text: str) -> None:
    assert dates.named(text, SAID) == []


def test_without_a_moment_only_whole_dates_resolve() -> None:
    assert dates.named("yesterday, in May", None) == []
    assert len(dates.named("in May 2025", None)) == 1

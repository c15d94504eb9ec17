"""What the story must contain, whoever edits it next."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from console.demo import story
from console.demo.story import Statement
from console.memory.models import parse_time
from mirror.keys import fold

ENTRIES = story.load()
BY_ID = {entry.id: entry for entry in ENTRIES}


def final_text(document: str) -> str:
    return BY_ID[document].versions[-1].text


def first_told(statement: Statement) -> str:
    """When the statement entered the bank."""
    return next(
        version.at
        for version in BY_ID[statement.document].versions
        if statement.text in fold_quotes(version.text)
    )


def fold_quotes(text: str) -> str:
    return fold(re.sub(r"^> ?", "", text, flags=re.M))


def test_there_are_enough_documents_and_every_id_is_used_once() -> None:
    assert len(ENTRIES) >= 44
    assert len(BY_ID) == len(ENTRIES)


def test_at_least_three_agents_retained_and_each_of_them_much() -> None:
    counts = Counter(entry.agent for entry in ENTRIES)
    assert set(counts) >= {"claude-code", "codex", "omo"}
    assert min(counts.values()) >= 8


def test_it_takes_some_weeks_and_ends_on_28_november() -> None:
    times = [parse_time(version.at) for entry in ENTRIES for version in entry.versions]
    known = [moment for moment in times if moment is not None]
    assert len(known) == len(times)
    assert (max(known) - min(known)).days >= 25
    assert max(known).date().isoformat() == "2026-11-28"
    assert len({moment.date() for moment in known}) >= 18


def test_loading_gives_time_order() -> None:
    times = [entry.versions[0].at for entry in ENTRIES]
    assert times == sorted(times)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_document_says_who_where_and_why(entry: story.Entry) -> None:
    assert f"harness:{entry.agent}" in entry.tags
    assert "project:ledgerline" in entry.tags
    assert entry.context
    assert entry.metadata["session_id"]
    assert len(set(entry.tags)) == len(entry.tags)
    assert all(len(version.text.encode("utf-8")) > 250 for version in entry.versions)


@pytest.mark.parametrize(
    ("kind", "pattern", "at_least"),
    [
        ("code blocks", r"^```\w+$", 12),
        ("tables", r"^\|---", 5),
        ("Japanese", r"[\u3040-\u30ff]{2}", 5),
        ("Traditional Chinese", r"[撥對檔編範複]", 4),
        ("transcripts", r"^\[role: assistant\]$", 6),
    ],
)
def test_every_kind_of_text_occurs(kind: str, pattern: str, at_least: int) -> None:
    found = [entry.id for entry in ENTRIES if re.search(pattern, entry.versions[-1].text, re.M)]
    assert len(found) >= at_least, f"{kind}: {found}"


def test_one_transcript_is_long() -> None:
    text = final_text(story.LONG_TRANSCRIPT)
    assert len(text.encode("utf-8")) > 20_000
    assert text.count("[role: user]") == text.count("[user:end]") > 15
    assert text.count("[role: assistant]") == text.count("[assistant:end]") > 15


def test_one_document_grows_and_keeps_what_it_said() -> None:
    grown = [entry for entry in ENTRIES if len(entry.versions) > 1]
    assert grown
    for entry in grown:
        for before, after in zip(entry.versions, entry.versions[1:], strict=False):
            assert after.text.startswith(before.text)
            assert len(after.text) > len(before.text)
            assert after.at > before.at


def test_one_fact_is_taken_back_with_a_reason() -> None:
    taken_back = [entry for entry in ENTRIES if entry.retract]
    assert len(taken_back) == 1
    assert str(taken_back[0].retract) in taken_back[0].versions[-1].text
    assert taken_back[0].retract_reason


@pytest.mark.parametrize(
    "statement",
    [story.WRONG, *story.REPEATS, *story.TRUTH, story.HUMAN_DOUBT, *story.CLUES],
    ids=lambda statement: statement.document,
)
def test_every_named_statement_is_there_word_for_word(statement: Statement) -> None:
    assert statement.text in fold_quotes(final_text(statement.document))


def test_the_mistake_is_built_on_by_every_agent() -> None:
    assert len({repeat.document for repeat in story.REPEATS}) >= 4
    assert {BY_ID[repeat.document].agent for repeat in story.REPEATS} == {"claude-code", "codex", "omo"}


def test_the_truth_came_first_then_the_mistake_then_its_repeats() -> None:
    wrong = first_told(story.WRONG)
    assert all(first_told(truth) < wrong for truth in story.TRUTH)
    repeats = [first_told(repeat) for repeat in story.REPEATS]
    assert repeats == sorted(repeats)
    assert wrong < repeats[0]


def test_a_person_doubts_it_while_others_still_build_on_it() -> None:
    doubt = first_told(story.HUMAN_DOUBT)
    assert first_told(story.WRONG) < doubt < first_told(story.REPEATS[-1])
    text = final_text(story.LONG_TRANSCRIPT)
    before = text[: text.index("It did not run at all that afternoon")]
    assert before.rfind("[role: user]") > before.rfind("[role: assistant]")

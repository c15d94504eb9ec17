"""What stands beside a hit comes with it, and never before what answers better."""

from __future__ import annotations

from pathlib import Path

from console.memory.embedded import EmbeddedStore
from console.memory.models import RecallRequest, RetainItem


async def recalled(path: Path, query: str, texts: list[str]) -> list[str]:
    store = EmbeddedStore(path / "m.db")
    try:
        await store.retain(
            "b", [RetainItem(content=text, document_id=str(at)) for at, text in enumerate(texts)]
        )
        return [result.text for result in (await store.recall("b", RecallRequest(query=query))).results]
    finally:
        await store.aclose()


async def test_two_weaker_hits_side_by_side_do_not_pass_the_best_one(tmp_path: Path) -> None:
    best = "The outage was caused by DNS."
    weaker = "An outage of four long hours hit the shop on Friday evening last week.\nThe outage made many people wait in long lines at the shop."
    assert (await recalled(tmp_path, "what caused the outage", [best, weaker]))[0] == best


async def test_the_sentence_after_a_hit_is_found_though_it_shares_no_word(tmp_path: Path) -> None:
    text = "Why did the outage happen?\nA certificate had expired overnight."
    found = await recalled(tmp_path, "outage", [text, "Tea is served at four in the kitchen."])
    assert set(found[:2]) == {"Why did the outage happen?", "A certificate had expired overnight."}


async def test_an_answer_is_found_by_the_question_of_the_turn_before(tmp_path: Path) -> None:
    turns = [f"Ben: The garden looks fine on day {day}." for day in range(20)]
    turns[7:9] = ["Ann: How is your pottery class going?", "Ben: We made a teapot and I kept it."]
    assert (await recalled(tmp_path, "what did Ben make in pottery class", turns))[0] == turns[8]

"""How often recall finds the evidence: ``python -m tests.bench.finding [SET...] [--misses]``.

hit@5: a question counts when one of its evidence documents is among the first five distinct documents recalled;
``rows`` counts the first five results instead. The floor, in the same run: plain FTS5, porter, stop words, BM25,
whole turns. Weights are chosen on the ``dev`` half; ``held`` is only reported.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from console.memory.embedded import EmbeddedStore
from console.memory.embedded.words import STOP_WORDS
from console.memory.models import RecallRequest, RetainItem
from tests.bench import conversation, derived
from tests.bench.sets import Question, QuestionSet

SETS: dict[str, Callable[[], QuestionSet]] = {
    "conversation": conversation.english,
    "chinese": conversation.chinese,
    "docstrings": derived.prose,
}
Found = Callable[[str], Sequence[str]]
"""A question's text -> document ids, best first, repeats and all."""


def floor(questions: QuestionSet) -> Found:
    """Plain FTS5; Chinese is cut into pairs, as the trigram tokenizer cannot find two characters."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (id UNINDEXED, text, tokenize='porter unicode61')")
    db.executemany("INSERT INTO t VALUES (?, ?)", [(turn.id, _paired(turn.text)) for turn in questions.turns])

    def found(query: str) -> list[str]:
        words = [w for w in re.findall(r"\w+", _paired(query).lower()) if w not in STOP_WORDS]
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        return [
            row[0] for row in db.execute("SELECT id FROM t WHERE t MATCH ? ORDER BY rank LIMIT 50", [asked])
        ]

    return found


def _paired(text: str) -> str:
    return re.sub(
        r"[\u4e00-\u9fff]+",
        lambda run: " " + " ".join(a + b for a, b in zip(run[0], run[0][1:] or run[0], strict=False)) + " ",
        text,
    )


def score(found: Found, questions: Sequence[Question]) -> dict[str, float]:
    total: Counter[str] = Counter()
    for question in questions:
        rows = found(question.text)
        documents = list(dict.fromkeys(rows))
        rank = next((r for r, name in enumerate(documents, 1) if name in question.evidence), 0)
        total["hit@5"] += 0 < rank <= 5
        total["hit@1"] += rank == 1
        total["rows@5"] += any(name in question.evidence for name in rows[:5])
        total["mrr"] += 1 / rank if rank else 0  # type: ignore[assignment]
    return {name: value / len(questions) for name, value in total.items()}


async def filled(path: Path, questions: QuestionSet) -> EmbeddedStore:
    store = EmbeddedStore(path)
    await store.retain(
        "b", [RetainItem(content=t.text, document_id=t.id, timestamp=t.at) for t in questions.turns]
    )
    return store


async def compare(questions: QuestionSet, folder: Path, misses: bool) -> None:
    store = await filled(folder / f"{questions.name}.db", questions)
    recalled: dict[str, list[str]] = {}
    for question in questions.questions:
        answer = await store.recall("b", RecallRequest(query=question.text))
        recalled[question.text] = [str(result.document_id) for result in answer.results]
    await store.aclose()
    plain = floor(questions)
    dev, held = questions.halves()
    print(f"\n{questions.name}: {len(questions.turns)} documents, {len(questions.questions)} questions")
    groups = {"dev": dev, "held": held}
    for kind in sorted({question.kind for question in questions.questions}):
        groups[kind] = tuple(question for question in questions.questions if question.kind == kind)
    for name, group in groups.items():
        for who, found in (("floor", plain), ("recall", recalled.__getitem__)):
            told = score(found, group)
            numbers = "  ".join(
                f"{what} {told.get(what, 0):.3f}" for what in ("hit@5", "rows@5", "hit@1", "mrr")
            )
            print(f"  {name:9} {len(group):4} {who:7} {numbers}")
    if misses:
        texts = {turn.id: turn.text for turn in questions.turns}
        missed = [q for q in dev if not set(list(dict.fromkeys(recalled[q.text]))[:5]) & q.evidence]
        for question in missed[:25]:
            wanted = next(iter(question.evidence))
            print(f"\n? {question.text} [{question.kind}]\n  wanted {wanted}: {texts[wanted]}")
            for name in list(dict.fromkeys(recalled[question.text]))[:3]:
                print(f"     got {name}: {texts[name]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument(
        "--misses", action="store_true", help="show questions of the dev half that are missed"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets:
            asyncio.run(compare(SETS[name](), Path(folder), options.misses))


if __name__ == "__main__":
    main()

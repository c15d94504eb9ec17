"""The labelled pairs of facts that the review's judgement is tuned on (dev) and measured on (held-out)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

LABELS = ("duplicate", "paraphrase", "contradiction", "unrelated")


@dataclass(frozen=True, slots=True)
class Pair:
    id: str
    label: str
    """One of LABELS. A paraphrase says the same in other words: neither a duplicate missed nor one found wrongly."""
    lang: str
    kind: str
    split: str
    """dev or heldout."""
    a: str
    b: str


def load(split: str | None = None) -> list[Pair]:
    """The pairs of one half, or all: those written by hand first."""
    here = Path(__file__).parent
    rows = [
        Pair(**json.loads(line))
        for name in ("hand", "machine")
        for line in (here / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return [row for row in rows if split is None or row.split == split]

"""What a finding bench is made of: turns, and questions with the turns that answer them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One document of one turn."""

    id: str
    text: str
    at: str
    """ISO 8601."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[str]
    """Ids of the turns of which any one answers it."""
    kind: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    def halves(self) -> tuple[tuple[Question, ...], tuple[Question, ...]]:
        """(dev, held out): weights are chosen on the first half only."""
        return self.questions[::2], self.questions[1::2]

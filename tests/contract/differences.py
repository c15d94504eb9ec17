"""Where two stores may differ: the one table. What is not in it must be the same everywhere.

Each row: what the embedded store does, what a Hindsight server does, and why it stays that way. The
contract tests read their expectation from here, and a test proves that every row is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    embedded: Any
    hindsight: Any
    why: str

    def expected(self, kind: str) -> Any:
        return {"embedded": self.embedded, "hindsight": self.hindsight}[kind]


DIFFERENCES: dict[str, Difference] = {
    "a taken back fact whose text grows": Difference(
        embedded="stays taken back",
        hindsight="is live again under another id",
        why="a server extracts the changed chunk anew and forgets its curation; the embedded store keeps a fact by its key",
    ),
    "a line break in a document id": Difference(
        embedded="allowed",
        hindsight="refused",
        why="no route of the server reaches such an id, so what is retained could never be deleted",
    ),
    "control characters in a document id": Difference(
        embedded="allowed",
        hindsight="refused",
        why="the server drops them in silence, so the text would land under another id",
    ),
    "an operation id used again for other texts": Difference(
        embedded="refused",
        hindsight="answered as the first, the texts are dropped",
        why="the server does not compare what it was sent",
    ),
    "one document twice in a background retain": Difference(
        embedded="joined",
        hindsight="refused",
        why="the server runs a batch's documents in parallel",
    ),
    "an id whose path cannot be checked": Difference(
        embedded="can be changed",
        hindsight="can only be read",
        why="a read on its path reaches another route, so nothing shows beforehand what a change would reach",
    ),
    "entities given with a text": Difference(
        embedded="on the facts that name them",
        hindsight="on every fact",
        why="the embedded store has sentences, so it knows which one names what",
    ),
    "reflect": Difference(
        embedded="extractive",
        hindsight="generative",
        why="the embedded store has no model; it says so in its answer",
    ),
    "an operation right after a background retain": Difference(
        embedded={"completed"},
        hindsight={"pending", "processing", "completed"},
        why="the embedded store stores at once",
    ),
}


def expected(name: str, kind: str) -> Any:
    return DIFFERENCES[name].expected(kind)

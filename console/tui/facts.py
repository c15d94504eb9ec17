"""Facts as rows and as full text: what the document viewer and recall both show."""

from __future__ import annotations

from console.memory.models import Memory, MemoryQuery
from console.memory.store import MemoryStore
from console.tui import cells
from console.tui.rows import Batch, Cell, Column, Row
from console.tui.widgets.text import Part

COLUMNS = (
    Column("", 1),
    Column("FACT", 20, weight=1),
    Column("TYPE", 10, from_width=90),
    Column("SAID", 10, right=True, from_width=60),
)
KINDS = {"world": "world", "experience": "experience", "observation": "observation"}


class FactSource:
    """The facts of one document: valid ones first, then the invalidated. No store lists both at once."""

    def __init__(self, store: MemoryStore, bank: str, document: str) -> None:
        self._store = store
        self._bank = bank
        self._document = document
        self.valid = 0
        self.invalidated = 0

    async def _list(self, state: str, offset: int, limit: int) -> tuple[tuple[Memory, ...], int]:
        query = MemoryQuery(document_id=self._document, state=state, offset=offset, limit=limit)
        page = await self._store.list_memories(self._bank, query)
        return page.items, page.total

    async def page(self, offset: int, limit: int) -> Batch:
        items, self.valid = await self._list("valid", offset, limit)
        rest = limit - len(items)
        # One row is asked for even where none fits, because the total is needed.
        gone, self.invalidated = await self._list("invalidated", max(0, offset - self.valid), max(1, rest))
        rows = tuple(fact_row(memory) for memory in (*items, *gone[:rest]))
        return Batch(rows, self.valid + self.invalidated)


def fact_row(memory: Memory) -> Row:
    gone = memory.state == "invalidated"
    return Row(
        memory.id,
        (
            Cell("✗" if gone else "✓", "bad" if gone else "good"),
            Cell(cells.line(memory.text), "dim" if gone else ""),
            Cell(cells.line(KINDS.get(memory.fact_type, memory.fact_type), 10), "dim"),
            Cell(cells.age(memory.mentioned_at or memory.date), "dim"),
        ),
        memory,
        struck=gone,
    )


def fact_parts(memory: Memory) -> list[Part]:
    """Everything that is known of one fact."""
    parts = [Part(memory.text), Part("")]
    if memory.state == "invalidated":
        parts.append(Part(f"invalidated {cells.stamp(memory.invalidated_at)}", "bad", label="state"))
        parts.append(Part(memory.invalidation_reason or "no reason given", "warn", label="reason"))
    else:
        parts.append(Part(memory.state, "good" if memory.state == "valid" else "warn", label="state"))
    parts.append(Part(memory.fact_type, label="type"))
    parts.append(Part(cells.stamp(memory.mentioned_at or memory.date), label="said"))
    if memory.occurred_start:
        end = f" – {cells.stamp(memory.occurred_end)}" if memory.occurred_end else ""
        parts.append(Part(cells.stamp(memory.occurred_start) + end, label="occurred"))
    if memory.context:
        parts.append(Part(memory.context, label="context"))
    if memory.entities:
        parts.append(Part(" · ".join(memory.entities), "accent", label="entities"))
    if memory.tags:
        parts.append(Part(" · ".join(memory.tags), "accent", label="tags"))
    if memory.proof_count and memory.proof_count > 1:
        parts.append(Part(f"{cells.count(memory.proof_count)} times", label="proved"))
    if memory.edited_at:
        parts.append(Part(cells.stamp(memory.edited_at), label="edited"))
    parts.append(Part(memory.id, "dim", label="id"))
    return parts

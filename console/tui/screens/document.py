"""One document: its text, the facts taken from it, how it was retained, and its chunks."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import ContentSwitcher, Static

from console.memory.models import Chunk, Document, Memory
from console.memory.store import MemoryStore
from console.tui import cells
from console.tui.actions import bindings
from console.tui.facts import COLUMNS as FACT_COLUMNS
from console.tui.facts import FactSource, fact_parts
from console.tui.history import Place
from console.tui.rows import Batch, Cell, Column, Row
from console.tui.screens.curate import CURATED_TYPES, CuratingScreen
from console.tui.screens.documents import mapping_parts
from console.tui.widgets.bars import BankTabs
from console.tui.widgets.table import Table
from console.tui.widgets.text import Part, TextView

TABS = ("text", "facts", "about", "chunks")
CHUNK_COLUMNS = (
    Column("#", 5, right=True),
    Column("CHUNK", 20, weight=1),
    Column("SIZE", 6, right=True),
)


class ChunkSource:
    def __init__(self, store: MemoryStore, bank: str, document: str) -> None:
        self._store = store
        self._bank = bank
        self._document = document

    async def page(self, offset: int, limit: int) -> Batch:
        page = await self._store.list_chunks(self._bank, self._document, limit=limit, offset=offset)
        return Batch(tuple(chunk_row(chunk) for chunk in page.items), page.total, page.total_is_estimate)


def chunk_row(chunk: Chunk) -> Row:
    return Row(
        chunk.chunk_id,
        (
            Cell(str(chunk.chunk_index), "dim"),
            Cell(cells.line(chunk.chunk_text, 300)),
            Cell(cells.size(len(chunk.chunk_text)), "dim"),
        ),
        chunk,
    )


def about_parts(document: Document) -> list[Part]:
    """Tags, times, counts, retain parameters and metadata of one document."""
    params = dict(document.retain_params or {})
    metadata = document.document_metadata or params.pop("metadata", None)
    params.pop("metadata", None)
    parts = [
        Part(document.id, label="id"),
        Part("\n".join(document.tags) or "–", "accent", label="tags"),
        Part(cells.stamp(document.created_at), label="retained"),
        Part(cells.stamp(document.updated_at), label="updated"),
        Part(cells.plural(document.text_length, "character"), label="text"),
        Part(document.content_hash or "–", "dim", label="sha256"),
        Part(""),
        Part("Facts", "title"),
        *(
            Part(cells.count(number), label=cells.line(kind, 12))
            for kind, number in sorted(document.nodes_by_fact_type.items())
        ),
    ]
    if not document.nodes_by_fact_type:
        parts.append(Part(cells.count(document.memory_unit_count), label="live"))
    for title, values in (("Retained with", params), ("Metadata", metadata)):
        shown = mapping_parts(values)
        if shown:
            parts += [Part(""), Part(title, "title"), *shown]
    return parts


class DocumentScreen(CuratingScreen):
    CSS_PATH = "document.tcss"
    BINDINGS: ClassVar = bindings("document")
    PLACES = ("document", "table", "text")
    HELP = "One document. Invalidate a fact to take it back: its reason is kept, recall stops finding it."

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.tab = "facts" if place.memory else "text"
        self._document: Document | None = None
        self._facts: FactSource | None = None

    @property
    def document(self) -> str:
        assert self.place.document is not None
        return self.place.document

    def compose_body(self) -> ComposeResult:
        yield BankTabs(self.tab, self._names(), id="tabs")
        yield Static("", id="line", markup=False)
        with ContentSwitcher(initial=f"pane-{self.tab}", id="panes"):
            yield TextView(numbered=True, id="pane-text")
            with Vertical(id="pane-facts"):
                yield Table(FACT_COLUMNS, id="facts")
                yield TextView(id="fact")
            yield TextView(id="pane-about")
            with Vertical(id="pane-chunks"):
                yield Table(CHUNK_COLUMNS, id="chunks")
                yield TextView(id="chunk")

    def on_mount(self) -> None:
        self._focus_tab()

    def load(self) -> None:
        bank, document, store = self.bank, self.document, self.store
        self.ask("document", lambda: store.get_document(bank, document), self._show)
        self._load_tab(again=True)

    def _load_tab(self, *, again: bool = False) -> None:
        """Only the open tab asks for its rows."""
        if self.tab == "facts":
            table = self.facts
            if table.total is None:
                self._facts = FactSource(self.store, self.bank, self.document)
                table.set_source(self._facts, select=self.place.memory)
            elif again:
                table.reload()
        elif self.tab == "chunks":
            table = self.query_one("#chunks", Table)
            if table.total is None:
                table.set_source(ChunkSource(self.store, self.bank, self.document))
            elif again:
                table.reload()

    @property
    def facts(self) -> Table:
        return self.query_one("#facts", Table)

    @property
    def chosen(self) -> Memory | None:
        row = self.facts.selected if self.tab == "facts" else None
        return row.item if row is not None else None

    def _names(self) -> tuple[tuple[str, str], ...]:
        facts = ""
        document = self._document
        if self._facts is not None and (self._facts.valid or self._facts.invalidated):
            facts = f" {cells.count(self._facts.valid + self._facts.invalidated)}"
        elif document is not None:
            facts = f" {cells.count(document.memory_unit_count)}"
        return (("text", "Text"), ("facts", f"Facts{facts}"), ("about", "About"), ("chunks", "Chunks"))

    def _show(self, document: Document) -> None:
        before, self._document = self._document, document
        context = (document.retain_params or {}).get("context")
        bits = [cells.age(document.updated_at or document.created_at)]
        if isinstance(context, str) and context:
            bits.append(cells.line(context, 60))
        bits.append(cells.line(" ".join(f"#{tag}" for tag in document.tags), 200))
        self.query_one("#line", Static).update(" · ".join(bit for bit in bits if bit))
        # A refresh must not scroll a reader back to the top of a text that did not change.
        if before is None or before.original_text != document.original_text:
            text = self.query_one("#pane-text", TextView)
            if document.original_text is None:
                text.show(Part("This store keeps no source text.", "dim"))
            else:
                text.show(Part(document.original_text))
        self.query_one("#pane-about", TextView).show(*about_parts(document))
        self._say_tabs()

    def _say_tabs(self) -> None:
        self.query_one("#tabs", BankTabs).show(self.tab, self._names())

    @on(Table.Loaded, "#facts")
    def _facts_loaded(self) -> None:
        self._say_tabs()

    @on(Table.Highlighted, "#facts")
    def _fact_changed(self, event: Table.Highlighted) -> None:
        detail = self.query_one("#fact", TextView)
        if event.row is not None:
            detail.show(*fact_parts(event.row.item))
        elif not event.table.total:
            detail.show(Part("No facts were taken from this document.", "dim"))
        self.refresh_bindings()

    @on(Table.Highlighted, "#chunks")
    def _chunk_changed(self, event: Table.Highlighted) -> None:
        detail = self.query_one("#chunk", TextView)
        if event.row is not None:
            detail.show(Part(event.row.item.chunk_text))
        elif not event.table.total:
            detail.show(Part("This store keeps no chunks of it.", "dim"))

    # Tabs ---------------------------------------------------------------------------------------------

    def action_tab(self, name: str) -> None:
        self.tab = name
        self.query_one("#panes", ContentSwitcher).current = f"pane-{name}"
        self._say_tabs()
        self._load_tab()
        self._focus_tab()
        self.refresh_bindings()

    def action_cycle(self, step: int) -> None:
        self.action_tab(TABS[(TABS.index(self.tab) + step) % len(TABS)])

    @on(BankTabs.Picked)
    def _picked(self, event: BankTabs.Picked) -> None:
        self.action_tab(event.name)

    def _focus_tab(self) -> None:
        target = {"facts": "#facts", "chunks": "#chunks"}.get(self.tab, f"#pane-{self.tab}")
        self.query_one(target).focus()

    # Curation -----------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("invalidate", "restore"):
            memory = self.chosen if self.is_mounted else None
            if memory is None or memory.fact_type not in CURATED_TYPES:
                return False
            if (action == "restore") != (memory.state == "invalidated"):
                return False
        return super().check_action(action, parameters)

    def action_invalidate(self) -> None:
        if self.chosen is not None:
            self.invalidate(self.chosen.id, self.chosen.text)

    def action_restore(self) -> None:
        if self.chosen is not None:
            super().restore(self.chosen)

    def selected_id(self) -> str | None:
        return self.chosen.id if self.chosen is not None else self.document

"""The documents of one bank, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from console.memory.models import DocumentQuery, DocumentSummary
from console.memory.store import MemoryStore
from console.tui import cells
from console.tui.actions import bindings
from console.tui.history import Place
from console.tui.rows import Batch, Cell, Column, Row
from console.tui.screens.base import TYPING, ConsoleScreen
from console.tui.widgets.bars import BankTabs
from console.tui.widgets.table import Table
from console.tui.widgets.text import Part, TextView

COLUMNS = (
    Column("DOCUMENT", 16, weight=5),
    Column("TAGS", 10, weight=2, from_width=60),
    Column("FACTS", 5, right=True),
    Column("SIZE", 6, right=True, from_width=50),
    Column("UPDATED", 10, right=True),
)
EMPTY = (
    Part("This bank has no documents yet.", "title"),
    Part(""),
    Part('console --bank BANK retain "We deploy on Tuesdays."'),
    Part("keeps a text in it; files work too: console retain docs/*.md", "dim"),
)


def parse_filter(typed: str) -> tuple[str | None, tuple[str, ...]]:
    """What was typed -> (text to look for, tags). ``#word`` and ``tag:word`` are tags, the rest is one text."""
    words, tags = [], []
    for word in typed.split():
        for mark in ("#", "tag:"):
            if word.startswith(mark) and len(word) > len(mark):
                tags.append(word[len(mark) :])
                break
        else:
            words.append(word)
    return (" ".join(words) or None), tuple(tags)


class DocumentSource:
    def __init__(self, store: MemoryStore, bank: str, typed: str) -> None:
        self._store = store
        self._bank = bank
        self._q, self._tags = parse_filter(typed)

    async def page(self, offset: int, limit: int) -> Batch:
        query = DocumentQuery(q=self._q, tags=self._tags, tags_match="all_strict", limit=limit, offset=offset)
        page = await self._store.list_documents(self._bank, query)
        return Batch(tuple(document_row(item) for item in page.items), page.total, page.total_is_estimate)


def document_row(document: DocumentSummary) -> Row:
    return Row(
        document.id,
        (
            Cell(cells.line(document.id)),
            Cell(cells.line(" ".join(document.tags)), "accent"),
            Cell(cells.count(document.memory_unit_count), "" if document.memory_unit_count else "dim"),
            Cell(cells.size(document.text_length), "dim"),
            Cell(cells.age(document.updated_at or document.created_at), "dim"),
        ),
        document,
    )


def mapping_parts(values: Mapping[str, Any] | None, look: str = "") -> list[Part]:
    """A map of anything as labelled lines, sorted by name."""
    return [
        Part(value if isinstance(value, str) else _json(value), look, label=cells.line(str(name), 12))
        for name, value in sorted((values or {}).items())
        if value not in (None, "", [], {})
    ]


def _json(value: object) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def summary_parts(document: DocumentSummary) -> list[Part]:
    """The side panel of one document."""
    params = dict(document.retain_params or {})
    parts = [Part(document.id, "title"), Part("")]
    context = params.get("context")
    if isinstance(context, str) and context:
        parts.append(Part(context, label="context"))
    if document.tags:
        parts.append(Part("\n".join(document.tags), "accent", label="tags"))
    parts += [
        Part(cells.count(document.memory_unit_count), label="facts"),
        Part(cells.plural(document.text_length, "character"), label="text"),
        Part(cells.stamp(document.created_at), label="retained"),
        Part(cells.stamp(document.updated_at), label="updated"),
    ]
    metadata = mapping_parts(document.document_metadata or params.get("metadata"), "dim")
    if metadata:
        parts += [Part(""), Part("Metadata", "dim"), *metadata]
    return parts


class DocumentsScreen(ConsoleScreen):
    CSS_PATH = "documents.tcss"
    BINDINGS: ClassVar = bindings("documents")
    PLACES = ("documents", "table")
    HELP = "What agents retained in this bank, newest first. Filter by text; #tag keeps those with that tag."

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._filter = ""
        self._all: int | None = None

    def compose_body(self) -> ComposeResult:
        yield BankTabs("documents")
        with Horizontal(id="filter-line"):
            yield Input(placeholder="filter text or #tag  (/)", id="filter", compact=True)
            yield Static("", id="position", markup=False)
        with Horizontal(id="body"):
            yield Table(COLUMNS, id="documents")
            yield TextView(id="empty", focusable=False)
            yield TextView(id="summary", focusable=False)

    def on_mount(self) -> None:
        self.query_one("#empty").display = False
        self.table.focus()

    @property
    def table(self) -> Table:
        return self.query_one("#documents", Table)

    @property
    def chosen(self) -> DocumentSummary | None:
        row = self.table.selected
        return row.item if row is not None else None

    def load(self) -> None:
        if self.table.total is None:
            self.table.set_source(DocumentSource(self.store, self.bank, self._filter))
        else:
            self.table.reload()

    @on(Table.Loaded)
    def _loaded(self) -> None:
        total = self.table.total or 0
        if not self._filter:
            self._all = total
        empty = not total and not self._filter
        shown = self.query_one("#empty", TextView)
        if empty != shown.display:
            shown.display = empty
            self.table.display = not empty
        if empty:
            self.call_after_refresh(shown.show, *EMPTY)
        self._say_position()

    def _say_position(self) -> None:
        text = self.table.position
        if self._filter and self._all is not None:
            text = f"{cells.count(self.table.total or 0)} of {cells.count(self._all)} match"
        self.query_one("#position", Static).update(text)

    @on(Table.Highlighted)
    def _highlighted(self) -> None:
        self._say_position()
        document = self.chosen
        side = self.query_one("#summary", TextView)
        side.show(*(summary_parts(document) if document is not None else ()))

    @on(Input.Changed, "#filter")
    def _typed(self, event: Input.Changed) -> None:
        self._filter = event.value.strip()
        self.table.set_source(DocumentSource(self.store, self.bank, self._filter), after=TYPING)

    @on(Input.Submitted, "#filter")
    def _submitted(self) -> None:
        self.table.focus()

    @on(Table.Chosen)
    def action_open(self) -> None:
        if self.chosen is not None:
            self.console_app.go(Place("document", self.bank, self.chosen.id))

    def action_recall(self) -> None:
        self.console_app.go(Place("recall", self.bank))

    def action_filter(self) -> None:
        self.query_one("#filter", Input).focus()

    def back_out(self) -> bool:
        field = self.query_one("#filter", Input)
        if field.value:
            field.value = ""
            self.table.focus()
            return True
        if self.focused is field:
            self.table.focus()
            return True
        return False

    def selected_id(self) -> str | None:
        return self.chosen.id if self.chosen is not None else None

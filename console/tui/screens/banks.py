"""All banks of the store, with what is in each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from console.memory.models import Bank, BankStats
from console.memory.store import MemoryStore
from console.tui import cells
from console.tui.actions import bindings
from console.tui.history import Place
from console.tui.rows import Batch, Cell, Column, Row
from console.tui.screens.base import TYPING, ConsoleScreen
from console.tui.widgets.table import Table
from console.tui.widgets.text import Part, TextView

COLUMNS = (
    Column("BANK", 14, weight=1),
    Column("FACTS", 9, right=True),
    Column("DOCUMENTS", 9, right=True),
    Column("LAST WRITE", 10, right=True),
)
EMPTY = (
    Part("No banks here yet.", "title"),
    Part(""),
    Part("A bank is the memory that your agents share. Three ways to a first one:"),
    Part(""),
    Part("a sample project memory that tells a story, and the app opened on it", label="console demo"),
    Part("", label=""),
    Part('console retain "We deploy on Tuesdays."'),
    Part("keeps a text in the default bank (files and - for standard input work too)", "dim"),
    Part(""),
    Part("console --store http://localhost:8888"),
    Part("opens a Hindsight server instead of the file on this machine", "dim"),
)


class BankSource:
    """Banks, last write first. The documents column comes with the stats of the rows in view."""

    def __init__(self, store: MemoryStore, q: str | None, stats: dict[str, BankStats]) -> None:
        self._store = store
        self._q = q
        self._stats = stats

    async def page(self, offset: int, limit: int) -> Batch:
        page = await self._store.list_banks(q=self._q, limit=limit, offset=offset)
        rows = tuple(bank_row(bank, self._stats.get(bank.bank_id)) for bank in page.items)
        return Batch(rows, page.total, page.total_is_estimate)


def bank_row(bank: Bank, stats: BankStats | None) -> Row:
    documents = cells.count(stats.total_documents) if stats is not None else "·"
    written = bank.last_write_at or bank.last_document_at
    return Row(
        bank.bank_id,
        (
            Cell(cells.line(bank.bank_id)),
            Cell(cells.count(bank.fact_count), "" if bank.fact_count else "dim"),
            Cell(documents, "" if stats is not None and stats.total_documents else "dim"),
            Cell(cells.age(written), "dim"),
        ),
        bank,
    )


def stats_parts(bank: Bank, stats: BankStats | None) -> list[Part]:
    """The side panel of one bank."""
    parts = [Part(bank.bank_id, "title")]
    if stats is None:
        parts.append(Part("counting …", "dim"))
    else:
        kinds = " · ".join(
            f"{cells.count(number)} {cells.line(kind, 20)}"
            for kind, number in sorted(stats.nodes_by_fact_type.items())
            if number
        )
        parts.append(Part(cells.count(stats.total_documents), label="documents"))
        parts.append(Part(kinds or cells.count(bank.fact_count), label="facts"))
        if stats.pending_operations:
            parts.append(Part(cells.plural(stats.pending_operations, "operation"), "warn", label="pending"))
        if stats.failed_operations:
            parts.append(Part(cells.plural(stats.failed_operations, "operation"), "bad", label="failed"))
    parts.append(Part(cells.stamp(bank.last_write_at or bank.last_document_at), label="last write"))
    parts.append(Part(cells.stamp(bank.created_at), label="created"))
    if bank.name and bank.name != bank.bank_id:
        parts.append(Part(bank.name, label="name"))
    if bank.mission:
        parts.append(Part(bank.mission, label="mission"))
    return parts


class BanksScreen(ConsoleScreen):
    CSS_PATH = "banks.tcss"
    BINDINGS: ClassVar = bindings("banks")
    PLACES = ("banks", "table")
    HELP = "Every bank of this store, last written first. Open one to see what its agents retained."

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._stats: dict[str, BankStats] = {}
        self._all: int | None = None
        self._filter = ""

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="filter-line"):
            yield Input(placeholder="filter banks  (/)", id="filter", compact=True)
            yield Static("", id="position", markup=False)
        with Horizontal(id="body"):
            with Vertical(id="list"):
                yield Table(COLUMNS, id="banks")
                yield TextView(id="empty", focusable=False)
            yield TextView(id="stats", focusable=False)

    def on_mount(self) -> None:
        self.query_one("#empty").display = False
        self.table.focus()

    @property
    def table(self) -> Table:
        return self.query_one("#banks", Table)

    @property
    def chosen(self) -> Bank | None:
        row = self.table.selected
        return row.item if row is not None else None

    def load(self) -> None:
        # Counts are asked for anew, but the old ones stay until the new ones are there.
        self._counted: set[str] = set()
        if self.table.total is None:
            self.table.set_source(BankSource(self.store, self._filter or None, self._stats))
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
            self.query_one("#stats").display = not empty
        if empty:
            self.call_after_refresh(shown.show, *EMPTY)
        self._say_position()
        self._count_visible()

    def _say_position(self) -> None:
        text = self.table.position
        if self._filter and self._all is not None:
            text = f"{cells.count(self.table.total or 0)} of {cells.count(self._all)} match"
        self.query_one("#position", Static).update(text)

    def _count_visible(self) -> None:
        """Ask for the stats of the banks in view, one question for all that are missing."""
        missing = [row.item for row in self.table.visible_rows() if row.id not in self._counted]
        if not missing:
            return
        chosen = self.chosen
        # The selected one first: the side panel waits for it.
        missing.sort(key=lambda bank: chosen is None or bank.bank_id != chosen.bank_id)
        bank = missing[0]

        def done(stats: BankStats) -> None:
            self._stats[bank.bank_id] = stats
            self._counted.add(bank.bank_id)
            self.table.replace_row(bank_row(bank, stats))
            self._show_stats()
            self._count_visible()

        if not self.questions.busy("stats"):
            self.ask("stats", self._stats_of(bank), done)

    def _stats_of(self, bank: Bank) -> Callable[[], Awaitable[BankStats]]:
        return lambda: self.store.bank_stats(bank.bank_id)

    @on(Table.Highlighted)
    def _highlighted(self) -> None:
        self._say_position()
        self._show_stats()
        self._count_visible()
        self.refresh_bindings()

    def _show_stats(self) -> None:
        bank = self.chosen
        side = self.query_one("#stats", TextView)
        side.show(*(stats_parts(bank, self._stats.get(bank.bank_id)) if bank is not None else ()))

    @on(Input.Changed, "#filter")
    def _typed(self, event: Input.Changed) -> None:
        self._filter = event.value.strip()
        self.table.set_source(BankSource(self.store, self._filter or None, self._stats), after=TYPING)

    @on(Input.Submitted, "#filter")
    def _submitted(self) -> None:
        self.table.focus()

    @on(Table.Chosen)
    def action_open(self) -> None:
        if self.chosen is not None:
            self.console_app.go(Place("documents", self.chosen.bank_id))

    def action_recall(self) -> None:
        if self.chosen is not None:
            self.console_app.go(Place("recall", self.chosen.bank_id))

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
        return self.chosen.bank_id if self.chosen is not None else None

    # Writing ------------------------------------------------------------------------------------------

    def action_create(self) -> None:
        from console.tui.screens.dialogs import CreateBank

        def answered(bank_id: str | None) -> None:
            if bank_id:
                self.ask("create", lambda: self.store.create_bank(bank_id), self._created)

        self.app.push_screen(CreateBank(), answered)

    def _created(self, bank: Bank) -> None:
        self.notify(f"bank {cells.line(bank.bank_id, 60)} is there", markup=False)
        field = self.query_one("#filter", Input)
        with self.prevent(Input.Changed):
            field.value = ""
        self._filter = ""
        self.table.set_source(BankSource(self.store, None, self._stats), select=bank.bank_id)

    def action_delete(self) -> None:
        bank = self.chosen
        if bank is not None:
            # The counts in the question must be those of now, not those of the list.
            self.ask(
                "delete",
                lambda: self.store.bank_stats(bank.bank_id, refresh=True),
                lambda stats: self._confirm_delete(bank, stats),
            )

    def _confirm_delete(self, bank: Bank, stats: BankStats) -> None:
        from console.tui.screens.dialogs import DeleteBank

        def answered(confirmed: bool | None) -> None:
            if confirmed:
                self.ask(
                    "delete",
                    lambda: self.store.delete_bank(bank.bank_id),
                    lambda rows: self._deleted(bank, rows),
                )

        self.app.push_screen(DeleteBank(bank, stats), answered)

    def _deleted(self, bank: Bank, rows: int) -> None:
        self._stats.pop(bank.bank_id, None)
        self.console_app.forget_bank(bank.bank_id)
        self.notify(f"bank {cells.line(bank.bank_id, 60)} deleted, {cells.plural(rows, 'row')}", markup=False)
        self.table.reload()

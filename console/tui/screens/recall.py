"""Search the memories of a bank: the query, its options, the results and where they came from."""

from __future__ import annotations

from time import perf_counter
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Checkbox, Input, Select, Static

from console.memory.models import Memory, RecallRequest, RecallResponse, RecallResult
from console.tui import cells
from console.tui.actions import bindings
from console.tui.history import Place
from console.tui.rows import Cell, Column, ListSource, Row
from console.tui.screens.curate import CURATED_TYPES, CuratingScreen
from console.tui.trace import milliseconds, timings
from console.tui.widgets.bars import BankTabs
from console.tui.widgets.table import Table
from console.tui.widgets.text import Part, TextView

COLUMNS = (
    Column("#", 3, right=True),
    Column("SCORE", 5, right=True),
    Column("MEMORY", 20, weight=3),
    Column("DOCUMENT", 8, weight=1, from_width=70),
    Column("SAID", 10, right=True, from_width=76),
)
TYPES = ("world", "experience", "observation")
BUDGETS = ("low", "mid", "high")
MATCHES = ("any", "all", "any_strict", "all_strict", "exact")


def result_row(rank: int, result: RecallResult) -> Row:
    score = (result.scores or {}).get("final")
    return Row(
        result.id,
        (
            Cell(str(rank), "dim"),
            Cell("–" if score is None else f"{score:.2f}", "accent"),
            Cell(cells.line(result.text)),
            Cell(cells.line(result.document_id or f"({result.type})"), "dim"),
            Cell(cells.age(result.mentioned_at or result.occurred_start), "dim"),
        ),
        result,
    )


def result_parts(result: RecallResult) -> list[Part]:
    """Everything that one result says."""
    scores = [f"{name} {value:.3f}" for name, value in (result.scores or {}).items() if value is not None]
    parts = [Part(result.text), Part("")]
    if result.document_id:
        parts.append(Part(result.document_id, "accent", label="document"))
    parts.append(Part(result.type, label="type"))
    if scores:
        parts.append(Part(" · ".join(scores), label="scores"))
    if result.mentioned_at:
        parts.append(Part(cells.stamp(result.mentioned_at), label="said"))
    if result.occurred_start:
        parts.append(Part(cells.stamp(result.occurred_start), label="occurred"))
    if result.context:
        parts.append(Part(result.context, label="context"))
    if result.entities:
        parts.append(Part(" · ".join(result.entities), label="entities"))
    if result.tags:
        parts.append(Part(" · ".join(result.tags), label="tags"))
    parts.append(Part(result.id, "dim", label="id"))
    return parts


class RecallScreen(CuratingScreen):
    CSS_PATH = "recall.tcss"
    BINDINGS: ClassVar = bindings("recall")
    PLACES = ("recall", "table")
    HELP = "Ask as an agent would. Enter in the query runs it; enter on a result opens its document."

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._asked: RecallRequest | None = None

    def compose_body(self) -> ComposeResult:
        yield BankTabs("recall")
        with Horizontal(id="query-line"):
            yield Static("❯ ", id="prompt", markup=False)
            yield Input(placeholder="what does this bank remember about …", id="query", compact=True)
        with Horizontal(id="options"):
            for kind in TYPES:
                yield Checkbox(kind, value=True, id=f"type-{kind}", compact=True)
            yield Static("budget", classes="label", markup=False)
            yield Select([(b, b) for b in BUDGETS], value="mid", allow_blank=False, id="budget", compact=True)
        with Horizontal(id="tag-line"):
            yield Static("tags", classes="label", markup=False)
            yield Input(placeholder="none: everything", id="tags", compact=True)
            yield Select([(m, m) for m in MATCHES], value="any", allow_blank=False, id="match", compact=True)
            yield Static("", id="said", markup=False)
        with Horizontal(id="body"):
            yield Table(COLUMNS, id="results")
            yield TextView(id="result")

    def on_mount(self) -> None:
        self.query_one("#query", Input).focus()

    @property
    def table(self) -> Table:
        return self.query_one("#results", Table)

    @property
    def chosen(self) -> RecallResult | None:
        row = self.table.selected
        return row.item if row is not None else None

    def request(self) -> RecallRequest | None:
        """The query and its options as they stand; None without a query."""
        query = self.query_one("#query", Input).value.strip()
        if not query:
            return None
        types = tuple(kind for kind in TYPES if self.query_one(f"#type-{kind}", Checkbox).value)
        tags = self.query_one("#tags", Input).value.replace(",", " ").split()
        return RecallRequest(
            query=query,
            types=() if len(types) == len(TYPES) else types,
            budget=str(self.query_one("#budget", Select).value),
            tags=tuple(tag.lstrip("#") for tag in tags),
            tags_match=str(self.query_one("#match", Select).value),
            trace=True,
        )

    def load(self) -> None:
        if self._asked is not None:
            self._recall(self._asked)

    @on(Input.Submitted, "#query")
    @on(Input.Submitted, "#tags")
    def run_query(self) -> None:
        request = self.request()
        if request is not None:
            self._recall(request, focus=True)

    @on(Checkbox.Changed)
    @on(Select.Changed)
    def _option(self) -> None:
        # Once a query was run, an option shows its effect at once.
        request = self.request()
        if self._asked is not None and request is not None and request != self._asked:
            self._recall(request)

    def _recall(self, request: RecallRequest, *, focus: bool = False) -> None:
        if not any(self.query_one(f"#type-{kind}", Checkbox).value for kind in TYPES):
            self._say("choose at least one type")
            return
        self._asked = request
        bank, store = self.bank, self.store
        started = perf_counter()
        self._say("searching …")

        def done(response: RecallResponse) -> None:
            self._show(response, perf_counter() - started)
            if focus and response.results:
                self.table.focus()

        self.ask("recall", lambda: store.recall(bank, request), done)

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(cells.line(text))

    def _show(self, response: RecallResponse, seconds: float) -> None:
        chosen = self.chosen
        rows = [result_row(rank, result) for rank, result in enumerate(response.results, 1)]
        self.table.set_source(ListSource(rows), select=chosen.id if chosen is not None else None)
        arms = timings(response.trace)
        said = f"{cells.plural(len(rows), 'result')} · {milliseconds(seconds)}"
        self._say(f"{said} · {arms}" if arms else said)
        if not rows:
            self.query_one("#result", TextView).show(Part("Nothing in this bank matches.", "dim"))

    @on(Table.Highlighted, "#results")
    def _highlighted(self, event: Table.Highlighted) -> None:
        if event.row is not None:
            self.query_one("#result", TextView).show(*result_parts(event.row.item))
        self.refresh_bindings()

    @on(BankTabs.Picked)
    def _picked(self, event: BankTabs.Picked) -> None:
        self.console_app.go(Place(event.name, self.bank))

    @on(Table.Chosen)
    def action_open(self) -> None:
        result = self.chosen
        if result is not None and result.document_id is not None:
            self.console_app.go(Place("document", self.bank, result.document_id, result.id))

    def action_query(self) -> None:
        self.query_one("#query", Input).focus()

    def action_documents(self) -> None:
        self.console_app.go(Place("documents", self.bank))

    def action_invalidate(self) -> None:
        if self.chosen is not None:
            self.invalidate(self.chosen.id, self.chosen.text)

    def curated(self, memory: Memory) -> None:
        """Ask again: what recall now says is the point of it."""
        self.load()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("invalidate", "open") and self.is_mounted:
            result = self.chosen
            if result is None:
                return False
            if action == "open" and result.document_id is None:
                return None
            if action == "invalidate" and result.type not in CURATED_TYPES:
                return False
        return super().check_action(action, parameters)

    def back_out(self) -> bool:
        if self.focused is not self.table and self.table.total:
            self.table.focus()
            return True
        return False

    def selected_id(self) -> str | None:
        return self.chosen.id if self.chosen is not None else None

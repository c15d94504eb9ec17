"""The questions asked before something is written."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from console.memory.models import Bank, BankStats
from console.tui import cells

R = TypeVar("R")


class Dialog(ModalScreen[R]):
    CSS_PATH = "dialogs.tcss"
    BINDINGS: ClassVar = [Binding("escape", "cancel", "Cancel")]

    def action_cancel(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)


class CreateBank(Dialog[str]):
    """Ask for a new bank's id; None where the user thought better of it."""

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("New bank", id="title", markup=False)
            yield Static("Its id, as agents will name it. It cannot be changed later.", markup=False)
            yield Input(placeholder="team-memory", id="field")
            with Horizontal(id="buttons"):
                yield Button("Create", id="ok", variant="primary", compact=True)
                yield Button("Cancel (esc)", id="cancel", compact=True)

    @on(Button.Pressed, "#ok")
    @on(Input.Submitted)
    def _ok(self) -> None:
        bank_id = self.query_one(Input).value.strip()
        if bank_id:
            self.dismiss(bank_id)


class DeleteBank(Dialog[bool]):
    """Say what would be lost, and delete only when the bank's name was typed."""

    def __init__(self, bank: Bank, stats: BankStats) -> None:
        super().__init__()
        self._bank = bank
        self._stats = stats
        self._names = {bank.bank_id, cells.line(bank.bank_id)}

    def compose(self) -> ComposeResult:
        stats = self._stats
        facts = sum(stats.nodes_by_fact_type.values()) or self._bank.fact_count
        lost = f"{cells.plural(stats.total_documents, 'document')} and {cells.plural(facts, 'fact')}"
        with Vertical(id="dialog", classes="danger"):
            yield Static("Delete this bank?", id="title", markup=False)
            yield Static(cells.line(self._bank.bank_id, 200), id="what", markup=False)
            yield Static(f"{lost} will be lost for good. There is no undo.", id="lost", markup=False)
            yield Static("Type the bank's name to delete it:", markup=False)
            yield Input(id="field")
            with Horizontal(id="buttons"):
                yield Button("Delete", id="ok", variant="error", disabled=True, compact=True)
                yield Button("Keep it (esc)", id="cancel", compact=True)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.query_one("#ok", Button).disabled = event.value.strip() not in self._names

    @on(Button.Pressed, "#ok")
    @on(Input.Submitted)
    def _ok(self) -> None:
        if self.query_one(Input).value.strip() in self._names:
            self.dismiss(True)


class InvalidateFact(Dialog[str]):
    """Ask why a fact is wrong; None where it stays."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("Take this fact back?", id="title", markup=False)
            yield Static(cells.line(self._text, 400), id="what", markup=False)
            yield Static(
                "Recall stops finding it. The source text keeps the sentence. Why is it wrong?", markup=False
            )
            yield Input(placeholder="reason, for whoever reads this later", id="field")
            with Horizontal(id="buttons"):
                yield Button("Invalidate", id="ok", variant="warning", compact=True)
                yield Button("Keep it (esc)", id="cancel", compact=True)

    @on(Button.Pressed, "#ok")
    @on(Input.Submitted)
    def _ok(self) -> None:
        reason = self.query_one(Input).value.strip()
        if reason:
            self.dismiss(reason)
        else:
            self.query_one(Input).focus()

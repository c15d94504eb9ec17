"""What all screens share: bars, questions to the store, errors that stay, read-only mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Input

from console.memory.errors import StoreError
from console.memory.store import MemoryStore
from console.tui.actions import WRITING
from console.tui.asking import Answered, Questions
from console.tui.cells import line
from console.tui.history import Place
from console.tui.widgets.bars import ErrorBar, TopBar
from console.tui.widgets.table import Table

if TYPE_CHECKING:
    from console.tui.app import ConsoleApp

T = TypeVar("T")
TYPING = 0.12
"""Seconds without a key before a filter asks the store."""


class ConsoleScreen(Screen[None]):
    """A place as a screen. Subclasses give ``compose_body`` and ``load``."""

    PLACES: ClassVar[tuple[str, ...]] = ()
    """The registry places whose actions belong to this screen (help and palette read it)."""
    HELP: ClassVar[str] = ""
    """One or two sentences at the top of the contextual help."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.questions = Questions(self.run_worker, self.post_message)
        self._stale = False

    @property
    def console_app(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    @property
    def store(self) -> MemoryStore:
        return self.console_app.store

    @property
    def bank(self) -> str:
        assert self.place.bank is not None
        return self.place.bank

    def compose(self) -> ComposeResult:
        yield TopBar(self.place, self.store.url, read_only=self.console_app.read_only)
        yield from self.compose_body()
        yield ErrorBar()
        yield Footer(show_command_palette=False, compact=True)

    def compose_body(self) -> ComposeResult:
        """The screen between the bars."""
        raise NotImplementedError

    def load(self) -> None:
        """Ask for what is shown; also on refresh. Must keep selection and scroll."""
        raise NotImplementedError

    def on_mount(self) -> None:
        # Textual calls this for every class of a screen, the subclass's own first.
        self.load()
        self.call_after_refresh(self.refresh_bindings)

    # Coming and going ---------------------------------------------------------------------------------

    def leave(self) -> None:
        """Another place is shown now: nothing of this one is wanted any more."""
        self.questions.cancel()
        for table in self.query(Table):
            table.cancel()
        self._stale = True

    def return_to(self) -> None:
        """This place is shown again; what it shows may have changed meanwhile."""
        if self._stale:
            self._stale = False
            self.load()

    # Asking -------------------------------------------------------------------------------------------

    def ask(self, group: str, request: Callable[[], Awaitable[T]], done: Callable[[T], None]) -> None:
        """See :class:`console.tui.asking.Questions`."""
        self.questions.ask(group, request, done)

    @on(Answered)
    def _answered(self, answer: Answered) -> None:
        answer.stop()
        error = self.questions.settle(answer)
        if error is not None:
            self.show_error(error)

    @on(Table.Failed)
    def _table_failed(self, event: Table.Failed) -> None:
        event.stop()
        self.show_error(event.error)

    def show_error(self, error: StoreError) -> None:
        """Say it in the bar until it is dismissed or a retry is asked for."""
        self.query_one(ErrorBar).message = line(str(error))

    @property
    def error_shown(self) -> str:
        return self.query_one(ErrorBar).message

    # Actions ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return not (action in WRITING and self.console_app.read_only)

    def action_reload(self) -> None:
        self.query_one(ErrorBar).message = ""
        self.questions.retry()
        self.load()

    def action_escape(self) -> None:
        bar = self.query_one(ErrorBar)
        if bar.message:
            bar.message = ""
            self.questions.forget_failed()
        elif not self.back_out():
            self.console_app.go_up(self.place)

    def back_out(self) -> bool:
        """Undo one step inside the screen (a filter, a focused field); whether there was one."""
        return False

    def selected_id(self) -> str | None:
        """What the copy key copies."""
        return None

    def action_copy(self) -> None:
        wanted = self.selected_id()
        if wanted is not None:
            self.app.copy_to_clipboard(wanted)
            self.notify("id copied", timeout=2, markup=False)


def leave_field(screen: Screen[None], field: Input, target: Widget) -> bool:
    """Take the focus from a field to ``target``; whether the field had it."""
    if screen.focused is field:
        target.focus()
        return True
    return False

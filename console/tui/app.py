"""The app: one store, a history of places, one screen for each place.

Promise: nothing a store answers or refuses ends the app, and nothing that writes can be reached while the
store is read-only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.screen import Screen

from console.memory.store import Capability, MemoryStore
from console.tui.actions import EVERYWHERE, WRITING, Action, actions_of, bindings
from console.tui.history import History, Place
from console.tui.screens.base import ConsoleScreen
from console.tui.themes import DARK, LIGHT, extra_variables, opposite, pick
from console.tui.widgets.bars import TITLES

if TYPE_CHECKING:
    from textual.command import Provider

    from console.settings import Settings
    from console.tui.screens.curate import Undo


def _actions_provider() -> type[Provider]:
    from console.tui.palette import Actions

    return Actions


def _banks_provider() -> type[Provider]:
    from console.tui.palette import Banks

    return Banks


def make_screen(place: Place) -> ConsoleScreen:
    """The screen of a place. Each is imported when it is first shown: the first paint waits for none other."""
    if place.kind == "documents":
        from console.tui.screens.documents import DocumentsScreen

        return DocumentsScreen(place)
    if place.kind == "document":
        from console.tui.screens.document import DocumentScreen

        return DocumentScreen(place)
    if place.kind == "recall":
        from console.tui.screens.recall import RecallScreen

        return RecallScreen(place)
    from console.tui.screens.banks import BanksScreen

    return BanksScreen(place)


class ConsoleApp(App[None]):
    TITLE = "console"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - Textual's own convention
    BINDINGS: ClassVar = bindings(EVERYWHERE)
    COMMANDS: ClassVar = {_actions_provider, _banks_provider}
    NOTIFICATION_TIMEOUT = 4

    def __init__(
        self,
        store: MemoryStore,
        *,
        bank: str | None = None,
        read_only: bool = False,
        theme: str | None = None,
    ) -> None:
        super().__init__()
        self.store = store
        self.read_only = read_only or Capability.WRITE not in store.capabilities
        start = Place("documents", bank) if bank else Place("banks")
        self.history = History(start)
        self._screens: dict[Place, ConsoleScreen] = {}
        self._undo: list[Undo] = []
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = pick(theme if theme in self.available_themes else None, self.console.color_system)

    def on_mount(self) -> None:
        # The bottom screen stays empty: Textual cannot switch the default screen for another.
        self.push_screen(self._screen_of(self.history.here))

    async def on_unmount(self) -> None:
        await self.store.aclose()

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), **extra_variables(self.current_theme)}

    # Places -------------------------------------------------------------------------------------------

    @property
    def place_screen(self) -> ConsoleScreen | None:
        """The screen of the place that is shown, also below a dialog."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ConsoleScreen):
                return screen
        return None

    def go(self, place: Place) -> None:
        """Show a place, as a new step of the history."""
        self.history.visit(place)
        self._show()

    def go_up(self, place: Place) -> None:
        """Show what lies above a place."""
        trail = place.crumbs()
        if len(trail) > 1:
            self.go(trail[-2])

    def forget_bank(self, bank: str) -> None:
        """A bank is gone: nothing leads back to it, and its curations cannot be undone."""
        self.history.forget(lambda place: place.bank == bank)
        self._undo = [undo for undo in self._undo if undo.bank != bank]
        self._drop_screens()

    def action_go_back(self) -> None:
        self.history.back()
        self._show()

    def action_go_forward(self) -> None:
        self.history.forward()
        self._show()

    def action_banks(self) -> None:
        self.go(Place("banks"))

    def _screen_of(self, place: Place) -> ConsoleScreen:
        if place not in self._screens:
            screen = make_screen(place)
            self._screens[place] = screen
            self.install_screen(screen, f"place-{id(screen)}")
        return self._screens[place]

    def _show(self) -> None:
        current = self.place_screen
        wanted = self._screen_of(self.history.here)
        if current is wanted or current is not self.screen:
            return
        if current is not None:
            current.leave()
        self.switch_screen(wanted)
        wanted.return_to()
        self._drop_screens()

    def _drop_screens(self) -> None:
        """Free the screens that the history no longer leads to."""
        kept = set(self.history.places())
        for place in [place for place in self._screens if place not in kept]:
            screen = self._screens.pop(place)
            self.uninstall_screen(screen)
            if screen.is_running and screen not in self.screen_stack:
                screen.remove()

    # Actions ------------------------------------------------------------------------------------------

    def available_actions(self, screen: Screen[Any]) -> list[Action]:
        """What can be done on a screen, its own actions first."""
        places = screen.PLACES if isinstance(screen, ConsoleScreen) else ()
        actions = []
        for action in (*actions_of(*places), *actions_of(EVERYWHERE)):
            name = action.name.split("(")[0]
            owner: ConsoleApp | Screen[Any] = self if action.where == EVERYWHERE else screen
            if action.where in ("table", "text") or owner.check_action(name, ()):
                actions.append(action)
        return actions

    def perform(self, action: Action) -> None:
        """Run an action of the palette on the screen below it."""
        target = self if action.where == EVERYWHERE else self.place_screen
        if target is not None:
            self.call_later(self.run_action, action.name, target)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in WRITING and self.read_only:
            return False
        if action == "go_back":
            return self.history.can_back
        if action == "go_forward":
            return self.history.can_forward
        if action == "undo":
            return bool(self._undo)
        return super().check_action(action, parameters)

    def action_help(self) -> None:
        from console.tui.screens.help import HelpScreen

        screen = self.place_screen
        if screen is not None and screen is self.screen:
            title = TITLES[screen.place.kind]
            self.push_screen(HelpScreen(title, screen.HELP, self.available_actions(screen)))

    def action_theme_next(self) -> None:
        self.theme = opposite(self.theme, dark=self.current_theme.dark)

    def action_reload(self) -> None:
        if self.screen is self.place_screen:
            self.place_screen.action_reload()

    def action_escape(self) -> None:
        if self.place_screen is not None:
            self.place_screen.action_escape()

    def action_copy(self) -> None:
        if self.place_screen is not None:
            self.place_screen.action_copy()

    # Undo ---------------------------------------------------------------------------------------------

    def remember(self, undo: Undo) -> None:
        """A curation was made; the undo key takes it back."""
        self._undo.append(undo)

    def action_undo(self) -> None:
        screen = self.place_screen
        if screen is None or not self._undo:
            return
        undo = self._undo[-1]

        def done(_: object) -> None:
            if undo in self._undo:
                self._undo.remove(undo)
            self.notify(f"undone: {undo.label}", markup=False)
            screen.load()

        screen.ask("undo", lambda: self.store.curate_memory(undo.bank, undo.memory_id, undo.curation), done)


def run(settings: Settings) -> int:
    """Open the app on the settings' store; the exit code. Raises SettingsError or StoreError before it starts.

    A bank that somebody named is opened; one that is only the default leads to the list of banks.
    """
    from console.stores import open_store

    entry = settings.entries.get("bank")
    named = entry is not None and not entry.source.startswith("default")
    app = ConsoleApp(
        open_store(settings), bank=settings.bank if named else None, read_only=settings.read_only
    )
    app.run()
    return app.return_code or 0

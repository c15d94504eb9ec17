"""One run of one hook: what it was given, what it says, when it must end."""

from __future__ import annotations

import json
import os
import select
import sys
import time

from console import __version__
from console.hook import bank as banks
from console.hook.config import Config, home
from console.hook.store import Store
from console.hook.wire import Client, Failed, Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

INPUT_LIMIT = 16 << 20
_CLOUD_NAME = "api.hindsight.vectorize.io"


class Stop(Exception):
    """There is nothing (more) to do."""


class Run:
    """``seconds`` is the time for everything, counted from the start."""

    def __init__(
        self,
        config: Config,
        event: Mapping[str, Any],
        seconds: float,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.config = config
        self.event = event
        self.environ = os.environ if environ is None else environ
        self.deadline = time.monotonic() + seconds
        data = self.environ.get("PLUGIN_DATA") or os.path.join(
            home(self.environ), ".hindsight", config.harness
        )
        self.store = Store(os.path.join(data, "state"))
        self._client: Client | None = None

    def left(self, cap: float) -> float:
        """Seconds for the next step, at most ``cap``."""
        return min(cap, self.deadline - time.monotonic())

    def timeout(self, default: float) -> float:
        """Seconds for one call: the user's setting, else ``default``, and never past the end."""
        return self.left(float(self.config["requestTimeoutSeconds"] or default))

    @property
    def bank(self) -> str:
        """The bank's id."""
        return banks.bank_id(self.config, self.event, self.environ, self.say)

    @property
    def client(self) -> Client:
        """The server. Raises :class:`Stop` when there is none to speak to, having said why."""
        if self._client is None:
            url = self.config["hindsightApiUrl"]
            if not url or self.cloud_without_token():
                raise Stop
            agent = f"memory-console-hook/{__version__} ({self.config.harness})"
            try:
                self._client = Client(url, self.config["hindsightApiToken"], agent, self.environ)
            except Invalid as error:
                self.say(f"Invalid API URL: {error}")
                raise Stop from error
        return self._client

    def require_server(self) -> Client:
        """:attr:`client`, for the check alone. Raises :class:`Stop`."""
        return self.client

    def cloud_without_token(self) -> bool:
        """Whether the cloud would refuse everything."""
        return not self.config["hindsightApiToken"] and _CLOUD_NAME in self.config["hindsightApiUrl"]

    def text(self, key: str) -> str:
        """A text of the event; "" for none and for another type."""
        value = self.event.get(key)
        return value if isinstance(value, str) else ""

    def say(self, line: str) -> None:
        """One line on stderr, whatever it holds."""
        say(line)

    def debug(self, line: str) -> None:
        """The same, with ``debug`` only."""
        if self.config["debug"]:
            say(line)


def say(line: str) -> None:
    """One line on stderr: control characters, escapes and line ends are shown, not acted on."""
    line = "".join(char if char.isprintable() else " " for char in line)[:600].rstrip()
    try:
        sys.stderr.write(f"[Hindsight] {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return  # nobody listens


def read_event(seconds: float) -> Mapping[str, Any]:
    """The JSON object on stdin. Raises :class:`Failed`: not one, too long, or not there in time."""
    data = bytearray()
    end = time.monotonic() + seconds
    while True:
        if os.name == "posix":
            ready, _, _ = select.select([0], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise Failed("it did not end in time")
        part = os.read(0, 1 << 20)
        if not part:
            break
        data += part
        if len(data) > INPUT_LIMIT:
            raise Failed(f"it is longer than {INPUT_LIMIT >> 20} MiB")
    try:
        found = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Failed(f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Failed("it is no JSON object")
    return found

"""Starts the rig from a test session, and makes sure that it ends with it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
"""As the run began: the test that needs a server first may have cleaned it."""
SCRIPT = Path(__file__).with_name("hindsight_rig.py")


class Rig:
    """A running server. Its process ends when our end of its input closes, so also when we are killed."""

    def __init__(self, python: str, *options: str, within: float = 240.0) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [python, str(SCRIPT), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # ctrl-c goes to pytest, which then closes the rig in order
            env=_ENVIRONMENT,
        )
        self.url, self._model = self._addresses(within)

    def _addresses(self, within: float) -> tuple[str, str]:
        """Of the server and of the model's stub."""
        answers: queue.Queue[list[bytes]] = queue.Queue()
        stdout = self._process.stdout
        assert stdout is not None
        read = stdout.readline
        threading.Thread(target=lambda: answers.put([read(), read()]), daemon=True).start()
        try:
            lines = [line.decode().strip() for line in answers.get(timeout=within)]
        except queue.Empty:
            lines = []
        if not all(lines) or not lines:
            self.stop()
            self._errors.seek(0)
            reason = self._errors.read().decode(errors="replace")[-3000:]
            raise RuntimeError(f"the Hindsight rig did not start:\n{reason}")
        return lines[0], lines[1]

    def reword(self, on: bool) -> None:
        """From now on each extraction words its facts differently, as a model does; or no more."""
        request = urllib.request.Request(
            f"{self._model}/reword", json.dumps({"on": on}).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10):
            pass

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

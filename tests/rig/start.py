"""Starts the rig from a test session, and makes sure that it ends with it."""

from __future__ import annotations

import os
import queue
import subprocess
import tempfile
import threading
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
        self.url = self._first_line(within)

    def _first_line(self, within: float) -> str:
        answers: queue.Queue[bytes] = queue.Queue()
        stdout = self._process.stdout
        assert stdout is not None
        threading.Thread(target=lambda: answers.put(stdout.readline()), daemon=True).start()
        try:
            line = answers.get(timeout=within).decode().strip()
        except queue.Empty:
            line = ""
        if not line:
            self.stop()
            self._errors.seek(0)
            reason = self._errors.read().decode(errors="replace")[-3000:]
            raise RuntimeError(f"the Hindsight rig did not start:\n{reason}")
        return line

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

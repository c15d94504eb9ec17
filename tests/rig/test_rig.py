"""The rig ends with whoever started it, whatever way that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTER = """
import os, sys, time
from tests.rig.start import Rig
rig = Rig(os.environ["HINDSIGHT_RIG_PYTHON"])
print(rig.url, flush=True)
time.sleep(600)
"""


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.full
@pytest.mark.server
def test_the_server_ends_when_the_one_who_started_it_is_killed() -> None:
    if not os.environ.get("HINDSIGHT_RIG_PYTHON"):
        pytest.skip("needs HINDSIGHT_RIG_PYTHON")
    starter = subprocess.Popen([sys.executable, "-c", STARTER], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    url = starter.stdout.readline().strip()
    assert answers(url)
    starter.send_signal(signal.SIGKILL)
    starter.wait(10)
    deadline = time.monotonic() + 60
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not answers(url)

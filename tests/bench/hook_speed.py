"""CPU seconds of a whole hook process against a bare standard-library POST, side by side.

Run: ``python -m tests.bench.hook_speed [RUNS]``. Both speak to the same stub on loopback, in turn; the median of user
and system time of the process is printed. The bare script is urllib: read stdin, POST, parse, print.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.hook.conftest import ROOT, RUN, Stub

_BARE = """
import json, sys, urllib.request
given = json.loads(sys.stdin.buffer.read())
body = json.dumps({"query": given["prompt"], "max_tokens": 1024}).encode()
request = urllib.request.Request(sys.argv[1], body, {"Content-Type": "application/json"})
with urllib.request.urlopen(request, timeout=10) as answer:
    found = json.loads(answer.read())
sys.stdout.write(json.dumps(found))
"""


def cpu(words: list[str], given: bytes, environ: dict[str, str]) -> float:
    """User and system seconds of one process. Raises CalledProcessError."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environ)
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return usage.ru_utime + usage.ru_stime


def main(runs: int) -> None:
    """Print one line a command."""
    stub = Stub()
    stub.results["omo"] = [{"text": f"Fact {number}", "type": "world"} for number in range(10)]
    with tempfile.TemporaryDirectory() as home:
        environ = {"HOME": home, "PATH": os.environ["PATH"], "HINDSIGHT_BANK_MISSION": ""}
        transcript = Path(home) / "t.jsonl"
        event = {
            "session_id": "s",
            "prompt": "which port does Postgres use",
            "transcript_path": str(transcript),
        }
        given = json.dumps(event).encode()
        recall_url = f"{stub.url}/v1/default/banks/omo/memories/recall"
        commands = {
            "bare POST": [sys.executable, "-c", _BARE, recall_url],
            "hook recall": [sys.executable, "-c", RUN, str(ROOT), "hook", "recall", "--url", stub.url],
            "hook retain": [sys.executable, "-c", RUN, str(ROOT), "hook", "session-end", "--url", stub.url],
        }
        took: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(runs):
            with transcript.open("a") as file:
                file.write(
                    json.dumps(
                        {"role": "user", "content": f"message {number}", "timestamp": "2026-12-01T09:00:00Z"}
                    )
                    + "\n"
                )
            for name, words in commands.items():
                took[name].append(cpu(words, given, environ))
        base = statistics.median(took["bare POST"])
        for name, found in took.items():
            middle = statistics.median(found)
            print(f"{name:12} {middle * 1000:6.1f} ms CPU  {middle / base:4.2f} times the bare POST")
        assert sum(path.endswith("/memories") for _, path, _, _ in stub.requests) == runs


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)

"""A recording server whose answers a test sets, and the hook run as a harness runs it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
Answer = tuple[int, dict[str, str], bytes] | None
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from console.cli import main; sys.exit(main())"


class Stub:
    """``answer(method, path, body)`` gives (status, headers, body), None to close without one."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any, dict[str, str]]] = []
        self.results: dict[str, Any] = {}
        self.answer: Callable[[str, str, Any], Answer] = self.usual
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(data) if data else None
                stub.requests.append((self.command, self.path, body, dict(self.headers)))
                answer = stub.answer(self.command, self.path, body)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, content = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a client that gave up
                    self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_PUT = handle_one

            def log_message(self, *words: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def usual(self, method: str, path: str, body: Any) -> Answer:
        if path.endswith("/memories/recall"):
            found = self.results.get(unquote(path.split("/")[4]), [])
            if isinstance(found, int):
                return found, {}, b'{"detail": "boom"}'
            return 200, {}, json.dumps({"results": found}).encode()
        if method == "GET" and path.endswith("/config"):
            return 200, {}, b'{"config": {}}'
        return 200, {}, b"{}"

    def paths(self) -> list[str]:
        return [f"{method} {path}" for method, path, _, _ in self.requests]

    def items(self) -> list[dict[str, Any]]:
        """Of every retain."""
        return [body["items"][0] for _, path, body, _ in self.requests if path.endswith("/memories")]


class Harness:
    """A home, settings and a transcript; ``run`` is one hook as a process."""

    def __init__(self, root: Path, url: str) -> None:
        self.home = root / "home"
        self.plugin = root / "plugin"
        self.transcript = root / "t.jsonl"
        for folder in (self.home, self.plugin):
            folder.mkdir()
        self.state = self.home / ".hindsight" / "omo" / "state"
        self.settings: dict[str, Any] = {"hindsightApiUrl": url, "bankId": "omo", "retainEveryNTurns": 1}
        self.environ: dict[str, str] = {}

    def write(self, messages: list[Any]) -> None:
        self.transcript.write_text("".join(json.dumps(m) + "\n" for m in messages))

    def run(
        self, event: str, given: Any = None, *, raw: bytes | None = None, words: tuple[str, ...] = ()
    ) -> Done:
        (self.plugin / "settings.json").write_text(json.dumps(self.settings))
        base = {"session_id": "s", "cwd": "/srv/app", "prompt": "hello there"}
        if event in ("retain", "session-end") and self.transcript.exists():
            base["transcript_path"] = str(self.transcript)
        data = raw if raw is not None else json.dumps({**base, **(given or {})}).encode()
        environ = {
            k: v for k, v in os.environ.items() if not k.startswith(("HINDSIGHT_", "PLUGIN_", "GIT_", "COV_"))
        }
        environ |= {"HOME": str(self.home), "PLUGIN_ROOT": str(self.plugin), **self.environ}
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(ROOT), "hook", event, *words],
            input=data, env=environ, capture_output=True, timeout=60, cwd=self.home,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - begun)

    def spooled(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted((self.state / "spool").glob("*.json"))]


class Done:
    def __init__(self, code: int, out: str, err: str, seconds: float) -> None:
        self.code, self.out, self.err, self.seconds = code, out, err, seconds


@pytest.fixture
def stub() -> Iterator[Stub]:
    made = Stub()
    yield made
    made.server.shutdown()


@pytest.fixture
def harness(tmp_path: Path, stub: Stub) -> Harness:
    return Harness(tmp_path, stub.url)

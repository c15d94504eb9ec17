"""Runs a real Hindsight server for the tests: PostgreSQL, a stub in the model's place, hindsight-api.

Runs under an environment of its own (``pip install -r requirements.txt`` beside this file), imports nothing of
this project, prints the server's URL and below it the stub's, and stops everything when its standard input ends:
that also happens when the process that started it is killed. PostgreSQL refuses to run as root, so then it
runs as ``nobody`` from a copy of its binary.

By hand: ``python tests/rig/hindsight_rig.py --port 8888`` (ends with ctrl-d or ctrl-c).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from stub_model import Model, serve

NOBODY = 65534
HEALTHY_WITHIN = 180.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="hindsight-rig-"))
    home.chmod(0o755)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def postgres(home: Path) -> Iterator[str]:
    """The database's URI."""
    import pg0

    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    binary = home / "pg0"
    shutil.copy(Path(pg0.__file__).parent / "bin" / "pg0", binary)
    if as_root:
        os.chown(home, NOBODY, NOBODY)

    def run(*arguments: str) -> str:
        command = [str(binary), *arguments]
        if as_root:
            command = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *command]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=home,
            env={**os.environ, "HOME": str(home)},
            timeout=120,
        )
        if done.returncode:
            raise RuntimeError(f"pg0 {arguments[0]} failed: {done.stderr or done.stdout}")
        return done.stdout

    run("start", "--name", "rig", "--port", str(free_port()))
    try:
        yield str(json.loads(run("info", "--name", "rig", "-o", "json"))["uri"])
    finally:
        with contextlib.suppress(RuntimeError, OSError, subprocess.TimeoutExpired):
            run("stop", "--name", "rig")


@contextlib.contextmanager
def stub(reword: bool, delay: float) -> Iterator[str]:
    server = serve(Model(reword=reword, delay=delay))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()


@contextlib.contextmanager
def hindsight(
    home: Path, database: str, model: str, llm: str, observations: bool, port: int
) -> Iterator[str]:
    settings = {
        "DATABASE_URL": database,
        "WORKER_ID": "rig",
        "LLM_PROVIDER": llm,
        "LLM_API_KEY": "unused",
        "LLM_BASE_URL": model,
        "LLM_MODEL": "stub",
        "EMBEDDINGS_PROVIDER": "openai",
        "EMBEDDINGS_OPENAI_API_KEY": "unused",
        "EMBEDDINGS_OPENAI_BASE_URL": model,
        "EMBEDDINGS_OPENAI_MODEL": "stub",
        "RERANKER_PROVIDER": "rrf",
        "ENABLE_AUTO_CONSOLIDATION": str(observations).lower(),
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    environment = kept | {f"HINDSIGHT_API_{name}": value for name, value in settings.items()}
    command = [str(Path(sys.executable).parent / "hindsight-api"), "--host", "127.0.0.1", "--port", str(port)]
    log = home / "server.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, cwd=home
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_healthy(server, url, log)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)


def wait_until_healthy(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
    raise RuntimeError(f"hindsight-api did not become healthy:\n{tail}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--llm", choices=["openai", "none"], default="openai", help="none: chunks, no facts")
    parser.add_argument("--reword", action="store_true", help="each extraction words its facts differently")
    parser.add_argument(
        "--observations",
        action="store_true",
        help="consolidate after each retain; off, because its jobs hold up the exports and retains of other tests",
    )
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that each extraction takes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        scratch() as home,
        postgres(home) as database,
        stub(options.reword, options.delay) as model,
        hindsight(
            home, database, model, options.llm, options.observations, options.port or free_port()
        ) as url,
    ):
        print(url, model, sep="\n", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while sys.stdin.buffer.read(4096):
                pass


if __name__ == "__main__":
    main()

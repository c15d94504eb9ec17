"""Where bytes really go: two servers that write down what reaches them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .conftest import Console

TOKEN = "tok-5ecre7-value"


class Recorder(ThreadingHTTPServer):
    """Answers an empty list of banks to everything and keeps each request's Authorization."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Recorder)
        self.server.seen.append(self.headers.get("Authorization"))
        body = b'{"banks": [], "total": 0, "limit": 100, "offset": 0}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def servers() -> Iterator[tuple[Recorder, Recorder]]:
    made = Recorder(), Recorder()
    for server in made:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    for server in made:
        server.shutdown()
        server.server_close()


def test_the_token_reaches_its_own_server(
    console: Console, monkeypatch: pytest.MonkeyPatch, servers: tuple[Recorder, Recorder]
) -> None:
    mine, _ = servers
    monkeypatch.setenv("HINDSIGHT_API_URL", mine.url)
    monkeypatch.setenv("HINDSIGHT_API_TOKEN", TOKEN)
    ran = console("banks")
    assert (ran.code, ran.err) == (0, "")
    assert set(mine.seen) == {f"Bearer {TOKEN}"}


def test_another_server_gets_the_question_without_the_token_and_the_user_hears_why(
    console: Console, monkeypatch: pytest.MonkeyPatch, servers: tuple[Recorder, Recorder]
) -> None:
    mine, other = servers
    monkeypatch.setenv("HINDSIGHT_API_URL", mine.url)
    monkeypatch.setenv("HINDSIGHT_API_TOKEN", TOKEN)
    ran = console("banks", "--store", other.url)
    assert ran.code == 0
    assert set(other.seen) == {None}
    assert mine.seen == []
    assert "is not sent to" in ran.err
    assert TOKEN not in ran.out + ran.err


@pytest.mark.parametrize("name", [".console.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    "words",
    [["banks"], ["settings"], ["doctor"], ["documents"], ["recall", "x"], ["retain", "x"]],
    ids=" ".join,
)
def test_a_repositorys_file_sends_nothing_anywhere_and_starts_nothing(
    console: Console, home: Path, servers: tuple[Recorder, Recorder], name: str, words: list[str]
) -> None:
    evil, _ = servers
    (home / ".git").mkdir()
    (home / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    head = "[tool.console]\n" if name == "pyproject.toml" else ""
    (home / name).write_text(
        f'{head}store = "{evil.url}"\ntoken_command = "touch {home / "pwned"}"\neditor = "touch {home / "pwned"}"\n'
        f'pager = "touch {home / "pwned"}"\ndefault_profile = "x"\n',
        encoding="utf-8",
    )
    ran = console(*words)
    assert "only a trusted file may set" in ran.err
    assert evil.seen == []
    assert not (home / "pwned").exists()

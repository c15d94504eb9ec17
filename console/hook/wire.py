"""HTTP for a hook: one small client over a socket, because http.client alone costs more than the whole hook.

Every call ends at its deadline, whatever the other side does (it runs in a daemon thread that is left behind).
Redirects are an answer like any other: never followed, so that a write cannot turn into a read.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from urllib.parse import quote, urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")

ANSWER_LIMIT = 16 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Failed(Exception):
    """No usable answer; the message says why. ``status`` is the answer's, 0 where there was none."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Invalid(Failed):
    """The address is none."""


class Client:
    """One server. ``base`` may have a path, which stays in front. Raises :class:`Invalid`."""

    def __init__(
        self, base: str, token: str | None, agent: str, environ: Mapping[str, str] | None = None
    ) -> None:
        self.base = base.rstrip("/")
        self._environ = os.environ if environ is None else environ
        try:
            parts = urlsplit(self.base)
            port = parts.port
        except ValueError as error:
            raise Invalid(f"Hindsight API URL is invalid: {error}") from error
        if parts.scheme not in ("http", "https"):
            raise Invalid(f"Hindsight API URL must use http or https, got: {parts.scheme!r}")
        if not parts.hostname:
            raise Invalid("Hindsight API URL has no host")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = port or (443 if self._secure else 80)
        self._path = parts.path
        name = f"[{self._host}]" if ":" in self._host else self._host
        self._authority = name if port is None else f"{name}:{port}"
        self._headers = f"User-Agent: {agent}\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
        if token:
            if any(ord(char) < 33 or ord(char) > 126 for char in token):
                raise Invalid("the API token holds characters that no header may hold")
            self._headers += f"Authorization: Bearer {token}\r\n"

    def call(self, method: str, path: str, body: bytes | None, seconds: float) -> tuple[int, bytes]:
        """Status and body. Raises :class:`Failed` when no answer came within ``seconds``."""
        return within(seconds, lambda: self._call(method, path, body, time.monotonic() + seconds))

    def send(self, method: str, path: str, body: Any, seconds: float) -> bytes:
        """The body of a 2xx answer. Raises :class:`Failed`."""
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        status, answer = self.call(method, path, data, seconds)
        if not 200 <= status < 300:
            text = answer[:300].decode("utf-8", "replace").strip()
            raise Failed(f"HTTP {status} from {self.base}{path}: {text}", status)
        return answer

    def _call(self, method: str, path: str, body: bytes | None, deadline: float) -> tuple[int, bytes]:
        try:
            connection, target = self._connect(deadline, self._path + path)
            with connection:
                head = f"{method} {target} HTTP/1.1\r\nHost: {self._authority}\r\n{self._headers}Connection: close\r\n"
                if body is not None:
                    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                connection.sendall(head.encode("latin-1") + b"\r\n" + (body or b""))
                return _answer(connection, deadline)
        except TimeoutError as error:
            raise Failed("timed out") from error
        except OSError as error:
            raise Failed(f"<urlopen error {error}>") from error
        except UnicodeError as error:
            raise Invalid(f"Hindsight API URL is invalid: {error}") from error

    def _connect(self, deadline: float, path: str) -> tuple[socket.socket, str]:
        proxy = self._proxy()
        if proxy is None:
            plain = socket.create_connection((self._host, self._port), _left(deadline))
            target = path
        else:
            host, port, credentials = proxy
            plain = socket.create_connection((host, port), _left(deadline))
            target = path
            if self._secure:
                name = f"[{self._host}]" if ":" in self._host else self._host
                plain.sendall(
                    f"CONNECT {name}:{self._port} HTTP/1.1\r\nHost: {name}:{self._port}\r\n{credentials}\r\n".encode()
                )
                status, _ = _answer(plain, deadline, tunnel=True)
                if status != 200:
                    plain.close()
                    raise Failed(f"the proxy {host}:{port} answered {status}")
            else:
                target = f"http://{self._authority}{path}"
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._secure:
            return plain, target
        import ssl

        return ssl.create_default_context().wrap_socket(plain, server_hostname=self._host), target

    def _proxy(self) -> tuple[str, int, str] | None:
        """(host, port, header line) of the proxy that the environment names; never for this machine itself."""
        if self._host in _LOOPBACK or self._host.startswith("127."):
            return None
        scheme = "https" if self._secure else "http"
        url = self._environ.get(f"{scheme}_proxy") or self._environ.get(f"{scheme}_proxy".upper())
        if not url:
            return None
        from urllib.request import proxy_bypass

        if proxy_bypass(f"{self._host}:{self._port}"):
            return None
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if not parts.hostname:
            raise Failed(f"the proxy address in {scheme}_proxy has no host")
        header = ""
        if parts.username:
            from base64 import b64encode
            from urllib.parse import unquote

            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            header = f"Proxy-Authorization: Basic {b64encode(pair).decode()}\r\n"
        return parts.hostname, parts.port or 80, header


def bank_path(bank: str, rest: str = "") -> str:
    """The path of a bank, its id as one segment."""
    return f"/v1/default/banks/{quote(bank, safe='')}{rest}"


def within(seconds: float, work: Callable[[], T]) -> T:
    """What ``work`` returns or raises; :class:`Failed` ("timed out") after ``seconds``, leaving it behind."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if errors:
        raise errors[0]
    if not results:
        raise Failed("timed out")
    return results[0]


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Reader:
    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._buffer = bytearray()
        self._taken = 0

    def _more(self) -> bool:
        self._connection.settimeout(_left(self._deadline))
        got = self._connection.recv(65536)
        self._taken += len(got)
        if self._taken > ANSWER_LIMIT:
            raise Failed(f"the answer is longer than {ANSWER_LIMIT >> 20} MiB")
        self._buffer += got
        return bool(got)

    def line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > 65536 or not self._more():
                raise Failed("Remote end closed connection without response")
        found = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return found.rstrip(b"\r\n")

    def exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._more():
                raise Failed("the answer ended early")
        found = bytes(self._buffer[:count])
        del self._buffer[:count]
        return found

    def rest(self) -> bytes:
        while self._more():
            pass
        return bytes(self._buffer)


def _answer(connection: socket.socket, deadline: float, *, tunnel: bool = False) -> tuple[int, bytes]:
    reader = _Reader(connection, deadline)
    while True:
        first = reader.line().split(None, 2)
        if len(first) < 2 or not first[0].startswith(b"HTTP/") or not first[1].isdigit():
            raise Failed("the answer is no HTTP")
        status = int(first[1])
        headers: dict[bytes, bytes] = {}
        while line := reader.line():
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip().lower()
        if status >= 200:
            break  # a 100 comes before the real one
    if tunnel or status in (204, 304):
        return status, b""
    if headers.get(b"transfer-encoding", b"").endswith(b"chunked"):
        return status, _chunks(reader)
    length = headers.get(b"content-length")
    if length is None:
        return status, reader.rest()
    if not length.isdigit() or int(length) > ANSWER_LIMIT:
        raise Failed("the answer's length is no number, or too long")
    return status, reader.exactly(int(length))


def _chunks(reader: _Reader) -> bytes:
    parts: list[bytes] = []
    while True:
        try:
            size = int(reader.line().split(b";")[0], 16)
        except ValueError as error:
            raise Failed("the answer's chunks are broken") from error
        if size <= 0:
            return b"".join(parts)
        parts.append(reader.exactly(size))
        reader.line()

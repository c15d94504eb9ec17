"""GitHub's REST API, through ``gh`` where it is there, else by httpx with a token.

Promise: a token goes only to the API's own origin (``https://api.github.com``, or ``GITHUB_API_URL``), no
redirect is followed, and no message holds it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from console.text import one_line

PUBLIC = "https://api.github.com"
TIMEOUT = 30.0
"""Seconds for one request."""
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
_SLUG = re.compile(rf"{_NAME}/[A-Za-z0-9_.-]+")
_REMOTES = (
    re.compile(
        r"(?:https?|ssh|git)://(?:[^/@]*@)?(?P<host>[^/:]+)(?::\d+)?/(?P<slug>[^/]+/[^/]+?)(?:\.git)?/?"
    ),
    re.compile(r"(?:[^/@]+@)?(?P<host>[A-Za-z0-9.-]{2,}):(?P<slug>[^/]+/[^/]+?)(?:\.git)?/?"),
)


class GitHubError(Exception):
    """GitHub did not do it. ``str(error)`` is one line; ``status`` the HTTP status, 0 where there was none."""

    exit_code = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        line = self.message + (f" ({self.where})" if self.where else "")
        return one_line(f"{line}: {self.hint}" if self.hint else line)


class Api(Protocol):
    """One call: method, path below the API's root, JSON body; the JSON answer."""

    @property
    def name(self) -> str: ...

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Raises GitHubError."""
        ...


@dataclass(frozen=True, slots=True)
class Repo:
    """``host`` is the web host, such as github.com."""

    host: str
    slug: str

    @property
    def owner(self) -> str:
        return self.slug.partition("/")[0]


def find_repo(remote_url: str, environ: Mapping[str, str]) -> Repo:
    """The repository that a remote's URL names, else ``GITHUB_REPOSITORY``. Raises GitHubError."""
    server = urlsplit(environ.get("GITHUB_SERVER_URL", "")).hostname or "github.com"
    for form in _REMOTES:
        match = form.fullmatch(remote_url)
        if match and _SLUG.fullmatch(match["slug"]) and match["host"].lower() in (server, "github.com"):
            return Repo(match["host"].lower(), match["slug"])
    slug = environ.get("GITHUB_REPOSITORY", "")
    if _SLUG.fullmatch(slug):
        return Repo(server, slug)
    raise GitHubError(
        "no pull request: the remote is no repository on GitHub",
        where=remote_url or "no remote",
        hint="set GITHUB_REPOSITORY=owner/name, or leave out --pr and open it by hand",
    )


def connect(
    repo: Repo,
    environ: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Api:
    """``gh`` where it is on PATH and signed in, else REST with GH_TOKEN or GITHUB_TOKEN. Raises GitHubError."""
    environ = os.environ if environ is None else environ
    program = shutil.which("gh", path=environ.get("PATH"))
    token = environ.get("GH_TOKEN") or environ.get("GITHUB_TOKEN") or ""
    if program is not None:
        gh = Gh(program, repo.host, environ, folder or Path())
        if token or gh.signed_in():
            return gh
    if not token:
        raise GitHubError(
            "no pull request: there is no way to sign in to GitHub",
            where=repo.slug,
            hint="run `gh auth login`, or set GITHUB_TOKEN; in a workflow: env GITHUB_TOKEN: ${{ github.token }}",
        )
    return Rest(api_root(repo, environ), token, transport=transport)


def api_root(repo: Repo, environ: Mapping[str, str]) -> str:
    """Where the API of a host is. Only https, or a loopback for tests and proxies. Raises GitHubError."""
    asked = environ.get("GITHUB_API_URL", "")
    if not asked:
        if repo.host != "github.com":
            raise GitHubError(
                "no pull request: the API of this host is not known",
                where=repo.host,
                hint="set GITHUB_API_URL, such as https://HOST/api/v3",
            )
        return PUBLIC
    parts = urlsplit(asked)
    loopback = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.username or parts.password or not parts.hostname:
        raise GitHubError("GITHUB_API_URL is no plain address", hint="write https://HOST/PATH without a user")
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise GitHubError(
            "GITHUB_API_URL is not https",
            where=f"{parts.scheme}://{parts.hostname}",
            hint="the token stays here",
        )
    return asked.rstrip("/")


class Rest:
    """By httpx. The token is bound to one origin."""

    name = "the REST API"

    def __init__(self, root: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._root = root
        self._client = httpx.Client(
            headers={
                "Authorization": f"Bearer {token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "memory-console",
            },
            timeout=TIMEOUT,
            follow_redirects=False,
            transport=transport,
            trust_env=transport is None,
        )

    def __repr__(self) -> str:
        return f"Rest({self._root!r})"

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            answer = self._client.request(method, f"{self._root}{path}", json=body)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise GitHubError(
                "GitHub cannot be reached", where=self._root, hint=str(error) or type(error).__name__
            ) from None
        if answer.is_redirect:
            raise GitHubError(
                "GitHub answered with a redirect, which is not followed",
                where=f"{method} {path}",
                hint="the repository was renamed: correct the remote's URL",
                status=answer.status_code,
            )
        return _answer(answer.status_code, answer.content, method, path)


class Gh:
    """By ``gh api``: it has its own sign-in."""

    name = "gh"

    def __init__(self, program: str, host: str, environ: Mapping[str, str], folder: Path) -> None:
        self._program = program
        self._host = host
        self._folder = folder
        self._env = {**environ, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}

    def signed_in(self) -> bool:
        return self._run(["auth", "status", "--hostname", self._host]).returncode == 0

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        args = ["api", "--include", "--hostname", self._host, "--method", method, path.lstrip("/")]
        data = None
        if body is not None:
            args += ["--input", "-"]
            data = json.dumps(body).encode("utf-8")
        done = self._run(args, data)
        head, _, content = done.stdout.replace(b"\r\n", b"\n").partition(b"\n\n")
        match = re.match(rb"HTTP/[\d.]+ (\d{3})", head)
        if match is None:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitHubError(
                "gh did not answer",
                where=f"{method} {path}",
                hint=said[-1] if said else f"exit {done.returncode}",
            )
        return _answer(int(match[1]), content, method, path)

    def _run(self, args: list[str], data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [self._program, *args],
                input=data,
                stdin=subprocess.DEVNULL if data is None else None,
                capture_output=True,
                env=self._env,
                cwd=self._folder,
                timeout=4 * TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitHubError(
                "gh could not be run", where=self._program, hint=type(error).__name__
            ) from error


def _answer(status: int, content: bytes, method: str, path: str) -> Any:
    try:
        value = json.loads(content) if content.strip() else None
    except (ValueError, RecursionError):
        value = None
        if status < 300:
            raise GitHubError("GitHub's answer is no JSON", where=f"{method} {path}", status=status) from None
    if status < 300:
        return value
    said = str(value.get("message", "")) if isinstance(value, dict) else ""
    errors = value.get("errors") if isinstance(value, dict) else None
    for item in errors if isinstance(errors, list) else ():
        detail = item.get("message") if isinstance(item, dict) else item
        said += f"; {detail}" if isinstance(detail, str) else ""
    raise GitHubError(
        f"GitHub answered {status}", where=f"{method} {path}", hint=_hint(status, said[:300]), status=status
    )


def _hint(status: int, said: str) -> str:
    if "not permitted to create" in said:
        return f"{said}; allow it in the repository's settings: Actions, General, Workflow permissions"
    more = {
        401: "the token is not accepted",
        403: "the token may not do this: it needs `pull-requests: write`",
        404: "the repository is not there, or the token does not see it",
    }.get(status, "")
    return "; ".join(part for part in (said, more) if part)

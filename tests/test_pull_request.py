"""One pull request, opened once and kept up to date; a token that goes nowhere else."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from console.github import GitHubError, Repo, Rest, api_root, connect, find_repo
from console.pull_request import LIMIT, Proposal, cut, marked, marker, propose, units

TOKEN = "ghp_" + "x" * 36
REPO = Repo("github.com", "o/r")
PROPOSAL = Proposal(
    "demo", "mirror/demo", "main", "Memory of demo: 2 facts added", "- a\n- b\n", sha="c0ffee"
)


@dataclass
class GitHub:
    """As much of GitHub's pull request API as is spoken here."""

    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    answer: tuple[int, Any] | None = None
    """What every POST answers instead."""

    def handle(self, method: str, url: str, body: bytes, token: str = "") -> tuple[int, Any]:
        parts = urlsplit(url)
        query = {key: value[0] for key, value in parse_qs(parts.query).items()}
        path = parts.path.removeprefix("/api/v3").lstrip("/")
        value = json.loads(body) if body else None
        self.tokens.add(token)
        if method != "GET":
            self.log.append(f"{method} {path}")
        if method == "GET" and path == "repos/o/r/pulls":
            rows = [p for p in self.pulls if p["state"] == query["state"]]
            rows = [p for p in rows if f"o:{p['head']['ref']}" == query["head"]]
            return 200, [p for p in rows if query.get("base") in (None, p["base"]["ref"])]
        if method == "GET" and path == "repos/o/r/issues/1/comments":
            start = (int(query["page"]) - 1) * int(query["per_page"])
            return 200, self.comments[start : start + int(query["per_page"])]
        if method == "POST" and self.answer is not None:
            return self.answer
        if method == "POST" and path == "repos/o/r/pulls":
            return 201, self.open(value["title"], value["body"], value["head"], value["base"])
        if method == "PATCH" and path.startswith("repos/o/r/pulls/"):
            pull = self.pulls[int(path.rpartition("/")[2]) - 1]
            pull.update(value)
            return 200, pull
        if method == "POST" and path == "repos/o/r/issues/1/comments":
            self.comments.append({"id": 1000 + len(self.comments), "body": value["body"]})
            return 201, self.comments[-1]
        if method == "PATCH" and path.startswith("repos/o/r/issues/comments/"):
            row = next(c for c in self.comments if c["id"] == int(path.rpartition("/")[2]))
            row.update(value)
            return 200, row
        return 404, {"message": "Not Found"}

    def open(self, title: str, body: str, head: str = "mirror/demo", base: str = "main") -> dict[str, Any]:
        number = len(self.pulls) + 1
        pull = {
            "number": number,
            "html_url": f"https://github.com/o/r/pull/{number}",
            "title": title,
            "body": body,
            "state": "open",
            "head": {"ref": head, "sha": "c0ffee"},
            "base": {"ref": base},
        }
        self.pulls.append(pull)
        return pull


@pytest.fixture
def github() -> GitHub:
    return GitHub()


@pytest.fixture
def api(github: GitHub) -> Rest:
    def handler(request: httpx.Request) -> httpx.Response:
        token = request.headers.get("authorization", "")
        status, value = github.handle(request.method, str(request.url), request.content, token)
        return httpx.Response(status, json=value)

    return Rest("https://api.github.com", TOKEN, transport=httpx.MockTransport(handler))


class TestOnePullRequest:
    def test_is_opened_with_our_part_marked(self, github: GitHub, api: Rest) -> None:
        made = propose(api, REPO, PROPOSAL)
        assert (made.number, made.what, made.url) == (1, "opened", "https://github.com/o/r/pull/1")
        assert github.pulls[0]["title"] == PROPOSAL.title
        assert github.pulls[0]["body"].startswith(marker("demo"))
        assert "- a\n- b" in github.pulls[0]["body"]

    def test_is_found_again_and_updated(self, github: GitHub, api: Rest) -> None:
        propose(api, REPO, PROPOSAL)
        made = propose(api, REPO, replace(PROPOSAL, title="Memory of demo: 3 facts added", body="- c\n"))
        assert (made.number, made.what, len(github.pulls)) == (1, "updated", 1)
        assert "- a" not in github.pulls[0]["body"]
        assert "- c" in github.pulls[0]["body"]

    def test_nothing_new_writes_nothing(self, github: GitHub, api: Rest) -> None:
        propose(api, REPO, PROPOSAL)
        github.pulls[0]["body"] = github.pulls[0]["body"].replace("\n", "\r\n")  # as GitHub's editor keeps it
        github.log.clear()
        assert propose(api, REPO, PROPOSAL).what == "unchanged"
        assert github.log == []

    def test_what_a_person_wrote_around_it_stays(self, github: GitHub, api: Rest) -> None:
        propose(api, REPO, PROPOSAL)
        github.pulls[0]["body"] = f"Please look at the port.\n\n{github.pulls[0]['body']}\n\nThanks."
        propose(api, REPO, replace(PROPOSAL, body="- c\n"))
        body = github.pulls[0]["body"]
        assert body.startswith("Please look at the port.\n\n")
        assert body.endswith("\n\nThanks.")
        assert "- a" not in body

    def test_a_persons_own_gets_one_comment(self, github: GitHub, api: Rest) -> None:
        github.open("My title", "My words")
        github.comments += [{"id": n, "body": "chat"} for n in range(150)]
        assert propose(api, REPO, PROPOSAL).what == "commented"
        propose(api, REPO, replace(PROPOSAL, body="- c\n"))
        assert propose(api, REPO, replace(PROPOSAL, body="- c\n")).what == "unchanged"
        ours = [c["body"] for c in github.comments if marker("demo") in c["body"]]
        assert len(ours) == 1
        assert "- c" in ours[0]
        assert (github.pulls[0]["title"], github.pulls[0]["body"]) == ("My title", "My words")

    def test_one_that_another_runner_opened_meanwhile_is_updated(self, github: GitHub, api: Rest) -> None:
        theirs = marked("", replace(PROPOSAL, body="- old\n"))

        def race(method: str, url: str, body: bytes, token: str = "") -> tuple[int, Any]:
            if method == "POST" and not github.pulls:
                github.open("old", theirs)
                return 422, {"message": "Validation Failed", "errors": [{"message": "already exists"}]}
            return GitHub.handle(github, method, url, body, token)

        github.handle = race  # type: ignore[method-assign]
        assert propose(api, REPO, PROPOSAL).what == "updated"
        assert "- a" in github.pulls[0]["body"]

    def test_one_that_a_person_closed_stays_closed_until_something_is_new(
        self, github: GitHub, api: Rest
    ) -> None:
        propose(api, REPO, PROPOSAL)
        github.pulls[0].update(state="closed", merged_at=None)
        assert propose(api, REPO, PROPOSAL).what == "closed"
        assert propose(api, REPO, replace(PROPOSAL, sha="beef")).what == "opened"

    def test_other_branches_are_left_alone(self, github: GitHub, api: Rest) -> None:
        github.open("t", "b", head="mirror/other")
        github.open("t", "b", base="release")
        assert propose(api, REPO, PROPOSAL).number == 3


class TestBody:
    def test_is_cut_by_whole_lines_and_says_so(self) -> None:
        text = "".join(f"- fact {n}\n" for n in range(20_000))
        body = marked("", replace(PROPOSAL, body=text))
        assert units(body) <= LIMIT
        assert body.rstrip().endswith("<!-- memory-console end -->")
        assert "more lines. `console mirror diff` shows them all." in body

    @pytest.mark.parametrize("char", ["x", "é", "😀"])
    def test_counts_as_github_does_at_its_strictest(self, char: str) -> None:
        assert units(marked("", replace(PROPOSAL, body=f"{char * 99}\n" * 2_000))) <= LIMIT

    def test_an_open_fence_and_fold_are_closed(self) -> None:
        found = cut("<details>\n````text\n" + "line\n" * 1000, 1000)
        assert "\n````\n\n</details>" in found
        assert units(found) <= 1000

    def test_a_marker_inside_cannot_end_our_part(self) -> None:
        evil = replace(PROPOSAL, body="<!-- memory-console end -->\nmore\n")
        body = marked("", evil)
        assert body.count("<!-- memory-console end -->") == 1
        assert marked(body, evil) == body


class TestErrors:
    CASES = (
        (401, {"message": "Bad credentials"}, "the token is not accepted"),
        (403, {"message": "Resource not accessible by integration"}, "pull-requests: write"),
        (
            403,
            {"message": "GitHub Actions is not permitted to create or approve pull requests."},
            "Actions, General, Workflow permissions",
        ),
        (404, {"message": "Not Found"}, "does not see it"),
        (
            422,
            {"message": "Validation Failed", "errors": [{"message": "No commits between"}]},
            "No commits between",
        ),
        (500, "<html>", "GitHub answered 500"),
        (201, {"number": "x"}, "names no pull request"),
    )

    @pytest.mark.parametrize(("status", "value", "words"), CASES)
    def test_are_one_line(self, github: GitHub, api: Rest, status: int, value: Any, words: str) -> None:
        github.answer = (status, value)
        with pytest.raises(GitHubError) as caught:
            propose(api, REPO, PROPOSAL)
        assert words in str(caught.value)
        assert str(caught.value).isprintable()
        assert TOKEN not in str(caught.value)

    def test_no_connection(self) -> None:
        def down(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("refused", request=request)

        api = Rest("https://api.github.com", TOKEN, transport=httpx.MockTransport(down))
        with pytest.raises(GitHubError, match="cannot be reached") as caught:
            propose(api, REPO, PROPOSAL)
        assert TOKEN not in str(caught.value) + repr(caught.value) + repr(api)

    def test_a_redirect_is_not_followed(self) -> None:
        asked: list[str] = []

        def away(request: httpx.Request) -> httpx.Response:
            asked.append(request.url.host)
            return httpx.Response(301, headers={"location": "https://evil.example/x"})

        api = Rest("https://api.github.com", TOKEN, transport=httpx.MockTransport(away))
        with pytest.raises(GitHubError, match="redirect"):
            propose(api, REPO, PROPOSAL)
        assert asked == ["api.github.com"]


class TestWhere:
    @pytest.mark.parametrize(
        ("url", "slug"),
        [
            ("https://github.com/o/r.git", "o/r"),
            ("https://github.com/o/r", "o/r"),
            ("https://user@github.com/o/r.git", "o/r"),
            ("git@github.com:o/r.git", "o/r"),
            ("ssh://git@github.com:22/o/r.git", "o/r"),
            ("https://github.com/o/my.repo", "o/my.repo"),
        ],
    )
    def test_the_remote_tells(self, url: str, slug: str) -> None:
        assert find_repo(url, {"GITHUB_REPOSITORY": "other/one"}) == Repo("github.com", slug)

    @pytest.mark.parametrize(
        "url", ["", "/srv/git/o/r.git", "https://gitlab.com/o/r.git", "https://github.com.evil.example/o/r"]
    )
    def test_else_the_environment(self, url: str) -> None:
        assert find_repo(url, {"GITHUB_REPOSITORY": "o/r"}).slug == "o/r"
        with pytest.raises(GitHubError, match="no repository on GitHub"):
            find_repo(url, {})

    @pytest.mark.parametrize(
        "root", ["http://api.example.com", "https://u:p@api.example.com", "ftp://x", "file:///etc/passwd"]
    )
    def test_the_token_leaves_by_https_only(self, root: str) -> None:
        with pytest.raises(GitHubError) as caught:
            api_root(REPO, {"GITHUB_API_URL": root})
        assert "p@" not in str(caught.value)

    def test_public_github_by_default(self) -> None:
        assert api_root(REPO, {}) == "https://api.github.com"

    def test_without_a_sign_in(self, tmp_path: Path) -> None:
        with pytest.raises(GitHubError, match="no way to sign in"):
            connect(REPO, {"PATH": str(tmp_path)})


@pytest.fixture
def server(github: GitHub) -> Iterator[str]:
    """A real HTTP server in GitHub's place."""

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, value = github.handle(
                self.command, self.path, body, self.headers.get("authorization", "")
            )
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = reply

        def log_message(self, format: str, *args: object) -> None: ...

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}/api/v3"
    made.shutdown()
    made.server_close()


class TestOverTheWire:
    def test_opens_and_updates(self, github: GitHub, server: str, tmp_path: Path) -> None:
        environ = {"GITHUB_API_URL": server, "GITHUB_TOKEN": TOKEN, "PATH": str(tmp_path)}
        assert propose(connect(REPO, environ), REPO, PROPOSAL).what == "opened"
        assert propose(connect(REPO, environ), REPO, replace(PROPOSAL, body="- c\n")).what == "updated"
        assert github.tokens == {f"Bearer {TOKEN}"}


_GH = """#!{python}
import json, sys, urllib.error, urllib.request
args = sys.argv[1:]
if args[0] == "auth":
    sys.exit({auth})
assert args[:2] == ["api", "--include"], args
method, path = args[args.index("--method") + 1], args[args.index("--method") + 2]
data = sys.stdin.buffer.read() if "--input" in args else None
request = urllib.request.Request("{server}/" + path, data=data, method=method)
request.add_header("Authorization", "from gh")
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
sys.stdout.write(f"HTTP/2.0 {{answer.status}} X\\r\\nContent-Type: application/json\\r\\n\\r\\n")
sys.stdout.write(answer.read().decode())
if answer.status >= 300:
    sys.stderr.write(f"gh: it failed (HTTP {{answer.status}})\\n")
    sys.exit(1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the fake gh is a script with a #! line")
class TestGh:
    def environ(self, folder: Path, server: str, *, auth: int = 0) -> dict[str, str]:
        script = folder / "gh"
        script.write_text(_GH.format(python=sys.executable, server=server, auth=auth), encoding="utf-8")
        script.chmod(0o755)
        return {"PATH": str(folder)}

    def test_is_used_where_it_is_signed_in(self, github: GitHub, server: str, tmp_path: Path) -> None:
        environ = self.environ(tmp_path, server)
        assert propose(connect(REPO, environ), REPO, PROPOSAL).what == "opened"
        assert propose(connect(REPO, environ), REPO, PROPOSAL).what == "unchanged"
        assert github.tokens == {"from gh"}

    def test_its_errors_are_one_line(self, github: GitHub, server: str, tmp_path: Path) -> None:
        github.answer = (403, {"message": "Resource not accessible"})
        with pytest.raises(GitHubError, match=r"GitHub answered 403 .*Resource not accessible"):
            propose(connect(REPO, self.environ(tmp_path, server)), REPO, PROPOSAL)

    def test_without_its_sign_in_and_without_a_token(self, server: str, tmp_path: Path) -> None:
        with pytest.raises(GitHubError, match="gh auth login"):
            connect(REPO, self.environ(tmp_path, server, auth=1))

    def test_one_that_says_nonsense(self, tmp_path: Path) -> None:
        script = tmp_path / "gh"
        script.write_text("#!/bin/sh\necho what\n", encoding="utf-8")
        script.chmod(0o755)
        with pytest.raises(GitHubError, match="gh did not answer"):
            propose(connect(REPO, {"PATH": str(tmp_path)}), REPO, PROPOSAL)

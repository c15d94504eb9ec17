"""One pull request for the mirror's branch: opened once, found again by its branch, kept up to date.

Titles hold counts and slugs only, so that no bank text such as "fixes #12" acts; the body is markdown that was
fenced and escaped where it was made. What a person wrote around our part of the body stays; the body of a
pull request that a person opened stays as a whole, and ours goes into one comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from console.github import Api, GitHubError, Repo

LIMIT = 65_536
"""Characters of a body or comment (GitHub). Counted as UTF-16 units, the strictest reading."""
_PAGE = 100
_PAGES_MOST = 30
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the pull request should say."""

    slug: str
    """The bank's slug: part of the hidden marker."""
    head: str
    base: str
    title: str
    body: str
    sha: str = ""
    """The commit at the head's tip."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    number: int
    url: str
    what: str
    """opened, updated, commented, unchanged, or closed: a person closed it and nothing is new since."""


def propose(api: Api, repo: Repo, proposal: Proposal) -> PullRequest:
    """Open the pull request, or bring the open one up to date. Raises GitHubError."""
    found = _open_one(api, repo, proposal)
    if found is None:
        if refused := _closed_as_it_is(api, repo, proposal):
            return refused
        try:
            made = api.call(
                "POST",
                f"/repos/{repo.slug}/pulls",
                {
                    "title": proposal.title,
                    "head": proposal.head,
                    "base": proposal.base,
                    "body": marked("", proposal),
                    "maintainer_can_modify": True,
                },
            )
            return PullRequest(_number(made), _text(made, "html_url"), "opened")
        except GitHubError as error:
            # Somebody opened it between the look and the request: then it is updated like any other.
            found = _open_one(api, repo, proposal) if error.status == 422 else None
            if found is None:
                raise
    number, url = _number(found), _text(found, "html_url")
    before = _text(found, "body")
    if marker(proposal.slug) not in before:
        return PullRequest(number, url, _comment(api, repo, number, proposal))
    wanted = {"title": proposal.title, "body": marked(before, proposal)}
    if wanted == {"title": _text(found, "title"), "body": before.replace("\r\n", "\n")}:
        return PullRequest(number, url, "unchanged")
    api.call("PATCH", f"/repos/{repo.slug}/pulls/{number}", wanted)
    return PullRequest(number, url, "updated")


def _closed_as_it_is(api: Api, repo: Repo, proposal: Proposal) -> PullRequest | None:
    """The pull request that a person closed without merging, while the branch has not moved since: their word stands."""
    head = quote(f"{repo.owner}:{proposal.head}", safe="")
    path = f"/repos/{repo.slug}/pulls?state=closed&head={head}&sort=updated&direction=desc&per_page=5"
    for row in _rows(api.call("GET", path)):
        tip = row.get("head")
        if (
            proposal.sha
            and isinstance(tip, dict)
            and tip.get("sha") == proposal.sha
            and not row.get("merged_at")
        ):
            return PullRequest(_number(row), _text(row, "html_url"), "closed")
    return None


def _open_one(api: Api, repo: Repo, proposal: Proposal) -> Any:
    head, base = quote(f"{repo.owner}:{proposal.head}", safe=""), quote(proposal.base, safe="")
    rows = api.call("GET", f"/repos/{repo.slug}/pulls?state=open&head={head}&base={base}&per_page=10")
    wanted = [row for row in _rows(rows) if _head(row, proposal.head) == proposal.head]
    ours = [row for row in wanted if marker(proposal.slug) in _text(row, "body")]
    return next(iter(ours or wanted), None)


def _comment(api: Api, repo: Repo, number: int, proposal: Proposal) -> str:
    body = marked("", proposal)
    for page in range(1, _PAGES_MOST + 1):
        rows = _rows(
            api.call("GET", f"/repos/{repo.slug}/issues/{number}/comments?per_page={_PAGE}&page={page}")
        )
        for row in rows:
            if _text(row, "body").startswith(marker(proposal.slug)):
                if _text(row, "body").replace("\r\n", "\n") == body:
                    return "unchanged"
                api.call("PATCH", f"/repos/{repo.slug}/issues/comments/{int(row['id'])}", {"body": body})
                return "commented"
        if len(rows) < _PAGE:
            break
    api.call("POST", f"/repos/{repo.slug}/issues/{number}/comments", {"body": body})
    return "commented"


def marker(slug: str) -> str:
    """Invisible on the page; says which part is ours."""
    return f"<!-- memory-console mirror {slug} -->"


_END = "<!-- memory-console end -->"


def marked(before: str, proposal: Proposal) -> str:
    """``before`` with our part replaced, or our part alone; never longer than GitHub takes."""
    start = marker(proposal.slug)
    head, found, rest = before.replace("\r\n", "\n").partition(start)
    _, ended, tail = rest.partition(_END)
    if not found or not ended:
        head, tail = (head, "") if found else ("", "")
    room = LIMIT - units(head) - units(tail) - units(start) - units(_END) - 2
    # A marker inside the text would end our part early; it can only be there to do harm.
    body = proposal.body.replace("<!-- memory-console", "<!-- memory console")
    return f"{head}{start}\n{cut(body, room)}\n{_END}{tail}"


def cut(text: str, limit: int) -> str:
    """Whole lines from the top that fit; an open fence or fold is closed, and the cut is said."""
    text = text.rstrip("\n")
    if units(text) <= limit:
        return text
    lines = text.split("\n")
    spare = 200
    kept: list[str] = []
    used = 0
    for line in lines:
        used += units(line) + 1
        if used > limit - spare:
            break
        kept.append(line)
    closing = _closing(kept)
    left = len(lines) - len(kept)
    return "\n".join(
        [*kept, *closing, "", f"*Cut here: {left:,} more lines. `console mirror diff` shows them all.*"]
    )[: max(limit, 0)]


def _closing(lines: Sequence[str]) -> list[str]:
    fence = ""
    folds = 0
    for line in lines:
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1][0] == fence[0] and len(match[1]) >= len(fence) and line.strip() == match[1]:
            fence = ""
        elif not fence:
            folds += line.count("<details") - line.count("</details>")
    return [*([fence] if fence else []), *(["", "</details>"] * max(0, folds))]


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text) + sum(1 for c in text if ord(c) > 0xFFFF)


def _rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise GitHubError("GitHub's answer is no list", hint="is GITHUB_API_URL right?")
    return [row for row in value if isinstance(row, dict)]


def _number(value: Any) -> int:
    number = value.get("number") if isinstance(value, dict) else None
    if not isinstance(number, int):
        raise GitHubError("GitHub's answer names no pull request", hint="is GITHUB_API_URL right?")
    return number


def _head(row: dict[str, Any], otherwise: str) -> str:
    head = row.get("head")
    return _text(head, "ref") or otherwise


def _text(value: Any, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


__all__ = ["LIMIT", "Proposal", "PullRequest", "cut", "marked", "marker", "propose", "units"]

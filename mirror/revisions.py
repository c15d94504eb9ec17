"""Which two commits a diff compares: what a person typed, or what this clone has changed."""

from __future__ import annotations

from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.paths import branch_name
from mirror.refs import default_tip


def commit_of(repo: Repository, revision: str) -> str:
    """Raises MirrorError that says whether the history is cut off here."""
    found = repo.resolve(revision)
    if found is not None:
        return found
    if revision == "HEAD" and repo.current_branch() is not None:
        raise MirrorError(
            "this repository has no commit yet",
            where=str(repo.top),
            hint="commit something, or run `console mirror init`",
        )
    shallow = repo.is_shallow()
    raise MirrorError(
        "this clone is shallow and does not reach that revision"
        if shallow
        else "no such revision in this repository",
        where=repr(revision),
        hint="fetch more history first: `git fetch --unshallow`, in CI `fetch-depth: 0`"
        if shallow
        else "name a commit, branch or tag; `git fetch` brings those of the remote",
    )


def find(
    repo: Repository, wanted: str | None, *, wiki: str, bank: str | None, default_branch: str | None
) -> tuple[str | None, str]:
    """(base, head) of ``BASE``, ``BASE..HEAD``, ``BASE...HEAD`` (from where they parted), or of nothing typed.

    Nothing typed: HEAD, or the bank's mirror branch, since it left the default branch; on a default branch
    that nothing is ahead of, the newest commit that touched the wiki. Base None: before the first commit.
    """
    if wanted:
        return _typed(repo, wanted)
    head = repo.resolve("HEAD")
    if head is None:
        raise MirrorError(
            "the repository has no commit yet", where=str(repo.top), hint="run `console mirror init`"
        )
    default = default_tip(repo, default_branch)
    for tip in (head, repo.resolve(f"refs/heads/{branch_name(bank)}") if bank else None):
        if tip and default and not repo.is_ancestor(tip, default):
            return _parted(repo, default, tip), tip
    newest = next(iter(repo.log("HEAD", wiki, limit=1)), None)
    if newest is None:
        return head, head
    parent = newest.parents[0].hexsha if newest.parents else None
    if parent is not None and repo.resolve(parent) is None:
        commit_of(repo, parent)
    return parent, newest.hexsha


def _typed(repo: Repository, wanted: str) -> tuple[str, str]:
    for dots in ("...", ".."):
        one, found, other = wanted.partition(dots)
        if found:
            base, head = commit_of(repo, one or "HEAD"), commit_of(repo, other or "HEAD")
            return (_parted(repo, base, head) if dots == "..." else base), head
    return commit_of(repo, wanted), commit_of(repo, "HEAD")


def _parted(repo: Repository, one: str, other: str) -> str:
    found = repo.merge_base(one, other)
    if found is not None:
        return found
    raise MirrorError(
        "the two revisions share no history here",
        where=f"{one[:12]} and {other[:12]}",
        hint="this clone is shallow: `git fetch --unshallow`, in CI `fetch-depth: 0`; or name both ends with `..`"
        if repo.is_shallow()
        else "name both ends with `..` to compare them as they are",
    )

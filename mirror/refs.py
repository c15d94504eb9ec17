"""Which commits a run reads and which branch it moves."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Protocol

from mirror.errors import Behind, GitFailed, MirrorError
from mirror.git import Repository
from mirror.paths import branch_name


class Wanted(Protocol):
    """The part of the run's options that decides it."""

    @property
    def branch(self) -> bool: ...
    @property
    def default_branch(self) -> str | None: ...
    @property
    def here(self) -> bool: ...
    @property
    def offline(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Tips:
    """``default``: the commit whose pages and marks count; None in a repository without commits."""

    target: str
    """Full name of the ref that moves."""
    default: str | None
    on_branch: bool = False
    branch: str | None = None
    """Tip of the mirror's own branch, here or on the remote."""
    local_branch: str | None = None
    """What the target ref is now: the old value of the compare-and-swap."""
    also: str | None = None
    """The mirror's own branch here, where it and the remote's went different ways: both are merged."""
    default_name: str = ""
    upstream: str | None = None
    """The remote's tip of ``target``, as far as it is known."""
    remote: str = ""
    remote_url: str = ""

    @property
    def branches(self) -> tuple[str, ...]:
        """Every tip of the mirror's own branch."""
        return tuple(tip for tip in (self.branch, self.also) if tip is not None)


def find_tips(repo: Repository, bank_id: str, wanted: Wanted) -> Tips:
    """Raises Behind, or MirrorError that names the setting."""
    remote = _remote(repo)
    current = repo.current_branch()
    name = default_name(repo, wanted.default_branch, offline=wanted.offline)
    tip = repo.resolve(f"refs/heads/{name}")
    url = repo.remote_url(remote) if remote else ""
    upstream = _upstream(repo, remote, name, offline=wanted.offline)
    if wanted.branch:
        return _branch_tips(repo, bank_id, wanted, name, tip, upstream, remote, url)
    if current is None:
        raise behind("HEAD is detached", str(repo.top))
    if wanted.here:
        theirs = (
            repo.resolve(f"refs/remotes/{remote}/{current.removeprefix('refs/heads/')}") if remote else None
        )
        return Tips(
            target=current,
            default=repo.resolve("HEAD"),
            default_name=name,
            upstream=theirs,
            remote=remote,
            remote_url=url,
        )
    if current != f"refs/heads/{name}":
        raise behind(
            f"this work tree is on {current.removeprefix('refs/heads/')}, the default branch is {name}",
            str(repo.top),
        )
    if upstream and (tip is None or not repo.is_ancestor(upstream, tip)):
        raise behind(f"{name} is behind {remote}/{name}", str(repo.top))
    return Tips(
        target=current, default=tip, default_name=name, upstream=upstream, remote=remote, remote_url=url
    )


def default_tip(repo: Repository, name: str | None) -> str | None:
    """The default branch's commit as this clone knows it, without asking the remote; None where it cannot be told."""
    remote = _remote(repo)
    known = (repo.known_default(remote) if remote else None) or ""
    current = (repo.current_branch() or "").removeprefix("refs/heads/")
    for candidate in (name, known, None if remote and known else current):
        if not candidate:
            continue
        for ref in (f"refs/remotes/{remote}/{candidate}", f"refs/heads/{candidate}"):
            tip = repo.resolve(ref)
            if tip is not None:
                return tip
    return None


def _remote(repo: Repository) -> str:
    names = repo.remotes()
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 else ""


def _named(repo: Repository, name: str) -> str:
    """The branch of a setting, in the Unicode form in which it exists. Raises MirrorError for what is no name."""
    if not repo.is_branch_name(name):
        raise MirrorError(
            f"{name!r} is no branch name",
            where="branch setting, or --default-branch",
            hint='name a branch such as "main"',
        )
    forms = [name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))]
    return next((form for form in forms if repo.resolve(f"refs/heads/{form}")), name)


def default_name(repo: Repository, asked: str | None, *, offline: bool) -> str:
    """The default branch: as the setting names it, else as the remote or the work tree tells. Raises MirrorError."""
    if asked:
        return _named(repo, asked)
    return _default_name(repo, _remote(repo), repo.current_branch(), offline=offline)


def _default_name(repo: Repository, remote: str, current: str | None, *, offline: bool) -> str:
    here = current.removeprefix("refs/heads/") if current is not None else None
    others = False
    if remote:
        if name := repo.known_default(remote):
            return name
        if offline:
            others = any(name not in (here, "HEAD") for name in repo.tracked(remote))
        else:
            try:
                name, others = repo.ask_default(remote)
            except GitFailed as error:
                raise GitFailed(
                    "the default branch could not be asked of the remote",
                    where=remote,
                    hint=f"{error.hint}; --offline skips this",
                ) from error
            if name:
                return name
    if here is not None and not others:
        return here
    raise MirrorError(
        "the default branch cannot be told",
        where=str(repo.top),
        hint='name it: `branch = "main"` in .console.toml, or --default-branch main',
    )


def _upstream(repo: Repository, remote: str, name: str, *, offline: bool) -> str | None:
    """The remote's tip of the default branch, fetched unless offline; None where the remote has none yet."""
    if not remote:
        return None
    if not offline:
        try:
            repo.fetch(remote, name)
        except GitFailed as error:
            if "couldn't find remote ref" in str(error):
                return None
            raise GitFailed(
                "the default branch could not be fetched",
                where=f"{remote}/{name}",
                hint=f"{error.hint}; --offline skips this",
            ) from error
    return repo.resolve(f"refs/remotes/{remote}/{name}")


def _branch_tips(
    repo: Repository,
    bank_id: str,
    wanted: Wanted,
    name: str,
    tip: str | None,
    upstream: str | None,
    remote: str,
    url: str,
) -> Tips:
    target = f"refs/heads/{branch_name(bank_id)}"
    if target in repo.checked_out():
        raise MirrorError(
            f"{branch_name(bank_id)} is checked out in a work tree",
            where=str(repo.top),
            hint="switch that work tree to another branch",
        )
    default = upstream or tip
    if default is None:
        raise MirrorError(
            f"the default branch {name} has no commit",
            where=str(repo.top),
            hint="commit something there first, or name it with --default-branch",
        )
    local = repo.resolve(target)
    theirs: str | None = None
    if remote:
        there = wanted.offline or repo.remote_has_branch(remote, branch_name(bank_id))
        if there and not wanted.offline:
            repo.fetch(remote, branch_name(bank_id))
        # A remote that has the branch no more (merged, then deleted) has no tip, whatever was fetched once.
        theirs = repo.resolve(f"refs/remotes/{remote}/{branch_name(bank_id)}") if there else None
    branch, also = local or theirs, None
    if local and theirs and local != theirs:
        if repo.is_ancestor(local, theirs):
            branch = theirs
        elif not repo.is_ancestor(theirs, local):
            branch, also = theirs, local
    if branch and repo.is_shallow() and repo.merge_base(default, branch) is None:
        # Without the commit where they parted nobody can tell which of them dropped a record.
        if remote and not wanted.offline:
            repo.deepen(remote)
        if repo.is_shallow() and repo.merge_base(default, branch) is None:
            raise MirrorError(
                f"this clone's history is cut off before {name} and {branch_name(bank_id)} part",
                where=str(repo.top),
                hint="run `git fetch --unshallow`",
            )
    return Tips(
        target=target,
        default=default,
        on_branch=True,
        branch=branch,
        local_branch=local,
        also=also,
        default_name=name,
        upstream=theirs,
        remote=remote,
        remote_url=url,
    )


def behind(reason: str, where: str) -> Behind:
    return Behind(reason, where=where, hint="switch to it or pull first, or overrule with --here")

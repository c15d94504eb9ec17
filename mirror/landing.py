"""The end of a run: one commit, on the branch here and on the remote, or nothing.

With ``push`` the remote decides first: a commit moves a branch here only after the remote took it, so a commit
that lost a race is left on no branch, and the run can simply be repeated from the new tip.
"""

from __future__ import annotations

from typing import Protocol

from mirror import worktree
from mirror.errors import Behind, MirrorError, Protected
from mirror.git import Change, Repository
from mirror.manifest import blob_id
from mirror.paths import BankFolder, bank_slug, branch_name
from mirror.push import push
from mirror.refs import Tips
from mirror.source import SourceBank
from mirror.state import Wiki


class Told(Protocol):
    """The part of the report that landing fills in."""

    commit: str | None
    branch: str
    pushed: bool
    notes: list[str]
    added: int
    changed: int
    restored: int
    removed: int

    @property
    def first(self) -> bool: ...


def needed(repo: Repository, folder: BankFolder, tips: Tips, wiki: Wiki, changes: list[Change]) -> bool:
    """Whether a commit would say anything new. On the mirror's branch: against that branch."""
    if tips.branch is None:
        return bool(changes)
    if tips.also is not None:
        return True
    want = {path: entry.oid for path, entry in repo.tree(tips.default, folder.root).items()}
    for change in changes:
        if change.data is None:
            want.pop(change.path, None)
        elif change.path.startswith(f"{folder.root}/"):
            want[change.path] = blob_id(change.data)
    has = {path: entry.oid for path, entry in repo.tree(tips.branch, folder.root).items()}
    if want != has:
        return True
    if not changes or tips.default is None:
        return False
    # The branch says it already; it needs a new commit only when the default branch touched the folder since.
    common = repo.merge_base(tips.default, tips.branch)
    return common is None or repo.tree(common, folder.root) != repo.tree(tips.default, folder.root)


def differs(repo: Repository, folder: BankFolder, default: str | None, branch: str | None) -> bool:
    """Whether the mirror's branch has something in the wiki folder that the default branch does not."""
    if branch is None:
        return False
    return repo.tree(default, folder.root) != repo.tree(branch, folder.root)


def message(bank: SourceBank, report: Told) -> str:
    """Counts and slugs only: bank text such as "fixes #12" must not act."""
    pairs = (
        (report.added, "added"),
        (report.changed, "changed"),
        (report.restored, "restored"),
        (report.removed, "removed"),
    )
    parts = ", ".join(f"{count} {what}" for count, what in pairs if count)
    return f"mirror {bank_slug(bank.bank_id)}: {parts or 'side files'}\n"


def make(
    repo: Repository,
    bank: SourceBank,
    tips: Tips,
    changes: list[Change],
    report: Told,
    *,
    carried: tuple[str, str] | None = None,
) -> str:
    """The commit, on no branch yet.

    On the mirror's branch its parents are always both: the tip that people may have edited, and the default tip
    that this run judged. The tree is the default tip's with the regenerated folder, so merging it never conflicts.
    ``carried``: (folder, commit) whose pages stay as they are where nothing changes them.
    """
    if tips.on_branch:
        parents = list(dict.fromkeys(tip for tip in (tips.branch, tips.also, tips.default) if tip))
    else:
        worktree.check_index(repo)
        parents = [tips.default] if tips.default else []
    return repo.commit(
        changes,
        parents=parents,
        tree_of=tips.default,
        message=message(bank, report),
        slug=bank_slug(bank.bank_id),
        carried=carried,
    )


def here(repo: Repository, bank: SourceBank, tips: Tips, commit: str, changes: list[Change]) -> bool:
    """Move the branch in this repository; False when somebody moved it first."""
    if tips.on_branch:
        return repo.update_ref(tips.target, commit, tips.local_branch)
    return worktree.land(repo, bank_slug(bank.bank_id), tips.target, commit, tips.default, changes)


def there(
    repo: Repository,
    bank: SourceBank,
    tips: Tips,
    commit: str | None,
    changes: list[Change],
    report: Told,
    *,
    open_changes: bool,
) -> bool:
    """Push, then move the branch here. ``commit`` None: nothing new, but the branch may be ahead of its remote.

    False: somebody pushed first, plan again. Raises SecretsFound, Protected, PushRefused, Behind.
    """
    if not tips.remote:
        raise MirrorError(
            "there is nowhere to push to",
            where=str(repo.top),
            hint="this repository has no remote called origin: add one (git remote add origin URL), or leave out --push",
        )
    if commit is None:
        tip = tips.branch if tips.on_branch else tips.default
        ahead = tip is not None and tip != tips.upstream and (open_changes or not tips.on_branch)
        if tip is None or not ahead:
            return True
        return _pushed(repo, tips, tip, tips.target, report)
    if tips.on_branch and report.first and tips.branch is None:
        answer = _first(repo, tips, commit, report)
        if answer is not None:
            return answer
    if not tips.on_branch:
        worktree.check_index(repo)
        others = repo.count_between(tips.upstream, commit) - 1
        if not _pushed(repo, tips, commit, tips.target, report):
            return False
        if others > 0:
            report.notes.append(f"{others} earlier commits of {report.branch} were pushed with it")
    elif not _pushed(repo, tips, commit, tips.target, report):
        return False
    report.commit = commit
    if here(repo, bank, tips, commit, changes):
        return True
    name = tips.target.removeprefix("refs/heads/")
    if tips.on_branch:
        report.notes.append(f"{name} was moved here meanwhile; the next run brings both together")
        return True
    raise Behind(
        f"pushed, but {name} was moved here meanwhile",
        where=str(repo.top),
        hint=f"bring both together with `git pull --rebase {tips.remote} {name}`",
    )


def _first(repo: Repository, tips: Tips, commit: str, report: Told) -> bool | None:
    """The first import goes to the default branch itself: nobody can review 10,000 new pages in a pull request.

    None: it cannot, so it goes to the mirror's branch.
    """
    target = f"refs/heads/{tips.default_name}"
    try:
        landed = push(repo, tips.remote, commit, target)
    except Protected as error:
        report.notes.append(
            f"the first import could not land on {tips.default_name}, {error.message}; it is on "
            f"{tips.target.removeprefix('refs/heads/')}: merge that branch without reading every page"
        )
        return None
    if landed:
        report.commit, report.branch, report.pushed = commit, tips.default_name, True
    return landed


def _pushed(repo: Repository, tips: Tips, commit: str, ref: str, report: Told) -> bool:
    report.pushed = push(repo, tips.remote, commit, ref)
    return report.pushed


def catch_up(repo: Repository, tips: Tips) -> None:
    """After a lost race: bring the user's branch to the remote's new tip, where nothing of theirs is in the way.

    The mirror's own branch needs none of it: the next plan fetches. Raises Behind.
    """
    if tips.on_branch or not tips.remote:
        return
    name = tips.target.removeprefix("refs/heads/")
    repo.fetch(tips.remote, name)
    upstream = repo.resolve(f"refs/remotes/{tips.remote}/{name}")
    current = repo.resolve(tips.target)
    if upstream is None or current is None or repo.is_ancestor(upstream, current):
        return
    reason = (
        repo.fast_forward(upstream)
        if repo.is_ancestor(current, upstream)
        else f"{name} has commits that were not pushed"
    )
    if reason:
        raise Behind(
            f"somebody pushed to {name} on {tips.remote} meanwhile",
            where=str(repo.top),
            hint=f"{reason}; nothing was written: run `git pull --rebase {tips.remote} {name}`, then this again",
        )


__all__ = ["branch_name", "catch_up", "differs", "here", "make", "message", "needed", "there"]

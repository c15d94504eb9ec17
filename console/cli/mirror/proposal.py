"""``--pr``: the mirror's branch as one pull request that is opened once and then kept up to date."""

from __future__ import annotations

import os

from console.cli.mirror.common import Place
from console.pull_request import PullRequest
from mirror.paths import BankFolder, bank_slug, wiki_path
from mirror.sync import Report


def why_not(report: Report) -> str:
    """Why there is nothing to open a pull request for; '' when there is."""
    if report.branch == report.default_branch:
        return f"it is on {report.branch} already"
    if not report.differs:
        return f"{report.branch} has nothing that {report.default_branch} does not have"
    return ""


def open_or_update(report: Report, place: Place) -> PullRequest:
    """Raises GitHubError, MirrorError."""
    from console.github import connect, find_repo
    from console.pull_request import Proposal, propose
    from mirror.digest import counts_line, markdown
    from mirror.git import Repository
    from mirror.review import review

    repo = Repository.find(place.repo)
    try:
        where = find_repo(report.remote, os.environ)
        folder = BankFolder(wiki_path(place.wiki), report.bank_id)
        changes = review(repo, report.judged, report.tip, wiki=folder.wiki, bank=report.bank_id)
        slug = bank_slug(report.bank_id)
        proposal = Proposal(
            slug=slug,
            head=report.branch,
            base=report.default_branch,
            title=f"Memory of {slug}: {counts_line(changes) or 'side files'}",
            body=markdown(changes),
            sha=report.tip or "",
        )
        return propose(connect(where, folder=repo.top), where, proposal)
    finally:
        repo.close()

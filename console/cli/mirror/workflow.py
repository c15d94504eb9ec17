"""``console mirror init --github``: writes the workflow into the work tree; commits and sends nothing."""

from __future__ import annotations

import difflib

import click

from console import __version__
from console.cli.base import State, confirm
from console.cli.mirror.common import Place, say
from console.cli.output import print_json
from console.github_workflow import PATH, Bank, render
from mirror.errors import MirrorError
from mirror.files import inside, write_file
from mirror.git import Repository
from mirror.paths import bank_slug, wiki_path
from mirror.refs import default_name
from mirror.review import bank_folders


def write(state: State, place: Place, *, dry_run: bool) -> int:
    """All banks whose wiki stands at HEAD, and the one of this run."""
    repo = Repository.find(place.repo)
    try:
        wiki = wiki_path(place.wiki)
        head = repo.resolve("HEAD")
        ids = {folder.bank_id for folder in bank_folders(repo, (head,), wiki).values()} if head else set()
        ids.add(state.settings.bank)
        text = render(
            [Bank(bank_id, bank_slug(bank_id)) for bank_id in sorted(ids)],
            wiki=wiki,
            branch=default_name(repo, place.default_branch, offline=place.offline),
            version=__version__,
        )
        file = inside(repo.top, PATH)
        try:
            before = file.read_bytes().decode("utf-8", "replace") if file.is_file() else None
        except OSError as error:
            raise MirrorError("the workflow cannot be read", where=PATH, hint=str(error.strerror)) from error
        same = before is not None and before.replace("\r\n", "\n") == text
        if not state.as_json and not same:
            _show(before, text)
        if not dry_run and not same:
            if before is not None:
                confirm(state, f"replace {PATH}, which is different")
            write_file(file, text.encode("utf-8"))
        written = not dry_run and not same
        if state.as_json:
            print_json({"path": PATH, "banks": sorted(ids), "written": written, "same": same, "text": text})
        else:
            _say(repo.remote_url("origin"), written=written, same=same)
        return 0
    finally:
        repo.close()


def _show(before: str | None, text: str) -> None:
    if before is None:
        click.echo(text, nl=False)
        return
    lines = difflib.unified_diff(
        before.splitlines(), text.splitlines(), PATH, f"{PATH} (new)", lineterm="", n=1
    )
    for line in lines:
        say(line)


def _say(remote: str, *, written: bool, same: bool) -> None:
    if same:
        say(f"{PATH} is up to date")
        return
    if not written:
        say(f"{PATH} was not written: a dry run")
        return
    say(f"wrote {PATH}")
    say("next: set the secrets HINDSIGHT_API_URL and HINDSIGHT_API_TOKEN (gh secret set NAME), then")
    say(f"      git add {PATH} && git commit -m 'Mirror memory' && git push")
    if remote and "github" not in remote:
        say(f"note      the remote {remote} does not look like GitHub")

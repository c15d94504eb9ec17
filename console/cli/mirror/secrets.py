"""``console mirror secrets [list | keep | allow]``: what is withheld, and what a person settled. No store is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import click

from console.cli.base import Refused, State, group, pass_state
from console.cli.mirror.common import say
from console.cli.mirror.history import one_wiki, open_repository, place
from console.cli.mirror.sync import print_secrets
from console.cli.output import print_json
from mirror import secrets as rules
from mirror.errors import MirrorError
from mirror.files import inside, write_file
from mirror.git import Repository
from mirror.manifest import Header, read_header
from mirror.revisions import commit_of
from mirror.state import Wiki
from mirror.sync import withheld


@group("secrets", default="list", help="Secrets that are withheld; keep or allow one by its fingerprint.")
def secrets() -> None: ...


@contextmanager
def _opened(state: State, repo: Path, wiki: str | None) -> Iterator[tuple[Repository, Wiki, Header]]:
    """The wiki at HEAD, and the header as its file says now."""
    with open_repository(repo) as found:
        at_head = one_wiki(state, found, commit_of(found, "HEAD"), wiki)
        path = at_head.folder.header
        try:
            data = inside(found.top, path).read_bytes()
        except OSError as error:
            raise MirrorError(
                "the wiki's header cannot be read", where=path, hint=f"git checkout -- {path}"
            ) from error
        yield found, at_head, read_header(data, where=path)


@secrets.command("list")
@place
@pass_state
def list_(state: State, repo: Path, wiki: str | None) -> int:
    """What is withheld from the wiki, and what was allowed. Exit 6 while something is not settled."""
    with _opened(state, repo, wiki) as (_, at_head, header):
        found = withheld(at_head.folder, at_head.entries, header.secrets)
        allowed = {m: r for entry in at_head.entries.values() for m, r in entry.allowed.items()}
    code = 6 if any(not secret.settled for secret in found) else 0
    if state.as_json:
        print_json({"withheld": [asdict(s) for s in found], "allowed": allowed, "exit_code": code})
        return code
    print_secrets(found)
    for secret in found:
        if secret.settled:
            what = "allowed, shown after the next sync" if secret.settled == rules.ALLOW else "kept withheld"
            say(f"settled   {secret.path}: {secret.rule} ({secret.fingerprint}) {what}")
    for mark, rule in sorted(allowed.items()):
        say(f"allowed   {rule} ({mark}) is shown")
    if not found and not allowed:
        say("no secret was found")
    return code


@secrets.command("keep")
@click.argument("fingerprint")
@place
@pass_state
def keep(state: State, fingerprint: str, repo: Path, wiki: str | None) -> int:
    """Settle a secret: it stays withheld, and runs end with 0 again."""
    return _settle(state, fingerprint, rules.KEEP, repo, wiki)


@secrets.command("allow")
@click.argument("fingerprint")
@place
@pass_state
def allow(state: State, fingerprint: str, repo: Path, wiki: str | None) -> int:
    """Settle what is no secret, or one that may be read: the next sync shows it, and git keeps it."""
    return _settle(state, fingerprint, rules.ALLOW, repo, wiki)


def _settle(state: State, fingerprint: str, what: str, repo: Path, wiki: str | None) -> int:
    if not rules.is_fingerprint(fingerprint):
        raise Refused("a fingerprint is 12 hex digits: `console mirror secrets` lists them")
    with _opened(state, repo, wiki) as (found, at_head, header):
        known = {m for entry in at_head.entries.values() for m in (*entry.withheld, *entry.allowed)}
        if fingerprint not in known:
            raise MirrorError(
                "no page has a secret with this fingerprint",
                where=fingerprint,
                hint="see `console mirror secrets`; a sync has to be committed first",
            )
        path = at_head.folder.header
        settled = {**header.secrets, fingerprint: what}
        write_file(inside(found.top, path), replace(header, secrets=settled).encode())
    if state.as_json:
        print_json({"fingerprint": fingerprint, "settled": what, "path": path})
        return 0
    say(f"{fingerprint}: {'stays withheld' if what == rules.KEEP else 'will be shown'}, noted in {path}")
    say(f"next: git commit -m 'Settle a secret' -- {path} && console mirror sync")
    return 0


__all__ = ["secrets"]

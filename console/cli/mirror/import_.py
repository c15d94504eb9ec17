"""``console mirror import``: a bank rebuilt from its wiki."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field
from typing import Any

import click

from console.cli.base import State, command, pass_state
from console.cli.mirror.common import SHOWN, Bar, Place, more, place_options, say
from console.cli.output import count, print_json
from console.memory.errors import NotFound, Unsupported
from console.memory.models import ArchivedDocument, DocumentQuery
from console.memory.store import Capability, MemoryStore
from mirror.errors import BadPage, MirrorError, NotBound
from mirror.sync import Options, Progress, Report
from mirror.verify import Verification

_BATCH = 200


@dataclass(slots=True)
class Rebuild:
    """What was, or with a dry run would be, brought into the bank."""

    bank_id: str
    folder: str
    documents: int = 0
    facts: int = 0
    invalidated: int = 0
    skipped: list[str] = field(default_factory=list)
    """Documents that the bank had already."""
    refused: list[str] = field(default_factory=list)
    """Pages that cannot be rebuilt, ``what (path)``: then nothing was brought in."""
    dry_run: bool = False
    report: Report | None = None
    verification: Verification | None = None

    @property
    def exit_code(self) -> int:
        if self.refused:
            return 3
        code = self.report.exit_code if self.report is not None else 0
        return code or (self.verification.exit_code if self.verification is not None else 0)


@command("import")
@place_options
@click.option("--merge", is_flag=True, help="Also into a bank that is not empty; what it has stays as it is.")
@click.option("--dry-run", is_flag=True, help="Say what would be brought in, write nothing.")
@pass_state
def import_(state: State, place: Place, merge: bool, dry_run: bool) -> int:
    """Rebuild a bank from its wiki: texts, facts and what was taken back, with no model; then bind the wiki to it.

    The bank must be empty or missing (or --merge), and no page edited. Exit 3 with the list of pages that
    cannot be rebuilt, or when the comparison afterwards finds a difference.
    """
    bank_id = state.settings.bank
    with Bar() as bar:
        done = state.with_store(
            lambda store: _rebuild(store, bank_id, place, merge=merge, dry_run=dry_run, progress=bar.tell)
        )
    if state.as_json:
        print_json(_json(done))
    else:
        _print(done)
    return done.exit_code


async def _rebuild(
    store: MemoryStore, bank_id: str, place: Place, *, merge: bool, dry_run: bool, progress: Progress
) -> Rebuild:
    from console.bridge import StoreSource
    from mirror.sync import sync
    from mirror.verify import verify

    if Capability.IMPORT not in store.capabilities:
        raise Unsupported(
            "this store takes no documents with their facts",
            where=store.url,
            hint="use one that can be written",
        )
    options = Options(
        wiki=place.wiki,
        branch=place.branch,
        default_branch=place.default_branch,
        here=place.here,
        offline=place.offline,
        rebind=True,
    )
    held = await _held(store, bank_id)
    if held and not merge:
        raise MirrorError(
            f"bank {bank_id!r} is not empty: it holds {count(held, 'document')}",
            where=store.url,
            hint="name an empty one, or add --merge to bring in what it does not have",
        )
    folder, documents, errors = await asyncio.to_thread(_read, place, bank_id, options)
    done = Rebuild(bank_id, folder, refused=[str(error) for error in errors], dry_run=dry_run)
    if errors or dry_run:
        done.documents = len(documents)
        done.invalidated = sum(f.state == "invalidated" for d in documents for f in d.facts)
        done.facts = sum(len(d.facts) for d in documents) - done.invalidated
        return done
    await store.create_bank(bank_id)
    for start in range(0, len(documents), _BATCH):
        result = await store.import_documents(bank_id, documents[start : start + _BATCH])
        done.documents += len(result.imported)
        done.facts += result.facts
        done.invalidated += result.invalidated
        done.skipped += result.skipped
        progress("documents", min(start + _BATCH, len(documents)), len(documents))
    source = StoreSource(store, bank_id)
    done.report = await sync(source, place.repo, options, progress)
    done.verification = await verify(source, place.repo, options, progress)
    return done


async def _held(store: MemoryStore, bank_id: str) -> int:
    try:
        return (await store.list_documents(bank_id, DocumentQuery(limit=1))).total
    except NotFound:
        return 0


def _read(place: Place, bank_id: str, options: Options) -> tuple[str, list[ArchivedDocument], list[BadPage]]:
    """(the wiki's folder, its documents, what cannot be rebuilt). Raises MirrorError where no wiki is."""
    from console.wiki_archive import archived, cut
    from mirror import rebuild
    from mirror import state as wiki_state
    from mirror.git import Repository
    from mirror.paths import BankFolder, wiki_path
    from mirror.refs import find_tips
    from mirror.sync import read_base

    repo = Repository.find(place.repo)
    try:
        folder = BankFolder(wiki_path(options.wiki), bank_id)
        tips = find_tips(repo, bank_id, options)
        wiki, _ = read_base(repo, folder, tips)
        if tips.on_branch and tips.branch:
            wiki = wiki_state.read(repo, tips.branch, folder)
        if wiki.header is None:
            raise NotBound(
                f"there is no wiki of bank {bank_id!r} here", where=folder.root, hint="check --bank"
            )
        if wiki.header.bank_id != bank_id:
            raise NotBound(
                f"the wiki is of bank {wiki.header.bank_id!r}", where=folder.root, hint="check --bank"
            )
        errors = rebuild.problems(wiki)
        documents: list[ArchivedDocument] = []
        if not errors:
            for found in rebuild.read(repo, wiki, cut):
                if isinstance(found, BadPage):
                    errors.append(found)
                else:
                    documents.append(archived(bank_id, found))
        return folder.root, documents, errors
    finally:
        repo.close()


def _json(done: Rebuild) -> dict[str, Any]:
    return asdict(done) | {"exit_code": done.exit_code}


def _print(done: Rebuild) -> None:
    for line in done.refused[:SHOWN]:
        say(f"refused   {line}")
    more(len(done.refused))
    if done.refused:
        say("nothing was brought in: sync or undo those edits first")
        return
    verb = "would bring" if done.dry_run else "brought"
    say(
        f"{verb} {count(done.documents, 'document')} with {count(done.facts, 'fact')} and {done.invalidated:,} that were taken back "
        f"from {done.folder} into bank {done.bank_id}"
    )
    if done.skipped:
        say(f"{len(done.skipped):,} documents were in the bank already and stay as they are")
    if done.report is not None and done.report.commit:
        say(f"the wiki is bound to it: commit {done.report.commit[:12]} on {done.report.branch}")
    if done.verification is not None:
        for difference in done.verification.differences[:SHOWN]:
            say(f"{difference.path}: {difference.what}")
        more(len(done.verification.differences))
        say(f"{count(len(done.verification.differences), 'difference')} between wiki and bank")

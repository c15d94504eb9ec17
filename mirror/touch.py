"""Brings a few named documents up to the bank, on ``mirror/<bank-slug>``, without listing the bank.

For whoever knows what was just written (the seam): the cost follows the documents that were touched, not the
bank. Everything that a whole run decides by looking at the whole bank (what is gone, what came in by another
way, marks) stays with the whole run; what both do, both do with the same functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from mirror import export, landing, policies, state, wishes
from mirror.apply import carry_out
from mirror.cover import Cover
from mirror.errors import MirrorError, NotBound
from mirror.git import Repository
from mirror.listing import Snapshot
from mirror.lock import held
from mirror.manifest import Entry
from mirror.overlay import Pending
from mirror.paths import BankFolder, bank_slug, wiki_path
from mirror.plan import make as make_plan
from mirror.refs import Tips, find_tips
from mirror.source import SourceBank, SourceDocument, SourceFact
from mirror.state import Wiki
from mirror.sync import REPLANS, Options, Report, fill, sync
from mirror.veil import Bank, Veiled


class Reader(Bank, Protocol):
    """A bank whose documents can be asked for one by one."""

    async def document(self, document_id: str) -> SourceDocument | None:
        """As a listing gives it; None when the bank itself says that it does not exist."""

    async def document_facts(self, document_id: str) -> tuple[SourceFact, ...]:
        """All its world and experience facts, live and invalidated."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A document that was written, changed or deleted."""

    document_id: str
    label: str | None = None
    """Who wrote it; None leaves what the manifest has."""
    sent: Sent | None = None
    """What the bank acknowledged but has not stored yet: its page shows this until the bank has it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A text on its way into the bank."""

    text: str
    append: bool = False
    """The bank will put it behind what it has, with a newline between."""
    tags: tuple[str, ...] = ()
    context: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


async def touch(
    source: Reader, start: Path, touched: Sequence[Touched], *, wiki: str = "wiki", default_branch: str | None
) -> Report:
    """Write the pages of ``touched`` and re-apply their records. Raises MirrorError, or the store's errors.

    Documents that the bank does not have and that are not ``sent`` lose their page. Nothing is fetched or pushed.
    """
    repo = await asyncio.to_thread(Repository.find, start)
    options = Options(wiki=wiki, branch=True, default_branch=default_branch, offline=True)
    try:
        for last in (False, True):
            try:
                return await _locked(source, repo, touched, options)
            except _Diverged:
                if last:
                    raise
                # Only a listing tells which side's page of every other document stands.
                await sync(source, start, options)
        raise AssertionError("not reached")
    finally:
        repo.close()


class _Diverged(MirrorError):
    """The default branch and the mirror's own went different ways in the wiki's folder."""


async def _locked(source: Reader, repo: Repository, touched: Sequence[Touched], options: Options) -> Report:
    bank = await source.bank()
    with held(repo.common_dir, bank_slug(bank.bank_id)):
        for _ in range(REPLANS):
            report = await _once(source, bank, repo, touched, options)
            if report is not None:
                return report
    raise MirrorError(
        f"the branch moved {REPLANS} times while the pages were written",
        where=str(repo.top),
        hint="no page was written; the next sync writes them",
    )


async def _once(
    source: Reader, bank: SourceBank, repo: Repository, touched: Sequence[Touched], options: Options
) -> Report | None:
    """One round; None when somebody moved the branch first."""
    folder = BankFolder(wiki_path(options.wiki), bank.bank_id)
    tips = await asyncio.to_thread(find_tips, repo, bank.bank_id, options)
    carried = await asyncio.to_thread(_carried, repo, folder, tips)
    wiki = await asyncio.to_thread(state.read, repo, carried or tips.default, folder)
    base = dict(wiki.entries)
    if wiki.header is None:
        raise NotBound(
            f"no wiki of bank {bank.bank_id!r} here yet", where=folder.root, hint="run `console mirror init`"
        )
    state.check_identity(wiki, bank)
    report = Report(
        bank_id=bank.bank_id,
        folder=folder.root,
        branch=tips.target.removeprefix("refs/heads/"),
        default_branch=tips.default_name,
        judged=tips.default,
        origin=bank.origin,
    )
    cover = Cover(bank, wiki.header)
    veiled = Veiled(source, cover)
    named = {veiled.shown(item.document_id): item for item in touched}
    for document_id, item in named.items():
        if item.label is not None:
            base[document_id] = replace(base.get(document_id) or Entry(document_id), label=item.label)
    texts: dict[str, str | None] = {}
    snapshot, gone = await _snapshot(source, named, texts)
    own = {i: base[i] for i in snapshot.documents if i in base and named[i].sent is None}
    if any(entry.records or entry.retraction for entry in own.values()):
        rules = await asyncio.to_thread(policies.read, repo, tips.default, options.policies)
        judged = await asyncio.to_thread(state.read, repo, tips.default, folder) if carried else wiki
        standing = await asyncio.to_thread(wishes.standing, repo, judged, own)
        plan = make_plan(
            [],
            own,
            snapshot,
            bank_id=bank.bank_id,
            today=date.today().isoformat(),
            policies=rules,
            standing=standing,
        )
        outcome = await carry_out(veiled, plan, own, None)
        report.actions, report.failed, report.sent = outcome.done, outcome.failed, outcome.sent
        report.unsettled = plan.unsettled
        base |= outcome.entries
        if outcome.sent:
            snapshot, gone = await _snapshot(source, named, texts)
    others = [tip for tip in (tips.default, *tips.branches) if tip is not None and tip != wiki.commit]
    pending = await asyncio.to_thread(_marks, repo, wiki, others, folder, named)
    target = await export.build(
        _WithTexts(veiled, texts),
        bank,
        snapshot,
        wiki,
        repo,
        base=base,
        gone=[i for i in gone if i in base],
        pending=pending,
        cover=cover,
    )
    fill(report, target, [])
    changes = export.as_changes(target, wiki, attributes=False)
    report.files = len(changes)
    if not changes:
        return report
    commit = await asyncio.to_thread(
        lambda: landing.make(
            repo, bank, tips, changes, report, carried=(folder.root, carried) if carried else None
        )
    )
    if not await asyncio.to_thread(landing.here, repo, bank, tips, commit, changes):
        return None
    report.commit = report.tip = commit
    return report


def _carried(repo: Repository, folder: BankFolder, tips: Tips) -> str | None:
    """The tip of the mirror's branch whose pages stand; None where the default branch has them all. Raises _Diverged."""
    if tips.branch is None or tips.branch == tips.default:
        return None
    if tips.also is not None:
        raise _Diverged("the mirror's branch here and the remote's went different ways", where=tips.target)
    if tips.default is None:
        return tips.branch
    common = repo.merge_base(tips.default, tips.branch)
    if common == tips.branch:
        return None
    if common is not None and repo.entry(common, folder.root) == repo.entry(tips.default, folder.root):
        return tips.branch
    raise _Diverged(
        "the default branch's wiki and the mirror's branch went different ways", where=folder.root
    )


async def _snapshot(
    source: Reader, named: Mapping[str, Touched], texts: dict[str, str | None]
) -> tuple[Snapshot, list[str]]:
    """(the named documents as they should stand, those that the bank says do not exist); ids as the wiki shows them."""
    documents: dict[str, SourceDocument] = {}
    facts: dict[str, tuple[SourceFact, ...]] = {}
    gone: list[str] = []
    for shown, item in named.items():
        stored = await source.document(item.document_id)
        if stored is None and item.sent is None:
            gone.append(shown)
            continue
        found = () if stored is None else await source.document_facts(item.document_id)
        facts[shown] = tuple(replace(fact, document_id=shown) for fact in found)
        if item.sent is None:
            if stored is not None:
                documents[shown] = replace(stored, id=shown)
            continue
        before: str | None = None
        if item.sent.append and stored is not None:
            async for _, kept in source.texts([item.document_id]):
                before = kept
        text = item.sent.text if before is None else f"{before}\n{item.sent.text}"
        texts[shown] = text
        documents[shown] = SourceDocument(
            id=shown,
            content_hash=export.text_hash(text),
            created_at=stored.created_at if stored is not None else await source.now(),
            updated_at="",
            fact_count=sum(1 for fact in found if fact.live),
            tags=tuple(sorted(set(item.sent.tags))),
            context=item.sent.context,
            metadata=dict(sorted(item.sent.metadata.items())),
            params=item.sent.params,
        )
    return Snapshot(documents, facts, {}, len(documents)), gone


def _marks(
    repo: Repository, wiki: Wiki, branches: Sequence[str], folder: BankFolder, named: Mapping[str, Touched]
) -> dict[str, Pending]:
    """Marks that wait on the pages of these documents: none was carried out here, so all stay."""
    found: dict[str, Pending] = {}
    for shown in (wiki, *(state.read(repo, tip, folder) for tip in branches if tip != wiki.commit)):
        entries = {i: shown.entries[i] for i in named if i in shown.entries}
        for document_id, theirs in wishes.read(repo, shown, entries, who=False).pending(set()).items():
            ours = found.get(document_id)
            found[document_id] = (
                theirs
                if ours is None
                else Pending({**theirs.lines, **ours.lines}, ours.status or theirs.status)
            )
    return found


class _WithTexts:
    """A source that answers from ``texts`` first: what was sent, and is nowhere to be read yet."""

    def __init__(self, source: Bank, texts: Mapping[str, str | None]) -> None:
        self._source = source
        self._sent = texts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    async def texts(self, document_ids: Sequence[str]) -> Any:
        rest = [i for i in document_ids if i not in self._sent]
        for document_id in document_ids:
            if document_id in self._sent:
                yield document_id, self._sent[document_id]
        if rest:
            async for row in self._source.texts(rest):
                yield row


__all__ = ["Reader", "Sent", "Touched", "touch"]

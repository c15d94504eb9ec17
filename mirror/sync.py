"""One run of the mirror: read the wiki, list the bank, render, guard, write, land, report.

``sync`` is the only writer. It never deletes on absence, never writes what it did not fully see, and lands
one commit by compare-and-swap, or nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mirror import corrections, export, guard, landing, listing, policies, state, wishes, worktree
from mirror.apply import Failure, carry_out
from mirror.corrections import INBOX, TEXT_KINDS, Texts
from mirror.cover import Cover
from mirror.errors import CurationFailed, MirrorError, NotBound
from mirror.export import Target, Written
from mirror.files import check_room
from mirror.git import Change, Repository
from mirror.listing import Busy, Snapshot
from mirror.lock import held
from mirror.manifest import Entry
from mirror.overlay import Pending
from mirror.paths import BankFolder, bank_slug, branch_name, page_name, wiki_path
from mirror.plan import ERASE, SAID, WAITING, Action, Policies, Unsettled, Wish
from mirror.plan import make as make_plan
from mirror.refs import Tips, find_tips
from mirror.secrets import find
from mirror.source import Source, SourceBank
from mirror.state import Wiki
from mirror.veil import Bank, Veiled
from mirror.wishes import Reading, RefusedEdit

REPLANS = 3
_KINDS = ("pages/00/x.md", "pages/00/x.txt", ".mirror/00.jsonl", ".mirror/header.json", "index/x.md")
"""One path of each kind of file that the mirror writes."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. Numbers overrule guards; None keeps their limits."""

    wiki: str = "wiki"
    branch: bool = False
    """Commit on ``mirror/<bank-slug>``, touching neither index, HEAD nor files."""
    default_branch: str | None = None
    here: bool = False
    offline: bool = False
    first: bool = False
    """Bind the wiki folder to this bank when it is not bound yet."""
    rebind: bool = False
    check: bool = False
    """Say what would be done, write nothing."""
    push: bool = False
    """Push what landed, without force; a lost race is planned again."""
    max_gone: int | None = None
    max_retractions: int | None = None
    apply: bool = True
    """Carry out the marks on the default branch first."""
    export: bool = True
    """Bring the pages up to the bank."""
    policies: Policies = field(default_factory=Policies)
    wishes: tuple[Wish, ...] = ()
    """Marks that stand on no page: asked for on the command line, carried out like the others."""


@dataclass(frozen=True, slots=True)
class SentText:
    """A text that went to the bank: a correction, a redaction or an inbox file."""

    kind: str
    document_id: str
    where: str


@dataclass(frozen=True, slots=True)
class Withheld:
    """A secret that was taken out of a page. Never its value."""

    fingerprint: str
    rule: str
    document_id: str
    path: str
    settled: str = ""
    """``keep`` where a person has seen it."""


@dataclass(slots=True)
class Report:
    """What a run did, or would do. ``exit_code`` follows the documented order."""

    bank_id: str
    folder: str
    branch: str
    commit: str | None = None
    default_branch: str = ""
    pushed: bool = False
    judged: str | None = None
    """The commit of the default branch whose marks counted."""
    tip: str | None = None
    """Of the mirror's branch, after this run."""
    differs: bool = False
    """On the mirror's branch: it holds something that the default branch does not."""
    first: bool = False
    documents: int = 0
    """In the bank."""
    facts: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    restored: int = 0
    unchanged: int = 0
    fetched: int = 0
    files: int = 0
    """Files that the commit touches."""
    written: list[Written] = field(default_factory=list)
    busy: list[Busy] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Files that a person is editing: left as they are, in the commit too."""
    unread: list[str] = field(default_factory=list)
    """Manifest lines that could not be read, ``path:line: what``."""
    repaired: int = 0
    tries: int = 1
    """Plans that were made: more than one where somebody else moved the branch first."""
    remote: str = ""
    origin: str = ""
    pending: bool = False
    """With ``check``: there is something to do."""
    actions: list[Action] = field(default_factory=list)
    """Sent to the bank, or with ``check`` to be sent."""
    sent: int = 0
    """Calls that changed a fact in the bank."""
    texts: list[SentText] = field(default_factory=list)
    """Sent to the bank, or with ``check`` to be sent."""
    failed: list[Failure] = field(default_factory=list)
    unsettled: list[Unsettled] = field(default_factory=list)
    refused: list[RefusedEdit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    secrets: list[Withheld] = field(default_factory=list)
    """Every secret that is withheld in the wiki, whenever it was found."""

    @property
    def exit_code(self) -> int:
        """1 a change failed; 6 a secret that nobody has settled; 3 something waits for a person; 2 something is to be done; else 0."""
        if self.failed:
            return 1
        if any(not secret.settled for secret in self.secrets):
            return 6
        if self.skipped or self.refused or any(u.kind in WAITING for u in self.unsettled):
            return 3
        return 2 if self.pending or any(u.kind in SAID for u in self.unsettled) else 0


async def sync(source: Bank, start: Path, options: Options, progress: Progress | None = None) -> Report:
    """Bring the wiki in the repository around ``start`` up to the bank. Raises MirrorError, or the store's errors."""
    repo = await asyncio.to_thread(Repository.find, start)
    try:
        return await _locked(source, repo, options, progress)
    finally:
        repo.close()


async def _locked(source: Bank, repo: Repository, options: Options, progress: Progress | None) -> Report:
    bank = await source.bank()
    slug = bank_slug(bank.bank_id)
    with held(repo.common_dir, slug):
        repaired = (
            0 if options.branch or options.check else await asyncio.to_thread(worktree.repair, repo, slug)
        )
        earlier: list[Report] = []
        for _ in range(REPLANS):
            report, landed = await _once(source, bank, repo, options, progress)
            if landed:
                report.repaired = repaired
                report.tries = len(earlier) + 1
                # What a lost round sent stays sent: the last one found it done and would not name it.
                report.actions = [*(a for lost in earlier for a in lost.actions), *report.actions]
                report.sent += sum(lost.sent for lost in earlier)
                return report
            earlier.append(report)
    raise MirrorError(
        f"the branch moved {REPLANS} times while the wiki was written",
        where=str(repo.top),
        hint="no page was written; run this again when the repository is quieter",
    )


async def _once(
    source: Bank, bank: SourceBank, repo: Repository, options: Options, progress: Progress | None
) -> tuple[Report, bool]:
    """One plan and its landing; False when the branch moved meanwhile."""
    if next(find(bank.bank_id), None) is not None:
        raise MirrorError(
            "the bank's id holds a secret, and the wiki's folder would carry it",
            where="bank id",
            hint="change that secret, and keep the memory in a bank of another name",
        )
    folder = BankFolder(wiki_path(options.wiki), bank.bank_id)
    tips = await asyncio.to_thread(find_tips, repo, bank.bank_id, options)
    wiki, base = await asyncio.to_thread(read_base, repo, folder, tips)
    report = Report(
        bank_id=bank.bank_id,
        folder=folder.root,
        branch=tips.target.removeprefix("refs/heads/"),
        default_branch=tips.default_name,
        judged=tips.default,
        first=wiki.header is None,
        remote=tips.remote_url,
        origin=bank.origin,
        unread=[str(error) for error in wiki.errors],
    )
    if not options.rebind:
        state.check_identity(wiki, bank)
    if report.first and not options.first and not options.check:
        raise NotBound(
            f"no wiki of bank {bank.bank_id!r} here yet",
            where=f"{folder.root} on {report.branch}"
            + (f", remote {tips.remote_url}" if tips.remote_url else ""),
            hint="run `console mirror init` first, or repeat this with --yes",
        )
    if any(repo.filtered(folder.path(path)) for path in _KINDS):
        raise MirrorError(
            "a git filter (such as LFS) covers the wiki folder",
            where=folder.root,
            hint="exclude it in .gitattributes",
        )

    cover = Cover(bank, wiki.header)
    source = Veiled(source, cover)
    reading = await asyncio.to_thread(wishes.read, repo, wiki, wiki.entries) if options.apply else Reading()
    reading.wishes += options.wishes
    report.refused, report.notes = reading.refused, reading.notes
    snapshot = await listing.take(source, progress)
    report.documents = snapshot.total
    gone, unseen = await _confirm_gone(source, base, snapshot, wiki, options, frozenset())
    waiting: set[tuple[str, str | None]] = set()
    if options.apply:
        today = (await source.now())[:10]
        rules = await asyncio.to_thread(policies.read, repo, tips.default, options.policies)
        standing = await asyncio.to_thread(wishes.standing, repo, wiki, base)
        plan = make_plan(
            reading.wishes,
            base,
            snapshot,
            bank_id=bank.bank_id,
            today=today,
            policies=rules,
            standing=standing,
        )
        guard.check_retractions(marks=plan.marks, allowed=options.max_retractions, where=folder.root)
        report.actions, report.unsettled = plan.actions, plan.unsettled
        texts = await asyncio.to_thread(corrections.read, repo, wiki, snapshot, plan.entries)
        report.unsettled += texts.unsettled
        if options.check:
            report.texts = [SentText(t.kind, t.document_id, t.where) for t in texts.send]
            report.pending = bool(plan.actions or texts.send)
        else:
            outcome = await carry_out(source, plan, base, progress)
            report.actions, report.failed, report.sent = outcome.done, outcome.failed, outcome.sent
            base = await _send_texts(source, texts, outcome.entries, report)
            for _ in range(REPLANS):
                erased = frozenset(action.document_id for action in report.actions if action.kind == ERASE)
                if not outcome.sent and not report.texts and not erased:
                    break
                snapshot = await listing.take(source, progress)
                gone, unseen = await _confirm_gone(source, base, snapshot, wiki, options, erased)
                base = {i: entry for i, entry in base.items() if i not in erased}
                # A text that was sent brings its facts back under new ids: their records are applied again.
                again = make_plan(
                    [], base, snapshot, bank_id=bank.bank_id, today=today, policies=rules, standing=standing
                )
                if not again.actions:
                    break
                outcome = await carry_out(source, again, base, progress)
                report.actions += outcome.done
                report.failed += outcome.failed
                report.sent += outcome.sent
                base = outcome.entries
        base = _overwritten(base, snapshot, report)
        waiting = _waiting(reading, report)
    if not options.export:
        _cover(report, cover, folder, base)
        return report, True

    dirty = set() if options.branch else await asyncio.to_thread(repo.dirty, folder.root, folder.attributes)
    prefix = f"{folder.root}/"
    waiting_pages = {item.document_id for item in report.unsettled if item.kind in TEXT_KINDS} | {
        failure.action.document_id for failure in report.failed if failure.action.kind in TEXT_KINDS
    }
    left = {path.removeprefix(prefix) for path in dirty} | {
        page_name(bank.bank_id, i).page for i in waiting_pages
    }
    keep = keep_whole_shards(frozenset(left), bank.bank_id, base)
    pending = await asyncio.to_thread(_pending, repo, folder, tips, reading, waiting)
    target = await export.build(
        source,
        bank,
        _with_busy(snapshot, unseen),
        wiki,
        repo,
        base=base,
        gone=gone,
        keep=keep,
        pending=pending,
        cover=cover,
        progress=progress,
    )
    fill(report, target, sorted(dirty))
    _cover(report, cover, folder, target.entries)
    attributes = (
        folder.attributes not in repo.tree(wiki.commit, folder.wiki.split("/")[0]) if report.first else False
    )
    changes = export.as_changes(target, wiki, attributes=attributes and folder.attributes not in dirty)
    if not options.branch:
        check_room(repo.top, [change.path for change in changes if change.data is not None])
    report.files = len(changes)
    if options.check:
        report.pending = report.pending or bool(changes)
        return report, True
    return report, await asyncio.to_thread(_land, repo, bank, folder, wiki, tips, changes, report, options)


def _cover(report: Report, cover: Cover, folder: BankFolder, entries: Mapping[str, Entry]) -> None:
    """Take secrets out of what is reported, and report them."""
    report.actions, report.failed = cover.value(report.actions), cover.value(report.failed)
    report.unsettled, report.refused = cover.value(report.unsettled), cover.value(report.refused)
    report.notes, report.unread = cover.value(report.notes), cover.value(report.unread)
    report.secrets = withheld(folder, entries, cover.settled)


def withheld(folder: BankFolder, entries: Mapping[str, Entry], settled: Mapping[str, str]) -> list[Withheld]:
    """Every secret that the manifest says is withheld, those that nobody settled first."""
    found = [
        Withheld(
            mark,
            rule,
            document_id,
            folder.path(page_name(folder.bank_id, document_id).page),
            settled.get(mark, ""),
        )
        for document_id, entry in entries.items()
        for mark, rule in entry.withheld.items()
    ]
    return sorted(found, key=lambda s: (s.settled != "", s.path, s.fingerprint))


def _land(
    repo: Repository,
    bank: SourceBank,
    folder: BankFolder,
    wiki: Wiki,
    tips: Tips,
    changes: list[Change],
    report: Report,
    options: Options,
) -> bool:
    """Commit and move the branch, here and with ``push`` on the remote; False when somebody was first."""
    new = landing.needed(repo, folder, tips, wiki, changes)
    commit = landing.make(repo, bank, tips, changes, report) if new else None
    if tips.on_branch:
        report.tip = commit or tips.branch
        report.differs = landing.differs(repo, folder, tips.default, report.tip)
    if options.push:
        landed = landing.there(repo, bank, tips, commit, changes, report, open_changes=report.differs)
        if not landed:
            landing.catch_up(repo, tips)
        if report.branch == tips.default_name:
            report.differs = False
        return landed
    if commit is None:
        return True
    if not landing.here(repo, bank, tips, commit, changes):
        return False
    report.commit = commit
    return True


def read_base(repo: Repository, folder: BankFolder, tips: Tips) -> tuple[Wiki, dict[str, Entry]]:
    """The wiki whose files are compared with, and the manifest lines that carry on.

    On the mirror's own branch both are three-way: what the default branch changed since wins.
    """
    wiki = state.read(repo, tips.default, folder)
    if tips.branch is None or tips.branch == tips.default:
        return wiki, dict(wiki.entries)
    merged = dict(wiki.entries)
    header, errors = wiki.header, wiki.errors
    for tip in tips.branches:
        branch = state.read(repo, tip, folder)
        common = repo.merge_base(tips.default, tip) if tips.default else None
        base = state.read(repo, common, folder)
        merged = state.merged_entries(base, replace(wiki, entries=merged), branch)
        if header is None:
            header, errors = branch.header, (*errors, *branch.errors)
    return replace(wiki, header=header, errors=errors), merged


async def _send_texts(
    source: Bank, texts: Texts, entries: dict[str, Entry], report: Report
) -> dict[str, Entry]:
    """Send corrected, redacted and new texts; the manifest remembers what a correction left."""
    entries = dict(entries)
    for text in texts.send:
        try:
            if text.kind == INBOX:
                await source.replace_text(text.document_id, text.text, tags=text.tags, context=text.context)
            else:
                await source.replace_text(text.document_id, text.text)
        except CurationFailed as error:
            action = Action(text.kind, text.document_id, "", (), None, "text", text.where)
            report.failed.append(Failure(action, str(error)))
            continue
        report.texts.append(SentText(text.kind, text.document_id, text.where))
        if text.kind != INBOX and text.document_id in entries:
            entries[text.document_id] = replace(
                entries[text.document_id], corrected=export.text_hash(text.text)
            )
    return entries


def _overwritten(base: dict[str, Entry], snapshot: Snapshot, report: Report) -> dict[str, Entry]:
    """Say once that a correction was overwritten by a later text."""
    found = {
        i: entry
        for i, entry in base.items()
        if entry.corrected
        and i in snapshot.documents
        and snapshot.documents[i].content_hash != entry.corrected
    }
    for document_id in found:
        what = "a later text overwrote the correction that was made here"
        report.unsettled.append(Unsettled("overwritten", document_id, "", what))
    return base | {i: replace(entry, corrected="") for i, entry in found.items()} if found else base


def _waiting(reading: Reading, report: Report) -> set[tuple[str, str | None]]:
    """(document, key) of the marks that were not carried out."""
    places = {item.where for item in report.unsettled if item.kind in WAITING}
    places |= {failure.action.where for failure in report.failed}
    return {(wish.document_id, wish.key) for wish in reading.wishes if wish.where in places}


def _pending(
    repo: Repository, folder: BankFolder, tips: Tips, reading: Reading, waiting: set[tuple[str, str | None]]
) -> dict[str, Pending]:
    """What stays on the pages: marks that wait, and on the mirror's own branch those that are not merged yet."""
    done = {(wish.document_id, wish.key) for wish in reading.wishes} - waiting
    pending = reading.pending(done)
    if not tips.on_branch or tips.branch is None or tips.branch == tips.default:
        return pending
    for tip in tips.branches:
        branch = state.read(repo, tip, folder)
        open_marks = wishes.read(repo, branch, branch.entries, who=False)
        for document_id, theirs in open_marks.pending(done).items():
            ours = pending.get(document_id)
            pending[document_id] = (
                theirs
                if ours is None
                else Pending({**theirs.lines, **ours.lines}, ours.status or theirs.status)
            )
    return pending


async def _confirm_gone(
    source: Source,
    base: Mapping[str, Entry],
    snapshot: Snapshot,
    wiki: Wiki,
    options: Options,
    erased: frozenset[str],
) -> tuple[list[str], list[str]]:
    """(documents that the bank says are gone, documents that exist but were not listed)."""
    missing = [
        i
        for i, entry in base.items()
        if entry.page and i not in snapshot.documents and i not in snapshot.busy
    ]

    def check(count: int) -> None:
        guard.check_gone(
            gone=count,
            pages=wiki.owned,
            listed=snapshot.total,
            allowed=options.max_gone,
            where=wiki.folder.root,
        )

    check(len([i for i in missing if i not in erased]))
    # On the mirror's own branch: what it removed already and the default branch still shows. Judged by that run.
    missing += [
        i
        for i, entry in wiki.entries.items()
        if entry.page and i not in base and i not in snapshot.documents and i not in snapshot.busy
    ]
    gone: list[str] = []
    unseen: list[str] = []
    for document_id in missing:
        (unseen if await source.exists(document_id) else gone).append(document_id)
    return gone, unseen


def _with_busy(snapshot: Snapshot, unseen: Sequence[str]) -> Snapshot:
    if not unseen:
        return snapshot
    busy = dict(snapshot.busy) | {i: Busy(i, "exists, but moved while the bank was listed") for i in unseen}
    return Snapshot(snapshot.documents, snapshot.facts, busy, snapshot.total)


def keep_whole_shards(dirty: frozenset[str], bank_id: str, base: Mapping[str, Entry]) -> frozenset[str]:
    """Paths to leave alone: a document whose manifest shard is being edited cannot be written either."""
    shards = {path[8:-6] for path in dirty if path.startswith(".mirror/") and path.endswith(".jsonl")}
    if not shards:
        return dirty
    pages = {name.page for name in (page_name(bank_id, i) for i in base) if name.shard in shards}
    return dirty | pages


def fill(report: Report, target: Target, dirty: list[str]) -> None:
    """What became of the pages, as the report says it."""
    counts = {
        what: sum(1 for w in target.written if w.what == what)
        for what in ("added", "changed", "removed", "restored")
    }
    report.added, report.changed = counts["added"], counts["changed"]
    report.removed, report.restored = counts["removed"], counts["restored"]
    report.unchanged, report.fetched, report.facts = target.unchanged, target.fetched, target.facts
    report.written = sorted(target.written, key=lambda w: w.path)
    report.busy = sorted(target.busy.values(), key=lambda b: b.document_id)
    report.skipped = dirty


__all__ = ["Bank", "Options", "Progress", "Report", "branch_name", "sync"]

"""(base, wiki, bank) -> what to send to the bank. Pure: no git, no store, no clock.

The three-way table, per fact of a document:

===========  ==========================  ==========================================================
wish         in the bank now             plan
===========  ==========================  ==========================================================
retract      live                        invalidate every memory of the document with that key
retract      invalidated                 nothing to send; the record is kept or made
retract      neither, a record exists    nothing: it is retracted already
retract      neither, no record          conflict: the fact changed in the bank; listed, not applied
restore      invalidated                 make every memory with that key valid; the record goes
restore      live                        nothing to send; the record goes
restore      neither                     the record goes; said, because the bank no longer has it
(none)       live, a record exists       resurfaced: retracted again, or reported, by policy
(none)       live under the record's id  restored in the bank: reported, never undone
(none)       gone; its words are live    reworded: the same retracted again or reported, by policy; a near one reported
(none)       gone; its lines are live    chunk mode: reported, retracted again only by policy
===========  ==========================  ==========================================================

A document that is busy waits with all its wishes. Absence of a line or page is no wish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mirror import page
from mirror.keys import fold
from mirror.listing import Snapshot
from mirror.manifest import Entry
from mirror.model import FactLine, PageSource, Record
from mirror.similar import Likeness, contains_chunk, likeness
from mirror.source import SourceFact

RETRACT = "retract"
RESTORE = "restore"
ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asked for on a page. ``key`` None: the whole document."""

    kind: str
    document_id: str
    key: str | None
    where: str
    """``path:line``."""
    text: str = ""
    """The fact as the page shows it."""
    reason: str = ""
    by: str = ""
    pr: str = ""
    """``#12``, or the commit's first 12 hex where no pull request is known."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to send: a state for some memories of one document, or its deletion."""

    kind: str
    document_id: str
    key: str
    fact_ids: tuple[str, ...]
    record: Record | None
    """What to remember afterwards; None: the record goes."""
    cause: str = "mark"
    """mark, page, resurfaced or reworded."""
    where: str = ""

    @property
    def reason(self) -> str:
        """What the bank is told: ``reason; by; PR or commit``."""
        if self.record is None:
            return ""
        return "; ".join(
            part for part in (self.record.reason or "retracted", self.record.by, self.record.pr) if part
        )


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Something a person should look at; nothing was sent for it."""

    kind: str
    """conflict, busy, gone and erase keep their mark on the page; forgotten, resurfaced, reworded and restored are only said."""
    document_id: str
    where: str
    what: str
    texts: Mapping[str, str] = field(default_factory=dict)
    """page, record, bank: the texts side by side; write: the line that takes the bank's fact back."""


WAITING = frozenset({"conflict", "busy", "gone", "erase", "correct", "redact", "inbox"})
"""Kinds whose mark stays on the page until it can be carried out or is taken off."""

SAID = frozenset({"resurfaced", "reworded"})
"""Kinds that a person may want to answer with a mark."""


@dataclass(slots=True)
class Plan:
    """``entries``: manifest lines as they will be when every action has been carried out."""

    actions: list[Action] = field(default_factory=list)
    unsettled: list[Unsettled] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    marks: int = 0
    """What the guard counts: a page-level mark counts once; repeating a known retraction is none."""
    settled: int = 0
    """Marks that the bank already agrees with."""


@dataclass(frozen=True, slots=True)
class Policies:
    """From the default branch's tip."""

    resurfaced: str = "retract"
    """``retract`` or ``report``: exact and reworded facts."""
    resurfaced_chunks: str = "report"
    """``retract`` or ``report``: a chunk may hold new text beside what was taken back."""
    later_facts: str = "retract"
    """Of a retracted document: what becomes of facts that come later."""
    erase: int = 0
    """How many documents one run may delete for good: a number that the user typed."""


def make(
    wishes: Iterable[Wish],
    base: Mapping[str, Entry],
    snapshot: Snapshot,
    *,
    bank_id: str,
    today: str,
    policies: Policies | None = None,
    standing: Mapping[str, frozenset[str]] | None = None,
) -> Plan:
    """The plan for all documents.

    ``standing``: of documents with records, the keys of the facts that the page shows as live. People saw them
    beside what they took back and left them, so they are no rewording of it.
    """
    plan = Plan(entries=dict(base))
    policies = policies or Policies()
    by_document: dict[str, list[Wish]] = {}
    wishes = list(wishes)
    erasing = sum(1 for wish in wishes if wish.kind == ERASE)
    for wish in wishes:
        if wish.kind == ERASE and erasing > policies.erase:
            what = f"{erasing} documents are to be deleted for good: allow it with --max-erase {erasing}"
            plan.unsettled.append(Unsettled("erase", wish.document_id, wish.where, what))
            continue
        by_document.setdefault(wish.document_id, []).append(wish)
    concerned = set(by_document) | {i for i, entry in base.items() if entry.records or entry.retraction}
    for document_id in sorted(concerned):
        _document(
            plan,
            document_id,
            by_document.get(document_id, []),
            base.get(document_id),
            snapshot,
            bank_id,
            today,
            policies,
            (standing or {}).get(document_id, frozenset()),
        )
    plan.actions.sort(key=lambda a: (a.document_id, a.key))
    return plan


def _document(
    plan: Plan,
    document_id: str,
    wishes: Sequence[Wish],
    entry: Entry | None,
    snapshot: Snapshot,
    bank_id: str,
    today: str,
    policies: Policies,
    standing: frozenset[str],
) -> None:
    document = snapshot.documents.get(document_id)
    if document is None:
        busy = snapshot.busy.get(document_id)
        for wish in wishes:
            if wish.kind == ERASE and busy is None:
                # Asked again, in case it was only not listed; of a run that died behind its call this is the rest.
                plan.actions.append(Action(ERASE, document_id, "", (), None, "page", wish.where))
                continue
            kind, what = ("busy", busy.reason) if busy else ("gone", "the bank does not have this document")
            plan.unsettled.append(Unsettled(kind, document_id, wish.where, what))
        return
    entry = entry or Entry(document_id=document_id)
    facts = snapshot.facts.get(document_id, ())
    lines = {
        line.key: line
        for line in page.fact_lines(
            PageSource(
                bank_id=bank_id,
                document_id=document_id,
                text=None,
                created_at=document.created_at,
                facts=facts,
            )
        )
    }
    live_ids = {fact.id for fact in facts if fact.live}
    work = _Work(
        plan, document_id, facts, lines, live_ids, {r.key: r for r in entry.records}, entry.retraction, today
    )
    wished: set[str] = set()
    for wish in wishes:
        if wish.key is None:
            work.whole(wish)
        else:
            wished.add(wish.key)
            work.fact(wish)
    work.resurfaced(wished, policies)
    work.reworded(wished | standing, policies)
    work.later(wished, policies)
    plan.entries[document_id] = replace(
        entry, records=tuple(work.records[key] for key in sorted(work.records)), retraction=work.retraction
    )


@dataclass(slots=True)
class _Work:
    plan: Plan
    document_id: str
    facts: tuple[SourceFact, ...]
    lines: Mapping[str, FactLine]
    live_ids: set[str]
    records: dict[str, Record]
    retraction: Record | None
    today: str

    def _live(self, key: str) -> tuple[str, ...]:
        line = self.lines.get(key)
        return tuple(i for i in line.fact_ids if i in self.live_ids) if line else ()

    def _record(self, line: FactLine, wish: Wish, ids: tuple[str, ...]) -> Record:
        return Record(
            key=line.key,
            text=line.text,
            reason=wish.reason,
            by=wish.by,
            when=self.today,
            pr=wish.pr,
            memory_id=ids[0] if ids else "",
            chunk_index=line.chunk_index,
            is_chunk=line.is_chunk,
        )

    def fact(self, wish: Wish) -> None:
        key = wish.key or ""
        line = self.lines.get(key)
        known = self.records.get(key)
        if wish.kind == RETRACT:
            live = self._live(key)
            if live and line is not None:
                record = known or self._record(line, wish, live)
                self.plan.actions.append(
                    Action(
                        RETRACT,
                        self.document_id,
                        key,
                        live,
                        replace(record, memory_id=live[0]),
                        "mark",
                        wish.where,
                    )
                )
                self.records[key] = replace(record, memory_id=live[0])
                self.plan.marks += 1
            elif line is not None:
                self.records[key] = known or self._record(line, wish, line.fact_ids)
                self.plan.settled += 1
            elif known is not None:
                self.plan.settled += 1
            else:
                near = [f.text for f in self.facts if f.live][:5]
                self.plan.unsettled.append(
                    Unsettled(
                        "conflict",
                        self.document_id,
                        wish.where,
                        "the fact changed in the bank since the page was written; it was not retracted",
                        {"page": wish.text, "record": "", "bank": " | ".join(near)},
                    )
                )
            return
        dead = tuple(i for i in line.fact_ids if i not in self.live_ids) if line else ()
        if dead:
            self.plan.actions.append(Action(RESTORE, self.document_id, key, dead, None, "mark", wish.where))
            self.plan.marks += 1
        elif line is not None:
            self.plan.settled += 1
        elif known is not None:
            self.plan.unsettled.append(
                Unsettled(
                    "forgotten",
                    self.document_id,
                    wish.where,
                    "the bank no longer has this fact; its retraction was dropped, so it may come back with its text",
                    {"page": wish.text, "record": known.text, "bank": ""},
                )
            )
        self.records.pop(key, None)
        self._restore_wordings(wish, line.text if line else wish.text)

    def _restore_wordings(self, wish: Wish, text: str) -> None:
        """What was retracted as another wording of this fact comes back with it, else its record would take it again."""
        for key, record in list(self.records.items()):
            if record.is_chunk or likeness(record.text, text) is not Likeness.SAME:
                continue
            line = self.lines.get(key)
            dead = tuple(i for i in line.fact_ids if i not in self.live_ids) if line else ()
            if dead:
                self.plan.actions.append(
                    Action(RESTORE, self.document_id, key, dead, None, "mark", wish.where)
                )
            del self.records[key]

    def whole(self, wish: Wish) -> None:
        self.plan.marks += 1
        if wish.kind == RETRACT:
            self.retraction = self.retraction or Record(
                key="", text="", reason=wish.reason, by=wish.by, when=self.today, pr=wish.pr
            )
            for line in self.lines.values():
                live = self._live(line.key)
                if live:
                    record = self.records.get(line.key) or self._record(line, wish, live)
                    self.records[line.key] = replace(record, memory_id=live[0])
                    self.plan.actions.append(
                        Action(
                            RETRACT,
                            self.document_id,
                            line.key,
                            live,
                            self.records[line.key],
                            "page",
                            wish.where,
                        )
                    )
            return
        if wish.kind == ERASE:
            self.plan.actions.append(Action(ERASE, self.document_id, "", (), None, "page", wish.where))
            return
        self.retraction = None
        for key in list(self.records):
            known = self.lines.get(key)
            dead = tuple(i for i in known.fact_ids if i not in self.live_ids) if known else ()
            if dead:
                self.plan.actions.append(
                    Action(RESTORE, self.document_id, key, dead, None, "page", wish.where)
                )
            del self.records[key]

    def resurfaced(self, wished: set[str], policies: Policies) -> None:
        planned = {
            (a.key, i) for a in self.plan.actions if a.document_id == self.document_id for i in a.fact_ids
        }
        for key, record in list(self.records.items()):
            live = tuple(i for i in self._live(key) if (key, i) not in planned)
            if not live or key in wished or self._grown(key, record):
                continue
            if record.memory_id in live:
                self._say("restored", record, "it is live again under the id it had: not undone")
            elif policies.resurfaced == "retract":
                self.records[key] = replace(record, memory_id=live[0])
                self.plan.actions.append(
                    Action(RETRACT, self.document_id, key, live, self.records[key], "resurfaced")
                )
            else:
                self._say("resurfaced", record, "it is live again; to take it back put `[ ]` before it")

    def _grown(self, key: str, record: Record) -> bool:
        """A chunk keeps its key while its end grows: then the lines decide."""
        return record.is_chunk and fold(self.lines[key].text) != fold(record.text)

    def reworded(self, known: set[str], policies: Policies) -> None:
        """Live facts that say what a record says, where the bank no longer has the record's own fact."""
        planned = {a.key for a in self.plan.actions if a.document_id == self.document_id}
        for key, record in list(self.records.items()):
            if record.is_chunk:
                self._chunks(key, record, planned, policies)
            elif key in self.lines:
                continue
            for line in self.lines.values():
                if line.is_chunk or line.key in known or line.key in planned or line.key in self.records:
                    continue
                if not self._live(line.key) or abs(line.chunk_index - (record.chunk_index or 0)) > 1:
                    continue
                found = likeness(record.text, line.text)
                if found is Likeness.SAME and policies.resurfaced == "retract":
                    self._again(line, record, "reworded")
                    planned.add(line.key)
                elif found is not Likeness.OTHER:
                    same = found is Likeness.SAME
                    what = "it says again" if same else "it may say again"
                    self._say("reworded", record, f"{what} what was taken back", line)

    def _chunks(self, key: str, record: Record, planned: set[str], policies: Policies) -> None:
        for line in self.lines.values():
            if not line.is_chunk or not self._live(line.key) or line.key in planned:
                continue
            if line.key in self.records and (line.key != key or not self._grown(key, record)):
                continue  # has its own record, or is the very chunk
            if not contains_chunk(line.text, record.text) or record.memory_id in self._live(line.key):
                continue
            if policies.resurfaced_chunks == "retract":
                self._again(line, record, "resurfaced")
                planned.add(line.key)
            else:
                self._say("resurfaced", record, f"its lines are live again in chunk {line.chunk_index}", line)

    def _again(self, line: FactLine, record: Record, cause: str) -> None:
        """The same retraction for another wording, which is remembered beside the first."""
        live = self._live(line.key)
        again = replace(record, key=line.key, text=line.text, memory_id=live[0], chunk_index=line.chunk_index)
        self.records[line.key] = again
        self.plan.actions.append(Action(RETRACT, self.document_id, line.key, live, again, cause))

    def later(self, wished: set[str], policies: Policies) -> None:
        """Facts of a retracted document that came after the retraction."""
        if self.retraction is None or policies.later_facts != "retract":
            return
        planned = {
            (a.key, i) for a in self.plan.actions if a.document_id == self.document_id for i in a.fact_ids
        }
        for line in self.lines.values():
            live = tuple(i for i in self._live(line.key) if (line.key, i) not in planned)
            if live and line.key not in wished and line.key not in self.records:
                record = replace(
                    self.retraction,
                    key=line.key,
                    text=line.text,
                    memory_id=live[0],
                    chunk_index=line.chunk_index,
                    is_chunk=line.is_chunk,
                )
                self.records[line.key] = record
                self.plan.actions.append(Action(RETRACT, self.document_id, line.key, live, record, "page"))

    def _say(self, kind: str, record: Record, what: str, line: FactLine | None = None) -> None:
        texts = {"page": "", "record": record.text, "bank": line.text if line else record.text}
        if line is not None:
            texts["write"] = f"- [ ] {page.write_line(line)[2:]}"
        self.plan.unsettled.append(Unsettled(kind, self.document_id, "", what, texts))

"""Carries a plan out: one state at a time, looking first, so that a run that died half way is repeated safely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mirror.errors import CurationFailed
from mirror.manifest import Entry
from mirror.plan import ERASE, RETRACT, Action, Plan
from mirror.source import Curator


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that did not go through; its mark stays and is tried again."""

    action: Action
    reason: str


@dataclass(slots=True)
class Outcome:
    """``entries``: manifest lines with the records of what really went through."""

    done: list[Action] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    sent: int = 0
    """Calls that changed something in the bank."""
    entries: dict[str, Entry] = field(default_factory=dict)


async def carry_out(
    curator: Curator,
    plan: Plan,
    base: Mapping[str, Entry],
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Send every action; go on after a failure, and say which."""
    outcome = Outcome(entries=dict(plan.entries))
    for number, action in enumerate(plan.actions, 1):
        try:
            outcome.sent += await _one(curator, action)
            outcome.done.append(action)
        except CurationFailed as error:
            outcome.failed.append(Failure(action, str(error)))
            _undo(outcome.entries, action, base)
        if progress is not None:
            progress("marks", number, len(plan.actions))
    return outcome


async def _one(curator: Curator, action: Action) -> int:
    if action.kind == ERASE:
        return int(await curator.erase(action.document_id))
    live = action.kind != RETRACT
    sent = 0
    for fact_id in action.fact_ids:
        fact = await curator.fact(fact_id)
        if fact is None or fact.live is live:
            continue
        await curator.curate(fact_id, live=live, reason=action.reason)
        sent += 1
    return sent


def _undo(entries: dict[str, Entry], action: Action, base: Mapping[str, Entry]) -> None:
    """A failed retraction leaves no record behind that was not there; a failed restore keeps the one there was."""
    entry = entries.get(action.document_id)
    if entry is None:
        return
    before = base.get(action.document_id)
    old = next((r for r in before.records if r.key == action.key), None) if before else None
    records = [r for r in entry.records if r.key != action.key]
    if old is not None:
        records.append(old)
    retraction = (before.retraction if before else None) if action.cause == "page" else entry.retraction
    entries[action.document_id] = replace(
        entry, records=tuple(sorted(records, key=lambda r: r.key)), retraction=retraction
    )

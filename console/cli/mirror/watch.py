"""``console mirror sync --watch``: the sync, again and again, for banks that CI cannot reach.

Quiet while nothing changes; one line for a change; after an error it says why and waits longer each time.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import datetime

from console.cli.base import State, note
from console.cli.mirror.common import Bar, Place, say
from console.cli.mirror.sync import counts, pull_request
from console.cli.output import print_json
from console.memory.errors import StoreError
from console.memory.store import MemoryStore
from mirror.errors import Locked, MirrorError
from mirror.sync import Options, Report

LONGEST = 900
"""Seconds between tries, however often they failed."""


def watch(state: State, place: Place, options: Options, *, seconds: int, pr: bool) -> int:
    """Until ctrl-c, which ends with 0 between two runs and with 130 within one. A first run that fails for a
    reason that waiting does not mend ends with that reason's code."""
    if not state.as_json:
        note(f"watching bank {state.settings.bank} every {seconds} s; ctrl-c ends it")
    return state.with_store(lambda store: _loop(store, state, place, options, seconds=seconds, pr=pr))


async def _loop(
    store: MemoryStore, state: State, place: Place, options: Options, *, seconds: int, pr: bool
) -> int:
    from console.bridge import StoreSource
    from mirror.sync import sync

    stop = asyncio.Event()
    with suppress(NotImplementedError, ValueError):  # Windows has no such handler: KeyboardInterrupt ends it
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    failures = 0
    first = True
    said = ""
    while not stop.is_set():
        try:
            with Bar() as bar:
                report = await sync(StoreSource(store, state.settings.bank), place.repo, options, bar.tell)
            failures = 0
            said = _tell(state, place, report, pr=pr, said=said)
        except (StoreError, MirrorError) as error:
            if first and isinstance(error, MirrorError) and not isinstance(error, Locked):
                raise
            failures += 1
            wait = pause(seconds, failures)
            note(f"{_clock()} {error}; again in {wait:.0f} s")
        first = False
        try:
            await asyncio.wait_for(stop.wait(), pause(seconds, failures))
        except TimeoutError:
            continue
        except asyncio.CancelledError:  # ctrl-c while nothing is under way
            return 0
    return 0


def pause(seconds: int, failures: int) -> float:
    """Seconds until the next try: doubled with each failure in a row."""
    if not failures:
        return float(seconds)
    wait = min(LONGEST, seconds * 2.0 ** min(failures, 12))
    return max(float(seconds), wait)


def _tell(state: State, place: Place, report: Report, *, pr: bool, said: str) -> str:
    """One line when something changed, and what waits for a person when that is news; what was said of it."""
    waits = len(report.refused) + len(report.unsettled) + len(report.skipped) + len(report.failed)
    news = f"{waits} need a person: `console mirror status`" if waits else ""
    changed = bool(report.commit or report.sent or report.pushed)
    if not changed and news == said:
        return said
    pull, line, _ = pull_request(report, place) if pr and changed else (None, "", 0)
    if state.as_json:
        print_json(
            {
                "at": datetime.now().astimezone().isoformat(timespec="seconds"),
                "commit": report.commit,
                "branch": report.branch,
                "pushed": report.pushed,
                "sent": report.sent,
                "written": len(report.written),
                "waiting": waits,
                "exit_code": report.exit_code,
                "pull_request": pull,
            }
        )
        return news
    parts = []
    if report.sent:
        parts.append(f"{report.sent:,} sent to the bank")
    if report.commit:
        parts.append(
            f"{counts(report) or 'side files'}: commit {report.commit[:12]} on {report.branch}"
            f"{', pushed' if report.pushed else ''}"
        )
    elif report.pushed:
        parts.append(f"{report.branch} was pushed")
    parts += [part for part in (line, news) if part]
    say(f"{_clock()} {'; '.join(parts) or 'nothing waits for a person any more'}")
    return news


def _clock() -> str:
    return datetime.now().strftime("%H:%M:%S")

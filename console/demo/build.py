"""Makes the demo: a folder with an embedded bank, a git repository and its synced wiki.

Promise: it touches the given folder and nothing else, neither the default store nor any git configuration; a
second run on a finished demo changes nothing, and a run after a broken one finishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from console.bridge import StoreSource
from console.demo import project, story
from console.demo.project import DemoError
from console.memory.embedded import EmbeddedStore
from console.memory.errors import StoreError
from console.memory.models import Curation, DocumentQuery, MemoryQuery, RetainItem
from console.memory.store import MemoryStore
from mirror import sync as mirror_sync
from mirror.errors import MirrorError

__all__ = ["DEFAULT_DIRECTORY", "DemoError", "DemoResult", "build"]

DEFAULT_DIRECTORY = Path("memory-demo")
_END = "2026-11-28T09:00:00Z"

Progress = Callable[[str, int, int], None]
"""(what, done, total)."""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What stands in the folder now."""

    directory: Path
    memory: Path
    bank_id: str
    created: bool
    """False: a finished demo was there already, and nothing was changed."""
    documents: int
    facts: int
    """Live ones."""
    retracted: int
    agents: tuple[str, ...]
    commit: str
    """Of the repository, after the wiki was synced."""

    @property
    def store_url(self) -> str:
        return f"sqlite:{self.memory}"


async def build(directory: Path, *, progress: Progress | None = None) -> DemoResult:
    """Make the demo in ``directory``, or finish one, or leave a finished one as it is.

    Raises DemoError, with exit code 64 for a folder that is not ours and not empty.
    """
    found = project.inspect(directory)
    complete = found is not None and found.complete
    if complete and not (directory / project.MEMORY).is_file():
        # a new bank under the old wiki would be refused by the mirror, rightly: it is another bank
        raise DemoError(
            "the demo's memory file is gone",
            where=str(directory / project.MEMORY),
            hint="remove the folder and make the demo again",
        )
    project.require_git()
    if not complete:
        project.prepare(directory)
    clock = _Clock()
    store = EmbeddedStore(directory / project.MEMORY, clock=clock)
    try:
        if not complete:
            await _fill(store, clock, progress)
            project.make_repository(directory)
            await _sync_wiki(store, directory, progress)
            project.mark(directory, complete=True)
        return await _describe(store, directory, created=not complete)
    except DemoError:
        raise
    except (StoreError, MirrorError) as error:
        raise DemoError(
            f"the demo could not be made: {error}", where=str(directory), exit_code=error.exit_code
        ) from error
    finally:
        await store.aclose()


class _Clock:
    """The bank's clock while the story is told: what was retained on 2 November says so."""

    def __init__(self) -> None:
        self._now = _microseconds(_END)

    def set(self, moment: str) -> None:
        self._now = _microseconds(moment)

    def __call__(self) -> int:
        # one microsecond a reading: a clock that stands still would give two writes the same time
        self._now += 1
        return self._now


def _microseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).astimezone(UTC).timestamp()) * 1_000_000


async def _fill(store: MemoryStore, clock: _Clock, progress: Progress | None) -> None:
    entries = story.load()
    retains = sorted(
        ((version.at, entry, version) for entry in entries for version in entry.versions),
        key=lambda retain: (retain[0], retain[1].id),
    )
    clock.set(retains[0][0])
    await store.create_bank(story.BANK, name=story.BANK_NAME, mission=story.MISSION)
    for done, (at, entry, version) in enumerate(retains, start=1):
        clock.set(at)
        item = RetainItem(
            content=version.text,
            document_id=entry.id,
            timestamp=at,
            context=entry.context,
            metadata=entry.metadata,
            tags=entry.tags,
        )
        await store.retain(story.BANK, [item])
        if progress is not None:
            progress("retaining", done, len(retains))
    for entry in entries:
        if entry.retract is not None:
            clock.set(entry.retracted_at)
            await _retract(store, entry.id, entry.retract, entry.retract_reason)
    clock.set(_END)


async def _retract(store: MemoryStore, document_id: str, text: str, reason: str) -> None:
    rows = await store.list_memories(story.BANK, MemoryQuery(document_id=document_id, q=text, limit=10))
    for memory in rows.items:
        if memory.text == text:
            await store.curate_memory(story.BANK, memory.id, Curation(state="invalidated", reason=reason))


async def _sync_wiki(store: MemoryStore, directory: Path, progress: Progress | None) -> None:
    source = StoreSource(store, story.BANK)
    await mirror_sync.sync(source, directory, mirror_sync.Options(first=True), progress)


async def _describe(store: MemoryStore, directory: Path, *, created: bool) -> DemoResult:
    documents = await store.list_documents(story.BANK, DocumentQuery(limit=1000))
    live = await store.list_memories(story.BANK, MemoryQuery(limit=1))
    retracted = await store.list_memories(story.BANK, MemoryQuery(limit=1, state="invalidated"))
    agents = {
        tag.removeprefix("harness:")
        for row in documents.items
        for tag in row.tags
        if tag.startswith("harness:")
    }
    return DemoResult(
        directory=directory,
        memory=directory / project.MEMORY,
        bank_id=story.BANK,
        created=created,
        documents=documents.total,
        facts=live.total,
        retracted=retracted.total,
        agents=tuple(sorted(agents)),
        commit=project.head(directory),
    )

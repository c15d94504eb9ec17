"""A sync in a process of its own that kills itself at a named step: run as ``python -m tests.faults.killed``.

The product has no hook for this: the step is a function of it that is wrapped here. The bank lives in a file, so
that what was sent before the kill has happened.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from mirror import export, listing, sync, worktree
from mirror.git import Repository
from mirror.plan import Policies
from tests.mirror.fakebank import FakeBank


def save(bank: FakeBank, file: Path) -> None:
    plain = FakeBank(**{row.name: getattr(bank, row.name) for row in fields(bank) if row.init})
    temporary = file.with_suffix(".tmp")
    temporary.write_bytes(pickle.dumps(plain))
    temporary.replace(file)


def load(file: Path) -> FakeBank:
    bank: FakeBank = pickle.loads(file.read_bytes())
    return bank


class FileBank(FakeBank):
    """The bank of a file, which is written again after each change that the mirror asks for."""

    file: Path

    @classmethod
    def open(cls, file: Path) -> FileBank:
        bank = cls(**vars(load(file)))
        bank.file = file
        return bank

    async def curate(self, fact_id: str, *, live: bool, reason: str) -> None:
        await super().curate(fact_id, live=live, reason=reason)
        save(self, self.file)

    async def erase(self, document_id: str) -> bool:
        done = await super().erase(document_id)
        save(self, self.file)
        return done


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def around(owner: Any, name: str, *, before: bool, nth: int) -> None:
    """Die before, or behind, the nth call."""
    honest = getattr(owner, name)
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return calls == nth

    if asyncio.iscoroutinefunction(honest):

        async def wrapped(*args: Any, **named: Any) -> Any:
            now = count()
            if now and before:
                die()
            done = await honest(*args, **named)
            if now:
                die()
            return done

        setattr(owner, name, wrapped)
    else:

        def plain(*args: Any, **named: Any) -> Any:
            now = count()
            if now and before:
                die()
            done = honest(*args, **named)
            if now:
                die()
            return done

        setattr(owner, name, plain)


def half_a_file() -> None:
    """Die with a temporary file half written."""
    from mirror import files

    def half(path: Path, data: bytes) -> None:
        if data and not path.name.endswith(".json"):
            path.parent.mkdir(parents=True, exist_ok=True)
            files.temporary_of(path).write_bytes(data[: len(data) // 2])
            die()
        honest(path, data)

    honest = worktree.write_file
    worktree.write_file = half  # type: ignore[assignment]


def note_gone(*, before: bool) -> None:
    honest = Path.unlink

    def unlink(self: Path, missing_ok: bool = False) -> None:
        mine = self.name.endswith(".pending.json")
        if mine and before:
            die()
        honest(self, missing_ok=missing_ok)
        if mine:
            die()

    Path.unlink = unlink  # type: ignore[method-assign]


Step = Callable[[], None]
STEPS: dict[str, Step] = {
    "before the lock": lambda: around(sync, "held", before=True, nth=1),
    "behind the lock": lambda: around(worktree, "repair", before=True, nth=1),
    "refs read": lambda: around(sync, "find_tips", before=False, nth=1),
    "base read": lambda: around(sync, "read_base", before=False, nth=1),
    "listed": lambda: around(listing, "take", before=False, nth=1),
    "before the first change": lambda: around(FileBank, "curate", before=True, nth=1),
    "behind the first change": lambda: around(FileBank, "curate", before=False, nth=1),
    "behind the second change": lambda: around(FileBank, "curate", before=False, nth=2),
    "behind the erasure": lambda: around(FileBank, "erase", before=False, nth=1),
    "listed again": lambda: around(listing, "take", before=False, nth=2),
    "rendered": lambda: around(export, "build", before=False, nth=1),
    "before the commit": lambda: around(Repository, "commit", before=True, nth=1),
    "behind the commit": lambda: around(Repository, "commit", before=False, nth=1),
    "note written": lambda: around(Repository, "update_ref", before=True, nth=1),
    "branch moved": lambda: around(Repository, "update_ref", before=False, nth=1),
    "second file": lambda: around(worktree, "write_file", before=False, nth=3),
    "fifth file": lambda: around(worktree, "write_file", before=False, nth=6),
    "half a file": half_a_file,
    "a file removed": lambda: around(worktree, "remove_file", before=False, nth=1),
    "before the index": lambda: around(Repository, "set_index", before=True, nth=1),
    "behind the index": lambda: around(Repository, "set_index", before=False, nth=1),
    "before the note goes": lambda: note_gone(before=True),
    "behind the note": lambda: note_gone(before=False),
}
ON_THE_BRANCH = [
    name
    for name in STEPS
    if name
    not in {
        "behind the lock",
        "second file",
        "fifth file",
        "half a file",
        "a file removed",
        "before the index",
        "behind the index",
        "before the note goes",
        "behind the note",
    }
]


def plant(bug: str) -> None:
    """A defect that the kill tests must notice."""
    if bug == "index not set":
        Repository.set_index = lambda *_: None  # type: ignore[method-assign,assignment]
    elif bug == "note removed first":
        honest = worktree._write_out

        def early(repo: Repository, changes: Any) -> None:
            for note in (repo.git_dir / "memory-console").glob("*.pending.json"):
                note.unlink()
            honest(repo, changes)

        worktree._write_out = early
    elif bug == "ref without its files":
        worktree._write_out = lambda *_: None


def options(mode: str) -> sync.Options:
    return sync.Options(first=True, branch=mode == "branch", policies=Policies(erase=5))


def main(repo: str, bank_file: str, mode: str, step: str, bug: str = "") -> None:
    """One run; with a step it dies there, or ends if the step never comes."""
    bank = FileBank.open(Path(bank_file))
    if bug:
        plant(bug)
    if step:
        STEPS[step]()
    asyncio.run(sync.sync(bank, Path(repo), options(mode)))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Random histories: agents retain, people review and merge, runs crash; in the end nothing that was taken back is live.

Each history comes from one seed. What must hold when the last run has ended:

* every document of the bank has its page, and no other has one;
* every fact whose retraction was merged, and not restored since, is dead as long as its text stands in the document;
* the next run, in the same mode, has nothing to do.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mirror import worktree
from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.paths import page_name
from mirror.sync import Options, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank

TREE = Options(first=True, max_gone=100, max_retractions=1000)
BRANCH = Options(first=True, branch=True, max_gone=100, max_retractions=1000)


class Crash(Exception):
    """A run that ends in the middle."""


@dataclass
class World:
    """The bank, the repository, and what the history says must hold."""

    repo: Repo
    bank: FakeBank
    rng: random.Random
    retracted: set[tuple[str, str]] = field(default_factory=set)
    story: list[str] = field(default_factory=list)
    names: int = 0

    def page(self, document_id: str) -> Path:
        return self.repo.path / f"wiki/demo/{page_name('demo', document_id).page}"

    def any_document(self) -> str | None:
        return self.rng.choice(sorted(self.bank.docs)) if self.bank.docs else None

    # What agents do

    def retain(self) -> None:
        self.names += 1
        count = self.rng.randrange(1, 5)
        self.bank.retain(f"doc/{self.names}", "".join(f"Doc {self.names} says {n}.\n" for n in range(count)))

    def grow(self) -> None:
        """The same session again with one more sentence: the bank forgets every retraction in it."""
        document_id = self.any_document()
        if document_id is not None:
            self.names += 1
            self.bank.retain(document_id, f"{self.bank.text[document_id]}More {self.names}.\n")

    def lose(self) -> None:
        document_id = self.any_document()
        if document_id is not None and len(self.bank.docs) > 2:
            self.bank.delete(document_id)

    # What people do

    async def review(self) -> None:
        """Marks and restores on the committed pages of a clean work tree, merged at once."""
        for document_id in self.rng.sample(sorted(self.bank.docs), min(2, len(self.bank.docs))):
            file = self.page(document_id)
            if not file.is_file():
                continue
            lines = file.read_text(encoding="utf-8").split("\n")
            for at, line in enumerate(lines):
                if not line.startswith("- ") or "<!-- f:" not in line or self.rng.random() > 0.4:
                    continue
                fact = line.split(" <!--")[0].removeprefix("- [ ] ~~").removeprefix("- ").removesuffix("~~")
                if "retracted" in line.split("<!--")[1]:
                    lines[at] = line.replace("- [ ]", "- [x]", 1)
                    self.retracted.discard((document_id, fact))
                elif line.startswith("- [ ]"):
                    continue  # marked already, not carried out yet
                else:
                    lines[at] = f"- [ ] {line[2:]} wrong"
                    self.retracted.add((document_id, fact))
            file.write_text("\n".join(lines), encoding="utf-8", newline="\n")
        self.commit("review (#1)")

    def commit(self, message: str) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "-m", message, "--allow-empty")

    def work(self) -> None:
        self.names += 1
        self.repo.write(f"code{self.names}.py", "x\n")
        self.commit("work")

    async def merge(self) -> None:
        """The mirror's pull request, in one of the three ways; a branch is deleted after a squash, as hosts do."""
        await self.run(BRANCH)  # the host runs it whenever the default branch moves
        if not self.repo.git("for-each-ref", "refs/heads/mirror/demo"):
            return
        if self.rng.random() < 0.5:
            self.repo.git("merge", "-q", "--no-edit", "mirror/demo")
        else:
            self.repo.git("merge", "-q", "--squash", "mirror/demo")
            self.commit("mirror (#2)")
            self.repo.git("branch", "-q", "-D", "mirror/demo")

    # What runs do

    async def run(self, options: Options) -> None:
        await sync(self.bank, self.repo.path, options)

    async def crash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        owner, name = self.rng.choice(
            [
                (Repository, "commit"),
                (Repository, "update_ref"),
                (Repository, "set_index"),
                (worktree, "write_file"),
                (FakeBank, "curate"),
            ]
        )
        left = self.rng.randrange(1, 4)
        honest = getattr(owner, name)

        def crashing(*args: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise Crash
            return honest(*args, **named)

        with monkeypatch.context() as patch:
            patch.setattr(owner, name, crashing)
            try:
                await self.run(TREE)
            except Crash:
                self.story.append(f"  crashed at {name}")
        await self.run(TREE)


async def history(path: Path, seed: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(make_repo(path / "work"), FakeBank(), random.Random(seed))
    world.repo.write("code.py", "x\n")
    world.repo.commit_all("first")
    for _ in range(4):
        world.retain()
    await world.run(TREE)
    for _ in range(steps):
        step = world.rng.choice(
            [
                "retain",
                "grow",
                "grow",
                "lose",
                "review",
                "review",
                "work",
                "tree",
                "branch",
                "branch",
                "merge",
                "crash",
            ]
        )
        world.story.append(step)
        if step in ("retain", "grow", "lose", "work"):
            getattr(world, step)()
        elif step in ("review", "merge"):
            await getattr(world, step)()
        elif step == "crash":
            await world.crash(monkeypatch)
        else:
            await world.run(TREE if step == "tree" else BRANCH)
    return world


async def settles(world: World) -> None:
    told = " > ".join(world.story)
    for mode in (TREE, BRANCH, TREE):
        report = await sync(world.bank, world.repo.path, mode)
        assert report.failed == [], told
    for mode in (TREE, BRANCH):
        assert (await sync(world.bank, world.repo.path, mode)).commit is None, told
    live = {(f.document_id, f.text) for f in world.bank.fact_rows.values() if f.live}
    assert not world.retracted & live, f"live again: {world.retracted & live}\n{told}"
    pages = {
        p.relative_to(world.repo.path).as_posix() for p in (world.repo.path / "wiki").rglob("pages/*/*.md")
    }
    assert pages == {f"wiki/demo/{page_name('demo', i).page}" for i in world.bank.docs}, told
    assert (await verify(world.bank, world.repo.path, Options())).differences == [], told
    assert world.repo.status() == "", told
    assert "error" not in world.repo.git("fsck"), told


async def test_histories_converge(tmp_path: Path, full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes = retractions = 0
    for seed in range(60 if full else 4):
        try:
            world = await history(tmp_path / str(seed), seed, 14, monkeypatch)
        except MirrorError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        await settles(world)
        crashes += sum("crashed" in step for step in world.story)
        retractions += len(world.retracted)
    assert crashes
    assert retractions  # the histories hold what they are about

"""kill -9 at every named step: the next run ends where an undisturbed one ends."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mirror.paths import page_name
from mirror.sync import sync
from tests.faults.killed import ON_THE_BRANCH, STEPS, load, options, save
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank

TIMES_FULL = 10
"""A kill at each of 20 and more steps, ten times: over 200. Every run has other pages and marks."""

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


@dataclass
class Scene:
    """A repository and a bank before the run that is disturbed."""

    repo: Repo
    bank: Path

    def copy(self, to: Path) -> Scene:
        shutil.copytree(self.repo.path, to / "work", symlinks=True)
        shutil.copy(self.bank, to / "bank")
        made = Scene(Repo(to / "work"), to / "bank")
        made.repo.git("update-index", "-q", "--refresh", check=False)
        return made

    def run(self, mode: str, step: str = "", bug: str = "") -> int:
        command = [sys.executable, "-m", "tests.faults.killed", str(self.repo.path), str(self.bank), mode]
        done = subprocess.run(
            [*command, step, bug],
            cwd=Path(__file__).parents[2],
            env=dict(os.environ),
            capture_output=True,
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
        return done.returncode

    def state(self, mode: str) -> dict[str, object]:
        """Tree, index, status, files and bank: all that a user can see."""
        repo = self.repo
        bank = load(self.bank)
        ref = "refs/heads/mirror/demo" if mode == "branch" else "refs/heads/main"
        return {
            "tree": repo.tree(ref),
            "index": repo.git("ls-files", "-s"),
            "status": repo.status(),
            "refs": repo.git("for-each-ref", "--format=%(refname)"),
            "files": sorted(
                (str(p.relative_to(repo.path)), p.read_bytes())
                for p in repo.path.rglob("*")
                if p.is_file() and ".git" not in p.relative_to(repo.path).parts[:1]
            ),
            "facts": sorted((f.document_id, f.text, f.live, f.reason or "") for f in bank.fact_rows.values()),
            "notes": [p.name for p in (repo.path / ".git/memory-console").glob("*.json")],
        }


async def scene(path: Path, seed: int) -> Scene:
    """A wiki with marks, a page to remove, changed and new documents; a person's own staged and edited files."""
    rng = random.Random(seed)
    repo = make_repo(path / "work")
    repo.write("code.py", "print('hello')\n")
    repo.write("mine.py", "1\n")
    repo.commit_all("first")
    bank = FakeBank()
    for number in range(8):
        lines = [f"Fact {n} of {number} is {rng.randrange(1000)}." for n in range(rng.randrange(3, 6))]
        bank.retain(f"doc/{number}", "\n".join(lines) + "\n", tags=["harness:omo"])
    await sync(bank, repo.path, options("tree"))

    def page(number: int) -> Path:
        return repo.path / f"wiki/demo/{page_name('demo', f'doc/{number}').page}"

    for number in (0, 1):
        lines = page(number).read_text(encoding="utf-8").split("\n")
        facts = [n for n, line in enumerate(lines) if line.startswith("- Fact")]
        for at in rng.sample(facts, 2):
            lines[at] = f"- [ ] {lines[at][2:]} wrong"
        page(number).write_text("\n".join(lines), encoding="utf-8", newline="\n")
    text = page(2).read_text(encoding="utf-8").replace('status: "active"', 'status: "erased"')
    page(2).write_text(text, encoding="utf-8", newline="\n")
    repo.commit_all("review (#7)")
    bank.delete("doc/3")
    bank.retain("doc/4", f"Now something else: {rng.randrange(1000)}.\n")
    bank.invalidate(next(f.text for f in bank.fact_rows.values() if f.document_id == "doc/5"))
    bank.retain("doc/new", "It is new.\n")
    repo.write("mine.py", "2\n")
    repo.write("staged.py", "3\n")
    repo.git("add", "staged.py")
    save(bank, path / "bank")
    return Scene(repo, path / "bank")


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    return Calm(tmp_path_factory.mktemp("calm"))


@dataclass
class Calm:
    """Where an undisturbed run ends: made once for a seed and a mode, however many steps are compared with it."""

    path: Path
    scenes: dict[int, Scene] = field(default_factory=dict)
    states: dict[tuple[int, str], dict[str, object]] = field(default_factory=dict)

    async def of(self, seed: int, mode: str) -> tuple[Scene, dict[str, object]]:
        if seed not in self.scenes:
            self.scenes[seed] = await scene(self.path / f"scene-{seed}", seed)
        made = self.scenes[seed]
        if (seed, mode) not in self.states:
            ran = self.path / f"{mode}-{seed}"
            ran.mkdir()
            copy = made.copy(ran)
            assert copy.run(mode) == 0
            self.states[seed, mode] = copy.state(mode)
        return made, self.states[seed, mode]


async def ends_alike(calm: Calm, tmp_path: Path, mode: str, step: str, seed: int, bug: str = "") -> bool:
    """Whether a run after the killed one ends like an undisturbed one. Fails where the step was never reached."""
    made, one = await calm.of(seed, mode)
    (tmp_path / f"killed-{seed}").mkdir()
    disturbed = made.copy(tmp_path / f"killed-{seed}")
    assert disturbed.run(mode, step, bug) == -signal.SIGKILL, f"{step} was never reached"
    assert disturbed.run(mode, "", bug if bug == "index not set" else "") == 0
    other = disturbed.state(mode)
    differ = [name for name in one if one[name] != other[name]]
    if not bug:
        assert differ == [], f"{step}, seed {seed}: {[(one[n], other[n]) for n in differ]}"
    return not differ


@pytest.mark.parametrize("step", STEPS)
async def test_in_the_work_tree(calm: Calm, tmp_path: Path, step: str, full: bool) -> None:
    for seed in range(TIMES_FULL if full else 1):
        assert await ends_alike(calm, tmp_path, "tree", step, seed)


@pytest.mark.parametrize("step", ON_THE_BRANCH)
async def test_on_the_branch(calm: Calm, tmp_path: Path, step: str, full: bool) -> None:
    if not full and step not in ("behind the first change", "behind the commit", "branch moved"):
        pytest.skip("runs with --full")
    for seed in range(5 if full else 1):
        assert await ends_alike(calm, tmp_path, "branch", step, seed)


@pytest.mark.parametrize(
    ("bug", "step"),
    [
        ("index not set", "branch moved"),
        ("note removed first", "second file"),
        ("ref without its files", "before the note goes"),
    ],
)
async def test_a_planted_bug_is_noticed(calm: Calm, tmp_path: Path, bug: str, step: str) -> None:
    """The measure itself: with this defect in the run that is killed, the two states differ."""
    if bug == "ref without its files":
        # The note is still there, so the next run repairs even this: the tests above rest on that.
        assert await ends_alike(calm, tmp_path, "tree", step, 1, bug)
    else:
        assert not await ends_alike(calm, tmp_path, "tree", step, 1, bug)


@pytest.mark.parametrize("mode", ["tree", "branch"])
async def test_two_processes_at_once(calm: Calm, tmp_path: Path, mode: str) -> None:
    """One of them does the work; the other waits for nothing: it does the rest, or names who holds the lock."""
    origin, undisturbed = await calm.of(0, mode)
    made = origin.copy(tmp_path)
    command = [sys.executable, "-m", "tests.faults.killed", str(made.repo.path), str(made.bank), mode, ""]
    runs = [
        subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ends = [(run.communicate()[1], run.returncode) for run in runs]
    assert 0 in {code for _, code in ends}, ends
    assert all(code == 0 or "mirror.errors.Locked: another run holds" in said for said, code in ends), ends
    assert made.state(mode) == undisturbed

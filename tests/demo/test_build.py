"""Making the demo: once, twice, interrupted, in the wrong place, and with nothing of the user's at hand."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.demo import build as building
from console.demo import project, story
from console.demo.build import DemoError, DemoResult, build
from console.memory.embedded import EmbeddedStore
from console.memory.models import DocumentQuery, MemoryQuery, RecallRequest, RetainItem
from mirror.keys import fold

pytestmark = pytest.mark.xdist_group("demo")


def git(directory: Path, *args: str) -> str:
    return subprocess.run(
        ["git", "-C", str(directory), *args], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def listing(directory: Path) -> dict[str, bytes]:
    """Every file but git's own and SQLite's, which may change when they are only read."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(directory).parts and "memory.db" not in path.name
    }


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    return asyncio.run(build(tmp_path_factory.mktemp("demo") / "memory-demo"))


@pytest.fixture
async def store(demo: DemoResult) -> AsyncIterator[EmbeddedStore]:
    opened = EmbeddedStore(demo.memory)
    yield opened
    await opened.aclose()


# What stands there afterwards --------------------------------------------------------------------------


async def test_the_whole_story_is_in_the_bank_word_for_word(store: EmbeddedStore) -> None:
    for entry in story.load():
        document = await store.get_document(story.BANK, entry.id)
        assert document.original_text == entry.versions[-1].text
        assert set(document.tags) == set(entry.tags)


def test_the_result_counts_what_is_there(demo: DemoResult) -> None:
    assert demo.created
    assert demo.documents == len(story.load())
    assert demo.facts > 300
    assert demo.retracted == 1
    assert demo.agents == ("claude-code", "codex", "omo")


async def test_documents_were_made_when_the_story_says(store: EmbeddedStore) -> None:
    page = await store.list_documents(story.BANK, DocumentQuery(limit=1000, time_field="created_at"))
    told = {entry.id: entry.versions[0].at[:10] for entry in story.load()}
    assert {row.id: str(row.created_at)[:10] for row in page.items} == told
    assert [row.id for row in page.items] == [entry.id for entry in reversed(story.load())]


async def test_the_grown_transcript_was_updated_later_than_it_was_made(store: EmbeddedStore) -> None:
    grown = next(entry for entry in story.load() if len(entry.versions) > 1)
    document = await store.get_document(story.BANK, grown.id)
    assert str(document.created_at)[:10] == grown.versions[0].at[:10]
    assert str(document.updated_at)[:10] == grown.versions[-1].at[:10]


async def test_one_fact_is_retracted_and_no_longer_recalled(store: EmbeddedStore) -> None:
    entry = next(entry for entry in story.load() if entry.retract)
    gone = await store.list_memories(story.BANK, MemoryQuery(state="invalidated"))
    assert [(memory.text, memory.invalidation_reason) for memory in gone.items] == [
        (entry.retract, entry.retract_reason)
    ]
    answer = await store.recall(story.BANK, RecallRequest(query="which port does the local Postgres run on"))
    assert entry.retract not in [result.text for result in answer.results]


async def test_recall_finds_the_wrong_conclusion_first_and_its_repeats_after_it(store: EmbeddedStore) -> None:
    answer = await store.recall(story.BANK, RecallRequest(query=story.QUESTION))
    first = answer.results[0]
    assert (first.document_id, first.text) == (story.WRONG.document, story.WRONG.text)
    repeats = {repeat.document for repeat in story.REPEATS}
    top = [result.document_id for result in answer.results[:8]]
    assert len(repeats & set(top)) >= 4, top


async def test_every_statement_of_the_story_is_a_fact_of_its_document(store: EmbeddedStore) -> None:
    for statement in (story.WRONG, *story.REPEATS, *story.TRUTH, story.HUMAN_DOUBT, *story.CLUES):
        rows = await store.list_memories(story.BANK, MemoryQuery(document_id=statement.document, limit=1000))
        assert any(statement.text in fold(memory.text) for memory in rows.items), statement


# The repository ----------------------------------------------------------------------------------------


def test_the_repository_is_clean_and_the_wiki_is_committed(demo: DemoResult) -> None:
    assert git(demo.directory, "status", "--porcelain") == ""
    assert git(demo.directory, "rev-parse", "HEAD").strip() == demo.commit
    tracked = git(demo.directory, "ls-files").splitlines()
    pages = [path for path in tracked if path.startswith("wiki/ledgerline/pages/") and path.endswith(".md")]
    assert len(pages) == len(story.load())
    assert not [path for path in tracked if "memory.db" in path or path == project.MARKER]


def test_the_wrong_conclusion_stands_on_its_page_as_a_live_fact(demo: DemoResult) -> None:
    wiki = demo.directory / "wiki" / "ledgerline" / "pages"
    lines = [
        line
        for page in wiki.rglob("*.md")
        for line in page.read_text(encoding="utf-8").splitlines()
        if story.WRONG.text in line
    ]
    assert len(lines) == 1
    assert lines[0].startswith(f"- {story.WRONG.text} <!-- f:")


def test_the_retracted_fact_is_struck_with_its_reason(demo: DemoResult) -> None:
    entry = next(entry for entry in story.load() if entry.retract)
    page = next((demo.directory / "wiki" / "ledgerline" / "pages").rglob("ses-01jx8q4wzc--*.md"))
    line = next(
        line for line in page.read_text(encoding="utf-8").splitlines() if "5433" in line and "<!--" in line
    )
    assert line.startswith(f"- [ ] ~~{entry.retract}~~")
    assert line.endswith(entry.retract_reason) or entry.retract_reason.split(";")[0] in line


def test_the_page_in_the_readme_is_a_page_of_the_demo(demo: DemoResult) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = readme.split("```markdown\n", 1)[1].split("```", 1)[0]
    page = next((demo.directory / "wiki" / "ledgerline" / "pages").rglob("ses-01jx8q4wzc--*.md"))
    assert shown == page.read_text(encoding="utf-8")


# Again, and after an interruption ----------------------------------------------------------------------


async def test_a_second_run_changes_nothing_and_says_so(demo: DemoResult) -> None:
    before = listing(demo.directory)
    again = await build(demo.directory)
    assert not again.created
    assert (again.documents, again.facts, again.commit) == (demo.documents, demo.facts, demo.commit)
    assert listing(demo.directory) == before


async def test_what_a_user_retained_in_the_demo_survives_a_second_run(tmp_path: Path) -> None:
    made = await build(tmp_path / "d")
    mine = EmbeddedStore(made.memory)
    await mine.retain(
        story.BANK, [RetainItem(content="Tokyo runs in its own time zone.", document_id="mine")]
    )
    await mine.aclose()
    again = await build(tmp_path / "d")
    assert again.documents == made.documents + 1


async def test_an_interrupted_build_is_finished_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: DemoResult
) -> None:
    async def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(building, "_sync_wiki", fail)
        with pytest.raises(KeyboardInterrupt):
            await build(tmp_path / "d")
    finished = await build(tmp_path / "d")
    assert finished.created
    assert (finished.documents, finished.facts) == (demo.documents, demo.facts)
    assert (await build(tmp_path / "d")).created is False


async def test_progress_is_told_up_to_the_end(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    await build(tmp_path / "d", progress=lambda what, done, total: heard.append((what, done, total)))
    retaining = [(done, total) for what, done, total in heard if what == "retaining"]
    assert retaining[-1][0] == retaining[-1][1] == sum(len(entry.versions) for entry in story.load())


# Refusals ----------------------------------------------------------------------------------------------


async def refused(directory: Path) -> DemoError:
    with pytest.raises(DemoError) as caught:
        await build(directory)
    assert "\n" not in str(caught.value)
    assert str(directory) in str(caught.value)
    return caught.value


async def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("ten years of work", encoding="utf-8")
    error = await refused(tmp_path)
    assert error.exit_code == 64
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


async def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x", encoding="utf-8")
    assert (await refused(tmp_path / "f")).exit_code == 64


async def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert (await build(tmp_path / "empty")).created


@pytest.mark.parametrize("content", ["", "{}", "not json", '{"console_demo": "x"}', '{"console_demo": 999}'])
async def test_a_damaged_or_foreign_marker_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / project.MARKER).write_text(content, encoding="utf-8")
    await refused(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [project.MARKER]


async def test_a_parent_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x", encoding="utf-8")
    with pytest.raises(DemoError, match=r"cannot be made|cannot be read"):
        await build(tmp_path / "f" / "d")


async def test_without_git_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(DemoError, match="git program was not found"):
        await build(tmp_path / "d")
    assert not (tmp_path / "d").exists()


async def test_a_damaged_memory_file_is_one_line(tmp_path: Path) -> None:
    made = await build(tmp_path / "d")
    for extra in tmp_path.glob("d/memory.db-*"):
        extra.unlink()
    made.memory.write_bytes(b"no database " * 1000)
    await refused(tmp_path / "d")


async def test_a_memory_file_that_is_gone_is_not_made_anew_under_the_old_wiki(tmp_path: Path) -> None:
    made = await build(tmp_path / "d")
    for file in tmp_path.glob("d/memory.db*"):
        file.unlink()
    await refused(tmp_path / "d")
    assert not made.memory.exists()


# Nothing of the user's is needed or touched -------------------------------------------------------------


@pytest.fixture
def bare_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that cannot even be made, and no git configuration anywhere."""
    home = tmp_path / "blocked"
    home.write_text("a file where the home should be", encoding="utf-8")
    for name in (
        "HOME",
        "USERPROFILE",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "APPDATA",
        "LOCALAPPDATA",
    ):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("EMAIL", raising=False)
    return home


async def test_no_git_configuration_and_no_home_are_needed(tmp_path: Path, bare_home: Path) -> None:
    made = await build(tmp_path / "d")
    assert made.created
    assert git(made.directory, "log", "--format=%an", "--max-parents=0").strip() == "console demo"
    assert bare_home.is_file()


async def test_a_surrounding_hook_s_environment_does_not_leak_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(outer / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(outer))
    monkeypatch.setenv("GIT_INDEX_FILE", str(outer / ".git" / "index"))
    made = await build(tmp_path / "d")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        os.environ.pop(name, None)
    assert len(git(made.directory, "ls-files").splitlines()) > len(story.load())
    assert not (outer / ".git" / "index").exists()

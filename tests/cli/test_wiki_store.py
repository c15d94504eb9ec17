"""``--store wiki:PATH``: a checkout is a bank to read, with no server, no git and no write."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.memory.errors import ReadOnly
from console.memory.models import DocumentQuery, MemoryQuery, RecallRequest, RetainItem
from console.memory.store import Capability
from console.wiki_store import WikiStore
from tests.cli.conftest import Console
from tests.cli.test_mirror_history import wiki

__all__ = ["wiki"]
PORT = "Locally it runs on port 5433."


@pytest.mark.parametrize("place", ["wiki:.", "wiki:wiki", "wiki:wiki/default"])
def test_recall_from_a_checkout(
    wiki: Console, home: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    ran = wiki("--store", place, "recall", "Postgres version", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["results"][0]["text"] == "Ledgerline uses Postgres 16."
    assert PORT not in ran.out


def test_documents_and_facts_are_the_banks_own(
    wiki: Console, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    ours = wiki("documents", "get", "db", "--json").json
    theirs = wiki("--store", "wiki:.", "documents", "get", "db", "--json").json
    for field in ("id", "content_hash", "original_text", "tags", "memory_unit_count", "document_metadata"):
        assert theirs[field] == ours[field], field
    assert theirs["created_at"][:16] == ours["created_at"][:16]
    [gone] = wiki("--store", "wiki:.", "memories", "list", "--state", "invalidated", "--json").json["items"]
    assert (gone["text"], gone["invalidation_reason"]) == (PORT, "it is 5434; Ada")


async def test_only_pages_that_changed_are_read_again(
    wiki: Console, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = home / "cache"

    async def texts() -> dict[str, list[str]]:
        store = WikiStore(".", cache=cache)
        try:
            found = await store.list_memories("default", MemoryQuery(limit=100))
            return {
                name: sorted(m.text for m in found.items if m.document_id == name) for name in ("db", "style")
            }
        finally:
            await store.aclose()

    before = await texts()
    assert before["style"] == ["Tests run with pytest.", "We format with ruff."]
    read: list[str] = []
    from console import wiki_store

    honest = wiki_store.rebuild

    def counted(bank_id, entry, *args, **more):  # type: ignore[no-untyped-def]
        read.append(entry.document_id)
        return honest(bank_id, entry, *args, **more)

    monkeypatch.setattr(wiki_store, "rebuild", counted)
    assert await texts() == before
    assert read == []
    page = next(
        path
        for path in Path("wiki").rglob("pages/*/*.md")
        if "We format with ruff." in path.read_text("utf-8")
    )
    kept = [
        line for line in page.read_text("utf-8").splitlines(True) if "We format" not in line or line[0] != "-"
    ]
    page.write_text("".join(kept), encoding="utf-8", newline="\n")
    assert (await texts())["style"] == ["Tests run with pytest."]
    assert read == ["style"]
    page.unlink()
    assert (await texts())["style"] == []
    for file in cache.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


async def test_every_write_is_refused(wiki: Console, home: Path) -> None:
    store = WikiStore(".", cache=home / "cache")
    try:
        assert store.capabilities == {Capability.EXPORT}
        document = (await store.list_documents("default", DocumentQuery())).items[0]
        for write in (
            store.retain("default", [RetainItem(content="x y z", document_id="x")]),
            store.delete_document("default", document.id),
            store.delete_bank("default"),
            store.create_bank("other"),
            store.set_document_tags("default", document.id, ["x"]),
        ):
            with pytest.raises(ReadOnly):
                await write
        assert (await store.recall("default", RecallRequest(query="ruff"))).results
    finally:
        await store.aclose()


def test_a_damaged_cache_is_made_again(wiki: Console, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    assert wiki("--store", "wiki:.", "banks").code == 0
    [file] = (home / "cache").rglob("*.sqlite")
    for beside in file.parent.glob(f"{file.name}-*"):
        beside.unlink()
    file.write_bytes(b"no database at all, whatever its name says" * 100)
    ran = wiki("--store", "wiki:.", "documents", "--json")
    assert (ran.code, ran.json["total"]) == (0, 2)


@pytest.mark.parametrize(
    ("place", "said"), [("wiki:nowhere", "no such folder"), ("wiki:empty", "no mirrored wiki")]
)
def test_where_no_wiki_is(console: Console, home: Path, place: str, said: str) -> None:
    (home / "empty").mkdir()
    ran = console("--store", place, "banks")
    assert ran.code == 1
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1

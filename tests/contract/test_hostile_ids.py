"""Ids that look like paths, routes, escapes or other ids: each reaches its own document, or none.

``DELETE …/documents/..`` through an ordinary client deletes the bank. So every operation runs on every
such id beside documents and a bank that a wrong path would reach, and those must come out untouched.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from console.memory.errors import InvalidInput, NotFound, StoreError, Unsupported
from console.memory.models import Curation, MemoryQuery
from console.memory.store import MemoryStore
from tests.contract.conftest import forget
from tests.contract.differences import expected
from tests.contract.helpers import document_ids, item, snapshot

NEIGHBOURS = ("x", "a", "b", "a/b", "A", "other", "documents", "case", "é", "long", "history", "chunks", "up")

REACHABLE = {
    "dots": ["..", ".", "...", "a/../b", "a/./b", "../../other", "../x", "x/..", "./x", "../../{other}"],
    "slashes": ["/x", "x/", "a//b", "/", "//", "x\\..\\a", "C:\\x", "../../{other}/documents/x"],
    "routes": ["x/history", "x/chunks", "x/reprocess", "../x/reprocess", "list", "memories/list"],
    "escapes": [
        "%41",
        "%2E%2E",
        "..%2F..%2Fother",
        "a?b",
        "a#b",
        "?",
        "#",
        "a&document_id=x",
        "a=b;c",
        "*",
        "a:b",
    ],
    "blanks": [" ", "  x", "x ", "x\t", "a\rb", "a\u202eb", "a\u2028b", "\u200b"],
    "letters": ["CASE", "e\u0301", "🙂", "團隊/文件", "'x'", '"x"', "long" * 100, "é" * 400],
}
LINE_BREAKS = ["x\n", "a\nb", "\n", "..\n", "x/chunks\n"]
CONTROLS = ["x\x01", "a\x0bb", "x\x1b[31m"]


@pytest.fixture
async def other(store: MemoryStore, bank: str) -> AsyncIterator[str]:
    """A second bank, whose id stands in some of the ids."""
    name = f"{bank}-other"
    await store.retain(name, [item("x", "The other bank has a gate.")])
    yield name
    await forget(store, name)


@pytest.fixture
async def neighbours(store: MemoryStore, bank: str) -> list[str]:
    await store.retain(
        bank, [item(name, f"Door {number} is open.") for number, name in enumerate(NEIGHBOURS)]
    )
    return list(NEIGHBOURS)


@pytest.mark.parametrize("group", REACHABLE)
async def test_a_hostile_id_reaches_its_own_document_only(
    store: MemoryStore, bank: str, other: str, neighbours: list[str], group: str
) -> None:
    ids = [name.replace("{other}", other) for name in REACHABLE[group]]
    texts = {name: f"This is hostile number {number}." for number, name in enumerate(ids)}
    await store.retain(bank, [item(name, text, tags=("own",)) for name, text in texts.items()])
    elsewhere = await snapshot(store, other)
    for name, text in texts.items():
        before = await snapshot(store, bank)
        assert name in before
        document = await store.get_document(bank, name)
        assert (document.id, document.original_text) == (name, text)
        assert [chunk.document_id for chunk in (await store.list_chunks(bank, name)).items] == [name]
        memories = (await store.list_memories(bank, MemoryQuery(document_id=name, type="world"))).items
        assert [memory.text for memory in memories] == [text], name
        await store.set_document_tags(bank, name, ["touched"])
        assert (await store.get_document(bank, name)).tags == ("touched",)
        curated = await store.curate_memory(
            bank, memories[0].id, Curation(state="invalidated", reason="test")
        )
        assert curated.document_id == name
        await store.delete_document(bank, name)
        del before[name]
        assert await snapshot(store, bank) == before, name
        assert await snapshot(store, other) == elsewhere, name
    assert sorted(await document_ids(store, bank)) == sorted(neighbours)


@pytest.mark.parametrize("group", [*REACHABLE, "unchecked", "line breaks", "controls", "empty"])
async def test_a_hostile_id_that_is_missing_reaches_nothing(
    store: MemoryStore, bank: str, other: str, neighbours: list[str], group: str
) -> None:
    before, elsewhere = await snapshot(store, bank), await snapshot(store, other)
    groups = REACHABLE | {
        "unchecked": ["/chunks", "x/../chunks"],
        "line breaks": LINE_BREAKS,
        "controls": CONTROLS,
        "empty": [""],
    }
    for name in groups[group]:
        name = name.replace("{other}", other)
        with pytest.raises((NotFound, Unsupported)):
            await store.get_document(bank, name)
        with pytest.raises((NotFound, Unsupported)):
            await store.list_chunks(bank, name)
        with pytest.raises((NotFound, Unsupported)):
            await store.set_document_tags(bank, name, ["touched"])
        with pytest.raises((NotFound, Unsupported)):
            await store.delete_document(bank, name)
        assert await snapshot(store, bank) == before, name
        assert await snapshot(store, other) == elsewhere, name


@pytest.mark.parametrize("document_id", LINE_BREAKS, ids=ascii)
async def test_a_line_break_in_an_id(store: MemoryStore, bank: str, kind: str, document_id: str) -> None:
    await _allowed_or_refused(store, bank, document_id, expected("a line break in a document id", kind))


@pytest.mark.parametrize("document_id", CONTROLS, ids=ascii)
async def test_control_characters_in_an_id(
    store: MemoryStore, bank: str, kind: str, document_id: str
) -> None:
    await _allowed_or_refused(store, bank, document_id, expected("control characters in a document id", kind))


async def _allowed_or_refused(store: MemoryStore, bank: str, document_id: str, outcome: str) -> None:
    await store.retain(bank, [item("x", "The neighbour has a gate.")])
    before = await snapshot(store, bank)
    hostile = item(document_id, "This is the hostile one.")
    if outcome == "allowed":
        await store.retain(bank, [hostile])
        assert (await store.get_document(bank, document_id)).id == document_id
        await store.delete_document(bank, document_id)
    else:
        with pytest.raises(InvalidInput) as refused:
            await store.retain(bank, [hostile])
        assert "\n" not in str(refused.value) and "\x1b" not in str(refused.value)
    assert await snapshot(store, bank) == before


async def test_an_id_whose_path_cannot_be_checked(store: MemoryStore, bank: str, kind: str) -> None:
    await store.retain(
        bank, [item("x", "The neighbour has a gate."), item("x/../chunks", "This is hostile.")]
    )
    before = await snapshot(store, bank)
    assert (await store.get_document(bank, "x/../chunks")).original_text == "This is hostile."
    try:
        await store.delete_document(bank, "x/../chunks")
        outcome = "can be changed"
        del before["x/../chunks"]
    except Unsupported:
        outcome = "can only be read"
    assert outcome == expected("an id whose path cannot be checked", kind)
    assert await snapshot(store, bank) == before


async def test_messages_about_hostile_ids_are_one_printable_line(store: MemoryStore, bank: str) -> None:
    for document_id in ("a\u202eb", "x\x1b[2J", "a\nb", "z" * 5000):
        with pytest.raises(StoreError) as failure:
            await store.get_document(bank, document_id)
        assert str(failure.value).isprintable()

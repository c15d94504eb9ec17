"""Operations: what runs in the background, and which documents it writes."""

from __future__ import annotations

import pytest

from console.memory.errors import InvalidInput, NotFound
from console.memory.store import MemoryStore
from tests.contract.differences import expected
from tests.contract.helpers import document_ids, item

HOSTILE = ("..", "x/chunks", "a/../b", "CASE", "case")


async def test_a_background_retain_can_be_waited_for(store: MemoryStore, bank: str, kind: str) -> None:
    items = [item(name, f"Door number {number} is open today.") for number, name in enumerate(HOSTILE)]
    answer = await store.retain(bank, items, background=True)
    assert answer.operation_id is not None
    assert answer.document_ids == HOSTILE
    early = await store.get_operation(bank, answer.operation_id)
    assert early.status in expected("an operation right after a background retain", kind)
    assert set(early.document_ids) == set(HOSTILE)
    done = await store.wait_operation(bank, answer.operation_id, timeout=60)
    assert (done.id, done.status, done.items_count) == (answer.operation_id, "completed", len(HOSTILE))
    assert set(done.document_ids) == set(HOSTILE)
    assert set(await document_ids(store, bank)) == set(HOSTILE)


async def test_operations_are_listed_with_their_documents(store: MemoryStore, bank: str) -> None:
    answers = [
        await store.retain(
            bank, [item(f"{part}{number}", "The gate opens at nine.") for part in "ab"], background=True
        )
        for number in range(2)
    ]
    ids = [answer.operation_id for answer in answers]
    early = {entry.id: entry for entry in (await store.list_operations(bank)).items}
    for number, operation_id in enumerate(ids):
        assert operation_id is not None
        assert set(early[operation_id].document_ids) == {f"a{number}", f"b{number}"}
        await store.wait_operation(bank, operation_id, timeout=60)
    late = {entry.id: entry for entry in (await store.list_operations(bank, status="completed")).items}
    for number, operation_id in enumerate(ids):
        assert operation_id is not None
        assert late[operation_id].status == "completed"
        assert set(late[operation_id].document_ids) == {f"a{number}", f"b{number}"}


async def test_the_given_id_is_the_operations_id(store: MemoryStore, bank: str) -> None:
    operation_id = "3f0c1a52-5a0e-4c5e-9d1e-" + bank[-12:]
    answer = await store.retain(
        bank, [item("d", "The gate opens at nine.")], background=True, operation_id=operation_id
    )
    assert answer.operation_id == operation_id
    assert (await store.wait_operation(bank, operation_id, timeout=60)).document_ids == ("d",)


async def test_a_window_of_operations(store: MemoryStore, bank: str) -> None:
    for number in range(3):
        answer = await store.retain(bank, [item(f"d{number}", "The gate opens at nine.")], background=True)
        assert answer.operation_id is not None
        await store.wait_operation(bank, answer.operation_id, timeout=60)
    page = await store.list_operations(bank, status="completed", limit=2)
    assert len(page.items) == 2
    assert page.total >= 3
    assert (await store.list_operations(bank, limit=0)).total >= 3
    assert len((await store.list_operations(bank, limit=500)).items) >= 3


async def test_an_operation_that_is_not_there(store: MemoryStore, bank: str) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(NotFound):
        await store.get_operation(bank, unknown)
    with pytest.raises(NotFound):
        await store.wait_operation(bank, unknown, timeout=1)


@pytest.mark.parametrize("operation_id", ["..", "nope", ""])
async def test_what_is_no_operation_id(store: MemoryStore, bank: str, operation_id: str) -> None:
    with pytest.raises((NotFound, InvalidInput)):
        await store.get_operation(bank, operation_id)

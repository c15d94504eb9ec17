"""Before a write: is the server still working on that document? Its two ways of writing keep no order.

Measured: a retain in the background and then one that is waited for ends with the first text; a document deleted while
its retain is pending is "not found", and appears afterwards.
"""

from __future__ import annotations

from collections.abc import Collection

from console.memory.errors import Conflict, NotFound
from console.memory.store import Capability, MemoryStore

_MOST = 100
_WRITES = {"batch_retain", "retain", "file_convert_retain", "reprocess", "import_documents", "import_bank"}


async def refuse_busy(store: MemoryStore, bank_id: str, document_ids: Collection[str]) -> None:
    """Raises Conflict, naming the operation, where one that is not finished writes one of these documents."""
    if Capability.ASYNC_RETAIN not in store.capabilities:
        return
    wanted = set(document_ids)
    for status in ("pending", "processing"):
        try:
            page = await store.list_operations(bank_id, status=status, limit=_MOST)
        except NotFound:  # no bank, so no work in it
            return
        for operation in page.items:
            named = {operation.document_id, *operation.document_ids} & wanted
            if operation.task_type in _WRITES and named:
                raise Conflict(
                    f"document {min(map(str, named))!r} is being written by operation {operation.id}",
                    where=store.url,
                    hint=f"`console operations wait {operation.id}` first: the two keep no order",
                )

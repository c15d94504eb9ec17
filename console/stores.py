"""Settings -> an open store. The store's own packages are imported only when it is that store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from console.memory.errors import ReadOnly
from console.memory.models import (
    ArchivedDocument,
    Bank,
    Curation,
    ImportResult,
    Memory,
    RetainItem,
    RetainResponse,
)
from console.memory.store import Capability, MemoryStore
from console.settings import Settings


def open_store(settings: Settings) -> MemoryStore:
    """The store that the settings name; close it with ``aclose``.

    Raises SettingsError (the token cannot be fetched) or StoreError. A store opened with ``read_only``
    refuses every write before anything is sent.
    """
    address = settings.address
    if address.kind == "wiki":
        from console.wiki_store import WikiStore

        return WikiStore(address.path, folder=settings.wiki)
    if address.kind == "sqlite":
        from console.memory.embedded import EmbeddedStore

        return EmbeddedStore(address.path, read_only=settings.read_only)
    from console.memory.hindsight import HindsightStore

    store: MemoryStore = HindsightStore(address.location, token=settings.token())
    return cast(MemoryStore, _ReadOnlyStore(store)) if settings.read_only else store


class _ReadOnlyStore:
    """Any store without its writes: what reads is passed on as it is."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._store.capabilities - {Capability.WRITE, Capability.ASYNC_RETAIN, Capability.IMPORT}

    def _refuse(self) -> NoReturn:
        raise ReadOnly("the store is opened read-only", where=self._store.url, hint="leave out --read-only")

    async def create_bank(self, bank_id: str, *, name: str | None = None, mission: str | None = None) -> Bank:
        self._refuse()

    async def delete_bank(self, bank_id: str) -> int:
        self._refuse()

    async def set_document_tags(self, bank_id: str, document_id: str, tags: Sequence[str]) -> None:
        self._refuse()

    async def delete_document(self, bank_id: str, document_id: str) -> int:
        self._refuse()

    async def curate_memory(self, bank_id: str, memory_id: str, curation: Curation) -> Memory:
        self._refuse()

    async def import_documents(
        self, bank_id: str, documents: Sequence[ArchivedDocument], *, on_conflict: str = "skip"
    ) -> ImportResult:
        self._refuse()

    async def retain(
        self,
        bank_id: str,
        items: Sequence[RetainItem],
        *,
        background: bool = False,
        operation_id: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> RetainResponse:
        self._refuse()

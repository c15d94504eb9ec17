"""What the whole-run tests do again and again: retain, sync, mark, merge, ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from console.bridge import StoreSource
from console.memory.models import Memory, MemoryQuery, RecallRequest, ReflectRequest, RetainItem
from console.memory.store import MemoryStore
from mirror import state, textfile
from mirror.git import Repository
from mirror.paths import BankFolder, page_name
from mirror.sync import Options, Report, sync
from mirror.verify import Verification, verify
from tests.mirror.conftest import Repo

FIRST = Options(first=True)
BRANCH = Options(first=True, branch=True)


@dataclass
class Run:
    """One bank of one store, mirrored in one repository."""

    store: MemoryStore
    bank: str
    repo: Repo

    @property
    def source(self) -> StoreSource:
        return StoreSource(self.store, self.bank)

    async def retain(self, document_id: str, text: str, **fields: Any) -> None:
        await self.store.retain(self.bank, [RetainItem(document_id=document_id, content=text, **fields)])

    async def sync(self, options: Options = FIRST, **changes: Any) -> Report:
        return await sync(self.source, self.repo.path, replace(options, **changes))

    async def verify(self) -> Verification:
        return await verify(self.source, self.repo.path, Options())

    # Files -----------------------------------------------------------------------------------------------

    def page(self, document_id: str) -> str:
        return f"{BankFolder('wiki', self.bank).root}/{page_name(self.bank, document_id).page}"

    def shown(self, document_id: str, rev: str = "HEAD") -> str:
        return self.repo.show(self.page(document_id), rev).decode()

    def line(self, document_id: str, fact: str, rev: str = "HEAD") -> str:
        """The page's line of that fact."""
        return next(
            row for row in self.shown(document_id, rev).splitlines() if fact in row and "<!-- f:" in row
        )

    def mark(self, document_id: str, fact: str, reason: str) -> None:
        """As a reviewer does in the checked out page: the box before the fact, the reason at the end."""
        file = self.repo.path / self.page(document_id)
        lines = file.read_text(encoding="utf-8").split("\n")
        at = next(n for n, row in enumerate(lines) if fact in row and "<!-- f:" in row)
        lines[at] = f"- [ ] {lines[at][2:]} {reason}"
        file.write_text("\n".join(lines), encoding="utf-8", newline="\n")

    def edit(self, document_id: str, old: str, new: str) -> None:
        file = self.repo.path / self.page(document_id)
        before = file.read_text(encoding="utf-8")
        assert old in before
        file.write_text(before.replace(old, new, 1), encoding="utf-8", newline="\n")

    def texts(self) -> dict[str, str]:
        """Document id -> the text that its .txt gives back, by the manifest of the tip alone."""
        repo = Repository.find(self.repo.path)
        try:
            wiki = state.read(repo, self.repo.head(), BankFolder("wiki", self.bank))
            wanted = {wiki.tree[page_name(self.bank, i).text].oid: entry for i, entry in wiki.entries.items()}
            blobs = dict(repo.blobs(wanted))
            return {
                i: textfile.decode(
                    blobs[wiki.tree[page_name(self.bank, i).text].oid],
                    entry.text_mode,
                    final_newline=entry.final_newline,
                )
                for i, entry in wiki.entries.items()
            }
        finally:
            repo.close()

    # The bank --------------------------------------------------------------------------------------------

    async def facts(self, state: str = "valid", **query: Any) -> list[Memory]:
        """World and experience facts."""
        page = await self.store.list_memories(self.bank, MemoryQuery(state=state, limit=10_000, **query))
        return [memory for memory in page.items if memory.fact_type in {"world", "experience"}]

    async def stored(self) -> dict[str, str | None]:
        """Document id -> text, as the bank has it."""
        return {a.document.id: a.document.original_text async for a in self.store.export_documents(self.bank)}

    async def recalled(self, query: str) -> list[str]:
        """Texts of the facts that recall gives."""
        answer = await self.store.recall(self.bank, RecallRequest(query=query))
        return [result.text for result in answer.results]

    async def recalled_chunks(self, query: str) -> str:
        """The chunks that recall brings along, as one text."""
        answer = await self.store.recall(self.bank, RecallRequest(query=query, include_chunks=True))
        return "\n".join(str(chunk) for chunk in (answer.chunks or {}).values())

    async def reflected(self, query: str) -> str:
        """The answer."""
        return (await self.store.reflect(self.bank, ReflectRequest(query=query))).text

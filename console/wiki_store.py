"""``wiki:PATH``: a mirrored wiki opened as a read-only store, from its files alone: no server, no git.

Pages of the work tree are read as they stand there; a fact's state is the one that the mirror wrote, so a mark that
is not merged yet changes nothing. They are indexed once into an embedded store in the user's cache folder, and only
pages whose bytes changed are read into it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, NoReturn, ParamSpec, TypeVar

import filelock
import msgspec
import platformdirs

from console.memory.embedded import EmbeddedStore
from console.memory.errors import Corrupt, InvalidInput, NotFound, ReadOnly, Unavailable
from console.memory.models import DocumentQuery, Version
from console.memory.store import Capability
from console.wiki_archive import archived, cut
from mirror import frontmatter
from mirror.errors import BadPage, MirrorError
from mirror.manifest import Entry, Header, decode_shard, read_header
from mirror.paths import bank_slug, page_name
from mirror.rebuild import Rebuilt, rebuild
from mirror.state import PAGE_LIMIT, UNKNOWN

P = ParamSpec("P")
T = TypeVar("T")

_INDEXED = 1
"""Raised when the same pages give other rows: then every page is read again."""
_TEXT_LIMIT = 256 * 1024 * 1024
_ALL = 1_000_000
_BATCH = 100
_WAIT = 120.0
"""Seconds that another process may take to index the same wiki."""


@dataclass(frozen=True, slots=True)
class _Page:
    entry: Entry
    page: Path
    text: Path
    digest: str


class WikiStore(EmbeddedStore):
    """The wiki in ``path``: a repository, its wiki folder (``folder`` inside the repository), or one bank's folder.

    Opens nothing by itself. Raises NotFound where no wiki is, and ReadOnly for every write. ``cache`` replaces the
    user's cache folder.
    """

    def __init__(self, path: Path | str, *, folder: str = "wiki", cache: Path | None = None) -> None:
        self.wiki = Path(path).expanduser()
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._headers: dict[str, Header] = {}
        self._fresh: asyncio.Lock | None = None
        self._done = False
        home = cache or platformdirs.user_cache_path("memory-console", appauthor=False) / "wiki"
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.access(home, os.W_OK):
                raise PermissionError
        except OSError:  # a read-only home: the index lives as long as the store
            self._temporary = tempfile.TemporaryDirectory(prefix="memory-console-")
            home = Path(self._temporary.name)
        name = hashlib.sha256(os.fsencode(self.wiki.absolute())).hexdigest()[:24]
        super().__init__(home / f"{name}.sqlite", read_only=True)

    @property
    def url(self) -> str:
        return f"wiki:{self.wiki}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.EXPORT})

    async def aclose(self) -> None:
        await super().aclose()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    async def version(self) -> Version:
        return msgspec.structs.replace(await super().version(), api_version="wiki-1")

    async def bank_identity(self, bank_id: str) -> str:
        """As the wiki's header has it: the identity of the bank that it mirrors."""
        await self.get_bank(bank_id)
        return self._headers[bank_id].created_at

    async def _read(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        await self._refreshed()
        return await super()._read(work, *args, **kwargs)

    async def _write(
        self, work: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> NoReturn:
        raise ReadOnly(
            "a wiki is opened read-only",
            where=self.url,
            hint="mark the fact on its page (`console mirror retract`), or use the store that it mirrors",
        )

    # The index ---------------------------------------------------------------------------------------

    async def _refreshed(self) -> None:
        if self._done:
            return
        if self._fresh is None:
            self._fresh = asyncio.Lock()
        async with self._fresh:
            if not self._done:
                await self._refresh()
                self._done = True

    async def _refresh(self) -> None:
        folders = await asyncio.to_thread(self._folders)
        if not folders:
            raise NotFound(
                "there is no mirrored wiki here",
                where=self.url,
                hint="name a repository with a wiki folder, or a folder with .mirror/header.json",
            )
        lock = filelock.FileLock(self.path.with_suffix(".lock"), timeout=_WAIT, mode=0o600)
        try:
            await asyncio.to_thread(lock.acquire)
        except filelock.Timeout:
            raise Unavailable(
                "another process is still indexing this wiki", where=self.url, hint="try again"
            ) from None
        try:
            try:
                await self._index(folders)
            except Corrupt:
                # A cache: made again from the pages.
                for file in self.path.parent.glob(f"{self.path.stem}.*"):
                    if file.suffix != ".lock":
                        file.unlink(missing_ok=True)
                await self._index(folders)
        except OSError as error:
            raise Unavailable(
                "the wiki cannot be read",
                where=str(error.filename or self.wiki),
                hint=error.strerror or str(error),
            ) from error
        finally:
            lock.release()

    async def _index(self, folders: Mapping[str, tuple[Header, Path]]) -> None:
        self._headers = {bank_id: header for bank_id, (header, _) in folders.items()}
        known = self._known()
        writer = EmbeddedStore(self.path)
        try:
            banks = {bank.bank_id for bank in (await writer.list_banks(limit=_ALL)).items}
            for gone in banks - set(folders):
                await writer.delete_bank(gone)
            now: dict[str, dict[str, str]] = {}
            for bank_id, (_, folder) in folders.items():
                if bank_id not in banks:
                    known.pop(bank_id, None)
                now[bank_id] = await self._bank(writer, bank_id, folder, known.get(bank_id, {}))
        finally:
            await writer.aclose()
        if now != known:
            self._remember(now)

    async def _bank(
        self, writer: EmbeddedStore, bank_id: str, folder: Path, known: Mapping[str, str]
    ) -> dict[str, str]:
        """Bring one bank's rows up to its pages; document id -> digest of what they were read from."""
        await writer.create_bank(bank_id)
        pages = await asyncio.to_thread(lambda: {p.entry.document_id: p for p in _pages(bank_id, folder)})
        listed = await writer.list_documents(bank_id, DocumentQuery(limit=_ALL))
        there = {document.id for document in listed.items}
        for document_id in there - set(pages):
            await writer.delete_document(bank_id, document_id)
        stale = [p for i, p in pages.items() if known.get(i) != p.digest or i not in there]
        unread: set[str] = set()
        for start in range(0, len(stale), _BATCH):
            documents = []
            for page in stale[start : start + _BATCH]:
                try:
                    found = await asyncio.to_thread(_rebuilt, bank_id, page)
                except BadPage:
                    unread.add(page.entry.document_id)
                    continue
                if found.text:
                    documents.append(archived(bank_id, found))
                else:
                    unread.add(page.entry.document_id)
            await writer.import_documents(bank_id, documents, on_conflict="replace")
        for document_id in unread & there:
            await writer.delete_document(bank_id, document_id)
        return {i: page.digest for i, page in pages.items() if i not in unread}

    def _folders(self) -> dict[str, tuple[Header, Path]]:
        """Bank id -> header and folder."""
        if not self.wiki.is_dir():
            raise NotFound("there is no such folder", where=self.url, hint="name a checkout of the wiki")
        inner = self.wiki / self._folder
        for places in ([self.wiki], _below(self.wiki), _below(inner)):
            found: dict[str, tuple[Header, Path]] = {}
            for place in places:
                data = _bytes(place / ".mirror" / "header.json", 1 << 20)
                if data is None:
                    continue
                try:
                    header = read_header(data, where=str(place / ".mirror" / "header.json"))
                except MirrorError as error:
                    raise InvalidInput(error.message, where=error.where, hint=error.hint) from error
                # A copy under another name is not this bank's wiki, except where it is named itself.
                if place == self.wiki or place.name == bank_slug(header.bank_id):
                    found[header.bank_id] = (header, place)
            if found:
                return found
        return {}

    def _known(self) -> dict[str, dict[str, str]]:
        try:
            value = json.loads(self.path.with_suffix(".json").read_text(encoding="utf-8"))
            if value["version"] != _INDEXED or not self.path.exists():
                return {}
            return {
                str(bank): {str(k): str(v) for k, v in pages.items()}
                for bank, pages in value["banks"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def _remember(self, now: Mapping[str, Mapping[str, str]]) -> None:
        file = self.path.with_suffix(".json")
        part = file.with_suffix(".part")
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            json.dump({"version": _INDEXED, "banks": now}, out)
        part.replace(file)


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())
    except OSError:
        return []


def _bytes(path: Path, limit: int) -> bytes | None:
    """A regular file's bytes; None for what is missing, larger, or a link (it may point out of the wiki)."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > limit:
        return None
    return path.read_bytes()


def _pages(bank_id: str, folder: Path) -> Iterator[_Page]:
    entries: dict[str, Entry] = {}
    for shard in sorted((folder / ".mirror").glob("*.jsonl")):
        found, _ = decode_shard(_bytes(shard, _TEXT_LIMIT) or b"", where=str(shard))
        entries |= {page_name(bank_id, entry.document_id).page: entry for entry in found}
    for shard_folder in _below(folder / "pages"):
        for page in sorted(shard_folder.glob("*.md")):
            data = _bytes(page, PAGE_LIMIT)
            if data is None:
                continue
            entry = entries.get(f"pages/{shard_folder.name}/{page.name}") or _unnamed(
                bank_id, folder, page, data
            )
            if entry is None:
                continue
            text = page.with_suffix(".txt")
            digest = hashlib.sha256(entry.encode().encode("ascii"))
            for part in (data, _bytes(text, _TEXT_LIMIT) or b""):
                digest.update(b"\0%d\0" % len(part) + part)
            yield _Page(entry, page, text, digest.hexdigest()[:32])


def _unnamed(bank_id: str, folder: Path, page: Path, data: bytes) -> Entry | None:
    """A line for a page that the manifest does not name; None for a file that is no page of this bank."""
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    end = frontmatter.split(lines)
    if end is None:
        return None
    try:
        front = frontmatter.read(lines[1 : end - 1], where=str(page))
    except BadPage:
        return None
    document_id, mode = front.get("document"), front.get("text")
    if not isinstance(document_id, str) or folder / page_name(bank_id, document_id).page != page:
        return None
    return Entry(document_id, page=UNKNOWN, text_mode=mode if isinstance(mode, str) else "")


def _rebuilt(bank_id: str, page: _Page) -> Rebuilt:
    data = _bytes(page.page, PAGE_LIMIT) or b""
    text = _bytes(page.text, _TEXT_LIMIT) or b""
    return rebuild(bank_id, page.entry, data, text, cut, where=str(page.page), strict=False)

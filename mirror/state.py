"""The wiki as a commit holds it: header, manifest, and the blobs of the bank's folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mirror.errors import BadPage, NotBound
from mirror.git import Repository, TreeEntry
from mirror.manifest import Entry, Header, decode_shard, read_header
from mirror.paths import BankFolder, PageName, page_name
from mirror.source import SourceBank

_PAGE = re.compile(r"pages/([0-9a-f]{2})/([a-z0-9-]+--[0-9a-f]{16})\.md")


@dataclass(frozen=True, slots=True)
class Wiki:
    """``commit`` None: the repository or the folder is empty."""

    folder: BankFolder
    commit: str | None
    header: Header | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict)
    """Document id -> manifest line."""
    tree: Mapping[str, TreeEntry] = field(default_factory=dict)
    """Path relative to the bank's folder -> blob."""
    errors: tuple[BadPage, ...] = ()

    @property
    def pages(self) -> dict[str, PageName]:
        """Page path -> its name, of all files that are named as a page is."""
        found: dict[str, PageName] = {}
        for path in self.tree:
            if match := _PAGE.fullmatch(path):
                found[path] = PageName(shard=match[1], stem=match[2])
        return found

    @property
    def owned(self) -> int:
        """max(manifest, pages): the denominator of the guard."""
        return max(sum(1 for entry in self.entries.values() if entry.page), len(self.pages))


def read(repo: Repository, commit: str | None, folder: BankFolder) -> Wiki:
    """The wiki at a commit. Raises NotBound for a folder that the mirror did not write."""
    prefix = f"{folder.root}/"
    tree = {path.removeprefix(prefix): entry for path, entry in repo.tree(commit, folder.root).items()}
    if not tree:
        blocking = repo.entry(commit, folder.root)
        if blocking is not None:
            what = {"160000": "a submodule", "120000": "a symlink"}.get(blocking.mode, "a file")
            raise NotBound(
                f"{what} stands where the wiki's folder should",
                where=folder.root,
                hint="name another wiki folder",
            )
        return Wiki(folder, commit)
    head = tree.get(".mirror/header.json")
    if head is None:
        raise NotBound(
            "this folder was not written by the mirror (it has no .mirror/header.json)",
            where=folder.root,
            hint="name another wiki folder, or move those files away",
        )
    shards = {
        path: entry for path, entry in tree.items() if path.startswith(".mirror/") and path.endswith(".jsonl")
    }
    blobs = dict(repo.blobs([head.oid, *(entry.oid for entry in shards.values())]))
    header = read_header(blobs.get(head.oid, b""), where=folder.header)
    entries: dict[str, Entry] = {}
    errors: list[BadPage] = []
    for path, entry in sorted(shards.items()):
        found, bad = decode_shard(blobs.get(entry.oid, b""), where=folder.path(path))
        errors += bad
        for line in found:
            name = page_name(folder.bank_id, line.document_id)
            if path != f".mirror/{name.shard}.jsonl" or line.document_id in entries:
                errors.append(
                    BadPage(
                        "a manifest line stands twice or in the wrong file",
                        where=folder.path(path),
                        hint="the next sync writes it anew from the bank",
                    )
                )
                continue
            entries[line.document_id] = line
    return Wiki(folder, commit, header, entries, tree, tuple(errors))


def check_identity(wiki: Wiki, bank: SourceBank) -> None:
    """Raises NotBound when the wiki is of another bank, or of a bank that was deleted and made again."""
    header = wiki.header
    if header is None:
        return
    if header.bank_id != bank.bank_id:
        raise NotBound(
            f"the wiki is bound to bank {header.bank_id!r}, this run is for {bank.bank_id!r}",
            where=wiki.folder.root,
            hint="check --bank and the wiki folder",
        )
    if header.created_at != bank.created_at:
        raise NotBound(
            f"the wiki is bound to another bank of the same name (made {header.created_at}; this one was made {bank.created_at})",
            where=f"{wiki.folder.root}, bank at {bank.origin}",
            hint="check --store; after a rebuild of the bank run `console mirror init --rebind`",
        )


def merged_entries(base: Wiki, default: Wiki, branch: Wiki) -> dict[str, Entry]:
    """Manifest lines of the branch where the default branch did not change them since ``base``; else the default's."""
    merged = dict(default.entries)
    for document_id, entry in branch.entries.items():
        if default.entries.get(document_id) == base.entries.get(document_id):
            merged[document_id] = entry
    for document_id in default.entries:
        gone = document_id not in branch.entries and default.entries[document_id] == base.entries.get(
            document_id
        )
        if gone:
            merged.pop(document_id, None)
    return merged

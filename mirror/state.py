"""The wiki as a commit holds it: header, manifest, and the blobs of the bank's folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mirror.errors import BadPage, NotBound
from mirror.escape import unescape
from mirror.git import Repository, TreeEntry
from mirror.keys import fact_key
from mirror.manifest import REBUILT, Entry, Header, decode_shard, read_header
from mirror.model import Record
from mirror.parse import ParsedLine, parse
from mirror.paths import BankFolder, PageName, page_name
from mirror.source import SourceBank

PAGE_LIMIT = 8 * 1024 * 1024
"""A page larger than this is named, not read."""
UNKNOWN = "0" * 40
"""In a line that was rebuilt: whatever stands on the page, the mirror does not vouch for it."""
_BOX = re.compile(r"\[[ xX]\]\s+")
_STRIKE = re.compile(r"\A~~(.*)~~\Z")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
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
        parts = folder.root.split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            blocking = repo.entry(commit, path)
            if blocking is None:
                break
            if blocking.mode == "040000":
                continue
            what = {"160000": "a submodule", "120000": "a symlink"}.get(blocking.mode, "a file")
            raise NotBound(
                f"{what} stands where the wiki's folder should",
                where=path,
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
    twice: set[str] = set()
    errors: list[BadPage] = []
    for path, entry in sorted(shards.items()):
        found, bad = decode_shard(blobs.get(entry.oid, b""), where=folder.path(path))
        errors += bad
        for line in found:
            name = page_name(folder.bank_id, line.document_id)
            if path != f".mirror/{name.shard}.jsonl" or line.document_id in entries:
                twice.add(line.document_id)
                where = folder.path(path)
                errors.append(
                    BadPage("a manifest line stands twice or in the wrong file", where=where, hint=REBUILT)
                )
                continue
            entries[line.document_id] = line
    for document_id in twice:
        entries.pop(document_id, None)
    wiki = Wiki(folder, commit, header, entries, tree, tuple(errors))
    return replace(wiki, entries=entries | _rebuilt(repo, wiki))


def _rebuilt(repo: Repository, wiki: Wiki) -> dict[str, Entry]:
    """Lines for pages that the manifest does not name, with the records that the page itself shows.

    A page without its line is no page that the mirror vouches for: it is read for marks, and written anew.
    """
    named = {page_name(wiki.folder.bank_id, i).page for i in wiki.entries}
    lost = {
        p: wiki.tree[p] for p in wiki.pages if p not in named and wiki.tree[p].mode in ("100644", "100755")
    }
    if not lost:
        return {}
    sizes = repo.sizes(entry.oid for entry in lost.values())
    blobs = dict(repo.blobs(e.oid for e in lost.values() if sizes.get(e.oid, 0) <= PAGE_LIMIT))
    found: dict[str, Entry] = {}
    for path, entry in lost.items():
        page = parse(blobs.get(entry.oid, b""), where=wiki.folder.path(path))
        document_id = (page.front or {}).get("document")
        if not isinstance(document_id, str) or page_name(wiki.folder.bank_id, document_id).page != path:
            continue
        records = {r.key: r for line in page.lines if line.retracted and (r := _record(line)) is not None}
        found[document_id] = Entry(
            document_id=document_id, page=UNKNOWN, records=tuple(records[key] for key in sorted(records))
        )
    return found


def _record(line: ParsedLine) -> Record | None:
    """The record that a retracted line shows; None where its text is not the fact's."""
    body = line.body
    if box := _BOX.match(body):
        body = body[box.end() :]
    text = unescape(_STRIKE.sub(r"\1", body))
    if line.shown_hash or fact_key(text) != line.key:
        return None
    parts = unescape(line.note).split("; ")
    when = parts.pop() if parts and _DAY.fullmatch(parts[-1]) else ""
    by = parts.pop() if when and len(parts) > 1 else ""
    return Record(key=line.key, text=text, reason="; ".join(parts), by=by, when=when)


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

"""Every page against the bank, every hash against its bytes: reads all, writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mirror import export, listing, page, state, textfile
from mirror.cover import Cover
from mirror.git import Repository
from mirror.listing import Busy
from mirror.manifest import blob_id
from mirror.paths import BankFolder, page_name, wiki_path
from mirror.refs import find_tips
from mirror.sync import Options, read_base
from mirror.veil import Bank, Veiled


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it should be: where, and what."""

    path: str
    what: str
    document_id: str = ""


@dataclass(slots=True)
class Verification:
    """``differences`` empty: the wiki says what the bank says, byte for byte."""

    bank_id: str
    folder: str
    branch: str
    commit: str | None
    documents: int = 0
    pages: int = 0
    facts: int = 0
    withheld: int = 0
    """Documents that are shown without their secrets: that is no difference."""
    differences: list[Difference] = field(default_factory=list)
    busy: list[Busy] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 3 if self.differences else 0


async def verify(
    source: Bank, start: Path, options: Options, progress: Callable[[str, int, int], None] | None = None
) -> Verification:
    """Compare the wiki at its tip with the bank: text, page, manifest. Busy documents are named, not judged."""
    repo = await asyncio.to_thread(Repository.find, start)
    try:
        return await _verify(source, repo, options, progress)
    finally:
        repo.close()


async def _verify(
    source: Bank, repo: Repository, options: Options, progress: Callable[[str, int, int], None] | None
) -> Verification:
    bank = await source.bank()
    folder = BankFolder(wiki_path(options.wiki), bank.bank_id)
    tips = await asyncio.to_thread(find_tips, repo, bank.bank_id, options)
    wiki, _ = await asyncio.to_thread(read_base, repo, folder, tips)
    if tips.on_branch and tips.branch:
        wiki = state.read(repo, tips.branch, folder)
    state.check_identity(wiki, bank)
    cover = Cover(bank, wiki.header)
    source = Veiled(source, cover)
    snapshot = await listing.take(source, progress)
    result = Verification(
        bank_id=bank.bank_id,
        folder=folder.root,
        branch=tips.target.removeprefix("refs/heads/"),
        commit=wiki.commit,
        documents=snapshot.total,
        pages=len(wiki.pages),
        busy=sorted(snapshot.busy.values(), key=lambda b: b.document_id),
    )
    differ = result.differences
    differ += [Difference(error.where, error.message) for error in wiki.errors]
    if wiki.header is None:
        differ.append(Difference(folder.root, "there is no wiki of this bank yet: run `console mirror init`"))
        return result
    known = set(snapshot.documents) | set(snapshot.busy)
    for document_id, entry in wiki.entries.items():
        if entry.page and document_id not in known:
            path = folder.path(page_name(bank.bank_id, document_id).page)
            differ.append(Difference(path, "the bank does not list this document", document_id))
    expected = {page_name(bank.bank_id, i).page for i in wiki.entries}
    differ += [
        Difference(folder.path(path), "a page that the manifest does not name")
        for path in sorted(set(wiki.pages) - expected)
    ]

    ids = list(snapshot.documents)
    done = 0
    for start in range(0, len(ids), export.BATCH):
        part = ids[start : start + export.BATCH]
        files = {
            path: wiki.tree[path].oid
            for i in part
            for path in (page_name(bank.bank_id, i).page, page_name(bank.bank_id, i).text)
            if path in wiki.tree
        }
        blobs = dict(repo.blobs(files.values()))
        texts = {i: text async for i, text in source.texts(part)}
        for document_id in part:
            document = snapshot.documents[document_id]
            name = page_name(bank.bank_id, document_id)
            where = folder.path(name.page)
            line = wiki.entries.get(document_id)
            if line is None or not line.page:
                differ.append(Difference(where, "in the bank, not in the manifest", document_id))
                continue
            if document_id not in texts:
                result.busy.append(Busy(document_id, "it went while it was compared"))
                continue
            text = texts[document_id]
            facts = snapshot.facts.get(document_id, ())
            result.facts += sum(1 for fact in facts if fact.live)
            stands = blobs.get(files.get(name.text, ""))
            covered = cover.document(export.page_source(bank.bank_id, document, facts, line, text))
            rendered, late = export.render(covered, name, page.VOLATILE, cover)
            result.withheld += bool(covered.withheld or late)
            if text is not None:
                if export.text_hash(text) != document.content_hash:
                    result.busy.append(Busy(document_id, "its text changed while it was compared"))
                    continue
                if stands is None:
                    differ.append(Difference(folder.path(name.text), "the text file is missing", document_id))
                elif covered.hidden_text and stands == rendered.text:
                    pass
                elif textfile.decode(stands, line.text_mode, final_newline=line.final_newline) != text:
                    differ.append(
                        Difference(folder.path(name.text), "the text is not the bank's", document_id)
                    )
                if line.text != document.content_hash:
                    differ.append(
                        Difference(where, "the manifest's text hash is not the bank's", document_id)
                    )
            shown = blobs.get(files.get(name.page, ""))
            if shown is None:
                differ.append(Difference(where, "the page is missing", document_id))
            elif shown != rendered.page:
                person = blob_id(shown) != line.page
                what = "edited by a person" if person else "says something else than the bank"
                differ.append(
                    Difference(
                        where, f"the page {what} (line {_first_line(shown, rendered.page)})", document_id
                    )
                )
        done += len(part)
        if progress is not None:
            progress("pages", done, len(ids))
    return result


def _first_line(one: bytes, other: bytes) -> int:
    for number, (a, b) in enumerate(zip(one.split(b"\n"), other.split(b"\n"), strict=False), 1):
        if a != b:
            return number
    return min(one.count(b"\n"), other.count(b"\n")) + 1

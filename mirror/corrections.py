"""What people wrote of texts: corrected ones, redacted ones, and new knowledge in ``inbox/``.

A changed .txt alone changes nothing in the bank: formatters and editors change files too. It counts with
``correct: true`` in its page's front matter. ``redact: true`` takes the sentences of the page's retracted facts out
of the source text, which a retraction leaves in place (measured). A file ``inbox/<name>.md`` is the document
``inbox/<name>``. All three are sent as a replacement of the whole text with the bank's own tags and parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mirror import frontmatter, textfile
from mirror.errors import BadPage
from mirror.export import text_hash
from mirror.git import Repository
from mirror.listing import Snapshot
from mirror.manifest import Entry
from mirror.model import Record
from mirror.parse import parse
from mirror.paths import page_name
from mirror.plan import Unsettled
from mirror.state import Wiki

CORRECT = "correct"
REDACT = "redact"
INBOX = "inbox"
TEXT_KINDS = frozenset({CORRECT, REDACT})
"""Their pages are left as they are until the text went through."""
INBOX_LIMIT = 2 * 1024 * 1024
WITHHELD = "[retracted]"
_DROPPED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Text:
    """One text to send. ``tags`` and ``context`` are set for inbox files only."""

    kind: str
    document_id: str
    text: str
    where: str
    tags: tuple[str, ...] = ()
    context: str | None = None


@dataclass(slots=True)
class Texts:
    """What is to be sent, and what cannot be."""

    send: list[Text] = field(default_factory=list)
    unsettled: list[Unsettled] = field(default_factory=list)


def redacted(text: str, records: Iterable[Record]) -> tuple[str, list[Record]]:
    """The text without the sentences of the records, and the records whose words do not stand in it verbatim."""
    missing: list[Record] = []
    for record in records:
        words = record.text.strip()
        if words and words in text:
            text = text.replace(words, WITHHELD)
        elif WITHHELD not in text:
            missing.append(record)
    return text, missing


def read(repo: Repository, wiki: Wiki, snapshot: Snapshot, planned: Mapping[str, Entry]) -> Texts:
    """The texts that a commit asks for and the bank does not have yet. ``planned``: manifest lines with the records
    that this run makes, so that a fact can be taken back and redacted in one commit."""
    found = Texts()
    edited = {
        i: entry
        for i, entry in wiki.entries.items()
        if entry.page
        and (stands := wiki.tree.get(page_name(wiki.folder.bank_id, i).page))
        and stands.oid != entry.page
    }
    blobs = dict(repo.blobs(wiki.tree[page_name(wiki.folder.bank_id, i).page].oid for i in edited))
    for document_id, entry in sorted(edited.items()):
        name = page_name(wiki.folder.bank_id, document_id)
        where = wiki.folder.path(name.page)
        front = parse(blobs.get(wiki.tree[name.page].oid, b""), where=where).front or {}
        wants = [kind for kind in (CORRECT, REDACT) if str(front.get(kind, "")).lower() == "true"]
        if not wants:
            continue
        if document_id not in snapshot.documents:
            busy = snapshot.busy.get(document_id)
            what = busy.reason if busy else "the bank does not have this document"
            found.unsettled.append(Unsettled(CORRECT, document_id, f"{where}:1", what))
            continue
        records = planned[document_id].records if document_id in planned else entry.records
        _page(
            found, repo, wiki, snapshot, document_id, entry, records, wants, str(front.get("text", "")), where
        )
    _inbox(found, repo, wiki, snapshot)
    return found


def _page(
    found: Texts,
    repo: Repository,
    wiki: Wiki,
    snapshot: Snapshot,
    document_id: str,
    entry: Entry,
    records: tuple[Record, ...],
    wants: list[str],
    mode: str,
    where: str,
) -> None:
    file = wiki.tree.get(page_name(wiki.folder.bank_id, document_id).text)
    data = next((blob for _, blob in repo.blobs([file.oid])), None) if file else None
    if data is None:
        found.unsettled.append(
            Unsettled(CORRECT, document_id, f"{where}:1", "the bank keeps no text of this document")
        )
        return
    if textfile.WITHHELD in entry.text_mode.split():
        what = "a secret is withheld from this file, so it cannot be sent back: erase the document, or `console mirror secrets allow`"
        found.unsettled.append(Unsettled(CORRECT, document_id, f"{where}:1", what))
        return
    changed = file is not None and file.oid != entry.text_blob
    text = textfile.decode(data, mode if changed else entry.text_mode, final_newline=entry.final_newline)
    now = snapshot.documents[document_id].content_hash
    if CORRECT in wants and changed and entry.text and now not in (entry.text, text_hash(text)):
        what = "the document changed in the bank since this correction was written; it was not sent"
        found.unsettled.append(Unsettled(CORRECT, document_id, f"{where}:1", what))
        return
    if REDACT in wants:
        text, missing = redacted(text, records)
        if missing:
            what = "these words do not stand in the source text as they are: correct the text by hand (console mirror correct)"
            texts = {record.key: record.text for record in missing}
            found.unsettled.append(Unsettled(REDACT, document_id, f"{where}:1", what, texts))
    if text_hash(text) != now:
        found.send.append(Text(CORRECT if CORRECT in wants else REDACT, document_id, text, f"{where}:1"))


def _inbox(found: Texts, repo: Repository, wiki: Wiki, snapshot: Snapshot) -> None:
    files = {path: e for path, e in wiki.tree.items() if path.startswith("inbox/") and path.endswith(".md")}
    sizes = repo.sizes(e.oid for e in files.values())
    for path, entry in sorted(files.items()):
        where = wiki.folder.path(path)
        document_id = path.removesuffix(".md")
        if entry.mode not in ("100644", "100755") or sizes.get(entry.oid, 0) > INBOX_LIMIT:
            found.unsettled.append(
                Unsettled(INBOX, document_id, where, "a link, or larger than 2 MiB: it was not retained")
            )
            continue
        data = next((blob for _, blob in repo.blobs([entry.oid])), b"")
        try:
            text, fields = _inbox_text(data, where)
        except BadPage as error:
            found.unsettled.append(Unsettled(INBOX, document_id, error.where or where, error.message))
            continue
        known = snapshot.documents.get(document_id)
        if (
            not text.strip()
            or document_id in snapshot.busy
            or (known and known.content_hash == text_hash(text))
        ):
            continue
        tags = fields.get("tags")
        words = tags if isinstance(tags, list) else [tags] if isinstance(tags, str) else []
        context = fields.get("context")
        found.send.append(
            Text(
                INBOX,
                document_id,
                text,
                where,
                tuple(sorted({str(tag) for tag in words if str(tag).strip()})),
                context if isinstance(context, str) and context else INBOX,
            )
        )


def _inbox_text(data: bytes, where: str) -> tuple[str, Mapping[str, object]]:
    """(text without front matter, its fields). Raises BadPage."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise BadPage("this file is not UTF-8: it was not retained", where=where) from error
    text = _DROPPED.sub("", text)  # as a bank does, so that its hash can be compared
    if text.startswith(("<<<<<<< ", ">>>>>>> ")) or "\n<<<<<<< " in text:
        raise BadPage("a merge conflict was committed: it was not retained", where=where)
    lines = text.split("\n")
    taken = frontmatter.split(lines)
    if taken is None:
        return text, {}
    fields = frontmatter.read(lines[1 : taken - 1], where=where)
    return "\n".join(lines[taken:]).lstrip("\n"), fields

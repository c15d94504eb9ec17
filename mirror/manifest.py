"""The manifest: what the bank cannot give back, and the base of the next run.

One sorted JSON line per document in ``.mirror/<hh>.jsonl``, sharded like the pages, and ``header.json``
beside them. ASCII JSON, so that no id can hide or move text in a diff. Same wiki, same bytes.

``header.json`` is the identity: bank id, the bank's ``created_at`` (or the uuid of an embedded one), schema.
A wiki that carries another identity is refused: it belongs to another bank.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mirror.errors import BadPage, NotBound
from mirror.model import SCHEMA, Record

REBUILT = "it is written anew from its page and the bank"
_BLOB = re.compile(r"(?:[0-9a-f]{40})?")
_HASH = re.compile(r"(?:[0-9a-f]{64})?")


@dataclass(frozen=True, slots=True)
class Header:
    """Which bank this wiki is of. ``origins`` is information only."""

    bank_id: str
    created_at: str
    schema: int = SCHEMA
    origins: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint -> what a person settled for this secret: ``keep`` (stays withheld) or ``allow`` (is shown)."""

    def encode(self) -> bytes:
        value: dict[str, Any] = {
            "bank": self.bank_id,
            "created_at": self.created_at,
            "origins": list(self.origins),
            "schema": self.schema,
        }
        if self.secrets:
            value["secrets"] = dict(self.secrets)
        return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode("ascii")


def read_header(data: bytes, *, where: str) -> Header:
    """Raises NotBound when it is not a header, or of a newer tool."""
    try:
        value = json.loads(data)
        header = Header(
            bank_id=str(value["bank"]),
            created_at=str(value["created_at"]),
            schema=int(value["schema"]),
            origins=tuple(str(origin) for origin in value.get("origins", ())),
            secrets={str(mark): str(what) for mark, what in value.get("secrets", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise NotBound(
            "the wiki's header cannot be read",
            where=where,
            hint="restore it from git history (git log -- that path), or `console mirror init --rebind`",
        ) from error
    if header.schema > SCHEMA:
        raise NotBound(
            f"the wiki was written by a newer memory-console (schema {header.schema}, this one knows {SCHEMA})",
            where=where,
            hint="upgrade memory-console",
        )
    return header


@dataclass(frozen=True, slots=True)
class Entry:
    """One document's manifest line. ``page`` is '' for a document that is gone but whose records stay."""

    document_id: str
    page: str = ""
    """git blob id (sha1) of the page as the mirror wrote it: any other bytes there are a person's."""
    text: str = ""
    """sha256 hex of the document's text; '' where the bank keeps none."""
    text_blob: str = ""
    """git blob id of the .txt."""
    text_mode: str = ""
    """How the .txt is encoded: '' verbatim, ``folded ↩``, ``escaped``..."""
    final_newline: bool = False
    inputs: str = ""
    """Digest of everything the page is made of: an unchanged one is not rendered again."""
    created: str = ""
    """Day and minute that index and order need."""
    title: str = ""
    agent: str = ""
    label: str | None = None
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """key -> type, occurred_start, occurred_end, where they are not a plain live world fact's."""
    records: tuple[Record, ...] = ()
    retraction: Record | None = None
    """Set where a person took the whole document back: covers later facts too."""
    corrected: str = ""
    """sha256 hex of the text that a person's correction or redaction left: another one later overwrote it."""
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint -> rule of the secrets that were taken out of page and text."""
    allowed: Mapping[str, str] = field(default_factory=dict)
    """The same of those that a person allowed to be shown."""

    def encode(self) -> str:
        value: dict[str, Any] = {"document": self.document_id}
        for name in (
            "page",
            "text",
            "text_blob",
            "text_mode",
            "inputs",
            "created",
            "title",
            "agent",
            "corrected",
        ):
            if content := getattr(self, name):
                value[name] = content
        if self.final_newline:
            value["final_newline"] = True
        if self.label is not None:
            value["label"] = self.label
        if self.facts:
            value["facts"] = {key: dict(fact) for key, fact in self.facts.items()}
        for name in ("withheld", "allowed"):
            if marks := getattr(self, name):
                value[name] = dict(marks)
        if self.records:
            value["records"] = [_record_value(record) for record in self.records]
        if self.retraction is not None:
            value["retraction"] = _record_value(self.retraction)
        return _dump(value | {"seal": _seal(value)})


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _seal(value: Mapping[str, Any]) -> str:
    """Of a line without its seal: a line that was edited by hand, or half merged, does not carry its own."""
    return hashlib.sha256(_dump(value).encode("ascii")).hexdigest()[:12]


def _record_value(record: Record) -> dict[str, Any]:
    value: dict[str, Any] = {"key": record.key, "text": record.text}
    for name in ("reason", "by", "when", "pr", "memory_id"):
        if content := getattr(record, name):
            value[name] = content
    if record.chunk_index is not None:
        value["chunk_index"] = record.chunk_index
    if record.is_chunk:
        value["is_chunk"] = True
    return value


def encode_shard(entries: Iterable[Entry]) -> bytes:
    """Sorted by document id; '' for no entries means: no file."""
    lines = sorted((entry.document_id, entry.encode()) for entry in entries)
    return "".join(f"{line}\n" for _, line in lines).encode("ascii")


def decode_shard(data: bytes, *, where: str) -> tuple[list[Entry], list[BadPage]]:
    """Entries of a shard, and one error per line that cannot be read (that document then has no base)."""
    entries: list[Entry] = []
    errors: list[BadPage] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.strip()
        if not line:
            continue
        try:
            value = json.loads(line)
            entry = _entry(value)
            genuine = value.pop("seal", None) == _seal(value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            conflict = line.startswith((b"<<<<<<<", b"=======", b">>>>>>>"))
            what = "merge-conflict marker in the manifest" if conflict else "manifest line cannot be read"
        else:
            if genuine:
                entries.append(entry)
                continue
            what = "a manifest line was edited by hand: it does not count"
        errors.append(BadPage(what, where=f"{where}:{number}", hint=REBUILT))
    return entries, errors


def _entry(value: Any) -> Entry:
    def text(name: str) -> str:
        content = value.get(name, "")
        if not isinstance(content, str):
            raise TypeError(name)
        return content

    def matching(name: str, form: re.Pattern[str]) -> str:
        content = text(name)
        if form.fullmatch(content) is None:
            raise ValueError(name)
        return content

    label = value.get("label")
    return Entry(
        document_id=_required(value["document"]),
        page=matching("page", _BLOB),
        text=matching("text", _HASH),
        text_blob=matching("text_blob", _BLOB),
        text_mode=text("text_mode"),
        final_newline=bool(value.get("final_newline", False)),
        inputs=text("inputs"),
        created=text("created"),
        title=text("title"),
        agent=text("agent"),
        corrected=text("corrected"),
        label=None if label is None else _required(label),
        facts={
            _required(key): {str(k): _required(v) for k, v in fact.items()}
            for key, fact in value.get("facts", {}).items()
        },
        records=tuple(_record(record) for record in value.get("records", ())),
        retraction=_record(value["retraction"]) if "retraction" in value else None,
        withheld={str(mark): _required(rule) for mark, rule in value.get("withheld", {}).items()},
        allowed={str(mark): _required(rule) for mark, rule in value.get("allowed", {}).items()},
    )


def _required(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _record(value: Any) -> Record:
    index = value.get("chunk_index")
    return Record(
        key=_required(value["key"]),
        text=_required(value["text"]),
        reason=_required(value.get("reason", "")),
        by=_required(value.get("by", "")),
        when=_required(value.get("when", "")),
        pr=_required(value.get("pr", "")),
        memory_id=_required(value.get("memory_id", "")),
        chunk_index=None if index is None else int(index),
        is_chunk=bool(value.get("is_chunk", False)),
    )


def blob_id(data: bytes) -> str:
    """git's id of a blob with these bytes, in a sha1 repository."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

"""Bank and document id -> file name. From the ids only, never from a title; same ids, same names.

Every component is lower-case ASCII ``[a-z0-9-.]``, so case-insensitive disks, Unicode normal forms,
reserved characters, ``..``, ``.git`` and leading dashes are settled in one go. The ``--hash`` tail keeps
two ids apart and keeps a stem from ever being just ``con`` or ``aux``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from mirror.errors import MirrorError

SLUG_LENGTH = 60
_PLAIN_BANK = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_WITHHELD = re.compile(r"withheld--([0-9a-f]{16})")
# A folder of this name cannot be made on Windows.
_RESERVED = {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(10))}


def slugify(text: str, *, length: int = SLUG_LENGTH, empty: str = "doc") -> str:
    """ASCII words of ``text`` joined by dashes, at most ``length`` long; ``empty`` where nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:length].strip("-") or empty


def bank_slug(bank_id: str) -> str:
    """The bank's folder, branch, lock and concurrency group: the id itself where it is plain, else slug--h8."""
    if _PLAIN_BANK.fullmatch(bank_id) and "--" not in bank_id and bank_id not in _RESERVED:
        return bank_id
    digest = hashlib.sha256(bank_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slugify(bank_id, length=40, empty='bank')}--{digest[:8]}"


def document_hash(bank_id: str, document_id: str) -> str:
    """sha256 hex of bank, NUL, id."""
    return hashlib.sha256(f"{bank_id}\0{document_id}".encode("utf-8", "surrogatepass")).hexdigest()


def branch_name(bank_id: str) -> str:
    """The branch that a CI sync writes."""
    return f"mirror/{bank_slug(bank_id)}"


@dataclass(frozen=True, slots=True)
class PageName:
    """Where one document stands, relative to the bank's folder."""

    shard: str
    """Two hex digits: the folder under ``pages/`` and the manifest's file."""
    stem: str

    @property
    def page(self) -> str:
        return f"pages/{self.shard}/{self.stem}.md"

    @property
    def text(self) -> str:
        return f"pages/{self.shard}/{self.stem}.txt"

    @property
    def text_name(self) -> str:
        return f"{self.stem}.txt"


def withheld_hash(document_id: str) -> str | None:
    """The h16 of ``withheld--<h16>``, the id that the wiki gives to a document whose own holds a secret; else None."""
    found = _WITHHELD.fullmatch(document_id)
    return None if found is None else found[1]


@lru_cache(maxsize=1 << 16)
def page_name(bank_id: str, document_id: str) -> PageName:
    """``pages/<hh>/<slug>--<h16>``."""
    if own := withheld_hash(document_id):
        return PageName(shard=own[:2], stem=document_id)
    digest = document_hash(bank_id, document_id)
    return PageName(shard=digest[:2], stem=f"{slugify(document_id)}--{digest[:16]}")


@dataclass(frozen=True, slots=True)
class BankFolder:
    """The paths of one bank inside a repository: all POSIX, relative to its top."""

    wiki: str
    bank_id: str

    @property
    def root(self) -> str:
        return f"{self.wiki}/{bank_slug(self.bank_id)}" if self.wiki else bank_slug(self.bank_id)

    def path(self, relative: str) -> str:
        return f"{self.root}/{relative}"

    @property
    def header(self) -> str:
        return self.path(".mirror/header.json")

    def shard(self, shard: str) -> str:
        return self.path(f".mirror/{shard}.jsonl")

    @property
    def readme(self) -> str:
        return self.path("README.md")

    def month(self, month: str) -> str:
        return self.path(f"index/{month}.md")

    @property
    def attributes(self) -> str:
        return f"{self.wiki}/.gitattributes" if self.wiki else ".gitattributes"


def wiki_path(setting: str) -> str:
    """A wiki folder as a setting gives it -> a relative POSIX path; raises MirrorError for one that leaves the repository."""
    path = PurePosixPath(setting.replace("\\", "/"))
    parts = [part for part in path.parts if part != "."]
    bad = [
        p
        for p in parts
        if p == ".."
        or p.lower().startswith((".git", "git~"))
        or p.startswith("-")
        or p != p.rstrip(". ")
        or any(ord(c) < 32 or c in '":\x7f' or 0xD800 <= ord(c) < 0xE000 for c in p)
    ]
    if path.is_absolute() or bad or not parts:
        raise MirrorError(
            "the wiki folder must be a folder inside the repository",
            where=repr(setting),
            hint="name one such as 'wiki' or 'docs/memory'",
        )
    return "/".join(parts)

"""What ``console retain`` is given: texts, standard input, files and folders, read into texts with ids.

Promise: everything that was named is either read whole or refused by name before anything is sent.
"""

from __future__ import annotations

import codecs
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from console.cli.base import check_text
from console.settings.repository import find_repository
from console.settings.safefile import reason

SIZE_LIMIT = 32 * 1024 * 1024

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: it begins with the same two bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COOKIE = re.compile(rb"(?:coding[:=]\s*|encoding=[\"'])([-\w.]+)")
_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "venv"}


class Unreadable(Exception):
    """A file that cannot be taken as text. ``str()`` says why, without the path."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to retain, not read yet. ``path`` None: ``text`` is it."""

    document_id: str
    path: Path | None = None
    text: str = ""


def gather(words: Sequence[str], *, as_text: bool, document_id: str | None) -> list[Item]:
    """The arguments as items. Raises UsageError, naming the argument that is no file."""
    if as_text:
        text = check_text(" ".join(words), "the text")
        return [Item(document_id or ulid(), text=_filled(text, "the text"))]
    paths = [word for word in words if word != "-" and _exists(word)]
    others = [word for word in words if word != "-" and not _exists(word)]
    for word in others:
        if _path_like(word):
            raise click.UsageError(f"{word!r} is no file here; --text says that it is a text")
    if "-" in words:
        if len(words) > 1:
            raise click.UsageError("- (standard input) stands alone")
        return [Item(document_id or ulid(), text=_filled(_standard_input(), "standard input"))]
    if others and paths:
        raise click.UsageError(f"{others[0]!r} is no file, and texts and files do not go together")
    if len(others) > 1:
        raise click.UsageError("give one text: put it in quotes")
    if others:
        return [Item(document_id or ulid(), text=_filled(check_text(others[0], "the text"), "the text"))]
    items = [item for word in paths for item in _of_path(Path(word))]
    if document_id is not None:
        if len(items) != 1:
            raise click.UsageError(f"--id is for one document, these are {len(items)}")
        return [Item(document_id, items[0].path)]
    seen: dict[str, Path | None] = {}
    for item in items:
        if item.document_id in seen and seen[item.document_id] != item.path:
            raise click.UsageError(
                f"{seen[item.document_id]} and {item.path} would both be {item.document_id!r}"
            )
        seen[item.document_id] = item.path
    return [Item(name, path) for name, path in seen.items()]


def _filled(text: str, what: str) -> str:
    if not text.strip():
        raise click.UsageError(f"{what} is empty")
    return text


def _exists(word: str) -> bool:
    try:
        return os.path.lexists(word)
    except ValueError:  # a NUL
        return False


def _path_like(word: str) -> bool:
    if "\n" in word or re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", word):
        return False
    named = re.search(r"\.[A-Za-z][A-Za-z0-9]{0,7}$", word) is not None
    rooted = re.match(r"(~|\.{1,2})?[/\\]|[A-Za-z]:[/\\]", word) is not None
    if re.search(r"\s", word):
        return rooted and named
    return named or rooted or "/" in word or "\\" in word


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.closed:
        raise click.UsageError("standard input is closed")
    try:
        data = sys.stdin.buffer.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise click.UsageError(f"standard input cannot be read, {reason(error)}") from error
    try:
        return decode(data)
    except Unreadable as error:
        raise click.UsageError(f"standard input: {error}") from error


def _of_path(path: Path) -> Iterator[Item]:
    full = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the file's own link
    full = _resolved(full.parent) / full.name
    base = _base(full)
    if not path.is_dir():
        yield Item(_id(full, base), path)
        return
    for found in _walk(path):
        yield Item(_id(full / found.relative_to(path), base), found)


def _base(full: Path) -> Path:
    """What ids are relative to: the top of the repository, else the current folder, else the folder that holds
    it: an id must not tell where somebody's home is."""
    repository = find_repository(full if full.is_dir() else full.parent)
    for base in ([repository.top] if repository else []) + [_resolved(Path.cwd())]:
        if full.is_relative_to(base):
            return base
    return full.parent if full.is_dir() else full.parent.parent


def _id(full: Path, base: Path) -> str:
    """File names may hold bytes that are no text; ids may not."""
    return (
        full.relative_to(base)
        .as_posix()
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
    )


def _walk(folder: Path) -> Iterator[Path]:
    """Regular files below, sorted, without hidden ones; links are not followed out of the folder."""
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            path = Path(base) / name
            if not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode):
                yield path


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def read_text(path: Path, encoding: str | None = None) -> str:
    """A file's text. Raises Unreadable with the reason."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable("is not a regular file; pipe it into `console retain -`")
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise Unreadable(reason(error)) from error
    text = decode(data, encoding)
    if not text.strip():
        raise Unreadable("is empty")
    return text


def decode(data: bytes, encoding: str | None = None) -> str:
    """Bytes as text: the encoding asked for, a byte order mark, UTF-8, else what the text itself declares.

    A byte order mark is left out; everything else is kept. Raises Unreadable rather than guess.
    """
    if len(data) > SIZE_LIMIT:
        raise Unreadable(f"is larger than {SIZE_LIMIT // 1024 // 1024} MiB")
    if encoding is not None:
        return _decoded(data, encoding)
    for mark, name in _BOMS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], name)
    if b"\0" in data:
        raise Unreadable("is not a text, it holds NUL bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        declared = _COOKIE.search(b"\n".join(data[:400].splitlines()[:3]))
        if declared is not None:
            return _decoded(data, declared[1].decode("ascii", "replace"))
        raise Unreadable("is not UTF-8; name its encoding with --encoding") from None


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError as error:
        raise Unreadable(f"is in an unknown encoding, {encoding!r}") from error
    except (UnicodeError, ValueError) as error:
        raise Unreadable(f"is not valid {encoding}") from error


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(milliseconds: int | None = None, random: bytes | None = None) -> str:
    """A ULID: 48 bits of milliseconds since 1970, 80 random bits; sorts by time."""
    at = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    value = (at << 80) | int.from_bytes(secrets.token_bytes(10) if random is None else random, "big")
    return "".join(_CROCKFORD[value >> shift & 31] for shift in range(125, -1, -5))


def batches(
    texts: Iterable[tuple[str, str]], *, documents: int, characters: int
) -> Iterator[list[tuple[str, str]]]:
    """(id, text) pairs in requests of a bounded size; one large text is a request of its own."""
    batch: list[tuple[str, str]] = []
    size = 0
    for document_id, text in texts:
        if batch and (len(batch) >= documents or size + len(text) > characters):
            yield batch
            batch, size = [], 0
        batch.append((document_id, text))
        size += len(text)
    if batch:
        yield batch

"""Real texts that this machine has anyway: whatever wrote them did not have the mirror in mind.

Package READMEs and METADATA, changelogs and licences of the system, Python's own sources, documentation and test
data, in the encodings they come in. Chosen by a hash of the path, so that a machine gives the same ones each time
and every kind is among them.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import site
import sys
import sysconfig
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAMES = (
    "readme",
    "changelog",
    "changes",
    "news",
    "license",
    "licence",
    "copying",
    "copyright",
    "metadata",
    "history",
)
SUFFIXES = frozenset(
    {".py", ".md", ".rst", ".txt", ".toml", ".c", ".h", ".js", ".html", ".xml", ".json", ".tcss", ".gz"}
)
LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Text:
    """``name``: path as found; ``encoding``: what it was read as."""

    name: str
    content: str
    encoding: str

    def cut(self, size: int) -> Text:
        """At most ``size`` bytes of UTF-8, and no half character."""
        return Text(self.name, self.content.encode()[:size].decode("utf-8", "ignore"), self.encoding)


def roots() -> list[Path]:
    """Where to look, those that exist."""
    found = [Path(sysconfig.get_path("stdlib")), Path("/usr/share/doc"), Path("/usr/share/common-licenses")]
    found += [Path(p) for p in (*site.getsitepackages(), *sys.path) if p.endswith("site-packages")]
    return [path for path in dict.fromkeys(p.resolve() for p in found) if path.is_dir()]


def _candidates() -> Iterator[Path]:
    for root in roots():
        for path in root.rglob("*"):
            named = any(word in path.name.lower() for word in NAMES)
            if (named or path.suffix in SUFFIXES) and "__pycache__" not in path.parts:
                yield path


def decode(data: bytes, path: Path) -> tuple[str, str] | None:
    """(text, encoding) by byte order mark, coding line, UTF-8, the encoding that the file is named after; else
    Latin-1. None for what is no text."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return _try(data, encoding)
    if path.suffix == ".py":
        try:
            declared, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except (SyntaxError, UnicodeDecodeError):
            declared = "utf-8"
        if (read := _try(data, declared)) is not None:
            return read
    if b"\0" in data:
        return None
    named = path.stem.removesuffix("-utf8")
    for encoding in ("utf-8", named if _known(named) else "utf-8", "latin-1"):
        if (read := _try(data, encoding)) is not None:
            return read
    return None


def _known(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        return False


def _try(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        text = data.decode(encoding)
        text.encode("utf-8")
    except (UnicodeError, LookupError):
        return None
    return text, codecs.lookup(encoding).name


def _kind(path: Path) -> str:
    word = next((word for word in NAMES if word in path.name.lower()), "")
    return word or ("encoded" if path.parent.name == "cjkencodings" else path.suffix)


def find(count: int, largest: int = LARGEST) -> list[Text]:
    """``count`` different texts of files up to ``largest`` bytes, taken in turn from each kind; fewer where the
    machine has fewer."""
    kinds: dict[str, list[Path]] = {}
    for path in _candidates():
        kinds.setdefault(_kind(path), []).append(path)
    for paths in kinds.values():
        paths.sort(key=lambda p: hashlib.sha256(str(p).encode("utf-8", "surrogateescape")).digest())
    queues = [iter(paths) for _, paths in sorted(kinds.items())]
    found: list[Text] = []
    seen: set[bytes] = set()
    while queues and len(found) < count:
        for queue in list(queues):
            path = next(queue, None)
            if path is None:
                queues.remove(queue)
            elif (text := _read(path, largest)) is not None and len(found) < count:
                digest = hashlib.sha256(text.content.encode()).digest()
                if digest not in seen:
                    seen.add(digest)
                    found.append(text)
    return found


def _read(path: Path, largest: int) -> Text | None:
    try:
        if not path.is_file() or path.stat().st_size > largest:
            return None
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, gzip.BadGzipFile):
        return None
    read = decode(data, path)
    if read is None or not read[0].strip():
        return None
    return Text(path.as_posix().encode("utf-8", "replace").decode(), *read)

"""Which git repository a folder is in, and the bank that belongs to it.

Promise: starts no process, sends no byte and never raises for what a repository contains. GitPython is
not used here because every command, ``recall`` too, asks this at its start.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.settings.safefile import Refused, read_small

_CONFIG_LIMIT = 1024 * 1024
_POINTER_LIMIT = 16 * 1024
_FOLDER_WIDTH = 33  # with "-" and six digits: 40, what the mirror takes as a slug without a hash


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository as seen from a folder inside it."""

    top: Path
    """The worktree that holds the folder: where the repo's settings file is looked for."""
    git_dir: Path
    common_dir: Path
    """The shared git folder; the same for all linked worktrees."""
    main: Path
    """The main worktree (of a bare repository with worktrees: the repository itself)."""
    origin: str | None
    """Normalised URL of the remote ``origin``, without credentials; None where there is none."""

    @property
    def bank(self) -> str:
        """``<folder>-<h6>``: the same for every linked worktree and, with the same origin and folder name,
        on every machine."""
        folder = self.main.name.removesuffix(".git")
        slug = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:_FOLDER_WIDTH].strip("-") or "repo"
        subject = self.origin or self.main.as_posix()
        return f"{slug}-{hashlib.sha256(subject.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


def find_repository(start: Path) -> Repository | None:
    """The repository that holds ``start``, walking up; None outside of one, and inside a bare one."""
    try:
        folder = start.resolve()
    except (OSError, RuntimeError):
        return None
    for top in (folder, *folder.parents):
        try:
            git_dir = _git_dir(top)
        except (OSError, ValueError):
            continue
        if git_dir is not None:
            return _describe(top, git_dir)
    return None


def _git_dir(top: Path) -> Path | None:
    entry = top / ".git"
    if entry.is_dir():
        return entry if (entry / "HEAD").exists() else None
    pointer = _text(entry, _POINTER_LIMIT)
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    target = _beside(top, pointer.removeprefix("gitdir:"))
    return target if target is not None and (target / "HEAD").exists() else None


def _describe(top: Path, git_dir: Path) -> Repository:
    common, main = git_dir, top
    shared = _text(git_dir / "commondir", _POINTER_LIMIT)
    config_dir = git_dir
    if shared is not None:
        common = _beside(git_dir, shared) or git_dir
        config_dir = common
        main = common.parent if common.name == ".git" else common
    values = dict(_config(_text(config_dir / "config", _CONFIG_LIMIT) or ""))
    if shared is not None and common.name != ".git" and "core.worktree" in values:
        main = _beside(common, values["core.worktree"]) or main
    url = values.get("remote.origin.url")
    return Repository(top, git_dir, common, main, normalise_origin(url, main) if url else None)


def _text(path: Path, limit: int) -> str | None:
    try:
        data = read_small(path, limit)
    except Refused:
        return None
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _beside(base: Path, pointer: str) -> Path | None:
    """The folder that a pointer file names. None for a network share: a look at it would send bytes."""
    text = pointer.strip()
    if not text or text.startswith(("//", "\\\\")) or "\0" in text:
        return None
    try:
        return (base / text).resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _config(text: str) -> Iterator[tuple[str, str]]:
    """``(section.subsection.key, value)`` of a git configuration file; includes are not followed.

    Pairs come last to first, so that a dict keeps the first: git fetches from the first of several URLs.
    """
    section = ""
    pairs: list[tuple[str, str]] = []
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        line = line.strip()
        head = re.match(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)', line)
        if head is not None:
            section = head[1].lower() + (f".{_unescape(head[2])}" if head[2] is not None else "")
            line = head[3]
        pair = re.match(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$", line)
        if pair is not None:
            pairs.append((f"{section}.{pair[1].lower()}", _value(pair[2] or "")))
    yield from reversed(pairs)


def _value(raw: str) -> str:
    out: list[str] = []
    quoted = False
    for token in re.findall(r"\\.|.", raw):
        if token == '"':
            quoted = not quoted
        elif token in "#;" and not quoted:
            break
        else:
            out.append(_unescape(token))
    return "".join(out).strip()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "b": "\b"}.get(found[1], found[1]), text)


def normalise_origin(url: str, main: Path) -> str:
    """One spelling for one place: no scheme, no credentials, no ``.git``; ssh and https forms are the same.

    A local path becomes absolute, relative to the main worktree.
    """
    text = url.strip()
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(/.*)?$", text)
    if found is not None and found[1].lower() != "file":
        host = _host(found[2], found[1].lower())
        return _tidy(f"{host}/{(found[3] or '').lstrip('/')}")
    scp = re.match(r"(?:[^/\\@]+@)?(\[[^\]]+\]|[^/\\:]{2,}):(.*)$", text) if found is None else None
    if scp is not None:
        return _tidy(f"{scp[1].lower()}/{scp[2].lstrip('/')}")
    path = found[3] or "/" if found is not None else text
    try:
        return _tidy((main / path).resolve().as_posix())
    except (OSError, RuntimeError, ValueError):
        return _tidy(path)


def _host(authority: str, scheme: str) -> str:
    host = authority.rpartition("@")[2].lower()
    default = {"https": ":443", "http": ":80", "ssh": ":22", "git": ":9418"}.get(scheme)
    return host.removesuffix(default) if default else host


def _tidy(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")

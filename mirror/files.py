"""Files of a work tree: written in one step, never through a link, and only where there is room for them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from mirror.errors import MirrorError


def check_path(path: str) -> None:
    """Raises MirrorError for a path that must never reach a tree: git's own check is not relied on (measured)."""
    parts = path.split("/")
    bad = any(
        p in ("", ".", "..") or p.lower().rstrip(". ") in (".git", "git~1") or "\\" in p or ":" in p
        for p in parts
    )
    if bad or any(ord(c) < 32 or c in '"\x7f' for c in path) or path.startswith("-"):
        raise MirrorError("refused to write this path", where=ascii(path), hint="choose another wiki folder")


def temporary_of(path: Path) -> Path:
    """Where a file is written before it takes its place: one name, so that what a killed run left is found."""
    return path.with_name(f".{path.name}.mirror-tmp")


def write_file(path: Path, data: bytes) -> None:
    """Replace a file in one step; parents are made. A symlink in the way is never followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_of(path)
    try:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        with temporary.open("xb") as out:
            out.write(data)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def remove_file(path: Path, top: Path) -> None:
    """Remove a file and the folders that it leaves empty, up to ``top``."""
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == top or top not in parent.parents:
            return
        try:
            parent.rmdir()
        except OSError:
            return


def inside(top: Path, relative: str) -> Path:
    """``top / relative``; raises MirrorError when a symlink on the way leads elsewhere."""
    path = top.joinpath(*relative.split("/"))
    walk = top
    for part in relative.split("/")[:-1]:
        walk = walk / part
        if walk.is_symlink():
            raise MirrorError(
                "a symlink stands where the wiki's folder should", where=str(walk), hint="remove the link"
            )
    return path


def check_room(top: Path, paths: Iterable[str]) -> None:
    """Raises MirrorError when a file, link or other repository stands where a folder must, or a folder where a file."""
    seen: set[str] = set()
    for relative in paths:
        folder = relative.rpartition("/")[0]
        if folder not in seen:
            _check_folders(top, folder, seen)
        # By os.path: this runs for every file of a first sync.
        path = os.path.join(top, relative)  # noqa: PTH118
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            raise MirrorError(
                "a folder stands where a file of the wiki should",
                where=path,
                hint="move it away; nothing was written",
            )


def _check_folders(top: Path, folder: str, seen: set[str]) -> None:
    parts = folder.split("/") if folder else []
    for count in range(1, len(parts) + 1):
        name = "/".join(parts[:count])
        if name in seen:
            continue
        seen.add(name)
        parent = top.joinpath(*parts[:count])
        if parent.is_symlink() or (parent.exists() and not parent.is_dir()):
            what = "a symlink" if parent.is_symlink() else "a file"
            raise MirrorError(
                f"{what} stands where the wiki's folder should",
                where=str(parent),
                hint="move it away; nothing was written",
            )
        if (parent / ".git").exists():
            raise MirrorError(
                "another git repository stands where the wiki's folder should",
                where=str(parent),
                hint="name another wiki folder; nothing was written",
            )


def is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name too long, a folder that may not be entered
        return False

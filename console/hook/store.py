"""What hooks remember between their runs: files 0600 in folders 0700, each written whole or not at all.

::

    state/sessions/<key>.json    how far one transcript was read, and its segments
    state/sessions/<key>.seen    16 hex of every message that is in a segment, one a line
    state/spool/<name>.json      a segment until the server has it (and, where it says so, has extracted it)
    state/rejected/<name>.json   a segment that the server will never take; kept for a person

A segment is in the spool before its messages count as seen, and leaves it only on the server's word. A damaged file is
moved aside (``.damaged``), never an end. No file ever holds a token.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Any

KEEP_SECONDS = 90 * 86400.0
"""A transcript's memory goes this long after its last use."""
join = os.path.join


class Store:
    """The state folder of one harness. ``key`` names are hex, so no input reaches a path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, name: str) -> dict[str, Any]:
        """The object in a file; {} for none, and for a damaged one, which is moved aside."""
        path = join(self.root, name)
        try:
            with open(path, "rb") as file:
                found = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        os.replace(path, path + ".damaged")
        return {}

    def write(self, name: str, value: Mapping[str, Any], *, sync: bool = False) -> None:
        """Replace a file. Raises OSError."""
        path = join(self.root, name)
        folder = os.path.dirname(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        temporary = f"{path}.{os.getpid()}.tmp"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            self._remove(temporary)
            raise
        if sync:
            _sync_folder(folder)

    def append(self, name: str, text: str) -> None:
        """Add to a file. Raises OSError."""
        path = join(self.root, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
            file.write(text)

    def lines(self, name: str) -> set[str]:
        """The lines of a file; empty for none."""
        try:
            with open(join(self.root, name), encoding="ascii", errors="replace") as file:
                return set(file.read().split())
        except FileNotFoundError:
            return set()

    def names(self, folder: str) -> list[str]:
        """The .json files of a folder, oldest name first."""
        try:
            return sorted(name for name in os.listdir(join(self.root, folder)) if name.endswith(".json"))
        except FileNotFoundError:
            return []

    def entries(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names (with the folder) and contents; one that ended meanwhile is left out."""
        for name in self.names(folder):
            found = self.read(f"{folder}/{name}")
            if found:
                yield f"{folder}/{name}", found

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._remove(join(self.root, name))

    def move(self, name: str, folder: str) -> None:
        """Move a file into another folder of the state."""
        os.makedirs(join(self.root, folder), mode=0o700, exist_ok=True)
        os.replace(join(self.root, name), join(self.root, folder, os.path.basename(name)))

    def evict(self, live: str) -> None:
        """Forget transcripts unused for :data:`KEEP_SECONDS`, never the one in use."""
        folder = join(self.root, "sessions")
        limit = time.time() - KEEP_SECONDS
        with os.scandir(folder) as found:
            for entry in found:
                if not entry.name.startswith(live) and entry.stat().st_mtime < limit:
                    self._remove(entry.path)

    def lock(self, name: str, seconds: float) -> Lock:
        """An exclusive lock, waited for at most so long; ``held`` says whether it came."""
        return Lock(join(self.root, name), seconds)

    @staticmethod
    def _remove(path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


class Lock:
    """See :meth:`Store.lock`. Where the system has no flock, it is always held: two hooks may then send twice."""

    def __init__(self, path: str, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._handle: int | None = None
        self.held = False

    def __enter__(self) -> Lock:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            import fcntl
        except ImportError:
            self.held = True
            return self
        end = time.monotonic() + self._seconds
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.held = True
                return self
            except BlockingIOError:
                if time.monotonic() >= end:
                    return self
                time.sleep(0.02)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)


def _sync_folder(folder: str) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # a system whose folders cannot be opened keeps its names itself
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

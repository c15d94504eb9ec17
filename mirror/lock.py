"""One run per bank and repository: a lock that the operating system drops when its holder dies."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from mirror.errors import Locked, MirrorError


def state_dir(common_dir: Path) -> Path:
    """The mirror's own folder inside the repository's git folder: shared by its linked work trees."""
    return common_dir / "memory-console"


@contextmanager
def held(common_dir: Path, slug: str) -> Iterator[None]:
    """Hold the bank's lock, or raise Locked with who holds it."""
    folder = state_dir(common_dir)
    path = folder / f"{slug}.lock"
    holder = folder / f"{slug}.holder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        lock.acquire()
    except Timeout as error:
        raise Locked(
            f"another run holds the lock of this bank{_who(holder)}",
            where=str(path),
            hint="wait for it, then run this again",
        ) from error
    except OSError as error:
        raise MirrorError(
            "the lock cannot be made", where=str(path), hint=error.strerror or str(error)
        ) from error
    try:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        with suppress(OSError):  # information for the other side only
            holder.write_text(
                json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "started": started}),
                encoding="utf-8",
                newline="\n",
            )
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        lock.release()


def _who(holder: Path) -> str:
    try:
        value = json.loads(holder.read_text(encoding="utf-8"))
        return f" (process {value['pid']} on {value['host']} since {value['started']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""

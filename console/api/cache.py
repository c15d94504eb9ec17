"""What a server said of itself, kept for shell completion: a completion must not wait for a network.

Kept are operations, bank ids, tags and document ids, by the server's origin, in the user's cache folder (0600), and
nothing of it is believed for longer than ``FRESH`` seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

FRESH = 24 * 3600.0
_MOST = 5000


def remember(store: str, kind: str, values: list[Any]) -> None:
    """Keep ``values`` for the store's completion. A folder that cannot be written is no reason to fail a command."""
    with contextlib.suppress(OSError):
        path = _path(store, kind)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(values[:_MOST]))
        beside.replace(path)


def recalled(store: str, kind: str) -> list[Any]:
    """What was kept; [] where there is nothing fresh."""
    path = _path(store, kind)
    try:
        if time.time() - path.stat().st_mtime > FRESH:
            return []
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return []
    return found if isinstance(found, list) else []


def _path(store: str, kind: str) -> Path:
    name = hashlib.sha256(f"{store}\0{kind}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return platformdirs.user_cache_path("memory-console", appauthor=False) / f"{name}.json"

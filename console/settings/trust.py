"""Which repositories' settings files the user trusts: path and sha256, in the user's configuration folder."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from console.settings.errors import SettingsError
from console.settings.safefile import Refused, read_small, reason

_LIMIT = 4 * 1024 * 1024


def load(path: Path) -> dict[str, str]:
    """Settings file -> sha256. A damaged list trusts nothing."""
    try:
        data = read_small(path, _LIMIT, follow=True)
        found = json.loads(data) if data else {}
    except (Refused, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def record(path: Path, file: Path, sha256: str | None) -> None:
    """Trust this content of ``file``, or with None no longer. Written whole or not at all, readable by the user only."""
    known = load(path)
    if sha256 is None:
        known.pop(str(file), None)
    else:
        known[str(file)] = sha256
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".trusted-")
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
            json.dump(known, out, indent=1, sort_keys=True)
            out.write("\n")
        Path(name).replace(path)
    except OSError as error:
        raise SettingsError(
            f"cannot record it, {reason(error)}", where=str(path), hint="check the folder's permissions"
        ) from error

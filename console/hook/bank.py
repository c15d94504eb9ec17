"""Which bank a hook speaks to: from settings, the folder and the environment, without running git."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from console.hook.config import Config

FIELDS = ("agent", "channel", "project", "session", "user")


def bank_id(
    config: Config, event: Mapping[str, Any], environ: Mapping[str, str], say: Callable[[str], None]
) -> str:
    """The id, unescaped. ``say`` hears of an unknown field."""
    prefix = config["bankIdPrefix"]
    found = _plain(config, event, environ, say)
    return f"{prefix}-{found}" if prefix else found


def _plain(
    config: Config, event: Mapping[str, Any], environ: Mapping[str, str], say: Callable[[str], None]
) -> str:
    cwd = _text(event.get("cwd"))
    if cwd:
        here = os.path.normpath(cwd)
        for folder, bank in config["directoryBankMap"].items():
            if os.path.normpath(folder) == here and isinstance(bank, str) and bank:
                return bank
    if not config["dynamicBankId"]:
        return config["bankId"] or "omo"
    fields = config["dynamicBankGranularity"]
    if not isinstance(fields, list) or not fields:
        fields = ["agent", "project"]
    values: dict[str, Callable[[], str]] = {
        "agent": lambda: config["agentName"],
        "project": lambda: project(cwd, worktrees=config["resolveWorktrees"]),
        "session": lambda: _text(event.get("session_id")) or "unknown",
        "channel": lambda: environ.get("HINDSIGHT_CHANNEL_ID") or "default",
        "user": lambda: environ.get("HINDSIGHT_USER_ID") or "anonymous",
    }
    parts = []
    for field in fields:
        if field in FIELDS:
            parts.append(values[field]() or "unknown")
        else:
            say(f'Unknown dynamicBankGranularity field "{field}" — valid: {", ".join(FIELDS)}')
            parts.append("unknown")
    return "::".join(parts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def project(cwd: str, *, worktrees: bool) -> str:
    """The project's name: the repository's folder (of a linked worktree: the main one), else the folder's own.

    A submodule is a project of its own, a bare repository is named as its folder without ``.git``. Read from the
    files, so that ``GIT_DIR`` of a git hook that started the agent changes nothing.
    """
    here = os.path.normpath(cwd) if cwd else ""
    own = os.path.basename(here)
    if not here or not worktrees:
        return own or "unknown"
    folder = here
    while True:
        name = _repository(folder)
        if name:
            return name
        parent = os.path.dirname(folder)
        if parent == folder:
            return own or "unknown"
        folder = parent


def _repository(folder: str) -> str | None:
    join = os.path.join
    git = join(folder, ".git")
    name = os.path.basename(folder)
    if os.path.isdir(git):
        return name or None
    link = _line(git)
    if link is not None and link.startswith("gitdir:"):
        target = os.path.normpath(join(folder, link[7:].strip()))
        common = _line(join(target, "commondir"))
        if common is None:
            return name or None  # a submodule, or a git folder kept elsewhere
        shared = os.path.normpath(join(target, common))
        # The worktree of a submodule: its common folder is .git/modules/<name>.
        return _bare_name(shared) if not shared.endswith(os.sep + ".git") else _last(os.path.dirname(shared))
    if all(os.path.exists(join(folder, part)) for part in ("HEAD", "objects", "refs")):
        return _bare_name(folder) if name != ".git" else _last(os.path.dirname(folder))
    return None


def _last(path: str) -> str | None:
    return os.path.basename(path) or None


def _bare_name(path: str) -> str | None:
    name = os.path.basename(path)
    return name.removesuffix(".git") or None


def _line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4096).strip()
    except OSError:
        return None

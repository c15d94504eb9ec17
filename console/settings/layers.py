"""The places that settings come from, read into layers; nothing is decided here.

A layer is what one place says: its values, each with the words that name where it stands. Reading a
layer checks types and, for the repository's file, what an untrusted file may say.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from console.settings.errors import SettingsError
from console.settings.safefile import Refused, read_small

FILE_LIMIT = 64 * 1024
PYPROJECT_LIMIT = 1024 * 1024

TEXT = ("store", "bank", "wiki", "branch", "token", "token_command", "profile", "editor", "pager")
LISTS = ("tags", "probes")
FLAGS = ("read_only",)
TABLES = ("policies",)
KEYS = (*TEXT, *LISTS, *FLAGS, *TABLES)
SECRET = frozenset({"token"})
FROM_STRANGERS = frozenset({"bank", "wiki", "branch", "probes", "tags", "policies"})
"""What a file that came with a clone or a pull request may set: nothing that runs, sends or redirects."""

_CONSOLE_NAMES = {"editor": ("CONSOLE_EDITOR", "VISUAL", "EDITOR"), "pager": ("CONSOLE_PAGER", "PAGER")}
_HINDSIGHT_NAMES = {
    "store": ("HINDSIGHT_API_URL",),
    "bank": ("HINDSIGHT_BANK_ID",),
    "token": ("HINDSIGHT_API_TOKEN", "HINDSIGHT_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One value and the words that name where it stands."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says. ``base`` is what its relative paths are relative to."""

    name: str
    entries: Mapping[str, Entry]
    base: Path
    private: bool = True
    """The user's own: flags, environment, user configuration. A repository's file never is."""
    token_store: Entry | None = None
    """Where this layer's token belongs when that is not its own store."""


@dataclass(frozen=True, slots=True)
class RepoFile:
    """The repository's settings file as found: for ``settings trust`` and for its one line of warning."""

    path: Path
    sha256: str
    trusted: bool
    ignored: tuple[str, ...] = ()
    """Keys that only a trusted file may set."""
    problem: str = ""
    """Why it was not read; empty when it was."""
    table: Mapping[str, Any] = field(default_factory=dict)

    @property
    def warning(self) -> str:
        if self.problem:
            return f"{self.path}: ignored, {self.problem}"
        if self.ignored:
            names = ", ".join(self.ignored)
            return f"{self.path}: ignored {names}, which only a trusted file may set: `console settings trust` trusts it"
        return ""


def flag_layer(flags: Mapping[str, str | bool | None], cwd: Path) -> Layer:
    """Flags that were given; None was not."""
    given = {key: value for key, value in flags.items() if value is not None and value is not False}
    for key, value in given.items():
        if value == "":
            raise SettingsError(f"--{key} is empty", hint="give it a value or leave it out")
    return Layer("flags", {k: Entry(v, f"--{k.replace('_', '-')}") for k, v in given.items()}, cwd)


def environment_layers(environ: Mapping[str, str], cwd: Path) -> tuple[Layer, Layer]:
    """``CONSOLE_*``, then Hindsight's own names; an empty variable counts as unset.

    Two layers, so that ``HINDSIGHT_API_TOKEN`` stays with ``HINDSIGHT_API_URL`` when ``CONSOLE_STORE``
    names another server; where only one of them names a store, both tokens are for that one.
    """
    own: dict[str, Entry] = {}
    hindsight: dict[str, Entry] = {}
    for key in KEYS:
        if key not in TABLES:
            _first(own, key, _CONSOLE_NAMES.get(key, (f"CONSOLE_{key.upper()}",)), environ)
            _first(hindsight, key, _HINDSIGHT_NAMES.get(key, ()), environ)
    return (
        Layer("environment", own, cwd, token_store=hindsight.get("store")),
        Layer("environment", hindsight, cwd, token_store=own.get("store")),
    )


def _first(entries: dict[str, Entry], key: str, names: tuple[str, ...], environ: Mapping[str, str]) -> None:
    for name in names:
        raw = environ.get(name, "").strip()
        if raw:
            entries[key] = Entry(_from_text(key, raw, name), name)
            return


def _from_text(key: str, raw: str, where: str) -> Any:
    if key in LISTS:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    if key in FLAGS:
        word = raw.lower()
        if word in ("1", "true", "yes", "on"):
            return True
        if word in ("0", "false", "no", "off"):
            return False
        raise SettingsError(f"{raw!r} is neither true nor false", where=where, hint="use 1 or 0")
    return raw


def user_layers(path: Path, profile: str | None) -> tuple[Layer | None, Layer, str | None, tuple[str, ...]]:
    """The user's configuration: (the profile's layer, the general layer, the profile it names, warnings).

    Raises SettingsError when the file is damaged or the profile asked for does not exist: going on
    without it could send a text to the wrong place.
    """
    where = str(path)
    try:
        data = read_small(path, FILE_LIMIT, follow=True)
    except Refused as error:
        raise SettingsError(
            f"cannot read the configuration, {error}", where=where, hint="repair or move it"
        ) from error
    table = {} if data is None else _toml(data, where)
    profiles = table.pop("profile", None)
    default_profile: str | None = None
    if isinstance(profiles, str):
        default_profile, profiles = profiles, table.pop("profiles", None)
    elif profiles is not None and not isinstance(profiles, dict):
        raise SettingsError("profile is neither a name nor tables", where=where, hint="write [profile.NAME]")
    default_profile = table.pop("default_profile", default_profile)
    warnings: list[str] = []
    general = _file_layer("user configuration", table, path.parent, where, warnings, f"{path}")
    chosen = profile or (default_profile if isinstance(default_profile, str) else None)
    if not chosen:
        return None, general, None, tuple(warnings)
    section = profiles.get(chosen) if isinstance(profiles, dict) else None
    if not isinstance(section, dict):
        known = ", ".join(sorted(profiles)) if isinstance(profiles, dict) and profiles else "none"
        raise SettingsError(f"no profile {chosen!r}", where=where, hint=f"there are: {known}")
    layer = _file_layer(
        f"profile {chosen}", section, path.parent, where, warnings, f"{path} [profile.{chosen}]"
    )
    layer = replace(layer, token_store=general.entries.get("store"))
    return layer, general, chosen, tuple(warnings)


def _toml(data: bytes, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SettingsError("the file is not UTF-8", where=where, hint="save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        text = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SettingsError(f"not TOML, {text}", where=where, hint="repair it") from error


def _file_layer(
    name: str, table: Mapping[str, Any], base: Path, where: str, warnings: list[str], source: str
) -> Layer:
    entries: dict[str, Entry] = {}
    for key, value in table.items():
        if key not in KEYS or key == "profile":
            warnings.append(f"{where}: unknown setting {key!r} ignored")
            continue
        entries[key] = Entry(checked(key, value, where), source)
    return Layer(name, entries, base)


def checked(key: str, value: Any, where: str) -> Any:
    """The value in its type, lists as tuples. Raises SettingsError naming the key."""
    if key in LISTS:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list | tuple) and all(isinstance(item, str) and item for item in value):
            return tuple(value)
        raise SettingsError(
            f"{key} is not a list of texts", where=where, hint=f'write {key} = ["one", "two"]'
        )
    if key in FLAGS:
        if isinstance(value, bool):
            return value
        raise SettingsError(f"{key} is neither true nor false", where=where, hint=f"write {key} = true")
    if key in TABLES:
        if isinstance(value, dict):
            return value
        raise SettingsError(f"{key} is not a table", where=where, hint=f"write [{key}]")
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise SettingsError(f"{key} is not a text", where=where, hint=f'write {key} = "…"')


def read_repo_file(top: Path, trusted_hashes: Mapping[str, str]) -> tuple[RepoFile | None, Layer | None]:
    """``.console.toml`` of the repository, else ``[tool.console]`` of its pyproject.toml.

    Untrusted: whatever is in it, this returns, and what it may not say is only named.
    """
    for name in (".console.toml", "pyproject.toml"):
        path = top / name
        project = name == "pyproject.toml"
        try:
            data = read_small(path, PYPROJECT_LIMIT if project else FILE_LIMIT)
        except Refused as error:
            if project:  # a pyproject.toml that we cannot read is most likely not about us
                return None, None
            return RepoFile(path, "", False, problem=str(error)), None
        if data is None:
            continue
        digest = hashlib.sha256(data).hexdigest()
        trusted = trusted_hashes.get(str(path)) == digest
        if (
            project and b"console" not in data
        ):  # parsing a large pyproject.toml takes longer than all else here
            return None, None
        try:
            table: Any = _toml(data, str(path))
        except SettingsError as error:
            return (None if project else RepoFile(path, digest, trusted, problem=error.message)), None
        if project:
            tool = table.get("tool")
            table = tool.get("console") if isinstance(tool, dict) else None
            if not isinstance(table, dict):
                return None, None
        return _repo_layer(path, digest, trusted, table)
    return None, None


def _repo_layer(path: Path, digest: str, trusted: bool, table: Mapping[str, Any]) -> tuple[RepoFile, Layer]:
    allowed = FROM_STRANGERS | ({*KEYS} - {"profile"} if trusted else frozenset())
    entries: dict[str, Entry] = {}
    ignored: list[str] = []
    source = f"{path.name} of the repository" + (" (trusted)" if trusted else "")
    for key, value in table.items():
        if key not in allowed:
            ignored.append(key if len(key) <= 40 and key.isprintable() else "a key that is no setting")
            continue
        try:
            value = checked(key, value, str(path))
        except SettingsError:
            ignored.append(f"{key} (wrong type)")
            continue
        if (
            key in ("wiki", "probes")
            and not trusted
            and not all(map(_inside, (value,) if key == "wiki" else value))
        ):
            ignored.append(f"{key} (outside the repository)")
            continue
        entries[key] = Entry(value, source)
    shown = ignored[:8] + ([f"and {len(ignored) - 8} more"] if len(ignored) > 8 else [])
    return (
        RepoFile(path, digest, trusted, tuple(shown), table=table),
        Layer("repository", entries, path.parent, private=False),
    )


def _inside(text: str) -> bool:
    """A relative path that stays where it is, on every system."""
    parts = text.replace("\\", "/").split("/")
    return not (text.startswith(("/", "\\", "~")) or ".." in parts or ":" in parts[0] or "\0" in text)

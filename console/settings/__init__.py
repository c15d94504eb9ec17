"""Where every setting comes from, which source won, which sources are trusted.

Order, strongest first:

1. flags (``--store``, ``--bank``, ``--profile``, ``--read-only``), and the profile that ``--profile`` names
2. the environment (``CONSOLE_STORE``, ``HINDSIGHT_API_URL``, ``HINDSIGHT_API_TOKEN`` ... ``CONSOLE_*``)
3. the repository's file (``.console.toml``, else ``[tool.console]`` in pyproject.toml): before the user's
   configuration, because a bank belongs to a project. It is untrusted: see ``layers.FROM_STRANGERS``
4. the profile that ``CONSOLE_PROFILE`` or the user's configuration names
5. the user's configuration (``memory-console/config.toml`` in the platform's folder)
6. defaults

Promise: loading settings starts no process, opens no connection and writes nothing; whatever a
repository's file holds, loading ends. A damaged file of the user's own is an error instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from console.settings import trust
from console.settings.address import Address, mask_url, parse_address
from console.settings.errors import SettingsError
from console.settings.layers import (
    KEYS,
    SECRET,
    Entry,
    Layer,
    RepoFile,
    environment_layers,
    flag_layer,
    read_repo_file,
    user_layers,
)
from console.settings.repository import Repository, find_repository
from console.settings.token import Choice, Credential, choose, reveal

__all__ = ["Address", "Repository", "Setting", "Settings", "SettingsError", "load_settings"]

APP = "memory-console"
MASK = "********"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it stands. ``shown`` is fit for a screen: secrets are masked in it."""

    name: str
    value: Any
    source: str
    shown: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything settled for one run of the program."""

    address: Address
    """The store."""
    bank: str
    read_only: bool
    entries: Mapping[str, Entry]
    """Every setting that has a value, with its source; ``token`` is not among them."""
    choice: Choice
    """Which credential goes to the store."""
    repository: Repository | None
    repo_file: RepoFile | None
    config_file: Path
    trust_file: Path
    profile: str | None = None
    warnings: tuple[str, ...] = ()
    """One line each, to be said once on stderr."""
    credentials: tuple[Credential, ...] = field(default=(), repr=False)

    @property
    def store(self) -> str:
        """The store as people write it; never with credentials."""
        return str(self.address)

    @property
    def wiki(self) -> str:
        """The mirror's folder in the repository."""
        return str(self.get("wiki", "wiki"))

    @property
    def branch(self) -> str | None:
        """The default branch, where set."""
        value = self.get("branch")
        return None if value is None else str(value)

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags that every retain gets."""
        return tuple(self.get("tags", ()))

    def get(self, name: str, default: Any = None) -> Any:
        """The value of one setting; the token has none here."""
        entry = self.entries.get(name)
        return default if entry is None else entry.value

    def token(self) -> str | None:
        """The token for this store, or None. May run ``token_command``. Raises SettingsError."""
        return None if self.choice.credential is None else reveal(self.choice.credential)

    def listing(self) -> tuple[Setting, ...]:
        """Every setting in a fixed order, for ``console settings``."""
        rows: list[Setting] = []
        for key in KEYS:
            if key in SECRET:
                used = self.choice.credential
                if used is not None and used.token is not None:
                    rows.append(Setting(key, None, used.source, MASK))
                elif used is None and self.credentials:
                    rows.append(
                        Setting(key, None, self.credentials[0].source, f"{MASK} (not sent to this store)")
                    )
                else:
                    rows.append(Setting(key, None, "", ""))
                continue
            entry = self.entries.get(key, Entry(None, ""))
            # A command line can hold a secret as well: the program's name is enough to recognise it.
            value = f"{entry.value.split()[0]} …" if key == "token_command" and entry.value else entry.value
            rows.append(Setting(key, value, entry.source, "" if value is None else _words(value)))
        return tuple(rows)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value)
    return mask_url(str(value))


def load_settings(
    *,
    store: str | None = None,
    bank: str | None = None,
    profile: str | None = None,
    read_only: bool | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    config_dir: Path | None = None,
    data_dir: Path | None = None,
) -> Settings:
    """Read all layers and settle every value. Raises SettingsError for what the user has to repair."""
    environ = os.environ if environ is None else environ
    cwd = _cwd() if cwd is None else cwd
    config_dir = config_dir or platformdirs.user_config_path(APP, appauthor=False)
    data_dir = data_dir or platformdirs.user_data_path(APP, appauthor=False)
    config_file, trust_file = config_dir / "config.toml", config_dir / "trusted.json"

    flags = flag_layer({"store": store, "bank": bank, "profile": profile, "read_only": read_only}, cwd)
    environment = environment_layers(environ, cwd)
    wanted = profile or (
        environment[0].entries["profile"].value if "profile" in environment[0].entries else None
    )
    profile_layer, user, chosen, warnings = user_layers(config_file, wanted)
    repository = find_repository(cwd)
    repo_file, repo_layer = (
        (None, None) if repository is None else read_repo_file(repository.top, trust.load(trust_file))
    )

    by_flag = profile_layer if profile else None
    otherwise = None if profile else profile_layer
    layers = [
        layer for layer in (flags, by_flag, *environment, repo_layer, otherwise, user) if layer is not None
    ]

    entries: dict[str, Entry] = {}
    for layer in reversed(layers):
        entries.update(layer.entries)
    entries.pop("token", None)
    if "bank" not in entries:
        entries["bank"] = (
            Entry("default", "default, outside a repository")
            if repository is None
            else Entry(repository.bank, "default, this repository's own")
        )
    for key, value in _DEFAULTS.items():
        entries.setdefault(key, Entry(value, "default"))
    if chosen and "profile" not in entries:
        entries["profile"] = Entry(chosen, str(config_file))

    address = Address("sqlite", str(data_dir / "memory.db"))
    holder = next((layer for layer in layers if "store" in layer.entries), None)
    if holder is None:
        entries["store"] = Entry(str(address), "default")
    else:
        entry = holder.entries["store"]
        address = parse_address(entry.value, where=entry.source, base=holder.base)
        entries["store"] = Entry(str(address), entry.source)

    credentials = tuple(c for layer in layers for c in _credentials(layer))
    choice = choose(address.origin, entries["store"].source, credentials)
    said = [*warnings, *([repo_file.warning] if repo_file is not None else []), choice.warning]
    return Settings(
        address=address,
        bank=str(entries["bank"].value),
        read_only=bool(entries["read_only"].value),
        entries=entries,
        choice=choice,
        repository=repository,
        repo_file=repo_file,
        config_file=config_file,
        trust_file=trust_file,
        profile=chosen,
        warnings=tuple(line for line in said if line),
        credentials=credentials,
    )


_DEFAULTS: Mapping[str, Any] = {"wiki": "wiki", "read_only": False, "tags": (), "probes": (), "policies": {}}


def _credentials(layer: Layer) -> list[Credential]:
    entry = layer.entries.get("store") or layer.token_store
    origin: str | None = None
    if entry is not None:
        try:
            origin = parse_address(entry.value, where=entry.source, base=layer.base).origin
        except SettingsError:
            origin = None  # it is reported when it is the store in use
    found: list[Credential] = []
    if "token" in layer.entries:
        found.append(Credential(layer.entries["token"].source, origin, token=layer.entries["token"].value))
    if "token_command" in layer.entries:
        found.append(
            Credential(
                layer.entries["token_command"].source, origin, command=layer.entries["token_command"].value
            )
        )
    return found


def _cwd() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise SettingsError("the current folder no longer exists", hint="change to another one") from error

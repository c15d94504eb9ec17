"""Which token may go to a store, and how it is fetched.

Promise: a token is given only to the origin (scheme, host, port) that the same layer names as its store.
A store URL from elsewhere, a flag included, gets none: otherwise one wrong or planted URL would be sent
the user's credentials.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from console.settings.errors import SettingsError

COMMAND_TIMEOUT = 30.0
_TOKEN_LIMIT = 16 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, or the command that prints one, with the origin it is for (None: its layer names no server)."""

    source: str
    origin: str | None
    token: str | None = None
    command: str | None = None

    def __repr__(self) -> str:
        return f"Credential(source={self.source!r}, origin={self.origin!r})"


@dataclass(frozen=True, slots=True)
class Choice:
    """The credential for a store, or why none of those there are is sent."""

    credential: Credential | None
    warning: str = ""


def choose(origin: str | None, store_source: str, credentials: Sequence[Credential]) -> Choice:
    """The first credential whose own layer names that origin."""
    if origin is None or not credentials:
        return Choice(None)
    for credential in credentials:
        if credential.origin == origin:
            return Choice(credential)
    first = credentials[0]
    bound = f"is for {first.origin}" if first.origin else "comes without a store URL of its own"
    return Choice(
        None,
        f"the token of {first.source} {bound}, so it is not sent to {origin} (from {store_source}): "
        "set the store and its token in the same place",
    )


def reveal(credential: Credential) -> str:
    """The token itself; runs ``token_command`` where that is how it is kept. Raises SettingsError, never with
    anything that the command printed."""
    if credential.token is not None:
        return valid(credential.token, credential.source)
    command = credential.command or ""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise SettingsError(f"token_command cannot be read, {error}", where=credential.source) from error
    if not words:
        raise SettingsError("token_command is empty", where=credential.source)
    try:
        # Neither our terminal nor our errors: what it says could hold the secret or escape sequences.
        done = subprocess.run(
            words,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise SettingsError(
            f"token_command took longer than {COMMAND_TIMEOUT:.0f} s", where=credential.source
        ) from error
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or "it cannot be started"
        raise SettingsError(
            f"token_command failed, {text.lower()}", where=credential.source, hint="it runs without a shell"
        ) from error
    if done.returncode:
        raise SettingsError(
            f"token_command ended with {done.returncode}",
            where=credential.source,
            hint="run it by hand to see why",
        )
    try:
        lines = done.stdout[:_TOKEN_LIMIT].decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise SettingsError("token_command printed no plain text", where=credential.source) from error
    return valid(lines[0] if lines else "", credential.source)


def valid(token: str, where: str) -> str:
    """The token, fit for a header. Raises SettingsError without repeating it."""
    token = token.strip()
    if not token:
        raise SettingsError("the token is empty", where=where)
    if not all("!" <= char <= "~" for char in token):
        raise SettingsError(
            "the token holds blanks, control or non-ASCII characters", where=where, hint="set the token alone"
        )
    return token

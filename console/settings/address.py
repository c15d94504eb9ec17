"""What a store setting says: ``sqlite:PATH``, ``https://…``, ``http://…``, ``wiki:PATH`` or a path ending in .db."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from console.settings.errors import SettingsError

FORMS = "use sqlite:PATH, https://HOST, http://HOST, wiki:PATH, or a path ending in .db"

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is. ``location`` is an absolute path, or a URL without trailing slash."""

    kind: Literal["sqlite", "http", "wiki"]
    location: str

    def __str__(self) -> str:
        return self.location if self.kind == "http" else f"{self.kind}:{self.location}"

    @property
    def path(self) -> Path:
        return Path(self.location)

    @property
    def origin(self) -> str | None:
        """``scheme://host:port`` of a server; None for what is not one."""
        return origin(self.location) if self.kind == "http" else None


def parse_address(text: str, *, where: str, base: Path) -> Address:
    """Read a store setting; relative paths are meant from ``base``. Raises SettingsError."""
    text = text.strip()
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower()
    if colon and scheme in ("http", "https"):
        return Address("http", _server(text, where))
    if colon and scheme in ("sqlite", "wiki"):
        return Address("wiki" if scheme == "wiki" else "sqlite", _absolute(rest, where, base))
    if text.lower().endswith((".db", ".sqlite", ".sqlite3")) and "://" not in text:
        return Address("sqlite", _absolute(text, where, base))
    raise SettingsError(f"not a store: {mask_url(text)!r}", where=where, hint=FORMS)


def _absolute(text: str, where: str, base: Path) -> str:
    if not text.strip() or "\0" in text:
        raise SettingsError("the store names no file", where=where, hint=FORMS)
    # sqlite:///x is how other tools write an absolute path; a network share is not meant.
    text = re.sub(r"^/{2,}", "/", text)
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise SettingsError(
            f"no home folder for {text!r}", where=where, hint="write the path in full"
        ) from error
    return str(base / path)


def _server(text: str, where: str) -> str:
    shown = mask_url(text)
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        raise SettingsError(
            f"not a URL: {shown!r}", where=where, hint="remove the blanks and control characters"
        )
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsError(f"not a URL: {shown!r}", where=where, hint=str(error)) from error
    if not host:
        raise SettingsError(f"the URL {shown!r} has no host", where=where, hint=FORMS)
    if "@" in parts.netloc:
        raise SettingsError(
            f"the URL {shown!r} holds credentials",
            where=where,
            hint="remove them and set HINDSIGHT_API_TOKEN or token",
        )
    if parts.query or parts.fragment:
        raise SettingsError(
            f"the URL {shown!r} has a query or fragment", where=where, hint="end it at the path"
        )
    return SplitResult(parts.scheme.lower(), parts.netloc, parts.path.rstrip("/"), "", "").geturl()


def origin(url: str) -> str:
    """``scheme://host:port`` in lower case with the port always there."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return f"{scheme}://{parts.hostname}:{parts.port or _DEFAULT_PORTS.get(scheme, 0)}"


def mask_url(text: str) -> str:
    """The same text without what stands before the ``@`` of an authority, or in a query."""
    text = re.sub(r"(?<=//)[^/?#]*@", "***@", text)
    return re.sub(r"[?#].*", "?***", text, flags=re.DOTALL) if "://" in text else text

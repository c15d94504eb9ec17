"""What ``console doctor`` can tell of a server from what it answers. Pure but for :func:`installed`.

Each finding says what is wrong and what to do; a shape of answer that is not understood gives no finding.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import urlsplit

from console.memory.models import Bank, DocumentSummary, Operation, Version, parse_time

_NEWEST = (1, 1)
_LACKS = "date filters, document history, aliases, clone, whole-bank transfer"
_STUCK = timedelta(hours=1)
_SKEW = (30.0, 300.0)
"""Seconds: worth a note, and a failure (a listing's fixed end would leave rows out)."""
_SUSPICIOUS = re.compile(r"(None|null|undefined|nan|default_user|\$\{.*|.*\{\w*\}.*|<.*>|%s)", re.I)


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. ``failed`` ends the command with 1; ``note`` is worth knowing and no failure."""

    check: str
    status: Literal["ok", "note", "failed"]
    detail: str


def transport(url: str, has_token: bool) -> list[Check]:
    """TLS: whether a token crosses a network in clear."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return [Check("tls", "ok", "https, the certificate is checked")]
    host = parts.hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    if local:
        return [Check("tls", "ok", "none, on this machine")]
    what = (
        "the token and every memory cross the network in clear"
        if has_token
        else "memories cross the network in clear"
    )
    return [Check("tls", "failed" if has_token else "note", f"no TLS to {host}: {what}; use https://")]


def version(found: Version) -> list[Check]:
    """Too old for what the commands offer, or features that are switched off."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", found.api_version)[:2])
    checks = [Check("version", "ok", found.api_version or "not told")]
    if numbers and numbers < _NEWEST:
        checks = [
            Check("version", "note", f"{found.api_version} has not: {_LACKS}; update the server for them")
        ]
    off = sorted(name for name in ("observations", "document_export_api", "document_import_api", "bank_config_api", "store_document_text") if found.features.get(name) is False)  # fmt: skip
    if off:
        checks.append(Check("features", "note", f"switched off on the server: {', '.join(off)}"))
    return checks


def model(found: Version, config: Mapping[str, Any], overrides: Mapping[str, Any]) -> list[Check]:
    """A server without a model stores chunks in place of facts, and cannot reflect."""
    chunks = config.get("retain_extraction_mode") == "chunks"
    if chunks and "retain_extraction_mode" not in overrides and found.features.get("observations") is False:
        return [
            Check(
                "model",
                "note",
                "the server has no model: a memory is a chunk of text, reflect and mental models fail; set "
                "HINDSIGHT_API_LLM_PROVIDER on the server",
            )
        ]
    if chunks:
        return [
            Check(
                "model",
                "note",
                "this bank stores chunks, not facts: `console banks config set retain_extraction_mode=null`",
            )
        ]
    return [Check("model", "ok", f"extraction {config.get('retain_extraction_mode') or 'not told'}")]


def clock(server: str, here: datetime) -> list[Check]:
    """The server's clock against this machine's. ``server`` has whole seconds and lags by up to one."""
    told = parse_time(server)
    if told is None:
        return []
    off = (here - told).total_seconds() - 0.5
    words = f"this machine is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} the server"
    if abs(off) > _SKEW[1]:
        return [Check("clock", "failed", f"{words}: set the clock (times of retains and --since are wrong)")]
    return [
        Check(
            "clock",
            "note" if abs(off) > _SKEW[0] else "ok",
            words if abs(off) > 2 else "agrees with the server",
        )
    ]


def banks(found: Iterable[Bank]) -> list[Check]:
    """Banks that a wrong setting has made."""
    why: dict[str, str] = {}
    for bank in found:
        name = bank.bank_id
        if _SUSPICIOUS.fullmatch(name):
            why[name] = "an empty or unfilled setting"
        elif name.startswith("hindsight_"):
            why[name] = "Omnigent without an agent id writes there and reads elsewhere: set bank_id"
        elif "/" in name:
            why[name] = "no route reaches an id with /: it cannot be read or deleted"
        elif name != name.strip():
            why[name] = "blanks around its id"
    if not why:
        return [Check("banks", "ok", "none looks like an accident")]
    return [
        Check(
            "banks",
            "note",
            f"{name!r} looks like an accident ({reason}); `console --bank ID documents` shows what is in it",
        )
        for name, reason in sorted(why.items())[:10]
    ]


def operations(found: Iterable[Operation], now: datetime | None = None) -> list[Check]:
    """Work that does not end."""
    limit = (now or datetime.now(UTC)) - _STUCK
    stuck = []
    for operation in found:
        moved = _time(operation.updated_at) or _time(operation.created_at)
        if operation.status in {"pending", "processing"} and moved is not None and moved < limit:
            stuck.append(operation)
    if not stuck:
        return [Check("work", "ok", "nothing is stuck")]
    return [
        Check(
            "work",
            "failed",
            f"{operation.task_type} {operation.id} is {operation.status} since {operation.updated_at or operation.created_at}"
            f"{': ' + operation.error_message if operation.error_message else ''}; is a worker running? "
            f"`console operations cancel {operation.id}`",
        )
        for operation in stuck[:5]
    ]


def retain_paths(documents: Sequence[DocumentSummary]) -> list[Check]:
    """Two ways into one bank: the same text, or the same session, under different contexts or harnesses."""
    paths: dict[tuple[str, str], dict[str, str]] = {}
    for document in documents:
        session = (document.document_metadata or (document.retain_params or {}).get("metadata") or {}).get(
            "session_id"
        )
        for kind, value in (("text", document.content_hash), ("session", session)):
            if isinstance(value, str) and value:
                paths.setdefault((kind, value), {}).setdefault(_path(document), document.id)
    double = [(kind, found) for (kind, _), found in paths.items() if len(found) > 1]
    if not double:
        return [Check("retain paths", "ok", "no text or session comes in twice")]
    kind, found = double[0]
    ways = " and ".join(f"{way} (document {name!r})" for way, name in sorted(found.items())[:2])
    return [
        Check(
            "retain paths",
            "note",
            f"{len(double)} times the same {kind} came in by two ways: {ways}; switch one of them off, or every fact counts twice",
        )
    ]


def _path(document: DocumentSummary) -> str:
    harness = sorted(tag for tag in document.tags if tag.startswith("harness:"))
    return " ".join(harness) or f"context {(document.retain_params or {}).get('context') or 'none'}"


def installed() -> list[Check]:
    """Omnigent beside this program, without what its memory tools need."""
    from importlib.util import find_spec

    if find_spec("omnigent") is None:
        return []
    if find_spec("hindsight_client") is None:
        return [
            Check("omnigent", "failed", "installed without its memory extra: pip install 'omnigent[memory]'")
        ]
    return [Check("omnigent", "ok", "installed with its memory extra")]


def _time(value: str | None) -> datetime | None:
    try:
        return parse_time(value)
    except ValueError:
        return None

"""From a server's refusal to one clear line. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from console.memory.errors import (
    AuthFailed,
    BadAnswer,
    Conflict,
    InvalidInput,
    NotFound,
    ServerFailed,
    StoreError,
    Unavailable,
    Unsupported,
)
from console.memory.hindsight.ids import printable

WRONG_URL = "check the server's URL: this does not look like a Hindsight API"
_DISABLED = re.compile(r"disabled|not enabled|HINDSIGHT_API_ENABLE", re.I)
_NO_MODEL = re.compile(
    r"\bLLM\b.*(none|not configured|provider|disabled|unavailable|required)|requires an LLM", re.I
)
_BANK_MISSING = re.compile(r"^Bank '.*' not found", re.S)


def detail_line(body: bytes) -> str | None:
    """The server's reason in one line, from any of its three shapes of ``detail``; None where there is none.

    The ``input`` of a validation error is left out: it repeats what the user sent.
    """
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    detail: Any = answer.get("detail", answer.get("error")) if isinstance(answer, dict) else None
    if isinstance(detail, str):
        return printable(detail)
    if isinstance(detail, list):
        return printable("; ".join(_validation(entry) for entry in detail[:3])) or None
    if isinstance(detail, dict):
        violations = detail.get("violations", detail)
        return printable(f"refused by the bank's memory defense: {violations}")
    return None


def _validation(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    place = ".".join(str(part) for part in entry.get("loc", ()) if part not in {"body", "query", "path"})
    return f"{place}: {entry.get('msg', 'invalid')}" if place else str(entry.get("msg", "invalid"))


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """``Retry-After`` in seconds, from either of its two forms."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def fault(
    status: int, headers: Mapping[str, str], body: bytes, *, where: str, missing: str, writes: bool
) -> StoreError:
    """The error for an answer that is not a success. ``missing`` names what a 404 is about."""
    detail = detail_line(body)
    wait = retry_after(headers)
    if 300 <= status < 400:
        location = printable(headers.get("location", "").split("?")[0].rsplit("@", 1)[-1], 120)
        return BadAnswer(
            f"the server redirects ({status}) instead of answering",
            where=where,
            hint=f"set the server's URL to where it really is{f', perhaps {location}' if location else ''}",
            status=status,
        )
    if status in {401, 402, 403}:
        hint = "set HINDSIGHT_API_TOKEN, or check that it is meant for this server"
        return AuthFailed(
            f"the server refuses access: {detail or status}", where=where, hint=hint, status=status
        )
    if status == 404:
        return _not_found(detail, where, missing)
    if status == 409:
        return Conflict(f"the server refuses: {detail or 'conflict'}", where=where, status=status)
    if status in {405, 410, 501}:
        hint = "this version of the server does not offer it"
        return Unsupported(detail or f"the server answered {status}", where=where, hint=hint, status=status)
    if status == 429 or status in {502, 503, 504, 499}:
        return _unavailable(status, detail, wait, where, writes)
    if 400 <= status < 500:
        if detail is None:
            return BadAnswer(
                f"the server answered {status} and no reason", where=where, hint=WRONG_URL, status=status
            )
        if status == 400 and _NO_MODEL.search(detail):
            hint = "this server runs without a model"
            return Unsupported(f"the server cannot do that: {detail}", where=where, hint=hint, status=status)
        return InvalidInput(f"the server refuses the request: {detail}", where=where, status=status)
    hint = (
        "look at what is stored before repeating it" if writes else "try again, or look into the server's log"
    )
    return ServerFailed(
        f"the server failed ({status}): {detail or 'no reason'}", where=where, hint=hint, status=status
    )


def _not_found(detail: str | None, where: str, missing: str) -> StoreError:
    if detail is None or detail == "Not Found":
        return BadAnswer("there is no such route", where=where, hint=WRONG_URL, status=404)
    if _DISABLED.search(detail):
        return Unsupported(detail, where=where, hint="it is switched off on the server", status=404)
    if _BANK_MISSING.match(detail):
        return NotFound(detail, where=where, hint="`console banks` lists the banks that exist", status=404)
    hint = (
        "`console banks` lists the banks that exist"
        if missing.startswith("bank ")
        else "list what there is, or check the id and the bank"
    )
    return NotFound(f"{missing} not found", where=where, hint=hint, status=404)


def _unavailable(
    status: int, detail: str | None, wait: float | None, where: str, writes: bool
) -> Unavailable:
    if status == 504:
        hint = (
            "it may still have been carried out: look before repeating it"
            if writes
            else "ask for less, or try later"
        )
        message = f"the server ran out of time: {detail or status}"
    else:
        hint = f"try again in {wait:.0f} s" if wait is not None else "try again in a moment"
        message = f"the server is not available now: {detail or status}"
    return Unavailable(message, where=where, hint=hint, status=status, retry_after=wait)

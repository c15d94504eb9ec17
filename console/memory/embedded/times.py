"""Microseconds since 1970 UTC <-> the ISO 8601 strings of the models."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from console.memory.errors import InvalidInput
from console.memory.models import parse_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    return time.time_ns() // 1000


def iso(stamp: int | None) -> str | None:
    """As Hindsight writes them: ``2026-12-01T00:29:24.824598+00:00``, no fraction where it is 0."""
    if stamp is None:
        return None
    return (_EPOCH + timedelta(microseconds=stamp)).isoformat()


def stamp(value: str | None, what: str) -> int | None:
    """None for None and ''. Raises InvalidInput naming ``what``."""
    try:
        moment = parse_time(value)
    except ValueError:
        raise InvalidInput(
            f"{what} is not a time: {value!r}", hint="use ISO 8601, such as 2026-12-01T09:30:00Z"
        ) from None
    except OverflowError:
        raise InvalidInput(
            f"{what} is out of range: {value!r}", hint="use a year between 1 and 9999"
        ) from None
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND

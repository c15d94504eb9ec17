"""Microseconds since 1970 UTC <-> the ISO 8601 strings of the models."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from console.memory.errors import InvalidInput
from console.memory.models import parse_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""The last moment that the models can show."""


Clock = Callable[[], int]
"""Microseconds since 1970 UTC, never twice the same moment for two writes that must be told apart."""

_thread = threading.local()


def set_clock(clock: Clock | None) -> None:
    """What ``now`` says in this thread: a store's worker may live in the past (a replayed history). None: the system's."""
    _thread.clock = clock


def now() -> int:
    clock: Clock | None = getattr(_thread, "clock", None)
    return time.time_ns() // 1000 if clock is None else clock()


@lru_cache(maxsize=4096)
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

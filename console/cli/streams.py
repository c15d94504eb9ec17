"""Standard streams that always work: closed ones, pipes that break, and locales that know only ASCII."""

from __future__ import annotations

import contextlib
import io
import os
import sys


def prepare_streams() -> None:
    """Text that a locale cannot show is written as an escape; a closed output takes everything and keeps nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for the life of the process
        elif isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """After a broken pipe or a full disk: keep Python's own flush at exit from complaining again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def stdin_is_terminal() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def stderr_is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()

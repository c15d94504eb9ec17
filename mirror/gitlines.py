"""What git prints, taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator


def rows(listing: bytes) -> Iterator[tuple[str, list[str]]]:
    """(path, the fields before the tab) of each row that git ended with NUL."""
    for row in listing.split(b"\0"):
        if row:
            head, _, path = row.partition(b"\t")
            yield path.decode("utf-8", "surrogateescape"), head.decode("ascii").split()


def printable_line(error: object) -> str:
    """The line of git's output that says what went wrong, fit for a message."""
    text = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    picked = next(
        (line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else ""
    )
    clean = "".join(c if c.isprintable() else "?" for c in picked)
    # A remote's URL may carry a password.
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1", clean)[:300]

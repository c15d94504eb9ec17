"""Refuses plans that are too dangerous to carry out unasked. Pure; every limit is named here.

The denominators are the mirror's own pages only: a folder full of foreign files must not dilute them, and
a switched or empty bank must not empty a wiki. A limit is overruled only by a number that the user types.
"""

from __future__ import annotations

from mirror.errors import GuardRefused

GONE_SHARE = 0.3
"""Of the owned pages; only with a base of SMALL_BASE or more."""
SMALL_BASE = 10
GONE_MOST = 20
RETRACTIONS_MOST = 50


def check_gone(*, gone: int, pages: int, listed: int, allowed: int | None, where: str) -> None:
    """``gone``: owned pages whose document the bank no longer lists; ``pages``: max(manifest, pages);
    ``listed``: documents in the bank. Raises GuardRefused."""
    if not gone or (allowed is not None and gone <= allowed):
        return
    limit = f"--max-gone {allowed} allows fewer" if allowed is not None else "nothing was written"
    hint = "if that is right, say how many with --max-gone N; if not, check --store and --bank"
    if listed == 0:
        raise GuardRefused(
            f"the bank lists 0 documents, the wiki holds {pages} pages: {limit}", where=where, hint=hint
        )
    too_many = gone > GONE_MOST or (pages >= SMALL_BASE and gone > GONE_SHARE * pages) or allowed is not None
    if too_many:
        raise GuardRefused(
            f"{gone} of {pages} pages have no document in the bank: {limit}", where=where, hint=hint
        )


def check_retractions(*, marks: int, allowed: int | None, where: str) -> None:
    """``marks``: retractions that one run would send, a page-level mark counting once. Raises GuardRefused."""
    most = RETRACTIONS_MOST if allowed is None else allowed
    if marks > most:
        raise GuardRefused(
            f"{marks} retractions in one run, {most} are allowed: nothing was sent",
            where=where,
            hint="if they are meant, say how many with --max-retractions N",
        )

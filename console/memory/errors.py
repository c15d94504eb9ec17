"""What can go wrong with a store.

* StoreError               base; every one says what, where and what to do
  * InvalidInput             refused before anything was sent (bad id, empty text, wrong combination)
  * NotFound                 the bank, document, memory or operation does not exist
  * Conflict                 the store refuses because of its state (409)
  * Unsupported              this store, or this version of it, cannot do that
  * ReadOnly                 the store is opened read-only
  * AuthFailed               401 or 403
  * Unavailable              could not be reached, timed out, overloaded, busy or out of disk; a retry may help
  * BadAnswer                the other side answered something that is not its API (HTML, cut JSON, wrong id)
  * ServerFailed             5xx other than overload; the write may have happened: look before repeating
  * Corrupt                  a file is damaged, or written by a newer version

``message`` says what happened, ``where`` names the URL or file (never with credentials), ``hint`` says
what to do about it. ``str(error)`` is one line.
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of all store errors. ``exit_code`` is what a command ends with."""

    exit_code = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        line = self.message
        if self.where:
            line += f" ({self.where})"
        if self.hint:
            line += f": {self.hint}"
        return " ".join(line.split())


class InvalidInput(StoreError):
    """Refused before anything was sent."""

    exit_code = 64


class NotFound(StoreError):
    """The bank, document, memory or operation does not exist."""


class Conflict(StoreError):
    """The store refuses because of the state it is in."""


class Unsupported(StoreError):
    """This store, or this version of it, cannot do that."""


class ReadOnly(Unsupported):
    """The store is opened read-only."""


class AuthFailed(StoreError):
    """The credentials are missing, wrong or not sufficient."""


class Unavailable(StoreError):
    """Not reachable, timed out, overloaded or busy. ``retry_after`` is in seconds where the server said so."""

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint, status=status)
        self.retry_after = retry_after


class BadAnswer(StoreError):
    """The other side answered something that is not its API."""


class ServerFailed(StoreError):
    """The server failed while working; a write may have happened all the same."""


class Corrupt(StoreError):
    """A file is damaged, or was written by a newer version."""

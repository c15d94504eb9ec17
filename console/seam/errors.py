"""What can go wrong in the seam itself; what the bank answers is passed on as it is."""

from __future__ import annotations


class SeamError(Exception):
    """Base. ``str(error)`` is one line; ``exit_code`` is what the command ends with."""

    exit_code = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        line = self.message
        if self.where:
            line += f" ({self.where})"
        if self.hint:
            line += f": {self.hint}"
        return " ".join(line.split())


class SpoolError(SeamError):
    """The journal cannot be read or written, or is full."""


class SeamLocked(SeamError):
    """Another seam uses the spool or the port."""

    exit_code = 5

"""The one error of settings: a value that cannot be used, said in one line."""

from __future__ import annotations


class SettingsError(Exception):
    """``where`` names the flag, variable or file. ``str(error)`` is one line without any secret."""

    exit_code = 64

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

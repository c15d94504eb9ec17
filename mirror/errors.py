"""What can stop a mirror run.

* MirrorError              base; says what, where and what to do, and how the command ends
  * NotARepository         no git repository, a bare one, or no git program
  * NotBound               the wiki belongs to another bank, or is not ours
  * GuardRefused           a plan that is too dangerous to carry out unasked
  * Locked                 another run, or another git, holds a lock
  * Behind                 the working tree is not on the default branch, or behind its remote
  * BadPage                a page or manifest line that cannot be read
  * SourceIncomplete       the bank's listing did not add up
  * GitFailed              git refused, or was killed
    * PushRefused          the remote did not take the push
      * Protected          the branch takes no direct push
  * SecretsFound           something secret would have left this machine
  * CurationFailed         the bank did not take one change; the others go on
"""

from __future__ import annotations


class MirrorError(Exception):
    """Base of all mirror errors. ``str(error)`` is one line."""

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


class NotARepository(MirrorError):
    """No git repository here, a bare one, or no git program."""


class NotBound(MirrorError):
    """The wiki belongs to another bank, is not ours, or was never set up."""


class GuardRefused(MirrorError):
    """The plan is too dangerous to carry out unasked."""

    exit_code = 4


class Locked(MirrorError):
    """Another run, or another git, holds a lock."""

    exit_code = 5


class Behind(MirrorError):
    """The working tree is not on the default branch, or behind its remote."""

    exit_code = 3


class BadPage(MirrorError):
    """A page, .txt or manifest line that cannot be read. ``where`` is ``path`` or ``path:line``."""


class SourceIncomplete(MirrorError):
    """The bank's listing did not add up, after it was listed again."""


class GitFailed(MirrorError):
    """git refused or died."""


class PushRefused(GitFailed):
    """The remote did not take the push, and a second try would end the same."""


class Protected(PushRefused):
    """The branch takes no direct push."""


class SecretsFound(MirrorError):
    """Something secret would have left this machine. The message holds rule and path, never the value."""

    exit_code = 6


class CurationFailed(MirrorError):
    """The bank did not take one change."""

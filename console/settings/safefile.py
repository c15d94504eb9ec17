"""Read a small file that somebody else may have put there.

Promise: never follows a symbolic link, never blocks on a pipe or device, never reads more than the
limit, never reaches for the network, and says in words why it refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Refused(Exception):
    """The file exists but is not one that we read. ``str()`` is the reason, without the path."""


def read_small(path: Path, limit: int, *, follow: bool = False) -> bytes | None:
    """Its bytes; None when it does not exist. Raises Refused for links, pipes, folders, too much, no permission.

    ``follow`` allows a symbolic link: people keep their own configuration in a dotfiles folder.
    """
    # O_NONBLOCK: opening a named pipe would wait for a writer for ever.
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    )
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        info = path.stat() if follow else path.lstat()
        if stat.S_ISLNK(info.st_mode):
            raise Refused("it is a symbolic link")
        # Before the open: opening a device can have an effect of its own.
        if not stat.S_ISREG(info.st_mode):
            raise Refused("it is not a regular file")
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        return None  # a NUL in the path: no such file can exist
    except OSError as error:
        raise Refused(reason(error)) from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused("it is not a regular file")
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise Refused(reason(error)) from error
    if len(data) > limit:
        raise Refused(f"it is larger than {limit // 1024} KiB")
    return data


def reason(error: OSError) -> str:
    """What the system said, in lower case and without the path."""
    return (error.strerror or error.__class__.__name__).lower()

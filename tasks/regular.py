"""Regular files, read with a limit: what is none, or passes the limit, is an `OSError` that says so, and no wait."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: Most bytes of one file where no setting says otherwise.
MOST_BYTES = 64 * 1024 * 1024

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotAFileError(OSError):
    """A name is that of a folder, a pipe, a socket or a device; `kind` says of which."""

    def __init__(self, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}, not a file")
        self.kind = kind


class TooLargeError(OSError):
    """A file holds more bytes than may be read."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {max_bytes} bytes")
        self.max_bytes = max_bytes


def read_regular(path: Path, max_bytes: int | None = MOST_BYTES) -> bytes:
    """The bytes of a regular file, links followed. Never waits on a pipe, also on one that takes the file's place.

    Raises:
        NotAFileError: it is something else.
        TooLargeError: it holds more than `max_bytes`; None is no limit.
        OSError: it is not there or cannot be read; `strerror` says why.
    """
    try:
        _check(path.stat())  # before it is opened, since opening alone may do something to a device
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except ValueError as error:
        raise OSError(errno.EINVAL, "its name is not valid") from error
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        _check(status)
        if max_bytes is None:
            return stream.read()
        if status.st_size > max_bytes:
            raise TooLargeError(max_bytes)
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise TooLargeError(max_bytes)
    return data


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotAFileError(next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else"))


def is_file(path: Path) -> bool:
    """Whether a name is a regular file's; what cannot be looked at is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a name is a folder's; what cannot be looked at is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False

"""Folders below the temporary one that go when the process ends, and at the latest with the next run of prebrief.

A process holds one folder there, locked while it lives: the lock goes with the process, however that ends, and tells
others that nobody needs the folder any more.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PREFIX = "prebrief-run-"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")  # as `mkdtemp` makes them; a person's own folder has another name
_ONLY_A_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Held(NamedTuple):
    """The folder of a process, and the lock on it."""

    process: int
    folder: Path
    lock: int


_held: list[_Held] = []


def scratch_folder(kind: str) -> Path:
    """A new folder, for this user alone, that goes when this process ends; its name begins with `kind`.

    Raises:
        OSError: there is no place for temporary files, or it is full.
    """
    return Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=_own_folder()))


def clear_scratch() -> None:
    """Removes the folders of this user's runs that died. What cannot be removed now stands in nobody's way."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for place in sorted(Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name)):
            with suppress(OSError):
                _clear(place)


def _clear(place: Path) -> None:
    lock = os.open(place, _ONLY_A_FOLDER)
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(lock)


def _own_folder() -> Path:
    """The folder of this process; another one where somebody has cleared the temporary folder, or set another."""
    place = Path(tempfile.gettempdir())
    for held in _held:
        if held.process == os.getpid() and held.folder.parent == place and _is_at(held.lock, held.folder):
            return held.folder
    while (lock := _locked(folder := Path(tempfile.mkdtemp(prefix=_PREFIX)))) is None:
        pass
    _held.append(_Held(os.getpid(), folder, lock))
    atexit.register(_remove, _held[-1])
    return folder


def _locked(folder: Path) -> int | None:
    """The lock on a folder; None where another run took it for a dead one's before it was locked."""
    try:
        lock = os.open(folder, _ONLY_A_FOLDER)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # where a file system has no locks, nobody can clear what is there either
        fcntl.flock(lock, fcntl.LOCK_EX)
    if _is_at(lock, folder):
        return lock
    os.close(lock)
    return None


def _remove(held: _Held) -> None:
    if held.process == os.getpid():  # a fork has its parent's list of what to do at the end
        shutil.rmtree(held.folder, ignore_errors=True)


def _is_at(lock: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), folder.stat())
    except OSError:
        return False

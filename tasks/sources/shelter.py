"""What is one for the whole process, kept while code of others runs: the working folder and standard output."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STDOUT, _STDERR = 1, 2


class _Shelter:
    """The state of the process before the first of those came that are in here now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._restore = ExitStack()

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                _keep_folder(self._restore)
                _keep_output(self._restore)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._restore.close()


_SHELTER = _Shelter()


@contextmanager
def sheltered() -> Iterator[None]:
    """Sends to stderr whatever is printed, by child processes too, and comes back to the working folder afterwards.

    Of several threads that are in here at once, the last to leave restores both.
    """
    _SHELTER.enter()
    try:
        yield
    finally:
        _SHELTER.leave()


def _keep_folder(restore: ExitStack) -> None:
    with suppress(OSError):  # it may be gone, and then there is none to come back to
        folder = os.open(".", os.O_RDONLY)
        restore.callback(os.close, folder)
        restore.callback(os.fchdir, folder)


def _keep_output(restore: ExitStack) -> None:
    before = sys.stdout
    restore.callback(setattr, sys, "stdout", before)
    with suppress(OSError, ValueError):  # this process may have closed one of them
        before.flush()
        kept = os.dup(_STDOUT)
        restore.callback(os.close, kept)
        os.dup2(_STDERR, _STDOUT)
        restore.callback(os.dup2, kept, _STDOUT)
    sys.stdout = sys.stderr

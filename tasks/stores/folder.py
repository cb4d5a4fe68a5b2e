"""A store in a folder, which any number of processes on one machine may share."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import StoreError
from tasks.stores.records import CONTENTS, RECORDS, RecordStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FOLDER = 0o700
_PARTS = "parts"  # files while they are written; what lies there when nobody writes was left by a run that died


class FolderStore(RecordStore):
    """Keeps artifacts below a folder that its owner alone may enter (0700, files 0600); each write is atomic.

    Raises:
        StoreError: the folder cannot be made, read or written.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Makes the folder where there is none; one that others may enter is closed to them."""
        self._root = Path(root).absolute()
        with self._refusing():
            for folder in (self._root, *(self._root / name for name in (CONTENTS, RECORDS, _PARTS))):
                folder.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
                folder.chmod(_FOLDER)

    def _read(self, folder: str, name: str) -> bytes | None:
        with self._refusing():
            return _bytes_of(self._root / folder / name)

    def _write(self, folder: str, name: str, data: bytes) -> None:
        with self._refusing():
            handle, part = tempfile.mkstemp(dir=self._root / _PARTS)  # 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                Path(part).replace(self._root / folder / name)
            except BaseException:
                Path(part).unlink(missing_ok=True)
                raise

    def _remove(self, folder: str, name: str) -> None:
        with self._refusing():
            (self._root / folder / name).unlink(missing_ok=True)

    def _read_all(self, folder: str) -> Mapping[str, bytes]:
        with self._refusing():
            found = {path.name: _bytes_of(path) for path in sorted((self._root / folder).iterdir())}
        return {name: data for name, data in found.items() if data is not None}

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._refusing():
            lock = os.open(self._root, os.O_RDONLY)
        try:
            with self._refusing():
                fcntl.flock(lock, fcntl.LOCK_EX)
                for part in (self._root / _PARTS).iterdir():
                    part.unlink(missing_ok=True)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turns what the file system refuses into one sentence."""
        try:
            yield
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise StoreError(f"the store {self._root} cannot be used ({why}); check the folder.") from error


def _bytes_of(path: Path) -> bytes | None:
    """A file's bytes, no link followed; None where there is no such file."""
    with suppress(FileNotFoundError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()
    return None

"""Token counts that outlive a run, by the hash of the text that was counted."""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ROW = struct.Struct("<32sI")
_MOST = 200_000  # counts in a file, about 7 MB
_DIGEST = 32


class TokenCache:
    """Counts of one encoding in one file; nothing of a text but its SHA-256 is kept.

    The file begins with the hash of what follows. One that is damaged, or cannot be read or written, is as good as
    none: every count can be made again. The name must say all that a count depends on but the text. What a short text
    is may be guessed from its hash, so the file is for its owner alone.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / name
        self._known = _read(self._file)
        self._used: dict[bytes, int] = {}

    def __len__(self) -> int:
        """How many counts the file has."""
        return len(self._known)

    def get(self, text: str) -> int | None:
        """The count of a text, where it is known."""
        key = _key(text)
        if (count := self._known.get(key)) is not None:
            self._used[key] = count
        return count

    def add(self, text: str, count: int) -> None:
        """Takes note of a count."""
        self._used[_key(text)] = count

    def save(self) -> None:
        """Writes what is new, in one step. Where there is no room for all, what this run had no use for goes."""
        if self._used.keys() <= self._known.keys():
            return
        self._known = dict(list({**self._used, **self._known}.items())[:_MOST])
        body = b"".join(_ROW.pack(key, count) for key, count in self._known.items())
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            _replace(self._file, hashlib.sha256(body).digest() + body)


def _replace(file: Path, data: bytes) -> None:
    """Writes a file beside its place and moves it there, unless another run is about to.

    The file beside has one name, so that of all runs that are killed here one file is left, which the next writes over.
    """
    part = file.with_name(f"{file.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(stream.fileno()), part.stat()):
            return  # it was another run's, and is in its place by now
        try:
            stream.truncate()
            stream.write(data)
            stream.flush()
            part.replace(file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _read(file: Path) -> dict[bytes, int]:
    try:
        data = file.read_bytes()
    except OSError:
        return {}
    body = data[_DIGEST:]
    if len(body) % _ROW.size or hashlib.sha256(body).digest() != data[:_DIGEST]:
        return {}
    return dict(_ROW.iter_unpack(body))

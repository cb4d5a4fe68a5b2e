"""Token counts that outlive a run, by the hash of the text that was counted."""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEY = 16  # bytes of a text's SHA-256
_ROW = struct.Struct(f">{_KEY}sII")  # the key, the count, and the last run that made new counts and needed this one
_LAST_RUN = 2**32 - 1  # what a row can say
_COUNT = struct.Struct(f">{_KEY}xI")
_DIGEST = 32
_MOST = 200_000  # counts in a file, about 5 MB


class TokenCache:
    """Counts of one encoding in one file; nothing of a text but half of its SHA-256 is kept.

    The file begins with the hash of what follows and of how that is laid out: rows in the order of their keys, so that
    one is found without reading the others. A file that is damaged, or cannot be read or written, is as good as none:
    every count can be made again. The name must say all that a count depends on but the text. What a short text is may
    be guessed from its hash, so the file is for its owner alone.

    Cost: 7 ms for a full file, and 2 µs a count.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / name
        self._rows = _read(self._file)
        self._starts = _starts(self._rows)
        self._used: dict[bytes, int] = {}
        self._has_new = False

    def __len__(self) -> int:
        """How many counts the file has."""
        return len(self._rows) // _ROW.size

    def get(self, text: str) -> int | None:
        """The count of a text, where it is known."""
        key = _key(text)
        if (count := self._used.get(key)) is None and (count := self._kept(key)) is not None:
            self._used[key] = count
        return count

    def add(self, text: str, count: int) -> None:
        """Takes note of a count."""
        self._used[_key(text)] = count
        self._has_new = True

    def save(self) -> None:
        """Writes what is new, in one step; 0.1 s for a full file.

        Where there is no room for all, what was of no use for longest goes.
        """
        if not self._has_new:
            return
        body = _merged(self._rows, self._used)
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            _replace(self._file, _seal(body) + body)

    def _kept(self, key: bytes) -> int | None:
        """The count in the file. A key that stands across two rows is none."""
        first = key[0] << 8 | key[1]
        start, end = self._starts[first], self._starts[first + 1]
        while (start := self._rows.find(key, start, end)) >= 0:
            if start % _ROW.size == 0:
                return int(_COUNT.unpack_from(self._rows, start)[0])
            start += 1
        return None


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
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY]


def _seal(body: bytes) -> bytes:
    seal = hashlib.sha256(_ROW.format.encode())
    seal.update(body)
    return seal.digest()


def _read(file: Path) -> bytes:
    """The rows of a file, as they stand there."""
    try:
        data = file.read_bytes()
    except OSError:
        return b""
    body = data[_DIGEST:]
    return body if len(body) % _ROW.size == 0 and _seal(body) == data[:_DIGEST] else b""


def _merged(rows: bytes, used: Mapping[bytes, int]) -> bytes:
    """The rows with those of what was used in a further run, as many as there is room for."""
    import numpy as np

    columns = np.dtype([("key", ">u8", 2), ("count", ">u4"), ("run", ">u4")])
    run = min(1 + int(np.frombuffer(rows, columns)["run"].max(initial=0)), _LAST_RUN)
    newest = b"".join(_ROW.pack(key, count, run) for key, count in used.items())
    both = np.frombuffer(newest + rows, columns)
    both = both[np.lexsort(both["key"].T[::-1])]  # of one key, the newest is the first
    again = (both["key"][1:] == both["key"][:-1]).all(axis=1)
    both = both[np.concatenate([[True], ~again])]
    kept = np.argsort(both["run"], kind="stable")[-_MOST:]
    return bytes(both[np.sort(kept)].tobytes())


def _starts(rows: bytes) -> memoryview:
    """Where the rows begin whose keys begin with each two bytes, by the number that these are; at last, their end."""
    import numpy as np  # a hook that only asks where the cache is need not wait for it

    heads = np.frombuffer(rows, ">u2")[:: _ROW.size // 2]
    ends = np.bincount(heads, minlength=1 << 16).cumsum() * _ROW.size
    return np.concatenate([[0], ends]).data

"""Token counts that outlive a run, by the hash of the text that was counted."""

from __future__ import annotations

import hashlib
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

_ROW = struct.Struct("<32sI")
_MOST = 200_000  # counts in a file, about 7 MB
_LEAST_TEXT = 64  # characters; a shorter one is counted as fast as looked up, and its hash might be guessed
_DIGEST = 32


class TokenCache:
    """Counts of one encoding in one file; nothing of a text but its SHA-256 is kept.

    The file begins with the hash of what follows. One that is damaged, or cannot be read or written, is as good as
    none: every count can be made again. The name must say all that a count depends on but the text.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / name
        self._known = _read(self._file)
        self._used: dict[bytes, int] = {}

    def get(self, text: str) -> int | None:
        """The count of a text, where it is known."""
        if len(text) < _LEAST_TEXT:
            return None
        key = _key(text)
        if (count := self._known.get(key)) is not None:
            self._used[key] = count
        return count

    def add(self, text: str, count: int) -> None:
        """Takes note of a count."""
        if len(text) >= _LEAST_TEXT:
            self._used[_key(text)] = count

    def save(self) -> None:
        """Writes what is new, in one step. Where there is no room for all, what this run had no use for goes."""
        if self._used.keys() <= self._known.keys():
            return
        self._known = dict(list({**self._used, **self._known}.items())[:_MOST])
        body = b"".join(_ROW.pack(key, count) for key, count in self._known.items())
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._file.parent, suffix=".part", delete=False) as part:
                try:
                    part.write(hashlib.sha256(body).digest() + body)
                    part.close()
                    Path(part.name).replace(self._file)
                finally:
                    Path(part.name).unlink(missing_ok=True)


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

"""Ids as file names: readable where an id allows it, unique and safe wherever it does not."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{2,99}")
_ENCODED = 60  # characters of encoded text in front of the hash
_DIGITS = 12  # of the SHA-256
_KEPT = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def file_stem(identifier: str) -> str:
    """The file name, without its suffix, of one id.

    3 to 100 letters, digits, `_` and `-` that do not begin with `-` stand as they are. Any other id is
    percent-encoded, cut to 60 characters and followed by `~` and 12 hex digits of its SHA-256, so that two ids never
    share a name and none holds a separator, a dot or white space. At most 100 characters, ASCII.
    """
    return identifier if _PLAIN.fullmatch(identifier) else _hashed(identifier)


def file_places(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Where the files of each (graph, task id) lie below their folder, as `graph/task`, without a suffix.

    Keys whose places would differ by case alone could meet on some file systems, so both of their parts are hashed.
    """
    known = sorted(set(keys))
    folded = Counter("/".join(key).casefold() for key in known)
    return {
        (graph, task_id): "/".join(
            map(_hashed if folded[f"{graph}/{task_id}".casefold()] > 1 else file_stem, (graph, task_id))
        )
        for graph, task_id in known
    }


def _hashed(identifier: str) -> str:
    data = identifier.encode("utf-8", "surrogatepass")
    return f"{_encoded(data)}~{hashlib.sha256(data).hexdigest()[:_DIGITS]}"


def _encoded(data: bytes) -> str:
    """The head of the percent-encoded bytes. `.` and `~` are encoded too: no name is hidden, a suffix or a hash."""
    encoded = ""
    for byte in data[:_ENCODED]:
        piece = chr(byte) if byte in _KEPT else f"%{byte:02X}"
        if len(encoded) + len(piece) > _ENCODED:
            break
        encoded += piece
    return encoded

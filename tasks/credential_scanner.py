"""kingfisher's rules for the credentials of some 500 vendors, compiled once in a process.

By itself, so that compiling may begin before anything else of a build is imported: it takes half a second with a cache
folder, in which the interpreter is free.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kingfisher_sdk import Scanner

_lock = Lock()
_compiled: list[Scanner] = []


def scanner(cache_dir: Path | None = None) -> Scanner:
    """The rules, compiled on first use and shared by all threads; kept in `cache_dir` for the next process."""
    with _lock:
        if not _compiled:
            from kingfisher_sdk import Rules, Scanner

            rules = Rules(confidence="low", cache=cache_dir is not None, cache_dir=cache_dir)
            _compiled.append(Scanner(rules, base64=True))
        return _compiled[0]

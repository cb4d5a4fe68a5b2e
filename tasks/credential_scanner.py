"""kingfisher's rules for the credentials of some 500 vendors, compiled once in a process.

By itself, so that compiling may begin before anything else of a build is imported: it takes half a second with a cache
folder, in which the interpreter is free.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

from tasks.tokens import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from kingfisher_sdk import Scanner

    from tasks.settings import TokenSettings

_lock = Lock()
_begun: list[Future[Scanner]] = []


def scanner() -> Scanner:
    """The rules, shared by all threads: whoever needs them first waits until they are compiled.

    Should that have failed, maybe for the cache folder, they are compiled once more, and not kept.
    """
    try:
        return compiling().result()
    except Exception:  # noqa: BLE001 - whatever it was, it will be told if it comes again
        return compiling().result()


def begin_compiling(settings: TokenSettings) -> None:
    """Has the rules compiled beside what is done meanwhile."""
    compiling(cache_folder() if settings.cache else None)


def compiling(cache_dir: Path | None = None) -> Future[Scanner]:
    """The rules to come, kept in `cache_dir` for the next process; without one nothing is written."""
    with _lock:
        if _begun and _begun[0].done() and _begun[0].exception():
            _begun.clear()
        if not _begun:
            beside = ThreadPoolExecutor(1)
            _begun.append(beside.submit(_compiled, cache_dir))
            beside.shutdown(wait=False)
        return _begun[0]


def _compiled(cache_dir: Path | None) -> Scanner:
    from kingfisher_sdk import Rules, Scanner

    return Scanner(Rules(confidence="low", cache=cache_dir is not None, cache_dir=cache_dir), base64=True)

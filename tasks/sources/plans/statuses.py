"""How far a task is, in the words of all tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tasks.errors import InputError
from tasks.terms import PROGRESS

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The words that plans use, by the one that prebrief uses. `deleted` tasks are none.
_WORDS: dict[str, str] = {
    "pending": "pending todo to-do open new ready backlog not-started planned pinned unstarted",
    "in-progress": "in-progress started doing active wip working claimed hooked",
    "review": "review in-review testing",
    "blocked": "blocked waiting on-hold",
    "done": "done completed complete closed finished resolved merged verified",
    "deferred": "deferred postponed later",
    "cancelled": "cancelled canceled wontfix wont-fix abandoned dropped skipped",
    "deleted": "deleted tombstone",
}
_SETTLED = ("done", "deferred", "cancelled")  # there is nothing to do now
_BY_WORD = {word: status for status, words in _WORDS.items() for word in words.split()}


def status_of(word: str) -> str | None:
    """A status in prebrief's words, whatever its case and separators; None for an unknown word."""
    return _BY_WORD.get(re.sub(r"[\s_-]+", "-", word.strip().lower()))


def wanted_statuses(words: Iterable[str]) -> tuple[str, ...]:
    """The statuses of tasks that get a context: those given in any tool's words, `all`, or by default what is to do.

    Raises:
        InputError: a word is no status of any tool.
    """
    given = [word.strip() for word in words]
    if not given:
        return tuple(status for status in PROGRESS if status not in _SETTLED)
    if "all" in given:
        return PROGRESS
    found = {word: status_of(word) for word in given}
    if unknown := [word for word, status in found.items() if status not in PROGRESS]:
        raise InputError(f"there is no status {unknown[0]!r}; use all, {', '.join(PROGRESS)} or the tool's own word.")
    return tuple(status for status in PROGRESS if status in found.values())

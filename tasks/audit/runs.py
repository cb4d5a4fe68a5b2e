"""Finds long runs of known texts inside others, without holding the known texts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK = 64  # characters that both sides must share for a look at the texts themselves
_SHARERS = 64  # places that one block may stand for; a block that many texts share says little
_CACHED = 8  # known texts in memory


class Run(NamedTuple):
    """Where a text repeats a known one."""

    start: int
    end: int
    known: int
    """The number of the known text."""


class RunIndex:
    """Every run of more than `limit` characters that a text shares with a known one.

    Known texts are remembered by the hashes of blocks at every p-th place, and a text is looked at at every q-th place.
    As p and q have no common factor, any shared run of p * q + block - 1 characters holds a block that both sides saw.
    Costs about 1 byte of memory for each character of the known texts, and 15 ms for 100,000 characters looked at.
    """

    def __init__(self, limit: int, read: Callable[[int], str]) -> None:
        """`read` gives a known text by its number, again and again the same; `limit` is at least 70 characters."""
        self.limit = limit
        self._probe = 3 if limit >= 3 * _BLOCK else 1
        self._step = (limit + 1 - _BLOCK) // self._probe
        while self._step % self._probe == 0 and self._probe > 1:
            self._step -= 1
        self._read = lru_cache(maxsize=_CACHED)(read)
        self._places: dict[int, list[tuple[int, int]]] = {}

    def add(self, number: int, text: str) -> None:
        """Makes a text known under a number."""
        if len(text) > self.limit:
            for start in range(0, len(text) - _BLOCK + 1, self._step):
                places = self._places.setdefault(hash(text[start : start + _BLOCK]), [])
                if len(places) < _SHARERS:
                    places.append((number, start))

    def within(self, text: str) -> Iterator[Run]:
        """The shared runs in a text, in order, each once and as long as it is."""
        if not self._places or len(text) <= self.limit:
            return
        places, done = self._places, 0
        for start in range(0, len(text) - _BLOCK + 1, self._probe):
            if start < done or (sharers := places.get(hash(text[start : start + _BLOCK]))) is None:
                continue
            for number, there in sharers:
                left, right = _widened(text, start, self._read(number), there)
                if right - left > self.limit:
                    yield Run(left, right, number)
                    done = right
                    break


def _widened(text: str, here: int, known: str, there: int) -> tuple[int, int]:
    """How far a text and a known one agree around a place of each."""
    left = 0
    while left < min(here, there) and text[here - left - 1] == known[there - left - 1]:
        left += 1
    right, room = 0, min(len(text) - here, len(known) - there)
    while right < room and text[here + right] == known[there + right]:
        right += 1
    return here - left, here + right

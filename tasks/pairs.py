"""Pairs of numbers of 32 bits, each pair packed into one number of 64: it sorts like the pair, and far faster."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Packed = NDArray[np.uint64]
    Ordered = NDArray[np.uint32] | NDArray[np.uint64]
    Places = NDArray[np.intp]

_HALF = np.uint64(32)


def packed(high: Numbers, low: Numbers) -> Packed:
    """The pairs of two arrays."""
    return high.astype(np.uint64) << _HALF | low


def unpacked(pairs: Packed) -> tuple[Numbers, Numbers]:
    """Both halves of pairs."""
    return (pairs >> _HALF).astype(np.uint32), pairs.astype(np.uint32)


def begins(ordered: Ordered) -> NDArray[np.bool_]:
    """Of ordered numbers those that differ from the one before."""
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def runs(ordered: Ordered) -> tuple[Places, Places]:
    """Where each distinct number of ordered ones begins, and how often it stands there."""
    starts = np.flatnonzero(begins(ordered))
    return starts, np.concatenate([starts[1:], [len(ordered)]])[: len(starts)] - starts


def bounds(ordered: Ordered) -> list[tuple[int, int]]:
    """The places at which each run of equal numbers begins and ends."""
    starts = np.flatnonzero(begins(ordered)).tolist()
    return list(pairwise([*starts, len(ordered)]))


def distinct(pairs: Packed) -> Packed:
    """Each pair once, in order."""
    ordered = np.sort(pairs)
    return ordered[begins(ordered)]


def spans(firsts: Places, lengths: Places) -> Places:
    """The places `first, first + 1, ...`, so many of them, of one span after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(firsts - ends + lengths, lengths) + np.arange(total)


def meeting(ordered: Ordered) -> tuple[Places, Places]:
    """The places of any two equal numbers in an ordered array, the earlier ones and the later ones."""
    places = np.arange(len(ordered))
    starts, lengths = runs(ordered)
    behind = np.repeat(starts + lengths, lengths) - places - 1
    return np.repeat(places, behind), spans(places + 1, behind)


class Lists:
    """The values of keys, each key's in order.

    Args:
        keys: numbers from 0, each as often as it has values.
        values: by key.
        size: keys that there are at least, with values or without.
    """

    def __init__(self, keys: Numbers, values: Numbers, size: int = 0) -> None:
        self.often = np.bincount(keys, minlength=size)
        """How many values each key has."""
        self._values = unpacked(np.sort(packed(keys, values)))[1]
        self._starts = np.cumsum(self.often) - self.often

    def of(self, keys: Numbers) -> Numbers:
        """The values of some keys, one key's after the other's."""
        return self._values[spans(self._starts[keys], self.often[keys])]


def looked_up(keys: Numbers, values: Numbers, wanted: Numbers) -> tuple[Places, Numbers]:
    """For each wanted number the values of its keys: the places in `wanted`, and the values.

    Args:
        keys: numbers from 0, each as often as it has values.
        values: by key.
        wanted: numbers, some of which may be no keys.
    """
    lists = Lists(keys, values, 1 + int(wanted.max(initial=0)))
    return np.repeat(np.arange(len(wanted)), lists.often[wanted]), lists.of(wanted)

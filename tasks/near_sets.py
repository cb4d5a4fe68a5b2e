"""Which of many sets are nearly the same: an exact join by prefixes, far cheaper than comparing each with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasks.pairs import Lists, begins, distinct, meeting, packed, spans, unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasks.pairs import Numbers, Packed, Places

_BITS = 64  # of a set's sketch
_SCATTER = 0x9E3779B1  # odd and far from any pattern
_AT_ONCE = 2_000_000  # members that are compared at a time
_CROWDED = 2_000  # how often others hold a set's first members, from which on it is looked at by itself
_SORTED = 40  # times as long as counting a member takes sorting two sets by it


def near_sets(sets: Numbers, members: Numbers, kinds: Numbers, threshold: float) -> tuple[Numbers, Numbers]:
    """Any two sets of one kind with a Jaccard similarity of at least the threshold, the lower number first.

    Two sets of sizes a <= b can only reach the threshold t if a >= t * b and if they share two members (one, where a
    single shared member may do) among the first `n - ceil(t * n) + 2` of each, members ordered rarest first: the second
    of their common members cannot stand further behind in either. Only such pairs are verified.

    Args:
        sets: a place a member of a set, which is a number from 0.
        members: the member.
        kinds: by set.
        threshold: above 0, up to 1.

    Cost: a sort of all members, and what shares two of the first members.
    """
    sets, members = unpacked(np.sort(packed(sets, _rarest_first(members))))
    sizes = np.bincount(sets, minlength=len(kinds))
    starts = np.cumsum(sizes) - sizes
    least = np.ceil(sizes * threshold - 1e-9)
    first = spans(starts, np.minimum(sizes, sizes - least + 2).astype(np.intp))
    one, other = unpacked(_sharing_two(sets[first], _numbered(kinds[sets[first]], members[first]), least <= 1))
    sketches = _sketches(members, starts, sizes)
    both = sizes[one] + sizes[other]
    most = (both - np.bitwise_count(sketches[one] ^ sketches[other])) // 2
    may = _jaccard(np.minimum(most, np.minimum(sizes[one], sizes[other])), both) >= threshold
    one, other, both = one[may], other[may], both[may]
    near = _jaccard(_shared(one, other, sets, members, starts, sizes), both) >= threshold
    return one[near], other[near]


def _rarest_first(members: Numbers) -> Numbers:
    """The place of each member in the order of how many sets hold it."""
    order = np.argsort(np.bincount(members), kind="stable")
    places = np.empty(len(order), np.uint32)
    places[order] = np.arange(len(order))
    return places[members]


def _numbered(high: Numbers, low: Numbers) -> Numbers:
    """A number for each pair, in their order and without gaps."""
    pairs = packed(high, low)
    order = np.argsort(pairs)
    numbers = np.empty(len(pairs), np.uint32)
    numbers[order] = np.cumsum(begins(pairs[order])) - 1
    return numbers


def _sharing_two(sets: Numbers, members: Numbers, tiny: NDArray[np.bool_]) -> Packed:
    """The pairs of sets that share two members, or one where that may be all they share; and a few others.

    Args:
        sets: in order.
        members: by set, in order.
        tiny: by set, whether one shared member may do.
    """
    index = _Index(sets, members, len(tiny))
    crowded = index.reach > _CROWDED
    found = [_among_few(*index.rows(~crowded[sets]), tiny)]
    for one in np.flatnonzero(crowded).tolist():
        others = np.flatnonzero(index.shared(one) >= (1 if tiny[one] else 2)).astype(np.uint32)
        others = others[(others > one) | ~crowded[others]]
        others = others[others != one]
        found.append(packed(np.minimum(others, np.uint32(one)), np.maximum(others, np.uint32(one))))
    return distinct(np.concatenate(found))


def _among_few(sets: Numbers, members: Numbers, tiny: NDArray[np.bool_]) -> Packed:
    """The same for sets of which each meets few others.

    Members are brought together one by one, or two by two where that makes fewer rows: with many sets of few members
    the pairs that share one grow with the square of the sets, those that share two hardly at all.
    """
    alone = _together(members[tiny[sets]], sets[tiny[sets]])
    common = (np.bincount(members) > 1)[members]
    sets, members = sets[common], members[common]
    one_by_one, two_by_two = (float(np.square(np.bincount(column)).sum()) for column in (members, sets))
    if one_by_one <= two_by_two:
        pairs = np.sort(_together(members, sets))
        found = pairs[~begins(pairs)]
    else:
        left, right = meeting(sets)
        found = _together(members[left] * np.uint32(_SCATTER) + members[right], sets[left])
    return np.concatenate([alone, found])


class _Index:
    """Which sets hold each member, to count what one set shares with all others.

    Args:
        sets: in order.
        members: by set.
        count: of the sets.
    """

    def __init__(self, sets: Numbers, members: Numbers, count: int) -> None:
        self._sets, self._members, self._count = sets, members, count
        self._holders = Lists(members, sets)
        self._ends = np.searchsorted(sets, np.arange(count + 1))
        self.reach = np.bincount(sets, self._holders.often[members], minlength=count)
        """How often other sets hold a member of each, by set."""

    def rows(self, wanted: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
        """Some of the rows: their sets and members."""
        return self._sets[wanted], self._members[wanted]

    def shared(self, one: int) -> Places:
        """How many members each set has in common with one of them."""
        own = self._members[self._ends[one] : self._ends[one + 1]]
        return np.bincount(self._holders.of(own), minlength=self._count)


def _together(keys: Numbers, sets: Numbers) -> Packed:
    """Two sets whenever they have the same key, as a pair with the lower number first."""
    keys, sets = unpacked(distinct(packed(keys, sets)))
    left, right = meeting(keys)
    return packed(sets[left], sets[right])


def _sketches(members: Numbers, starts: Places, sizes: Places) -> Packed:
    """A number for each set: the bits in which two differ are no more than the members that only one of them holds."""
    sketches = np.zeros(len(sizes), np.uint64)
    if len(members):
        bits = np.uint64(1) << (members % np.uint32(_BITS)).astype(np.uint64)
        filled = sizes > 0
        sketches[filled] = np.bitwise_xor.reduceat(bits, starts[filled])
    return sketches


def _jaccard(shared: Places, both: Places) -> NDArray[np.float64]:
    return shared / (both - shared)


def _shared(one: Numbers, other: Numbers, sets: Numbers, members: Numbers, starts: Places, sizes: Places) -> Places:
    """How many members each of these pairs of sets has in common. The pairs are in order."""
    shared = np.zeros(len(one), np.intp)
    index = _Index(sets, members, len(sizes))
    partners = np.bincount(one, minlength=len(sizes))
    ends = np.cumsum(partners)
    many = partners * sizes * _SORTED > index.reach + len(sizes)
    for busy in np.flatnonzero(many & (partners > 1)).tolist():
        own = slice(ends[busy] - partners[busy], ends[busy])
        shared[own] = index.shared(busy)[other[own]]
    few = np.flatnonzero(~(many & (partners > 1))[one])
    shared[few] = _compared(one[few], other[few], members, starts, sizes)
    return shared


def _compared(one: Numbers, other: Numbers, members: Numbers, starts: Places, sizes: Places) -> Places:
    """The same, pair by pair."""
    shared = np.zeros(len(one), np.intp)
    work = np.cumsum(sizes[one] + sizes[other]) // _AT_ONCE
    for block in np.split(np.arange(len(one)), np.flatnonzero(np.diff(work)) + 1):
        pair = block.astype(np.uint32)
        sides = [
            packed(np.repeat(pair, sizes[held]), members[spans(starts[held], sizes[held])])
            for held in (one[block], other[block])
        ]
        held = np.sort(np.concatenate(sides))
        np.add.at(shared, unpacked(held[~begins(held)])[0], 1)
    return shared

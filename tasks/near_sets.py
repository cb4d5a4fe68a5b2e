"""Which of many sets are nearly the same: an exact join by prefixes, far cheaper than comparing each with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasks.pairs import begins, distinct, meeting, packed, spans, unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasks.pairs import Numbers, Packed, Places

_BITS = 64  # of a set's sketch
_SCATTER = 0x9E3779B1  # odd and far from any pattern
_AT_ONCE = 2_000_000  # members that are compared at a time


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
    near = _jaccard(_shared(one, other, members, starts, sizes), both) >= threshold
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

    Members are brought together one by one, or two by two where that makes fewer rows: with many sets of few members
    the pairs that share one grow with the square of the sets, those that share two hardly at all.

    Args:
        sets: in order.
        members: by set, in order.
        tiny: by set, whether one shared member may do.
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
    return distinct(np.concatenate([alone, found]))


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


def _shared(one: Numbers, other: Numbers, members: Numbers, starts: Places, sizes: Places) -> Places:
    """How many members each of these pairs of sets has in common."""
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

"""Near sets are those that comparing each with each finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import near_sets as module
from tasks.near_sets import near_sets


def found(sets, kinds, threshold):
    numbers = np.array([number for number, members in enumerate(sets) for _ in members], np.uint32)
    members = np.array([member for members in sets for member in members], np.uint32)
    one, other = near_sets(numbers, members, np.array(kinds, np.uint32), threshold)
    return list(zip(one.tolist(), other.tolist(), strict=True))


@pytest.mark.parametrize("many", [12, 60])
@pytest.mark.parametrize("at_once", [1, 2_000_000])
@pytest.mark.parametrize(("crowded", "sorting"), [(2_000, 40), (0, 0), (4, 1), (0, 1_000)])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_all_near_pairs_of_one_kind_and_no_others_are_found(many, at_once, crowded, sorting, data):
    """Many sets of few members are brought together two by two; a verification in blocks misses no pair.

    Sets that meet many others are looked at one by one.
    """
    member = st.integers(0, many)
    sets = data.draw(st.lists(st.frozensets(member, max_size=10), max_size=40))
    kinds = data.draw(st.lists(st.integers(0, 1), min_size=len(sets), max_size=len(sets)))
    threshold = data.draw(st.sampled_from([0.01, 0.3, 0.5, 2 / 3, 0.85, 1.0]))
    plain = [
        (one, other)
        for one, left in enumerate(sets)
        for other, right in enumerate(sets[:])
        if one < other and kinds[one] == kinds[other] and left & right
        if len(left & right) / len(left | right) >= threshold
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_AT_ONCE", at_once)
        patch.setattr(module, "_CROWDED", crowded)
        patch.setattr(module, "_SORTED", sorting)
        assert found(sets, kinds, threshold) == plain


def test_hundreds_of_members_need_more_bits_than_a_sketch_has():
    whole = frozenset(range(500))
    assert found([whole, whole - {3}, whole - frozenset(range(100))], [0, 0, 0], 0.99) == [(0, 1)]

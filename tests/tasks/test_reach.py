from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.reach import bits_of, reached

EDGES = st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9)


def walked(edges, start):
    """The nodes that one gets to, step by step."""
    found, pending = set(), list(edges.get(start, ()))
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += edges.get(node, ())
    return found


@given(EDGES)
def test_it_is_what_one_gets_to_step_by_step(edges):
    found = reached(edges)
    for node in range(9):
        assert set(bits_of(found.get(node, 0))) == walked(edges, node)


def test_a_long_chain_needs_no_recursion():
    found = reached({place: [place - 1] for place in range(1, 10_000)})
    assert len(list(bits_of(found[9_999]))) == 9_999
    assert list(bits_of(found[2])) == [0, 1]


def test_bits_come_from_the_lowest():
    assert list(bits_of(0b1011)) == [0, 1, 3]
    assert list(bits_of(0)) == []

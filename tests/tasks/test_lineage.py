"""Families of items, however odd their links."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.lineage import lineage, parents


def items(links: list[int | None], positions: list[int] | None = None) -> pl.DataFrame:
    """Item `i` has the parent `links[i]`, a place that may not exist."""
    count = len(links)
    return pl.DataFrame(
        {
            "item": list(range(count)),
            "item_id": [f"i{number}" for number in range(count)],
            "parent_id": [None if parent is None else f"i{parent}" for parent in links],
            "position": positions or list(range(count)),
        },
        schema={"item": pl.UInt32, "item_id": pl.String, "parent_id": pl.String, "position": pl.UInt32},
    )


def ancestors(links: list[int | None], item: int) -> list[int]:
    met: list[int] = []
    above = links[item]
    while above is not None and above < len(links) and above not in met and above != item:
        met.append(above)
        above = links[above]
    return met


@st.composite
def families(draw: st.DrawFn) -> tuple[list[int | None], list[int]]:
    count = draw(st.integers(1, 12))
    links = draw(st.lists(st.one_of(st.none(), st.integers(0, count)), min_size=count, max_size=count))
    return links, draw(st.permutations(range(count)))


def in_ring(links, item):
    chain = ancestors(links, item)
    return bool(chain) and links[chain[-1]] == item


@settings(deadline=None)
@given(families())
def test_enter_and_leave_tell_who_descends_from_whom(family):
    links, positions = family
    rows = {row["item"]: row for row in lineage(items(links, positions)).to_dicts()}
    assert sorted(rows) == list(range(len(links)))
    assert len({row["enter"] for row in rows.values()}) == len(links)
    for item in rows:
        for above in ancestors(links, item):
            inside = rows[above]["enter"] <= rows[item]["enter"] < rows[above]["leave"]
            assert inside or in_ring(links, above), "in a ring one item counts as the root"
    for above, row in rows.items():
        for item, other in rows.items():
            if item != above and row["enter"] <= other["enter"] < row["leave"]:
                assert above in ancestors(links, item)


@settings(deadline=None)
@given(families())
def test_reading_order_holds_every_item_once_and_parents_first(family):
    links, positions = family
    rows = {row["item"]: row for row in lineage(items(links, positions)).to_dicts()}
    assert sorted(row["order"] for row in rows.values()) == list(range(len(links)))
    for item, row in rows.items():
        parent = row["parent"]
        if parent is not None and not in_ring(links, item):
            assert rows[parent]["order"] < row["order"]


def test_without_links_the_order_is_by_position():
    assert lineage(items([None] * 3, [2, 0, 1]))["order"].to_list() == [2, 0, 1]


def test_a_child_before_its_parent_comes_right_after_it():
    """Position 0 is the child of position 2; what stands between them stays where it is."""
    assert lineage(items([2, None, None, None]))["order"].to_list() == [2, 0, 1, 3]


def test_missing_parents_and_self_parents_are_none():
    assert parents(items([0, 9, None, 2])).rows() == [(3, 2)]


def test_a_chain_of_fifty_thousand_is_walked_without_recursion():
    count = 50_000
    found = lineage(items([None, *range(count - 1)]))
    assert found["depth"].max() == count - 1

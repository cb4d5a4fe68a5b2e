"""Stage 2: ancestors come with what needs them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.settings import load_settings
from tasks.stages.candidates import generate_candidates
from tasks.stages.closure import resolve_dependency_closure
from tests.tasks.batches import SETTINGS, batch, names, passage, said


def added(items, tasks=1, settings=SETTINGS) -> list[tuple[int, str]]:
    after = resolve_dependency_closure(generate_candidates(batch(items, tasks), settings), settings)
    return sorted((task, names(after, [item])[0]) for task, item in after.added.select("task", "item").iter_rows())


def test_a_heading_that_matched_nothing_comes_back_with_its_passage():
    items = [
        passage("h1", "# Top"),
        passage("h2", "## Rest", "h1"),
        passage("p", "rest", "h2"),
        passage("h3", "## Other", "h1"),
    ]
    assert added(items, [{"task_id": "t", "title": "Rest"}]) == [(0, "h1"), (0, "h2")]


def test_an_ancestor_comes_whatever_its_kind_or_task():
    items = [said("call", kind="tool_call", task_id="other"), said("turn", parent="call")]
    route = load_settings(policy={"phase": "route"})
    assert added(items, settings=route) == [(0, "call")]


def test_what_another_pool_of_the_task_holds_is_not_added_twice():
    items = [said("own", task_id="t0", graph="g"), said("all", parent="own")]
    assert added(items, [{"task_id": "t0"}, {"task_id": "t1"}]) == [(1, "own")]


@pytest.mark.parametrize(
    "items",
    [
        [said("a", parent="a")],
        [said("a", parent="missing")],
        [said("a", parent="b"), said("b", parent="a")],
        [said("a", parent="b"), said("b", parent="c"), said("c", parent="b")],
    ],
    ids=["self", "missing", "ring", "ring above"],
)
def test_odd_links_are_safe(items):
    assert added(items) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 8)), min_size=1, max_size=8),
    st.lists(st.sampled_from([None, "t0", "t1"]), min_size=8, max_size=8),
)
def test_afterwards_every_ancestor_of_a_candidate_is_a_candidate(links, owners):
    items = [
        said(f"i{place}", parent=None if parent is None else f"i{parent}", task_id=owners[place])
        for place, parent in enumerate(links)
    ]
    after = resolve_dependency_closure(generate_candidates(batch(items, 2), SETTINGS), SETTINGS)
    pairs = set(after.memberships.join(after.pools, on="pool").select("task", "item").iter_rows())
    extra = list(after.added.select("task", "item").iter_rows())
    assert len(set(extra)) == len(extra)
    assert not pairs & set(extra)
    for task, item in pairs | set(extra):
        parent = links[int(names(after, [item])[0][1:])]
        if parent is not None and parent < len(links):
            assert (task, parent) in pairs | set(extra)

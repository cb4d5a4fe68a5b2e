"""Stage 3: what is at or above the floor leaves here and for good."""

from __future__ import annotations

import pytest

from tasks.settings import load_settings
from tasks.stages.candidates import generate_candidates
from tasks.stages.closure import resolve_dependency_closure
from tasks.stages.sensitivity import apply_sensitivity_filter
from tasks.terms import LEVELS
from tests.tasks.batches import SETTINGS, batch, out, said

ITEMS = [
    said("open", "open words"),
    said(
        "closed",
        "sealed words",
        sensitivity="confidential",
        kind="tool_result",
        raw=b"sealed bytes",
        media_type="text/x-sealed",
        tags=["sealed"],
        redactions=3,
    ),
    said("child", "sealed too", parent="closed"),
    said("grandchild", "sealed as well", parent="child", sensitivity="internal"),
    said("parent", "above"),
    said("inner", "inner words", parent="parent", sensitivity="internal"),
]


def filtered(items=ITEMS, **policy):
    settings = load_settings(policy=policy)
    before = resolve_dependency_closure(generate_candidates(batch(items), SETTINGS), SETTINGS)
    return apply_sensitivity_filter(before, settings)


def rows(after):
    return {row["item_id"]: row for row in after.items.to_dicts()}


def test_the_default_drops_from_confidential_on():
    after = filtered()
    assert out(after) == dict.fromkeys(("closed", "child", "grandchild"), "sensitivity")


@pytest.mark.parametrize("floor", LEVELS)
def test_the_floor_itself_is_out(floor):
    items = [said(level, sensitivity=level) for level in LEVELS]
    after = filtered(items, sensitivity_floor=floor)
    assert set(out(after)) == set(LEVELS[LEVELS.index(floor) :])


@pytest.mark.parametrize("action", ["drop", "redact"])
def test_nothing_of_a_closed_item_is_left(action):
    after = filtered(sensitivity_action=action)
    assert "sealed" not in str(after.items.to_dicts())
    row = rows(after)["closed"]
    assert [row[name] for name in ("raw", "artifact", "media_type", "content_hash")] == [None] * 4
    assert row["tags"] == []
    assert row["redactions"] == 0


def test_a_descendant_takes_the_label_of_what_is_above_it():
    found = rows(filtered())
    assert found["child"]["sensitivity"] == found["grandchild"]["sensitivity"] == "confidential"
    assert found["inner"]["sensitivity"] == "internal", "below the floor a label stays its own"
    assert found["parent"]["sensitivity"] == "public", "nothing goes up"


def test_the_highest_label_above_counts():
    items = [
        said("a", sensitivity="restricted"),
        said("b", parent="a", sensitivity="confidential"),
        said("c", parent="b"),
    ]
    assert {row["sensitivity"] for row in rows(filtered(items)).values()} == {"restricted"}


def test_redaction_keeps_the_candidate_and_puts_the_level_in_its_place():
    after = filtered(sensitivity_action="redact")
    assert out(after) == {}
    row = rows(after)["child"]
    assert row["text"] == "[REDACTED: confidential]"
    assert row["tokens"] > 0
    assert rows(after)["open"]["text"] == "open words"


def test_rings_and_missing_parents_are_safe():
    items = [said("a", parent="b", sensitivity="restricted"), said("b", parent="a"), said("c", parent="nobody")]
    after = filtered(items)
    assert set(out(after)) == {"a", "b"}


def test_a_batch_without_closed_items_stays_the_very_same():
    before = batch([said("a")])
    assert apply_sensitivity_filter(before, SETTINGS) is before

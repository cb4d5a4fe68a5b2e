"""Which items are alike is what comparing each with each gives."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.likeness import likeness
from tasks.lineage import lineage
from tasks.settings import load_settings
from tasks.text import jaccard, word_table
from tests.tasks.batches import batch, said

FEW = [f"word{letter}" for letter in "abcd"]
MANY = [f"word{first}{second}" for first in "abcdefgh" for second in "ijklm"]


@pytest.mark.parametrize("words", [FEW, MANY], ids=["few words", "many words"])
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_edges_are_those_of_a_plain_comparison(words, data):
    """With few words they are brought together two by two, with many one by one."""
    sets = data.draw(st.lists(st.frozensets(st.sampled_from(words), min_size=1, max_size=8), max_size=40, unique=True))
    threshold = data.draw(st.sampled_from([0.01, 0.3, 0.5, 2 / 3, 0.85, 1.0]))
    chosen = load_settings(dedup={"threshold": threshold, "guards": False})
    items = batch([said(f"e{number:02}", " ".join(sorted(own))) for number, own in enumerate(sets)]).items
    table = word_table(items.select(pl.col("item").alias("id"), "text"), "unicode").rows.rename({"id": "item"})
    found = likeness(items, table, lineage(items), chosen)
    item_of = {row["class"]: row["item"] for row in found.classes.to_dicts()}
    edges = {(item_of[loser], item_of[winner]) for loser, winner in found.edges.iter_rows()}
    plain = {
        (one, other)
        for one, left in enumerate(sets)
        for other, right in enumerate(sets)
        if one != other and left & right and jaccard(left, right) >= threshold
    }
    assert edges == plain

"""The index finds the items that share a word with a task, however common the word is."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks import similarity as module
from tasks.similarity import Similarity
from tasks.text import numbered

WORDS = st.frozensets(st.sampled_from("abcdefgh"), max_size=8)


def rows(sets, name):
    table = [(number, word) for number, words in enumerate(sets) for word in sorted(words)]
    return pl.DataFrame(table, schema={name: pl.UInt32, "token": pl.String}, orient="row")


@pytest.mark.parametrize("rare", [0, 3, 1_000])
@settings(max_examples=60, deadline=None)
@given(items=st.lists(WORDS, max_size=12), tasks=st.lists(WORDS, max_size=4))
def test_similarities_are_jaccards_whichever_way_items_are_counted(rare, items, tasks):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_RARE", rare)
        index = Similarity(numbered(rows(items, "id")), "jaccard")
        got = {
            task: dict(zip(found.tolist(), values.tolist(), strict=True))
            for task, found, values in index.of(
                index.asked(rows(tasks, "task")), pl.Series(range(len(tasks)), dtype=pl.UInt32)
            )
        }
    plain = {
        task: {item: len(own & asked) / len(own | asked) for item, own in enumerate(items) if own & asked}
        for task, asked in enumerate(tasks)
    }
    assert got == {task: alike for task, alike in plain.items() if alike}

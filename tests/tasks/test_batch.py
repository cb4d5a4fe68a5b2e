"""The frames that travel through the stages are made of plain rows."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tasks.batch import Tasks, empty, frame_of

TEXTS = st.text(st.sampled_from('ab\x1f\n,"[]'), max_size=3)


@given(st.lists(st.none() | st.lists(TEXTS, max_size=3), max_size=6))
def test_lists_of_texts_are_kept_as_they_are(rows):
    frame = frame_of(Tasks, [{"task_id": f"T-{place}", "tools": row} for place, row in enumerate(rows)])
    assert frame.schema == empty(Tasks).schema
    assert frame["tools"].to_list() == rows


def test_columns_that_come_later_are_left_out():
    frame = frame_of(Tasks, [{"tools": ["bash"], "task_id": "T-1"}], ["task_id", "tools"])
    assert frame.equals(pl.DataFrame({"task_id": ["T-1"], "tools": [["bash"]]}))

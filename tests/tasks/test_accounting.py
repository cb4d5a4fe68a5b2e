"""What goes in is what comes out plus what was dropped."""

from __future__ import annotations

import polars as pl

from tasks.accounting import alive_counts, record
from tasks.pipeline import STAGES
from tasks.settings import load_settings
from tests.tasks.batches import SETTINGS, batch, brief, passage, said

ITEMS = [
    brief("t0"),
    brief("t1"),
    passage("head", "# Other"),
    passage("p", "login page", "head"),
    passage("no", "nothing of it"),
    said("u", "open words of a login"),
    said("dup", "open words of a login"),
    said("sealed", "x", sensitivity="restricted"),
    said("below", "y", "sealed"),
    said("r", "row\n" * 200, kind="tool_result", raw=b"row"),
    *(said(f"long{number}", f"text {number} " * 80) for number in range(12)),
]
TASKS = [{"task_id": "t0", "title": "login"}, {"task_id": "t1", "title": "other things"}]


def through(items=ITEMS, tasks=TASKS, settings=SETTINGS):
    after = batch(items, tasks, settings)
    for stage in STAGES:
        after = record(after, stage(after, settings), stage.__name__)
    return after


def test_eight_rows_a_task_each_out_the_next_ones_in():
    for (_,), rows in through(settings=load_settings(budget={"tokens": 500})).stages.group_by("task"):
        assert rows["stage"].cast(pl.String).to_list() == [stage.__name__ for stage in STAGES]
        for unit in ("candidates", "tokens"):
            assert rows[f"{unit}_out"].to_list()[:-1] == rows[f"{unit}_in"].to_list()[1:]
        for row in rows.to_dicts():
            dropped = sum(drop["count"] for drop in row["drops"])
            assert row["candidates_out"] == row["candidates_in"] - dropped + row["closures_added"]


def test_drops_are_counted_by_reason_where_they_happen():
    after = through(settings=load_settings(budget={"tokens": 500}))
    rows = after.stages.filter(pl.col("task") == 0)
    drops = {row["stage"]: {drop["reason"]: drop["count"] for drop in row["drops"]} for row in rows.to_dicts()}
    assert drops["generate_candidates"] == {"irrelevant": 2}
    assert drops["apply_sensitivity_filter"] == {"sensitivity": 2}
    assert drops["apply_firewall_to_batch"] == {}
    assert drops["deduplicate_candidates"] == {"duplicate": 1}
    assert drops["select_and_pack"].keys() == {"budget"}
    assert rows["closures_added"].to_list() == [0, 1, 0, 0, 0, 0, 0, 0], "the heading came back"


def test_all_that_a_pool_holds_goes_into_the_first_stage():
    after = through()
    assert after.stages.filter((pl.col("task") == 0) & (pl.col("stage").cast(pl.String) == STAGES[0].__name__))[
        "candidates_in"
    ].to_list() == [len(ITEMS) - 1]


def test_a_summary_makes_the_firewalls_tokens_fewer():
    row = (
        through()
        .stages.filter((pl.col("task") == 0) & (pl.col("stage").cast(pl.String) == STAGES[3].__name__))
        .row(0, named=True)
    )
    assert row["tokens_out"] < row["tokens_in"]


def test_tasks_without_candidates_have_their_rows():
    after = through([], [{"task_id": "t"}])
    assert len(after.stages) == 8
    assert after.stages["candidates_in"].sum() == 0
    assert alive_counts(after).is_empty()

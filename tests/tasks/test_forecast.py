"""The forecast of sessions: what a task costs, how tasks are dealt, and where a session breaks."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.assignments import Assignment, dealt, read_assignment
from tasks.errors import InputError, SettingsError
from tasks.forecast import TaskForecast, WorkerForecast, forecast

FILES = {"graph": pl.String, "task_id": pl.String, "path": pl.String, "size": pl.Int64}


def tasks(*rows):
    """`(task_id, level, prompt_tokens)` each, of one graph."""
    data = [("shop", *row) for row in rows]
    types = {"graph": pl.String, "task_id": pl.String, "level": pl.Int32, "prompt_tokens": pl.UInt32}
    return pl.DataFrame(data, schema=types, orient="row")


def files(*rows):
    return pl.DataFrame([("shop", *row) for row in rows], schema=FILES, orient="row")


def shown(assignment):
    return [f"{worker}: {task}" for worker, task in assignment.select("worker", "task_id").iter_rows()]


# ---- who does what ----------------------------------------------------------------------------------------------

PLAN = tasks(("T1", 1, 10), ("T2", 1, 10), ("T3", 1, 10), ("T4", 2, 10), ("T5", 2, 10))


def test_the_tasks_of_each_level_are_dealt_in_turn():
    assert shown(dealt(PLAN, 2)) == ["worker-0: T1", "worker-0: T3", "worker-0: T4", "worker-1: T2", "worker-1: T5"]


def test_there_are_as_many_workers_as_the_largest_level_has_tasks_and_five_at_most():
    assert dealt(PLAN)["worker"].unique().sort().to_list() == ["worker-0", "worker-1", "worker-2"]
    assert dealt(tasks(*((f"T{n:02}", 1, 1) for n in range(12))))["worker"].n_unique() == 5


def test_the_deal_does_not_depend_on_the_order_of_rows():
    assert dealt(PLAN.reverse(), 2).equals(dealt(PLAN, 2))


def test_without_a_worker_nothing_is_dealt():
    with pytest.raises(SettingsError):
        dealt(PLAN, 0)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ({"ann": ["T2", "T1"], "bob": ["shop/T3", "T4", "T5"]}, ["ann: T2", "ann: T1", "bob: T3", "bob: T4", "bob: T5"]),
        (
            {"feature": "shop", "workers": [{"id": 0, "assignments": {"10": ["T1"], "9": ["T4"]}},
                                            {"id": 1, "assignments": {"1": ["T2", "T3"], "2": ["T5"]}}]},
            ["worker-0: T4", "worker-0: T1", "worker-1: T2", "worker-1: T3", "worker-1: T5"],
        ),
        (
            {"feature": "shop", "worker_count": 2, "assignments": [
                {"task_id": "T5", "worker_id": 1, "level": 0}, {"task_id": "T4", "worker_id": 0, "level": 0},
                {"task_id": "T1", "worker_id": 0}, {"task_id": "T2", "worker_id": 1}, {"task_id": "T3", "worker_id": 1}]},
            ["worker-0: T1", "worker-0: T4", "worker-1: T2", "worker-1: T3", "worker-1: T5"],
        ),
    ],
)  # fmt: skip
def test_an_assignment_is_read_in_three_forms(tmp_path, content, wanted):
    path = tmp_path / "assignment.json"
    path.write_text(json.dumps(content))
    frame, findings = read_assignment(path, PLAN)
    assert shown(frame) == wanted
    assert findings == []
    assert Assignment.is_valid(frame)


def test_what_an_assignment_gets_wrong_is_found(tmp_path):
    path = tmp_path / "assignment.json"
    path.write_text(json.dumps({"ann": ["T1", "T9"], "bob": ["T1", "T2"], "eve": []}))
    frame, findings = read_assignment(path, PLAN)
    assert shown(frame) == ["ann: T1", "bob: T2"]
    assert {row["code"]: row["message"] for row in findings} == {
        "ASSIGNMENT_UNKNOWN_TASK": "It names tasks that are not one in this build: 'T9'.",
        "ASSIGNMENT_REPEATED_TASK": "It gives tasks to a worker again; the first time counts: 'T1'.",
        "ASSIGNMENT_MISSING_TASK": "It leaves out tasks of the build: 'shop/T3', 'shop/T4', 'shop/T5'.",
    }


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (
            {"assignments": [{"task_id": "T1", "worker_id": None}, {"task_id": "T2"}, {"task_id": "T3", "worker_id": []},
                             {"task_id": "T4", "worker_id": True}, {"task_id": "T5", "worker_id": 1}]},
            ["worker-1: T5"],
        ),
        ({"workers": [{"id": None, "assignments": {"1": ["T5"]}}]}, ["worker-0: T5"]),
    ],
)  # fmt: skip
def test_what_nobody_has_taken_on_is_left_out_and_said(tmp_path, content, wanted):
    path = tmp_path / "assignment.json"
    path.write_text(json.dumps(content))
    frame, findings = read_assignment(path, PLAN)
    assert shown(frame) == wanted
    assert [row["code"] for row in findings] == ["ASSIGNMENT_MISSING_TASK"]
    assert "'shop/T1', 'shop/T2', 'shop/T3', 'shop/T4'" in findings[0]["message"]


def test_an_id_that_two_graphs_share_is_unknown_without_its_graph(tmp_path):
    plan = pl.concat([PLAN, PLAN.with_columns(graph=pl.lit("bank"))])
    path = tmp_path / "assignment.json"
    path.write_text(json.dumps({"ann": ["T1", "bank/T2"]}))
    frame, findings = read_assignment(path, plan)
    assert frame.rows() == [("ann", "bank", "T2")]
    assert findings[0]["code"] == "ASSIGNMENT_UNKNOWN_TASK"
    path.write_text(json.dumps({"feature": "bank", "workers": [{"id": 0, "assignments": {"1": ["T1"]}}]}))
    assert read_assignment(path, plan)[0].rows() == [("worker-0", "bank", "T1")]


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"ann": "T1"}', '{"workers": [1]}', "[" * 100_000])
def test_a_file_that_assigns_nothing_is_refused(tmp_path, content):
    path = tmp_path / "assignment.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError):
        read_assignment(path, PLAN)


# ---- what it comes to -------------------------------------------------------------------------------------------


def test_a_task_costs_its_context_its_files_thirty_calls_and_the_flat_sum():
    plan = tasks(("T1", 1, 3_000))
    made = forecast(plan, files(("T1", "a.py", 4_000), ("T1", "b.py", None)), dealt(plan))
    (row,) = made.tasks.to_dicts()
    assert row["context_tokens"] == 3_000
    assert (row["files"], row["assumed_sizes"], row["file_tokens"]) == (2, 1, 1_100 + 2_100)
    assert (row["tool_tokens"], row["task_tokens"]) == (1_500, 500)
    assert row["tokens"] == row["session_tokens"] == 3_000 + 3_200 + 1_500 + 500


def test_a_task_without_prompt_or_files_costs_its_calls_and_the_flat_sum():
    plan = tasks(("T1", 1, None))
    assert forecast(plan, files(), dealt(plan)).tasks["tokens"].to_list() == [2_000]


def test_a_session_breaks_before_the_task_that_would_bring_it_to_the_threshold():
    plan = tasks(*((f"T{n}", n, 8_000) for n in range(1, 6)))  # 10,000 each
    made = forecast(plan, files(), dealt(plan, 1), 40_000, 75)
    assert made.tasks["checkpoint_before"].to_list() == [False, False, True, False, True]
    assert made.tasks["session"].to_list() == [1, 1, 2, 2, 3]
    assert made.tasks["session_tokens"].to_list() == [10_000, 20_000, 10_000, 20_000, 10_000]
    (worker,) = made.workers.to_dicts()
    assert (worker["tokens"], worker["usage_percent"], worker["crosses"], worker["sessions"]) == (50_000, 125, True, 3)
    assert worker["checkpoint_before"] == ["shop/T3", "shop/T5"]


def test_at_the_threshold_is_over_it():
    plan = tasks(("T1", 1, 8_000), ("T2", 2, 8_000))
    assert forecast(plan, files(), dealt(plan, 1), 20_000, 100).workers["crosses"].item()
    assert not forecast(plan, files(), dealt(plan, 1), 20_001, 100).workers["crosses"].item()


def test_a_task_over_the_threshold_by_itself_says_so():
    plan = tasks(("T1", 1, 50_000), ("T2", 2, 1_000))
    made = forecast(plan, files(), dealt(plan, 1), 40_000, 75)
    assert made.tasks["is_over_threshold"].to_list() == [True, False]
    assert made.tasks["checkpoint_before"].to_list() == [False, True]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 90_000), st.lists(st.integers(0, 10**6), max_size=3)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 4),
    st.integers(1, 300_000),
)
def test_every_session_stays_below_the_threshold_but_for_single_tasks_over_it(rows, workers, window):
    plan = tasks(*((f"T{n:02}", level, prompt) for n, (level, prompt, _) in enumerate(rows)))
    read = files(*((f"T{n:02}", f"{k}", size) for n, (_, _, sizes) in enumerate(rows) for k, size in enumerate(sizes)))
    made = forecast(plan, read, dealt(plan, workers), window, 70)
    assert TaskForecast.is_valid(made.tasks)
    assert WorkerForecast.is_valid(made.workers)
    assert sorted(made.tasks["task_id"]) == sorted(plan["task_id"])
    limit = -(-window * 70 // 100)
    over = made.tasks.filter(pl.col("session_tokens") >= limit)
    assert over["is_over_threshold"].all()
    assert made.workers["tokens"].sum() == made.tasks["tokens"].sum()
    sums = made.tasks.group_by("worker", "session").agg(pl.sum("tokens"), pl.max("session_tokens"))
    assert sums.filter(pl.col("tokens") != pl.col("session_tokens")).is_empty()

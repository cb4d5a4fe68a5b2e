"""How a budget is shared: the rule, the frame, and what a build makes of it."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.batch import Tasks, frame_of
from tasks.budgets import allocate, budget_exceeded, budget_for_task, budget_summary
from tasks.building import build
from tasks.errors import SettingsError
from tasks.outputs.reader import BuildFolder
from tasks.settings import load_settings
from tasks.sources.inputs import Request

EMPTY = {name: [] for name in ("dependencies", "related", "consumers", "files_create", "files_modify", "files_read", "files_delete", "files_inferred",
                               "acceptance_criteria", "tools")}  # fmt: skip


def task(task_id, create=(), modify=(), read=(), *, budget=None, graph="shop"):
    return EMPTY | {
        "graph": graph,
        "task_id": task_id,
        "title": task_id,
        "description": "",
        "level": 1,
        "progress": "pending",
        "files_create": list(create),
        "files_modify": list(modify),
        "files_read": list(read),
        "verification": "",
        "context": "",
        "budget_tokens": budget,
        "position": 0,
    }


def tasks(*rows):
    return frame_of(Tasks, [{"task": place, **row} for place, row in enumerate(rows)])


def by_files(tokens=None):
    return load_settings(budget={"allocation": "by_files", "tokens": tokens})


@pytest.mark.parametrize(
    ("total", "files", "budget"),
    [(4000, 1, 4000), (4000, 0, 4000), (4000, 3, 1333), (4000, 8, 500), (4000, 100, 500), (300, 1, 300), (300, 9, 300),
     (500, 2, 500), (4000, -1, 4000)],
)  # fmt: skip
def test_a_task_gets_the_total_by_its_files_between_500_and_the_total(total, files, budget):
    assert budget_for_task(total, files) == budget


@pytest.mark.parametrize("total", [0, -1])
def test_a_total_that_is_not_above_zero_is_refused(total):
    with pytest.raises(SettingsError):
        budget_for_task(total, 1)


@given(st.integers(1, 10**9), st.integers(0, 1000))
def test_a_budget_lies_between_500_and_the_total_and_falls_with_the_files(total, files):
    budget = budget_for_task(total, files)
    assert min(500, total) <= budget <= total
    assert budget_for_task(total, files + 1) <= budget


def test_uniform_leaves_the_frame_as_it_is():
    frame = tasks(task("T1", create=["a", "b"]), task("T2", budget=900))
    same, findings = allocate(frame, load_settings())
    assert same.equals(frame)
    assert findings == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5), st.integers(1, 9000))
def test_by_files_is_the_rule_for_each_task(files, total):
    rows = [
        task(f"T{place}", [f"c{n}" for n in range(create)], [f"m{n}" for n in range(modify)], ["r"])
        for place, (create, modify) in enumerate(files)
    ]
    frame, findings = allocate(tasks(*rows), by_files(total))
    wanted = [budget_for_task(total, create + modify) for create, modify in files]
    assert frame["budget_tokens"].to_list() == wanted
    assert Tasks.is_valid(frame)
    assert [row["code"] for row in findings] == (["BUDGET_EXCEEDED"] if sum(wanted) > total else [])


def test_a_file_that_is_created_and_modified_counts_once():
    frame, _ = allocate(tasks(task("T1", create=["a", "b"], modify=["b"])), by_files(4000))
    assert frame["budget_tokens"].to_list() == [2000]


def test_a_budget_of_the_plan_stays_unless_one_is_set_for_all():
    frame = tasks(task("T1", create=["a", "b"], budget=900))
    assert allocate(frame, by_files())[0]["budget_tokens"].to_list() == [900]
    assert allocate(frame, by_files(3000))[0]["budget_tokens"].to_list() == [1500]


def test_the_summary_has_a_row_a_graph():
    frame = pl.DataFrame({"graph": ["b", "a", "a"], "budget_tokens": [4000, 1333, 500]})
    assert budget_summary(frame, 4000).to_dicts() == [
        {"graph": "a", "tasks": 2, "total": 4000, "allocated": 1833, "average": 916.5},
        {"graph": "b", "tasks": 1, "total": 4000, "allocated": 4000, "average": 4000.0},
    ]


def test_a_sum_above_the_total_is_a_finding_and_huge_budgets_do_not_overflow():
    frame = pl.DataFrame({"graph": ["a", "a", "b"], "budget_tokens": [2**63 - 1, 2**63 - 1, 4000]})
    (row,) = budget_exceeded(budget_summary(frame, 4000))
    assert (row["severity"], row["code"], row["where"]) == ("info", "BUDGET_EXCEEDED", "a")
    assert f"{2**64 - 2} tokens" in row["message"]


def test_in_a_build_each_prompt_keeps_to_its_allocation(tmp_path):
    plan = {
        "feature": "shop",
        "tasks": [
            {"id": "T-001", "title": "Count carts", "level": 1, "files": {"create": ["src/a.py"]}},
            {
                "id": "T-002",
                "title": "Count orders and carts",
                "level": 1,
                "progress": "pending",
                "files": {"create": ["src/b.py"], "modify": ["src/c.py"]},
            },
        ],
    }
    graph = tmp_path / "task-graph.json"
    graph.write_text(json.dumps(plan))
    passages = "".join(f"## Part {n}\n\nShop one or two holds {n} carts and {n * 7} orders.\n\n" for n in range(300))
    (tmp_path / "design.md").write_text(f"# Shop\n\n{passages}")
    settings = load_settings(budget={"allocation": "by_files", "tokens": 3000})
    folder = BuildFolder(build(Request(graphs=(graph,), cwd=tmp_path), settings, tmp_path / "builds").path)
    assert folder.tasks["budget_tokens"].to_list() == [3000, 1500]
    one, two = folder.tasks["prompt_tokens"].to_list()
    assert 1500 < one <= 3000
    assert 750 < two <= 1500
    assert "BUDGET_EXCEEDED" in folder.findings["code"].to_list()

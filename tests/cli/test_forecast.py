"""The forecast command on the sample: sizes, assignments, what it prints and what it writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from flows.cli import app
from tasks.forecast import TaskForecast, WorkerForecast


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def project(tmp_path_factory, quickstart) -> Path:
    """A project folder with the sample's graph and one build of it, made from within."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(quickstart / "task-graph.json", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run("build", "task-graph.json").exit_code == 0
    return folder


@pytest.fixture
def inside(project, monkeypatch) -> Path:
    monkeypatch.chdir(project)
    return project


def forecast(*arguments):
    result = run("forecast", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def by_task(said):
    return {row["task_id"]: row for row in said["tasks"]}


def test_the_newest_build_is_forecast_with_five_workers(inside):
    said = forecast()
    assert [row["worker"] for row in said["workers"]] == [f"worker-{n}" for n in range(5)]
    assert len(said["tasks"]) == 14
    assert said["build_id"] == (inside / "builds" / "latest").resolve().name
    assert (said["window_tokens"], said["threshold_percent"], said["threshold_tokens"]) == (200_000, 70, 140_000)


def test_files_that_a_task_modifies_or_reads_count_and_those_that_it_creates_do_not(inside, quickstart):
    plan = {task["id"]: task["files"] for task in json.loads((quickstart / "task-graph.json").read_text())["tasks"]}
    rows = by_task(forecast())
    for task_id, parts in plan.items():
        read = {*parts.get("modify", []), *parts.get("read", [])}
        assert rows[task_id]["files"] == rows[task_id]["assumed_sizes"] == len(read)
        assert rows[task_id]["file_tokens"] == len(read) * (8_000 // 4 + 100)


def test_sizes_come_from_the_files_under_the_root(inside, tmp_path):
    path = next(task for task in json.loads(Path("task-graph.json").read_text())["tasks"] if task["files"].get("read"))
    name = path["files"]["read"][0]
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"x" * 40_000)
    said = forecast("--root", tmp_path)
    without = by_task(forecast())[path["id"]]
    row = by_task(said)[path["id"]]
    assert row["assumed_sizes"] == without["assumed_sizes"] - 1
    assert row["file_tokens"] == without["file_tokens"] + 10_000 - 2_000
    assert [finding["code"] for finding in said["findings"]] == ["FORECAST_SIZE_ASSUMED"]


def test_sizes_that_are_assumed_are_told_with_their_reason(inside, tmp_path):
    (without,), (within,) = (forecast(*arguments)["findings"] for arguments in ([], ["--root", tmp_path]))
    assert without["message"].startswith("No --root says where the ")
    assert "not found under --root" in within["message"]


def test_a_root_is_not_left(tmp_path, monkeypatch):
    (tmp_path / "secret").write_bytes(b"x" * 4_000)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    files = {"read": ["../secret", str(tmp_path / "secret"), "link", "~", "a\0b"]}
    graph = {"feature": "shop", "tasks": [{"id": "T-001", "title": "One", "level": 1, "files": files}]}
    monkeypatch.chdir(tmp_path)
    Path("task-graph.json").write_text(json.dumps(graph))
    assert run("build", "task-graph.json").exit_code == 0
    (row,) = forecast("--root", "root")["tasks"]
    assert row["assumed_sizes"] == row["files"] == 5


def test_a_graph_that_has_moved_is_named_or_its_tasks_count_without_files(inside, tmp_path, monkeypatch):
    builds, graph = inside / "builds", inside / "task-graph.json"
    whole = by_task(forecast())
    monkeypatch.chdir(tmp_path)
    said = forecast(builds)
    assert {row["files"] for row in said["tasks"]} == {0}
    assert [finding["code"] for finding in said["findings"]] == ["FORECAST_NO_GRAPH"]
    assert "--graph" in run("forecast", builds).stderr
    assert by_task(forecast(builds, "--graph", graph)) == whole


def test_a_graph_that_has_changed_since_is_not_taken_for_the_one_built(inside, tmp_path, monkeypatch):
    shutil.copytree(inside, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy")
    path = Path("task-graph.json")
    path.write_text(path.read_text().replace("TASK-001", "TASK-0X1"))
    assert [finding["code"] for finding in forecast()["findings"]] == ["FORECAST_NO_GRAPH"]


def test_two_graphs_of_one_feature_keep_their_files_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        task = {
            "id": "T-001",
            "title": name,
            "level": 1,
            "files": {"read": [f"{name}{n}" for n in range(1 + (name == "b"))]},
        }
        Path(f"{name}.json").write_text(json.dumps({"feature": "shop", "tasks": [task]}))
    assert run("build", "a.json", "b.json").exit_code == 0
    said = forecast()
    assert sorted(row["files"] for row in said["tasks"]) == [1, 2]
    assert len({row["graph"] for row in said["tasks"]}) == 2
    Path("a.json").unlink()
    said = forecast()
    assert sorted(row["files"] for row in said["tasks"]) == [0, 2]


def test_an_assignment_says_who_works_on_what(inside, tmp_path):
    path = tmp_path / "assignment.json"
    path.write_text(json.dumps({"ann": ["TASK-001", "TASK-007"], "bob": ["TASK-002"]}))
    said = forecast("--assignment", path)
    assert [(row["worker"], row["tasks"]) for row in said["workers"]] == [("ann", 2), ("bob", 1)]
    assert said["findings"][0]["code"] == "ASSIGNMENT_MISSING_TASK"


def test_the_table_names_where_to_checkpoint(inside):
    result = run("forecast", "--workers", "1", "--window", "100000", "--threshold", "60")
    assert result.exit_code == 0
    said = forecast("--workers", "1", "--window", "100000", "--threshold", "60")["workers"][0]
    assert said["crosses"]
    assert said["checkpoint_before"]
    assert f"checkpoint before {', '.join(said['checkpoint_before'])}" in result.stdout
    assert (
        "budget of webhook-delivery: 56,000 tokens allocated to 14 tasks (uniform), 4,000.0 on average" in result.stdout
    )


def test_both_frames_go_to_parquet(inside, tmp_path):
    result = run("forecast", "--out", tmp_path / "swarm.parquet", "--json")
    assert result.exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["swarm.parquet", "swarm.workers.parquet"]
    tasks, workers = (pl.read_parquet(tmp_path / name) for name in ("swarm.parquet", "swarm.workers.parquet"))
    assert TaskForecast.is_valid(tasks)
    assert WorkerForecast.is_valid(workers)
    said = json.loads(result.stdout)
    assert (tasks.to_dicts(), workers.to_dicts()) == (said["tasks"], said["workers"])


def test_budgets_by_files_are_summed_and_found_above_the_total(inside, monkeypatch):
    monkeypatch.setenv("PREBRIEF_BUDGET__ALLOCATION", "by_files")
    run("build", "task-graph.json", "--out", "by-files")
    said = forecast("by-files")
    assert said["allocation"] == "by_files"
    (row,) = said["budgets"]
    budgets = pl.read_parquet("by-files/latest/tasks.parquet")["budget_tokens"]
    assert (row["total"], row["tasks"], row["allocated"]) == (4_000, 14, budgets.sum())
    assert budgets.n_unique() > 1
    assert said["findings"][-1]["code"] == "BUDGET_EXCEEDED"
    assert run("audit", "by-files").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nowhere"], "BUILD_MISSING"),
        (["--workers", "0"], "SETTINGS"),
        (["--workers", "2", "--assignment", "a.json"], "SETTINGS"),
        (["--assignment", "missing.json"], "INPUT"),
        (["--window", "0"], "TRACKING"),
        (["--threshold", "101"], "TRACKING"),
        (["--out", "no/such/folder/f.parquet"], "OUTPUT"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_2(inside, arguments, code):
    result = run("forecast", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error {code}: ")
    assert len(result.stderr.splitlines()) == 1

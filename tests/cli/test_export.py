"""`prebrief export`: what it writes and prints, and the exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app
from tasks.outputs.reader import BuildFolder


def run(*arguments, **environment):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)


@pytest.fixture(scope="module")
def work(tmp_path_factory, quickstart):
    """A working folder with the sample swarm, built."""
    place = tmp_path_factory.mktemp("export")
    shutil.copytree(quickstart, place / "plan")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        done = run("build", "plan/task-graph.json", "--history", "plan/history.jsonl")
        assert done.exit_code == 0, done.output
    return place


@pytest.fixture(autouse=True)
def inside(work, monkeypatch):
    monkeypatch.chdir(work)
    for name in ("ZERG_TASK_GRAPH", "PREBRIEF_TASK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(work):
    return BuildFolder((work / "builds" / "latest").resolve())


def test_the_graph_goes_beside_the_original(work):
    done = run("export", "--format", "zerg")
    assert done.exit_code == 0
    assert done.stdout == "plan/task-graph.prebrief.json\n"
    assert "warning: plan/task-graph.json: ZERG would refuse to launch it: " in done.stderr
    tasks = json.loads(Path("plan/task-graph.prebrief.json").read_text())["tasks"]
    assert all(entry["context"] for entry in tasks)


def test_the_graph_goes_where_zerg_looks_for_it(tmp_path):
    target = tmp_path / "graph.json"
    done = run("export", "--format", "zerg", "--overwrite", "--json", ZERG_TASK_GRAPH=str(target))
    assert done.exit_code == 0
    said = json.loads(done.stdout)
    assert said["written"] == [str(target)]
    assert (said["filled"], said["kept"], said["missing"]) == (14, 0, 0)
    assert target.is_file()


def test_the_original_stays_without_in_place(tmp_path, work):
    before = Path("plan/task-graph.json").read_bytes()
    done = run("export", "--format", "zerg", "--out", "plan/task-graph.json")
    assert (done.exit_code, Path("plan/task-graph.json").read_bytes()) == (2, before)
    assert done.stderr.startswith("error EXPORT: ")
    moved = tmp_path / "task-graph.json"
    moved.write_bytes(before)
    done = run("export", "--format", "zerg", "--graph", moved, "--in-place")
    assert done.exit_code == 0
    assert len(moved.read_bytes()) > len(before)


def test_what_planners_wrote_is_counted_and_so_is_what_was_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tasks = [{"id": name, "title": name, "level": 1, "context": own} for name, own in (("A1", "Mine."), ("A2", [1]))]
    Path("task-graph.json").write_text(json.dumps({"feature": "shop", "tasks": tasks}))
    assert run("build", "task-graph.json").exit_code == 0
    done = run("export", "--format", "zerg", "--json")
    said = json.loads(done.stdout)
    assert (said["filled"], said["kept"], said["missing"], said["replaced"]) == (1, 1, 0, 1)
    assert "contexts of planners that were kept: 1; --overwrite replaces them\n" in done.stderr
    assert "replaced what was no text as the context of A2." in done.stderr
    done = run("export", "--format", "zerg", "--in-place", ZERG_TASK_GRAPH=str(tmp_path / "elsewhere.json"))
    assert done.stdout == "task-graph.json\n"
    assert "elsewhere.json, which was not written: --in-place goes before it." in done.stderr


def test_markdown_is_a_folder_of_files(tmp_path, folder):
    done = run("export", "--format", "markdown", "--out", tmp_path / "md")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 14
    text = (tmp_path / "md" / "webhook-delivery" / "TASK-005.md").read_text("utf-8")
    assert text == folder.task("TASK-005")["prompt"]


def test_jsonl_goes_to_stdout_or_a_file(tmp_path):
    lines = run("export", "--format", "jsonl").stdout
    assert [json.loads(line)["task_id"] for line in lines.splitlines()] == [f"TASK-{n:03d}" for n in range(1, 15)]
    done = run("export", "--format", "jsonl", "--out", tmp_path / "rows.jsonl")
    assert done.stdout == f"{tmp_path / 'rows.jsonl'}\n"
    assert (tmp_path / "rows.jsonl").read_text("utf-8") == lines


def test_a_hook_prints_the_context_of_the_task_in_the_environment(folder):
    done = run("export", "--format", "claude", PREBRIEF_TASK="webhook-delivery/TASK-005")
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"] == folder.task("TASK-005")["prompt"]
    parts = [run("export", "--format", "claude", "--part", n, PREBRIEF_TASK="TASK-005").stdout for n in (1, 2, 3)]
    assert max(map(len, parts)) <= 10_000
    joined = "".join(json.loads(part)["hookSpecificOutput"]["additionalContext"] for part in parts if part)
    assert joined == answer["additionalContext"]


@pytest.mark.parametrize("task", [None, ""])
def test_a_hook_without_a_task_says_nothing(task):
    done = run("export", "--format", "claude", **({} if task is None else {"PREBRIEF_TASK": task}))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("task", ["TASK-999", "nowhere/TASK-005"])
def test_a_hook_with_an_unknown_task_adds_nothing_and_warns_once(task):
    done = run("export", "--format", "claude", PREBRIEF_TASK=task)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"warning: the build has no context of task {task!r}, which PREBRIEF_TASK names\n"
    later = run("export", "--format", "claude", "--part", 2, PREBRIEF_TASK=task)
    assert (later.exit_code, later.stdout, later.stderr) == (0, "", "")


def test_a_hook_with_an_id_of_several_graphs_says_how_to_name_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        tasks = [{"id": "T-001", "title": name, "level": 1}]
        Path(f"{name}.json").write_text(json.dumps({"feature": name, "tasks": tasks}))
    assert run("build", "one.json", "two.json").exit_code == 0
    done = run("export", "--format", "claude", PREBRIEF_TASK="T-001")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == ("warning EXPORT: 2 graphs have a task 'T-001'; name it graph/id: one/T-001, two/T-001.\n")
    assert run("export", "--format", "claude", "--part", 2, PREBRIEF_TASK="T-001").stderr == ""


def test_a_hook_never_stands_in_the_way(tmp_path):
    done = run("export", "--format", "claude", "--build", tmp_path, PREBRIEF_TASK="TASK-005")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("warning BUILD_MISSING: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--format", "yaml"], "EXPORT", "there is no format 'yaml'; choose one of zerg, markdown, jsonl, claude."),
        (["--format", "zerg", "--build", "nowhere"], "BUILD_MISSING", "run: prebrief build GRAPH"),
        (["--format", "zerg", "--graph", "plan/design.md"], "EXPORT", "cannot be read"),
        (["--format", "zerg", "--graph", "missing.json"], "EXPORT", "cannot be read"),
        (["--format", "zerg", "--in-place", "--out", "x"], "EXPORT", "give one of them"),
        (["--format", "markdown", "--out", "plan/design.md"], "EXPORT", "cannot be written"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_exit_code_2(arguments, code, said):
    done = run("export", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error {code}: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_lines_are_no_object():
    """`--json` promises one object, which JSON lines on stdout are not."""
    done = run("export", "--format", "jsonl", "--json")
    assert done.exit_code == 2
    assert "give --out FILE" in json.loads(done.stdout)["error"]["message"]


def test_tasks_without_a_context_make_exit_code_3(tmp_path):
    run("build", "plan/task-graph.json", "--budget", "100", "--out", tmp_path)
    done = run("export", "--format", "markdown", "--build", tmp_path, "--out", tmp_path / "md")
    assert done.exit_code == 3
    assert "warning: no prompt, and so no file, for webhook-delivery/TASK-001" in done.stderr
    rows = run("export", "--format", "jsonl", "--build", tmp_path)
    assert (rows.exit_code, len(rows.stdout.splitlines())) == (3, 14)
    done = run("export", "--format", "jsonl", "--build", tmp_path, "--out", tmp_path / "rows.jsonl", "--json")
    assert done.exit_code == 3
    said = json.loads(done.stdout)
    assert said["missing"] == sum(json.loads(row)["prompt"] is None for row in rows.stdout.splitlines()) > 0
    assert said["filled"] + said["missing"] == 14

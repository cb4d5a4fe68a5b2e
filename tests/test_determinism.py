"""Same inputs, same bytes: across processes, hash seeds, thread counts and the order of arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.swarms import ROOT, Built

SCRIPT = """
import sys
from pathlib import Path
from tasks.building import build
from tasks.settings import load_settings
from tasks.sources.inputs import Request

out, backwards, *logs = sys.argv[1:]
graphs = [Path("data/quickstart/task-graph.json"), Path(logs[0]).parent / "other.json"]
named = list(map(Path, logs))
if backwards == "yes":
    graphs.reverse()
    named.reverse()
print(build(Request(graphs=tuple(graphs), history=tuple(named), cwd=Path.cwd()), load_settings(), Path(out)).path)
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> list[str]:
    """The sample's log in two halves, and a second graph of the same name."""
    folder = tmp_path_factory.mktemp("logs")
    rows = (ROOT / "data" / "quickstart" / "history.jsonl").read_text("utf-8").splitlines(keepends=True)
    halves = {"a.jsonl": rows[: len(rows) // 2], "b.jsonl": rows[len(rows) // 2 :]}
    for name, part in halves.items():
        (folder / name).write_text("".join(part), "utf-8")
    plan = json.loads((ROOT / "data" / "quickstart" / "task-graph.json").read_text("utf-8"))
    plan["tasks"] = plan["tasks"][:3]
    (folder / "other.json").write_text(json.dumps(plan), "utf-8")
    return [str(folder / name) for name in halves]


def build(out: Path, logs: list[str], *, seed: str, threads: str, backwards: bool) -> Built:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out), "yes" if backwards else "no", *logs],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "POLARS_MAX_THREADS": threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Built(Path(done.stdout.strip()))


def test_seeds_threads_and_the_order_of_arguments_change_no_byte(tmp_path, logs):
    first = build(tmp_path / "one", logs, seed="1", threads="1", backwards=False)
    assert len(first.tasks) == 17
    for number, (seed, threads, backwards) in enumerate([("2", "2", True), ("3", "2", False)]):
        other = build(tmp_path / f"other{number}", logs, seed=seed, threads=threads, backwards=backwards)
        assert other.path.name == first.path.name
        assert other.bytes() == first.bytes()


def test_a_second_run_finds_the_build_and_leaves_it_alone(tmp_path, logs):
    first = build(tmp_path, logs, seed="1", threads="2", backwards=False)
    before = {path: path.stat().st_mtime_ns for path in first.path.rglob("*")}
    again = build(tmp_path, logs, seed="2", threads="1", backwards=True)
    assert again.path == first.path
    assert {path: path.stat().st_mtime_ns for path in again.path.rglob("*")} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([first.path.name, "latest"])

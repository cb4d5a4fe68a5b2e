"""Plans of other tools, from the command to the audit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tasks.audit import audit
from tasks.building import build
from tasks.errors import InputError
from tasks.outputs.reader import BuildFolder
from tasks.settings import load_settings
from tasks.sources.inputs import Request

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "data" / "plans"
SHARED = ROOT.parent / "shared"
REAL = sorted(path.parent for path in (SHARED / "data" / "plans").glob("*/*/LICENSE"))
real = pytest.mark.skipif(not REAL, reason="the real plans are not beside the project")


def built(out, *plans, cwd=ROOT, **settings):
    request = Request(graphs=tuple(map(Path, plans)), cwd=cwd)
    return BuildFolder(build(request, load_settings(**settings), out).path)


def codes(folder):
    return set(folder.findings["code"])


# ---- the real ones ------------------------------------------------------------------------------------------------


@real
@pytest.mark.parametrize("folder", REAL, ids=lambda path: path.name)
def test_every_open_task_of_a_real_plan_is_ok(folder, tmp_path):
    found = built(tmp_path, folder)
    assert set(found.tasks["status"]) <= {"ok"}
    assert audit(found.root) == []
    checker = SHARED / "tools" / "check_build.py"
    done = subprocess.run([sys.executable, checker, found.root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@real
def test_all_real_plans_go_into_one_build_with_every_task(tmp_path):
    found = built(tmp_path, *REAL, plan={"status": ["all"]})
    assert found.tasks["graph"].n_unique() == len(REAL)
    assert set(found.tasks["status"]) == {"ok"}


# ---- which plan, which tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "graph"),
    [
        ("task-master", "master"),
        ("task-master/.taskmaster", "master"),
        ("task-master/.taskmaster/tasks/tasks.json", "master"),
        ("spec-kit", "001-tide-times"),
        ("spec-kit/specs", "001-tide-times"),
        ("spec-kit/specs/001-tide-times", "001-tide-times"),
        ("spec-kit/specs/001-tide-times/tasks.md", "001-tide-times"),
        ("beads", "links"),
        ("beads/.beads", "links"),
        ("beads/.beads/issues.jsonl", "links"),
    ],
)
def test_a_folder_is_the_plan_that_the_tool_keeps_there(named, graph, tmp_path):
    place = SAMPLES / named.split("/")[0]
    found = built(tmp_path, SAMPLES / named, cwd=place)
    assert set(found.tasks["graph"]) == {graph}
    assert set(found.tasks["status"]) == {"ok"}


def test_plans_of_all_tools_go_into_one_build(tmp_path):
    graph = ROOT / "data" / "quickstart" / "task-graph.json"
    found = built(tmp_path, *(SAMPLES / name for name in ("task-master", "spec-kit", "beads")), graph)
    assert found.tasks["graph"].n_unique() == 4
    assert audit(found.root) == []


def test_a_folder_without_a_plan_is_a_finding_beside_a_good_one(tmp_path):
    (tmp_path / "empty").mkdir()
    found = built(tmp_path / "out", tmp_path / "empty", SAMPLES / "beads")
    assert "INPUT_NOT_A_FILE" in codes(found)
    with pytest.raises(InputError, match="no readable task graph"):
        built(tmp_path / "out", tmp_path / "empty")


def test_the_format_can_be_said(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps([{"id": 1, "title": "Sort", "testStrategy": "Count twice.", "status": "pending"}]))
    criteria = {
        name: built(tmp_path / name, plan, cwd=tmp_path, plan={"format": name}).tasks["prompt"][0]
        for name in ("zerg", "task-master")
    }
    assert "Count twice." in criteria["task-master"]
    assert "Count twice." not in criteria["zerg"]
    with pytest.raises(InputError, match="no plan format 'jira'"):
        built(tmp_path, plan, plan={"format": "jira"})


@pytest.mark.parametrize(
    ("status", "ids"),
    [
        ([], {"links-7qa", "links-7qa.2", "links-7qa.3", "links-7qa.4", "links-k3d"}),
        (["closed"], {"links-7qa.1"}),
        (["done"], {"links-7qa.1"}),
    ],
)
def test_status_chooses_who_gets_a_context(status, ids, tmp_path):
    found = built(tmp_path, SAMPLES / "beads", plan={"status": status})
    assert ids <= set(found.tasks["task_id"]) if status else ids == set(found.tasks["task_id"])


def test_all_gives_every_task_a_context_and_an_unknown_status_is_refused(tmp_path):
    assert len(built(tmp_path, SAMPLES / "beads", plan={"status": ["all"]}).tasks) == 7
    with pytest.raises(InputError, match="no status 'bogus'"):
        built(tmp_path, SAMPLES / "beads", plan={"status": ["bogus"]})


def test_a_plan_with_nothing_left_to_do_is_an_empty_build_and_no_fault(tmp_path):
    plan = tmp_path / "g.json"
    plan.write_text(json.dumps({"feature": "f", "tasks": [{"id": "A", "title": "a", "status": "done"}]}))
    found = built(tmp_path / "out", plan)
    assert found.tasks.is_empty()
    assert "PLAN_TASKS_LEFT_OUT" in codes(found)
    assert audit(found.root) == []


# ---- what stays visible of what is done -----------------------------------------------------------------------------


def issue(name, title, status="open", needs=(), parent=None, **more):
    edges = [{"issue_id": name, "depends_on_id": other, "type": "blocks"} for other in needs]
    edges += [{"issue_id": name, "depends_on_id": parent, "type": "parent-child"}] if parent else []
    plain = {"priority": 1, "issue_type": "task", "created_at": "2026-01-01T00:00:00Z"}
    return {"id": name, "title": title, "status": status, "dependencies": edges, **plain, **more}


def beads(folder, *issues):
    (folder / ".beads").mkdir(parents=True)
    (folder / ".beads" / "issues.jsonl").write_text("".join(json.dumps(row) + "\n" for row in issues))
    return folder


def test_what_was_done_is_there_to_rely_on_however_far_back(tmp_path):
    plan = beads(
        tmp_path / "p",
        issue("x-1", "Parse", "closed", close_reason="Parser lies in src/parse.py and needs no lexer"),
        issue("x-2", "Check", "closed", needs=["x-1"], notes="Checks run twice"),
        issue("x-3", "Print", needs=["x-2"]),
        issue("x-4", "Alone"),
    )
    found = built(tmp_path / "out", plan)
    prompts = dict(found.tasks.select("task_id", "prompt").rows())
    assert set(prompts) == {"x-3", "x-4"}
    assert "- x-2 Check (done)" in prompts["x-3"]
    assert "Parser lies in src/parse.py" in prompts["x-3"]
    assert "Checks run twice" in prompts["x-3"]
    assert "Parser" not in prompts["x-4"]


def test_a_part_has_its_whole_in_view_and_the_whole_its_parts(tmp_path):
    plan = beads(
        tmp_path / "p",
        issue("x-1", "Shop", description="Sell tea by post.", issue_type="epic"),
        issue("x-1.1", "Cart", parent="x-1"),
        issue("x-1.2", "Till", "closed", parent="x-1"),
    )
    prompts = dict(built(tmp_path / "out", plan).tasks.select("task_id", "prompt").rows())
    assert "Part of: x-1 Shop" in prompts["x-1.1"]
    assert "Sell tea by post." in prompts["x-1.1"]
    assert "Its parts:\n- x-1.1 Cart\n- x-1.2 Till (done)" in prompts["x-1"]


def test_a_circle_is_a_finding_and_its_tasks_are_built(tmp_path):
    plan = beads(tmp_path / "p", issue("x-1", "Hen", needs=["x-2"]), issue("x-2", "Egg", needs=["x-1"]))
    found = built(tmp_path / "out", plan)
    assert "GRAPH_CYCLE" in codes(found)
    assert set(found.tasks["status"]) == {"ok"}


# ---- files, credentials, identity -----------------------------------------------------------------------------------


def test_named_files_choose_rules_and_words_without_suffix_count_where_there_is_such_a_file(tmp_path):
    plan = beads(
        tmp_path / "p", issue("x-1", "Mend", description="Change `src/app.py` and `bin/serve`, not `no/such`.")
    )
    (plan / "bin").mkdir()
    (plan / "bin" / "serve").write_text("#!/bin/sh\n")
    found = built(tmp_path / "out", plan, cwd=plan)
    paths = {row["path"] for row in found.manifest["inputs"]}
    assert ".beads/issues.jsonl#paths" in paths
    rules = found.items.filter(pl.col("source") == "rules")["item_id"]
    assert any("python" in name for name in rules)
    before = found.root.name
    (plan / "no").mkdir()
    (plan / "no" / "such").write_text("")
    assert built(tmp_path / "out", plan, cwd=plan).root.name != before


def test_credentials_in_plans_are_masked_before_anything_is_cut(tmp_path):
    secret = f"correct-horse-battery{9}"
    token = f"q7Rk29{12}xLm2Zp84vT"
    key = "\n".join(["-----BEGIN RSA PRIVATE " + "KEY-----", *["MIIEpAIBAAKCAQEA75" * 3] * 80])
    plan = beads(
        tmp_path / "p",
        issue("x-1", "Log in", description=f"password = {secret}\n\n" + "Words of advice. " * 200),
        issue("x-2", "Sign", description="See below.\n\n" + key, acceptance_criteria=f"- it holds\n{key}"),
        issue("x-3", "Note", notes=f"export API_TOKEN={token}"),
    )
    found = built(tmp_path / "out", plan)
    text = "".join(path.read_text("utf-8", "replace") for path in found.root.rglob("*") if path.is_file())
    assert secret not in text
    assert token not in text
    assert "MIIEpAIBAAKCAQEA75" not in text
    assert found.tasks["redactions"].sum() >= 3
    assert audit(found.root) == []


def test_the_order_of_plans_changes_nothing(tmp_path):
    plans = [SAMPLES / name for name in ("task-master", "spec-kit", "beads")]
    first, second = built(tmp_path / "a", *plans), built(tmp_path / "b", *reversed(plans))
    assert first.root.name == second.root.name
    assert first.manifest["outputs"] == second.manifest["outputs"]


# ---- the command ----------------------------------------------------------------------------------------------------


def test_the_command_shows_and_exports_by_the_tools_own_ids(tmp_path):
    shutil.copytree(SAMPLES / "task-master", tmp_path / "p")
    command = Path(sys.executable).with_name("prebrief")

    def run(*arguments):
        done = subprocess.run(
            [command, *arguments], cwd=tmp_path / "p", capture_output=True, text=True, check=False, env={**os.environ}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("build", ".taskmaster", "--status", "pending", "--status", "in-progress")
    assert "**2.2: " in run("show", "2.2")
    rows = [json.loads(line) for line in run("export", "--format", "jsonl").splitlines()]
    assert {row["task_id"] for row in rows} == {"2", "2.2", "2.3", "3"}
    assert "crosses" in (said := run("forecast", "--workers", "1")) or "stays below" in said


def test_whoever_builds_on_a_whole_builds_on_its_parts(tmp_path):
    plan = beads(
        tmp_path / "p",
        issue("x-0", "Base", "closed", close_reason="Base lies in base/"),
        issue("x-1", "Shop", needs=["x-0"], issue_type="epic"),
        issue("x-1.1", "Cart", "closed", parent="x-1", notes="Carts are kept for a week"),
        issue("x-1.2", "Till", parent="x-1"),
        issue("x-2", "Open", needs=["x-1"]),
    )
    found = built(tmp_path / "out", plan)
    prompts = dict(found.tasks.select("task_id", "prompt").rows())
    levels = dict(found.tasks.select("task_id", "level").rows())
    assert levels["x-2"] > levels["x-1.2"] > levels["x-1"]
    assert "Carts are kept for a week" in prompts["x-2"]
    assert "Carts are kept for a week" in prompts["x-1"]  # who has the whole to do sees what was done of it
    assert "- x-0 Base (done)" in prompts["x-1.2"]
    assert "Base lies in base/" in prompts["x-1.2"]


def test_a_part_says_that_its_whole_is_done(tmp_path):
    plan = beads(
        tmp_path / "p", issue("x-1", "Shop", "closed", issue_type="epic"), issue("x-1.1", "Cart", parent="x-1")
    )
    assert "Part of: x-1 Shop (done)" in built(tmp_path / "out", plan).tasks["prompt"][0]


def test_a_tag_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(InputError, match="master"):
        built(tmp_path, SAMPLES / "task-master", plan={"tag": "nope"})


def test_what_is_only_related_is_named_and_orders_nothing(tmp_path):
    edge = {"issue_id": "x-2", "depends_on_id": "x-1", "type": "discovered-from"}
    plan = beads(tmp_path / "p", issue("x-1", "Leak"), issue("x-2", "Flood") | {"dependencies": [edge]})
    tasks = built(tmp_path / "out", plan).tasks
    prompts = dict(tasks.select("task_id", "prompt").rows())
    assert "Related:\n- x-1 Leak" in prompts["x-2"]
    assert set(tasks["level"]) == {1}

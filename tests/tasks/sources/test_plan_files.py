"""Plans as they are named: in which format a file is read, and what is said of the files beside it."""

from __future__ import annotations

import json
import os

import pytest

from tasks.settings import load_settings
from tasks.sources.files import Labels
from tasks.sources.plan_files import named_plans, read_plan


def read(path, folder):
    """The format of the plan that a path means, what it says, and the codes and places of all findings."""
    settings = load_settings()
    (plan,) = named_plans([path], settings)
    file, findings = read_plan(plan, Labels([folder], folder).of, settings)
    rows = findings + (file.read.findings if file else [])
    return plan.format.name, file, [(row["code"], row["where"]) for row in rows]


@pytest.fixture
def feature(tmp_path):
    folder = tmp_path / "specs" / "001-demo"
    folder.mkdir(parents=True)
    (folder / "spec.md").write_text("# Specification\n\nWords.\n")
    (folder / "tasks.md").write_text("- [ ] T001 Do it\n")
    return folder


@pytest.mark.parametrize("named", [".", "specs", "specs/001-demo", "specs/001-demo/tasks.md"])
def test_a_file_where_a_tool_keeps_its_plan_is_of_that_tool_whatever_it_holds(feature, tmp_path, named):
    (feature / "tasks.md").write_text("# Work\n\nNothing yet.\n")
    name, file, findings = read(tmp_path / named, tmp_path)
    assert name == "spec-kit"
    assert findings == [("GRAPH_EMPTY", "specs/001-demo/tasks.md")]
    assert "no recognisable task line" in file.read.findings[0]["message"]


def test_so_is_a_file_of_issues_that_lack_the_marks_of_issues(tmp_path):
    (tmp_path / ".beads").mkdir()
    (tmp_path / ".beads" / "issues.jsonl").write_text(json.dumps({"id": "a-1", "title": "One"}) + "\n{no JSON\n")
    name, file, findings = read(tmp_path, tmp_path)
    assert name == "beads"
    assert [row["task_id"] for row in file.read.rows] == ["a-1"]
    assert ("PLAN_LINE", ".beads/issues.jsonl, line 2") in findings


def test_what_a_file_holds_says_more_than_its_name(tmp_path):
    (tmp_path / "tasks.md").write_text(json.dumps({"feature": "f", "tasks": [{"id": "1", "title": "a"}]}))
    assert read(tmp_path / "tasks.md", tmp_path)[0] == "zerg"


def test_documents_beyond_what_is_read_are_counted(feature, tmp_path):
    (feature / "contracts").mkdir()
    for number in range(43):
        (feature / "contracts" / f"{number:02}.md").write_text("Words.")
    settings = load_settings()
    (plan,) = named_plans([feature], settings)
    file, findings = read_plan(plan, Labels([tmp_path], tmp_path).of, settings)
    assert len(file.documents) == 41
    [found] = findings
    assert (found["severity"], found["code"]) == ("warning", "PLAN_DOCUMENTS")
    assert found["where"] == "specs/001-demo/contracts"
    assert "the last 3 were left out" in found["message"]


def test_a_folder_of_documents_behind_a_link_that_leads_out_is_one_finding(feature, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    for name in ("a.md", "b.md", "c.md"):
        (outside / name).write_text("Words.")
    (feature / "contracts").symlink_to(outside)
    _, file, findings = read(feature, tmp_path)
    assert findings == [("INPUT_OUTSIDE", "specs/001-demo/contracts")]
    assert len(file.documents) == 1


def test_a_document_that_is_no_file_is_a_finding(tmp_path):
    docs = tmp_path / ".taskmaster" / "docs"
    docs.mkdir(parents=True)
    os.mkfifo(docs / "prd.txt")
    plan = tmp_path / ".taskmaster" / "tasks" / "tasks.json"
    plan.parent.mkdir()
    task = {"id": 1, "title": "a", "description": "b", "status": "pending", "priority": "high"}
    plan.write_text(json.dumps({"master": {"tasks": [task]}}))
    name, file, findings = read(tmp_path, tmp_path)
    assert (name, len(file.read.rows)) == ("task-master", 1)
    assert findings == [("INPUT_NOT_A_FILE", ".taskmaster/docs/prd.txt")]

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from pathlib import Path

import polars as pl
import pytest

from tasks.errors import InputError
from tasks.settings import ReadingSettings, RulesSettings, Settings
from tasks.sources.load import Request, discover, load
from tasks.terms import SECTIONS

SETTINGS = Settings()
KEY = "AKIA" + "Q3EGRJ7ZLD" + "W5YKXN"
PASSWORD = "Tr0ub4dor" + "-zebra-9x"


@pytest.fixture
def project(tmp_path):
    """A working folder with a graph, its specs, rules and two logs."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    graph = {
        "feature": "login",
        "tasks": [
            {"id": "T1", "title": "Model", "description": "Write the model.", "files": {"create": ["app/model.py"]}},
            {
                "id": "T2",
                "title": "Page",
                "description": "Write it.",
                "dependencies": ["T1"],
                "context": "Use the model.",
            },
        ],
    }
    write("plan/task-graph.json", json.dumps(graph))
    write("plan/requirements.md", "# Login\n\nA user can log in.\n")
    write("plan/design.md", "# Design\n\nOne table.\n")
    write("rules/_core/owasp-2025.md", "# Core\n\n## Rule: Be safe\n\n**Level**: `strict`\n\n**When**: Always.\n")
    write(
        "rules/languages/python/CLAUDE.md",
        "# Python\n\n## Rule: Be typed\n\n**Level**: `strict`\n\n**When**: Always.\n",
    )
    write("rules/languages/go/CLAUDE.md", "# Go\n\n## Rule: Be plain\n\n**Level**: `strict`\n\n**When**: Always.\n")
    write("logs/b.jsonl", '{"id": "1", "type": "user_turn", "text": "second", "timestamp": "2026-01-02"}')
    write("logs/a.jsonl", '{"id": "1", "type": "user_turn", "text": "third", "timestamp": "2026-01-03"}')
    return write


def request(root: Path, **fields) -> Request:
    return Request(
        **{
            "graphs": (Path("plan/task-graph.json"),),
            "rules": Path("rules"),
            "history": (Path("logs/a.jsonl"), Path("logs/b.jsonl")),
            "cwd": root,
            **fields,
        }
    )


def built(root: Path, **fields):
    return load(discover(request(root, **fields), SETTINGS), SETTINGS)


def codes(batch):
    return set(batch.findings["code"])


class TestDiscovering:
    def test_every_file_has_a_label_relative_to_the_working_folder(self, project, tmp_path):
        inputs = discover(request(tmp_path), SETTINGS)
        assert [file.label for file in inputs.files] == [
            "logs/a.jsonl",
            "logs/b.jsonl",
            "plan/design.md",
            "plan/requirements.md",
            "plan/task-graph.json",
            "rules/_core/owasp-2025.md",
            "rules/languages/go/CLAUDE.md",
            "rules/languages/python/CLAUDE.md",
        ]
        assert inputs.findings == ()

    def test_from_elsewhere_the_common_folder_counts(self, project, tmp_path):
        (tmp_path / "work").mkdir()
        graph = tmp_path / "plan" / "task-graph.json"
        inputs = discover(Request(graphs=(graph,), rules=tmp_path / "rules", cwd=tmp_path / "work"), SETTINGS)
        assert {"plan/task-graph.json", "plan/design.md", "rules/_core/owasp-2025.md"} <= {
            file.label for file in inputs.files
        }

    def test_bundled_rules_have_a_name_of_their_own(self, project, tmp_path):
        inputs = discover(request(tmp_path, rules=None), SETTINGS)
        assert "prebrief/rules/_core/owasp-2025.md" in {rule.file.label for rule in inputs.rules}

    def test_rules_may_be_off(self, project, tmp_path):
        off = Settings(rules=RulesSettings(enabled=False))
        assert discover(request(tmp_path), off).rules == ()

    def test_a_file_named_twice_is_read_once(self, project, tmp_path):
        inputs = discover(
            request(tmp_path, history=(Path("logs/a.jsonl"), tmp_path / "logs" / ".." / "logs" / "a.jsonl")), SETTINGS
        )
        assert [file.label for file in inputs.logs] == ["logs/a.jsonl"]
        assert [row["code"] for row in inputs.findings] == ["INPUT_REPEATED"]

    def test_what_cannot_be_read_is_a_finding(self, project, tmp_path):
        small = Settings(reading=ReadingSettings(max_bytes=90))
        inputs = discover(request(tmp_path, history=(Path("none.jsonl"), Path("logs")), rules=Path("none")), small)
        assert {row["code"] for row in inputs.findings} == {
            "INPUT_MISSING",
            "INPUT_NOT_A_FILE",
            "INPUT_TOO_LARGE",
            "RULES_MISSING",
        }
        assert not any(str(tmp_path) in str(row) for row in inputs.findings)

    def test_a_specs_folder_that_is_not_there_is_a_finding(self, project, tmp_path):
        inputs = discover(request(tmp_path, specs=Path("specs")), SETTINGS)
        assert [row["code"] for row in inputs.findings] == ["SPECS_MISSING"]
        assert {spec.section for spec in inputs.specs} == {"requirements", "design"}

    def test_rules_without_a_core_are_a_finding(self, project, tmp_path):
        (tmp_path / "rules" / "_core" / "owasp-2025.md").unlink()
        assert [row["code"] for row in discover(request(tmp_path), SETTINGS).findings] == ["RULES_NO_CORE"]

    def test_a_linked_rule_file_may_not_lead_outside(self, project, tmp_path):
        secret = project("secret.md", "## Rule: x\n")
        target = tmp_path / "rules" / "languages" / "go" / "CLAUDE.md"
        target.unlink()
        target.symlink_to(secret)
        assert [row["code"] for row in discover(request(tmp_path), SETTINGS).findings] == ["INPUT_OUTSIDE"]


class TestLoading:
    def test_tasks_and_items_of_every_source_are_there(self, project, tmp_path):
        batch = built(tmp_path)
        assert batch.tasks["task_id"].to_list() == ["T1", "T2"]
        assert set(batch.items["source"]) == {"brief", "plan", "rules", "spec", "history"}
        assert codes(batch) <= {"GRAPH_NO_LEVEL"}

    def test_only_rules_that_a_task_needs_and_the_core(self, project, tmp_path):
        rules = built(tmp_path).items.filter(section="rules").sort("position")
        assert rules["tags"].explode().unique(maintain_order=True).to_list() == ["core", "python"]

    def test_positions_follow_the_sections_and_history_the_clock(self, project, tmp_path):
        project("logs/0.jsonl", '{"id": "1", "type": "user_turn", "text": "first"}')
        history = tuple(Path(f"logs/{name}.jsonl") for name in ("a", "b", "0"))
        items = built(tmp_path, history=history).items.sort("position")
        assert items["position"].to_list() == list(range(len(items)))
        assert [section for section, _ in itertools.groupby(items["section"])] == list(SECTIONS)
        assert items.filter(section="history")["text"].to_list() == ["first", "second", "third"]

    def test_items_are_numbered_by_id_and_hashed(self, project, tmp_path):
        items = built(tmp_path).items
        assert items["item_id"].to_list() == sorted(items["item_id"])
        assert items["item"].to_list() == list(range(len(items)))
        row = items.filter(text="One table.").to_dicts()[0]
        assert row["content_hash"] == hashlib.sha256(b"One table.").hexdigest()
        assert (row["tokens"], row["line_start"], row["path"]) == (3, 3, "plan/design.md")

    def test_nothing_above_the_floor_is_hashed(self, project, tmp_path):
        project("logs/a.jsonl", '{"id": "1", "type": "user_turn", "text": "x", "sensitivity": "confidential"}')
        row = built(tmp_path).items.filter(sensitivity="confidential").to_dicts()[0]
        assert row["content_hash"] is None

    def test_the_order_of_arguments_changes_nothing(self, project, tmp_path):
        names = []
        for number in range(5):
            name = f"more/{number}/task-graph.json"
            project(name, json.dumps({"feature": "same", "tasks": [{"id": "T1", "title": str(number)}]}))
            names.append(Path(name))
        logs = [Path("logs/a.jsonl"), Path("logs/b.jsonl")]
        first = built(tmp_path, graphs=tuple(names), history=tuple(logs))
        for seed in range(3):
            shuffled = random.Random(seed)
            other = built(tmp_path, graphs=tuple(shuffled.sample(names, 5)), history=tuple(shuffled.sample(logs, 2)))
            for name in ("tasks", "items", "findings"):
                assert getattr(first, name).equals(getattr(other, name))

    def test_a_bad_graph_beside_a_good_one_is_a_finding(self, project, tmp_path):
        project("bad.json", "{")
        batch = built(tmp_path, graphs=(Path("bad.json"), Path("plan/task-graph.json")))
        assert set(batch.tasks["graph"]) == {"login"}
        assert "GRAPH_UNREADABLE" in codes(batch)

    @pytest.mark.parametrize("content", [None, "", "{", "[]", '{"feature": "x", "tasks": []}'])
    def test_without_any_graph_there_is_nothing_to_build(self, project, tmp_path, content):
        path = tmp_path / "plan" / "task-graph.json"
        path.unlink()
        if content is not None:
            path.write_text(content)
        with pytest.raises(InputError, match=r"no readable task graph, plan/task-graph\.json: .+; name a plan"):
            built(tmp_path)

    def test_an_unreadable_byte_in_one_file_costs_nothing_else(self, project, tmp_path):
        project("rules/languages/python/CLAUDE.md", b"# Python\n\n## Rule: Be typed\xff\n")
        project("plan/requirements.md", b"\xff\xfe\x00")
        project("logs/a.jsonl", b"\x80\x81\n")
        batch = built(tmp_path)
        assert {"rules", "design", "history", "brief"} <= set(batch.items["section"])

    def test_a_log_given_under_two_paths_is_read_once(self, project, tmp_path):
        project("copy/a.jsonl", (tmp_path / "logs" / "a.jsonl").read_bytes())
        batch = built(tmp_path, history=(Path("logs/a.jsonl"), Path("copy/a.jsonl")))
        assert len(batch.items.filter(section="history")) == 1
        assert "LOG_REPEATED" in codes(batch)

    def test_events_of_other_graphs_are_named(self, project, tmp_path):
        project("logs/a.jsonl", '{"id": "1", "type": "user_turn", "text": "x", "graph": "other"}')
        assert "EVENT_GRAPH_UNKNOWN" in codes(built(tmp_path))

    def test_one_spec_may_serve_two_graphs(self, project, tmp_path):
        project("plan/second.json", json.dumps({"feature": "other", "tasks": [{"id": "T1"}]}))
        batch = built(tmp_path, graphs=(Path("plan/task-graph.json"), Path("plan/second.json")))
        assert set(batch.items.filter(section="design")["graph"]) == {"login", "other"}


class TestCredentials:
    def test_none_remains_in_any_frame_but_the_raw_bytes(self, project, tmp_path):
        graph = {
            "feature": "login",
            "tasks": [
                {
                    "id": f"T {KEY}",
                    "title": f"Use {KEY}",
                    "description": f"password = '{PASSWORD}'",
                    "files": {"create": [f"conf/{KEY}.py"]},
                    "acceptance_criteria": [f"{KEY} works"],
                    "verification": f"curl -H 'X-Key: {KEY}' http://localhost",
                    "consumers": [KEY],
                    "context": {"password": PASSWORD},
                }
            ],
        }
        project("plan/task-graph.json", json.dumps(graph))
        project("plan/design.md", f'# Design\n\nThe key is {KEY}, and\n\n```json\n{{"password": "{PASSWORD}"}}\n```\n')
        project(
            "rules/languages/python/CLAUDE.md",
            f"# Python {KEY}\n\n## Rule: Never {KEY}\n\n**Level**: x\n\n**When**: {KEY}\n",
        )
        event = {"id": f"e {KEY}", "type": "tool_result", "text": json.dumps({"password": PASSWORD}), "tags": [KEY]}
        project(
            "logs/a.jsonl",
            json.dumps(event) + "\n" + json.dumps({"id": "x", "kind": KEY, "text": "y", "parent_id": KEY}),
        )
        batch = built(tmp_path)
        for frame in (batch.tasks, batch.items.drop("raw"), batch.findings):
            written = str(frame.to_dicts())
            assert KEY not in written
            assert PASSWORD not in written
        assert PASSWORD in batch.items["raw"].drop_nulls().to_list()[0].decode()

    def test_each_is_counted_and_named_by_rule_only(self, project, tmp_path):
        project("plan/design.md", f"# Design\n\nThe key is {KEY}.\n\nAnother passage.\n")
        project("logs/a.jsonl", json.dumps({"id": "e", "type": "tool_result", "text": f"key {KEY}"}))
        batch = built(tmp_path)
        found = batch.findings.filter(code="CREDENTIAL_REDACTED").to_dicts()
        assert [row["where"] for row in found] == [
            batch.items.filter(kind="tool_result")["item_id"][0],
            "plan/design.md",
        ][:: 1 if found[0]["where"] != "plan/design.md" else -1]
        assert all(re.fullmatch(r"Credentials were masked: [\w.-]+ \(1\)\.", row["message"]) for row in found)
        counted = batch.items.filter(pl.col("redactions") > 0)
        assert counted["redactions"].to_list() == [1, 1]
        assert all("[REDACTED: " in text for text in counted["text"])

    def test_masking_comes_before_hashing_and_naming(self, project, tmp_path):
        project("plan/design.md", f"The key is {KEY}.\n")
        first = built(tmp_path).items.filter(section="design")
        project("plan/design.md", f"The key is {KEY[:-1]}A.\n")
        second = built(tmp_path).items.filter(section="design")
        assert first.select("item_id", "content_hash").equals(second.select("item_id", "content_hash"))


def test_all_real_swarms_rules_and_logs_load_together(shared):
    asked = Request(
        graphs=tuple(shared.glob("swarm/*/task-graph.json")),
        rules=shared / "rules",
        history=tuple(shared.glob("history/**/*.json*")),
        cwd=shared / "swarm",
    )
    inputs = discover(asked, SETTINGS)
    batch = load(inputs, SETTINGS)
    assert {row["severity"] for row in batch.findings.to_dicts()} == {"info"}
    assert len(batch.items.filter(section="brief")) == len(batch.tasks) == 345
    assert set(batch.items["section"]) == set(SECTIONS)
    assert not any(str(shared) in str(row) for row in batch.findings.to_dicts())
    parents = set(batch.items["parent_id"].drop_nulls()) - set(batch.items["item_id"])
    assert parents == set()

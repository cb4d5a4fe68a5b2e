"""The issues of beads, in the shapes and with the oddities that occur in real files."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.files import InputFile, decode
from tasks.sources.plans.beads import FORMAT
from tasks.sources.plans.plan import PlanSource, task_row
from tasks.sources.plans.statuses import status_of
from tasks.sources.values import UnreadableJsonError, parse_json

LABEL = "demo/.beads/issues.jsonl"
MARCH = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def issue(task_id="bd-a1", **fields):
    """An issue as the tool writes it."""
    return {
        "id": task_id,
        "title": "Title",
        "description": "What to do.",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "created_at": "2026-03-01T00:00:00Z",
        "updated_at": "2026-03-02T00:00:00Z",
        **fields,
    }


def edge(later, earlier, kind="blocks"):
    return {"issue_id": later, "depends_on_id": earlier, "type": kind, "created_at": "2026-03-01T00:00:00Z"}


def source(text, label=LABEL, **fields):
    return PlanSource(InputFile.of(label, text.encode("utf-8", "replace")), text, **fields)


def read_text(text, **fields):
    return FORMAT.read(source(text, **fields))


def read(*issues, **fields):
    return read_text("".join(json.dumps(entry) + "\n" for entry in issues), **fields)


def only(**fields):
    """The one row of an issue with these fields, which is read without findings."""
    graph = read(issue(**fields))
    assert graph.findings == []
    return graph.rows[0]


def codes(graph):
    return [(row["severity"], row["code"]) for row in graph.findings]


def by_id(graph):
    return {row["task_id"]: row for row in graph.rows}


def texts(row, place):
    return [entry["text"] for entry in row["said"] if entry["place"] == place]


def test_a_plain_issue_is_read_without_findings():
    row = only(
        task_id="bd-a1",
        title="Sort the list",
        description="Sort it in `src/list.go`.",
        status="in_progress",
        acceptance_criteria="- Stable\n- Fast",
        design="Merge sort.",
        notes="Half done.",
        labels=["core"],
        assignee="mira",
        content_hash="abc",
        dependency_count=3,
    )
    assert row == task_row(
        0,
        "bd-a1",
        title="Sort the list",
        description="Sort it in `src/list.go`.",
        status="in-progress",
        files_modify=["src/list.go"],
        files_inferred=["src/list.go"],
        acceptance_criteria=["Stable", "Fast"],
        said=[
            {"place": "design", "text": "Merge sort.", "time": None},
            {"place": "note", "text": "Half done.", "time": None},
        ],
    )


def test_tasks_stand_in_the_order_of_the_file():
    graph = read(issue("bd-9"), issue("bd-10"), issue("bd-1"))
    assert [(row["task_id"], row["position"]) for row in graph.rows] == [("bd-9", 0), ("bd-10", 1), ("bd-1", 2)]


class TestRecognition:
    @pytest.mark.parametrize(
        "fields",
        [
            {"issue_type": "task"},
            {"_type": "issue"},
            {"status": "open", "priority": 1, "created_at": "2026-03-01T00:00:00Z"},
        ],
    )
    def test_issues_have_an_id_and_marks_of_their_own(self, fields):
        line = json.dumps({"id": "x-1", "title": "T", **fields})
        assert FORMAT.recognises(line, parse_json(line))
        assert FORMAT.recognises(f"{line}\n{line}\n", None)

    def test_lines_that_are_none_do_not_hide_the_others(self):
        memory = json.dumps({"_type": "memory", "key": "k", "value": "v"})
        assert FORMAT.recognises(f"\n<<<<<<< HEAD\n{memory}\n{json.dumps(issue())}\n", None)
        assert not FORMAT.recognises(f"{memory}\n", None)

    @pytest.mark.parametrize(
        "value",
        [
            [],
            [issue()],
            {"tasks": [issue()]},
            {"id": "x", "status": "open", "priority": 1, "created_at": "now", "tasks": []},
            {"master": {"tasks": [{"id": 1, "status": "done", "priority": "high"}], "metadata": {}}},
            {"id": "e1", "type": "user_turn", "text": "hi", "created_at": "2026-03-01T00:00:00Z"},
            {"issue_type": "task", "title": "no id"},
            {"feature": "f", "tasks": []},
            None,
            "issue",
        ],
    )
    def test_other_json_is_none(self, value):
        text = json.dumps(value)
        assert not FORMAT.recognises(text, value)
        assert not FORMAT.recognises(f"{text}\n{text}", None)

    @pytest.mark.parametrize("text", ["", "\n\n", "# Tasks\n- [ ] T001 one", "{", '{"id": 1}\nno', "null"])
    def test_other_text_is_none(self, text):
        assert not FORMAT.recognises(text, None)

    def test_a_line_that_lacks_the_marks_does_not_hide_the_others(self):
        lines = [
            {"id": "x-1", "title": "One", "status": "open"},
            issue("x-2"),
            issue("x-3"),
            issue("x-4"),
            {"note": "none"},
        ]
        text = "\n".join(map(json.dumps, lines))
        assert FORMAT.recognises(text, None)
        graph = read_text(text)
        assert [row["task_id"] for row in graph.rows] == ["x-1", "x-2", "x-3", "x-4"]
        assert [row["code"] for row in graph.findings] == ["PLAN_OTHER_LINES"]

    def test_a_file_of_the_tool_s_name_in_its_folder_is_known_by_that(self):
        assert FORMAT.named(Path("shop/.beads/issues.jsonl"))
        assert FORMAT.named(Path("shop/.beads/beads.jsonl"))
        assert not FORMAT.named(Path("shop/issues.jsonl"))
        assert not FORMAT.named(Path("shop/.beads/deletions.jsonl"))

    def test_a_log_that_once_quotes_an_issue_stays_a_log(self):
        event = {"id": "e1", "type": "agent_msg", "text": "hi"}
        assert not FORMAT.recognises(f"{json.dumps(event)}\n{json.dumps(issue())}", None)

    def test_no_real_log_or_other_plan_is_taken_for_issues(self, shared):
        files = [
            path for path in shared.rglob("*") if path.suffix in (".json", ".jsonl") and ".beads" not in path.parts
        ]
        assert len(files) > 50
        for path in files:
            text, _ = decode(InputFile.of("x", path.read_bytes()))
            try:
                document = parse_json(text)
            except UnreadableJsonError:
                document = None
            assert not FORMAT.recognises(text, document), path


class TestFolders:
    def test_a_project_means_the_issues_in_its_beads_folder(self, tmp_path):
        beads = tmp_path / ".beads"
        beads.mkdir()
        for name in ("beads.base.jsonl", "deletions.jsonl", "interactions.jsonl", "issues.jsonl.backup", "beads.db"):
            (beads / name).touch()
        assert list(FORMAT.find(tmp_path)) == []
        (beads / "beads.jsonl").touch()
        assert list(FORMAT.find(tmp_path)) == [beads / "beads.jsonl"]
        (beads / "issues.jsonl").touch()
        assert list(FORMAT.find(tmp_path)) == list(FORMAT.find(beads)) == [beads / "issues.jsonl"]

    def test_the_folder_is_known_from_inside_as_well(self, tmp_path, monkeypatch):
        beads = tmp_path / ".beads"
        beads.mkdir()
        (beads / "issues.jsonl").touch()
        monkeypatch.chdir(beads)
        assert list(FORMAT.find(Path())) == [Path("issues.jsonl")]
        assert FORMAT.root(Path("issues.jsonl")) == tmp_path

    def test_paths_start_above_the_beads_folder(self, tmp_path):
        assert FORMAT.root(tmp_path / ".beads" / "issues.jsonl") == tmp_path
        assert FORMAT.root(tmp_path / "exported.jsonl") == tmp_path

    def test_no_file_belongs_to_a_plan(self, tmp_path):
        assert list(FORMAT.companions(tmp_path / ".beads" / "issues.jsonl")) == []


class TestFeature:
    @pytest.mark.parametrize(
        ("label", "feature"),
        [
            ("shop/.beads/issues.jsonl", "shop"),
            ("work/shop/.beads/beads.jsonl", "shop"),
            ("shop/exported.jsonl", "shop"),
            (".beads/issues.jsonl", "beads"),
            ("issues.jsonl", "beads"),
        ],
    )
    def test_is_what_most_ids_begin_with_or_else_the_project(self, label, feature):
        ids = ("xboing-x1", "xboing-c-a1", "xboing-c-a1.1")
        assert read(*map(issue, ids), label=label).feature == "xboing-c"
        assert read(issue("1"), label=label).feature == feature

    def test_of_two_equally_common_prefixes_the_first_by_value_counts(self):
        assert read(issue("b-1"), issue("a-1"), label="issues.jsonl").feature == "a"

    @pytest.mark.parametrize("task_id", ["x", "-x", "文"])
    def test_is_never_empty(self, task_id):
        assert read(issue(task_id), label=".beads/issues.jsonl").feature == "beads"
        assert read_text("", label=".beads/issues.jsonl").feature == "beads"


class TestLines:
    def test_a_line_that_is_no_json_is_left_out_and_the_others_are_read(self):
        lines = [
            json.dumps(issue("bd-1")),
            "<<<<<<< HEAD",
            json.dumps(issue("bd-2")),
            '{"id": "bd-3',
            "[1]",
            "7",
            "",
            " ",
        ]
        graph = read_text("\n".join(lines))
        assert list(by_id(graph)) == ["bd-1", "bd-2"]
        assert codes(graph) == [("error", "PLAN_LINE")] * 4
        assert [row["where"].rpartition(", ")[2] for row in graph.findings] == ["line 2", "line 4", "line 5", "line 6"]

    def test_a_last_line_needs_no_newline(self):
        assert list(by_id(read_text(json.dumps(issue("bd-1"))))) == ["bd-1"]

    def test_blanks_after_separators_change_nothing(self):
        entry = issue("bd-1", dependencies=[edge("bd-1", "bd-0")])
        dense, wide = (read_text(json.dumps(entry, separators=marks)) for marks in ((",", ":"), (" , ", " : ")))
        assert dense.rows == wide.rows

    def test_memories_and_what_has_no_id_are_counted(self):
        graph = read(issue("bd-1"), {"_type": "memory", "key": "k", "id": "m"}, {"key": "v"}, issue(None), issue(""))
        assert list(by_id(graph)) == ["bd-1"]
        assert codes(graph) == [("info", "PLAN_OTHER_LINES")]
        assert graph.findings[0]["message"].startswith("4 of its lines")

    def test_issues_may_say_that_they_are(self):
        assert list(by_id(read(issue("bd-1", _type="issue")))) == ["bd-1"]

    def test_of_a_key_given_twice_the_last_counts(self):
        graph = read_text('{"id": "bd-1", "title": "A", "title": "B", "status": "open", "issue_type": "task"}')
        assert graph.rows[0]["title"] == "B"
        assert codes(graph) == [("warning", "JSON_REPEATED_KEY")]

    def test_line_separators_of_unicode_end_no_line(self):
        text = json.dumps(issue("bd-1", title="A\u2028B"), ensure_ascii=False)
        assert [row["title"] for row in read_text(text).rows] == ["A B"]

    @pytest.mark.parametrize(
        "text", ["", "\n", "no json", '{"_type": "memory"}', json.dumps(issue(status="tombstone"))]
    )
    def test_a_file_without_work_has_no_rows_and_says_so(self, text):
        graph = read_text(text)
        assert graph.rows == []
        assert ("error", "GRAPH_EMPTY") in codes(graph)


class TestStatus:
    @pytest.mark.parametrize(
        ("word", "status"),
        [
            ("open", "pending"),
            ("in_progress", "in-progress"),
            ("blocked", "blocked"),
            ("deferred", "deferred"),
            ("closed", "done"),
            ("hooked", "in-progress"),
            ("pinned", "pending"),
        ],
    )
    def test_is_said_in_our_words(self, word, status):
        assert only(status=word)["status"] == status

    @pytest.mark.parametrize("word", ["awaiting_deploy", None, "", 3, ["open"]])
    def test_an_unknown_one_is_pending_and_a_finding(self, word):
        graph = read(issue(status=word))
        assert graph.rows[0]["status"] == "pending"
        assert codes(graph) == [("info", "PLAN_STATUS")]

    def test_it_may_be_missing(self):
        entry = issue()
        del entry["status"], entry["priority"]
        assert read(entry).rows[0]["status"] == "pending"

    @pytest.mark.parametrize("word", ["tombstone", "deleted"])
    def test_a_deleted_issue_is_no_task(self, word):
        graph = read(issue("bd-1"), issue("bd-2", status=word, deleted_at="2026-03-01T00:00:00Z", original_type="task"))
        assert list(by_id(graph)) == ["bd-1"]
        assert graph.findings == []

    def test_an_issue_that_was_deleted_once_is_a_task(self):
        assert only(deleted_at="2026-03-01T00:00:00Z")["status"] == "pending"


class TestTraffic:
    @pytest.mark.parametrize(
        "kind",
        ["message", "merge-request", "merge_request", "molecule", "event", "agent", "role", "rig", "gate", "convoy"],
    )
    def test_is_no_task(self, kind):
        graph = read(issue("bd-1", dependencies=[edge("bd-1", "bd-m")]), issue("bd-m", issue_type=kind))
        assert list(by_id(graph)) == ["bd-1"]
        assert by_id(graph)["bd-1"]["dependencies"] == []
        assert codes(graph) == [("info", "PLAN_TRAFFIC"), ("info", "PLAN_EDGES_TRAFFIC")]

    def test_nor_are_templates(self):
        assert list(by_id(read(issue("bd-1"), issue("bd-t", is_template=True), issue("bd-u", is_template=False)))) == [
            "bd-1",
            "bd-u",
        ]

    @pytest.mark.parametrize("kind", ["task", "bug", "feature", "epic", "chore", "spike", "of our own", None, 3])
    def test_all_other_types_are_work(self, kind):
        assert only(issue_type=kind)["title"] == "Title"


class TestEdges:
    @pytest.mark.parametrize("kind", ["blocks", "conditional-blocks", "waits-for", "waits_for", None])
    def test_an_issue_waits_for_what_blocks_it(self, kind):
        graph = read(issue("bd-1", dependencies=[edge("bd-1", "bd-2", kind)]), issue("bd-2"))
        assert (by_id(graph)["bd-1"]["dependencies"], by_id(graph)["bd-2"]["dependencies"]) == (["bd-2"], [])
        assert graph.findings == []

    @pytest.mark.parametrize(
        "kind", ["related", "relates-to", "discovered-from", "replies-to", "supersedes", "duplicates", "tracks"]
    )
    def test_what_only_informs_orders_nothing(self, kind):
        graph = read(issue("bd-1", dependencies=[edge("bd-1", "bd-2", kind)]), issue("bd-2"))
        assert by_id(graph)["bd-1"] == task_row(0, "bd-1", title="Title", description="What to do.", related=["bd-2"])
        assert graph.findings == []

    def test_unknown_types_order_nothing_and_are_named(self):
        edges = [edge("bd-1", "bd-2", kind) for kind in ("smells-like", "near", "near")]
        graph = read(issue("bd-1", dependencies=edges), issue("bd-2"))
        assert by_id(graph)["bd-1"]["dependencies"] == []
        assert [row["message"][:46] for row in graph.findings] == [
            "2 dependencies are of the unknown type 'near';",
            "1 dependencies are of the unknown type 'smells",
        ]

    def test_the_parent_is_no_dependency(self):
        graph = read(
            issue("bd-e", issue_type="epic"),
            issue("bd-1", dependencies=[edge("bd-1", "bd-e", "parent-child"), edge("bd-1", "bd-e")]),
        )
        assert (by_id(graph)["bd-1"]["parent"], by_id(graph)["bd-1"]["dependencies"]) == ("bd-e", [])

    @pytest.mark.parametrize("fields", [{"dependencies": [edge("bd-1", "bd-e", "parent")]}, {"parent": "bd-e"}])
    def test_newer_names_of_the_parent(self, fields):
        assert by_id(read(issue("bd-e"), issue("bd-1", **fields)))["bd-1"]["parent"] == "bd-e"

    def test_of_two_parents_the_first_is_the_parent_and_the_other_comes_before(self):
        edges = [edge("ab-1", "ab-e", "parent-child"), edge("ab-1", "ab-2"), edge("ab-1", "ab-f", "parent-child")]
        graph = read(issue("ab-1", dependencies=edges, parent="ab-e"), issue("ab-2"), issue("ab-e"), issue("ab-f"))
        assert (by_id(graph)["ab-1"]["parent"], by_id(graph)["ab-1"]["dependencies"]) == ("ab-e", ["ab-2", "ab-f"])
        assert codes(graph) == [("info", "PLAN_PARENTS")]

    def test_missing_targets_selves_and_circles_are_left_to_those_who_see_all(self):
        graph = read(
            issue("bd-1", dependencies=[edge("bd-1", "bd-1"), edge("bd-1", "gone"), edge("bd-1", "bd-2")]),
            issue("bd-2", dependencies=[edge("bd-2", "bd-1"), edge("bd-2", "external:shop:login")]),
            issue("bd-3", dependencies=[edge("bd-3", "gone", "parent-child")]),
        )
        assert by_id(graph)["bd-1"]["dependencies"] == ["bd-1", "gone", "bd-2"]
        assert by_id(graph)["bd-2"]["dependencies"] == ["bd-1", "external:shop:login"]
        assert by_id(graph)["bd-3"]["parent"] == "gone"

    def test_edges_to_deleted_issues_are_dropped_with_one_finding(self):
        graph = read(
            issue("bd-1", dependencies=[edge("bd-1", "bd-x"), edge("bd-1", "bd-x", "parent-child")]),
            issue("bd-2", dependencies=[edge("bd-2", "bd-x"), edge("bd-2", "bd-1")]),
            issue("bd-x", status="tombstone", dependencies=[edge("bd-x", "bd-1")]),
        )
        assert by_id(graph)["bd-1"]["parent"] is None
        assert [row["dependencies"] for row in graph.rows] == [[], ["bd-1"]]
        assert codes(graph) == [("info", "PLAN_EDGES_DELETED")]
        assert graph.findings[0]["message"].startswith("3 dependencies")

    def test_an_id_that_was_given_again_is_not_deleted(self):
        graph = read(
            issue("bd-1", status="tombstone"), issue("bd-1"), issue("bd-2", dependencies=[edge("bd-2", "bd-1")])
        )
        assert by_id(graph)["bd-2"]["dependencies"] == ["bd-1"]

    def test_an_edge_of_another_issue_is_that_ones(self):
        graph = read(issue("bd-1", dependencies=[edge("bd-2", "bd-1"), edge("elsewhere", "bd-2")]), issue("bd-2"))
        assert [row["dependencies"] for row in graph.rows] == [["bd-2"], ["bd-1"]]
        assert codes(graph) == [("info", "PLAN_EDGE_HOLDER")]

    def test_metadata_and_threads_of_an_edge_say_nothing(self):
        entry = {**edge("bd-1", "bd-2"), "metadata": "{}", "thread_id": "t"}
        assert only(dependencies=[entry])["dependencies"] == ["bd-2"]

    @pytest.mark.parametrize(
        ("value", "dependencies"),
        [
            (None, []),
            ("bd-2", ["bd-2"]),
            (["bd-2", "blocks:bd-3", "discovered-from:bd-4", "external:a:b"], ["bd-2", "bd-3", "external:a:b"]),
            (edge("bd-a1", "bd-2"), ["bd-2"]),
            ([[edge("bd-a1", "bd-2")], edge("bd-a1", "bd-2")], ["bd-2"]),
            ([{"id": "bd-2", "title": "Shown", "dependency_type": "blocks"}], ["bd-2"]),
            ([edge("bd-a1", 7)], ["7"]),
        ],
    )
    def test_may_have_other_shapes(self, value, dependencies):
        assert only(dependencies=value)["dependencies"] == dependencies

    @pytest.mark.parametrize("entry", [{}, {"type": "blocks"}, edge("bd-1", None), edge("bd-1", ["bd-2"]), ""])
    def test_an_edge_to_nothing_is_a_finding(self, entry):
        graph = read(issue("bd-1", dependencies=[entry, edge("bd-1", "bd-2")]))
        assert graph.rows[0]["dependencies"] == ["bd-2"]
        assert codes(graph) == [("warning", "PLAN_EDGE")]


class TestDottedIds:
    def test_without_an_edge_the_name_gives_the_parent(self):
        graph = read(issue("bd-a"), issue("bd-a.1"), issue("bd-a.1.2"), issue("bd-a.10"))
        assert [row["parent"] for row in graph.rows] == [None, "bd-a", "bd-a.1", "bd-a"]

    def test_an_edge_says_it_better(self):
        graph = read(
            issue("bd-a"), issue("bd-b"), issue("bd-a.1", dependencies=[edge("bd-a.1", "bd-b", "parent-child")])
        )
        assert by_id(graph)["bd-a.1"]["parent"] == "bd-b"

    def test_only_an_issue_that_is_there_is_a_parent(self):
        graph = read(
            issue("bd-a"), issue("bd-a.1.1"), issue("bd-b.1"), issue("bd-c", status="tombstone"), issue("bd-c.1")
        )
        assert {name: row["parent"] for name, row in by_id(graph).items()} == {
            "bd-a": None,
            "bd-a.1.1": "bd-a",
            "bd-b.1": None,
            "bd-c.1": None,
        }

    def test_a_dot_that_counts_nothing_names_no_parent(self):
        assert by_id(read(issue("v1"), issue("v1.x")))["v1.x"]["parent"] is None


class TestDescription:
    def test_may_be_missing(self):
        row = only(description=None)
        assert (row["title"], row["description"]) == ("Title", "")

    def test_what_is_too_long_for_a_brief_stands_in_the_details(self):
        parts = [f"Part {number}. " + "word " * 60 for number in range(12)]
        row = only(description="\n\n".join(parts))
        (rest,) = texts(row, "details")
        assert len(row["description"]) <= 2000
        assert f"{row['description']}\n\n{rest}".split() == " ".join(parts).split()

    @pytest.mark.parametrize(
        ("title", "expected"), [("Add docs\n", "Add docs"), ("a\x1b[31m\x00b\r\nc\td", "a[U+0000]b c d"), (7, "7")]
    )
    def test_a_title_is_one_line_of_what_can_be_seen(self, title, expected):
        assert only(title=title)["title"] == expected

    @pytest.mark.parametrize("title", [None, "", " \n"])
    def test_a_title_may_be_missing(self, title):
        graph = read(issue(title=title))
        assert graph.rows[0]["title"] == ""
        assert codes(graph) == [("info", "TASK_NO_TITLE")]

    @pytest.mark.parametrize("task_id", ["bd-wisp-x1", "a/../b", "ü-1", "x y", "bd-1.2.3", "-", "日本-1", "a" * 300])
    def test_an_id_stays_as_it_is_printed(self, task_id):
        assert only(task_id=task_id)["task_id"] == task_id

    @pytest.mark.parametrize(("printed", "task_id"), [("27.10", "27.10"), ("7", "7"), ('" x\\n"', "x")])
    def test_an_id_may_be_a_number(self, printed, task_id):
        assert read_text(f'{{"id": {printed}, "title": "T", "status": "open"}}').rows[0]["task_id"] == task_id


class TestFiles:
    def test_are_those_of_title_description_criteria_and_design(self):
        row = only(
            title="Fix cmd/a.go",
            description="Panics at cmd/b.go:130 and /Users/user1/src/x/cmd/b.go:130.\n\n## Files\n\n- `cmd/c.go` (new)",
            acceptance_criteria="- docs/d.md says so",
            design="Create internal/e.go.",
        )
        assert (row["files_create"], row["files_modify"]) == (
            ["cmd/c.go", "internal/e.go"],
            ["cmd/a.go", "cmd/b.go", "docs/d.md"],
        )
        assert sorted(row["files_inferred"]) == sorted(row["files_create"] + row["files_modify"])

    def test_what_was_written_on_the_way_names_none(self):
        row = only(
            notes="See a/b.py", comments=[{"author": "x", "text": "a/c.py"}], status="closed", close_reason="a/d.py"
        )
        assert row["files_inferred"] == []

    def test_words_may_be_paths_if_the_repository_has_them(self):
        entry = issue(description="Change bin/tool and/or `LICENSE`.")
        assert read(entry).mentions >= {"bin/tool", "LICENSE"}
        assert read(entry, paths=frozenset({"bin/tool"})).rows[0]["files_modify"] == ["bin/tool"]


class TestAcceptanceCriteria:
    @pytest.mark.parametrize(
        ("value", "criteria"),
        [
            ("- One\n- Two", ["One", "Two"]),
            ("1. One\n2. Two", ["One", "Two"]),
            ("- [ ] One\n- [x] Two", ["One", "Two"]),
            ("One sentence; and a second half.", ["One sentence; and a second half."]),
            (
                "## Acceptance Criteria (MUST ALL PASS):\n\n### Input:\n- One\n  - Two",
                ["Acceptance Criteria (MUST ALL PASS):", "Input:", "One", "Two"],
            ),
            ("At x=464 (LEFT=289 + 175) - as before", ["At x=464 (LEFT=289 + 175) - as before"]),
            ("- One that goes\n  on here\n- Two\nthat goes on", ["One that goes on here", "Two that goes on"]),
            ("- One\n\n---\n\n- Two", ["One", "Two"]),
            (["One", {"criterion": "Two"}, None], ["One", "Two"]),
            ("- ✅ One", ["✅ One"]),
            (None, []),
            ("", []),
            (3, ["3"]),
        ],
    )
    def test_are_single_lines(self, value, criteria):
        assert only(acceptance_criteria=value)["acceptance_criteria"] == criteria

    @pytest.mark.parametrize(
        "section",
        [
            "## Acceptance Criteria\n\n- One\n- Two",
            "### Acceptance criteria\n- [ ] One\n- [ ] Two",
            "## Acceptance\nOne\n\nTwo",
            "Acceptance criteria\n---\n\n- One\n- Two",
            "# **Acceptance Criteria:** #\n\n* One\n* Two",
            "**Acceptance Criteria:**\n- One\n- Two",
            "**Acceptance criteria**:\n\n1. One\n2. Two",
            "__Acceptance Criteria__\n\n- One\n- Two",
            "Acceptance:\n- One\n- Two",
            "Acceptance Criteria: One\n- Two",
            "## Success Criteria\n\n- One\n- Two",
            "SUCCESS CRITERIA:\n- One\n- Two",
            "**Definition of Done:**\n- One\n- Two",
        ],
    )
    def test_of_a_section_leave_the_description(self, section):
        for before, after, rest in (
            ("", "", ""),
            ("Do it.\n\n", "", "Do it."),
            ("", "\n\n# Notes\n\nLast.", "# Notes\n\nLast."),
            ("Do it.\n\n", "\n\n# Notes\n\nLast.", "Do it.\n\n# Notes\n\nLast."),
        ):
            row = only(description=f"{before}{section}{after}")
            assert row["acceptance_criteria"] == ["One", "Two"]
            assert row["description"] == rest

    def test_a_title_that_says_more_is_kept(self):
        row = only(description="Do it.\n\n**Acceptance criteria (for now):**\n- One")
        assert row["acceptance_criteria"] == ["Acceptance criteria (for now)", "One"]

    def test_a_section_ends_at_the_next_label(self):
        row = only(description="Do it.\n\n**Acceptance Criteria:**\n- One\n\n**Details:**\n- Two\n")
        assert row["acceptance_criteria"] == ["One"]
        assert row["description"].split() == ["Do", "it.", "**Details:**", "-", "Two"]

    def test_a_bare_label_takes_the_paragraph_below(self):
        row = only(description="Do it.\n\n**Acceptance:**\n\nIt works.\n\nMore to do.")
        assert row["acceptance_criteria"] == ["It works."]
        assert row["description"].split("\n\n") == ["Do it.", "More to do."]

    def test_inner_headings_belong_to_the_section(self):
        row = only(description="## Acceptance\n### Input\n- One\n### Output\n- Two\n## Other\nText")
        assert row["acceptance_criteria"] == ["Input", "One", "Output", "Two"]
        assert row["description"] == "## Other\nText"

    @pytest.mark.parametrize(
        "description",
        [
            "The acceptance criteria of others are shown.",
            "Add the Acceptance (acceptance criteria) field to the panel",
            "- Blank line between Acceptance Criteria label and its content",
            "```\n## Acceptance Criteria\n- One\n```",
            "## Acceptance Criteria",
            "## Acceptance of terms\n\n- One",
            "Acceptance criteria:",
        ],
    )
    def test_words_about_them_are_no_section(self, description):
        row = only(description=description)
        assert (row["description"], row["acceptance_criteria"]) == (description, [])

    def test_a_section_with_code_stays_in_the_description_too(self):
        description = "Do it.\n\n## Acceptance\n\n- One:\n\n```sh\nmake test\n```\n\n- Two"
        row = only(description=description)
        assert (row["description"], row["acceptance_criteria"]) == (description, ["One:", "Two"])

    def test_a_field_with_code_stands_in_the_details_too(self):
        text = "- One\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n- Two"
        row = only(acceptance_criteria=text)
        assert row["acceptance_criteria"] == ["One", "Two"]
        assert texts(row, "details") == [f"Acceptance criteria:\n\n{text}"]

    def test_of_field_and_section_each_is_said_once(self):
        row = only(acceptance_criteria="- One\n- Two", description="Do it.\n\n## Acceptance\n- Two\n- Three")
        assert row["acceptance_criteria"] == ["One", "Two", "Three"]

    def test_those_that_are_too_many_for_a_brief_stand_in_the_details(self):
        row = only(acceptance_criteria="\n".join(f"- Criterion {number}" for number in range(34)))
        assert row["acceptance_criteria"] == [f"Criterion {number}" for number in range(30)]
        (rest,) = texts(row, "details")
        assert rest.startswith("Acceptance criteria:\n\n- Criterion 30\n- Criterion 31")


class TestNotes:
    def test_comments_stand_in_the_order_of_time_with_their_authors(self):
        comments = [
            {"id": 2, "issue_id": "bd-a1", "author": "jon", "text": "Later.", "created_at": "2026-03-01T00:00:02Z"},
            {
                "id": "1",
                "issue_id": "bd-a1",
                "author": '"mira"',
                "text": "First.",
                "created_at": "2026-03-01T00:00:01Z",
            },
            {"id": 3, "author": None, "text": "No author.", "created_at": "once"},
            {"author": "bot", "text": "```\nlog\n```"},
            {"author": "bot", "text": " "},
            "Just words.",
            None,
        ]
        row = only(notes="Noted.", comments=comments)
        assert [(entry["text"], entry["time"]) for entry in row["said"]] == [
            ("Noted.", None),
            ("mira: First.", MARCH + 1_000_000),
            ("jon: Later.", MARCH + 2_000_000),
            ("No author.", None),
            ("bot:\n\n```\nlog\n```", None),
            ("Just words.", None),
        ]
        assert {entry["place"] for entry in row["said"]} == {"note"}

    def test_why_an_issue_was_closed_is_a_note_of_its_time(self):
        row = only(status="closed", close_reason="Merged: the list is sorted.", closed_at="2026-03-01T00:00:00Z")
        assert row["said"] == [{"place": "note", "text": "Merged: the list is sorted.", "time": MARCH}]

    @pytest.mark.parametrize("reason", [None, "", "Closed", "completed", "Done", "done.", " CLOSED "])
    def test_that_it_was_closed_is_no_reason(self, reason):
        assert only(status="closed", close_reason=reason)["said"] == []

    def test_an_issue_that_was_opened_again_has_no_reason(self):
        assert only(status="open", close_reason="Already pushed")["said"] == []


# ---- any input --------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
ODD = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "type", "depends_on_id"]), inner)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *issue(),
        "acceptance_criteria",
        "design",
        "notes",
        "comments",
        "close_reason",
        "closed_at",
        "dependencies",
        "parent",
    ]
)


@given(st.lists(st.dictionaries(KEYS, ODD, max_size=8), max_size=4), st.text(max_size=20))
def test_no_value_stops_the_reader(records, line):
    graph = read_text("\n".join([*(json.dumps(record) for record in records), line]))
    assert all(row.keys() == task_row(0, "").keys() for row in graph.rows)
    assert graph.feature
    assert graph.rows or ("error", "GRAPH_EMPTY") in codes(graph)


@given(st.text() | st.lists(st.sampled_from(['{"id":', '"a"', "}", "\n", "[", ",", "\x00", "{}"])).map("".join))
def test_no_text_stops_the_reader(text):
    assert FORMAT.recognises(text, None) in (True, False)
    assert read_text(text).feature == "demo"


# ---- real files -------------------------------------------------------------------------------------------------

REAL = {
    "abacus": {"done": 113, "pending": 8, "in-progress": 1},
    "beads-2025-10": {"done": 153, "pending": 9, "in-progress": 3},
    "beads-2025-12": {"done": 229, "pending": 86, "deferred": 2, "in-progress": 1},
    "bedrock": {"done": 24},
    "lazycfg": {"done": 87, "pending": 15},
    "xboing-c": {"done": 239, "pending": 21},
}
#: Tasks with a parent, dependencies, tasks with acceptance criteria.
COUNTS = {
    "abacus": (91, 56, 65),
    "beads-2025-10": (40, 18, 23),
    "beads-2025-12": (108, 113, 18),
    "bedrock": (3, 12, 0),
    "lazycfg": (49, 50, 41),
    "xboing-c": (103, 55, 27),
}
#: What most ids begin with, where that is not the project's name.
PREFIXES = {"abacus": "ab", "beads-2025-10": "bd", "beads-2025-12": "bd", "xboing-c": "xboing"}
FINDINGS = {
    "abacus": ["PLAN_PARENTS"],
    "beads-2025-12": ["PLAN_TRAFFIC"],
    "lazycfg": ["PLAN_EDGES_DELETED"],
}


def real(shared, name):
    folder = shared / "plans" / "beads" / name
    (path,) = FORMAT.find(folder)
    file = InputFile.of(f"{name}/.beads/{path.name}", path.read_bytes())
    return PlanSource(file, decode(file)[0])


@pytest.mark.parametrize("name", sorted(REAL))
class TestRealFiles:
    def test_are_recognised_whole_and_by_one_line(self, shared, name):
        text = real(shared, name).text
        first = text.split("\n", 1)[0]
        assert FORMAT.recognises(text, None)
        assert FORMAT.recognises(first, parse_json(first))

    def test_have_a_row_for_each_issue_that_is_work(self, shared, name):
        plan = real(shared, name)
        graph = FORMAT.read(plan)
        records = [json.loads(line) for line in plan.text.splitlines()]
        work = [
            record["id"]
            for record in records
            if record["status"] != "tombstone" and record["issue_type"] not in ("message", "merge-request", "molecule")
        ]
        assert graph.feature == PREFIXES.get(name, name)
        assert [row["task_id"] for row in graph.rows] == work
        assert Counter(row["status"] for row in graph.rows) == REAL[name]
        assert [row["code"] for row in graph.findings] == FINDINGS.get(name, [])

    def test_have_the_parents_dependencies_and_criteria_that_were_counted(self, shared, name):
        rows = FORMAT.read(real(shared, name)).rows
        assert COUNTS[name] == (
            sum(row["parent"] is not None for row in rows),
            sum(len(row["dependencies"]) for row in rows),
            sum(bool(row["acceptance_criteria"]) for row in rows),
        )
        ids = {row["task_id"] for row in rows}
        assert all(ids.issuperset([*row["dependencies"], *filter(None, [row["parent"]])]) for row in rows)

    def test_lose_no_word_of_what_is_to_do(self, shared, name):
        plan = real(shared, name)
        rows = by_id(FORMAT.read(plan))
        for record in map(json.loads, plan.text.splitlines()):
            if record["id"] in rows:
                row = rows[record["id"]]
                told = [row["description"], *row["acceptance_criteria"], *(entry["text"] for entry in row["said"])]
                given = [record.get(field, "") for field in ("description", "acceptance_criteria", "design", "notes")]
                assert words(given) - words(told) <= MARKS, record["id"]


#: What marks a list, a box or the title of a section that has become a list of its own.
MARKS = {"acceptance", "criteria", "success", "x", *map(str, range(30))}


def words(lines):
    return set(re.findall(r"\w+", " ".join(lines).lower()))


def test_the_sample_is_read_without_oddities():
    path = Path(__file__).parents[4] / "data" / "plans" / "beads"
    (plan,) = FORMAT.find(path)
    graph = read_text(plan.read_text(encoding="utf-8"))
    assert codes(graph) == [("info", "PLAN_OTHER_LINES")]
    assert {row["status"] for row in graph.rows} == {"pending", "in-progress", "done", "deferred"}
    assert all(status_of(row["status"]) == row["status"] for row in graph.rows)
    assert by_id(graph)["links-7qa.4"]["dependencies"] == ["links-7qa.2", "links-7qa.3"]
    assert all(row["files_inferred"] for row in graph.rows if row["parent"])

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.batch import Tasks
from tasks.exported import exported
from tasks.sources.files import InputFile
from tasks.sources.order import circular, depths
from tests.tasks.sources.plan_reading import read_graph, read_graphs

LABEL = "plans/demo/task-graph.json"


def read(*tasks, codes_only=True, **plan):
    """The rows of one graph by id, and its findings' codes."""
    document = {"feature": "demo", "tasks": list(tasks), **plan}
    frame, findings = read_graphs([InputFile.of(LABEL, json.dumps(document).encode())])
    Tasks.validate(frame)
    rows = {row["task_id"]: row for row in frame.sort("position").to_dicts()}
    return rows, {row["code"] for row in findings} if codes_only else findings


def task(**fields):
    return {"id": "T1", "title": "Title", "description": "What to do.", "level": 1, **fields}


def paths(row):
    return {name: row[f"files_{name}"] for name in ("create", "modify", "read", "delete") if row[f"files_{name}"]}


def test_a_plain_task_is_read_without_findings():
    rows, codes = read(
        task(
            files={"create": ["a.py"], "modify": ["b.py"], "read": ["c.py"]},
            acceptance_criteria=["works"],
            verification={"command": "pytest -q", "timeout_seconds": 60},
            dependencies=[],
            consumers=[],
            tools=["bash"],
            context="Look here.",
            token_budget=900,
        )
    )
    assert codes == set()
    row = rows["T1"]
    assert paths(row) == {"create": ["a.py"], "modify": ["b.py"], "read": ["c.py"]}
    assert (row["graph"], row["acceptance_criteria"], row["verification"]) == ("demo", ["works"], "pytest -q")
    assert (row["tools"], row["context"], row["budget_tokens"], row["position"]) == (["bash"], "Look here.", 900, 0)


class TestFiles:
    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            (None, {}),
            ("a.py", {"modify": ["a.py"]}),
            (["a.py", "b.py", "a.py"], {"modify": ["a.py", "b.py"]}),
            ([None], {}),
            ([{"path": "a.py"}], {"modify": ["a.py"]}),
            (
                [{"path": "a.py", "action": "create"}, {"file": "b.py", "action": "delete"}],
                {"create": ["a.py"], "delete": ["b.py"]},
            ),
            ({"create": "a.py"}, {"create": ["a.py"]}),
            ({"create": [None, {"path": "a.py"}, ["b.py"]]}, {"create": ["a.py", "b.py"]}),
            ({"modify": None, "read": [3]}, {"read": ["3"]}),
            ({"move": [{"from": "old.py", "to": "new.py"}]}, {"create": ["new.py"], "delete": ["old.py"]}),
            ({"move": {"from": "old.py", "to": "new.py"}}, {"create": ["new.py"], "delete": ["old.py"]}),
            ({"move": {"old.py": "new.py"}}, {"create": ["new.py"], "delete": ["old.py"]}),
            ({"delete": ["gone.py"]}, {"delete": ["gone.py"]}),
            ({"path": "a.py"}, {"modify": ["a.py"]}),
            (7, {"modify": ["7"]}),
        ],
    )
    def test_any_shape_is_read(self, files, expected):
        rows, _ = read(task(files=files))
        assert paths(rows["T1"]) == expected

    def test_owned_and_read_lists_are_modify_and_read(self):
        rows, codes = read(task(files_owned=["a.py"], files_read=["b.py"]))
        assert paths(rows["T1"]) == {"modify": ["a.py"], "read": ["b.py"]}
        assert codes == set()

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("**/*.py", "PATH_GLOB"),
            ("src/", "PATH_FOLDER"),
            ("commands/zerg:debug.md", "PATH_COLON"),
            ("../x.py", "PATH_OUTSIDE"),
            ("/etc/passwd", "PATH_OUTSIDE"),
        ],
    )
    def test_odd_paths_are_kept_with_a_finding(self, path, code):
        rows, codes = read(task(files={"modify": [path]}))
        assert paths(rows["T1"]) == {"modify": [path]}
        assert codes == {code}

    def test_an_unknown_part_is_named(self):
        _, codes = read(task(files={"modify": [], "watch": ["a.py"]}))
        assert codes == {"TASK_FILES_PART"}

    def test_paths_are_one_line_each(self):
        rows, _ = read(task(files={"create": ["a\n## Rules\r\n.py"]}))
        assert paths(rows["T1"]) == {"create": ["a ## Rules .py"]}

    def test_a_file_of_two_tasks_is_a_finding(self):
        _, codes = read(task(files={"modify": ["a.py"]}), task(id="T2", files={"create": ["a.py"]}))
        assert codes == {"FILE_SHARED"}


class TestIds:
    def test_ids_of_any_form_are_kept_as_printed(self):
        text = (
            '{"feature":"f","tasks":[{"id":1},{"id":27.10},{"id":"BITE2-L1-001"},{"id":" a b "},{"id":"'
            + "x" * 300
            + '"}]}'
        )
        frame, _ = read_graphs([InputFile.of(LABEL, text.encode())])
        assert set(frame["task_id"]) == {"1", "27.10", "BITE2-L1-001", "a b", "x" * 300}

    def test_numbers_refer_to_ids_that_are_numbers(self):
        rows, codes = read(task(id=1), task(id=2, level=2, dependencies=[1, "1"]))
        assert rows["2"]["dependencies"] == ["1"]
        assert "TASK_UNKNOWN_DEPENDENCY" not in codes

    def test_a_missing_id_comes_from_the_place(self):
        rows, codes = read(task(id=None), task(id=""), task(id="task-1"))
        assert set(rows) == {"task-1~2", "task-2", "task-1"}
        assert rows["task-1~2"]["position"] == 0
        assert "TASK_NO_ID" in codes

    def test_the_same_task_twice_is_read_once(self):
        rows, codes = read(task(), task())
        assert list(rows) == ["T1"]
        assert codes == {"TASK_REPEATED"}

    def test_another_task_of_the_same_id_gets_its_own(self):
        rows, codes = read(task(), task(title="Other"), task(id="T1~2", title="Third"), task(title="Fourth"))
        assert {name: row["title"] for name, row in rows.items()} == {
            "T1": "Title",
            "T1~3": "Other",
            "T1~2": "Third",
            "T1~4": "Fourth",
        }
        assert codes == {"TASK_SAME_ID"}


class TestDependencies:
    def test_inside_one_level_they_stay(self):
        rows, codes = read(task(), task(id="T2", dependencies=["T1"]))
        assert rows["T2"]["dependencies"] == ["T1"]
        assert codes == {"TASK_LEVEL_DEPENDENCY"}

    def test_unknown_ones_and_oneself_go(self):
        rows, codes = read(task(dependencies=["T1", "T9", None]))
        assert rows["T1"]["dependencies"] == []
        assert {"TASK_UNKNOWN_DEPENDENCY", "TASK_SELF_DEPENDENCY"} <= codes

    @pytest.mark.parametrize("given", ["T1", ["T1"], [["T1"]], [{"id": "T1"}], {"id": "T1"}, "T1, T1"])
    def test_they_are_read_from_any_shape(self, given):
        rows, _ = read(task(), task(id="T2", level=2, dependencies=given))
        assert rows["T2"]["dependencies"] == ["T1"]

    def test_a_cycle_is_named_and_its_tasks_kept(self):
        rows, codes = read(
            task(dependencies=["T3"]), task(id="T2", dependencies=["T1"]), task(id="T3", dependencies=["T2"])
        )
        assert len(rows) == 3
        assert "GRAPH_CYCLE" in codes

    def test_unknown_consumers_stay_with_a_finding(self):
        rows, codes = read(task(consumers=["leaf"]))
        assert rows["T1"]["consumers"] == ["leaf"]
        assert codes == {"TASK_UNKNOWN_CONSUMER"}


class TestLevels:
    def test_they_come_from_depth_where_unsaid(self):
        rows, codes = read(
            task(level=None),
            task(id="T2", level=None, dependencies=["T1"]),
            task(id="T3", level=None, dependencies=["T2", "T1"]),
        )
        assert [rows[name]["level"] for name in ("T1", "T2", "T3")] == [1, 2, 3]
        assert codes == {"GRAPH_NO_LEVEL"}

    def test_the_graphs_own_levels_count(self):
        rows, codes = read(task(level=None), task(id="T2", level=None), levels={"4": {"tasks": ["T1"]}, "5": ["T2"]})
        assert (rows["T1"]["level"], rows["T2"]["level"]) == (4, 5)
        assert codes == set()

    @pytest.mark.parametrize(
        ("level", "expected"), [(0, 0), ("2", 2), (-1, -1), (True, 1), ("x", 1), (10**12, 1), ([], 1)]
    )
    def test_any_level_is_read(self, level, expected):
        rows, _ = read(task(level=level))
        assert rows["T1"]["level"] == expected

    def test_depth_survives_cycles_and_long_chains(self):
        chain = {str(n): [str(n - 1)] if n else [] for n in range(5000)}
        assert depths(dict(reversed(chain.items())), {})["4999"] == 5000
        assert set(depths({"a": ["b"], "b": ["a"], "c": ["c", "b"]}, {})) == {"a", "b", "c"}

    def test_circles_are_found_each_once(self):
        graph = {"a": ["b"], "b": ["a"], "c": ["b"], "d": ["e"], "e": ["f"], "f": ["d"], "g": []}
        assert circular(graph) == [["a", "b"], ["d", "e", "f"]]
        assert circular({str(n): [str(n - 1)] if n else ["4999"] for n in range(5000)}) == [
            [str(n) for n in range(5000)]
        ]


class TestWords:
    def test_prose_is_cleaned_and_titles_are_one_line(self):
        rows, _ = read(task(title="A\n\n# B\u202e", description="x\r\ny\0\ud800"))
        assert rows["T1"]["title"] == "A # B[U+202E]"
        assert rows["T1"]["description"] == "x\ny[U+0000]\ufffd"

    def test_no_title_and_no_description(self):
        rows, codes = read({"id": "T1", "level": 1})
        assert (rows["T1"]["title"], rows["T1"]["description"]) == ("T1", "")
        assert codes == {"TASK_NO_TITLE", "TASK_NO_DESCRIPTION"}

    @pytest.mark.parametrize(
        ("criteria", "expected"),
        [
            ("one", ["one"]),
            ("- one\n- [x] two\n3. three\n", ["one", "two", "three"]),
            (["one", ["two"], None, 3], ["one", "two", "3"]),
            ([{"description": "one"}, {"given": "a", "then": "b"}], ["one", "given: a; then: b"]),
            ({"text": "one"}, ["one"]),
            (None, []),
        ],
    )
    def test_acceptance_criteria_are_one_line_each(self, criteria, expected):
        rows, _ = read(task(acceptance_criteria=criteria))
        assert rows["T1"]["acceptance_criteria"] == expected

    @pytest.mark.parametrize(
        ("verification", "expected"),
        [
            ("make test", "make test"),
            ({"command": "make test", "expected": "ok"}, "make test"),
            ({"command": "a\nb"}, "a\nb"),
            (["a", {"command": "b"}], "a\nb"),
            ({"commands": ["a", "b"]}, "a\nb"),
            ({"manual": "look"}, "- manual: look"),
            (None, ""),
        ],
    )
    def test_verification_is_the_command(self, verification, expected):
        rows, _ = read(task(verification=verification))
        assert rows["T1"]["verification"] == expected

    @pytest.mark.parametrize(
        ("context", "expected"), [({"a": "b"}, "- a: b"), (["x"], "- x"), ("# H\n", "# H"), (3, "3")]
    )
    def test_context_becomes_text(self, context, expected):
        rows, _ = read(task(context=context))
        assert rows["T1"]["context"] == expected

    @pytest.mark.parametrize(("more", "severity"), [("", "info"), ("And this.\n", "warning")])
    def test_a_context_that_prebrief_exported_is_left_out(self, more, severity):
        rows, findings = read(task(context=exported("## Design\n\nText.\n") + more), codes_only=False)
        assert rows["T1"]["context"] == ""
        assert [row["severity"] for row in findings if row["code"] == "TASK_CONTEXT_EXPORTED"] == [severity]

    @pytest.mark.parametrize(
        ("field", "value", "expected"),
        [
            ("budget", 500, 500),
            ("budget_tokens", "500", 500),
            ("budget", -1, None),
            ("token_budget", 1e400, None),
            ("budget", [], None),
        ],
    )
    def test_a_budget_is_a_positive_whole_number(self, field, value, expected):
        rows, codes = read(task(**{field: value}))
        assert rows["T1"]["budget_tokens"] == expected
        assert ("TASK_BUDGET" in codes) == (expected is None and value != float("inf"))


class TestWholeFiles:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"[]",
            b"{}",
            b'{"tasks": []}',
            b'{"tasks": 3}',
            b"null",
            b"3",
            b'{"tasks": [1, null]}',
            b"[" * 10**5,
        ],
    )
    def test_without_a_readable_task_there_is_no_graph(self, data):
        graph = read_graph(InputFile.of(LABEL, data))
        assert graph.rows == []
        assert "error" in {row["severity"] for row in graph.findings}

    def test_a_list_of_tasks_takes_the_folders_name(self):
        frame, findings = read_graphs([InputFile.of(LABEL, b'[{"id": "T1"}]')])
        assert frame["graph"].to_list() == ["demo"]
        assert "GRAPH_NO_FEATURE" in {row["code"] for row in findings}

    def test_without_a_folder_the_feature_is_the_files_name(self):
        assert read_graph(InputFile.of("plan.json", b'{"feature": "  ", "tasks": [{}]}')).feature == "plan"

    def test_tasks_by_id_are_read(self):
        rows, codes = read()
        assert rows == {}
        frame, findings = read_graphs([InputFile.of(LABEL, b'{"feature": "f", "tasks": {"A": {}, "B": {"id": "C"}}}')])
        assert frame["task_id"].to_list() == ["A", "C"]
        assert "GRAPH_TASKS_OBJECT" in {row["code"] for row in findings}
        assert "GRAPH_EMPTY" in codes

    def test_keys_given_twice_and_values_that_are_no_numbers_are_findings(self):
        data = b'{"feature": "f", "tasks": [{"id": "A", "id": "B", "level": NaN}]}'
        frame, findings = read_graphs([InputFile.of(LABEL, data)])
        assert frame["task_id"].to_list() == ["B"]
        assert {"JSON_REPEATED_KEY", "JSON_NOT_A_NUMBER"} <= {row["code"] for row in findings}

    def test_other_encodings_are_read(self):
        data = json.dumps({"feature": "größe", "tasks": [{"id": "ä"}]}, ensure_ascii=False).encode("utf-16")
        frame, findings = read_graphs([InputFile.of(LABEL, data)])
        assert frame.select("graph", "task_id").row(0) == ("größe", "ä")
        assert "INPUT_ENCODING" in {row["code"] for row in findings}


class TestSeveralGraphs:
    def files(self, json_file):
        return [
            json_file({"feature": "a", "tasks": [{"id": "T1"}, {"id": "T2"}]}, "x/task-graph.json"),
            json_file({"feature": "a", "tasks": [{"id": "T1"}]}, "y/task-graph.json"),
            json_file({"feature": "b", "tasks": [{"id": "T1"}]}, "z/task-graph.json"),
        ]

    def test_equal_features_get_their_files_hash_whatever_the_order(self, json_file):
        files = self.files(json_file)
        frame, findings = read_graphs(files)
        assert set(frame["graph"]) == {f"a@{files[0].sha256[:8]}", f"a@{files[1].sha256[:8]}", "b"}
        shuffled, others = read_graphs(random.Random(1).sample(files, 3))
        assert frame.equals(shuffled)
        assert sorted(map(str, findings)) == sorted(map(str, others))

    def test_tasks_are_numbered_by_graph_and_id(self, json_file):
        frame, _ = read_graphs(self.files(json_file))
        assert frame["task"].to_list() == [0, 1, 2, 3]
        assert frame.equals(frame.sort("graph", "task_id"))

    def test_the_same_file_twice_is_read_once(self, json_file):
        files = [json_file({"feature": "a", "tasks": [{"id": "T1"}]}, f"{name}/g.json") for name in "xy"]
        frame, findings = read_graphs(files)
        assert frame["graph"].to_list() == ["a"]
        assert "GRAPH_REPEATED" in {row["code"] for row in findings}

    def test_a_graph_without_tasks_takes_no_name_away(self, json_file):
        files = [json_file({"feature": "a", "tasks": [{"id": "T1"}]}, "x.json"), json_file({"feature": "a"}, "y.json")]
        assert read_graphs(files)[0]["graph"].to_list() == ["a"]


def test_every_real_graph_loads_with_no_task_lost(shared):
    files = [
        InputFile.of(str(path.relative_to(shared)), path.read_bytes())
        for path in shared.glob("swarm/*/task-graph.json")
    ]
    assert files
    frame, findings = read_graphs(files)
    Tasks.validate(frame)
    assert len(frame) == sum(len(json.loads(file.data)["tasks"]) for file in files)
    assert {row["severity"] for row in findings} == {"info"}
    assert {"PATH_COLON", "PATH_GLOB", "PATH_FOLDER", "FILE_SHARED", "TASK_LEVEL_DEPENDENCY"} <= {
        row["code"] for row in findings
    }


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "id", "title", "description", "level", "dependencies", "consumers", "files", "files_owned", "files_read", "tools",
    "acceptance_criteria", "verification", "context", "budget", "integration_test",
]  # fmt: skip
ANY_TASK = st.dictionaries(st.sampled_from(FIELDS), ANY_JSON)


@settings(deadline=None)
@given(st.lists(ANY_TASK | ANY_JSON, max_size=5), ANY_JSON, ANY_JSON)
def test_any_json_gives_a_valid_frame(tasks, feature, levels):
    document = {"feature": feature, "tasks": tasks, "levels": levels}
    frame, findings = read_graphs([InputFile.of(LABEL, json.dumps(document).encode())])
    Tasks.validate(frame)
    assert len(frame) <= len(tasks)
    assert all("\n" not in row["message"] and "\n" not in row["where"] for row in findings)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read(data):
    read_graph(InputFile.of(LABEL, data))

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.sources.files import InputFile, decode
from tasks.sources.plans.plan import PlanSource
from tasks.sources.plans.task_master import FORMAT
from tasks.sources.values import UnreadableJsonError, parse_json
from tasks.terms import PROGRESS

ROOT = Path(__file__).resolve().parents[4]
SAMPLE = ROOT / "data" / "plans" / "task-master"
LABEL = "ferries/.taskmaster/tasks/tasks.json"


def task(number=1, **fields):
    plain = {"title": "Title", "description": "What to do.", "status": "pending", "priority": "high"}
    return {"id": number, **plain, "dependencies": [], "details": "", "testStrategy": "", "subtasks": [], **fields}


def subtask(number=1, **fields):
    return {"id": number, "title": "Part", "description": "What to do.", "status": "pending", **fields}


def tagged(**tags):
    return {name.replace("_", "-"): {"tasks": tasks, "metadata": {}} for name, tasks in tags.items()}


def read(document, *, tag=None, state=None, label=LABEL, paths=()):
    text = document if isinstance(document, str) else json.dumps(document)
    companions = [] if state is None else [("state", InputFile.of("ferries/.taskmaster/state.json", state.encode()))]
    return FORMAT.read(PlanSource(InputFile.of(label, text.encode()), text, companions, frozenset(paths), tag))


def rows_of(*tasks, **options):
    """The rows of a flat plan by address, and the codes of its findings."""
    found = read({"tasks": list(tasks)}, **options)
    return {row["task_id"]: row for row in found.rows}, [row["code"] for row in found.findings]


def row_of(**fields):
    rows, _ = rows_of(task(**fields))
    return rows["1"]


def notes(row):
    return [(said["text"], said["time"]) for said in row["said"] if said["place"] == "note"]


def details(row):
    return [said["text"] for said in row["said"] if said["place"] == "details"]


def recognises(document):
    text = document if isinstance(document, str) else json.dumps(document)
    try:
        value = parse_json(text)
    except UnreadableJsonError:
        value = None
    return FORMAT.recognises(text, value)


# ---- which file is a plan -----------------------------------------------------------------------------------------


class TestRecognises:
    @pytest.mark.parametrize(
        "document",
        [
            {"tasks": [task()]},
            {"meta": {"projectName": "Ferries"}, "tasks": [task()]},
            {"tasks": [{"id": 1, "title": "A", "status": "pending"}], "metadata": {}},
            {"tasks": [{"id": "1", "title": "A", "testStrategy": "Try it."}]},
            {"tasks": [task(level="expert", files=["a.py"])]},
            tagged(master=[task()]),
            tagged(feature_login=[task()], master=[]),
            tagged(tasks=[task()]),
            tagged(feature=[task()]),
            tagged(master=[]),
            {"feature/login": {"tasks": [{"id": 1, "title": "A"}]}},
            {"tasks": [], **tagged(master=[task()])},
        ],
    )
    def test_flat_and_tagged_lists_of_its_tasks(self, document):
        assert recognises(document)

    @pytest.mark.parametrize(
        "document",
        [
            {"feature": "f", "tasks": [task()]},
            {"tasks": [{"id": "T1", "title": "A", "level": 1, "details": "x"}]},
            {"tasks": [{"id": "T1", "title": "A", "files": {"create": ["a.py"]}, "status": "todo", "priority": 1}]},
            {"tasks": [{"id": "T1", "title": "A", "description": "B", "dependencies": []}]},
            {"tasks": []},
            {"version": "2.0.0", "tasks": [{"label": "build", "type": "shell"}]},
            {"feature": "f", "tasks": [], "phase": {"tasks": [{"id": "T1"}]}},
            {"phase": {"tasks": ["T1", "T2"]}},
            {"config": 1, "phase": {"tasks": []}},
            {"currentTag": "master"},
            [task()],
            [],
            {},
            None,
            "text",
            1,
            '{"id":"a-1","title":"A"}\n{"id":"a-2","title":"B"}\n',
            "# Tasks\n\n- [ ] T001 Do it\n",
        ],
    )
    def test_nothing_else(self, document):
        assert not recognises(document)

    def test_the_plans_of_this_tool_among_all_the_real_files(self, shared):
        expected = set((shared / "plans" / "taskmaster").rglob("tasks.json"))
        found = {
            path
            for path in shared.rglob("*")
            if path.is_file() and recognises(decode(InputFile.of("x", path.read_bytes()))[0])
        }
        assert expected
        assert found == expected

    @given(
        st.recursive(
            st.none() | st.text() | st.integers(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(["tasks", "master", "feature", "id", "level", "files"]), inner)
            ),
        )
    )
    def test_whatever_the_value_there_is_an_answer(self, value):
        assert FORMAT.recognises("", value) in (True, False)
        assert FORMAT.recognises("", {"tasks": value, "master": value}) in (True, False)


# ---- which file a folder means, and what lies beside it -----------------------------------------------------------


def made(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


class TestFind:
    def test_the_plan_of_a_project_of_its_folder_and_of_its_tasks(self, tmp_path):
        made(tmp_path, ".taskmaster/tasks/tasks.json", "tasks/tasks.json")
        plan = tmp_path / ".taskmaster" / "tasks" / "tasks.json"
        for folder in (tmp_path, tmp_path / ".taskmaster", tmp_path / ".taskmaster" / "tasks"):
            assert list(FORMAT.find(folder)) == [plan]

    @pytest.mark.parametrize(
        "sign", ["scripts/prd.txt", "scripts/PRD.txt", ".taskmasterconfig", ".taskmaster/config.json"]
    )
    def test_the_old_place_where_another_file_says_whose_it_is(self, tmp_path, sign):
        made(tmp_path, "tasks/tasks.json", sign)
        assert list(FORMAT.find(tmp_path)) == [tmp_path / "tasks" / "tasks.json"]
        assert list(FORMAT.find(tmp_path / "tasks")) == [tmp_path / "tasks" / "tasks.json"]

    def test_no_other_folder_means_a_plan(self, tmp_path):
        made(tmp_path, "tasks/tasks.json", "docs/a.md", "scripts/build.sh")
        assert not [*FORMAT.find(tmp_path), *FORMAT.find(tmp_path / "tasks"), *FORMAT.find(tmp_path / "none")]

    def test_the_project_is_where_paths_start(self, tmp_path):
        assert FORMAT.root(tmp_path / ".taskmaster" / "tasks" / "tasks.json") == tmp_path
        assert FORMAT.root(tmp_path / "tasks" / "tasks.json") == tmp_path
        assert FORMAT.root(tmp_path / "plan.json") == tmp_path


class TestCompanions:
    def names(self, folder, plan=".taskmaster/tasks/tasks.json"):
        found = FORMAT.companions(folder / plan)
        assert all(companion.inside == folder for companion in found)
        return [(companion.role, companion.path.relative_to(folder).as_posix()) for companion in found]

    def test_the_state_and_the_prds_but_not_the_rest_of_the_documents(self, tmp_path):
        docs = ["prd.txt", "PRD-auth.md", "search-prd.txt", "example_prd.txt", "chat.md", "prd.pdf", "old/prd.txt"]
        made(tmp_path, *(f".taskmaster/docs/{name}" for name in docs), ".taskmaster/templates/example_prd.txt")
        assert self.names(tmp_path) == [
            ("state", ".taskmaster/state.json"),
            ("requirements", ".taskmaster/docs/PRD-auth.md"),
            ("requirements", ".taskmaster/docs/prd.txt"),
            ("requirements", ".taskmaster/docs/search-prd.txt"),
        ]

    def test_the_prd_of_the_old_place(self, tmp_path):
        made(tmp_path, "scripts/PRD.txt", "scripts/example_prd.txt", "scripts/prd_check.py", "scripts/prd-2.txt")
        expected = [("state", ".taskmaster/state.json"), ("requirements", "scripts/PRD.txt")]
        assert self.names(tmp_path, "tasks/tasks.json") == expected

    def test_no_more_than_eight(self, tmp_path):
        made(tmp_path, *(f".taskmaster/docs/prd-{number}.md" for number in range(9)))
        *found, more = FORMAT.companions(tmp_path / ".taskmaster" / "tasks" / "tasks.json")
        assert [companion.path.name for companion in found[1:]] == [f"prd-{number}.md" for number in range(8)]
        assert (more.path, more.left_out) == (tmp_path / ".taskmaster" / "docs", 1)

    def test_one_that_is_no_file_is_left_to_who_reads_it(self, tmp_path):
        made(tmp_path, ".taskmaster/docs/notes.md")
        os.mkfifo(tmp_path / ".taskmaster" / "docs" / "prd.txt")
        assert self.names(tmp_path)[1:] == [("requirements", ".taskmaster/docs/prd.txt")]

    def test_documents_behind_a_link_that_leads_out_are_not_listed(self, tmp_path):
        project = tmp_path / "project"
        made(tmp_path, "outside/prd.txt", "outside/prd-2.txt", "project/.taskmaster/tasks/tasks.json")
        for name in (".taskmaster/docs", "scripts"):
            (project / name).symlink_to(tmp_path / "outside")
        assert self.names(project)[1:] == [("requirements", ".taskmaster/docs")]

    def test_none_outside_of_the_layout(self, tmp_path):
        made(tmp_path, ".taskmaster/docs/prd.txt", "scripts/prd.txt", "plan.json")
        assert not FORMAT.companions(tmp_path / "plan.json")


# ---- which list of tasks ------------------------------------------------------------------------------------------


class TestTags:
    def test_a_flat_list_is_called_after_its_project(self):
        found = read({"meta": {"projectName": "Ferry Search", "totalTasksGenerated": 20}, "tasks": [task()]})
        assert (found.feature, len(found.rows), found.findings) == ("ferries", 1, [])

    @pytest.mark.parametrize("key", ["meta", "metadata"])
    def test_where_no_folder_is_seen_the_file_names_the_project(self, key):
        assert (
            read({key: {"projectName": "Ferry  Search"}, "tasks": [task()]}, label="tasks.json").feature
            == "Ferry Search"
        )
        assert read({"tasks": [task()]}, label=".taskmaster/tasks/tasks.json").feature == "master"

    def test_a_tag_is_read_by_its_name(self):
        found = read(tagged(master=[task(1)], pier_display=[task(7)]), tag="pier-display")
        assert (found.feature, [row["task_id"] for row in found.rows]) == ("pier-display", ["7"])

    def test_the_tool_s_current_tag_comes_next(self):
        plan = tagged(master=[task(1)], pier_display=[task(7)])
        assert read(plan, state='{"currentTag": "pier-display"}').feature == "pier-display"
        assert read(plan, state='{"currentTag": "pier-display"}', tag="master").feature == "ferries"

    @pytest.mark.parametrize("state", [None, "{", "[]", "{}", '{"currentTag": 3}', '{"currentTag": "gone"}', ""])
    def test_then_master_whatever_the_state_says(self, state):
        found = read(tagged(pier_display=[task(7)], master=[task(1)]), state=state)
        assert [row["task_id"] for row in found.rows] == ["1"]
        assert not [row for row in found.findings if row["severity"] != "info"]

    def test_a_state_that_cannot_be_used_is_told(self):
        plan = tagged(pier_display=[task(7, status="done")], master=[task(1)])
        assert [row["code"] for row in read(plan, state="{").findings] == ["PLAN_STATE"]
        assert [row["code"] for row in read(plan, state='{"currentTag": "gone"}').findings] == ["PLAN_TAG"]

    def test_then_the_only_one(self):
        assert read(tagged(pier_display=[task(7)])).feature == "pier-display"

    def test_several_without_a_choice_are_an_error_that_lists_them(self):
        found = read(tagged(pier_display=[task(7)], search=[task(1)]))
        assert not found.rows
        (finding,) = found.findings
        assert (finding["severity"], finding["code"]) == ("error", "PLAN_TAG")
        assert "'pier-display', 'search'" in finding["message"]
        assert "--tag" in finding["message"]

    def test_a_missing_tag_is_an_error_that_lists_those_there_are(self):
        found = read(tagged(master=[task()], search=[task()]), tag="sarch")
        assert (found.rows, found.findings[0]["code"]) == ([], "PLAN_TAG")
        assert "'master', 'search'" in found.findings[0]["message"]

    def test_a_flat_list_has_the_tag_master(self):
        assert read({"tasks": [task()]}, tag="master").rows
        assert not read({"tasks": [task()]}, tag="search").rows

    def test_open_tasks_of_other_tags_are_told(self):
        (finding,) = read(tagged(master=[task()], a=[task(), task(2, status="done")], b=[task(status="done")])).findings
        assert (finding["severity"], finding["code"]) == ("info", "PLAN_OTHER_TAGS")
        assert "'a' (1)" in finding["message"]
        assert "'b'" not in finding["message"]

    def test_a_tag_may_be_called_tasks(self):
        assert read({"tasks": {"tasks": [task(3)], "metadata": {}}}).rows[0]["task_id"] == "3"
        assert read({**tagged(master=[task(1)]), "tasks": {"tasks": [task(3)]}}, tag="tasks").feature == "tasks"

    def test_a_list_beside_the_tags_is_that_of_master_unless_there_is_one(self):
        assert [row["task_id"] for row in read({"tasks": [task(1)], **tagged(search=[task(2)])}).rows] == ["1"]
        found = read({"tasks": [task(1)], **tagged(master=[task(2)])})
        assert [row["task_id"] for row in found.rows] == ["2"]
        assert [row["code"] for row in found.findings] == ["PLAN_TAG"]

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("", "GRAPH_UNREADABLE"),
            ("{", "GRAPH_UNREADABLE"),
            ("null", "GRAPH_EMPTY"),
            ("3", "GRAPH_EMPTY"),
            ("{}", "GRAPH_EMPTY"),
            ('{"tasks": null}', "GRAPH_EMPTY"),
            ('{"tasks": []}', "GRAPH_EMPTY"),
            ('{"master": {"tasks": []}}', "GRAPH_EMPTY"),
            ('{"tasks": [null, 3, "x", []]}', "GRAPH_EMPTY"),
            ("[" * 300, "GRAPH_UNREADABLE"),
        ],
    )
    def test_a_file_without_a_task_has_an_error(self, text, code):
        found = read(text)
        assert not found.rows
        assert ("error", code) in [(row["severity"], row["code"]) for row in found.findings]

    def test_stale_counts_mean_nothing(self):
        metadata = {"version": "1.0.0", "taskCount": 40, "completedCount": 9, "tags": ["master"], "created": "x"}
        found = read({"master": {"tasks": [task()], "metadata": metadata}})
        assert (len(found.rows), found.findings) == (1, [])

    def test_keys_said_twice_and_no_numbers_are_told(self):
        found = read('{"tasks": [{"id": 1, "id": 2, "title": "A", "description": "B", "complexity": NaN}]}')
        assert found.rows[0]["task_id"] == "2"
        assert [row["code"] for row in found.findings] == ["JSON_REPEATED_KEY", "JSON_NOT_A_NUMBER"]


# ---- where tasks stand --------------------------------------------------------------------------------------------


def addresses(plan):
    return [row["task_id"] for row in read(plan).rows]


class TestIds:
    def test_numbers_and_texts_are_read_as_text_with_gaps_and_in_the_order_of_the_file(self):
        rows, codes = rows_of(task(2), task("1"), task(50), task("auth-1"), task(7.0))
        assert list(rows) == ["2", "1", "50", "auth-1", "7"]
        assert [row["position"] for row in rows.values()] == [0, 1, 2, 3, 4]
        assert not codes

    def test_subtasks_follow_their_parent_by_address(self):
        rows, codes = rows_of(task(5, subtasks=[subtask(1), subtask("2")]), task(6, subtasks=[subtask(1)]))
        assert list(rows) == ["5", "5.1", "5.2", "6", "6.1"]
        assert [row["parent"] for row in rows.values()] == [None, "5", "5", None, "6"]
        assert not codes

    def test_a_number_with_a_point_keeps_its_last_zero(self):
        plan = '{"tasks": [{"id": 27, "title": "A", "subtasks": [{"id": 27.1}, {"id": 27.10}, {"id": 27.11}]}]}'
        assert addresses(plan) == ["27", "27.1", "27.10", "27.11"]

    def test_an_id_that_holds_the_parent_s_is_the_address(self):
        rows, _ = rows_of(task(6, subtasks=[subtask("6.1"), subtask("6.14"), subtask(6.2)]))
        assert list(rows) == ["6", "6.1", "6.14", "6.2"]

    def test_an_id_that_looks_like_another_parent_s_belongs_to_its_own(self):
        rows, _ = rows_of(task(27, subtasks=[subtask(27.9), subtask(28.9)]), task(28, subtasks=[subtask(9)]))
        assert list(rows) == ["27", "27.9", "27.28.9", "28", "28.9"]
        assert rows["27.28.9"]["parent"] == "27"

    def test_both_ways_to_say_an_id_stay_apart_within_one_parent(self):
        assert addresses({"tasks": [task(27, subtasks=[subtask(8), subtask(27.8)])]}) == ["27", "27.8", "27.27.8"]

    def test_subtasks_of_subtasks_have_longer_addresses(self):
        inner = subtask(2, subtasks=[subtask(1), subtask("5.2.2")])
        rows, _ = rows_of(task(5, subtasks=[subtask(1), inner]))
        assert list(rows) == ["5", "5.1", "5.2", "5.2.1", "5.2.2"]
        assert rows["5.2.1"]["parent"] == "5.2"

    def test_the_deepest_file_that_is_read_is_read_whole(self):
        plan = '{"tasks":[{"id":1,"subtasks":[' + '{"id":1,"subtasks":[' * 47 + "]}" * 47 + "]}]}"
        assert len(addresses(plan)) == 48

    @pytest.mark.parametrize("value", ["undefined", "9", 9, None, {"id": 9}])
    def test_what_a_subtask_says_of_its_parent_is_not_heeded(self, value):
        extra = {"parentId": value, "parentTaskId": value, "parentTask": value, "isSubtask": True}
        rows, codes = rows_of(task(5, subtasks=[subtask(1, **extra)]))
        assert rows["5.1"]["parent"] == "5"
        assert not codes

    def test_no_id_is_the_next_free_number(self):
        rows, codes = rows_of(task(None), task(2), task(""), task(5, subtasks=[{"title": "A"}, "Do B", subtask(1)]))
        assert list(rows) == ["1", "2", "3", "5", "5.2", "5.3", "5.1"]
        assert codes == ["TASK_NO_ID"] * 4 + ["TASK_NO_DESCRIPTION"] * 2

    def test_ids_said_twice_are_left_to_who_settles_them(self):
        assert addresses({"tasks": [task(1), task(1), task(2, subtasks=[subtask(1), subtask(1)])]}) == [
            "1",
            "1",
            "2",
            "2.1",
            "2.1",
        ]

    def test_tasks_by_id_are_read_in_order(self):
        found = read({"tasks": {"2": {"title": "A", "description": "x"}, "1": {"title": "B", "description": "x"}}})
        assert [row["task_id"] for row in found.rows] == ["2", "1"]
        assert [row["code"] for row in found.findings] == ["GRAPH_TASKS_OBJECT"]

    def test_entries_that_are_no_tasks_are_told(self):
        rows, codes = rows_of(task(1, subtasks=[3, subtask(2)]), None, task(4, subtasks="none"))
        assert list(rows) == ["1", "1.2", "4"]
        assert codes == ["TASK_UNREADABLE"] * 2

    def test_missing_keys_are_normal_but_for_the_title(self):
        rows, codes = rows_of({"id": 1, "title": "A", "description": "B", "subtasks": None}, {"id": 2, "title": "A"})
        assert list(rows) == ["1", "2"]
        assert codes == ["TASK_NO_DESCRIPTION"]


class TestDependencies:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ([1, 2, "38", "42"], ["1", "2", "38", "42"]),
            (["1", 1, 2.0], ["1", "2"]),
            (None, []),
            ([], []),
            ([None, "", "none", "N/A", {}, []], []),
            (3, ["3"]),
            ("1, 2", ["1", "2"]),
            ("[1, 2]", ["1", "2"]),
            (["29.1,29.2,29.3"], ["29.1", "29.2", "29.3"]),
            (["29.1; 29.2"], ["29.1", "29.2"]),
            ('["1", "2"]', ["1", "2"]),
            ("1 2", ["1", "2"]),
            (["#3", "Task 2", "task 2.1"], ["3", "2", "2.1"]),
            ([{"id": 3}], ["3"]),
            ([[1], [2]], ["1", "2"]),
            (["5.2"], ["5.2"]),
            (["HAM-12"], ["HAM-12"]),
            ([9], ["9"]),
        ],
    )
    def test_of_a_task_in_every_way_to_say_them(self, given, expected):
        rows, codes = rows_of(task(9, dependencies=given))
        assert rows["9"]["dependencies"] == expected
        assert not codes

    def test_a_number_with_a_point_is_what_was_printed(self):
        found = read('{"tasks": [{"id": 1, "title": "A", "description": "B", "dependencies": [5.10]}]}')
        assert found.rows[0]["dependencies"] == ["5.10"]

    @pytest.mark.parametrize("given", ["Tauri globalShortcut plugin", "Sign-in, then the API", ["All tasks before"]])
    def test_prose_is_told_and_left_out(self, given):
        found = read({"tasks": [task(1, dependencies=given)]})
        assert found.rows[0]["dependencies"] == []
        assert [(row["severity"], row["code"]) for row in found.findings] == [("info", "PLAN_DEPENDENCY")]
        assert "task 1" in found.findings[0]["where"]

    def test_ids_beside_prose_are_kept(self):
        rows, codes = rows_of(task(1), task(2, dependencies=["1, the API key", {"after": "release"}]))
        assert rows["2"]["dependencies"] == ["1"]
        assert codes == ["PLAN_DEPENDENCY"]

    def test_a_number_in_a_subtask_is_a_sibling_even_where_a_task_has_it_too(self):
        plan = [task(1), task(2), task(5, subtasks=[subtask(1), subtask(2, dependencies=[1, "2"])])]
        rows, _ = rows_of(*plan)
        assert rows["5.2"]["dependencies"] == ["5.1", "5.2"]

    def test_a_dotted_one_is_the_address_where_there_is_one(self):
        rows, _ = rows_of(
            task(4, subtasks=[subtask(1), subtask(2, dependencies=["4.1", 4.1, 1])]),
            task(5, subtasks=[subtask(1, dependencies=["4.2", "29.1,4.1", "5.9"])]),
        )
        assert rows["4.2"]["dependencies"] == ["4.1"]
        assert rows["5.1"]["dependencies"] == ["4.2", "29.1", "4.1", "5.9"]

    def test_else_it_is_a_sibling_of_that_id(self):
        rows, _ = rows_of(task(27, subtasks=[subtask(28.9), subtask(27.9), subtask(3, dependencies=[28.9, 9])]))
        assert rows["27.3"]["dependencies"] == ["27.28.9", "27.9"]

    def test_a_dependency_of_a_subtask_on_a_word_or_a_missing_number_stays_for_who_settles_them(self):
        rows, codes = rows_of(task(5, subtasks=[subtask(1, dependencies=[8, "login"])]), task("login"))
        assert rows["5.1"]["dependencies"] == ["5.8", "login"]
        assert not codes

    def test_a_number_in_a_subtask_that_no_sibling_has_is_the_task_of_that_number(self):
        found = read(
            {"tasks": [task(5, subtasks=[subtask(1), subtask(2, dependencies=[8, "1", "9"])]), task(8), task(9)]}
        )
        assert {row["task_id"]: row["dependencies"] for row in found.rows}["5.2"] == ["8", "5.1", "9"]
        assert [(row["severity"], row["code"]) for row in found.findings] == [("info", "PLAN_OUTER_TASK")]
        assert "task 5.2" in found.findings[0]["where"]

    def test_within_deeper_lists_numbers_are_local_too(self):
        inner = subtask(2, subtasks=[subtask(1), subtask(2, dependencies=[1, "5.1"])])
        rows, _ = rows_of(task(5, subtasks=[subtask(1), inner]))
        assert rows["5.2.2"]["dependencies"] == ["5.2.1", "5.1"]

    def test_circles_missing_ones_and_itself_are_left_to_who_settles_them(self):
        rows, codes = rows_of(task(3, dependencies=[4]), task(4, dependencies=[3, 4, 77]))
        assert (rows["3"]["dependencies"], rows["4"]["dependencies"]) == (["4"], ["3", "4", "77"])
        assert not codes


# ---- what tasks say -----------------------------------------------------------------------------------------------


class TestStatus:
    @pytest.mark.parametrize(
        ("word", "status"),
        [
            ("done", "done"),
            ("completed", "done"),
            ("in-progress", "in-progress"),
            ("pending", "pending"),
            ("deferred", "deferred"),
            ("cancelled", "cancelled"),
            ("review", "review"),
            ("blocked", "blocked"),
            (None, "pending"),
            ("", "pending"),
        ],
    )
    def test_the_tool_s_words_are_known(self, word, status):
        rows, codes = rows_of(task(1, status=word, subtasks=[subtask(1, status=word)]))
        assert (rows["1"]["status"], rows["1.1"]["status"]) == (status, status)
        assert not codes

    def test_an_unknown_one_counts_as_pending(self):
        found = read({"tasks": [task(status="someday")]})
        assert found.rows[0]["status"] == "pending"
        assert [(row["severity"], row["code"]) for row in found.findings] == [("info", "PLAN_STATUS")]
        assert "'someday'" in found.findings[0]["message"]

    def test_parents_and_subtasks_have_each_their_own(self):
        rows, codes = rows_of(task(1, status="done", subtasks=[subtask(1)]))
        assert (rows["1"]["status"], rows["1.1"]["status"], codes) == ("done", "pending", [])

    def test_what_was_deleted_is_no_task(self):
        rows, _ = rows_of(task(1, status="deleted", subtasks=[subtask(1)]), task(2))
        assert list(rows) == ["2"]


class TestTexts:
    def test_description_and_details_are_one_text(self):
        row = row_of(description="What.", details="How:\n\n1. a\n2. b\n\n```py\nx = 1\n```")
        assert row["description"] == "What.\n\nHow:\n\n1. a\n2. b\n\n```py\nx = 1\n```"
        assert row["said"] == []

    def test_details_that_repeat_the_description_are_said_once(self):
        assert row_of(description="What.", details="What.")["description"] == "What."

    def test_long_details_leave_the_brief_in_whole_blocks_and_lose_nothing(self):
        fence = "```py\n" + "x = 1\n" * 300 + "```"
        blocks = [f"Step {number}: " + "word " * 60 for number in range(12)]
        row = row_of(description="What.", details="\n\n".join([*blocks[:3], fence, *blocks[3:]]))
        assert row["description"].startswith("What.\n\nStep 0:")
        assert len(row["description"]) <= 2000
        (rest,) = details(row)
        assert fence in rest
        assert f"{row['description']} {rest}".split() == ["What.", *" ".join([*blocks[:3], fence, *blocks[3:]]).split()]

    def test_a_subtask_without_a_title_takes_the_first_words_of_its_description(self):
        short = {"id": 1, "description": "Add the parser.\n\nWith tests.", "status": "done"}
        long = {"id": 2, "description": "- Write " + "word " * 40, "status": "done"}
        rows, codes = rows_of(task(29, subtasks=[short, long]))
        assert rows["29.1"]["title"] == "Add the parser."
        assert rows["29.2"]["title"].startswith("Write word")
        assert rows["29.2"]["title"].endswith("word…")
        assert len(rows["29.2"]["title"]) <= 80
        assert codes == ["TASK_NO_TITLE"] * 2

    def test_titles_are_one_line(self):
        assert row_of(title="Sign\nin \u202e\tnow")["title"] == "Sign in [U+202E] now"

    def test_text_in_any_script_is_kept(self):
        row = row_of(title="로그인 화면", description="ログイン画面を作る", details="`src/로그인.ts` 만들기 🚢")
        assert (row["title"], row["description"]) == ("로그인 화면", "ログイン画面を作る\n\n`src/로그인.ts` 만들기 🚢")

    @pytest.mark.parametrize("value", [["one", "two"], {"step": "one"}, 3, True])
    @pytest.mark.parametrize("name", ["title", "description", "details"])
    def test_a_text_of_another_type_is_read_and_told(self, name, value):
        rows, codes = rows_of(task(**{name: value}))
        assert codes == ["TASK_FIELD_TYPE"]
        said = rows["1"]["title" if name == "title" else "description"]
        assert any(word in said for word in ("one", "3", "true"))

    def test_null_is_nothing(self):
        rows, codes = rows_of(task(details=None, testStrategy=None, dependencies=None, subtasks=None, priority=None))
        assert rows["1"]["description"] == "What to do."
        assert not codes

    def test_what_does_not_tell_the_agent_what_to_do_is_passed_over(self):
        extra = {
            "complexity": 7,
            "recommendedSubtasks": 4,
            "expansionPrompt": "Break it down " * 50,
            "updatedAt": "2026-01-01",
            "previousStatus": "pending",
            "tags": ["qa"],
            "estimatedTime": "3 h",
            "priority": "critical",
        }
        rows, codes = rows_of(task(**extra), task(2))
        assert rows["1"] == rows["2"] | {"task_id": "1", "position": 0}
        assert not codes

    def test_guidance_of_newer_versions_stands_with_the_details(self):
        row = row_of(
            implementationApproach="1. Read\n2. Sort",
            technicalConstraints=["No new library"],
            scopeBoundaries={"included": "Search", "excluded": "`src/pay.py`"},
            relevantFiles=[
                {"path": "src/a.py", "description": "the index", "action": "create"},
                {"path": "src/b.py", "action": "modify"},
                {"path": "src/c.py", "action": "reference"},
                None,
            ],
        )
        for part in (
            "1. Read\n2. Sort",
            "- No new library",
            "- excluded: `src/pay.py`",
            "- `src/a.py` (new): the index",
        ):
            assert part in row["description"]
        assert (row["files_create"], row["files_modify"], row["files_read"]) == (
            ["src/a.py"],
            ["src/b.py"],
            ["src/c.py"],
        )


class TestNotes:
    A, B = "2025-05-27T09:24:16.008Z", "2025-05-27T09:30:50.581Z"
    AT, BT = 1_748_337_856_008_000, 1_748_338_250_581_000

    def added(self, text, stamp=None):
        stamp = stamp or self.A
        return f"<info added on {stamp}>\n{text}\n</info added on {stamp}>"

    def test_a_note_is_history_and_not_brief(self):
        row = row_of(details=f"Do it.\n{self.added('Done, with 48 tests.')}")
        assert row["description"] == "What to do.\n\nDo it."
        assert notes(row) == [("Done, with 48 tests.", self.AT)]

    def test_what_stands_around_notes_stays(self):
        row = row_of(details=f"One.\n{self.added('a')}\nTwo.\n{self.added('b', self.B)}Three.")
        assert row["description"] == "What to do.\n\nOne.\n\nTwo.\n\nThree."
        assert notes(row) == [("a", self.AT), ("b", self.BT)]

    def test_details_may_be_nothing_but_a_note(self):
        rows, codes = rows_of(task(description="", details=self.added("All done.")))
        assert (rows["1"]["description"], codes) == ("", ["TASK_NO_DESCRIPTION"])
        assert notes(rows["1"]) == [("All done.", self.AT)]

    def test_a_note_without_an_end_goes_on_to_the_end(self):
        row = row_of(details=f"Do it.\n<info added on {self.A}>\nFirst.\n\nSecond.")
        assert row["description"] == "What to do.\n\nDo it."
        assert notes(row) == [("First.\n\nSecond.", self.AT)]

    def test_a_note_in_a_note_is_one_of_its_own(self):
        row = row_of(details=f"Do it. {self.added('Outer. ' + self.added('Inner.', self.B) + ' More.')} After.")
        assert row["description"] == "What to do.\n\nDo it.\n\n After."
        assert notes(row) == [("Outer.\n\n More.", self.AT), ("Inner.", self.BT)]

    def test_an_end_without_its_own_time_ends_the_innermost(self):
        row = row_of(
            details=f"<info added on {self.A}>a</info added on {self.B}> Do it. </info added on {self.A}> Now."
        )
        assert row["description"] == "What to do.\n\n Do it.\n\n Now."
        assert notes(row) == [("a", self.AT)]

    def test_an_inner_note_without_an_end_ends_with_the_outer_one(self):
        row = row_of(details=f"<info added on {self.A}>a<info added on {self.B}>b</info added on {self.A}>Do it.")
        assert row["description"] == "What to do.\n\nDo it."
        assert notes(row) == [("a", self.AT), ("b", self.BT)]

    def test_a_time_that_cannot_be_read_stands_in_the_note(self):
        assert notes(row_of(details=self.added("a", "Tuesday"))) == [("Tuesday:\n\na", None)]
        assert notes(row_of(details="<info added on >a</info added on>")) == [("a", None)]

    def test_other_marks_are_text(self):
        text = "Write `<info>` and </info> and <information added on 2025-01-01>."
        row = row_of(details=text)
        assert row["description"] == f"What to do.\n\n{text}"
        assert not notes(row)

    def test_notes_in_the_other_texts_are_found_too(self):
        row = row_of(description=self.added("a"), testStrategy=f"Try it. {self.added('b', self.B)}")
        assert (row["description"], row["acceptance_criteria"]) == ("", ["Try it."])
        assert notes(row) == [("a", self.AT), ("b", self.BT)]

    def test_files_in_notes_are_not_those_of_the_task(self):
        assert row_of(details=f"Edit `src/a.py`. {self.added('Changed `src/b.py`.')}")["files_inferred"] == ["src/a.py"]

    @given(
        st.lists(
            st.sampled_from(
                [
                    "word ",
                    "\n",
                    f"<info added on {A}>",
                    f"</info added on {A}>",
                    f"<info added on {B}>",
                    f"</info added on {B}>",
                ]
            )
        )
    )
    def test_no_word_is_lost_however_marks_stand(self, parts):
        row = row_of(description="", details="".join(parts))
        words = " ".join([row["description"], *(text for text, _ in notes(row))]).split()
        assert len(words) == parts.count("word ")


class TestCriteria:
    def test_a_paragraph_is_one(self):
        text = "Run the suite. Then compare the counts with the printed timetable; none may differ."
        assert row_of(testStrategy=text)["acceptance_criteria"] == [text]

    def test_an_entry_of_a_list_is_one(self):
        strategy = "1. Unit tests:\n   - index\n   - search\n\n2. By hand"
        assert row_of(testStrategy=strategy)["acceptance_criteria"] == ["Unit tests:", "index", "search", "By hand"]

    @pytest.mark.parametrize("given", [["A works", "B works"], "- A works\n- B works", "1) A works\n2) B works\n"])
    def test_acceptance_criteria_come_first(self, given):
        row = row_of(acceptanceCriteria=given, testStrategy="Try it.")
        assert row["acceptance_criteria"] == ["A works", "B works", "Try it."]

    def test_of_a_subtask_too(self):
        rows, _ = rows_of(task(1, subtasks=[subtask(1, acceptanceCriteria=["- [ ] A works"], testStrategy=None)]))
        assert rows["1.1"]["acceptance_criteria"] == ["A works"]

    def test_what_is_too_much_for_a_brief_stands_in_the_details(self):
        row = row_of(acceptanceCriteria=[f"Case {number} works" for number in range(40)])
        assert len(row["acceptance_criteria"]) == 30
        (rest,) = details(row)
        assert rest.startswith("Acceptance criteria:\n\n- Case 30 works\n")
        assert rest.endswith("- Case 39 works")

    def test_code_is_kept_as_it_is(self):
        strategy = "Run it:\n\n```sh\npytest -q  \\\n  tests\n```"
        row = row_of(testStrategy=strategy)
        assert row["acceptance_criteria"] == ["Run it:"]
        assert details(row) == [f"Test strategy:\n\n{strategy}"]


class TestFiles:
    def test_a_line_of_files_at_the_head_of_details(self):
        row = row_of(details="Files: src/core/auth.js (new), src/server.js (login routes), public/admin.html (form).")
        assert row["files_create"] == ["src/core/auth.js"]
        assert row["files_modify"] == ["src/server.js", "public/admin.html"]
        assert row["files_inferred"] == ["src/core/auth.js", "src/server.js", "public/admin.html"]

    def test_routes_ranges_and_code_are_none(self):
        row = row_of(details="`GET /api/status` takes 5-10/s, and/or less.\n\n```py\nopen('src/x.py')\n```")
        assert row["files_inferred"] == []

    def test_words_without_a_suffix_are_paths_where_the_project_has_them(self):
        plan = {"tasks": [task(details="Look at `bin/deploy` and src/core/.")]}
        assert "bin/deploy" in read(plan).mentions
        assert read(plan).rows[0]["files_inferred"] == []
        assert read(plan, paths=["bin/deploy"]).rows[0]["files_inferred"] == ["bin/deploy"]


# ---- laws ---------------------------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "id title description details testStrategy status priority dependencies subtasks acceptanceCriteria relevantFiles"
)
TASKS = st.lists(st.dictionaries(st.sampled_from(NAMES.split()), ANYTHING) | ANYTHING, max_size=4)


@given(TASKS, TASKS, ANYTHING, st.none() | st.sampled_from(["master", "a", "b"]))
def test_whatever_the_file_holds_there_are_rows_and_findings(first, second, state, tag):
    for document in (
        {"tasks": first},
        {"a": {"tasks": first}, "b": {"tasks": second}},
        first,
        {"tasks": {"1": second}},
    ):
        found = read(json.dumps(document), tag=tag, state=json.dumps(state))
        assert [row["position"] for row in found.rows] == list(range(len(found.rows)))
        assert found.rows or "error" in {row["severity"] for row in found.findings}
        ids = {row["task_id"] for row in found.rows}
        for row in found.rows:
            assert row["task_id"]
            assert row["status"] in PROGRESS
            assert row["parent"] is None or row["parent"] in ids
            assert all(isinstance(name, str) and name for name in row["dependencies"])
            assert "\n" not in row["title"]


@given(st.text())
def test_whatever_the_text_it_is_read(text):
    assert read(text).findings or read(text).rows


# ---- real plans ---------------------------------------------------------------------------------------------------

#: By folder: tasks and subtasks by status, notes of past work, tasks that are no subtasks.
REAL = {
    "ai-docs-scraper": ({"done": 51, "in-progress": 2, "pending": 154, "cancelled": 6}, 11, 33),
    "dpui": ({"done": 6, "in-progress": 2, "pending": 9}, 0, 6),
    "keyproxy": ({"done": 12, "pending": 1}, 0, 13),
    "mistkit": ({"done": 43, "pending": 4}, 2, 10),
    "mistkit-early": ({"done": 6, "pending": 73}, 0, 10),
    "prophy-flat": ({"done": 85, "in-progress": 1, "pending": 12}, 42, 27),
    "testcraft": ({"done": 137, "pending": 33, "deferred": 1}, 51, 33),
    "typosentinel": ({"done": 33, "in-progress": 1, "pending": 12}, 0, 34),
    "typst-pdf-export": ({"done": 60}, 0, 10),
}
MISSING = {"ai-docs-scraper": [("6", "38"), ("6", "42")]}
CODES = {"dpui": {"PLAN_DEPENDENCY": 2}, "typosentinel": {"TASK_NO_TITLE": 6}, "testcraft": {"TASK_NO_DESCRIPTION": 5}}
PRDS = {"keyproxy": 0, "testcraft": 0, "ai-docs-scraper": 2}


@pytest.fixture(params=sorted(REAL))
def real(request, shared):
    """The name of a real plan, where it lies, and what it says."""
    folder = shared / "plans" / "taskmaster" / request.param
    (plan,) = FORMAT.find(folder)
    file = InputFile.of(plan.relative_to(folder.parent).as_posix(), plan.read_bytes())
    return request.param, plan, FORMAT.read(PlanSource(file, decode(file)[0]))


def test_a_real_plan_has_the_tasks_that_were_counted_in_it(real):
    name, _, found = real
    statuses, past, top = REAL[name]
    assert found.feature == name
    assert Counter(row["status"] for row in found.rows) == statuses
    assert sum(row["parent"] is None for row in found.rows) == top
    assert sum(len(notes(row)) for row in found.rows) == past
    assert len({row["task_id"] for row in found.rows}) == len(found.rows)
    assert Counter(row["code"] for row in found.findings) == CODES.get(name, {})


def test_dependencies_of_a_real_plan_are_all_there_but_those_that_are_gone(real):
    name, _, found = real
    ids = {row["task_id"] for row in found.rows}
    missing = [(row["task_id"], other) for row in found.rows for other in row["dependencies"] if other not in ids]
    assert missing == MISSING.get(name, [])
    assert all(row["task_id"] not in row["dependencies"] for row in found.rows)


def test_a_real_plan_s_briefs_are_short_and_without_notes(real):
    _, _, found = real
    for row in found.rows:
        assert row["title"]
        assert len(row["description"]) <= 2000
        assert len(row["acceptance_criteria"]) <= 30
        assert "info added on" not in str([row["description"], row["said"], row["acceptance_criteria"]])
        assert all(time is not None for _, time in notes(row))


def test_a_real_plan_has_its_prds(real):
    name, plan, _ = real
    companions = FORMAT.companions(plan)
    assert [companion.role for companion in companions].count("requirements") == PRDS.get(name, 1)
    assert FORMAT.root(plan).name == name


def test_ids_of_the_real_plans_are_what_the_tool_prints(shared):
    def ids(name):
        (plan,) = FORMAT.find(shared / "plans" / "taskmaster" / name)
        file = InputFile.of("tasks.json", plan.read_bytes())
        return {row["task_id"]: row for row in FORMAT.read(PlanSource(file, decode(file)[0])).rows}

    prophy, scraper, testcraft = ids("prophy-flat"), ids("ai-docs-scraper"), ids("testcraft")
    assert {"27.8", "27.16", "27.28.9", "27.38.9"} <= prophy.keys()
    assert prophy["27.38.9"]["parent"] == "27"
    assert {f"6.{number}" for number in range(1, 15)} <= scraper.keys()
    assert (scraper["3"]["dependencies"].count("4"), scraper["4"]["dependencies"].count("3")) == (1, 1)
    assert testcraft["29.4"]["dependencies"] == ["29.1", "29.2", "29.3"]


# ---- the sample ---------------------------------------------------------------------------------------------------


def test_the_sample_is_read_without_a_finding_but_that_of_its_other_tag():
    (plan,) = FORMAT.find(SAMPLE)
    companions = FORMAT.companions(plan)
    assert [companion.path.name for companion in companions if companion.path.is_file()] == ["state.json", "prd.md"]
    file = InputFile.of(plan.relative_to(SAMPLE.parent).as_posix(), plan.read_bytes())
    state = InputFile.of("state.json", companions[0].path.read_bytes())
    found = FORMAT.read(PlanSource(file, decode(file)[0], [("state", state)]))
    assert found.feature == "task-master"
    assert [row["code"] for row in found.findings] == ["PLAN_OTHER_TAGS"]
    rows = {row["task_id"]: row for row in found.rows}
    assert {name: row["status"] for name, row in rows.items()} == {
        "1": "done",
        "2": "in-progress",
        "2.1": "done",
        "2.2": "pending",
        "2.3": "pending",
        "3": "pending",
        "4": "deferred",
    }
    assert rows["2.3"]["dependencies"] == ["2.2"]
    assert rows["4"]["dependencies"] == ["1", "3"]
    assert rows["1"]["files_create"] == ["ferries/timetable.py"]
    assert rows["3"]["files_create"] == ["ferries/api.py"]
    assert len(notes(rows["1"])) == 1

"""Exports: a graph whose contexts are filled in and nothing else, files, lines, and the answer of a hook."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.errors import ExportError
from tasks.exported import exported, is_edited, is_exported
from tasks.markdown import parser
from tasks.outputs import export
from tasks.outputs.graph_text import NotAGraphError, decode_graph, feature_in, fill_contexts, tasks_in
from tasks.outputs.reader import BuildFolder
from tasks.outputs.zerg import without_printed
from tasks.settings import load_settings
from tasks.sources.brief import brief_text
from tests.swarms import built, task, write_swarm

SECRET = "The vault opens at noon"


@pytest.fixture
def swarm(tmp_path, monkeypatch):
    """Two tasks in a working folder, one with a context of the planner's, and something that nobody may see."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(export.ZERG_GRAPH, raising=False)
    tasks = [
        task(
            "T1",
            description="Write the page.\n\nIt has a form.",
            files={"create": ["a.py"], "delete": ["old.py"]},
            verification={"command": "pytest a"},
            acceptance_criteria=["It works"],
            consumers=["T2"],
        ),
        task("T2", title="Other", level=2, dependencies=["T1"], context="Planner's words."),
    ]
    events = [{"id": "e", "kind": "user_turn", "text": f"Login: {SECRET}", "sensitivity": "restricted"}]
    return write_swarm(tmp_path, tasks, events=events)


@pytest.fixture
def folder(swarm):
    return BuildFolder(built(swarm).path)


def contexts_in(path):
    return {entry["id"]: entry.get("context") for entry in json.loads(Path(path).read_text("utf-8"))["tasks"]}


def without_contexts(graph):
    graph = copy.deepcopy(graph)
    for entry in graph["tasks"]:
        entry.pop("context", None)
    return graph


# ---- the text of a graph ----------------------------------------------------------------------------------------


def test_only_the_context_is_put_in_and_every_other_character_stays():
    text = '{ "tasks":[\n  {"id" : "A",\n   "x": 1.0e3 , "y":[27.10, 1E400]}  ,\n\t{"id":"B"},{} ],"é":"\\u00e9"}\r\n'
    done = fill_contexts(text, {"A": "a\nü", "B": "b", "task-3": "c"}, overwrite=False)
    assert done.text == (
        '{ "tasks":[\n  {"id" : "A",\n   "x": 1.0e3 , "y":[27.10, 1E400], "context":"a\\nü"}  ,\n'
        '\t{"id":"B","context":"b"},{"context": "c"} ],"é":"\\u00e9"}\r\n'
    )
    assert (done.filled, done.kept) == (["A", "B", "task-3"], [])


@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
def test_the_indentation_is_the_graph_s_own(indent):
    graph = {"feature": "x", "tasks": [{"id": "A", "level": 1, "files": {"create": ["a"]}}, {"id": "B"}]}
    expected = copy.deepcopy(graph)
    for entry in expected["tasks"]:
        entry["context"] = "ctx\n"
    done = fill_contexts(json.dumps(graph, indent=indent), {"A": "ctx\n", "B": "ctx\n"}, overwrite=False).text
    if indent is None:
        assert json.loads(done) == expected
    else:
        assert done == json.dumps(expected, indent=indent)


@pytest.mark.parametrize(
    ("own", "kept"),
    [("mine", True), ("", False), ("  \n", False), (None, False), ({"a": 1}, False), (["x"], False), (5, False)],
)
def test_a_context_that_is_there_is_kept_unless_it_is_to_be_overwritten(own, kept):
    text = json.dumps({"tasks": [{"id": "A", "context": own, "z": 1}]})
    done = fill_contexts(text, {"A": "new"}, overwrite=False)
    assert json.loads(done.text)["tasks"][0] == {"id": "A", "context": own if kept else "new", "z": 1}
    assert (done.filled, done.kept) == (([], ["A"]) if kept else (["A"], []))
    assert done.odd == ([] if own is None or isinstance(own, str) else ["A"])
    assert json.loads(fill_contexts(text, {"A": "new"}, overwrite=True).text)["tasks"][0]["context"] == "new"


def test_a_context_that_an_export_left_is_replaced_unless_somebody_edited_it():
    for own, kept in ((exported("old\n"), []), (exported("old\n") + "mine\n", ["A"])):
        text = json.dumps({"tasks": [{"id": "A", "context": own}]})
        assert fill_contexts(text, {"A": "new"}, overwrite=False).kept == kept


@given(st.text())
def test_exported_contexts_are_told_from_others(context):
    assert is_exported(exported(context))
    assert not is_edited(exported(context))
    assert is_edited(exported(context) + "x")
    assert not is_exported(context)
    assert re.fullmatch(r"<!-- prebrief [0-9a-f]{16} -->", exported(context).split("\n", 1)[0])


def test_ids_are_those_that_a_build_gives():
    entries = [{"id": "A"}, 3, {"title": "x"}, {"id": "A", "x": 1}, {"id": "A"}, {"task_id": 27.10}, {"id": " B\nC "}]
    text = json.dumps(entries).replace("27.1", "27.10")
    assert [found.task_id for found in tasks_in(text)] == ["A", "task-3", "A~2", "A", "27.10", "B C"]
    by_name = json.dumps({"tasks": {"T9": {"x": 1}, "T8": {"id": "own"}}})
    assert [found.task_id for found in tasks_in(by_name)] == ["T9", "own"]


@pytest.mark.parametrize("text", ["", "{", "{} x", "[1,]", '{"tasks": [' + "[" * 100_000])
def test_what_is_no_json_is_no_graph(text):
    with pytest.raises(NotAGraphError):
        tasks_in(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_graphs_may_have_any_encoding_of_json(encoding):
    assert feature_in(decode_graph('{"feature": "ü"}'.encode(encoding))) == "ü"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=6) | st.sampled_from(["id", "context"]), _JSON, max_size=5), max_size=5),
    st.dictionaries(st.text(max_size=5), _JSON, max_size=3),
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
    st.text(min_size=1),
)
def test_whatever_a_graph_holds_only_contexts_differ(entries, more, indent, ascii_only, context):
    graph = {**more, "tasks": entries}
    text = json.dumps(graph, indent=indent, ensure_ascii=ascii_only)
    ids = [found.task_id for found in tasks_in(text)]
    done = fill_contexts(text, dict.fromkeys(ids, context), overwrite=True)
    assert without_contexts(json.loads(done.text)) == without_contexts(graph)
    assert [entry["context"] for entry in json.loads(done.text)["tasks"]] == [context] * len(entries)
    assert done.filled == ids


# ---- for ZERG ---------------------------------------------------------------------------------------------------


def test_a_graph_is_written_beside_the_original(folder, tmp_path):
    original = (tmp_path / "plan/task-graph.json").read_bytes()
    done = export.export_zerg(folder)
    assert done.written == ["plan/task-graph.prebrief.json"]
    assert (done.filled, done.kept, done.missing) == (1, 1, 0)
    assert (tmp_path / "plan/task-graph.json").read_bytes() == original
    found = contexts_in(done.written[0])
    assert found["T2"] == "Planner's words."
    assert found["T1"].endswith("## Task\n\nDelete: `old.py`\n\nAcceptance criteria:\n- It works\n\nConsumers: T2\n")
    assert without_contexts(json.loads(Path(done.written[0]).read_text())) == without_contexts(json.loads(original))


def test_what_zerg_prints_itself_is_left_out_and_the_rest_stays(folder):
    found = contexts_in(export.export_zerg(folder, overwrite=True).written[0])
    for printed in ("Write the page", "It has a form", "a.py", "pytest a", "Login page**"):
        assert printed not in found["T1"]
    assert "## Security rules" in found["T1"]
    assert found["T2"].endswith("## Task\n\nDepends on:\n- T1 Login page, creates `a.py`\n")
    assert "Planner's words." in found["T2"]
    for context in found.values():
        assert context.endswith("\n")
        assert not re.search(r"^# ", context, re.MULTILINE)


def test_nothing_above_the_floor_is_exported(folder):
    done = export.export_zerg(folder, overwrite=True)
    lines = "".join(export.jsonl_rows(folder))
    files = export.export_markdown(folder, Path("out")).written
    everything = Path(done.written[0]).read_text() + lines + "".join(Path(file).read_text() for file in files)
    assert SECRET not in everything


def test_zerg_s_own_variable_says_where_to(folder, tmp_path):
    done = export.export_zerg(folder, environment={export.ZERG_GRAPH: "deep/er/graph.json"})
    assert done.written == ["deep/er/graph.json"]
    assert contexts_in("deep/er/graph.json")["T1"]
    done = export.export_zerg(folder, out=Path("o.json"), environment={export.ZERG_GRAPH: "deep/er/graph.json"})
    assert done.written == ["o.json"]


@pytest.mark.parametrize("place", ["plan/task-graph.json", "plan/../plan/task-graph.json", "link.json", "hard.json"])
def test_the_original_is_written_over_only_in_place(place, folder, tmp_path):
    (tmp_path / "link.json").symlink_to("plan/task-graph.json")
    os.link(tmp_path / "plan/task-graph.json", tmp_path / "hard.json")
    before = (tmp_path / "plan/task-graph.json").read_bytes()
    for given_to in ({"out": Path(place), "environment": {}}, {"environment": {export.ZERG_GRAPH: place}}):
        with pytest.raises(ExportError, match="is the graph itself"):
            export.export_zerg(folder, **given_to)
    assert (tmp_path / "plan/task-graph.json").read_bytes() == before
    (tmp_path / "plan/task-graph.json").chmod(0o640)
    done = export.export_zerg(folder, in_place=True)
    assert done.written == ["plan/task-graph.json"]
    assert contexts_in("plan/task-graph.json")["T1"]
    assert (tmp_path / "plan/task-graph.json").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in (tmp_path / "plan").iterdir()) == ["task-graph.json"]


def test_a_graph_that_changed_is_not_found_and_may_be_named(folder, tmp_path):
    path = tmp_path / "plan/task-graph.json"
    graph = json.loads(path.read_text())
    graph["tasks"].append(task("T3"))
    path.write_text(json.dumps(graph))
    with pytest.raises(ExportError, match=r"no graph of build .* lies here as it was built"):
        export.export_zerg(folder)
    done = export.export_zerg(folder, named=[Path("plan/task-graph.json")])
    assert (done.filled, done.kept, done.missing) == (1, 1, 1)
    assert any("it is not what was built" in warning for warning in done.warnings)
    assert any("no context for T3" in warning for warning in done.warnings)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{", "cannot be read"),
        ('{"feature": "other", "tasks": [{"id": "T1"}]}', "is no graph of build"),
        ('{"feature": "demo", "tasks": []}', "is no graph of build"),
    ],
)
def test_a_file_that_is_no_graph_of_the_build_is_refused(content, said, folder, tmp_path):
    path = tmp_path / "other.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ExportError, match=said):
        export.export_zerg(folder, named=[path])


def test_several_graphs_go_beside_each_or_into_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = write_swarm(tmp_path, [task("T1")])
    for name, feature in (("two", "demo"), ("three", "third")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task-graph.json").write_text(json.dumps({"feature": feature, "tasks": [task("T1", name)]}))
    graphs = (*request.graphs, Path("two/task-graph.json"), Path("three/task-graph.json"))
    folder = BuildFolder(built(type(request)(graphs=graphs, rules=request.rules, cwd=tmp_path)).path)
    assert sorted(export.export_zerg(folder, environment={}).written) == [
        "plan/task-graph.prebrief.json",
        "three/task-graph.prebrief.json",
        "two/task-graph.prebrief.json",
    ]
    done = export.export_zerg(folder, out=Path("all"), environment={})
    assert len(set(done.written)) == 3
    assert all(contexts_in(path)["T1"] for path in done.written)
    with pytest.raises(ExportError, match="names one file"):
        export.export_zerg(folder, environment={export.ZERG_GRAPH: "x.json"})


def test_graphs_that_would_meet_at_one_place_are_refused_and_copies_count_once(folder, tmp_path):
    graph = json.loads((tmp_path / "plan/task-graph.json").read_text())
    graph["tasks"].append(task("T3"))
    (tmp_path / "newer.json").write_text(json.dumps(graph))
    (tmp_path / "copy.json").write_bytes((tmp_path / "plan/task-graph.json").read_bytes())
    first, newer, copied = Path("plan/task-graph.json"), Path("newer.json"), Path("copy.json")
    with pytest.raises(ExportError, match=r"plan/task-graph.json and newer.json would both go to all/demo"):
        export.export_zerg(folder, named=[first, newer], out=Path("all"), environment={})
    assert not Path("all").exists()
    for named in ([first, copied], [first, Path("plan/../plan/task-graph.json")]):
        done = export.export_zerg(folder, named=named, out=Path("one.json"), environment={})
        assert (done.written, done.filled) == (["one.json"], 1)
    done = export.export_zerg(folder, named=[first, newer], environment={})
    assert done.written == ["plan/task-graph.prebrief.json", "newer.prebrief.json"]


def test_an_export_in_place_is_no_planner_s_context_to_the_next_build(swarm, tmp_path):
    folder = BuildFolder(built(swarm).path)
    path = tmp_path / "plan/task-graph.json"
    export.export_zerg(folder, in_place=True, environment={})
    once = path.read_bytes()
    again = BuildFolder(built(swarm).path)
    assert again.root.name != folder.root.name
    assert again.tasks["prompt"].to_list() == folder.tasks["prompt"].to_list()
    (found,) = again.findings.filter(pl.col("code") == "TASK_CONTEXT_EXPORTED").to_dicts()
    assert (found["severity"], found["where"]) == ("info", "plan/task-graph.json, task T1")
    done = export.export_zerg(again, in_place=True, environment={})
    assert (done.filled, done.kept) == (1, 1)
    assert path.read_bytes() == once
    assert BuildFolder(built(swarm).path).root.name == again.root.name


def test_an_exported_context_that_was_edited_stays_and_is_still_not_fed_back(swarm, tmp_path):
    path = tmp_path / "plan/task-graph.json"
    folder = BuildFolder(built(swarm).path)
    export.export_zerg(folder, in_place=True, environment={})
    graph = json.loads(path.read_text())
    graph["tasks"][0]["context"] += "And mind the gap.\n"
    path.write_text(json.dumps(graph))
    again = BuildFolder(built(swarm).path)
    assert again.tasks["prompt"].to_list() == folder.tasks["prompt"].to_list()
    assert again.findings.filter(pl.col("code") == "TASK_CONTEXT_EXPORTED")["severity"].to_list() == ["warning"]
    done = export.export_zerg(again, in_place=True, environment={})
    assert (done.filled, done.kept) == (0, 2)
    assert contexts_in(path)["T1"].endswith("And mind the gap.\n")


def test_in_place_says_that_it_goes_before_zerg_s_variable(folder):
    def said(place):
        done = export.export_zerg(folder, in_place=True, named=[graph], environment={export.ZERG_GRAPH: place})
        assert done.written == [str(graph)]
        return [warning for warning in done.warnings if export.ZERG_GRAPH in warning]

    graph = Path("plan/task-graph.json")
    assert said("elsewhere.json") == [
        "ZERG_TASK_GRAPH names elsewhere.json, which was not written: --in-place goes before it."
    ]
    assert said("plan/../plan/task-graph.json") == []


def test_a_context_that_is_no_text_is_replaced_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = BuildFolder(built(write_swarm(tmp_path, [task("T1", context={"a": 1}), task("T2", context=None)])).path)
    done = export.export_zerg(folder, environment={})
    assert (done.filled, done.replaced) == (2, 1)
    assert "plan/task-graph.json: replaced what was no text as the context of T1." in done.warnings


def test_a_task_without_a_prompt_gets_no_context(swarm):
    folder = BuildFolder(built(swarm, load_settings(budget={"tokens": 20})).path)
    done = export.export_zerg(folder)
    assert done.missing == 1
    assert "context" not in json.loads(Path(done.written[0]).read_text())["tasks"][0]


# ---- the brief --------------------------------------------------------------------------------------------------

_FIELDS = {
    "title": "Page",
    "context": "",
    "files_read": [],
    "files_modify": [],
    "files_delete": [],
    "files_inferred": [],
    "progress": "pending",
    "consumers": [],
}


def brief(**fields):
    row = {
        "task_id": "T1",
        "description": "Do it.",
        "files_create": ["a.py"],
        "acceptance_criteria": ["It works"],
        "verification": "pytest",
        **_FIELDS,
        **fields,
    }
    needed = fields.get("needed", [])
    return without_printed(brief_text(row, needed))


_ALL = "Acceptance criteria:\n- It works"


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({}, _ALL),
        ({"acceptance_criteria": []}, ""),
        ({"description": ""}, _ALL),
        ({"verification": "pytest\n\nruff check"}, _ALL),
        ({"verification": "echo ```\n\nx"}, _ALL),
        ({"verification": ""}, _ALL),
        ({"files_create": []}, _ALL),
        ({"files_delete": ["x"]}, f"Delete: `x`\n\n{_ALL}"),
        ({"description": "See:\n\nConsumers: nobody\n\nAcceptance criteria:\n- none"}, _ALL),
        ({"description": "```\nVerification: `x`\n\nAcceptance criteria:\n- a\n```", "verification": ""}, _ALL),
        ({"consumers": ["A", "B"]}, f"{_ALL}\n\nConsumers: A, B"),
        (
            {
                "needed": [
                    {"task_id": "T0", "title": "Base", "files_create": [], "files_inferred": [], "progress": "pending"}
                ]
            },
            f"{_ALL}\n\nDepends on:\n- T0 Base",
        ),
    ],
)
def test_the_brief_keeps_what_nothing_else_says(fields, kept):
    assert brief(**fields) == kept


def test_what_does_not_read_as_a_brief_stays_whole():
    assert without_printed("````\n**T1: x**\n````") == "````\n**T1: x**\n````"


def test_the_warnings_name_reasons_and_tasks_together(folder):
    refused, minded = export.export_zerg(folder).warnings
    assert refused.startswith("plan/task-graph.json: ZERG would refuse to launch it: ")
    assert "T1: has consumers and no integration_test." in refused
    assert minded == "plan/task-graph.json: ZERG would not mind, but see to it: T2: has no command that verifies it."


# ---- real graphs ------------------------------------------------------------------------------------------------


def test_every_real_graph_is_exported_and_only_contexts_differ(shared, tmp_path, monkeypatch):
    graphs = sorted(path for path in shared.rglob("swarm/*/task-graph.json"))
    assert len(graphs) > 30
    place = tmp_path / "work"
    for path in graphs:
        target = place / path.parent.name
        target.mkdir(parents=True)
        for file in path.parent.iterdir():
            (target / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(place)
    from tasks.sources.inputs import Request

    request = Request(graphs=tuple(Path(path.parent.name, path.name) for path in graphs), cwd=place)
    folder = BuildFolder(built(request, load_settings(budget={"tokens": 1500}), tmp_path / "builds").path)
    done = export.export_zerg(folder, environment={})
    assert len(done.written) == len(graphs)
    total = 0
    for path in map(Path, done.written):
        original, exported = (json.loads(file.read_text("utf-8")) for file in (path.parent / "task-graph.json", path))
        assert without_contexts(exported) == without_contexts(original)
        for before, after in zip(original["tasks"], exported["tasks"], strict=True):
            assert list(after) == list(before) + ([] if "context" in before else ["context"])
            assert isinstance(after["context"], str)
            assert after["context"].strip()
            if before.get("context"):
                assert after["context"] == before["context"]
            else:
                assert after["context"].endswith("\n")
                tokens = parser().parse(after["context"])
                assert not [token for token in tokens if token.type == "heading_open" and token.tag == "h1"]
                total += 1
    assert (done.filled, done.missing) == (total, 0)
    refused = [warning for warning in done.warnings if "would refuse" in warning]
    assert 0 < len(refused) < len(graphs)
    again = export.export_zerg(folder, out=tmp_path / "all", environment={})
    assert len(set(again.written)) == len(graphs)


# ---- files, lines, hooks ----------------------------------------------------------------------------------------


def test_markdown_is_one_file_a_task_byte_for_byte(folder):
    done = export.export_markdown(folder, Path("out"))
    assert done.written == ["out/demo/T1~" + Path(done.written[0]).name.partition("~")[2], done.written[1]]
    for path, row in zip(done.written, folder.tasks.to_dicts(), strict=True):
        assert Path(path).read_bytes() == row["prompt"].encode()


def test_jsonl_is_one_row_a_task(folder):
    rows = [json.loads(line) for line in export.jsonl_rows(folder)]
    assert [row["task_id"] for row in rows] == ["T1", "T2"]
    for row in rows:
        assert hashlib.sha256(row["prompt"].encode()).hexdigest() == row["prompt_sha256"]
        assert row["status"] == "ok"


def test_jsonl_counts_a_task_without_a_prompt_as_missing(swarm):
    folder = BuildFolder(built(swarm, load_settings(budget={"tokens": 20})).path)
    bare = folder.tasks["prompt"].null_count()
    done = export.export_jsonl(folder, Path("rows.jsonl"))
    assert bare > 0
    assert (done.written, done.filled, done.missing) == (["rows.jsonl"], 2 - bare, bare)


def test_a_place_that_cannot_be_written_is_an_error(folder, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ExportError, match="cannot be written"):
        export.export_markdown(folder, tmp_path / "file")
    with pytest.raises(ExportError, match="cannot be written"):
        export.write_file(tmp_path / "file" / "x", b"")


def test_a_hook_answers_with_the_context_of_a_known_task(folder):
    for name in ("T1", "demo/T1"):
        answer = export.hook_answer(folder, name)
        assert answer == {
            "hookSpecificOutput": {
                "hookEventName": "SessionStart",
                "additionalContext": folder.task("T1")["prompt"],
            }
        }
    assert export.hook_answer(folder, "T9") is None


def test_a_hook_cannot_tell_which_graph_s_task_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = write_swarm(tmp_path, [task("T1")])
    (tmp_path / "two.json").write_text(json.dumps({"feature": "second", "tasks": [task("T1", "two")]}))
    graphs = (*request.graphs, Path("two.json"))
    folder = BuildFolder(built(type(request)(graphs=graphs, rules=request.rules, cwd=tmp_path)).path)
    with pytest.raises(ExportError, match="2 graphs have a task 'T1'; name it graph/id: demo/T1, second/T1"):
        export.hook_answer(folder, "T1")
    assert export.hook_answer(folder, "second/T1") is not None


class _Prompts:
    """As much of a build folder as a hook looks at."""

    def __init__(self, prompt):
        self.prompt = prompt
        self.tasks = pl.DataFrame({"prompt": [prompt]})

    def task(self, name):
        return {"prompt": self.prompt}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet='aé😀"\\ \n', max_size=2000), min_size=1, max_size=30),
    st.sampled_from(["\n\n", "\n", " "]),
)
def test_the_parts_of_a_long_context_fit_a_hook_and_make_the_whole(texts, joint):
    prompt = joint.join(texts) + "\n"
    folder = _Prompts(prompt)
    count = export.hook_parts(folder)
    answers = [export.hook_answer(folder, "T1", part) for part in range(1, count + 1)]
    assert "".join(answer["hookSpecificOutput"]["additionalContext"] for answer in answers) == prompt
    for answer in answers:
        printed = json.dumps(answer, ensure_ascii=False) + "\n"
        assert len(printed.encode("utf-16-le")) // 2 <= export.HOOK_CHARACTERS
    assert export.hook_answer(folder, "T1", count + 1) is None


def test_parts_are_cut_at_paragraphs():
    prompt = "\n\n".join(f"{number} " + "x" * 900 for number in range(30)) + "\n"
    first = export.hook_answer(_Prompts(prompt), "T1", 1)["hookSpecificOutput"]["additionalContext"]
    assert first.endswith("x\n\n")
    assert len(first) > 8000

"""What ZERG's launcher refuses, what it lets pass, and how that is told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.outputs.zerg_launch import Problem, launch_problems, launch_risks, summed_up


def launchable():
    def one(name, level, create, **more):
        files = {"create": create, "modify": [], "read": []}
        return {
            "id": name,
            "title": name,
            "description": name,
            "level": level,
            "dependencies": [],
            "files": files,
            "verification": {"command": "true"},
            **more,
        }

    tasks = [one("A", 1, ["a"]), one("B", 2, ["b"], dependencies=["A"])]
    return {"feature": "x", "levels": {"1": {"name": "first", "tasks": ["A"]}}, "tasks": tasks}


def sentences(graph):
    return [problem.sentence for problem in launch_problems(graph)]


def test_a_good_graph_has_no_problems():
    assert launch_problems(launchable()) == launch_risks(launchable()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"level": 0}, "task B has no level of 1 or more."),
        ({"level": "2"}, "task B has no level of 1 or more."),
        ({"level": 1}, "task B depends on A, which is not on a lower level."),
        ({"dependencies": ["Z"]}, "task B depends on Z, which is no task."),
        ({"dependencies": [{"id": "A"}]}, "task B depends on {'id': 'A'}, which is no task."),
        ({"dependencies": None}, "task B has dependencies that are no list."),
        ({"dependencies": ["B"]}, "the tasks B depend on each other in a circle."),
        ({"dependencies": []}, "task B cannot be reached from level 1 by dependencies."),
        ({"id": "1B"}, "task 1B has no id of a letter and up to 63 letters, digits, hyphens and underscores."),
        ({"id": "B" * 65}, "has no id of a letter"),
        ({"id": "A"}, "2 tasks are called A."),
        ({"id": None}, "task at place 2 has no id"),
        ({"verification": {}}, "task B has a verification without a command."),
        ({"verification": "true"}, "task B has a verification without a command."),
        ({"files": ["b"]}, "task B has files that are no object."),
        ({"files": {"create": "b"}}, "task B has files to create that are no list of paths."),
        ({"files": {"create": [{"path": "b"}]}}, "task B has files to create that are no list of paths."),
        ({"files": {"modify": ["a"]}}, "the tasks A, B all create or modify a."),
        ({"files": {"create": ["b"], "modify": ["b"]}}, "the task B lists b more than once to create or modify."),
        ({"files": {"create": ["b", "b"]}}, "the task B lists b more than once to create or modify."),
        ({"consumers": ["leaf"]}, "task B names the consumer leaf, which is no task."),
        ({"consumers": "leaf"}, "task B has consumers that are no list."),
        ({"consumers": ["A"]}, "task B has consumers and no integration_test."),
    ],
)
def test_each_rule_of_zerg_is_named(change, said):
    graph = launchable()
    graph["tasks"][1].update(change)
    assert any(said in problem for problem in sentences(graph))


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (None, "its levels are no object."),
        ([["A"]], "its levels are no object."),
        ({"1": ["A"]}, "its level 1 is no object with a name and a list of tasks."),
        ({"1": {"tasks": ["A"]}}, "its level 1 is no object with a name and a list of tasks."),
        ({"1": {"name": "x", "tasks": "A"}}, "its level 1 is no object with a name and a list of tasks."),
        ({"1": {"name": "x", "tasks": ["A", "Z", 3]}}, "its level 1 holds Z, 3, which is no task."),
    ],
)
def test_levels_are_looked_at_too(levels, said):
    assert sentences({**launchable(), "levels": levels}) == [said]
    graph = launchable()
    del graph["levels"]
    assert sentences(graph) == []


def test_where_no_task_is_on_level_1_none_is_missed():
    graph = launchable()
    for task, level in zip(graph["tasks"], (2, 3), strict=True):
        task["level"] = level
    assert sentences(graph) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verification": ...}, "has no command that verifies it."),
        ({"verification": {"command": ""}}, "has no command that verifies it."),
        ({"files": ...}, "has no files to create, modify and read."),
        ({"files": {"read": [3]}}, "has files to read that are no paths."),
        ({"context": {"a": 1}}, "has a context that is no text."),
    ],
)
def test_what_zerg_would_launch_all_the_same_is_no_refusal(change, said):
    graph = launchable()
    for name, value in change.items():
        if value is ...:
            del graph["tasks"][1][name]
        else:
            graph["tasks"][1][name] = value
    assert launch_problems(graph) == []
    assert launch_risks(graph) == [Problem("B", said)]


@pytest.mark.parametrize("graph", [None, [], {}, {"tasks": {}}, {"feature": "x", "tasks": []}, {"tasks": [1]}])
def test_what_is_no_graph_at_all_has_problems(graph):
    assert launch_problems(graph)


def test_a_circle_is_found_among_those_that_wait_for_it():
    graph = launchable()
    names = ["C", "D", "E"]
    circle = [
        {**graph["tasks"][0], "id": name, "files": {}, "dependencies": [need]}
        for name, need in zip(names, "DEC", strict=True)
    ]
    waiting = {**circle[0], "id": "AA", "dependencies": ["C"]}
    graph["tasks"] += [waiting, *circle]
    assert "the tasks C, D, E depend on each other in a circle." in sentences(graph)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = ("id", "title", "level", "dependencies", "files", "verification", "consumers", "context")
_TASK = st.dictionaries(st.sampled_from(_FIELDS), _JSON | st.just(["A"]), max_size=6) | _JSON


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["feature", "tasks", "levels"]), _JSON | st.lists(_TASK, min_size=1, max_size=4), max_size=3
    )
)
def test_no_graph_is_too_odd_to_be_judged(graph):
    assert all(isinstance(problem.sentence, str) for problem in [*launch_problems(graph), *launch_risks(graph)])


def test_tasks_of_one_problem_are_named_together_whatever_they_are_called():
    graph = {"feature": "x", "tasks": [{"title": "a", "level": 1} for _ in range(10)]}
    graph["tasks"][0]["id"] = "two words"
    told = summed_up(launch_problems(graph))
    assert told.startswith(
        "two words, at place 2, at place 3, at place 4, at place 5 and 5 more: has no id of a letter"
    )
    assert summed_up([Problem("", f"it is {n}.") for n in range(7)], 5).endswith("it is 4. There are 2 more kinds.")


def test_of_the_real_graphs_those_are_refused_that_zerg_refuses(shared):
    """Two of them only for tasks that nothing on level 1 leads to."""
    refused = {
        path.parent.name: sentences(json.loads(path.read_text("utf-8")))
        for path in sorted(shared.rglob("swarm/*/task-graph.json"))
    }
    for name in ("container-execution", "production-dogfooding"):
        assert refused[name]
        assert all("cannot be reached from level 1" in sentence for sentence in refused[name])
    assert refused["bug-fix-sweep"] == refused["zerg-estimate"] == []

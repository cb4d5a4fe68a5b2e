"""Stage 1: who sees what."""

from __future__ import annotations

import pytest

from tasks.settings import load_settings
from tasks.stages.candidates import PHASE_KINDS, generate_candidates
from tasks.terms import KINDS
from tests.tasks.batches import SETTINGS, batch, brief, names, out, passage, rule, said


def seen(items, tasks=1, settings=SETTINGS) -> dict[str, set[str]]:
    """The candidates of each task, those that are out at once included."""
    after = generate_candidates(batch(items, tasks), settings)
    ids = dict(after.tasks.select("task", "task_id").iter_rows())
    pairs = after.memberships.join(after.pools, on="pool").select("task", "item")
    assert pairs.is_duplicated().sum() == 0, "a candidate once"
    found = {task_id: set() for task_id in ids.values()}
    for task, item in pairs.iter_rows():
        found[ids[task]] |= set(names(after, [item]))
    return found


class TestPhases:
    @pytest.mark.parametrize(
        ("phase", "kinds"),
        [
            ("route", {"user_turn", "plan_state", "policy"}),
            ("call", {"user_turn", "plan_state", "policy", "agent_msg", "tool_call"}),
            ("interpret", set(KINDS)),
            ("answer", set(KINDS)),
        ],
    )
    def test_admit_their_kinds(self, phase, kinds):
        items = [said(kind, kind=kind) for kind in KINDS]
        after = generate_candidates(batch(items), load_settings(policy={"phase": phase}))
        assert set(PHASE_KINDS[phase]) == kinds
        assert out(after) == dict.fromkeys(set(KINDS) - kinds, "phase"), "what is left out is a candidate that went"


class TestHistory:
    TASKS = (
        {"task_id": "a"},
        {"task_id": "b", "dependencies": ["a"]},
        {"task_id": "c", "dependencies": ["b", "x"]},
        {"task_id": "d"},
        {"task_id": "a", "graph": "h"},
    )

    def test_is_that_of_nobody_of_oneself_and_of_what_one_depends_on(self):
        items = [
            said("all"),
            *(said(f"of-{name}", task_id=name, graph="g") for name in "abcd"),
            said("h-all", graph="h"),
        ]
        found = seen(items, self.TASKS[:4])
        assert found["a"] == {"all", "of-a"}
        assert found["b"] == {"all", "of-a", "of-b"}
        assert found["c"] == {"all", "of-a", "of-b", "of-c"}
        assert found["d"] == {"all", "of-d"}

    def test_of_an_event_that_names_no_graph_belongs_to_every_task_of_that_id(self):
        after = generate_candidates(batch([said("of-a", task_id="a")], self.TASKS), SETTINGS)
        pairs = after.memberships.join(after.pools, on="pool")
        keys = after.tasks.filter(after.tasks["task"].is_in(pairs["task"].implode())).select("graph", "task_id").rows()
        assert sorted(keys) == [("g", "a"), ("g", "b"), ("g", "c"), ("h", "a")]

    def test_of_a_cycle_is_shared_by_all_in_it(self):
        ring = [
            {"task_id": "a", "dependencies": ["b"]},
            {"task_id": "b", "dependencies": ["a"]},
            {"task_id": "c", "dependencies": ["c"]},
        ]
        found = seen([said(f"of-{name}", task_id=name) for name in "abc"], ring)
        assert found == {"a": {"of-a", "of-b"}, "b": {"of-a", "of-b"}, "c": {"of-c"}}


class TestRules:
    ITEMS = (rule("core", "x"), rule("python", "x", "python"), rule("docker", "x", "docker"), rule("go", "x", "go"))

    @pytest.mark.parametrize(
        ("files", "scopes"),
        [
            ({}, {"core"}),
            ({"files_create": ["a.py"]}, {"core", "python"}),
            ({"files_modify": ["Dockerfile"], "files_create": ["b.pyi"]}, {"core", "python", "docker"}),
            ({"files_read": ["a.py"], "files_delete": ["b.go"]}, {"core"}),
        ],
    )
    def test_follow_the_files_that_a_task_writes(self, files, scopes):
        assert seen(self.ITEMS, [{"task_id": "t", **files}])["t"] == scopes


class TestOwn:
    def test_brief_and_context_are_for_their_task_alone(self):
        items = [
            brief("t0"),
            brief("t1"),
            {**brief("t1"), "item_id": "t1#context", "section": "reference", "kind": "plan_state"},
        ]
        assert seen(items, 2) == {"t0": {"t0#brief"}, "t1": {"t1#brief", "t1#context"}}


class TestDocuments:
    def spec(self, count=1):
        return [
            passage("head", "# Rest"),
            *(passage(f"p{number}", f"rest period {number}", "head") for number in range(count)),
            passage("other", "the therapist"),
            passage("elsewhere", "rest", graph="h"),
        ]

    def test_are_those_of_the_graph(self):
        assert seen(self.spec(), [{"task_id": "t", "title": "Rest"}])["t"] == {"head", "p0", "other"}

    def test_a_passage_without_a_keyword_is_irrelevant_and_so_is_a_heading_alone(self):
        after = generate_candidates(batch(self.spec(), [{"task_id": "t", "title": "Rest"}]), SETTINGS)
        assert out(after) == {"head": "irrelevant", "other": "irrelevant"}

    def test_each_task_has_words_of_its_own(self):
        tasks = [{"task_id": "a", "title": "Rest"}, {"task_id": "b", "title": "The therapist"}]
        after = generate_candidates(batch(self.spec(), tasks), SETTINGS)
        alive = (
            after.pools.filter(after.pools["reason"].is_null()).join(after.memberships, on="pool").sort("task", "item")
        )
        assert [(task, names(after, [item])[0]) for task, item in alive.select("task", "item").iter_rows()] == [
            (0, "p0"),
            (1, "other"),
        ]

    def test_the_heading_right_above_counts_as_its_words(self):
        items = [passage("head", "# Rest"), passage("p", "it lasts an hour", "head")]
        after = generate_candidates(batch(items, [{"task_id": "t", "title": "Rest"}]), SETTINGS)
        assert "p" not in out(after)

    def test_the_best_few_of_each_document_where_that_is_set(self):
        items = [
            passage("no1", "nothing here"),
            passage("one", "rest"),
            passage("two", "rest and pause"),
            passage("also", "rest again"),
            passage("no2", "nothing there"),
            passage("req", "rest", section="requirements"),
        ]
        chosen = load_settings(spec={"top": 2})
        after = generate_candidates(batch(items, [{"task_id": "t", "title": "Rest pause"}]), chosen)
        assert {name for name in ("one", "two", "also", "req") if name not in out(after)} == {"two", "one", "req"}
        assert out(after)["also"] == "irrelevant"

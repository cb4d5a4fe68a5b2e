from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tasks.errors import BuildMissingError
from tasks.outputs.explain import explain_item, explain_task
from tasks.outputs.reader import BuildFolder
from tests.tasks.small_build import GRAPH, LARGE, ODD, STAGES, TASK, WEIGHTS, small_build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def build(tmp_path: Path) -> BuildFolder:
    return BuildFolder(small_build().write(tmp_path))


def because(tmp_path: Path, item_id: str, **values) -> str:
    """The sentence for a dropped candidate with these columns."""
    made = small_build()
    row = made.contexts[TASK][item_id]
    row |= {
        "decision": "dropped",
        "stage": STAGES[6],
        "prompt_order": None,
        "text": None,
        "duplicate_of": None,
    } | values
    return explain_item(BuildFolder(made.write(tmp_path)), GRAPH, TASK, item_id)["because"]


# ---- a task -----------------------------------------------------------------------------------------------------


def test_every_candidate_has_a_row_with_a_sentence(build: BuildFolder) -> None:
    rows = explain_task(build, GRAPH, TASK)
    assert set(rows["item_id"]) == set(build.context(GRAPH, TASK)["item_id"])
    assert rows["because"].str.contains(r"^[A-Z].*\.$").all()


def test_what_is_in_comes_first_in_the_order_of_the_prompt_then_the_rest_by_rank(build: BuildFolder) -> None:
    rows = explain_task(build, GRAPH, TASK)
    chosen = rows.filter(pl.col("decision") == "selected")
    assert rows["decision"].to_list() == ["selected"] * len(chosen) + ["dropped"] * (len(rows) - len(chosen))
    assert chosen["prompt_order"].is_sorted()
    assert rows["item_id"].tail(4).to_list() == ["design/2", "design/3", "log/s1", "log/s2"]


def test_rows_show_where_an_item_comes_from_and_how_it_begins(build: BuildFolder) -> None:
    row = explain_task(build, GRAPH, TASK).row(by_predicate=pl.col("item_id") == "design/1", named=True)
    assert (row["section"], row["kind"], row["path"], row["line_start"]) == ("design", "doc_snippet", "design.md", 5)
    assert row["begins"] == "The payment service holds the cart until the bank answers."


def test_a_task_that_failed_says_so(tmp_path: Path) -> None:
    made = small_build()
    made.tasks[TASK] |= {"status": "failed", "message": "The scorer broke."}
    del made.contexts[TASK]
    with pytest.raises(
        BuildMissingError, match=r"checkout/T-001 failed before it had candidates \(The scorer broke\.\)"
    ):
        explain_task(BuildFolder(made.write(tmp_path)), GRAPH, TASK)


# ---- an item that is in -----------------------------------------------------------------------------------------


def test_each_part_of_a_score_is_shown_with_its_weight_and_product(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, "design/1")
    assert [part["part"] for part in told["parts"]] == ["recency", "similarity", "kind_priority", "token_penalty"]
    assert [part["weight"] for part in told["parts"]] == list(WEIGHTS.values())
    assert all(part["product"] == part["weight"] * part["value"] for part in told["parts"])
    assert sum(part["product"] for part in told["parts"]) == pytest.approx(told["score"])


def test_an_item_that_is_in_says_its_rank_and_its_parents(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, "design/1")
    assert told["because"] == "It fits, at rank 4 of this task's candidates."
    assert (told["candidate"], told["decision"], told["rank"], told["candidates"], told["prompt_order"]) == (
        True,
        "selected",
        4,
        11,
        3,
    )
    assert told["parents"] == [{"item_id": "design/head", "decision": "selected", "begins": "#### Payment flow"}]


def test_the_brief_is_always_in(build: BuildFolder) -> None:
    assert explain_item(build, GRAPH, TASK, f"brief/{TASK}")["because"] == "A task's own brief is always in."


def test_an_explanation_is_plain_data(build: BuildFolder) -> None:
    assert json.loads(json.dumps(explain_item(build, GRAPH, ODD, "design/2")))["task_id"] == ODD


# ---- an item that is out ----------------------------------------------------------------------------------------


def test_a_duplicate_names_what_it_repeats(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, "design/2")
    assert told["duplicate_of"] == {
        "item_id": "design/1",
        "begins": "The payment service holds the cart until the bank answers.",
    }
    assert told["because"].startswith("It repeats design/1 (The payment service")


def test_what_missed_its_place_says_by_how_many_tokens(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, ODD, "design/2")
    assert told["because"] == "The share of the section design was spent on higher scores; it missed by 7 tokens."
    assert told["shortfall_tokens"] == 7
    assert "missed by 12 tokens" in explain_item(build, GRAPH, LARGE, f"brief/{LARGE}")["because"]


@pytest.mark.parametrize(
    ("item_id", "reason", "sentence"),
    [
        ("log/r1", "phase", "The phase interpret leaves out items of kind tool_result."),
        ("rules/core/1", "kind_limit", "The 200 places for items of kind policy were taken by higher scores."),
        ("log/c1", "kind_limit", "The 50 places for items of kind tool_call were taken by higher scores."),
        ("log/c1", "budget", "The budget was spent on higher scores."),
        ("log/r1", "parent_missing_room", "It would need its ancestors beside it, and they do not fit."),
        ("design/3", "horizon", "It is not among the best 2000 of its section, beyond which none is tried."),
        ("design/3", "irrelevant", "It is a heading, and nothing under it was selected."),
    ],
)
def test_every_reason_has_its_sentence(tmp_path: Path, item_id: str, reason: str, sentence: str) -> None:
    assert because(tmp_path, item_id, reason=reason) == sentence


def test_a_passage_that_matches_nothing_says_so(build: BuildFolder) -> None:
    assert explain_item(build, GRAPH, ODD, "design/3")["because"] == "None of the task's keywords stands in it."


def test_one_token_is_one_token(tmp_path: Path) -> None:
    assert because(tmp_path, "log/c1", reason="budget", shortfall_tokens=1).endswith("; it missed by 1 token.")


# ---- text at or above the floor ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["confidential", "restricted", "unheard of", None])
def test_text_above_the_floor_is_never_shown_whatever_the_files_hold(tmp_path: Path, level: str | None) -> None:
    made = small_build()
    for item_id in ("log/s1", "design/1", "log/c1"):
        made.items[item_id] |= {"text": "The plan is to sell.", "sensitivity": level}
    build = BuildFolder(made.write(tmp_path))
    shown = [explain_item(build, GRAPH, TASK, item_id) for item_id in ("log/s1", "log/s2", "design/2", "log/r1")]
    assert "sell" not in json.dumps([shown, explain_task(build, GRAPH, TASK).to_dicts()])
    assert shown[2]["duplicate_of"] == {"item_id": "design/1", "begins": None}


def test_an_item_above_the_floor_says_which_level_and_which_floor(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, "log/s2")
    assert told["because"] == "It, or what it descends from or repeats, is confidential; the floor is confidential."
    assert (told["stage"], told["score"], told["parts"], told["begins"]) == ("apply_sensitivity_filter", None, [], None)


# ---- an item that is no candidate -------------------------------------------------------------------------------


def test_the_brief_of_another_task_is_no_candidate(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, f"brief/{LARGE}")
    assert (told["candidate"], told["decision"], told["rank"]) == (False, None, None)
    assert told["because"] == f"It belongs to task {GRAPH}/{LARGE}."


def test_history_of_a_task_that_is_no_dependency_is_no_candidate(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, "log/z1")
    assert told["because"] == f"It belongs to task {GRAPH}/{ODD}, on which this task does not depend."


def test_a_rule_for_other_files_is_no_candidate(build: BuildFolder) -> None:
    told = explain_item(build, GRAPH, TASK, "rules/go/1")
    assert told["because"] == "It is a rule for go, and this task creates or modifies no such file."


def test_an_item_of_another_graph_is_no_candidate(tmp_path: Path) -> None:
    made = small_build()
    made.items["other"] = made.items["design/3"] | {"item_id": "other", "graph": "search"}
    assert (
        explain_item(BuildFolder(made.write(tmp_path)), GRAPH, TASK, "other")["because"]
        == "It belongs to graph search."
    )


def test_where_rows_are_only_counted_an_item_may_be_one_of_them(tmp_path: Path) -> None:
    made = small_build()
    del made.contexts[TASK]["design/3"]
    told = explain_item(BuildFolder(made.write(tmp_path)), GRAPH, TASK, "design/3")
    assert "one of the 1 with the lowest scores" in told["because"]
    assert "audit.max_rows_per_task" in told["because"]


def test_parents_that_go_in_circles_end(tmp_path: Path) -> None:
    made = small_build()
    made.items["design/head"]["parent_id"] = "design/1"
    told = explain_item(BuildFolder(made.write(tmp_path)), GRAPH, TASK, "design/1")
    assert [parent["item_id"] for parent in told["parents"]] == ["design/head"]


@pytest.mark.parametrize(("task_id", "item_id"), [("T-404", "design/1"), (TASK, "design/404")])
def test_a_name_that_is_none_is_refused(build: BuildFolder, task_id: str, item_id: str) -> None:
    with pytest.raises(BuildMissingError, match="close to it"):
        explain_item(build, GRAPH, task_id, item_id)

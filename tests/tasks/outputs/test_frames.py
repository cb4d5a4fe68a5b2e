"""The frames of a build folder: the contract's columns, and counts that fit each other."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest

from tasks.settings import load_settings
from tests.swarms import Built, build_swarm, built, event, task, write_swarm

COLUMNS = {
    "tasks": "graph task_id title level status prompt prompt_tokens budget_tokens tokenizer margin prompt_sha256 shared_prefix_tokens candidates included dropped closures_added dedup_removed sensitivity_dropped firewalled redactions tokens_by_section message",
    "items": "item_id graph task_id source section kind text tokens parent_id sensitivity position path line_start line_end tags trusted media_type artifact content_hash",
    "stages": "graph task_id stage candidates_in candidates_out tokens_in tokens_out drops closures_added",
    "timings": "stage shard tasks rows started seconds peak_mb",
    "findings": "severity code where message",
    "artifacts": "handle item_id sha256 size_bytes media_type lines",
}  # fmt: skip
CONTEXT = "graph task_id item_id recency similarity kind_priority token_penalty score rank decision stage reason duplicate_of shortfall_tokens prompt_order text"
EVENTS = [
    event("u1", "user_turn", "The login must keep its session for a day and not longer than that"),
    event("u2", "user_turn", "The login must keep its session for a day, and not longer than that"),
    event("s1", "user_turn", "login sealed", sensitivity="confidential"),
    event("c1", "tool_call", "search(login)"),
    event("r1", "tool_result", "login row\n" * 90, "c1", media_type="text/x-log"),
    *(event(f"long{number}", "agent_msg", f"login talk {number} " * 60) for number in range(12)),
]
SPEC = "# Login\n\nThe login page.\n\n# Other\n\nNothing of it.\n"


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Built:
    return build_swarm(tmp_path_factory.mktemp("frames"), [task("T-1"), task("T-2", "Unrelated words", dependencies=["T-1"])], requirements=SPEC, events=EVENTS, settings=load_settings(budget={"tokens": 700}))  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_of_the_contract(build, name):
    assert pl.read_parquet(build.path / f"{name}.parquet").columns == COLUMNS[name].split()


def test_so_are_those_of_contexts(build):
    assert build.contexts.columns == CONTEXT.split()


def test_a_task_counts_its_candidates(build):
    rows = build.contexts.filter(pl.col("task_id") == "T-1")
    row = build.task("T-1")
    assert row["candidates"] == len(rows)
    assert row["included"] == rows.filter(pl.col("decision") == "selected").height
    assert row["dropped"] == rows.filter(pl.col("decision") == "dropped").height
    assert row["dedup_removed"] == 1
    assert row["sensitivity_dropped"] == 1
    assert row["firewalled"] == 1
    assert row["closures_added"] == 1, "the heading of the passage"
    assert row["prompt_sha256"] == hashlib.sha256(row["prompt"].encode()).hexdigest()
    assert (row["budget_tokens"], row["tokenizer"], row["margin"]) == (700, "o200k_base", 1.0)
    sections = row["tokens_by_section"]
    assert list(sections) == ["rules", "requirements", "design", "reference", "history", "brief"]
    assert sections["design"] == 0 < sections["brief"]
    assert sum(sections.values()) == pytest.approx(row["prompt_tokens"], abs=2)


def test_a_task_counts_the_credentials_masked_in_its_prompt(tmp_path):
    secret = "Tr0ub4dor" + "-zebra-9x"
    build = build_swarm(
        tmp_path, [task("T-1")], events=[event("u1", "user_turn", f"login with password={secret} twice")]
    )
    assert build.task("T-1")["redactions"] == 1
    assert "CREDENTIAL_REDACTED" in build.findings


def test_every_candidate_says_what_became_of_it(build):
    selected = build.contexts.filter(pl.col("decision") == "selected")
    dropped = build.contexts.filter(pl.col("decision") == "dropped")
    assert selected["reason"].null_count() == len(selected)
    assert selected["text"].null_count() == selected["prompt_order"].null_count() == 0
    assert dropped["reason"].null_count() == 0
    assert dropped["text"].null_count() == dropped["prompt_order"].null_count() == len(dropped)
    early = dropped.filter(pl.col("stage").is_in(["generate_candidates", "apply_sensitivity_filter"]))
    assert early["score"].null_count() == len(early) > 0, "what went before the scoring has no score"


def test_duplicates_name_the_item_that_was_kept(build):
    row = build.contexts.filter((pl.col("reason") == "duplicate") & (pl.col("task_id") == "T-1")).row(0, named=True)
    assert build.row("T-1", row["duplicate_of"])["reason"] != "duplicate"


def test_an_item_at_or_above_the_floor_has_neither_text_nor_hash(build):
    row = build.item("/s1")
    assert (row["text"], row["content_hash"], row["artifact"]) == (None, None, None)
    assert row["sensitivity"] == "confidential"


def test_an_artifact_says_what_it_is(build):
    row = build.artifacts.row(0, named=True)
    content = (build.path / "artifacts" / row["sha256"]).read_bytes()
    assert content == b"login row\n" * 90
    assert (row["size_bytes"], row["lines"], row["media_type"]) == (900, 90, "text/x-log")
    assert row["handle"] == f"artifact:{row['item_id']}" == build.item("/r1")["artifact"]


def test_stage_names_and_order_are_fixed(build):
    rows = build.stages.filter(pl.col("task_id") == "T-1")
    assert rows["stage"].to_list()[0] == "generate_candidates"
    assert rows["stage"].to_list()[-1] == "render_context"
    assert len(rows) == 8


@pytest.mark.parametrize("most", [1, 5, 12])
def test_a_context_holds_what_is_selected_and_the_best_of_the_rest(tmp_path, build, most):
    settings = load_settings(budget={"tokens": 700}, audit={"max_rows_per_task": most})
    tasks = [task("T-1"), task("T-2", "Unrelated words", dependencies=["T-1"])]
    small = built(write_swarm(tmp_path, tasks, requirements=SPEC, events=EVENTS), settings)
    for name in ("T-1", "T-2"):
        whole = build.contexts.filter(pl.col("task_id") == name)
        rows = small.contexts.filter(pl.col("task_id") == name)
        selected = whole.filter(pl.col("decision") == "selected")
        assert set(selected["item_id"]) <= set(rows["item_id"])
        assert len(rows) == max(most, len(selected))
        assert small.task(name)["candidates"] == len(whole), "counts are whole"
    assert small.stages.equals(build.stages)
    assert small.problems() == []


def test_rows_are_sorted_by_key(build):
    assert build.tasks.select("graph", "task_id").rows() == [("demo", "T-1"), ("demo", "T-2")]
    assert build.items["item_id"].is_sorted()

"""Every real task graph, built at once with the real rules: all tasks whole, and nothing wrong for two readers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tasks.audit import audit
from tasks.sources.inputs import Request
from tests.swarms import ROOT, Built, built, independent_reader

if TYPE_CHECKING:
    from pathlib import Path

SHARED = ROOT.parent / "shared" / "data"
GRAPHS = sorted((SHARED / "swarm").glob("*/task-graph.json"))

pytestmark = pytest.mark.skipif(not GRAPHS, reason="the real graphs are not here: no ../shared beside the checkout")


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> Built:
    """One build of all graphs."""
    request = Request(graphs=tuple(GRAPHS), rules=SHARED / "rules", cwd=SHARED)
    return built(request, out=tmp_path_factory.mktemp("swarms"))


@pytest.mark.parametrize("graph", GRAPHS, ids=[path.parent.name for path in GRAPHS])
def test_every_task_of_a_real_graph_gets_its_context(everything, graph: Path):
    plan = json.loads(graph.read_text("utf-8-sig"))
    named = [entry.get("id") for entry in plan["tasks"]]
    feature = plan.get("feature")
    mine = (
        everything.tasks.filter((pl.col("graph") == feature) | pl.col("graph").str.starts_with(f"{feature}@"))
        if feature
        else everything.tasks
    )
    assert set(named) <= set(mine["task_id"])
    wanted = mine.filter(pl.col("task_id").is_in(named))
    assert set(wanted["status"]) == {"ok"}
    for row in wanted.iter_rows(named=True):
        assert row["prompt_tokens"] * row["margin"] <= row["budget_tokens"]
        assert row["prompt"].rstrip().rpartition("\n## ")[2].startswith("Task\n")
        assert row["title"].split("`")[0].strip()[:20] in row["prompt"]


def test_no_task_is_lost_among_the_graphs(everything):
    plans = [json.loads(path.read_text("utf-8-sig"))["tasks"] for path in GRAPHS]
    assert len(everything.tasks) == sum(map(len, plans))


def test_the_audit_finds_nothing(everything):
    assert audit(everything.path) == []


def test_the_independent_reader_finds_nothing(everything):
    reader = independent_reader()
    if reader is None:
        pytest.skip("the independent reader is not here: no ../shared/tools beside the checkout")
    report, _ = reader.check(everything.path)
    assert dict(report.found) == {}

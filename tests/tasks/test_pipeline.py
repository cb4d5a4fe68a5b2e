"""The fixed order of the stages, shards, and the arrows between the packages."""

from __future__ import annotations

import ast
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tasks.pipeline import STAGES, Run
from tasks.settings import load_settings
from tasks.shards import merged, shards, trimmed
from tasks.terms import STAGE_NAMES
from tests.tasks.batches import SETTINGS, batch, brief, said

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for folder in ("tasks", "flows") for path in (ROOT / folder).rglob("*.py"))
WITHOUT_PREFECT = ("tasks/stages", "tasks/sources", "tasks/outputs", "tasks/audit")


def imports(path: Path) -> set[str]:
    """Every module that a file names in an import, also inside functions and for type checkers."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def test_the_eight_stages_stand_in_their_fixed_order():
    assert tuple(stage.__name__ for stage in STAGES) == (
        "generate_candidates",
        "resolve_dependency_closure",
        "apply_sensitivity_filter",
        "apply_firewall_to_batch",
        "score_candidates",
        "deduplicate_candidates",
        "select_and_pack",
        "render_context",
    )
    assert tuple(stage.__name__ for stage in STAGES) == STAGE_NAMES


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
class TestArrows:
    def test_tasks_do_not_know_flows(self, path):
        if path.is_relative_to(ROOT / "tasks"):
            assert not [name for name in imports(path) if within(name, "flows")]

    def test_a_stage_imports_no_other_stage(self, path):
        if path.parent == ROOT / "tasks" / "stages":
            assert not [name for name in imports(path) if within(name, "tasks.stages")]

    def test_sources_and_outputs_do_not_know_each_other(self, path):
        for here, there in (("sources", "outputs"), ("outputs", "sources")):
            if path.is_relative_to(ROOT / "tasks" / here):
                assert not [name for name in imports(path) if within(name, f"tasks.{there}")]

    def test_prefect_meets_the_code_in_the_pipeline_and_the_flows_alone(self, path):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("flows/") or place == "tasks/pipeline.py":
            return
        assert not [name for name in imports(path) if within(name, "prefect")]


@pytest.mark.parametrize("folder", WITHOUT_PREFECT)
def test_the_arrows_are_drawn_between_packages_that_exist(folder):
    assert [path for path in MODULES if path.is_relative_to(ROOT / folder)]


def test_a_direct_build_does_not_import_prefect():
    script = "import sys, tasks.building, tasks.pipeline, flows.cli; print('prefect' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_whether_a_build_is_there_is_found_out_without_frames():
    script = (
        "import sys; from tasks.building import build; from tasks.settings import load_settings; load_settings()\n"
        "print([name for name in ('polars', 'dataframely', 'kingfisher_sdk', 'markdown_it', 'yaml', 'pydantic_settings') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestShards:
    def given(self):
        items = [brief(f"t{number}") for number in range(6)] + [
            said(f"u{number}", f"word {number}") for number in range(7)
        ]
        before = batch(items, 6)
        for stage in STAGES[:4]:
            before = stage(before, SETTINGS)
        return before

    @pytest.mark.parametrize(("pairs", "count"), [(1, 6), (8, 6), (16, 3), (24, 2), (1000, 1)])
    def test_are_runs_of_tasks_whose_pairs_fit(self, pairs, count):
        parts = list(shards(self.given(), load_settings(run={"shard_pairs": pairs})))
        assert len(parts) == count
        assert [task for part in parts for task in part.tasks["task"]] == list(range(6))

    def test_merged_again_are_the_batch_as_it_would_have_been(self):
        before = self.given()
        whole = before
        parts = list(shards(before, load_settings(run={"shard_pairs": 8})))
        for stage in STAGES[4:]:
            whole = stage(whole, SETTINGS)
            parts = [stage(part, SETTINGS) for part in parts]
        together = merged(before, parts)
        assert together.candidates.equals(whole.candidates)
        assert together.prompts.drop("shared_prefix_tokens").equals(whole.prompts.drop("shared_prefix_tokens"))


class TestTrimming:
    def test_keeps_all_that_is_selected_and_the_best_of_the_rest(self):
        settings = load_settings(budget={"tokens": 90}, audit={"max_rows_per_task": 9})
        after = batch([brief(), *(said(f"u{number}", f"word {number} " * 9) for number in range(20))])
        for stage in STAGES:
            after = stage(after, settings)
        rows = trimmed(after, settings).candidates
        selected = rows["reason"].null_count()
        assert selected == after.candidates["reason"].null_count()
        assert len(rows) == 9
        best = after.candidates.filter(after.candidates["reason"].is_not_null()).sort("rank").head(9 - selected)
        assert set(best["item"]) <= set(rows["item"])

    def test_zero_keeps_everything(self):
        settings = load_settings(audit={"max_rows_per_task": 0})
        after = batch([brief()])
        assert trimmed(after, settings) is after


def test_a_run_takes_note_of_every_stage_and_shard():
    run = Run(load_settings(run={"shard_pairs": 1}))
    run(batch([brief("t0"), brief("t1")], 2))
    rows = run.timings_frame()
    assert rows["stage"].to_list() == [*STAGE_NAMES[:4], *STAGE_NAMES[4:], *STAGE_NAMES[4:]]
    assert rows["shard"].to_list() == [0] * 8 + [1] * 4
    assert all(one <= other for one, other in pairwise(rows["started"]))
    assert rows["seconds"].min() >= 0
    assert rows["peak_mb"].min() > 1

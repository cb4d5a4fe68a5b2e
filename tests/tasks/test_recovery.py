"""Tasks that break a stage stand alone in the end; the others are built as if nothing had happened."""

from __future__ import annotations

from functools import wraps

import polars as pl
import pytest

from tasks import pipeline
from tasks.building import build
from tasks.errors import StageError
from tasks.recovery import guarded
from tasks.settings import load_settings
from tasks.terms import STAGE_NAMES
from tests.swarms import Built, built, event, task, write_swarm

SPEC = "# Login\n\nThe login page asks for a password.\n\n## Errors\n\nA wrong password is answered in one sentence.\n"
RAW = "\n".join(f"login row {number} of the raw result, quagga {number * 7919}" for number in range(60))
TASKS = [task(f"T-{number}", f"Login page {number}", files={"create": [f"app/{number}.py"]}) for number in range(5)]
EVENTS = [
    event("u1", "user_turn", "login for all"),
    event("s1", "user_turn", "login SEALED for all", sensitivity="confidential"),
    event("s2", "tool_result", "login SEALED of T-2", task_id="T-2", sensitivity="restricted"),
    event("r2", "tool_result", RAW, task_id="T-2"),
    event("r3", "tool_result", RAW.replace("quagga", "okapi"), task_id="T-3"),
]
FALLBACK_TOO = ("apply_sensitivity_filter", "apply_firewall_to_batch", "render_context")


def poisoned(monkeypatch, stage_name: str, *victims: str, error: BaseException | None = None) -> None:
    """Makes a stage raise whenever one of these tasks is in the batch."""

    def wrap(stage):
        if stage.__name__ != stage_name:
            return stage

        @wraps(stage)
        def broken(batch, settings):
            if set(victims) & set(batch.tasks["task_id"]):
                raise error or ValueError("login SEALED quagga")
            return stage(batch, settings)

        return broken

    monkeypatch.setattr(pipeline, "STAGES", tuple(wrap(stage) for stage in pipeline.STAGES))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Built:
    return built(write_swarm(tmp_path_factory.mktemp("whole"), TASKS, requirements=SPEC, events=EVENTS))


def of_task(build: Built, task_id: str) -> list:
    """All that a build says of a task, but for the count of what its prompt shares with others."""
    mine = pl.col("task_id") == task_id
    return [
        build.tasks.filter(mine).drop("shared_prefix_tokens").to_dicts(),
        build.contexts.filter(mine).to_dicts(),
        build.stages.filter(mine).to_dicts(),
    ]


@pytest.mark.parametrize("stage", STAGE_NAMES)
class TestPoison:
    def test_the_other_tasks_are_built_as_ever(self, tmp_path, monkeypatch, whole, stage):
        poisoned(monkeypatch, stage, "T-2")
        build = built(write_swarm(tmp_path, TASKS, requirements=SPEC, events=EVENTS))
        for name in ("T-0", "T-1", "T-3", "T-4"):
            assert of_task(build, name) == of_task(whole, name)
        row = build.task("T-2")
        assert row["status"] == ("failed" if stage in FALLBACK_TOO else "fallback")
        assert stage in row["message"]
        assert "SEALED" not in row["message"], "the words of an error may quote an input"
        if row["status"] == "fallback":
            assert "A wrong password" in row["prompt"]
            assert "Check who asks" in row["prompt"]
            assert "T-2: Login page 2" in row["prompt"]
            assert row["prompt_tokens"] <= row["budget_tokens"]
        stored = b"".join(path.read_bytes() for path in (build.path / "artifacts").iterdir())
        assert b"SEALED" not in build.everything() + stored
        assert RAW[:600].encode() not in build.everything()
        assert build.problems() == []

    def test_without_fallback_the_build_fails_and_names_the_task(self, tmp_path, monkeypatch, stage):
        poisoned(monkeypatch, stage, "T-2")
        request = write_swarm(tmp_path, TASKS, requirements=SPEC, events=EVENTS)
        with pytest.raises(StageError, match="demo/T-2 at " + stage) as caught:
            build(request, load_settings(policy={"fallback_to_full": False}), tmp_path / "builds")
        assert "SEALED" not in str(caught.value)
        assert list((tmp_path / "builds").iterdir()) == []

    def test_all_tasks_may_break_it(self, tmp_path, monkeypatch, stage):
        poisoned(monkeypatch, stage, *(f"T-{number}" for number in range(5)))
        build = built(write_swarm(tmp_path, TASKS, requirements=SPEC, events=EVENTS))
        assert set(build.tasks["status"]) == {"failed" if stage in FALLBACK_TOO else "fallback"}
        assert b"SEALED" not in build.everything()
        assert RAW[:600].encode() not in build.everything()
        assert build.problems() == []


def test_shards_break_alone(tmp_path, monkeypatch, whole):
    poisoned(monkeypatch, "score_candidates", "T-1", "T-4")
    chosen = load_settings(run={"shard_pairs": 1})
    build = built(write_swarm(tmp_path, TASKS, requirements=SPEC, events=EVENTS), chosen)
    assert build.tasks["status"].to_list() == ["ok", "fallback", "ok", "ok", "fallback"]
    assert of_task(build, "T-3") == of_task(whole, "T-3")
    assert build.problems() == []


def test_a_panic_within_polars_is_survived(tmp_path, monkeypatch):
    poisoned(monkeypatch, "score_candidates", "T-1", error=pl.exceptions.PanicException("no room"))
    build = built(write_swarm(tmp_path, TASKS))
    assert build.status("T-1") == "fallback"


def test_two_broken_stages_are_both_survived(tmp_path, monkeypatch):
    poisoned(monkeypatch, "generate_candidates", "T-0")
    poisoned(monkeypatch, "deduplicate_candidates", "T-1")
    build = built(write_swarm(tmp_path, TASKS))
    assert build.tasks["status"].to_list() == ["fallback", "fallback", "ok", "ok", "ok"]


def test_a_full_context_without_room_for_the_brief_is_over_budget(tmp_path, monkeypatch):
    poisoned(monkeypatch, "score_candidates", "T-0")
    tasks = [task("T-0", description="word " * 300), task("T-1")]
    build = built(write_swarm(tmp_path, tasks, requirements=SPEC), load_settings(budget={"tokens": 150}))
    assert build.status("T-0") == "over_budget"
    assert build.task("T-0")["prompt"] is None
    assert build.problems() == []


def test_tasks_that_break_a_stage_together_only_are_not_saved_alone(tmp_path, monkeypatch):
    """T-1 and T-2 break it as a pair, T-4 alone: what is left after T-4 is halved again."""
    together = {"T-1", "T-3"}
    scoring = pipeline.STAGES[4]

    @wraps(scoring)
    def broken(batch, settings):
        names = set(batch.tasks["task_id"])
        if together <= names or "T-4" in names:
            raise ValueError
        return scoring(batch, settings)

    monkeypatch.setattr(pipeline, "STAGES", (*pipeline.STAGES[:4], broken, *pipeline.STAGES[5:]))
    build = built(write_swarm(tmp_path, TASKS))
    assert build.status("T-4") == "fallback"
    assert set(build.tasks["status"]) <= {"ok", "fallback"}
    assert build.problems() == []


def test_a_good_stage_runs_once():
    calls = []

    def stage(batch, settings):
        calls.append(len(batch.tasks))
        return batch

    stage.__name__ = STAGE_NAMES[0]
    from tests.tasks.batches import batch

    after, broken = guarded(stage, batch(tasks=3), load_settings())
    assert calls == [3]
    assert broken == {}
    assert len(after.stages) == 3

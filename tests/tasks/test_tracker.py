"""The tracker's arithmetic, the threshold to the token, and totals that never fall whatever happens."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import TrackingError
from tasks.outputs.reader import BuildFolder
from tasks.tracker import ContextTracker, file_tokens, threshold_tokens
from tests.tasks.small_build import LARGE, TASK, small_build


class Clock:
    """A clock that stands where it is put."""

    def __init__(self, seconds: float = 1_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def tracker_with(tokens: int, **options) -> ContextTracker:
    """A tracker whose estimate is exactly so many tokens, 100 at least: one file of the right size."""
    tracker = ContextTracker(clock=Clock(), **options)
    tracker.track_file_read(size=(tokens - 100) * 4)
    return tracker


# ---- what things cost -------------------------------------------------------------------------------------------


def test_an_untouched_session_has_used_nothing():
    usage = ContextTracker(clock=Clock()).get_usage()
    assert (usage.estimated_tokens, usage.files_read, usage.tasks_executed, usage.tool_calls) == (0, 0, 0, 0)
    assert (usage.usage_percent, usage.budget_usage_percent, usage.is_over_threshold) == (0.0, 0.0, False)
    assert (usage.window_tokens, usage.threshold_percent) == (200_000, 70.0)


@pytest.mark.parametrize(("size", "tokens"), [(0, 100), (3, 100), (4, 101), (1_000, 350), (8_000, 2_100)])
def test_a_file_costs_a_quarter_of_its_bytes_and_a_hundred(size, tokens):
    assert file_tokens(size) == tokens


def test_everything_adds_up():
    clock = Clock()
    tracker = ContextTracker(clock=clock)
    tracker.track_file_read(size=4_000)
    tracker.track_task_execution()
    tracker.track_tool_call()
    tracker.track_tool_call()
    clock.seconds += 150
    usage = tracker.get_usage()
    assert usage.estimated_tokens == 1_100 + 500 + 2 * 50 + 250
    assert (usage.files_read, usage.tasks_executed, usage.tool_calls) == (1, 1, 2)


def test_a_file_on_disk_counts_by_its_size_and_a_missing_one_as_empty(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x" * 400)
    tracker = ContextTracker(clock=Clock())
    tracker.track_file_read(tmp_path / "a.py")
    assert tracker.get_usage().estimated_tokens == 200
    for nothing in (tmp_path / "b.py", "\0", None, tmp_path):
        tracker.track_file_read(nothing)
    assert tracker.get_usage().estimated_tokens == 600


def test_a_file_that_is_read_twice_counts_twice(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x" * 400)
    tracker = ContextTracker(clock=Clock())
    tracker.track_file_read(tmp_path / "a.py")
    tracker.track_file_read(tmp_path / "a.py")
    assert (tracker.get_usage().files_read, tracker.get_usage().estimated_tokens) == (2, 400)


# ---- the threshold ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "window", "threshold", "due"),
    [
        (140_000, 200_000, 70, True),
        (139_999, 200_000, 70, False),
        (75_000, 100_000, 70, True),
        (70_000, 100_000, 70, True),
        (69_999, 100_000, 70, False),
        (140_000, 200_000, 70.1, False),
        (140_200, 200_000, 70.1, True),
        (140_199, 200_000, 70.1, False),
        (200_000, 200_000, 100, True),
        (250_000, 200_000, 100, True),
    ],
)
def test_a_checkpoint_is_due_at_the_threshold_of_the_window_given(tokens, window, threshold, due):
    tracker = tracker_with(tokens, window=window, threshold=threshold)
    assert tracker.get_usage().estimated_tokens == tokens
    assert tracker.should_checkpoint() is due
    assert tracker.get_usage().is_over_threshold is due
    assert tracker.get_usage().usage_percent == pytest.approx(100 * tokens / window)


def test_a_threshold_of_0_is_always_reached():
    assert ContextTracker(threshold=0, clock=Clock()).should_checkpoint()


@pytest.mark.parametrize(
    ("window", "threshold"),
    [
        (0, 70),
        (-1, 70),
        (math.inf, 70),
        (1000.5, 70),
        ("1000", 70),
        (None, 70),
        (True, 70),
        (1000, -0.1),
        (1000, 100.1),
        (1000, math.nan),
        (1000, math.inf),
        (1000, "70"),
        (1000, None),
        (1000, True),
    ],
)
def test_a_window_or_threshold_without_sense_is_refused(window, threshold):
    with pytest.raises(TrackingError):
        ContextTracker(window, threshold)


@given(st.integers(1, 10**9), st.floats(0, 100, allow_subnormal=False))
def test_the_threshold_lies_in_the_window(window, threshold):
    assert 0 <= threshold_tokens(window, threshold) <= window


# ---- what can go wrong ------------------------------------------------------------------------------------------


def test_a_size_below_zero_is_refused_and_counts_nothing():
    tracker = ContextTracker(clock=Clock())
    with pytest.raises(TrackingError, match="-1 bytes") as refused:
        tracker.track_file_read(size=-1)
    assert refused.value.code == "TRACKING"
    assert tracker.get_usage().files_read == 0


@pytest.mark.parametrize("size", [math.nan, math.inf, -math.inf, "400", [], True])
def test_a_size_that_is_no_number_is_refused_likewise(size):
    tracker = ContextTracker(clock=Clock())
    with pytest.raises(TrackingError):
        tracker.track_file_read(size=size)
    assert tracker.get_usage().estimated_tokens == 0


def test_a_compaction_empties_the_window_and_keeps_the_budget(tmp_path):
    clock = Clock()
    tracker = ContextTracker(100_000, 50, clock=clock)
    tracker.use_build(BuildFolder(small_build().write(tmp_path)), TASK)
    tracker.track_file_read(size=4_000)
    tracker.track_task_execution()
    tracker.track_tool_call()
    clock.seconds += 600
    before = tracker.get_usage()
    tracker.compact()
    after = tracker.get_usage()
    assert (after.estimated_tokens, after.files_read, after.tasks_executed, after.tool_calls) == (0, 0, 0, 0)
    assert (after.window_tokens, after.threshold_percent) == (100_000, 50)
    assert after.context_budget_tokens == before.context_budget_tokens > 0
    assert after.context_budget_used == before.context_budget_used > 0
    clock.seconds += 60
    assert tracker.get_usage().estimated_tokens == 100


def test_a_clock_that_goes_back_stands_still():
    clock = Clock()
    tracker = ContextTracker(clock=clock)
    clock.seconds += 60
    assert tracker.get_usage().estimated_tokens == 100
    for seconds in (clock.seconds - 30, clock.seconds - 3600, 0.0, float("nan"), float("-inf")):
        clock.seconds = seconds
        assert tracker.get_usage().estimated_tokens == 100


STEPS = st.one_of(
    st.tuples(st.just("file"), st.integers(-10, 10**7)),
    st.tuples(st.just("task"), st.none()),
    st.tuples(st.just("call"), st.none()),
    st.tuples(st.just("clock"), st.floats(-1e7, 1e7)),
    st.tuples(st.just("kept"), st.none()),
)


@given(st.lists(STEPS, max_size=30))
def test_totals_are_never_negative_and_never_fall(tmp_path_factory, steps):
    clock = Clock()
    tracker = ContextTracker(clock=clock)
    place = tmp_path_factory.getbasetemp() / "monotone.json"
    before = tracker.get_usage()
    for step, value in steps:
        if step == "file" and value < 0:
            with pytest.raises(TrackingError):
                tracker.track_file_read(size=value)
        elif step == "file":
            tracker.track_file_read(size=value)
        elif step == "task":
            tracker.track_task_execution()
        elif step == "call":
            tracker.track_tool_call()
        elif step == "clock":
            clock.seconds += value
        else:
            tracker.save(place)
            tracker = ContextTracker.load(place, clock=clock)
        after = tracker.get_usage()
        for name in ("estimated_tokens", "files_read", "tasks_executed", "tool_calls", "timestamp"):
            assert getattr(after, name) >= getattr(before, name)
        assert after.estimated_tokens >= 0
        assert after.is_over_threshold == (after.estimated_tokens >= 140_000)
        before = after


# ---- the budget -------------------------------------------------------------------------------------------------


def test_the_budget_comes_from_the_contexts_of_a_build(tmp_path):
    folder = BuildFolder(small_build().write(tmp_path))
    tracker = ContextTracker(clock=Clock())
    tracker.use_build(folder, TASK)
    row = folder.task(TASK)
    usage = tracker.get_usage()
    assert usage.context_budget_tokens == row["budget_tokens"]
    assert usage.context_budget_used == math.ceil(row["prompt_tokens"] * row["margin"])
    assert 0 < usage.budget_usage_percent <= 100
    assert usage.estimated_tokens == 0
    tracker.use_build(folder, LARGE)
    assert tracker.get_usage().context_budget_tokens == row["budget_tokens"] + folder.task(LARGE)["budget_tokens"]


# ---- between processes ------------------------------------------------------------------------------------------


def test_a_saved_tracker_goes_on_where_it_was(tmp_path):
    clock = Clock()
    tracker = ContextTracker(100_000, 50, clock=clock)
    tracker.track_file_read(size=4_000)
    clock.seconds += 60
    tracker.save(tmp_path / "deep" / "state.json")
    clock.seconds += 60
    usage = ContextTracker.load(tmp_path / "deep" / "state.json", clock=clock).get_usage()
    assert usage.estimated_tokens == 1_100 + 200
    assert (usage.window_tokens, usage.threshold_percent) == (100_000, 50)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["state.json"]


def test_a_saved_tracker_takes_another_window_and_threshold(tmp_path):
    tracker_with(1_000).save(tmp_path / "state.json")
    usage = ContextTracker.load(tmp_path / "state.json", 2_000, 50, clock=Clock()).get_usage()
    assert (usage.usage_percent, usage.is_over_threshold) == (50, True)


@pytest.mark.parametrize(
    "damage",
    ["", "[", "[]", "{}", "[" * 100_000, {"tool_calls": -1}, {"tool_calls": True}, {"started": "now"}, {"window": 0}],
)
def test_a_damaged_state_is_refused(tmp_path, damage):
    place = tmp_path / "state.json"
    tracker_with(1_000).save(place)
    place.write_text(damage if isinstance(damage, str) else json.dumps(json.loads(place.read_text()) | damage))
    with pytest.raises(TrackingError):
        ContextTracker.load(place)


def test_usage_as_plain_data_holds_the_percentages():
    said = json.loads(json.dumps(tracker_with(50_000).get_usage().as_dict()))
    assert (said["usage_percent"], said["is_over_threshold"], said["threshold_percent"]) == (25.0, False, 70.0)
    assert said["timestamp"] == "1970-01-12T13:46:40+00:00"

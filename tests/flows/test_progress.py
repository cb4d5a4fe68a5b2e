"""What a flow says about how far a build is."""

from __future__ import annotations

import time

import pytest

from flows.progress import reporting
from tasks.pipeline import STAGES
from tests.tasks.batches import batch

TASKS = batch(tasks=3)


@pytest.fixture
def told(monkeypatch):
    """What is reported of a build whose stages take that many seconds each."""

    def build(seconds: float) -> list[float]:
        clock, percents = [0.0], []
        monkeypatch.setattr(time, "monotonic", lambda: clock[0])

        def call(stage, tasks, settings, shard):
            clock[0] += seconds
            return tasks, {}

        reported = reporting(call, percents.append)
        for stage in STAGES:
            reported(stage, TASKS, None, 0)
        return percents

    return build


def test_of_a_quick_build_nothing_is_told(told):
    assert told(0.2) == []


def test_a_long_one_is_told_of_from_two_seconds_on_and_at_its_end(told):
    assert told(0.5) == [50.0, 75.0, 100.0]
    assert told(0.3) == [87.5, 100.0]

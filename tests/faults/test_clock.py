"""A clock that jumps changes no byte of a build and stops none."""

from __future__ import annotations

import itertools
import os
import time
from datetime import UTC, datetime

import polars as pl
import pytest

from tasks import making, pipeline
from tasks.building import build
from tasks.settings import load_settings
from tests.swarms import Built, event, task, write_swarm

SECONDS = {
    "still": itertools.repeat(1.5e9),
    "to and fro": itertools.cycle([0.0, 4e9, 1.0, 3e9]),
}


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """A request, and its build while the clock went as it should."""
    folder = tmp_path_factory.mktemp("steady")
    request = write_swarm(folder, [task("T-1"), task("T-2")], events=[event("u1", "user_turn", "login")])
    return request, Built(build(request, load_settings(), folder / "out").path)


@pytest.mark.parametrize("way", SECONDS)
def test_that_jumps(steady, tmp_path, monkeypatch, way):
    request, before = steady
    started = time.perf_counter()

    def tick() -> float:
        return float(next(SECONDS[way]))

    def forward() -> float:
        """Clocks that measure spans never go back, but they leap, as after a sleep of the machine."""
        nonlocal started
        started += abs(tick())
        return started

    class Jumping(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromtimestamp(tick(), tz or UTC)

    monkeypatch.setattr(time, "time", tick)
    monkeypatch.setattr(time, "monotonic", forward)
    monkeypatch.setattr(time, "perf_counter", forward)
    monkeypatch.setattr(making, "datetime", Jumping)
    monkeypatch.setattr(pipeline, "datetime", Jumping)
    made = Built(build(request, load_settings(), tmp_path / "after").path)
    monkeypatch.undo()
    assert made.bytes() == before.bytes()
    assert made.problems() == []
    timings = pl.read_parquet(made.path / "timings.parquet")
    assert timings["seconds"].min() >= 0
    assert timings["seconds"].is_finite().all()


def test_files_from_the_future_and_the_past(steady, tmp_path):
    """Times of files count for nothing."""
    request, before = steady
    for second, path in enumerate(sorted(request.cwd.rglob("*"))):
        os.utime(path, (second * 1e8, 4e9 - second * 1e8))
    again = build(request, load_settings(), before.path.parent)
    assert (again.path, again.fresh) == (before.path, False)
    assert Built(build(request, load_settings(), tmp_path).path).bytes() == before.bytes()

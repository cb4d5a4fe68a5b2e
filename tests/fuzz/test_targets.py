"""Each loader on its samples, on what fuzzing once found, and on a few hundred changed samples."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.run import mutated
from tests.fuzz.targets import EXAMPLES, TARGETS, examples, seeds


@pytest.mark.parametrize("name", TARGETS)
def test_samples_are_loaded(name):
    for data in seeds(name).values():
        TARGETS[name].whole(data)


@pytest.mark.parametrize("name", TARGETS)
def test_changed_samples_break_no_reader(name):
    known = [data[:4_000] for data in seeds(name).values()]
    for number in range(60):
        TARGETS[name].read(mutated(random.Random(number), known))


def test_every_example_has_its_target():
    assert {path.name for path in EXAMPLES.glob("*") if path.is_dir()} <= set(TARGETS)
    for name in TARGETS:
        for data in examples(name).values():
            TARGETS[name].whole(data)

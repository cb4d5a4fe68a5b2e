"""The vendor rules are compiled once; whoever needs them waits, and a failure is no lasting one."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks import credential_scanner
from tasks.credential_scanner import compiling, scanner


@pytest.fixture
def compiles(monkeypatch):
    """The cache folders with which rules were compiled; what stands in `outcomes` comes of it, in turn."""
    made: list[object] = []
    outcomes: list[object] = []

    def compiled(cache_dir):
        made.append(cache_dir)
        time.sleep(0.05)
        outcome = outcomes[len(made) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(credential_scanner, "_begun", [])
    monkeypatch.setattr(credential_scanner, "_compiled", compiled)
    return made, outcomes


def test_all_who_need_them_share_what_was_begun(compiles, tmp_path):
    made, outcomes = compiles
    outcomes.append("rules")
    compiling(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: scanner(), range(8))) == ["rules"] * 8
    assert made == [tmp_path]


def test_what_failed_is_tried_once_more_without_the_cache_folder(compiles, tmp_path):
    made, outcomes = compiles
    outcomes += [OSError("disk"), "rules"]
    compiling(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: scanner(), range(8))) == ["rules"] * 8
    assert made == [tmp_path, None]


def test_what_fails_twice_is_told(compiles):
    _, outcomes = compiles
    outcomes += [OSError("once"), OSError("twice"), "rules"]
    with pytest.raises(OSError, match="twice"):
        scanner()
    assert scanner() == "rules"

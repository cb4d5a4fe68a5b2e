from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.sources.files import InputFile

_DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real swarms, rules and logs, kept beside the repository."""
    if not _DATA.is_dir():
        pytest.skip("the folder with real data is not beside the repository")
    return _DATA


@pytest.fixture
def json_file():
    """A file from a value."""

    def make(value, label="plans/demo/task-graph.json"):
        return InputFile.of(label, json.dumps(value).encode())

    return make


@pytest.fixture
def codes():
    """The codes of findings, in order."""

    def of(findings):
        return [row["code"] for row in findings]

    return of

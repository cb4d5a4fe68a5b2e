"""One Prefect server for all tests here, in a home of its own that goes afterwards."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.serving import QUIET, Server, clean_environment, reporting_to, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Flows that tests call, and commands that they run in its environment, report to this server."""
    home = tmp_path_factory.mktemp("prefect")
    with serving(home) as server, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            patch.delenv(name)
        for name, value in {**QUIET, "PREFECT_HOME": str(home), "PREFECT_LOGGING_LEVEL": "ERROR"}.items():
            patch.setenv(name, value)  # read where Prefect is first imported here
        with reporting_to(server):
            yield server


@pytest.fixture(scope="session")
def sample(quickstart) -> dict[str, list[str]]:
    """The parameters of a flow that builds the sample."""
    return {"graphs": [str(quickstart / "task-graph.json")], "history": [str(quickstart / "history.jsonl")]}


@dataclass(frozen=True)
class FlowBuild:
    """The sample, built by the flow: its parameters, what it returned, and its run as the server knows it."""

    given: dict
    outcome: dict
    run: dict

    @property
    def out(self) -> Path:
        return Path(self.given["out"])

    @property
    def path(self) -> Path:
        return Path(self.outcome["path"])


@pytest.fixture(scope="session")
def built(server: Server, sample, tmp_path_factory) -> FlowBuild:
    """The sample, built by the flow once for all tests."""
    from flows.build import build_contexts

    given = {**sample, "out": str(tmp_path_factory.mktemp("flow"))}
    outcome = build_contexts(**given)
    return FlowBuild(given, outcome, server.latest_run("build-contexts"))


@pytest.fixture
def damaged(built: FlowBuild, tmp_path) -> dict:
    """What the flow would return for a build that somebody changed afterwards."""
    folder = Path(shutil.copytree(built.path, tmp_path / built.path.name))
    prompt = next((folder / "prompts").rglob("*.md"))
    prompt.write_text(prompt.read_text() + "## One more section\n")
    return {**built.outcome, "path": str(folder)}


@pytest.fixture
def home(tmp_path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def alone(caches, home, tmp_path) -> dict[str, str]:
    """The environment of someone who has never used Prefect, and prebrief once."""
    known = tmp_path / "cache" / "prebrief"
    known.mkdir(parents=True)
    for path in (caches / "prebrief").iterdir():
        if path.is_file():
            shutil.copy(path, known)
    return clean_environment() | {"HOME": str(home), "XDG_CACHE_HOME": str(known.parent)}

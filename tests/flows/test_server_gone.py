"""A Prefect server that dies while a flow runs: one sentence, `latest` as it was, and the next run makes the same bytes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tasks.outputs.identity import is_complete
from tests.flows.serving import contents, serving
from tests.flows.test_launch import command, run

ROOT = Path(__file__).parents[2]

#: Where the flow stops until its server is dead: code that runs in its process first.
WAITING = """
import os, sys, time
def waits(module, name):
    import importlib
    at = importlib.import_module(module)
    real = getattr(at, name)
    def first(*given, **named):
        print("here", flush=True)
        sys.stdin.readline()
        return real(*given, **named)
    setattr(at, name, first)
import flows.launch as launch
started = launch._start_server
def start():
    started()
    waits({module!r}, {name!r})
launch._start_server = start
sys.argv[0] = "prebrief"
from flows.cli import main
main()
"""


@pytest.fixture
def doomed(server, tmp_path):
    """A server of the test's own, to be killed; it takes the other's database over, since a new one takes long to make."""
    home = tmp_path / "server"
    home.mkdir()
    with (
        closing(sqlite3.connect(server.home / "prefect.db")) as known,
        closing(sqlite3.connect(home / "prefect.db")) as own,
    ):
        known.backup(own)
    with serving(home) as mine:
        yield mine


def test_in_the_middle_of_writing(alone, built, sample, doomed, tmp_path):
    """The build is all but done, and its flow has yet to report."""
    out = tmp_path / "out"
    words = command(sample, "--out", str(out), "--flow")
    environment = alone | doomed.environment(HOME=alone["HOME"], XDG_CACHE_HOME=alone["XDG_CACHE_HOME"])
    script = [sys.executable, "-c", WAITING.format(module="tasks.making", name="keep_counts"), *words[1:]]
    with subprocess.Popen(
        script, env=environment | {"PYTHONPATH": str(ROOT), "PREFECT_CLIENT_MAX_RETRIES": "1"}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == "here\n", process.stderr.read()
        doomed.kill()
        said = process.communicate("\n", timeout=280)
    assert process.returncode == 2, said
    assert said[0] == ""
    assert said[1].startswith("error SERVER: Prefect's server stopped answering"), said
    assert "run again" in said[1]
    assert said[1].count("\n") == 1, said
    latest = out / "latest"
    assert not latest.is_symlink() or is_complete(latest.resolve())
    again = run(words[:-1], alone)
    assert (again.returncode, again.stderr) == (0, "")
    assert contents(latest.resolve()) == contents(built.path)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]

"""What is printed and cannot be: one sentence and exit code 2; a reader who goes away is no error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.swarms import build_swarm, task

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from flows.cli import main; main()")
NO_SPACE = "error SYSTEM: the system says: No space left on device; see to it and run again.\n"


@pytest.fixture(scope="module")
def show(tmp_path_factory) -> tuple[str, ...]:
    """`prebrief show` of a task."""
    made = build_swarm(tmp_path_factory.mktemp("shown"), [task("T-1")])
    return "show", "T-1", "--build", str(made.path)


def run(*arguments: str, **streams):
    given = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([*COMMAND, *arguments], check=False, text=True, env=environment, timeout=120, **given)


@pytest.fixture
def full():
    """Where nothing can be written any more."""
    with Path("/dev/full").open("w") as file:
        yield file


@pytest.fixture
def unread():
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_a_full_disk_is_one_sentence(show, full):
    for arguments in (show, ("--help",), ("show", "--help"), ("show", "none", *show[2:], "--json")):
        done = run(*arguments, stdout=full)
        assert (done.returncode, done.stderr) == (2, NO_SPACE), arguments


def test_where_not_even_the_sentence_can_be_said_the_exit_code_says_it(show, full):
    for arguments in (("show", "none", *show[2:]), ("none",)):
        done = run(*arguments, stdout=subprocess.PIPE, stderr=full)
        assert (done.returncode, done.stdout) == (2, ""), arguments


def test_a_reader_who_has_gone_hears_nothing_more(show, unread):
    done = run(*show, stdout=unread)
    assert (done.returncode, done.stderr) == (0, "")
    assert run("--help", stdout=unread).stderr == ""


def test_who_closes_stdout_gets_nothing(show):
    words = [*COMMAND, *show]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    closing = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *words]
    done = subprocess.run(closing, check=False, text=True, stderr=subprocess.PIPE, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")

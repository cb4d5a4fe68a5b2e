"""Folders for what a run needs while it lives: gone with it, and with the next run where it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks import scratch
from tasks.scratch import clear_scratch, scratch_folder

ROOT = Path(__file__).parents[2]
HOLDS = (
    "from tasks.scratch import scratch_folder; (scratch_folder('build') / 'file').touch(); print('held', flush=True)"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A temporary folder of the test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def running(place, then):
    """A process that holds a folder and does something else then."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(place)}
    with subprocess.Popen(
        [sys.executable, "-c", f"{HOLDS}\n{then}"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process


def test_a_folder_is_new_for_its_owner_alone_and_in_one_of_the_process(place):
    one, other = scratch_folder("build"), scratch_folder("plan")
    assert one != other
    assert one.name.startswith("build-")
    assert (one.stat().st_mode | one.parent.stat().st_mode) & 0o077 == 0
    assert list(place.iterdir()) == [one.parent] == [other.parent]


def test_it_goes_when_the_process_ends(place):
    with running(place, ""):
        pass
    assert list(place.iterdir()) == []


def test_of_a_process_that_was_killed_it_goes_with_the_next_run_and_never_before_that(place):
    with running(place, "input()") as process:
        (folder,) = place.iterdir()
        clear_scratch()
        assert [path.name for path in folder.rglob("*")], "a live one's folder stays"
        process.send_signal(signal.SIGKILL)
    assert folder.is_dir()
    clear_scratch()
    assert list(place.iterdir()) == []


def test_ones_own_stays(place):
    folder = scratch_folder("build")
    clear_scratch()
    assert folder.is_dir()


def test_a_fork_has_one_of_its_own_and_leaves_its_parents(place):
    fork = "import os, sys\nif not os.fork():\n    scratch_folder('build')\n    sys.exit()\nos.wait(); input()"
    with running(place, fork) as process:
        (folder,) = place.iterdir()
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert [path.name for path in folder.rglob("file")]
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["prebrief-run-", "prebrief-run-notes", "prebrief-run-ABCDEFGH", "my-prebrief-run-abcdefgh"]
)
def test_a_persons_own_folder_stays(place, name):
    (place / name).mkdir()
    clear_scratch()
    assert (place / name).is_dir()


def test_no_link_is_followed_and_no_file_removed(place, tmp_path):
    (tmp_path / "data").mkdir()
    (place / "prebrief-run-aaaaaaaa").symlink_to(tmp_path / "data")
    (place / "prebrief-run-bbbbbbbb").write_text("")
    (place / "prebrief-run-cccccccc").mkdir()
    clear_scratch()
    assert (tmp_path / "data").is_dir()
    assert sorted(path.name[-1] for path in place.iterdir()) == ["a", "b"]


def test_another_users_folder_stays(place, monkeypatch):
    (place / "prebrief-run-aaaaaaaa").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    clear_scratch()
    assert list(place.iterdir()) != []


def test_where_somebody_clears_the_temporary_folder_there_is_another(place):
    folder = scratch_folder("build").parent
    folder.rename(place.parent / "gone")
    assert scratch_folder("build").parent.parent == place


def test_one_that_was_cleared_before_it_was_locked_is_made_again(place, monkeypatch):
    real, moments = os.open, iter(["before", "after"])

    def cleared_meanwhile(path, *more):
        moment = next(moments, None)
        if moment == "before":
            Path(path).rmdir()
        handle = real(path, *more)
        if moment == "after":
            Path(path).rmdir()
        return handle

    monkeypatch.setattr(os, "open", cleared_meanwhile)
    assert scratch_folder("build").is_dir()
    assert len(list(place.iterdir())) == 1
    assert next(moments, None) is None


def test_no_temporary_folder_at_all_is_nothing_to_clear(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    clear_scratch()
    with pytest.raises(OSError):
        scratch_folder("build")


@pytest.fixture(autouse=True)
def release():
    """What this process holds in a test goes with the test."""
    before = len(scratch._held)
    yield
    for held in scratch._held[before:]:
        os.close(held.lock)
    del scratch._held[before:]

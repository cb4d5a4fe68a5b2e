"""A run that is killed, at whatever moment, leaves what was there; the next run makes the same bytes and clears up."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager, suppress

import pytest

from tasks.building import build
from tasks.outputs.identity import is_complete
from tasks.settings import load_settings
from tasks.token_cache import TokenCache
from tests.faults.commands import PATIENCE, assert_latest_is_whole, build_in_turn, dying, ended, names
from tests.swarms import Built, event, task, write_swarm

EVENTS = [event("u1", "user_turn", "login goes on"), event("r1", "tool_result", "row of a login\n" * 200)]
CHANGES = ("open", "os.", "shutil.", "tempfile.")  # what the interpreter says before the file system changes

#: Where a process kills itself, and whether only after what it calls there is done.
MOMENTS = {
    "written, not yet moved": ("tasks.outputs.writer:_publish", False),
    "linking": ("pathlib:Path.symlink_to", True),
}
OTHER_MOMENTS = {
    "the counts of tokens": ("pathlib:Path.replace", False),
    "uploading": ("tasks.outputs.remote:_upload", False),
}


def asked(folder, title="Login"):
    return write_swarm(
        folder / title, [task("T-1", title), task("T-2", "Logout")], requirements="# Login\n\nlogin\n", events=EVENTS
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Two requests, and their builds where nothing was in the way."""
    folder = tmp_path_factory.mktemp("swarms")
    requests = [asked(folder, "Login"), asked(folder, "Payment")]
    return requests, [Built(build(request, load_settings(), folder / "out").path) for request in requests]


def with_build(out, made):
    """An output folder with a build in it."""
    shutil.copytree(made.path, out / made.path.name)
    (out / "latest").symlink_to(made.path.name)
    return out


@pytest.fixture
def first_is_there(both, tmp_path):
    """An output folder with the first build in it."""
    _, (made, _) = both
    return with_build(tmp_path / "out", made)


@pytest.fixture(scope="module")
def killed(both, caches, tmp_path_factory):
    """What runs left that were killed, each on the way to the second build: a folder of its own with out, cache, tmp."""
    (_, request), (made, _) = both
    folders, running = {}, []
    for moment, (place, after) in {**MOMENTS, **OTHER_MOMENTS}.items():
        folder = folders[moment] = tmp_path_factory.mktemp("killed")
        out = with_build(folder / "out", made)
        (folder / "tmp").mkdir()
        own = {"TMPDIR": str(folder / "tmp")}
        if moment == "the counts of tokens":
            own["XDG_CACHE_HOME"] = str(folder / "cache")
            shutil.copytree(
                caches / "prebrief", folder / "cache" / "prebrief", ignore=shutil.ignore_patterns("tokens-*")
            )
        target = "memory://kill" if moment == "uploading" else out
        running.append(dying(request, target, place, after=after, **own))
    for process in running:
        assert ended(process).returncode == -signal.SIGKILL
    return folders


def assert_good_as_new(request, expected, out):
    """The next run makes the very build and leaves nothing else behind."""
    made = build(request, load_settings(), out)
    assert Built(made.path).bytes() == expected.bytes()
    assert (out / "latest").resolve() == made.path.resolve()
    assert not [name for name in names(out) if name.startswith(".")]


class TestForReal:
    @pytest.mark.parametrize("moment", MOMENTS)
    def test_at_a_step(self, both, killed, moment):
        (_, second), (before, expected) = both
        out = killed[moment] / "out"
        assert_latest_is_whole(out)
        assert (out / "latest").readlink().name == before.path.name
        assert_good_as_new(second, expected, out)

    def test_at_moments_that_nobody_chose(self, both, first_is_there):
        """A process builds both in turn, anew each time, until it is killed."""
        requests, expected = both
        process = build_in_turn(requests, first_is_there)
        until = time.monotonic() + PATIENCE
        while len(names(first_is_there)) < 3:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.1)
        process.kill()
        assert ended(process).returncode == -signal.SIGKILL
        for path in first_is_there.iterdir():  # its own damage is no build
            if not path.name.startswith(".") and not path.is_symlink() and not is_complete(path):
                shutil.rmtree(path)
        for request, made in zip(requests, expected, strict=True):
            assert_good_as_new(request, made, first_is_there)

    def test_while_the_cache_is_written(self, both, killed):
        """Of the counts of tokens one file is left beside their place, which the next run writes over."""
        (_, second), (_, expected) = both
        folder = killed["the counts of tokens"]
        known = folder / "cache" / "prebrief"
        (part,) = known.glob("tokens-*")
        assert part.suffix == ".part"
        cache = TokenCache(known, part.stem)
        cache.add("login " * 99, 99)
        cache.save()
        assert [path.name for path in known.glob("tokens-*")] == [part.stem]
        assert TokenCache(known, part.stem).get("login " * 99) == 99
        assert_good_as_new(second, expected, folder / "out")

    def test_while_a_build_is_uploaded(self, both, killed, monkeypatch):
        """What it was made in, in the temporary folder, goes with the next run, be that a local one."""
        (_, second), (_, expected) = both
        folder = killed["uploading"]
        assert [path.parent.name for path in (folder / "tmp").rglob("manifest.json")] == [expected.path.name]
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
        assert_good_as_new(second, expected, folder / "out")
        assert list((folder / "tmp").iterdir()) == []


class TestAtEveryMoment:
    """What a kill leaves is what lies there at that moment, so each state that the folder goes through is kept."""

    @pytest.mark.parametrize("start_from", ["nothing", "another build", "a damaged build"])
    def test_of_writing(self, both, first_is_there, tmp_path, start_from):
        (_, second), (_, expected) = both
        out = first_is_there
        if start_from == "nothing":
            shutil.rmtree(out)
        elif start_from == "a damaged build":
            shutil.copytree(expected.path, out / expected.path.name)
            (out / expected.path.name / "tasks.parquet").write_bytes(b"PAR1")
        states = tmp_path / "states"
        states.mkdir()
        with _watched(lambda: _keep(out, states)):
            build(second, load_settings(), out)
        kept = sorted(states.iterdir())
        assert len(kept) > 8, "a build makes more steps than that, even where one hides another behind it"
        for state in kept:
            if start_from != "a damaged build":  # which stays in its place until the new one comes
                assert_latest_is_whole(state)
        for state in sorted({*kept[::12], *kept[-4:]}):  # of filling a folder some moments, of moving and linking each
            assert_good_as_new(second, expected, state)


_watching = []


def _tell(name, _args):
    if _watching and name.startswith(CHANGES):
        _watching[-1]()


@contextmanager
def _watched(look):
    """Lets something look on just before each step in the file system. The interpreter never drops such a hook."""
    if not getattr(sys, "_prebrief_tells", False):
        sys.addaudithook(_tell)
        sys._prebrief_tells = True
    busy = False

    def once():
        nonlocal busy
        if not busy:
            busy = True
            try:
                look()
            finally:
                busy = False

    _watching.append(once)
    try:
        yield
    finally:
        _watching.clear()


def _keep(out, states):
    """A copy of the folder, where it is another than the last; files that go meanwhile are what a kill would miss."""
    if not out.is_dir():
        return
    seen = sorted((str(path.relative_to(out)), path.lstat().st_size) for path in out.rglob("*"))
    if seen == getattr(_keep, "last", None):
        return
    _keep.last = seen
    with suppress(shutil.Error):
        shutil.copytree(out, states / f"{len(list(states.iterdir())):03}", symlinks=True)

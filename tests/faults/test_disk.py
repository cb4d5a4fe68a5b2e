"""A disk that is full, a folder that may not be written, a place that is none: one sentence, and all is as it was."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from flows.cli import app
from tasks.building import build
from tasks.errors import OutputError, SettingsError
from tasks.settings import load_settings
from tasks.token_cache import TokenCache
from tests.faults.commands import assert_latest_is_whole, names, refused, run, words
from tests.swarms import Built, event, task, write_swarm

SMALL = [event("r1", "tool_result", "row of a login\n" * 200)]
LARGE = [event("r1", "tool_result", "".join(f"row {number} of a login\n" for number in range(8_000)))]
KILOBYTES = (8, 48, 120)  # where the disk is full: at the first file, the contexts, the artifacts


@pytest.fixture(scope="module")
def swarms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swarms")
    tasks = [task(f"T-{number}") for number in range(3)]
    return write_swarm(folder / "small", tasks[:1], events=SMALL), write_swarm(folder / "large", tasks, events=LARGE)


@pytest.fixture(scope="module")
def expected(swarms, tmp_path_factory):
    return Built(build(swarms[1], load_settings(), tmp_path_factory.mktemp("out")).path).bytes()


@contextmanager
def disk(place, *options: str):
    """A disk of its own at a folder; skips where the machine allows none."""
    place.mkdir(exist_ok=True)
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only the system's administrator may mount a disk")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", ",".join(options), "prebrief", place], check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip("this machine lets nobody mount a disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def largest_file(size: int):
    """No file of this process may grow beyond it: what a full disk is where none can be mounted."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestFull:
    def test_a_disk(self, swarms, expected, tmp_path):
        small, large = swarms
        for size in KILOBYTES:
            with disk(tmp_path / "disk", f"size={size}k") as out:
                with pytest.raises(OutputError, match=r"No space left on device.*free space or choose another --out"):
                    build(large, load_settings(), out)
                assert names(out) == [], size
        with disk(tmp_path / "disk", "size=200k") as out:
            first = build(small, load_settings(), out).path
            with pytest.raises(OutputError, match="No space left"):
                build(large, load_settings(), out)
            assert names(out) == sorted([first.name, "latest"])
            assert_latest_is_whole(out)
            subprocess.run(["mount", "-o", "remount,size=8m", out], check=True)
            assert Built(build(large, load_settings(), out).path).bytes() == expected

    @pytest.mark.parametrize("size", [500, 100_000])
    def test_a_limit_to_files(self, swarms, expected, tmp_path, size):
        """The same where nothing can be mounted: Polars and Python both write into the limit."""
        out = tmp_path / "out"
        with largest_file(size), pytest.raises(OutputError, match="File too large"):
            build(swarms[1], load_settings(tokens={"cache": False}), out)
        assert names(out) == []
        assert Built(build(swarms[1], load_settings(), out).path).bytes() == expected

    def test_the_cache(self, swarms, expected, tmp_path):
        """It is for speed alone."""
        with disk(tmp_path / "cache", "size=16k") as folder:
            (folder / "prebrief").mkdir()
            cache = TokenCache(folder / "prebrief", "tokens")
            for number in range(2000):
                cache.add(f"login {number} " * 20, number)
            cache.save()
            assert names(folder / "prebrief") == []
            assert TokenCache(folder / "prebrief", "tokens").get("login 7 " * 20) is None


class TestReadOnly:
    def test_a_disk(self, swarms, tmp_path):
        small, large = swarms
        with disk(tmp_path / "disk", "size=8m") as out:
            made = build(small, load_settings(), out).path
            os.mkfifo(out / ".part-dead")  # what cannot be cleared now stands in nobody's way
            before = names(out)
            subprocess.run(["mount", "-o", "remount,ro", out], check=True)
            done = run(words(large, out), large.cwd)
            assert "Read-only file system" in refused(done, "OUTPUT")
            assert build(small, load_settings(), out).path == made, "what is there already is found"
            assert names(out) == before
            assert_latest_is_whole(out)

    def test_a_folder_of_someone_else(self, swarms, tmp_path, monkeypatch):
        """Permissions bind whoever is not the administrator, so here the system's answer is put in its mouth."""
        out = tmp_path / "out"
        first = build(swarms[0], load_settings(), out).path

        def denied(*_args, **_kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tempfile.mkdtemp", denied)
        with pytest.raises(OutputError, match="Permission denied"):
            build(swarms[1], load_settings(), out)
        assert names(out) == sorted([first.name, "latest"])


class TestPlaces:
    def test_that_are_no_folder(self, swarms, tmp_path):
        (tmp_path / "file").write_text("")
        (tmp_path / "link").symlink_to("nowhere")
        os.mkfifo(tmp_path / "pipe")
        for place in ("file/below", "link", "pipe", "/proc/none"):
            with pytest.raises(OutputError, match="another --out"):
                build(swarms[0], load_settings(), tmp_path / place)
        with pytest.raises(SettingsError):
            build(swarms[0], load_settings(), tmp_path / "a\0b")

    def test_a_working_folder_that_is_gone(self, swarms, tmp_path, monkeypatch):
        folder = tmp_path / "gone"
        folder.mkdir()
        monkeypatch.chdir(folder)
        folder.rmdir()
        done = CliRunner().invoke(app, words(swarms[0], tmp_path / "out"))
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith("error SYSTEM: the system says: No such file or directory")

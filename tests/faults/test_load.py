"""Many builds in one process and many processes on one folder: nothing grows, and every build is whole.

`PREBRIEF_LOAD` builds in a row and 8 at once (`make load` takes 200), 12 and 4 without it: a warm-up, then all are held to
what that left.
"""

from __future__ import annotations

import gc
import json
import os
import tempfile
import time
from pathlib import Path

import pytest

from tasks.building import build
from tasks.outputs.identity import is_complete
from tasks.settings import load_settings
from tests.faults.commands import assert_latest_is_whole, names, start, words
from tests.swarms import Built, event, task, write_swarm

BUILDS = int(os.environ.get("PREBRIEF_LOAD", "12"))
AT_ONCE = 8 if BUILDS >= 200 else 4
WARM_UP = max(5, BUILDS // 5)
GROWTH_MB = 24  # what allocators keep for themselves; a build of this size that is held takes about as much

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system shows no open files")


def handles() -> list[str]:
    """What this process has open."""
    found = []
    for opened in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(opened.readlink()))
        except OSError:  # of the listing itself
            continue
    return sorted(found)


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def asked(folder, number):
    """Each has words of its own, so that none is found again."""
    events = [
        event("r1", "tool_result", f"row {number} of a login\n" * 500),
        *(event(f"u{row}", "user_turn", f"login {row} of {number} goes on and on " * 8) for row in range(20)),
    ]
    return write_swarm(folder / str(number), [task(f"T-{row}") for row in range(2)], events=events)


def test_builds_in_a_row(tmp_path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    out, settings = tmp_path / "out", load_settings(tokens={"cache": False})
    ids = set()
    for number in range(BUILDS):
        made = build(asked(tmp_path, number), settings, out)
        ids.add(made.path.name)
        assert is_complete(made.path)
        if number == WARM_UP:
            open_files, memory, running = handles(), resident_mb(), threads()
    assert handles() == open_files
    for _ in range(50):  # one that has ended may be listed for a moment
        if threads() <= running:
            break
        time.sleep(0.1)
    assert threads() <= running
    assert resident_mb() - memory < GROWTH_MB
    assert list(temporary.iterdir()) == []
    assert len(ids) == BUILDS
    assert names(out) == sorted([*ids, "latest"])
    assert (out / "latest").resolve() == made.path.resolve()


def test_the_same_build_again_and_again(tmp_path):
    out, request = tmp_path / "out", asked(tmp_path, 0)
    first = build(request, load_settings(), out)
    open_files = handles()
    for _ in range(BUILDS):
        assert not build(request, load_settings(), out).fresh
    assert handles() == open_files
    assert names(out) == sorted([first.path.name, "latest"])


def test_processes_on_one_folder(tmp_path):
    """Two of each build."""
    out, cache, temporary = (tmp_path / name for name in ("out", "cache", "tmp"))
    temporary.mkdir()
    requests = [asked(tmp_path, number // 2) for number in range(AT_ONCE)]
    expected = {
        made.path.name: Built(made.path).bytes()
        for made in (build(request, load_settings(), tmp_path / "alone") for request in requests[::2])
    }
    before = f"import os; os.environ.update(TMPDIR={str(temporary)!r}, XDG_CACHE_HOME={str(cache)!r})"
    cached = os.environ.get("XDG_CACHE_HOME")
    if cached:
        before += f"; import shutil; shutil.copytree({cached!r} + '/prebrief', {str(cache)!r} + '/prebrief', dirs_exist_ok=True)"
    running = [start([*words(request, out), "--json"], request.cwd, before=before) for request in requests]
    for process in running:
        said, complaint = process.communicate(timeout=300)
        assert (process.returncode, complaint) == (0, "")
        assert json.loads(said)["build_id"] in expected
    assert names(out) == sorted([*expected, "latest"])
    assert_latest_is_whole(out)
    for name, files in expected.items():
        assert Built(out / name).bytes() == files
    assert list(temporary.iterdir()) == []
    assert not list(cache.rglob("*.part"))

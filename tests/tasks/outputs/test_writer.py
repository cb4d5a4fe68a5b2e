"""A build is written beside its place and moved there whole."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

from tasks import pipeline
from tasks.building import build
from tasks.errors import OutputError
from tasks.outputs import writer
from tasks.settings import load_settings
from tests.swarms import Built, event, task, write_swarm

EVENTS = [event("r1", "tool_result", "row\n" * 200), event("r2", "tool_result", "row\n" * 200)]


@pytest.fixture
def request_of(tmp_path):
    def make(title="Login"):
        return write_swarm(tmp_path / "in", [task("T-1", title), task("odd id/..", title)], events=EVENTS)

    return make


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out"


def run(request, out) -> Built:
    return Built(build(request, load_settings(), out).path, tuple(request.cwd / log for log in request.history))


def listing(out: Path) -> list[str]:
    return sorted(path.name for path in out.iterdir())


def test_an_output_folder_holds_builds_and_latest(request_of, out):
    first = run(request_of(), out)
    second = run(request_of("Logout"), out)
    assert listing(out) == sorted([first.path.name, second.path.name, "latest"])
    assert (out / "latest").readlink().name == second.path.name
    run(request_of(), out)
    assert (out / "latest").readlink().name == first.path.name, "also when the build was there already"


def test_artifacts_are_for_their_owner_alone_and_stored_once(request_of, out):
    root = run(request_of(), out).path
    assert stat.S_IMODE((root / "artifacts").stat().st_mode) == 0o700
    files = list((root / "artifacts").iterdir())
    assert len(files) == 1, "two results with the same bytes"
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(root.stat().st_mode) == 0o755


def test_odd_ids_stay_inside(request_of, out):
    build = run(request_of(), out)
    names = sorted(path.relative_to(build.path).as_posix() for path in (build.path / "prompts").rglob("*.md"))
    assert names[0].startswith("prompts/demo/T-1.md")
    assert names[1].startswith("prompts/demo/odd%20id%2F%2E%2E~")
    assert build.problems() == []


class TestRunsThatDie:
    def test_leave_latest_and_no_remains(self, request_of, out, monkeypatch):
        first = run(request_of(), out)

        def full(*_args, **_kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(writer._Files, "write", full)
        with pytest.raises(OutputError, match=r"No space left on device.*another --out"):
            run(request_of("Logout"), out)
        assert listing(out) == sorted([first.path.name, "latest"])
        assert (out / "latest").readlink().name == first.path.name

    @pytest.mark.parametrize("again", [True, False], ids=["same inputs", "other inputs"])
    def test_are_cleared_after_by_the_next(self, request_of, out, again):
        first = run(request_of(), out)
        dead = out / ".part-dead"
        (dead / "prompts").mkdir(parents=True)
        (dead / "prompts" / "x.md").write_text("half")
        (out / ".part-7-latest").symlink_to("nowhere")
        run(request_of() if again else request_of("Logout"), out)
        assert not [name for name in listing(out) if name.startswith(".part")]
        assert first.path.is_dir()

    def test_but_not_those_that_still_run(self, request_of, out):
        out.mkdir()
        alive = out / ".part-alive"
        alive.mkdir()
        lock = os.open(alive, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run(request_of(), out)
            assert alive.is_dir()
        finally:
            os.close(lock)


class TestWritingWhileTheStagesRun:
    """Shards are written as they are done; the bytes are those of a build that is written at the end."""

    def test_gives_the_same_bytes_whatever_the_shards(self, request_of, out, tmp_path):
        whole = build(request_of(), load_settings(), out)
        parts = build(request_of(), load_settings(run={"shard_pairs": 1}), tmp_path / "parts")
        assert Built(parts.path).bytes() == Built(whole.path).bytes()

    def test_a_task_that_breaks_a_late_stage_is_written_from_its_fallback(self, request_of, out, monkeypatch):
        broken = pipeline.STAGES[-1]

        def once(batch, settings):
            alone = batch.tasks["task_id"].to_list() == ["T-1"]
            fallen_back = alone and set(batch.candidates["similarity"]) == {0.0}
            if "T-1" in batch.tasks["task_id"] and not fallen_back:
                raise ValueError("no")
            return broken(batch, settings)

        once.__name__ = broken.__name__
        monkeypatch.setattr(pipeline, "STAGES", (*pipeline.STAGES[:-1], once))
        built = run(request_of(), out)
        assert built.status("T-1") == "fallback"
        assert built.status("odd id/..") == "ok"
        assert built.problems() == []

    def test_an_error_of_the_background_is_the_builds_error(self, request_of, out, monkeypatch):
        def refused(*_args, **_kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(writer.BuildWriter, "_write_tasks", refused)
        with pytest.raises(OutputError, match="Permission denied"):
            run(request_of(), out)
        assert listing(out) == []


class TestReuse:
    def test_a_damaged_build_is_made_anew(self, request_of, out):
        first = run(request_of(), out)
        before = first.bytes()
        prompt = next((first.path / "prompts").rglob("*.md"))
        prompt.write_text("damaged")
        again = build(request_of(), load_settings(), out)
        assert again.fresh
        assert Built(again.path).bytes() == before
        assert listing(out) == sorted([first.path.name, "latest"])

    def test_a_file_in_a_builds_place_gives_way(self, request_of, out):
        first = run(request_of(), out)
        name = first.path.name
        first.path.rename(out / "aside")
        (out / name).write_text("")
        assert (run(request_of(), out).path / "manifest.json").is_file()

    def test_a_link_in_a_builds_place_gives_way_and_leads_nowhere(self, request_of, out, tmp_path):
        first = run(request_of(), out)
        outside = tmp_path / "outside"
        outside.mkdir()
        first.path.rename(out / "aside")
        (out / first.path.name).symlink_to(outside)
        built = run(request_of(), out).path
        assert not built.is_symlink()
        assert list(outside.iterdir()) == []


class TestRefusals:
    def test_latest_that_is_no_link(self, request_of, out):
        (out / "latest").mkdir(parents=True)
        with pytest.raises(OutputError, match="move it away"):
            run(request_of(), out)

    def test_out_that_is_a_file(self, request_of, out):
        out.write_text("")
        with pytest.raises(OutputError, match="another --out"):
            run(request_of(), out)


def test_the_manifest_is_written_last(request_of, out, monkeypatch):
    written: list[str] = []
    real = Path.write_text

    def spy(path, *args, **kwargs):
        if path.name == "manifest.json":
            written.extend(file.name for file in path.parent.rglob("*") if file.is_file())
        return real(path, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", spy)
    root = run(request_of(), out).path
    monkeypatch.undo()
    assert sorted(written) == sorted(
        path.name for path in root.rglob("*") if path.is_file() and path.name != "manifest.json"
    )
    listed = [row["path"] for row in json.loads((root / "manifest.json").read_text())["outputs"]]
    assert listed == sorted(listed)


@pytest.mark.parametrize("name", [b"caf\xe9", "naïve 数".encode(), b"a\nb"])
def test_folders_of_any_name_can_be_built_from(tmp_path, name):
    folder = tmp_path / os.fsdecode(name)
    build = run(write_swarm(folder, [task("T-1")], requirements="# Login\n\nlogin\n"), tmp_path / "out")
    assert build.status("T-1") == "ok"
    assert build.problems() == []

"""A file of a build that was cut short or changed: the audit says so, readers refuse it, the next build replaces it."""

from __future__ import annotations

import json
import os
import shutil

import polars as pl
import pytest

from tasks.audit import audit
from tasks.building import build
from tasks.errors import BuildMissingError
from tasks.outputs.identity import is_complete
from tasks.outputs.reader import BuildFolder, find_build
from tasks.settings import load_settings
from tests.faults.commands import names, refused, run
from tests.swarms import Built, event, task, write_swarm

FRAMES = ("tasks", "items", "stages", "findings", "artifacts")


@pytest.fixture(scope="module")
def request_(tmp_path_factory):
    events = [event("r1", "tool_result", "row of a login\n" * 200)]
    return write_swarm(tmp_path_factory.mktemp("swarm"), [task("T-1"), task("T-2")], events=events)


@pytest.fixture(scope="module")
def made(request_, tmp_path_factory):
    """The build, as nobody has touched it."""
    return Built(build(request_, load_settings(), tmp_path_factory.mktemp("made")).path)


@pytest.fixture
def whole(made, tmp_path):
    """A copy of it, the newest of its output folder, to be damaged."""
    copy = shutil.copytree(made.path, tmp_path / "out" / made.path.name)
    (copy.parent / "latest").symlink_to(copy.name)
    return Built(copy)


def assert_replaced(request, made, out):
    """The next build takes the damaged one's place, and nothing else is left."""
    again = build(request, load_settings(), out)
    assert again.fresh
    assert Built(again.path).bytes() == made.bytes()
    assert names(out) == sorted([made.path.name, "latest"])


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


def damages(data: bytes) -> dict[str, bytes]:
    """A file cut at several places, and with a bit flipped at several."""
    cut = {f"cut to {size}": data[:size] for size in sorted({len(data) // 2, len(data) - 1})}
    places = sorted({2, len(data) // 2})
    return cut | {f"flipped at {place}": flipped(data, place) for place in places}


def files(built: Built) -> list[str]:
    """One file of each kind that the manifest lists."""
    return [*(f"{name}.parquet" for name in FRAMES), *(
        str(next((built.path / folder).rglob("*.*" if folder != "artifacts" else "*")).relative_to(built.path))
        for folder in ("contexts", "prompts", "artifacts")
    )]  # fmt: skip


def accused(built: Built, name: str) -> bool:
    """Whether the audit blames a file by name."""
    return any(name in (violation.where, violation.message.partition(" ")[0]) for violation in audit(built.path))


def test_every_file_that_is_listed(whole, made, request_):
    """No flipped byte ends a reader's process or goes unseen, and the audit names the file."""
    for name in files(whole):
        path = whole.path / name
        data = path.read_bytes()
        for what, damaged in damages(data).items():
            path.write_bytes(damaged)
            assert not is_complete(whole.path), (name, what)
            if name.removesuffix(".parquet") in FRAMES:
                with pytest.raises(BuildMissingError, match="cannot be read; run: prebrief audit"):
                    getattr(BuildFolder(whole.path), name.removesuffix(".parquet"))
                assert accused(whole, name), (name, what)
        assert accused(whole, name)
        path.write_bytes(data)
    assert audit(whole.path) == []


@pytest.mark.parametrize("pattern", ["tasks.parquet", "contexts/*/*", "artifacts/*"])
def test_the_next_build_takes_its_place(whole, made, request_, pattern):
    path = next(whole.path.glob(pattern))
    path.write_bytes(path.read_bytes()[:-1])
    assert_replaced(request_, made, whole.path.parent)


def test_the_manifest(whole, made, request_):
    for content in (b"", b"{", b"[]", b"null", b'{"outputs": [{"path": 1}]}', b"[" * 100_000, b"\xff\xfe"):
        (whole.path / "manifest.json").write_bytes(content)
        assert not is_complete(whole.path), content[:30]
        assert audit(whole.path) != [], content[:30]
    assert_replaced(request_, made, whole.path.parent)


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "missing"])
def test_something_else_in_a_files_place(whole, made, request_, kind):
    for name in ("manifest.json", "tasks.parquet"):
        path = whole.path / name
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to("/dev/zero")
        assert not is_complete(whole.path)
        with pytest.raises(BuildMissingError):
            _ = BuildFolder(find_build(whole.path.parent)).tasks
    assert_replaced(request_, made, whole.path.parent)


def test_what_no_manifest_lists(whole, made, request_):
    (whole.path / "prompts" / "extra.md").write_text("forged")
    assert not is_complete(whole.path)
    assert audit(whole.path) != []
    assert_replaced(request_, made, whole.path.parent)
    assert audit(whole.path) == []


def test_timings_are_nobodys_truth(whole, request_, tmp_path):
    """They are the one file outside of a build's identity, so damage to them costs no build."""
    (whole.path / "timings.parquet").write_bytes(b"PAR1")
    assert not build(request_, load_settings(), tmp_path / "out").fresh


def test_the_command_says_what_to_do(whole, tmp_path):
    path = whole.path / "tasks.parquet"
    path.write_bytes(path.read_bytes()[:-5])
    assert "run: prebrief audit" in refused(
        run(["why", "T-1", "--build", str(tmp_path / "out")], tmp_path), "BUILD_MISSING"
    )
    told = run(["audit", str(tmp_path / "out"), "--json"], tmp_path)
    assert (told.returncode, told.stderr) == (1, "")
    assert any("tasks.parquet" in violation["message"] for violation in json.loads(told.stdout)["violations"])


def test_a_lost_latest(whole, request_, tmp_path):
    """Of what `latest` may become, each is mended or said."""
    out = tmp_path / "out"
    (out / "latest").unlink()
    (out / "latest").symlink_to("nowhere")
    with pytest.raises(BuildMissingError, match="holds no complete build; run: prebrief build"):
        find_build(out)
    assert not build(request_, load_settings(), out).fresh
    assert find_build(out) == whole.path
    shutil.rmtree(whole.path)
    assert Built(build(request_, load_settings(), out).path).bytes().keys()
    assert pl.read_parquet(out / "latest" / "tasks.parquet").height == 2

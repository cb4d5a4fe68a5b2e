"""A build at a URL has the bytes of a local one, is whole or not there, and is read like any other."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import traceback
import uuid
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest
from typer.testing import CliRunner

from flows.cli import app
from tasks.audit import audit
from tasks.builder import ContextBuilder
from tasks.building import build
from tasks.errors import BuildMissingError, OutputError, SettingsError
from tasks.outputs.places import as_place
from tasks.outputs.reader import find_build
from tasks.outputs.remote import existing_build, fetch_build, point_latest, published
from tasks.settings import load_settings
from tests.buckets import buckets_in_environment
from tests.swarms import Built, build_swarm, event, task, write_swarm

pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")

TASKS = [task("T-1", "Login page"), task("T-2", "Logout page", dependencies=["T-1"]), task("odd id/..", "Sign up")]
EVENTS = [event("u1", "user_turn", "The login page comes first."), event("r1", "tool_result", "row\n" * 200)]


@pytest.fixture(scope="module")
def s3():
    with buckets_in_environment() as buckets:
        yield buckets


@pytest.fixture(scope="module")
def request_(tmp_path_factory):
    return write_swarm(tmp_path_factory.mktemp("in"), TASKS, events=EVENTS)


@pytest.fixture(scope="module")
def local(request_, tmp_path_factory) -> Built:
    return Built(build(request_, load_settings(), tmp_path_factory.mktemp("out")).path)


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> Built:
    """A build of another id."""
    return build_swarm(tmp_path_factory.mktemp("other"), TASKS[:1], events=EVENTS)


@pytest.fixture
def prefix() -> str:
    """A place in the bucket for one test alone."""
    return uuid.uuid4().hex


@pytest.fixture
def url(s3, prefix) -> str:
    return f"s3://{s3.bucket}/{prefix}"


@pytest.fixture
def placed(s3, prefix, local) -> str:
    """A whole build, put there past the code under test; its prefix."""
    for path in local.path.rglob("*"):
        if path.is_file():
            s3.put(f"{prefix}/{local.path.name}/{path.relative_to(local.path).as_posix()}", path.read_bytes())
    s3.put(f"{prefix}/latest", local.path.name.encode())
    return f"{prefix}/{local.path.name}"


def bring(built: Built, url: str) -> bool:
    """What a build does with a URL, its stages left out; whether the files had to be brought there."""
    if existing_build(url, built.path.name):
        point_latest(url, built.path.name)
        return False
    with published(url, built.path.name) as folder:
        shutil.copytree(built.path, folder / built.path.name)
    return True


def identity(objects: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in objects.items() if name != "timings.parquet"}


class Watched(s3fs.S3FileSystem):
    """S3 over real HTTP, which notes what is written and breaks down after a number of objects."""

    protocol = ("watched",)
    written: ClassVar[list[str]] = []
    breaks_after: ClassVar[float] = float("inf")

    def _note(self, path):
        if len(Watched.written) >= Watched.breaks_after:
            raise ConnectionResetError("the line was cut")
        Watched.written.append(path.partition("/")[2])

    async def _put_file(self, lpath, rpath, **more):
        self._note(rpath)
        return await super()._put_file(lpath, rpath, **more)

    async def _pipe_file(self, path, data, **more):
        self._note(path)
        return await super()._pipe_file(path, data, **more)


@pytest.fixture
def watched(url, monkeypatch):
    """The same place through a file system that is watched."""
    fsspec.register_implementation("watched", Watched, clobber=True)
    monkeypatch.setattr(Watched, "written", [])
    return url.replace("s3://", "watched://")


# ---- writing ----------------------------------------------------------------------------------------------------


def test_a_build_at_a_url_has_the_bytes_of_a_local_one(s3, prefix, url, request_, local):
    built = build(request_, load_settings(), url)
    assert (built.fresh, built.url, built.path.name) == (True, f"{url}/{local.path.name}", local.path.name)
    assert identity(s3.objects(f"{prefix}/{local.path.name}")) == local.bytes() == Built(built.path).bytes()
    assert any(name.startswith("artifacts/") for name in s3.objects(f"{prefix}/{local.path.name}"))
    again = build(request_, load_settings(), url)
    assert (again.fresh, again.url) == (False, built.url)
    assert Built(again.path).bytes() == local.bytes()


def test_latest_holds_the_id_of_the_newest_build_and_nothing_else_lies_beside(s3, prefix, url, local, other):
    for built in (local, other):
        assert bring(built, url)
        assert s3.get(f"{prefix}/latest") == built.path.name.encode()
    assert not bring(local, url)
    assert s3.get(f"{prefix}/latest") == local.path.name.encode(), "also when the build was there already"
    below = {name.partition("/")[0] for name in s3.objects(prefix)}
    assert below == {"latest", local.path.name, other.path.name}


def test_the_manifest_comes_last_and_then_latest(watched, prefix, local):
    bring(local, watched)
    own = f"{prefix}/{local.path.name}"
    assert Watched.written[-2:] == [f"{own}/manifest.json", f"{prefix}/latest"]
    files = {path.relative_to(local.path).as_posix() for path in local.path.rglob("*") if path.is_file()}
    assert sorted(Watched.written[:-2]) == sorted(f"{own}/{name}" for name in files - {"manifest.json"})


@pytest.mark.parametrize("after", [0, 5, "manifest", "latest"])
def test_an_upload_that_dies_midway_is_no_build_and_the_next_run_completes_it(
    s3, prefix, url, watched, other, local, monkeypatch, after
):
    bring(other, url)
    files = sum(path.is_file() for path in local.path.rglob("*"))
    monkeypatch.setattr(Watched, "breaks_after", {"manifest": files - 1, "latest": files}.get(after, after))
    with pytest.raises(
        OutputError, match=r"cannot be written to watched://.* \(ConnectionResetError: the line was cut"
    ):
        bring(local, watched)
    own = f"{prefix}/{local.path.name}"
    assert ("manifest.json" in s3.objects(own)) is (after == "latest")
    assert find_build(url).name == other.path.name
    if after != "latest":
        with pytest.raises(BuildMissingError):
            find_build(f"{url}/{local.path.name}")
    assert bring(local, url) is (after != "latest")
    assert identity(s3.objects(own)) == local.bytes()
    assert s3.get(f"{prefix}/latest") == local.path.name.encode()


def test_a_second_run_finds_the_build_and_writes_nothing(watched, local):
    bring(local, watched)
    Watched.written.clear()
    assert not bring(local, watched)
    assert Watched.written == []


DAMAGES = {
    "a changed object": lambda s3, own: s3.put(f"{own}/tasks.parquet", b"other"),
    "an empty object": lambda s3, own: s3.put(f"{own}/items.parquet", b""),
    "a missing object": lambda s3, own: s3.delete(f"{own}/stages.parquet"),
    "one object more": lambda s3, own: s3.put(f"{own}/prompts/demo/more.md", b"more"),
    "a name that leads outside": lambda s3, own: s3.put(f"{own}/../outside", b"more"),
    "a damaged manifest": lambda s3, own: s3.put(f"{own}/manifest.json", b"{"),
    "a manifest of another kind": lambda s3, own: s3.put(f"{own}/manifest.json", b'{"outputs": [{"path": ["x"]}]}'),
    "no manifest": lambda s3, own: s3.delete(f"{own}/manifest.json"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_is_missing_for_a_reader_and_is_built_again(
    s3, placed, url, local, damage, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    damage(s3, placed)
    with pytest.raises(BuildMissingError, match=rf"{url}.*; run"):
        find_build(url)
    assert list(tmp_path.glob("*/*")) == [], "of what was fetched nothing is kept"
    assert bring(local, url)
    assert identity(s3.objects(placed)) == local.bytes()
    assert not bring(local, url)


def test_a_manifest_that_promises_something_else_goes_first(s3, placed, watched, local, monkeypatch):
    s3.put(f"{placed}/manifest.json", b"{}")
    monkeypatch.setattr(Watched, "breaks_after", 0)
    with pytest.raises(OutputError):
        bring(local, watched)
    assert "manifest.json" not in s3.objects(placed)


def test_timings_are_no_part_of_what_must_be_there(s3, placed, url, local):
    s3.delete(f"{placed}/timings.parquet")
    assert not bring(local, url)


def test_a_latest_of_somebody_elses_is_left_alone(s3, prefix, url, local):
    s3.put(f"{prefix}/latest", b"my own words")
    with pytest.raises(OutputError, match=rf"{url}/latest is no object that prebrief made; move it away"):
        bring(local, url)
    assert s3.get(f"{prefix}/latest") == b"my own words"


def test_a_whole_bucket_and_slashes_at_the_end_are_fine(s3, request_, local):
    built = build(request_, load_settings(), f"s3://{s3.bucket}//")
    assert built.url == f"s3://{s3.bucket}/{local.path.name}"
    assert s3.get("latest") == local.path.name.encode()
    assert find_build(f"s3://{s3.bucket}/").name == local.path.name


def test_any_file_system_of_fsspec_will_do(local):
    url = f"memory://{uuid.uuid4().hex}/builds"
    assert bring(local, url)
    assert not bring(local, url)
    assert Built(find_build(url)).bytes() == local.bytes()


def test_a_builder_takes_a_url(placed, url, request_, local):
    built = asyncio.run(ContextBuilder(out=url).build(request_))
    assert (built.fresh, built.url) == (False, f"{url}/{local.path.name}")
    assert Built(built.path).bytes() == local.bytes()


# ---- reading ----------------------------------------------------------------------------------------------------


def test_a_build_is_found_by_its_url_by_the_one_above_and_by_latest(placed, url, local):
    found = {find_build(place) for place in (url, f"{url}/", f"{url}/latest", f"{url}/{local.path.name}")}
    assert len(found) == 1, "fetched once"
    (copy,) = found
    assert Built(copy).bytes() == local.bytes()
    assert audit(copy) == []


def test_a_copy_is_for_its_owner_alone_and_fetched_anew_where_it_is_gone(placed, url, local):
    copy = find_build(url)
    assert copy.parent.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(copy.parent)
    assert Built(find_build(url)).bytes() == local.bytes()


def test_a_build_under_another_name_is_found_but_is_not_sound(local):
    url = f"memory://{uuid.uuid4().hex}"
    files, root = fsspec.core.url_to_fs(url)
    files.put(f"{local.path}/", f"{root}/", recursive=True)
    copy = find_build(url)
    assert Built(copy).bytes() == local.bytes()
    assert {violation.check for violation in audit(copy)} >= {"manifest"}


def test_a_newer_build_is_found_by_the_same_process(url, local, other):
    for built in (local, other, local):
        bring(built, url)
        assert Built(find_build(url)).bytes() == built.bytes()


@pytest.mark.parametrize("path", ["../outside", "/outside", "prompts/../../outside", "prompts//x", "manifest.json"])
def test_no_path_of_a_manifest_leads_outside(s3, placed, url, tmp_path, monkeypatch, path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    manifest = json.loads(s3.get(f"{placed}/manifest.json"))
    manifest["outputs"].append({"path": path, "sha256": "0" * 64, "bytes": 1})
    s3.put(f"{placed}/manifest.json", json.dumps(manifest).encode())
    s3.put(f"{placed}/{path}", b"x")
    with pytest.raises(BuildMissingError, match="not whole"):
        find_build(url)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


def test_where_there_is_no_build_the_sentence_ends_in_the_command_to_run(s3, prefix, url):
    for content in (None, b"../../etc", b"0123456789abcdef"):
        if content is not None:
            s3.put(f"{prefix}/latest", content)
        with pytest.raises(BuildMissingError) as error:
            find_build(url)
        assert str(error.value) == f"{url} holds no complete build; run: prebrief build GRAPH --out {url}"


# ---- what cannot be reached -------------------------------------------------------------------------------------


def both(url, request) -> list[str]:
    """The sentences of a build and of a reader that are refused, none of which holds a key."""
    said = []
    for refused, error in (
        (lambda: build(request, load_settings(), url), OutputError),
        (lambda: find_build(url), BuildMissingError),
    ):
        with pytest.raises(error) as caught:
            refused()
        assert os.environ["AWS_SECRET_ACCESS_KEY"] not in "".join(traceback.format_exception(caught.value))
        assert "\n" not in str(caught.value)
        said.append(str(caught.value))
    return said


def test_a_bucket_that_does_not_exist_is_one_sentence_and_is_not_made(s3, request_, monkeypatch):
    monkeypatch.setattr("tasks.making.load_batch", None)  # known before the work
    for said in both("s3://nobodys-bucket/builds", request_):
        assert "s3://nobodys-bucket/builds (FileNotFoundError: The specified bucket does not exist)" in said
    assert [bucket["Name"] for bucket in s3.client.list_buckets()["Buckets"]] == [s3.bucket]


def test_a_server_that_is_not_there_is_one_sentence(s3, url, request_, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    s3fs.S3FileSystem.clear_instance_cache()
    for said in both(url, request_):
        assert f"{url} (EndpointConnectionError: Could not connect" in said
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    "place", ["s3://me:{}@bucket/x", "nowhere://me:{}@host/x", "nowhere://host/x?key={}", "s3:/me:{}@bucket/x"]
)
def test_no_message_names_who_logs_in(s3, request_, place):
    word = "hunter" + "2"
    for refused in (lambda url: build(request_, load_settings(), url), find_build):
        with pytest.raises((OutputError, BuildMissingError, SettingsError)) as caught:
            refused(place.format(word))
        assert word not in "".join(traceback.format_exception(caught.value))


def test_without_s3fs_the_sentence_says_what_to_install(url, request_, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    for said in both(url, request_):
        assert "install prebrief[s3]" in said


def test_a_url_that_lost_a_slash_is_refused_and_makes_no_folder(request_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in ("s3:/bucket/builds", Path("s3://bucket/builds")):
        with pytest.raises(SettingsError, match="write s3://"):
            build(request_, load_settings(), place)
        with pytest.raises(SettingsError, match="write s3://"):
            ContextBuilder(out=place)
        with pytest.raises(SettingsError, match="write s3://"):
            find_build(place)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_url_is_a_path(tmp_path):
    assert as_place(f"file://{tmp_path}/a b") == tmp_path / "a b"
    assert [as_place(text) for text in ("", "builds", "a/b:c", "C:/x", "/x://y")] == [
        Path(text) for text in (".", "builds", "a/b:c", "C:/x", "/x://y")
    ]
    assert as_place("s3://bucket/a b//") == "s3://bucket/a b"
    assert as_place("simplecache::s3://bucket") == "simplecache::s3://bucket"


# ---- the command ------------------------------------------------------------------------------------------------


def prebrief(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def built(s3, quickstart) -> tuple[str, str]:
    """The sample, built by the command: its URL, and what it printed."""
    url = f"s3://{s3.bucket}/{uuid.uuid4().hex}"
    done = prebrief("build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", url)
    assert done.exit_code == 0, done.output
    return url, done.stdout


def test_build_prints_where_the_build_lies(built, quickstart):
    url, said = built
    assert said.splitlines()[-1].startswith(f"{url}/")
    words = ["build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", url]
    again = json.loads(prebrief(*words, "--json").stdout)
    assert (again["fresh"], again["path"]) == (False, said.splitlines()[-1])


def test_commands_read_a_build_at_a_url_as_they_read_a_folder(built, quickstart, tmp_path):
    url, _ = built
    out = tmp_path / "out"
    prebrief("build", quickstart / "task-graph.json", "--history", quickstart / "history.jsonl", "--out", out)
    for words in (
        ("show", "TASK-005", "--build"),
        ("show", "TASK-005", "--json", "--build"),
        ("why", "TASK-005", "--json", "--build"),
        ("why", "TASK-005", "tr21", "--build"),
        ("audit",),
        ("audit", "--json"),
        ("forecast", "--json"),
        ("export", "--format", "jsonl", "--build"),
    ):
        there, here = prebrief(*words, url), prebrief(*words, out)
        assert (there.exit_code, there.stdout, there.stderr) == (here.exit_code, here.stdout, here.stderr)
        assert there.stdout


def test_a_hook_reads_a_build_at_a_url(built, monkeypatch):
    monkeypatch.setenv("PREBRIEF_TASK", "TASK-005")
    done = prebrief("export", "--format", "claude", "--part", "1", "--build", built[0])
    assert json.loads(done.stdout)["hookSpecificOutput"]["hookEventName"] == "SessionStart"


def test_what_is_refused_is_one_sentence_and_exit_code_2(s3, quickstart):
    url = "s3://nobodys-bucket/builds"
    for words in (
        ("build", quickstart / "task-graph.json", "--out", url),
        ("show", "T", "--build", url),
        ("audit", url),
    ):
        done = prebrief(*words)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(("error OUTPUT: ", "error BUILD_MISSING: "))


def process(*words, **environment):
    return subprocess.run(
        [sys.executable, *words], env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_copies_go_when_the_process_ends(built, tmp_path):
    done = process("-m", "flows.cli", "audit", built[0], TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr, list(tmp_path.iterdir())) == (0, "", [])


def test_without_a_url_nothing_of_this_is_loaded(local, request_, tmp_path):
    code = (
        "import sys; from typer.testing import CliRunner; from flows.cli import app\n"
        "done = CliRunner().invoke(app, sys.argv[1:])\n"
        "assert done.exit_code == 0, done.output\n"
        "print([name for name in ('fsspec', 's3fs', 'tasks.outputs.remote') if name in sys.modules])"
    )
    graph = request_.cwd / request_.graphs[0]
    for words in (["show", "T-1", "--build", str(local.path)], ["build", str(graph), "--out", str(tmp_path)]):
        done = process("-c", code, *words)
        assert (done.stdout, done.stderr) == ("[]\n", "")
    assert fetch_build.__module__ in sys.modules

"""Every store does what the conformance kit asks; the kit itself notices stores that do not."""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
import uuid

import fsspec
import pytest

from tasks.errors import ArtifactDamagedError, StoreError
from tasks.stores import FolderStore, FsspecStore, MemoryStore, open_store
from tasks.stores.conformance import CHECKS, check_async_store, check_store

REGION = "eu-central-1"


@pytest.fixture(scope="module")
def s3_server():
    """A real S3-compatible server on loopback, with keys that only it knows."""
    moto_server = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def s3(s3_server):
    """Options of a file system on that server, which has one bucket."""
    options = {
        "key": "loopback",
        "secret": uuid.uuid4().hex,
        "endpoint_url": s3_server,
        "client_kwargs": {"region_name": REGION},
        "skip_instance_cache": True,
    }
    fsspec.filesystem("s3", **options).mkdir("prebrief")
    return options


class ThreadedStore:
    """An async store that is a memory store behind real suspension points."""

    def __init__(self):
        self._store = MemoryStore()

    async def _run(self, operation, *arguments):
        await asyncio.sleep(0)
        return await asyncio.to_thread(operation, *arguments)

    async def put(self, handle, data):
        return await self._run(self._store.put, handle, data)

    async def get(self, handle):
        return await self._run(self._store.get, handle)

    async def exists(self, handle):
        return await self._run(self._store.exists, handle)

    async def list(self, prefix=""):
        return await self._run(self._store.list, prefix)

    async def delete(self, handle):
        await self._run(self._store.delete, handle)


checks = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@checks
def test_a_memory_store_conforms(check):
    check(MemoryStore())


@checks
def test_a_folder_store_conforms(check, tmp_path):
    check(FolderStore(tmp_path / "store"))


@checks
def test_an_fsspec_store_conforms_in_memory(check):
    check(FsspecStore(f"memory://{uuid.uuid4().hex}"))


@checks
def test_an_fsspec_store_conforms_on_files(check, tmp_path):
    check(FsspecStore(f"file://{tmp_path}/store"))


@checks
def test_an_fsspec_store_conforms_on_s3(check, s3):
    check(FsspecStore(f"s3://prebrief/{uuid.uuid4().hex}", **s3))


def test_an_async_store_conforms_through_its_loop():
    check_async_store(ThreadedStore)


class Overwriting(MemoryStore):
    def put(self, handle, data):
        self._held.pop(handle, None)
        return super().put(handle, data)


class Unordered(MemoryStore):
    def list(self, prefix=""):
        return super().list(prefix)[::-1]


class Forgiving(MemoryStore):
    def delete(self, handle):
        if self.exists(handle):
            super().delete(handle)


class Namesakes(MemoryStore):
    def put(self, handle, data):
        return super().put(handle.lower(), data)

    def get(self, handle):
        return super().get(handle.lower())


class Arrays(MemoryStore):
    def get(self, handle):
        return bytearray(super().get(handle))


class Counting(MemoryStore):
    def exists(self, handle):
        return int(super().exists(handle))


@pytest.mark.parametrize("broken", [Overwriting, Unordered, Forgiving, Namesakes, Arrays, Counting])
def test_the_kit_notices_a_store_that_falls_short(broken):
    with pytest.raises((AssertionError, StoreError)):
        check_store(broken)


@pytest.mark.parametrize("broken", [Arrays, Counting])
def test_the_kit_sees_through_an_async_store(broken):
    class Threaded(ThreadedStore):
        def __init__(self):
            self._store = broken()

    with pytest.raises(AssertionError):
        check_async_store(Threaded)


# ---- folders ----------------------------------------------------------------------------------------------------


def test_nobody_else_may_enter_a_folder_store(tmp_path):
    old = os.umask(0)
    try:
        FolderStore(tmp_path / "store").put("a", b"1")
    finally:
        os.umask(old)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "store").rglob("*") if path.is_dir()}
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert modes == {0o700}
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert len(files) == 2  # the content and its record


def test_equal_contents_are_kept_once(tmp_path):
    store = FolderStore(tmp_path)
    for number in range(5):
        store.put(f"build-{number}/artifact:tc1", b"the same")
    assert len(list((tmp_path / "objects").iterdir())) == 1
    for number in range(5):
        store.delete(f"build-{number}/artifact:tc1")
    assert not list((tmp_path / "objects").iterdir())


def test_content_that_was_changed_is_not_given_out_and_a_put_mends_it(tmp_path):
    store = FolderStore(tmp_path)
    digest = store.put("a", b"right")
    (tmp_path / "objects" / digest).write_bytes(b"wrong")
    with pytest.raises(ArtifactDamagedError, match="'a'"):
        store.get("a")
    store.put("a", b"right")
    assert store.get("a") == b"right"


def test_a_damaged_record_is_no_handle_and_can_be_deleted(tmp_path):
    store = FolderStore(tmp_path)
    store.put("a", b"1")
    (record,) = (tmp_path / "handles").iterdir()
    record.write_bytes(b'{"handle": "a", "sha256": "../../x"}')
    with pytest.raises(ArtifactDamagedError):
        store.get("a")
    assert store.list() == []
    store.delete("a")
    store.put("a", b"2")
    assert store.get("a") == b"2"


def test_what_a_run_that_died_left_behind_is_cleared(tmp_path):
    store = FolderStore(tmp_path)
    (tmp_path / "parts" / "half").write_bytes(b"ha")
    store.put("a", b"1")
    assert not list((tmp_path / "parts").iterdir())


def test_a_link_is_no_content(tmp_path):
    store = FolderStore(tmp_path / "store")
    digest = store.put("a", b"secret")
    (tmp_path / "elsewhere").write_bytes(b"secret")
    content = tmp_path / "store" / "objects" / digest
    content.unlink()
    content.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        store.get("a")


def test_two_objects_on_one_folder_are_one_store(tmp_path):
    FolderStore(tmp_path).put("a", b"1")
    assert FolderStore(tmp_path).get("a") == b"1"


# ---- addresses --------------------------------------------------------------------------------------------------


def test_a_path_and_a_file_url_open_the_folder_store(tmp_path):
    for url in (str(tmp_path / "one"), f"file://{tmp_path}/two"):
        store = open_store(url)
        assert isinstance(store, FolderStore)
        store.put("a", b"1")
    assert (tmp_path / "two" / "handles").is_dir()


def test_other_addresses_go_through_fsspec(s3):
    assert isinstance(open_store(f"memory://{uuid.uuid4().hex}"), FsspecStore)
    store = open_store("s3://prebrief/opened", **s3)
    assert store.get("a") == b"1" if store.put("a", b"1") and store.list() == ["a"] else False


@pytest.mark.parametrize(
    "url",
    [
        "nowhere://me:{}@host/x",
        "nowhere://me:{}/more@host/x",
        "nowhere://me:{}@more@host/x",
        "nowhere://host/x?secret={}",
        "simplecache::nowhere://me:{}@host/x",
        "s3://me:{}@bucket/x",
    ],
)
def test_no_message_names_who_logs_in(url):
    word = "hunter" + "2"
    with pytest.raises(StoreError, match=r"cannot be (opened|used)") as caught:
        open_store(url.format(word)).put("a", b"1")
    assert word not in "".join(traceback.format_exception(caught.value))


def test_an_address_that_no_library_knows_is_one_sentence():
    with pytest.raises(
        StoreError, match=r"the store nowhere://host/x cannot be opened \(ValueError: Protocol not known"
    ):
        open_store("nowhere://host/x")


def test_a_url_with_one_slash_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="write s3://"):
        open_store("s3:/bucket/prefix")
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_does_not_exist_is_an_error_and_is_not_made(s3):
    store = FsspecStore("s3://nobodys/prefix", **s3)
    with pytest.raises(StoreError, match="s3://nobodys/prefix cannot be used"):
        store.put("a", b"1")
    assert not fsspec.filesystem("s3", **s3).exists("nobodys")

"""A store on whatever fsspec reaches: `s3://bucket/prefix` (with the extra `s3`), `memory://`, and many more."""

from __future__ import annotations

import posixpath
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tasks.errors import PrebriefError, StoreError
from tasks.stores.folder import FolderStore
from tasks.stores.records import RecordStore
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LONGEST_REASON = 200
_LOCAL = ("file", "local")
_FLAT = {"s3", "s3a", "gs", "gcs", "abfs", "az", "oss", "memory"}  # no folders to make; on S3 that would make a bucket
_USER = re.compile(r"(?<=://)[^\s?#]*@")  # who logs in, perhaps by a password, which may hold any sign
_REST = re.compile(r"[?#].*", re.DOTALL)
_SINGLE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")  # two letters at least: one is a drive


def open_store(url: str, **options: Any) -> FolderStore | FsspecStore:  # noqa: ANN401 - each file system has its own
    """The store at a URL: a path or `file://` is a folder, anything else goes through fsspec.

    Args:
        url: where the store lies, such as `s3://bucket/prefix`.
        options: what fsspec's file system takes, such as `endpoint_url` for S3.

    Raises:
        StoreError: the URL is not understood, or the library that it needs is not installed. No message names who logs
            in, nor what stands behind a question mark.
    """
    import fsspec

    if single := _SINGLE.match(url):
        raise StoreError(f"a store at {single[1]}:/ is neither a URL nor a path; write {single[1]}://.")
    try:
        path = fsspec.core.strip_protocol(url) if fsspec.utils.get_protocol(url) in _LOCAL else None
    except (ValueError, ImportError) as error:
        raise _not_opened(url, error) from cause(url, error)
    return FsspecStore(url, **options) if path is None else FolderStore(path)


class FsspecStore(RecordStore):
    """Keeps artifacts below a URL, one object a content and one a handle.

    An object store writes each object whole; for a folder of this machine `open_store` takes the store that does so
    too. There are no locks, so that only callers of one process exclude each other: a
    `delete` while another process puts equal content may take that with it. `get` then says so, and a `put` mends it.

    Raises:
        StoreError: the file system cannot be reached, or refuses.
    """

    def __init__(self, url: str, **options: Any) -> None:  # noqa: ANN401 - each file system has its own
        """Opens the file system; `options` are its own, such as `endpoint_url`. Nothing is written yet."""
        import fsspec

        self._url = url
        self._lock = threading.RLock()
        try:
            self._files, root = fsspec.core.url_to_fs(url, **options)
        except Exception as error:  # noqa: BLE001 - file systems raise what they like
            raise _not_opened(url, error) from cause(url, error)
        self._root = root.rstrip("/")
        given = self._files.protocol
        self._has_folders = _FLAT.isdisjoint([given] if isinstance(given, str) else given)

    def _read(self, folder: str, name: str) -> bytes | None:
        with self._refusing():
            try:
                return bytes(self._files.cat_file(self._path(folder, name)))
            except FileNotFoundError:
                return None

    def _write(self, folder: str, name: str, data: bytes) -> None:
        with self._refusing():
            if self._has_folders:
                self._files.makedirs(self._path(folder), exist_ok=True)
            self._files.pipe_file(self._path(folder, name), data)

    def _remove(self, folder: str, name: str) -> None:
        with self._refusing():
            try:
                self._files.rm_file(self._path(folder, name))
            except FileNotFoundError:
                return

    def _read_all(self, folder: str) -> Mapping[str, bytes]:
        with self._refusing():
            self._files.invalidate_cache()  # others may have written since this process listed last
            try:
                paths = self._files.find(self._path(folder))
            except FileNotFoundError:
                return {}
            read = self._files.cat(paths, on_error="omit") if paths else {}
        return {posixpath.basename(path): bytes(data) for path, data in read.items()}

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            yield

    def _path(self, *parts: str) -> str:
        return "/".join((self._root, *parts))

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turns what the file system refuses into one sentence, without what a client may have put into its own."""
        try:
            yield
        except PrebriefError:
            raise
        except Exception as error:  # noqa: BLE001 - file systems raise what they like
            why = said(self._url, error)
            raise StoreError(
                f"the store {shown(self._url)} cannot be used ({why}); check its address and access."
            ) from cause(self._url, error)


def _not_opened(url: str, error: Exception) -> StoreError:
    extra = "; install prebrief[s3]" if isinstance(error, ImportError) and url.startswith("s3") else ""
    return StoreError(f"the store {shown(url)} cannot be opened ({said(url, error)}){extra}.")


def shown(url: str) -> str:
    """A URL without who logs in and without its query, each part of a chain for itself."""
    return "::".join(_REST.sub("?…", _USER.sub("…@", part)) for part in url.split("::"))


def said(url: str, error: Exception) -> str:
    """What a file system says on one line; only the kind of its error where the URL holds what it may repeat."""
    kind = type(error).__name__
    return kind if shown(url) != url else f"{kind}: {one_line(str(error))}"[:_LONGEST_REASON]


def cause(url: str, error: Exception) -> Exception | None:
    """What to raise an error from: nothing where the URL holds what a traceback would repeat."""
    return error if shown(url) == url else None

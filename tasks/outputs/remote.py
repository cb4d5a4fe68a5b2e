"""Builds below a URL that fsspec reaches: an object a file, the manifest last, and `latest`, which holds a build's id.

What reads a build reads files, so a build is made in a folder of this machine and copied there, and fetched into one.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tasks.errors import BuildMissingError, OutputError, PrebriefError
from tasks.outputs.identity import MANIFEST, TIMINGS, file_facts
from tasks.outputs.places import LATEST, below
from tasks.scratch import scratch_folder
from tasks.stores.remote import cause, said, shown
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

_THREADS = 8  # requests under way at once: each waits for a server most of its time
_ARTIFACTS = "artifacts"  # the folder that is for its owner alone
_BUILD_ID = re.compile(r"[0-9a-f]{16}")

#: Copies that this process has fetched, by the URL of their build.
_COPIES: dict[str, Path] = {}


def existing_build(out: str, name: str) -> Path | None:
    """A copy of the complete build of this id below a URL, its hashes checked; None where there is none.

    Costs a download of the whole build.

    Raises:
        OutputError: the URL cannot be reached, or refuses.
    """
    objects = _Objects(out, _not_written)
    try:
        with _scratch() as folder:
            return objects.fetch(name, folder / name)
    except _IncompleteError:
        return None


@contextmanager
def published(out: str, name: str) -> Iterator[Path]:
    """A folder of this machine; the build of this id that the block writes into it is copied below a URL afterwards.

    What dies midway leaves no manifest of this build, unless one with the same content was there; the next run
    completes it.

    Raises:
        OutputError: the URL cannot be reached, or refuses.
    """
    with _scratch() as folder:
        yield folder
        _upload(_Objects(out, _not_written), folder / name)
        point_latest(out, name)


def point_latest(out: str, name: str) -> None:
    """Makes the object `latest` below a URL hold this build's id.

    Raises:
        OutputError: the URL cannot be reached, or refuses, or its `latest` holds something else than a build's id.
    """
    objects = _Objects(out, _not_written)
    held = objects.read(LATEST)
    if held is not None and _id_in(held) is None:
        raise OutputError(f"{shown(below(out, LATEST))} is no object that prebrief made; move it away and run again.")
    if held is None or _id_in(held) != name:
        objects.write(LATEST, name.encode())


def fetch_build(url: str) -> Path:
    """A copy of the build at a URL, or of the newest one below it, whole and with its hashes checked.

    The copy goes when the process ends; until then it serves again while the build's manifest stays the same.

    Raises:
        BuildMissingError: there is no complete build, or the URL cannot be reached, or refuses.
    """
    url = url.removesuffix(f"/{LATEST}")
    objects = _Objects(url, _not_read)
    manifest, name = objects.read(MANIFEST), ""
    if manifest is None and (newest := _id_in(objects.read(LATEST) or b"")):
        manifest, name = objects.read(f"{newest}/{MANIFEST}"), newest
    if manifest is None:
        raise BuildMissingError(f"{shown(url)} holds no complete build; run: prebrief build GRAPH --out {shown(url)}")
    place = below(url, name) if name else url
    known = _COPIES.get(place)
    if known is not None and _has(known, manifest):
        return known
    try:
        with _scratch() as folder:
            _COPIES[place] = objects.fetch(name, folder / (_id_in(posixpath.basename(place).encode()) or "build"))
    except _IncompleteError as error:
        raise BuildMissingError(
            f"the build {shown(place)} is not whole ({error}); run prebrief build again with the same inputs and --out."
        ) from None
    return _COPIES[place]


def _id_in(content: bytes) -> str | None:
    """The id that `latest` holds; None where it holds something else."""
    text = content.decode("ascii", "replace").strip()
    return text if _BUILD_ID.fullmatch(text) else None


def _has(folder: Path, manifest: bytes) -> bool:
    try:
        return (folder / MANIFEST).read_bytes() == manifest
    except OSError:  # somebody has cleared the temporary folder
        return False


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for this user alone that goes when the process ends; at once where an error ends the block."""
    try:
        folder = scratch_folder("build")
    except OSError as error:
        raise OutputError(f"no temporary folder can be made ({error.strerror}); free space or set TMPDIR.") from error
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


# ---- a build's objects ------------------------------------------------------------------------------------------


class _IncompleteError(Exception):
    """There is no whole build; the message says what is wrong with it."""


def _listed(manifest: bytes) -> dict[str, str]:
    """The SHA-256 of each file that a manifest lists, by path; no path leads outside the build's folder."""
    try:
        listed = {row["path"]: row["sha256"] for row in json.loads(manifest)["outputs"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        listed = None
    if listed is None or not all(isinstance(path, str) and _is_inside(path) for path in listed):
        raise _IncompleteError(f"{MANIFEST} is damaged")
    return listed


def _is_inside(path: str) -> bool:
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/")) and path not in (MANIFEST, TIMINGS)


def _upload(objects: _Objects, folder: Path) -> None:
    """Makes what lies below the build's id the files of a folder, no more and no less; the manifest comes last."""
    name, manifest = folder.name, (folder / MANIFEST).read_bytes()
    if objects.read(f"{name}/{MANIFEST}") not in (None, manifest):
        objects.remove(f"{name}/{MANIFEST}")  # it would promise other files than those that come now
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    del files[MANIFEST]
    _in_threads(lambda path: objects.put(files[path], f"{name}/{path}"), sorted(files))
    _in_threads(lambda path: objects.remove(f"{name}/{path}"), sorted(objects.paths(name) - files.keys() - {MANIFEST}))
    objects.write(f"{name}/{MANIFEST}", manifest)


class _Objects:
    """What lies below a URL. Names are relative to it; what the file system refuses becomes one sentence."""

    def __init__(self, url: str, refused: Callable[[str, str], PrebriefError]) -> None:
        self._url, self._refused = url, refused
        with self._refusing():
            import fsspec

            self._files, root = fsspec.core.url_to_fs(url)
            self._root = root.rstrip("/")

    def read(self, name: str) -> bytes | None:
        """The content of an object; None where there is none."""
        with self._refusing():
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError as error:
                if _lacks_bucket(error):
                    raise
                return None

    def write(self, name: str, data: bytes) -> None:
        with self._refusing():
            self._files.pipe_file(self._path(name), data)

    def put(self, file: Path, name: str) -> None:
        with self._refusing():
            self._files.put_file(str(file), self._path(name))

    def remove(self, name: str) -> None:
        with self._refusing(), suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def paths(self, name: str) -> set[str]:
        """All objects below a name, relative to it."""
        start = self._path(name) + "/"
        with self._refusing():
            self._files.invalidate_cache()  # others may have written since this process listed last
            try:
                found = self._files.find(start.rstrip("/"))
            except FileNotFoundError as error:
                if _lacks_bucket(error):
                    raise
                found = []
        return {path.removeprefix(start) for path in found}

    def fetch(self, name: str, folder: Path) -> Path:
        """Copies the build below a name into a new folder, each file checked against the manifest.

        Raises:
            _IncompleteError: a file is missing, or is not the listed one, or is not listed.
        """
        manifest = self.read("/".join(filter(None, (name, MANIFEST))))
        if manifest is None:
            raise _IncompleteError(f"{MANIFEST} is missing")
        listed, found = _listed(manifest), self.paths(name) - {MANIFEST}
        for path in sorted((found - {TIMINGS}) ^ listed.keys()):
            raise _IncompleteError(f"{one_line(path)} is {'missing' if path in listed else 'not in its manifest'}")
        with self._refusing():
            folder.mkdir()
            (folder / _ARTIFACTS).mkdir(mode=0o700)
            for parent in sorted({(folder / path).parent for path in listed}):
                parent.mkdir(parents=True, exist_ok=True)
            _in_threads(lambda path: self._fetch_file(name, path, folder, listed), sorted(found))
            (folder / MANIFEST).write_bytes(manifest)
        return folder

    def _fetch_file(self, name: str, path: str, folder: Path, listed: Mapping[str, str]) -> None:
        with self._refusing():
            try:
                self._files.get_file(self._path(name, path), str(folder / path))
            except FileNotFoundError:
                raise _IncompleteError(f"{one_line(path)} is missing") from None
            if path.startswith(f"{_ARTIFACTS}/"):
                (folder / path).chmod(0o600)
            if path in listed and file_facts(folder / path)["sha256"] != listed[path]:
                raise _IncompleteError(f"{one_line(path)} is not what its manifest lists")

    def _path(self, *names: str) -> str:
        return "/".join((self._root, *filter(None, names)))

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (PrebriefError, _IncompleteError):
            raise
        except Exception as error:  # noqa: BLE001 - file systems raise what they like
            if isinstance(error, ImportError) and self._url.startswith("s3"):
                why = "it needs a library that is not installed: install prebrief[s3]"
            else:
                why = said(self._url, error)
            raise self._refused(shown(self._url), why) from cause(self._url, error)


def _not_written(url: str, why: str) -> OutputError:
    return OutputError(
        f"the build cannot be written to {url} ({why}); see to its address and access, or choose another --out."
    )


def _not_read(url: str, why: str) -> BuildMissingError:
    return BuildMissingError(f"no build can be read from {url} ({why}); see to its address and access.")


def _lacks_bucket(error: FileNotFoundError) -> bool:
    """Whether not an object but the whole bucket is missing, by S3's own word for it."""
    answer = getattr(error.__cause__, "response", None) or {}
    return bool(answer.get("Error", {}).get("Code") == "NoSuchBucket")


def _in_threads(work: Callable[[str], object], names: Iterable[str]) -> None:
    """Does something for each name, several at once; the first error ends what has not begun."""
    with ThreadPoolExecutor(_THREADS) as threads:
        begun = [threads.submit(work, name) for name in names]
        try:
            for one in begun:
                one.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise

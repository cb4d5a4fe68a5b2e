"""What an output folder lists: complete builds, the link to the newest, and nothing that a run left behind."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import OutputError, SettingsError
from tasks.outputs.identity import is_complete
from tasks.scratch import clear_scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

LATEST = "latest"
#: How the names of folders begin in which a run is writing.
PART = ".part-"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]+):(/+)")  # two letters at least: one is a drive; `::` chains them
_LOCAL = ("file", "local")


def as_place(given: Path | str) -> Path | str:
    """Where builds lie: a URL as it was given but for slashes at its end, anything else (`file://` too) as a path.

    Raises:
        SettingsError: it is a URL that lost a slash, as `Path` and shells that complete paths do to it, or holds NUL.
    """
    text = str(given)
    if "\0" in text:
        raise SettingsError(f"{text!r} is no name of a place; name a folder or a URL.")
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Path(given)
    if scheme[2] == "/":
        raise SettingsError(
            f"a place at {scheme[1]}:/ is neither a path nor a URL; write {scheme[1]}://, as text and not as a Path."
        )
    if scheme[1] in _LOCAL:
        import fsspec

        return Path(fsspec.core.strip_protocol(text))
    return scheme[0] + text[scheme.end() :].rstrip("/")


def below(url: str, name: str) -> str:
    """The URL of something below a URL that `as_place` gave."""
    return f"{url}/{name}"


def existing_build(out: Path | str, name: str) -> Path | None:
    """The complete build of this id, its hashes checked, or its copy where `out` is a URL; None where there is none."""
    if isinstance(out, str):
        from tasks.outputs import remote

        return remote.existing_build(out, name)
    folder = out / name
    return folder if is_complete(folder) else None


@contextmanager
def refusing(out: Path) -> Iterator[None]:
    """Turns what the file system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OutputError(
            f"the build cannot be written to {out} ({why}); free space or choose another --out."
        ) from error


def point_latest(out: Path | str, name: str) -> None:
    """Makes `latest` the build of this id, in one step, and clears what runs that died left behind."""
    clear_scratch()
    if isinstance(out, str):
        from tasks.outputs import remote

        remote.point_latest(out, name)
        return
    with refusing(out), folder_lock(out):
        clear_remains(out)
        link = out / LATEST
        if link.is_symlink() and link.readlink() == Path(name):
            return
        if link.exists() and not link.is_symlink():
            raise OutputError(f"{link} is no link that prebrief made; move it away and run again.")
        fresh = out / f"{PART}{os.getpid()}-{LATEST}"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(name)
        fresh.replace(link)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Holds a folder for one process at a time, so that only one run changes what it lists."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def clear_remains(out: Path) -> None:
    """Removes what runs that died left behind: their locks went with them. The folder's lock must be held."""
    for part in sorted(out.glob(f"{PART}*")):
        with suppress(OSError):  # what cannot be removed now stands in nobody's way
            if part.is_symlink() or not part.is_dir():
                part.unlink()
                continue
            lock = os.open(part, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(part, ignore_errors=True)
            finally:
                os.close(lock)

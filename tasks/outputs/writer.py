"""Writes a build beside its place while its tasks get ready, and moves it there whole."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import polars as pl

from tasks.outputs import frames
from tasks.outputs.identity import MANIFEST, TIMINGS, is_complete, manifest
from tasks.outputs.names import file_places
from tasks.outputs.places import PART, clear_remains, folder_lock, point_latest, refusing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tasks.batch import Batch
    from tasks.settings import Settings

T = TypeVar("T")
_THREADS = 2  # that write: most of their work is compression and waiting, outside the interpreter's lock
_AHEAD = 2  # batches that may wait to be written before whoever makes them has to wait
_TASKS_AT_ONCE = 200


@contextmanager
def writing(out: Path, name: str, tasks: pl.DataFrame, settings: Settings) -> Iterator[BuildWriter]:
    """A build to write, which is put into its place in one move at the end of the block.

    Whatever stops it midway leaves `latest` and all other builds as they were; the next run clears the remains.

    Raises:
        OutputError: the folder cannot be written; the message says why.
    """
    with _part(out) as part, BuildWriter(part, out / name, tasks, settings) as build:
        yield build
        with refusing(out):
            _publish(out, part, name)
    point_latest(out, name)


class BuildWriter:
    """The files of one build: contexts and prompts as their tasks are done, the rest at the end, the manifest last.

    Args:
        folder: where to write.
        place: where it will lie, under its id.
        tasks: all tasks of the build.
        settings: those of the build.
    """

    def __init__(self, folder: Path, place: Path, tasks: pl.DataFrame, settings: Settings) -> None:
        self.place = place
        self._folder, self._settings = folder, settings
        self._places = file_places(tasks.select("graph", "task_id").iter_rows())
        self._files = _Files(folder)
        self._added: list[pl.Series] = []
        self._artifacts: Future[None] | None = None
        self._waiting: deque[Future[None]] = deque()
        self._threads = ThreadPoolExecutor(_THREADS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def add(self, part: Batch) -> None:
        """Takes tasks that nothing will change any more, and writes their contexts and prompts in the background.

        Raises:
            OutputError: something could not be written, maybe of a batch that came before.
        """
        self._added.append(part.tasks["task"])
        self._begin(self._write_tasks, part)
        self._begin_artifacts(part.artifacts)

    def close(self, batch: Batch, *, timings: pl.DataFrame, inputs: Iterable[Mapping[str, Any]]) -> None:
        """Writes the tasks that were not added, and all other files; returns when everything is written.

        Raises:
            OutputError: something could not be written.
        """
        added = pl.concat([batch.tasks["task"].clear(), *self._added])
        rest = batch.tasks.filter(~pl.col("task").is_in(added.implode()))
        for tasks in rest["task"].sort().to_frame().iter_slices(_TASKS_AT_ONCE):
            self.add(batch.only(tasks["task"]))
        self._begin_artifacts(batch.artifacts)
        with refusing(self.place.parent):
            self._write_frames(batch, timings)
            for written in (*self._waiting, *filter(None, [self._artifacts])):
                written.result()
            found = manifest(self.place.name, inputs, self._files.facts(), self._settings)
            text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
            (self._folder / MANIFEST).write_text(text + "\n", "utf-8")

    def _begin_artifacts(self, artifacts: pl.DataFrame) -> None:
        """Writes what is kept out of band, once and on one thread: no stage on pairs changes it any more."""
        if self._artifacts is None:
            self._artifacts = self._threads.submit(self._write_artifacts, artifacts)

    def _begin(self, work: Callable[[T], None], of: T) -> None:
        self._waiting.append(self._threads.submit(work, of))
        with refusing(self.place.parent):
            while len(self._waiting) > _AHEAD:
                self._waiting.popleft().result()

    def _write_tasks(self, part: Batch) -> None:
        drawn = {
            f"contexts/{self._places[graph, task_id]}.parquet": frame
            for graph, task_id, frame in frames.context_frames(part, self._settings)
        }
        self._files.parquets(drawn)
        prompts = part.tasks.select("task", "graph", "task_id").join(part.prompts.select("task", "prompt"), on="task")
        for graph, task_id, prompt in prompts.select("graph", "task_id", "prompt").iter_rows():
            if prompt is not None:
                self._files.write(f"prompts/{self._places[graph, task_id]}.md", prompt.encode())

    def _write_artifacts(self, artifacts: pl.DataFrame) -> None:
        self._files.folder("artifacts", 0o700)
        for digest, content in artifacts.select("sha256", "content").unique("sha256").iter_rows():
            self._files.write(f"artifacts/{digest}", content, 0o600)

    def _write_frames(self, batch: Batch, timings: pl.DataFrame) -> None:
        drawn = {
            "tasks": frames.tasks_frame(batch, self._settings),
            "items": frames.items_frame(batch, self._settings),
            "stages": frames.stages_frame(batch),
            "findings": frames.findings_frame(batch),
            "artifacts": frames.artifacts_frame(batch),
        }
        if batch.calls is not None:
            drawn["calls"] = frames.calls_frame(batch.calls, self._settings)
        named = {f"{name}.parquet": frame for name, frame in drawn.items()}
        self._files.parquets({**named, TIMINGS: frames.timings_frame(timings)})


class _Files:
    """Files below a folder, and what was written into each. Several threads may write at once."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders = {""}
        self._facts: dict[str, tuple[str, int]] = {}

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Makes a folder, and those above it, where there is none yet."""
        if path not in self._folders:
            os.makedirs(f"{self._root}/{path}", exist_ok=True)  # noqa: PTH103 - thousands of files: paths as text
            if mode != 0o755:  # noqa: PLR2004
                os.chmod(f"{self._root}/{path}", mode)  # noqa: PTH101 - see above
            self._folders.add(path)

    def write(self, path: str, data: bytes | memoryview, mode: int = 0o666) -> None:
        """Writes a new file and notes its hash, so that the manifest need not read it again."""
        self.folder(path.rpartition("/")[0])
        handle = os.open(f"{self._root}/{path}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        self._facts[path] = hashlib.sha256(data).hexdigest(), len(data)

    def parquets(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Writes frames by way of their bytes: what Polars raises where a disk is full does not say so.

        All are encoded in one call, which other threads need not give way to.
        """
        encoded = {path: BytesIO() for path in frames}
        sinks = [
            frame.lazy().sink_parquet(encoded[path], compression="zstd", compression_level=1, lazy=True)
            for path, frame in frames.items()
        ]
        pl.collect_all(sinks)
        for path, data in encoded.items():
            self.write(path, data.getbuffer())

    def facts(self) -> list[dict[str, Any]]:
        """`path, sha256, bytes` of each file."""
        return [{"path": path, "sha256": digest, "bytes": size} for path, (digest, size) in self._facts.items()]


# ---- into place -------------------------------------------------------------------------------------------------


@contextmanager
def _part(out: Path) -> Iterator[Path]:
    """A folder to write in, locked while this process lives and gone afterwards unless it was moved."""
    with refusing(out):
        out.mkdir(parents=True, exist_ok=True)
        with folder_lock(out):
            clear_remains(out)
            part = Path(tempfile.mkdtemp(prefix=PART, dir=out))
            lock = os.open(part, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
        part.chmod(0o755)
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)
        os.close(lock)


def _publish(out: Path, part: Path, name: str) -> None:
    with folder_lock(out):
        place = out / name
        if is_complete(place):
            return
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.exists():
            place.rename(Path(tempfile.mkdtemp(prefix=PART, dir=out)) / name)
        part.rename(place)
        clear_remains(out)

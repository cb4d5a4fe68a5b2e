"""Writes a build beside its place and moves it there whole."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.outputs import frames
from tasks.outputs.identity import MANIFEST, TIMINGS, is_complete, manifest
from tasks.outputs.names import file_places
from tasks.outputs.places import PART, clear_remains, folder_lock, point_latest, refusing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import polars as pl

    from tasks.batch import Batch
    from tasks.settings import Settings

_AHEAD = 64  # context files that wait to be written, so that not all are held at once


def write_build(
    out: Path,
    name: str,
    batch: Batch,
    *,
    timings: pl.DataFrame,
    inputs: Iterable[Mapping[str, Any]],
    settings: Settings,
) -> Path:
    """Writes all files of a build, then puts it into its place in one move.

    Whatever stops it midway leaves `latest` and all other builds as they were; the next run clears the remains.

    Raises:
        OutputError: the folder cannot be written; the message says why.
    """
    with refusing(out):
        out.mkdir(parents=True, exist_ok=True)
        with _part(out) as part:
            write_files(part, name, batch, timings=timings, inputs=inputs, settings=settings)
            _publish(out, part, name)
        point_latest(out, name)
    return out / name


def write_files(
    folder: Path,
    name: str,
    batch: Batch,
    *,
    timings: pl.DataFrame,
    inputs: Iterable[Mapping[str, Any]],
    settings: Settings,
) -> None:
    """Every file of a build, the manifest last."""
    tasks = frames.tasks_frame(batch, settings)
    _parquet(tasks, folder / "tasks.parquet")
    _parquet(frames.items_frame(batch, settings), folder / "items.parquet")
    _parquet(frames.stages_frame(batch), folder / "stages.parquet")
    _parquet(frames.findings_frame(batch), folder / "findings.parquet")
    _parquet(frames.timings_frame(timings), folder / TIMINGS)
    if batch.calls is not None:
        _parquet(frames.calls_frame(batch.calls, settings), folder / "calls.parquet")
    places = file_places(tasks.select("graph", "task_id").iter_rows())
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # mostly compression, outside the interpreter's lock
        waiting: deque[Future[None]] = deque()
        for graph, task_id, frame in frames.context_frames(batch, settings):
            file = _file(folder / "contexts", places[graph, task_id], ".parquet")
            waiting.append(threads.submit(_parquet, frame, file))
            if len(waiting) > _AHEAD:
                waiting.popleft().result()
        for one in waiting:
            one.result()
    for graph, task_id, prompt in tasks.select("graph", "task_id", "prompt").iter_rows():
        if prompt is not None:
            _file(folder / "prompts", places[graph, task_id], ".md").write_bytes(prompt.encode())
    _write_artifacts(folder, batch)
    text = json.dumps(manifest(folder, name, inputs, settings), indent=1, ensure_ascii=False, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", "utf-8")


def _file(base: Path, place: str, suffix: str) -> Path:
    path = base / f"{place}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _parquet(frame: pl.DataFrame, path: Path) -> None:
    """Writes a frame by way of its bytes: what Polars raises where a disk is full does not say so."""
    data = BytesIO()
    frame.write_parquet(data, compression="zstd", compression_level=1)
    path.write_bytes(data.getbuffer())


def _write_artifacts(folder: Path, batch: Batch) -> None:
    _parquet(frames.artifacts_frame(batch), folder / "artifacts.parquet")
    store = folder / "artifacts"
    store.mkdir(mode=0o700)
    store.chmod(0o700)
    for digest, content in batch.artifacts.select("sha256", "content").unique("sha256").iter_rows():
        path = store / digest
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)


# ---- into place -------------------------------------------------------------------------------------------------


@contextmanager
def _part(out: Path) -> Iterator[Path]:
    """A folder to write in, locked while this process lives and gone afterwards unless it was moved."""
    with folder_lock(out):
        clear_remains(out)
        part = Path(tempfile.mkdtemp(prefix=PART, dir=out))
        lock = os.open(part, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        part.chmod(0o755)
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

"""The steps of a build around its stages: load, write."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tasks.credentials import redact_all
from tasks.outputs import writer
from tasks.pipeline import Run, peak_mb
from tasks.sources.load import load
from tasks.tokens import keep_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from tasks.batch import Batch
    from tasks.outputs.writer import BuildWriter
    from tasks.sources.inputs import Inputs


def load_batch(run: Run, inputs: Inputs) -> Batch:
    """The first batch of a build, as a step of the run's timings."""
    with timed(run, "load"):
        return load(inputs, run.settings)


@contextmanager
def writing(run: Run, tasks: pl.DataFrame, name: str, out: Path | str) -> Iterator[BuildWriter]:
    """A build to write at a place, which gets the tasks of the run as they are done.

    Raises:
        OutputError: the place cannot be written.
    """
    if isinstance(out, str):
        from tasks.outputs.remote import published

        with published(out, name) as folder, writing(run, tasks, name, folder) as build:
            yield build
        return
    with writer.writing(out, name, tasks, run.settings) as build:
        run.keep = build.add
        yield build


def finish(run: Run, batch: Batch, build: BuildWriter, inputs: Sequence[Mapping[str, Any]]) -> None:
    """Writes what the run has not written yet, and the manifest.

    A credential in the name of an input is masked in the manifest, too.
    """
    keep_counts(run.settings.tokens)
    shown = redact_all([row["path"] for row in inputs])
    inputs = [{**row, "path": path.text} for row, path in zip(inputs, shown, strict=True)]
    build.close(batch, timings=run.timings_frame(), inputs=inputs)


@contextmanager
def timed(run: Run, step: str) -> Iterator[None]:
    """Adds a row to the run's timings for a step around the stages."""
    started, clock = datetime.now(UTC), time.perf_counter()
    yield
    row = {"stage": step, "shard": 0, "tasks": 0, "rows": 0, "started": started}
    run.timings.append(row | {"seconds": time.perf_counter() - clock, "peak_mb": peak_mb()})

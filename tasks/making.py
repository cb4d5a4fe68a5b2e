"""The steps of a build around its stages: warm up, load, write."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tasks.credentials import redact_all, warm
from tasks.outputs.writer import write_build
from tasks.pipeline import Run, peak_mb
from tasks.sources.load import load
from tasks.tokens import cache_folder, keep_counts, token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tasks.batch import Batch
    from tasks.settings import Settings
    from tasks.sources.inputs import Inputs


def load_batch(run: Run, inputs: Inputs) -> Batch:
    """The first batch of a build, as a step of the run's timings."""
    with timed(run, "load"):
        warm_all(run.settings)
        return load(inputs, run.settings)


def warm_all(settings: Settings) -> None:
    """Loads the credential rules and the vocabulary, side by side: each takes about half a second."""
    with ThreadPoolExecutor(1) as beside:
        rules = beside.submit(warm, cache_folder() if settings.tokens.cache else None)
        token_counter(settings.tokens)
        rules.result()


def finish(run: Run, batch: Batch, name: str, inputs: Sequence[Mapping[str, Any]], out: Path | str) -> Path:
    """Writes a finished batch into its place; where that is a URL, the path is that of a copy on this machine.

    A credential in the name of an input is masked in the manifest, too.
    """
    keep_counts(run.settings.tokens)
    shown = redact_all([row["path"] for row in inputs])
    inputs = [{**row, "path": path.text} for row, path in zip(inputs, shown, strict=True)]

    def write(folder: Path) -> Path:
        return write_build(folder, name, batch, timings=run.timings_frame(), inputs=inputs, settings=run.settings)

    if isinstance(out, str):
        from tasks.outputs.remote import publish

        return publish(out, write)
    return write(out)


@contextmanager
def timed(run: Run, step: str) -> Iterator[None]:
    """Adds a row to the run's timings for a step around the stages."""
    started, clock = datetime.now(UTC), time.perf_counter()
    yield
    row = {"stage": step, "shard": 0, "tasks": 0, "rows": 0, "started": started}
    run.timings.append(row | {"seconds": time.perf_counter() - clock, "peak_mb": peak_mb()})

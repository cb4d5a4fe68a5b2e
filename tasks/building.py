"""One build in this process, step by step: what is there, what it is, load, eight stages, write."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tasks.credentials import warm
from tasks.outputs.identity import build_id, canonical
from tasks.outputs.writer import existing_build, point_latest, write_build
from tasks.pipeline import Call, Run, peak_mb
from tasks.recovery import guarded
from tasks.sources.inputs import Inputs, Request, discover
from tasks.sources.load import load
from tasks.tokens import cache_folder, keep_counts, token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasks.batch import Batch
    from tasks.settings import Settings


@dataclass(frozen=True)
class Built:
    """Where a build lies, and whether this run made it or found it."""

    path: Path
    fresh: bool


def build(request: Request, settings: Settings, out: Path, *, call: Call = guarded) -> Built:
    """Builds every task of the graphs, or finds the complete build of the same inputs and settings.

    `call` calls the stages; someone who watches a build puts something around it.

    Raises:
        InputError: there is no readable graph.
        OutputError: `out` cannot be written.
        StageError: tasks broke a stage and may not fall back.
    """
    inputs = discover(request, settings)
    name = build_id(listing(inputs), settings)
    if found := existing_build(out, name):
        point_latest(out, name)
        return Built(found, fresh=False)
    run = Run(settings, call=call)
    with timed(run, "load"):
        warm_all(settings)
        loaded = load(inputs, settings)
    return Built(finish(run, run(loaded), name, inputs, out), fresh=True)


def warm_all(settings: Settings) -> None:
    """Loads the credential rules and the vocabulary, side by side: each takes about half a second."""
    with ThreadPoolExecutor(1) as beside:
        rules = beside.submit(warm, cache_folder() if settings.tokens.cache else None)
        token_counter(settings.tokens)
        rules.result()


def listing(inputs: Inputs) -> list[dict[str, Any]]:
    """What went in: `path, sha256, bytes` of every file.

    A file that was named but not read stands there with no bytes and the hash of what was found instead, since that
    finding is part of the build.
    """
    read = [{"path": file.label, "sha256": file.sha256, "bytes": len(file.data)} for file in inputs.files]
    missed = [
        {"path": row["where"], "sha256": hashlib.sha256(canonical(row)).hexdigest(), "bytes": 0}
        for row in inputs.findings
        if row["code"].startswith("INPUT_") or row["severity"] != "info"
    ]
    return read + missed


def finish(run: Run, batch: Batch, name: str, inputs: Inputs, out: Path) -> Path:
    """Writes a finished batch into its place."""
    keep_counts(run.settings.tokens)
    return write_build(out, name, batch, timings=run.timings_frame(), inputs=listing(inputs), settings=run.settings)


@contextmanager
def timed(run: Run, step: str) -> Iterator[None]:
    """Adds a row to the run's timings for a step around the stages."""
    started, clock = datetime.now(UTC), time.perf_counter()
    yield
    row = {"stage": step, "shard": 0, "tasks": 0, "rows": 0, "started": started}
    run.timings.append(row | {"seconds": time.perf_counter() - clock, "peak_mb": peak_mb()})

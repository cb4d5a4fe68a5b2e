"""What every benchmark does: run the command, and write its figures with the environment as rows of Parquet."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RESULTS = Path("benchmarks") / "results"
_PACKAGES = ("prebrief", "polars", "tiktoken", "prefect", "dataframely")


class Ran(NamedTuple):
    """One run of a command."""

    seconds: float  # wall clock
    cpu: float  # seconds of all cores
    peak_mb: float  # the most memory that it held


def prebrief(*arguments: object, env: Mapping[str, str] | None = None) -> Ran:
    """Runs the command of this environment.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    return ran([str(Path(sys.executable).with_name("prebrief")), *map(str, arguments)], env)


def ran(command: Sequence[str], env: Mapping[str, str] | None = None) -> Ran:
    """Runs a command and measures it alone, whatever ran before."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise subprocess.CalledProcessError(process.returncode, command)
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Ran(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / scale)


def median(runs: Iterable[Ran]) -> Ran:
    """The run of the middle wall time."""
    ordered = sorted(runs)
    return ordered[len(ordered) // 2]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of the seconds over the sizes, both as logarithms: 1 is growth in proportion. Least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def write_rows(name: str, rows: Sequence[Mapping[str, object]]) -> Path:
    """Adds the rows, each with the environment, to `benchmarks/results/<name>.parquet`, and prints them."""
    frame = pl.DataFrame([{**row, **environment()} for row in rows])
    place = RESULTS / f"{name}.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    kept = [pl.read_parquet(place)] if place.is_file() else []
    pl.concat([*kept, frame], how="diagonal_relaxed").write_parquet(place)
    for row in rows:
        print(
            ", ".join(
                f"{key} {value:,.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
        )
    print(place)
    return place


def environment() -> dict[str, object]:
    """When, and on what, a figure was taken."""
    return {
        "when": datetime.now(UTC).replace(microsecond=0),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{package: version(package) for package in _PACKAGES},
    }

"""What a finished build says about the sessions that will run on it: `prebrief forecast` as a function."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.assignments import dealt, read_assignment
from tasks.budgets import budget_exceeded, budget_summary
from tasks.errors import OutputError, SettingsError
from tasks.forecast import ASSUMED_BYTES, TOOL_CALLS_PER_TASK, Forecast, forecast
from tasks.planned import planned_files
from tasks.settings import PHASE_BUDGETS
from tasks.sources.findings import Row, finding
from tasks.tracker import THRESHOLD_PERCENT, WINDOW_TOKENS, threshold_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from tasks.outputs.reader import BuildFolder


@dataclass(frozen=True)
class ForecastReport:
    """A forecast, the budgets that the build allocated, and what was odd."""

    build_id: str
    window: int
    threshold: float
    allocation: str
    forecast: Forecast
    budgets: pl.DataFrame
    findings: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, the assumptions included."""
        return {
            "build_id": self.build_id,
            "window_tokens": self.window,
            "threshold_percent": self.threshold,
            "threshold_tokens": threshold_tokens(self.window, self.threshold),
            "assumed": {"bytes_of_an_unknown_file": ASSUMED_BYTES, "tool_calls_per_task": TOOL_CALLS_PER_TASK},
            "allocation": self.allocation,
            "budgets": self.budgets.to_dicts(),
            "workers": self.forecast.workers.to_dicts(),
            "tasks": self.forecast.tasks.to_dicts(),
            "findings": self.findings,
        }


def forecast_build(
    folder: BuildFolder,
    *,
    workers: int | None = None,
    assignment: Path | None = None,
    graphs: Sequence[Path] = (),
    root: Path | None = None,
    window: int = WINDOW_TOKENS,
    threshold: float = THRESHOLD_PERCENT,
) -> ForecastReport:
    """Forecasts the sessions of a build's workers: those of an assignment, else as many as named, dealt by level.

    Args:
        folder: The build.
        workers: How many there are.
        assignment: A JSON file, see `tasks.assignments.read_assignment`.
        graphs: The graphs of the build, where the manifest does not lead to them.
        root: The folder from which the plan's paths start, for the sizes of files.
        window: Tokens of the model's context window.
        threshold: Percent of it at which a checkpoint is due.

    Raises:
        InputError: the assignment cannot be read.
        SettingsError: workers and an assignment are both given, or there is no worker.
        TrackingError: the window or the threshold makes no sense.
    """
    if workers is not None and assignment is not None:
        raise SettingsError("an assignment says itself how many workers there are; leave out --workers.")
    threshold_tokens(window, threshold)
    findings: list[Row] = []
    if assignment is not None:
        assigned, findings = read_assignment(assignment, folder.tasks)
    else:
        assigned = dealt(folder.tasks, workers)
    files, odd = planned_files(folder, graphs, root)
    made = forecast(folder.tasks, files, assigned, window, threshold)
    allocation, budgets = _budgets(folder)
    return ForecastReport(
        folder.root.name,
        window,
        threshold,
        allocation,
        made,
        budgets,
        [*findings, *odd, *_assumed(made.tasks, root), *(budget_exceeded(budgets) if allocation == "by_files" else ())],
    )


def write_forecast(report: ForecastReport, path: Path) -> list[Path]:
    """Writes the tasks of a forecast to `path` and its workers beside it, to `<name>.workers.parquet`.

    Raises:
        OutputError: they cannot be written.
    """
    places = [path, path.with_name(f"{path.name.removesuffix('.parquet')}.workers.parquet")]
    for place, frame in zip(places, report.forecast, strict=True):
        try:
            handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=place.parent)
            os.close(handle)
            try:
                data = BytesIO()
                frame.write_parquet(data)
                Path(part).write_bytes(data.getbuffer())
                Path(part).replace(place)
            finally:
                Path(part).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"{place} cannot be written ({error.strerror}); name a file in a folder of yours."
            ) from error
    return places


def _budgets(folder: BuildFolder) -> tuple[str, pl.DataFrame]:
    """How the build allocated its budgets, and their sums a graph."""
    settings = folder.manifest["settings"]
    total = settings["budget"]["tokens"] or PHASE_BUDGETS[settings["policy"]["phase"]]
    return settings["budget"].get("allocation", "uniform"), budget_summary(folder.tasks, total)


def _assumed(tasks: pl.DataFrame, root: Path | None) -> list[Row]:
    assumed, files = tasks["assumed_sizes"].sum(), tasks["files"].sum()
    if not assumed:
        return []
    if root is None:
        why = f"No --root says where the {files} files to read lie"
    else:
        why = f"Of {files} files to read, {assumed} were not found under --root"
    message = f"{why}; each is taken to hold {ASSUMED_BYTES} bytes."
    return [finding("info", "FORECAST_SIZE_ASSUMED", "files", message)]

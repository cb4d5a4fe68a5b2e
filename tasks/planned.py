"""The files that a build's tasks will read, from the graphs that the build was made of.

A build's own tables have no files, but its manifest names each graph by relative path and hash.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tasks.errors import SettingsError
from tasks.regular import is_file
from tasks.settings import Settings, load_settings
from tasks.sources.files import Labels, absolute
from tasks.sources.findings import Row, finding
from tasks.sources.graph import named_apart, settled
from tasks.sources.plan_files import Plan, named_plans, read_plan
from tasks.sources.plans import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.outputs.reader import BuildFolder
    from tasks.sources.plans.plan import GraphRead

_LOGS_AND_DOCUMENTS = (".md", ".jsonl")  # a plan only where a format recognises it
_TYPES = {"graph": pl.String, "task_id": pl.String, "path": pl.String, "size": pl.Int64}


def planned_files(
    folder: BuildFolder, graphs: Sequence[Path] = (), root: Path | None = None, cwd: Path = Path()
) -> tuple[pl.DataFrame, list[Row]]:
    """`graph, task_id, path, size`, one row a file that a task modifies or reads, and what could not be found.

    Files that a task creates are not there to be read. `size` is in bytes; null where no root is given, or no file
    lies there inside it. A graph that cannot be found is a finding, and its tasks have no rows.

    Args:
        folder: The build.
        graphs: The graphs it was made of; by default those of the manifest, unchanged since.
        root: The folder that the plan's paths start from.
        cwd: Where the manifest's paths start from.
    """
    findings: list[Row] = []
    settings = _settings(folder)
    plans = named_plans([cwd / path for path in graphs], settings) if graphs else _listed(folder, settings, cwd)
    known = set(folder.tasks["graph"])
    rows: list[tuple[str, str, str, int | None]] = []
    sizes: dict[str, int | None] = {}
    found: set[str] = set()
    for read in _graphs(plans, settings, known, cwd, findings if graphs else []):
        found.add(read.feature)
        tasks = settled([read]).tasks.join(folder.tasks, on=["graph", "task_id"], how="semi", maintain_order="left")
        for task_id, modified, only_read in tasks.select("task_id", "files_modify", "files_read").iter_rows():
            for path in dict.fromkeys([*modified, *only_read]):
                if path not in sizes:
                    sizes[path] = _size(path, root)
                rows.append((read.feature, task_id, path, sizes[path]))
    for graph in sorted(known - found):
        message = "Its graph file is not where the manifest says, or has changed; name it with --graph."
        findings.append(finding("warning", "FORECAST_NO_GRAPH", graph, f"{message} Its tasks count without files."))
    frame = pl.DataFrame(rows, schema=_TYPES, orient="row").sort("graph", "task_id", maintain_order=True)
    return frame, findings


def _settings(folder: BuildFolder) -> Settings:
    """How the build read its plans."""
    given = folder.manifest.get("settings", {})
    try:
        return load_settings(plan=given.get("plan", {}), reading=given.get("reading", {}))
    except SettingsError:  # of another version
        return load_settings()


def _listed(folder: BuildFolder, settings: Settings, cwd: Path) -> list[Plan]:
    """Those inputs of a build that may be plans and are still what they were."""
    listed = {absolute(cwd / row["path"]): row["sha256"] for row in folder.manifest.get("inputs", ()) if row["bytes"]}
    plans = named_plans((path for path in listed if is_file(path)), settings)
    return [plan for plan in plans if plan.sha256 == listed[plan.path] and _may_be_plan(plan)]


def _may_be_plan(plan: Plan) -> bool:
    return plan.format.name != DEFAULT or plan.path.suffix not in _LOGS_AND_DOCUMENTS


def _graphs(
    plans: Iterable[Plan], settings: Settings, known: set[str], cwd: Path, findings: list[Row]
) -> list[GraphRead]:
    """The graphs of the build among these plans, by the names that it has them under."""
    reads = []
    label_of = Labels([], cwd).of
    for plan in plans:
        file, odd = read_plan(plan, label_of, settings)
        findings += odd
        reads += [file.read] if file is not None else []
    named = []
    for read in named_apart(reads):
        plain = read.feature.removesuffix(f"@{read.sha256[:8]}")
        name = next((name for name in (f"{plain}@{read.sha256[:8]}", plain) if name in known), None)
        if read.rows and name is not None:
            named.append(replace(read, feature=name))
    return named


def _size(path: str, root: Path | None) -> int | None:
    if root is None:
        return None
    try:
        place = (root / path).resolve()
        return place.stat().st_size if place.is_file() and place.is_relative_to(root.resolve()) else None
    except (OSError, RuntimeError, ValueError):
        return None

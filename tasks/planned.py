"""The files that a build's tasks will read, from the graphs that the build was made of.

A build's own tables have no files, but its manifest names each graph by relative path and hash.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tasks.settings import ReadingSettings
from tasks.sources.files import InputFile, read_input
from tasks.sources.findings import Row, finding
from tasks.sources.graph import GraphRead, named_apart, read_graph, settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.outputs.reader import BuildFolder

_NO_GRAPHS = (".md", ".jsonl")  # specs, rules and logs
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
    files = _named(graphs, findings) if graphs else _listed(folder, cwd)
    known = set(folder.tasks["graph"])
    rows: list[tuple[str, str, str, int | None]] = []
    sizes: dict[str, int | None] = {}
    found: set[str] = set()
    for read in _graphs(files, known):
        found.add(read.feature)
        tasks, _ = settled([read])
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


def _named(graphs: Iterable[Path], findings: list[Row]) -> list[InputFile]:
    reads = [read_input(path, path.as_posix(), ReadingSettings().max_bytes) for path in graphs]
    findings += [read for read in reads if not isinstance(read, InputFile)]
    return [read for read in reads if isinstance(read, InputFile)]


def _listed(folder: BuildFolder, cwd: Path) -> list[InputFile]:
    """Those inputs of a build that may be graphs and are still what they were."""
    files = []
    for row in folder.manifest.get("inputs", ()):
        if row["bytes"] and not row["path"].endswith(_NO_GRAPHS):
            file = read_input(cwd / row["path"], row["path"], row["bytes"])
            if isinstance(file, InputFile) and file.sha256 == row["sha256"]:
                files.append(file)
    return files


def _graphs(files: Iterable[InputFile], known: set[str]) -> list[GraphRead]:
    """The graphs of the build among these files, by the names that it has them under."""
    reads = []
    for read in named_apart(map(read_graph, files)):
        plain = read.feature.removesuffix(f"@{read.sha256[:8]}")
        name = next((name for name in (f"{plain}@{read.sha256[:8]}", plain) if name in known), None)
        if read.rows and name is not None:
            reads.append(replace(read, feature=name))
    return reads


def _size(path: str, root: Path | None) -> int | None:
    if root is None:
        return None
    try:
        place = (root / path).resolve()
        return place.stat().st_size if place.is_file() and place.is_relative_to(root.resolve()) else None
    except (OSError, RuntimeError, ValueError):
        return None

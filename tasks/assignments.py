"""Which worker takes on which task, in which order: from a file, or dealt out by level."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.batch import frame_of
from tasks.errors import InputError, SettingsError
from tasks.regular import read_regular
from tasks.sources.findings import Row, finding, shown
from tasks.typed_frames import dy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MOST_WORKERS = 5  # dealt to when nobody says how many

_NAMED = 5  # tasks that a finding names


class Assignment(dy.Schema):
    """One row a task of a worker, in the order in which workers and their tasks come."""

    worker = dy.String(description="Who works on it.")
    graph = dy.String(primary_key=True, description="The graph of the task.")
    task_id = dy.String(primary_key=True, description="The task.")


def dealt(tasks: pl.DataFrame, workers: int | None = None) -> pl.DataFrame:
    """An assignment that deals the tasks of each level round-robin, in the order of graph and id.

    Args:
        tasks: `graph, task_id, level` of all tasks.
        workers: How many there are; by default as many as the largest level has tasks, five at most.

    Raises:
        SettingsError: there is not even one worker.
    """
    if workers is None:
        workers = min(max(tasks.group_by("level").len()["len"], default=1), MOST_WORKERS)
    if workers < 1:
        raise SettingsError(f"{workers} workers can do nothing; give --workers 1 or more.")
    number = (pl.int_range(pl.len()).over("level") % workers).alias("number")
    ordered = tasks.sort("level", "graph", "task_id").with_columns(number)
    rows = ordered.sort("number", maintain_order=True).select(
        pl.format("worker-{}", "number").alias("worker"), "graph", "task_id"
    )
    return Assignment.validate(rows)


def read_assignment(path: Path, tasks: pl.DataFrame) -> tuple[pl.DataFrame, list[Row]]:
    """The assignment in a JSON file, and what was odd about it.

    Three forms: worker -> list of task ids; `workers: [{id, assignments: {level: [ids]}}]`, and
    `assignments: [{task_id, worker_id}]`, both as ZERG writes them. Tasks are named by their id, or as `graph/task_id`
    where several graphs of the build share it. The order of a worker's tasks is the file's, by level where it has them.
    What names no worker, as of a task that nobody has taken on yet, assigns nothing.

    Args:
        path: The file.
        tasks: `graph, task_id, level` of all tasks of the build.

    Raises:
        InputError: the file cannot be read or has none of these forms.
    """
    try:
        content = json.loads(read_regular(path))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); name a JSON file of workers and tasks.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no valid JSON; write worker -> list of task ids.") from error
    pairs = _pairs(content, tasks)
    if pairs is None:
        raise InputError(f"{path} assigns no tasks to workers; write worker -> list of task ids.")
    feature = content.get("feature")
    keys, unknown, repeated = _keys(pairs, tasks, feature if isinstance(feature, str) else None)
    rows = [{"worker": worker, "graph": graph, "task_id": task_id} for (graph, task_id), worker in keys.items()]
    frame = Assignment.validate(frame_of(Assignment, _grouped(rows)))
    missing = tasks.join(frame, on=["graph", "task_id"], how="anti").sort("graph", "task_id").select("graph", "task_id")
    where = path.name
    odd = (
        ("warning", "ASSIGNMENT_UNKNOWN_TASK", "It names tasks that are not one in this build", unknown),
        ("warning", "ASSIGNMENT_REPEATED_TASK", "It gives tasks to a worker again; the first time counts", repeated),
        (
            "warning",
            "ASSIGNMENT_MISSING_TASK",
            "It leaves out tasks of the build",
            ["/".join(r) for r in missing.rows()],
        ),
    )
    return frame, [
        finding(severity, code, where, f"{what}: {_listed(names)}.")  # type: ignore[arg-type]
        for severity, code, what, names in odd
        if names
    ]


def _pairs(content: object, tasks: pl.DataFrame) -> list[tuple[str, str]] | None:
    """`(worker, task)` in order, or None where the content has none of the known forms."""
    if not isinstance(content, dict):
        return None
    if isinstance(content.get("workers"), list):
        pairs = list(_by_level(content["workers"]))
    elif isinstance(content.get("assignments"), list):
        levels = dict(tasks.select("task_id", "level").iter_rows())
        entries = [entry for entry in content["assignments"] if isinstance(entry, dict)]
        named = [(_worker(entry.get("worker_id")), str(entry.get("task_id"))) for entry in entries]
        pairs = [(worker, task) for worker, task in named if worker is not None]
        pairs.sort(key=lambda pair: levels.get(pair[1], 0))
        pairs.sort(key=lambda pair: (len(pair[0]), pair[0]))  # worker-2 before worker-10
    else:
        lists = {worker: ids for worker, ids in content.items() if isinstance(ids, list)}
        pairs = [(worker, str(task)) for worker, ids in lists.items() for task in ids]
    return pairs or None


def _by_level(workers: Iterable[object]) -> Iterator[tuple[str, str]]:
    for place, entry in enumerate(workers):
        levels: Any = entry.get("assignments") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(levels, dict):
            worker = _worker(entry.get("id")) or f"worker-{place}"
            for _, ids in sorted(levels.items(), key=lambda level: (len(level[0]), level[0])):
                for task in ids if isinstance(ids, list) else ():
                    yield worker, str(task)


def _worker(name: object) -> str | None:
    """A worker by its name or number; None where it is neither."""
    if isinstance(name, int) and not isinstance(name, bool):
        return f"worker-{name}"
    return name if isinstance(name, str) and name.strip() else None


def _keys(
    pairs: Iterable[tuple[str, str]], tasks: pl.DataFrame, feature: str | None
) -> tuple[dict[tuple[str, str], str], list[str], list[str]]:
    """The worker of each known task, then what names no single task, and what was given away before."""
    known = set(tasks.select("graph", "task_id").iter_rows())
    by_name: dict[str, list[tuple[str, str]]] = {}
    for graph, task_id in sorted(known):
        by_name.setdefault(f"{graph}/{task_id}", []).append((graph, task_id))
        by_name.setdefault(task_id, []).append((graph, task_id))
    keys: dict[tuple[str, str], str] = {}
    unknown: list[str] = []
    repeated: list[str] = []
    for worker, name in pairs:
        found = [(feature, name)] if feature is not None and (feature, name) in known else by_name.get(name, [])
        if len(found) != 1:
            unknown.append(name)
        elif found[0] in keys:
            repeated.append(name)
        else:
            keys[found[0]] = worker
    return keys, unknown, repeated


def _grouped(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of each worker together, workers in the order in which they first come."""
    first = {row["worker"]: place for place, row in reversed(list(enumerate(rows)))}
    return sorted(rows, key=lambda row: first[row["worker"]])


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(shown, names[:_NAMED])) + more

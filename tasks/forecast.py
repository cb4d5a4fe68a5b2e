"""What the sessions of a swarm will use of their windows, before any of them starts.

A worker takes on its tasks one after the other in one session. Each task brings its prebuilt context, the files that
it modifies or reads, its tool calls and the tracker's flat 500 tokens. Minutes are left out: no plan knows them.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from tasks.tracker import (
    BYTES_PER_TOKEN,
    THRESHOLD_PERCENT,
    TOKENS_PER_FILE,
    TOKENS_PER_TASK,
    TOKENS_PER_TOOL_CALL,
    WINDOW_TOKENS,
    threshold_tokens,
)
from tasks.typed_frames import dy

ASSUMED_BYTES = 8_000  # of a file whose size is not known: some 200 lines
TOOL_CALLS_PER_TASK = 30  # reads, edits, test runs and a commit


class TaskForecast(dy.Schema):
    """One row a task of a worker, in the order of its work."""

    worker = dy.String(description="Who works on it.")
    graph = dy.String(primary_key=True, description="The graph of the task.")
    task_id = dy.String(primary_key=True, description="The task.")
    level = dy.Int32(description="When the task may start, relative to others.")
    context_tokens = dy.Int64(min=0, description="Its prebuilt prompt; 0 where it has none.")
    files = dy.Int64(min=0, description="Files that it modifies or reads.")
    assumed_sizes = dy.Int64(min=0, description="Of these, how many are taken to hold 8,000 bytes, for want of better.")
    file_tokens = dy.Int64(min=0, description="What reading each of them once costs.")
    tool_tokens = dy.Int64(min=0, description="30 tool calls, 50 tokens each.")
    task_tokens = dy.Int64(min=0, description="The flat cost of a task.")
    tokens = dy.Int64(min=0, description="All of these together.")
    session = dy.UInt32(min=1, description="Which of the worker's sessions, from 1; each checkpoint begins one.")
    session_tokens = dy.Int64(min=0, description="What that session has used after the task.")
    checkpoint_before = dy.Bool(description="Whether to checkpoint first: with the task, the session would cross.")
    is_over_threshold = dy.Bool(description="Whether the task crosses the threshold all by itself.")


class WorkerForecast(dy.Schema):
    """One row a worker, as if it went through all of its tasks in one session, and where to break it."""

    worker = dy.String(primary_key=True, description="The worker.")
    tasks = dy.UInt32(description="How many it takes on.")
    context_tokens = dy.Int64(min=0, description="All of their prompts.")
    file_tokens = dy.Int64(min=0, description="All of their files.")
    tool_tokens = dy.Int64(min=0, description="All of their tool calls.")
    task_tokens = dy.Int64(min=0, description="The flat cost of all of them.")
    tokens = dy.Int64(min=0, description="All of these together.")
    usage_percent = dy.Float64(min=0, description="Of the window.")
    crosses = dy.Bool(description="Whether one session for all of it reaches the threshold.")
    sessions = dy.UInt32(min=1, description="How many it takes with the checkpoints.")
    checkpoint_before = dy.List(dy.String(), description="The tasks, as graph/id, before which to checkpoint.")


class Forecast(NamedTuple):
    """Task by task, and worker by worker."""

    tasks: pl.DataFrame
    workers: pl.DataFrame


def forecast(
    tasks: pl.DataFrame,
    files: pl.DataFrame,
    assignment: pl.DataFrame,
    window: int = WINDOW_TOKENS,
    threshold: float = THRESHOLD_PERCENT,
) -> Forecast:
    """The tokens of each worker's session, and before which tasks it should checkpoint.

    A session is broken before the task that would bring it to the threshold; one that is over it all by itself stands
    alone and says so.

    Args:
        tasks: `graph, task_id, level, prompt_tokens` of a build.
        files: `graph, task_id, path, size` of the files that tasks modify or read; size in bytes or null.
        assignment: `worker, graph, task_id`, in the order of the work.
        window: Tokens of the model's context window.
        threshold: Percent of it at which a checkpoint is due.

    Raises:
        TrackingError: the window holds nothing, or the threshold is no percentage.
    """
    limit = threshold_tokens(window, threshold)
    rows = _sessions(_tokens(tasks, files, assignment), limit)
    by_task = TaskForecast.validate(rows.select(TaskForecast.column_names()))
    return Forecast(by_task, _workers(by_task, window, limit))


def _tokens(tasks: pl.DataFrame, files: pl.DataFrame, assignment: pl.DataFrame) -> pl.DataFrame:
    key = ["graph", "task_id"]
    size = pl.col("size").fill_null(ASSUMED_BYTES)
    read = files.group_by(key).agg(
        files=pl.len().cast(pl.Int64),
        assumed_sizes=pl.col("size").is_null().sum().cast(pl.Int64),
        file_tokens=(size // BYTES_PER_TOKEN + TOKENS_PER_FILE).sum(),
    )
    return (
        assignment.join(tasks, on=key, maintain_order="left")
        .join(read, on=key, how="left", maintain_order="left")
        .with_columns(pl.col("files", "assumed_sizes", "file_tokens").fill_null(0))
        .with_columns(
            context_tokens=pl.col("prompt_tokens").cast(pl.Int64).fill_null(0),
            tool_tokens=pl.lit(TOOL_CALLS_PER_TASK * TOKENS_PER_TOOL_CALL, pl.Int64),
            task_tokens=pl.lit(TOKENS_PER_TASK, pl.Int64),
        )
        .with_columns(tokens=pl.sum_horizontal("context_tokens", "file_tokens", "tool_tokens", "task_tokens"))
    )


def _sessions(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Breaks each worker's tasks into sessions. One pass: where a session ends depends on where it began."""
    sessions: list[int] = []
    used: list[int] = []
    breaks: list[bool] = []
    last: str | None = None
    for worker, tokens in rows.select("worker", "tokens").iter_rows():
        begins = worker != last
        breaks.append(not begins and used[-1] + tokens >= limit)
        fresh = begins or breaks[-1]
        sessions.append(1 if begins else sessions[-1] + breaks[-1])
        used.append(tokens if fresh else used[-1] + tokens)
        last = worker
    return rows.with_columns(
        pl.Series("session", sessions, pl.UInt32),
        pl.Series("session_tokens", used, pl.Int64),
        pl.Series("checkpoint_before", breaks, pl.Boolean),
        is_over_threshold=pl.col("tokens") >= limit,
    )


def _workers(rows: pl.DataFrame, window: int, limit: int) -> pl.DataFrame:
    frame = rows.group_by("worker", maintain_order=True).agg(
        pl.len().cast(pl.UInt32).alias("tasks"),
        pl.sum("context_tokens", "file_tokens", "tool_tokens", "task_tokens", "tokens"),
        usage_percent=pl.sum("tokens") * 100 / window,
        crosses=pl.sum("tokens") >= limit,
        sessions=pl.max("session"),
        checkpoint_before=pl.format("{}/{}", "graph", "task_id").filter("checkpoint_before"),
    )
    return WorkerForecast.validate(frame.select(WorkerForecast.column_names()))

"""How a graph's tasks share a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.errors import SettingsError
from tasks.sources.findings import Row, finding

if TYPE_CHECKING:
    from tasks.settings import Settings

LEAST_BUDGET = 500


def budget_for_task(total: int, files: int) -> int:
    """Tokens for a task with so many files: `total` divided by them, at least 500, never more than `total`.

    Raises:
        SettingsError: the total is not above zero.
    """
    if total <= 0:
        raise SettingsError(f"a budget of {total} tokens cannot be shared; give one above zero.")
    return min(max(total // max(files, 1), LEAST_BUDGET), total)


def allocate(tasks: pl.DataFrame, settings: Settings) -> tuple[pl.DataFrame, list[Row]]:
    """A tasks frame with `budget_tokens` as `budget.allocation` has it, and what is to be said about the sum.

    `uniform` leaves the frame as it is. `by_files` gives each task `budget_for_task` of the build's budget and the
    number of files that it creates or modifies. A budget that the plan itself gives a task stays, unless
    `budget.tokens` is set, which wins over it here as everywhere.
    """
    if settings.budget.allocation == "uniform":
        return tasks, []
    total = settings.budget_of()
    files = pl.concat_list("files_create", "files_modify").list.n_unique().clip(1)
    shared = (pl.lit(total, pl.Int64) // files).clip(min(LEAST_BUDGET, total), total)
    own = pl.lit(None, pl.Int64) if settings.budget.tokens else pl.col("budget_tokens")
    allocated = tasks.with_columns(budget_tokens=pl.coalesce(own, shared))
    return allocated, budget_exceeded(budget_summary(allocated, total))


def budget_summary(tasks: pl.DataFrame, total: int) -> pl.DataFrame:
    """`graph, tasks, total, allocated, average` of a frame's `graph` and `budget_tokens`: one row a graph, sorted."""
    return (
        tasks.group_by("graph")
        .agg(
            tasks=pl.len().cast(pl.Int64),
            total=pl.lit(total, pl.Int64),
            allocated=pl.col("budget_tokens").cast(pl.Int128).sum(),  # a plan may give a task 2**63 - 1
            average=pl.col("budget_tokens").mean().round(1),
        )
        .sort("graph")
    )


def budget_exceeded(summary: pl.DataFrame) -> list[Row]:
    """A finding for each graph of a summary whose tasks are allocated more than the total."""
    return [
        finding(
            "info",
            "BUDGET_EXCEEDED",
            row["graph"],
            f"Its {row['tasks']} tasks are allocated {row['allocated']} tokens together, more than the total of "
            f"{row['total']}; every prompt keeps to its own budget.",
        )
        for row in summary.filter(pl.col("allocated") > pl.col("total")).to_dicts()
    ]

"""A build in a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from tasks.outputs.reader import BuildFolder


def build_summary(folder: BuildFolder) -> dict[str, Any]:
    """Tasks, statuses, tokens, findings and candidates of a build, as plain data; call prompts where it has any."""
    tasks = folder.tasks
    return {
        "build_id": folder.root.name,
        "tasks": len(tasks),
        "graphs": tasks["graph"].n_unique(),
        "statuses": _counted(tasks["status"]),
        "tokens": tasks["prompt_tokens"].sum(),
        "budget_tokens": tasks["budget_tokens"].sum(),
        "included": tasks["included"].sum(),
        "dropped": tasks["dropped"].sum(),
        "findings": _counted(folder.findings["severity"]),
        "artifacts": len(folder.artifacts),
        **({} if folder.calls is None else {"calls": _counted(folder.calls["status"])}),
    }


def stage_summary(folder: BuildFolder) -> list[dict[str, Any]]:
    """One row a stage over all tasks: candidates and tokens in and out, ancestors added, drops by reason."""
    stages = folder.stages
    drops = (
        stages.select("stage", "drops")
        .explode("drops", empty_as_null=False, keep_nulls=False)
        .unnest("drops")
        .group_by("stage", "reason")
        .agg(pl.sum("count"))
        .sort("stage", "reason")
    )
    reasons = {
        stage: ", ".join(f"{count} {reason}" for reason, count in part.select("reason", "count").rows())
        for (stage,), part in drops.group_by("stage", maintain_order=True)
    }
    totals = stages.group_by("stage", maintain_order=True).agg(
        pl.sum("candidates_in", "candidates_out", "tokens_in", "tokens_out", "closures_added")
    )
    return [{**row, "drops": reasons.get(row["stage"], "")} for row in totals.to_dicts()]


def _counted(column: pl.Series) -> dict[str, int]:
    return dict(column.value_counts().sort(column.name).rows())

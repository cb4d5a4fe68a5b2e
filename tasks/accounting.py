"""What went into each stage and what came out: read off the batch before and after it."""

from __future__ import annotations

import polars as pl

from tasks.batch import Batch, StageCounts, empty
from tasks.terms import STAGE_NAMES


def record(before: Batch, after: Batch, stage: str) -> Batch:
    """The batch after a stage, with one row of counts a task added.

    Drops are the rows that carry the stage's name now; what the closure brought in is what `added` gained. For the
    first stage all that its pools hold went in.
    """
    dropped = _dropped(after, stage)
    brought = _brought(before, after)
    alive = alive_counts(after).rename({"candidates": "candidates_out", "tokens": "tokens_out"})
    lost = dropped.group_by("task").agg(lost=pl.sum("count"), lost_tokens=pl.sum("tokens"))
    counts = (
        after.tasks.select("task")
        .join(alive, on="task", how="left")
        .join(lost, on="task", how="left")
        .join(brought, on="task", how="left")
        .with_columns(pl.col("candidates_out", "tokens_out", "lost", "lost_tokens", "closures_added").fill_null(0))
    )
    if stage == STAGE_NAMES[0]:
        entered = counts.with_columns(
            candidates_in=pl.col("candidates_out") + pl.col("lost"),
            tokens_in=pl.col("tokens_out") + pl.col("lost_tokens"),
        )
    else:
        earlier = alive_counts(before).rename({"candidates": "candidates_in", "tokens": "tokens_in"})
        entered = counts.join(earlier, on="task", how="left").with_columns(
            pl.col("candidates_in", "tokens_in").fill_null(0)
        )
    reasons = (
        dropped.sort("task", pl.col("reason").cast(pl.String))
        .group_by("task", maintain_order=True)
        .agg(drops=pl.struct(pl.col("reason").cast(pl.String), pl.col("count").cast(pl.UInt32)))
    )
    schema = empty(StageCounts).schema
    rows = (
        entered.with_columns(stage=pl.lit(stage, schema["stage"]))
        .join(reasons, on="task", how="left")
        .with_columns(pl.col("drops").fill_null(pl.lit([], schema["drops"])))
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
        .sort("task")
    )
    return after.with_frames(stages=pl.concat([before.stages, rows]))


def alive_counts(batch: Batch) -> pl.DataFrame:
    """`task, candidates, tokens` of what is still in; tasks without candidates have no row."""
    tokens = batch.items.select("item", pl.col("tokens").cast(pl.UInt64))
    if batch.candidates is not None:
        listed = _summed(batch.candidates.filter(pl.col("reason").is_null()), tokens, "task")
        beyond = batch.beyond.filter(pl.col("reason").is_null()).select("task", "candidates", "tokens")
        return pl.concat([listed, beyond]).group_by("task").agg(pl.sum("candidates", "tokens"))
    pools = _summed(batch.pools.filter(pl.col("reason").is_null()), tokens, "pool")
    added = _summed(batch.added.filter(pl.col("reason").is_null()), tokens, "task")
    pooled = batch.memberships.join(pools, on="pool").select("task", "candidates", "tokens")
    return pl.concat([pooled, added]).group_by("task").agg(pl.sum("candidates", "tokens"))


def _summed(rows: pl.DataFrame, tokens: pl.DataFrame, key: str) -> pl.DataFrame:
    return rows.join(tokens, on="item").group_by(key).agg(candidates=pl.len().cast(pl.UInt64), tokens=pl.sum("tokens"))


def _dropped(batch: Batch, stage: str) -> pl.DataFrame:
    """`task, reason, count, tokens` of what went out at a stage."""
    tokens = batch.items.select("item", pl.col("tokens").cast(pl.UInt64))

    def tallied(rows: pl.DataFrame, key: str) -> pl.DataFrame:
        gone = rows.filter(pl.col("stage") == stage).join(tokens, on="item")
        return gone.group_by(key, "reason").agg(count=pl.len().cast(pl.UInt64), tokens=pl.sum("tokens"))

    if batch.candidates is not None:
        beyond = batch.beyond.filter(pl.col("stage") == stage).select("task", "reason", "tokens", count="candidates")
        parts = [tallied(batch.candidates, "task"), beyond.select("task", "reason", "count", "tokens")]
        return pl.concat(parts).group_by("task", "reason").agg(pl.sum("count", "tokens"))
    pooled = batch.memberships.join(tallied(batch.pools, "pool"), on="pool").drop("pool")
    parts = [pooled, tallied(batch.added, "task").select(pooled.columns)]
    return pl.concat(parts).group_by("task", "reason").agg(pl.sum("count", "tokens"))


def _brought(before: Batch, after: Batch) -> pl.DataFrame:
    """`task, closures_added`."""
    gained = after.added.join(before.added, on=["task", "item"], how="anti")
    return gained.group_by("task").agg(closures_added=pl.len())

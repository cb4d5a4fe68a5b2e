"""What went into each stage and what came out: read off the batch before and after it."""

from __future__ import annotations

import polars as pl

from tasks.batch import Batch, StageCounts, by_place, empty
from tasks.terms import STAGE_NAMES

_COUNTS = (pl.sum("candidates"), pl.sum("tokens"))


def record(before: Batch, after: Batch, stage: str) -> Batch:
    """The batch after a stage, with one row of counts a task added.

    Drops are the rows that carry the stage's name now; what the closure brought in is what `added` gained. For the
    first stage all that its pools hold went in, for any other what came out of the one before.
    """
    found = tallies(after)
    dropped = found.filter(pl.col("stage") == stage)
    alive = _alive(found).rename({"candidates": "candidates_out", "tokens": "tokens_out"})
    lost = dropped.group_by("task").agg(lost=pl.sum("candidates"), lost_tokens=pl.sum("tokens"))
    counts = (
        after.tasks.select("task")
        .join(alive, on="task", how="left")
        .join(lost, on="task", how="left")
        .join(_brought(before, after), on="task", how="left")
        .with_columns(pl.col("candidates_out", "tokens_out", "lost", "lost_tokens", "closures_added").fill_null(0))
    )
    if stage == STAGE_NAMES[0]:
        entered = counts.with_columns(
            candidates_in=pl.col("candidates_out") + pl.col("lost"),
            tokens_in=pl.col("tokens_out") + pl.col("lost_tokens"),
        )
    else:
        entered = counts.join(_came_out(before, stage), on="task", how="left").with_columns(
            pl.col("candidates_in", "tokens_in").fill_null(0)
        )
    reasons = (
        dropped.sort("task", pl.col("reason").cast(pl.String))
        .group_by("task", maintain_order=True)
        .agg(drops=pl.struct(pl.col("reason").cast(pl.String), count=pl.col("candidates").cast(pl.UInt32)))
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
    return _alive(tallies(batch))


def tallies(batch: Batch) -> pl.DataFrame:
    """`task, stage, reason, candidates, tokens`: how many candidates share a fate; stage and reason null: still in."""
    if batch.candidates is not None:
        rows = [_tallied(batch.candidates, batch.items, "task"), batch.beyond.select(_TALLIES)]
    else:
        pools = _tallied(batch.pools, batch.items, "pool")
        pooled = batch.memberships.join(pools, on="pool").select(_TALLIES)
        rows = [pooled, _tallied(batch.added, batch.items, "task")]
    return pl.concat(rows).group_by("task", "stage", "reason").agg(_COUNTS)


_TALLIES = ("task", "stage", "reason", "candidates", "tokens")


def _tallied(rows: pl.DataFrame, items: pl.DataFrame, key: str) -> pl.DataFrame:
    tokens = by_place(items, "item", "tokens").cast(pl.UInt64).gather(rows["item"])
    counts = (pl.len().cast(pl.UInt64).alias("candidates"), pl.sum("tokens"))
    return rows.select(key, "stage", "reason", tokens.alias("tokens")).group_by(key, "stage", "reason").agg(counts)


def _alive(found: pl.DataFrame) -> pl.DataFrame:
    return found.filter(pl.col("reason").is_null()).group_by("task").agg(_COUNTS)


def _came_out(before: Batch, stage: str) -> pl.DataFrame:
    """`task, candidates_in, tokens_in`: what the stage before let out; counted where nobody has noted that."""
    earlier = STAGE_NAMES[STAGE_NAMES.index(stage) - 1]
    noted = before.stages.filter(pl.col("stage") == earlier)
    if noted["task"].n_unique() == len(before.tasks):
        return noted.select("task", candidates_in="candidates_out", tokens_in="tokens_out")
    return alive_counts(before).select("task", candidates_in="candidates", tokens_in="tokens")


def _brought(before: Batch, after: Batch) -> pl.DataFrame:
    """`task, closures_added`."""
    gained = after.added.join(before.added, on=["task", "item"], how="anti")
    return gained.group_by("task").agg(closures_added=pl.len())

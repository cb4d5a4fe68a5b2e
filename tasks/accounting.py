"""What went into each stage and what came out: read off the batch before and after it."""

from __future__ import annotations

import polars as pl

from tasks.batch import STAGE, Batch, StageCounts, by_place, empty
from tasks.terms import POOLED_STAGES, STAGE_NAMES

_COUNTS = (pl.sum("candidates"), pl.sum("tokens"))
_LOST = ("lost", "lost_tokens")


def record(before: Batch, after: Batch, stage: str) -> Batch:
    """The batch after a stage, with one row of counts a task added.

    The stages on pairs leave all candidates in one frame, each with where it went out, so that they are counted
    together, after the last of them.
    """
    if after.candidates is None:
        rows = _of_pools(before, after, stage)
    elif stage == STAGE_NAMES[-1]:
        rows = _of_pairs(after)
    else:
        return after
    schema = empty(StageCounts).schema
    counted = (
        rows.with_columns(pl.col("drops").fill_null(pl.lit([], schema["drops"])))
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
        .sort("task", "stage")
    )
    return after.with_frames(stages=pl.concat([before.stages, counted]))


def _of_pools(before: Batch, after: Batch, stage: str) -> pl.DataFrame:
    """The rows of a stage on pools.

    Drops are the rows that carry the stage's name now; what the closure brought in is what `added` gained. For the
    first stage all that its pools hold went in, for any other what came out of the one before.
    """
    found = tallies(after)
    alive = _alive(found).rename({"candidates": "candidates_out", "tokens": "tokens_out"})
    counts = (
        after.tasks.select("task", stage=pl.lit(stage, STAGE))
        .join(alive, on="task", how="left")
        .join(_lost(found), on=["task", "stage"], how="left")
        .join(_brought(before, after), on="task", how="left")
        .with_columns(pl.col("candidates_out", "tokens_out", *_LOST, "closures_added").fill_null(0))
    )
    if stage == STAGE_NAMES[0]:
        return counts.with_columns(
            candidates_in=pl.col("candidates_out") + pl.col("lost"),
            tokens_in=pl.col("tokens_out") + pl.col("lost_tokens"),
        )
    return counts.join(_came_out(before, stage), on="task", how="left").with_columns(
        pl.col("candidates_in", "tokens_in").fill_null(0)
    )


def _of_pairs(after: Batch) -> pl.DataFrame:
    """The rows of all stages on pairs: of each what it dropped, and what it or a later one still has."""
    found = tallies(after)
    names = STAGE_NAMES[POOLED_STAGES:]
    counts = (
        after.tasks.select("task")
        .join(pl.DataFrame({"stage": names}, schema={"stage": STAGE}), how="cross")
        .join(_lost(found), on=["task", "stage"], how="left")
        .join(found.group_by("task").agg(_COUNTS), on="task", how="left")
        .join(_came_out(after, names[0]), on="task", how="left")
        .with_columns(pl.col("candidates", "tokens", "candidates_in", "tokens_in", *_LOST).fill_null(0))
        .sort("task", "stage")
        .with_columns(
            candidates_out=pl.col("candidates") - pl.col("lost").cum_sum().over("task"),
            tokens_out=pl.col("tokens") - pl.col("lost_tokens").cum_sum().over("task"),
            closures_added=pl.lit(0),
        )
    )
    later = pl.col("stage") != names[0]
    return counts.with_columns(
        candidates_in=pl.when(later).then(pl.col("candidates_out") + pl.col("lost")).otherwise("candidates_in"),
        tokens_in=pl.when(later).then(pl.col("tokens_out") + pl.col("lost_tokens")).otherwise("tokens_in"),
    )


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


def _lost(found: pl.DataFrame) -> pl.DataFrame:
    """`task, stage, lost, lost_tokens, drops` of the stages that dropped something."""
    return (
        found.filter(pl.col("stage").is_not_null())
        .sort("task", "stage", pl.col("reason").cast(pl.String))
        .group_by("task", "stage", maintain_order=True)
        .agg(
            lost=pl.sum("candidates"),
            lost_tokens=pl.sum("tokens"),
            drops=pl.struct(pl.col("reason").cast(pl.String), count=pl.col("candidates").cast(pl.UInt32)),
        )
    )


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

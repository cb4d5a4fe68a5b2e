"""The batch cut into shards for the stages that work on pairs of a task and an item, and put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.accounting import alive_counts
from tasks.pairs import runs, spans
from tasks.ranking import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.batch import Batch
    from tasks.settings import Settings


def shards(batch: Batch, settings: Settings, least: int = 1) -> Iterator[Batch]:
    """The batch in runs of tasks whose candidate pairs fit in memory together; the cut changes no task's outcome.

    Each holds the pools that its tasks draw on: of those that few tasks share there may be millions of rows.

    Where there are to be several, none holds tasks of two graphs, and all are smaller.
    """
    counts = batch.tasks.select("task", "graph").join(_rows(batch, settings), on="task", how="left").sort("task")
    counts = counts.with_columns(pl.col("rows").fill_null(0))
    most = settings.run.shard_pairs
    if least > 1:
        most = max(1, min(most, -(-int(counts["rows"].sum()) // least)))
    rows = pl.col("rows").cum_sum() if least == 1 else pl.col("rows").cum_sum().over("graph")
    shard = (rows - 1).clip(lower_bound=0) // most  # of a task's last pair
    groups = counts.select("task", graph="graph" if least > 1 else pl.lit(""), shard=shard).partition_by(
        "graph", "shard", maintain_order=True
    )
    if len(groups) <= 1:
        yield batch
        return
    pools = _ByPool(batch.pools)
    for group in groups:
        part = batch.only(group["task"])
        yield part.with_frames(pools=pools.rows_of(part.memberships["pool"].unique()))


class _ByPool:
    """The rows of pools, to be found by the pool."""

    def __init__(self, pools: pl.DataFrame) -> None:
        self._pools = pools.sort("pool", maintain_order=True)
        self._ordered = self._pools["pool"].to_numpy()

    def rows_of(self, seen: pl.Series) -> pl.DataFrame:
        """The rows of these pools, by pool."""
        first, end = (np.searchsorted(self._ordered, seen.sort().to_numpy(), side) for side in ("left", "right"))
        return self._pools[spans(first, end - first)]


def _rows(batch: Batch, settings: Settings) -> pl.DataFrame:
    """`task, rows`: about how many candidates of a task the scoring will list."""
    events = batch.items.filter(pl.col("section").cast(pl.String) == "history").select("item")
    history = batch.with_frames(
        pools=batch.pools.join(events, on="item", how="semi"), added=batch.added.join(events, on="item", how="semi")
    )
    most, events_of = listed(settings), alive_counts(history).select("task", events=pl.col("candidates"))
    rows = pl.col("candidates").cast(pl.Int64)
    if most is not None:
        rows -= (pl.col("events").fill_null(0).cast(pl.Int64) - most).clip(lower_bound=0)
    return alive_counts(batch).join(events_of, on="task", how="left").select("task", rows=rows)


def trimmed(batch: Batch, settings: Settings) -> Batch:
    """The batch with the candidates that are written down: all selected ones and the best of the others."""
    most, candidates = settings.audit.max_rows_per_task, batch.candidates
    if candidates is None or not most:
        return batch
    starts, lengths = runs(candidates["task"].to_numpy())
    if lengths.max(initial=0) <= most:
        return batch
    dropped = candidates["reason"].is_not_null().to_numpy()
    counted = np.cumsum(dropped)  # rows are in the order of their ranks
    before = counted[starts] - dropped[starts]
    room = most - lengths + np.add.reduceat(dropped, starts, dtype=np.int64)
    kept = ~dropped | (counted <= np.repeat(before + room, lengths))
    return batch.with_frames(candidates=candidates.filter(pl.Series(kept)))


def merged(batch: Batch, parts: Sequence[Batch]) -> Batch:
    """The pooled stages' batch with what the shards found out about their tasks."""
    found = [part.candidates for part in parts if part.candidates is not None]
    counts = [part.stages.join(batch.stages, on=["task", "stage"], how="anti") for part in parts]
    return batch.with_frames(
        candidates=pl.concat(found) if found else None,
        beyond=pl.concat([part.beyond for part in parts]),
        prompts=pl.concat([part.prompts for part in parts]).sort("task"),
        stages=pl.concat([batch.stages, *counts]).sort("task", "stage"),
    )

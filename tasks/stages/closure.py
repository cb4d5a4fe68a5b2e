"""Stage 2: what makes a candidate readable comes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import REASON, STAGE, Batch
from tasks.lineage import parents

if TYPE_CHECKING:
    from tasks.settings import Settings

NAME = "resolve_dependency_closure"


def resolve_dependency_closure(batch: Batch, settings: Settings) -> Batch:  # noqa: ARG001 - stages share a signature
    """Adds every missing ancestor of a task's candidates, whatever its kind, task or graph.

    Cycles and self-parents end by themselves; a parent that does not exist is passed over. An ancestor that stage 1
    had left out is brought back.

    Cost: one small join a generation of ancestors that are missing, over pools and not over pairs.
    """
    links = parents(batch.items)
    kept = batch.pools.filter(pl.col("reason").is_null()).select("pool", "item")
    missing = frontier = _above(kept, links, kept)
    while len(frontier):
        frontier = _above(frontier, links, pl.concat([kept, missing]))
        missing = pl.concat([missing, frontier])
    in_pools = kept.join(missing.select("item").unique(), on="item", how="semi").join(batch.memberships, on="pool")
    added = (
        missing.join(batch.memberships, on="pool")
        .select("task", "item")
        .unique()
        .join(in_pools, on=["task", "item"], how="anti")
        .sort("task", "item")
        .with_columns(stage=pl.lit(None, STAGE), reason=pl.lit(None, REASON))
    )
    return batch.with_frames(added=added)


def _above(rows: pl.DataFrame, links: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """`pool, item` of the parents of rows, without those already known."""
    return (
        rows.join(links, on="item")
        .select("pool", pl.col("parent").alias("item"))
        .unique()
        .join(known, on=["pool", "item"], how="anti")
    )

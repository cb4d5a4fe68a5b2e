"""Stage 6: what says the same thing twice goes, greedy in score order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import REASON, STAGE, Batch
from tasks.corpus import corpus
from tasks.lineage import parents

if TYPE_CHECKING:
    from tasks.settings import Settings

NAME = "deduplicate_candidates"


def deduplicate_candidates(batch: Batch, settings: Settings) -> Batch:
    """Drops each candidate whose words are nearly those of a better one that was kept (Jaccard >= the threshold).

    It is compared with kept candidates only, so that likeness does not pass on. With guards what a kept candidate
    descends from stays; what else they keep apart is said in `tasks/likeness.py`.

    Cost: per task only items that are like another are replayed, in rank order, a few joins in all.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    if settings.dedup.threshold > 1 or candidates.is_empty():
        return batch
    like = (batch.corpus or corpus(batch.items, settings)).likeness
    pairs = candidates.select("task", "item", "rank").join(like.classes, on="item")
    lost = _lost(pairs, like.edges)
    if settings.dedup.guards and len(lost):
        lost = _without_ancestors(lost, candidates, parents(batch.items))
    if lost.is_empty():
        return batch
    marked = candidates.join(lost, on=["task", "item"], how="left", maintain_order="left")
    gone = pl.col("winner").is_not_null()
    return batch.with_frames(
        candidates=marked.with_columns(
            stage=pl.when(gone).then(pl.lit(NAME, STAGE)).otherwise("stage"),
            reason=pl.when(gone).then(pl.lit("duplicate", REASON)).otherwise("reason"),
            duplicate_of=pl.col("winner"),
        ).drop("winner")
    )


def _lost(pairs: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """`task, item, winner` of the candidates that go.

    The best of a class stands for it. A class goes if a better class that may replace it was kept; all of its items
    then go, else all but the best. Rounds settle at least the best unsettled class of every chain.
    """
    best = (
        pairs.sort("task", "rank")
        .group_by("task", "class", maintain_order=True)
        .agg(pl.first("rank"), head=pl.first("item"))
    )
    rivals = (
        best.select("task", "class", "rank")
        .join(edges.select(pl.col("loser").alias("class"), "winner"), on="class")
        .join(
            best.select("task", pl.col("class").alias("winner"), pl.col("rank").alias("better")), on=["task", "winner"]
        )
        .filter(pl.col("better") < pl.col("rank"))
        .select("task", "class", "winner", "better")
    )
    out = pl.DataFrame(schema={"task": pl.UInt32, "class": pl.UInt32, "winner": pl.UInt32})
    open_rivals = rivals
    undecided = rivals.select("task", "class").unique()
    while len(undecided):
        as_winner = undecided.select("task", pl.col("class").alias("winner"))
        beaten = (
            open_rivals.join(as_winner, on=["task", "winner"], how="anti")  # what is no longer undecided was kept
            .sort("task", "class", "better")
            .group_by("task", "class", maintain_order=True)
            .agg(pl.first("winner"))
        )
        out = pl.concat([out, beaten])
        gone = beaten.select("task", pl.col("class").alias("winner"))
        open_rivals = open_rivals.join(gone, on=["task", "winner"], how="anti").join(
            beaten.select("task", "class"), on=["task", "class"], how="anti"
        )
        undecided = open_rivals.select("task", "class").unique()
    heads = best.select("task", "class", "head")
    winner = heads.select("task", pl.col("class").alias("winner"), pl.col("head").alias("by"))
    beaten_by = out.join(winner, on=["task", "winner"]).select("task", "class", "by")
    return (
        pairs.join(heads, on=["task", "class"])
        .join(beaten_by, on=["task", "class"], how="left")
        .with_columns(winner=pl.coalesce("by", pl.when(pl.col("item") != pl.col("head")).then("head")))
        .drop_nulls("winner")
        .select("task", "item", "winner")
    )


def _without_ancestors(lost: pl.DataFrame, candidates: pl.DataFrame, family: pl.DataFrame) -> pl.DataFrame:
    """The lost candidates without those that a candidate which stays descends from."""
    links = family.select(pl.col("parent").alias("item"), pl.col("item").alias("child"))
    families = (
        lost.select("task", "item")
        .join(links, on="item")
        .join(candidates.select("task", pl.col("item").alias("child")), on=["task", "child"], how="semi")
    )
    gone = lost.select("task", pl.col("item").alias("child"))
    needed = frontier = families.join(gone, on=["task", "child"], how="anti").select("task", "item").unique()
    while len(frontier):
        frontier = (
            families.join(frontier.rename({"item": "child"}), on=["task", "child"], how="semi")
            .select("task", "item")
            .unique()
            .join(needed, on=["task", "item"], how="anti")
        )
        needed = pl.concat([needed, frontier])
    return lost.join(needed, on=["task", "item"], how="anti")

"""Stage 6: what says the same thing twice goes, greedy in score order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.batch import REASON, STAGE, Batch
from tasks.corpus import corpus
from tasks.lineage import parents
from tasks.pairs import bounds

if TYPE_CHECKING:
    from tasks.likeness import Likeness
    from tasks.settings import Settings

NAME = "deduplicate_candidates"
_MOST_JOINED = 5_000_000  # rows of tasks and edges, about 100 MB
_NOWHERE = -1


def deduplicate_candidates(batch: Batch, settings: Settings) -> Batch:
    """Drops each candidate whose words are nearly those of a better one that was kept (Jaccard >= the threshold).

    It is compared with kept candidates only, so that likeness does not pass on. With guards what a kept candidate
    descends from stays; what else they keep apart is said in `tasks/likeness.py`.

    Cost: per task only items that are like another are replayed, a few joins in all; where most of them are like most
    others, a look at each and at what the kept ones are like.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    if settings.dedup.threshold > 1 or candidates.is_empty():
        return batch
    like = (batch.corpus or corpus(batch, settings)).likeness
    pairs = candidates.select("task", "item", "rank").join(like.classes, on="item")
    lost = _lost(pairs, like)
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


def _lost(pairs: pl.DataFrame, like: Likeness) -> pl.DataFrame:
    """`task, item, winner` of the candidates that go.

    The best of a class stands for it. A class goes if a better class that may replace it was kept, in favour of the
    best such; all of its items then go, else all but the best.
    """
    best = (
        pairs.sort("task", "rank")
        .group_by("task", "class", maintain_order=True)
        .agg(pl.first("rank"), head=pl.first("item"))
    )
    many = len(like.edges) * best["task"].n_unique() > _MOST_JOINED
    beaten = _replayed(best, like) if many else _settled(best, like.edges)
    heads = best.select("task", "class", "head")
    winner = heads.select("task", pl.col("class").alias("winner"), pl.col("head").alias("by"))
    beaten_by = beaten.join(winner, on=["task", "winner"]).select("task", "class", "by")
    return (
        pairs.join(heads, on=["task", "class"])
        .join(beaten_by, on=["task", "class"], how="left")
        .with_columns(winner=pl.coalesce("by", pl.when(pl.col("item") != pl.col("head")).then("head")))
        .drop_nulls("winner")
        .select("task", "item", "winner")
    )


def _settled(best: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """`task, class, winner` of the classes that go, for all tasks at once.

    Rounds settle at least the best unsettled class of every chain. Holds a row a task and an edge.
    """
    rivals = (
        best.select("task", "class", "rank")
        .join(edges.select(pl.col("loser").alias("class"), "winner"), on="class")
        .join(
            best.select("task", pl.col("class").alias("winner"), pl.col("rank").alias("better")), on=["task", "winner"]
        )
        .filter(pl.col("better") < pl.col("rank"))
        .select("task", "class", "winner", "better")
    )
    out = best.select("task", "class").clear()
    open_rivals = rivals
    undecided = rivals.select("task", "class").unique()
    while len(undecided):
        as_winner = undecided.select("task", pl.col("class").alias("winner"))
        # what is no longer undecided was kept
        beaten = open_rivals.join(as_winner, on=["task", "winner"], how="anti").select("task", "class").unique()
        out = pl.concat([out, beaten])
        gone = beaten.select("task", pl.col("class").alias("winner"))
        open_rivals = open_rivals.join(gone, on=["task", "winner"], how="anti").join(
            beaten, on=["task", "class"], how="anti"
        )
        undecided = open_rivals.select("task", "class").unique()
    kept = rivals.join(out.rename({"class": "winner"}), on=["task", "winner"], how="anti")
    return kept.sort("task", "class", "better").group_by("task", "class", maintain_order=True).agg(pl.first("winner"))


def _replayed(best: pl.DataFrame, like: Likeness) -> pl.DataFrame:
    """The same, a task at a time: each class that is kept beats at once all that it is like.

    For classes of which most are like most others, so that few are kept.
    """
    tasks, classes = best["task"].to_numpy(), best["class"].to_numpy()
    place_of = np.full(like.size, _NOWHERE, np.intp)
    beaten = np.full(len(best), _NOWHERE, np.intp)
    for start, end in bounds(tasks):
        own = classes[start:end]
        place_of[own] = np.arange(start, end)
        for place, winner in enumerate(own.tolist(), start):
            if beaten[place] == _NOWHERE:
                behind = place_of[like.losers(winner)]
                behind = behind[behind > place]
                beaten[behind[beaten[behind] == _NOWHERE]] = place
        place_of[own] = _NOWHERE
    gone = beaten != _NOWHERE
    return best.select("task", "class").filter(gone).with_columns(winner=pl.Series(classes[beaten[gone]]))


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

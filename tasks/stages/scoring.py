"""Stage 5: how much each candidate is worth to its task. Here pools become pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import REASON, STAGE, Batch
from tasks.passages import words_with_headings
from tasks.text import token_table

if TYPE_CHECKING:
    from tasks.settings import ScoringSettings, Settings

NAME = "score_candidates"

#: How much each kind is worth by itself.
KIND_PRIORITY = {
    "policy": 1.0,
    "plan_state": 0.9,
    "user_turn": 0.85,
    "agent_msg": 0.7,
    "tool_call": 0.6,
    "tool_result": 0.55,
    "memory_fact": 0.5,
    "retrieved_doc": 0.45,
    "doc_snippet": 0.4,
}
PENALTY_TOKENS = 500  # an item of so many tokens has half the penalty's worth

_JOINED_ROWS = 20_000_000  # most (task, item, word) rows that are held at once
_K1, _B = 1.2, 0.75  # the usual constants of Okapi BM25


def score_candidates(batch: Batch, settings: Settings) -> Batch:
    """Turns pools into pairs and ranks each task's candidates.

    The score is the weighted sum of recency (`(i + 1) / n` by place among the task's history, 1 for standing
    documents), similarity to the task's words, the kind's priority and a penalty for length. Ties go by item id.

    Cost: a join of the tasks' words with the items' words, then a sort of the pairs; about 0.2 s a million pairs.
    """
    pairs = _pairs(batch)
    items = batch.items.select(
        "item",
        "position",
        history=pl.col("section").cast(pl.String) == "history",
        kind_priority=pl.col("kind").cast(pl.String).replace_strict(KIND_PRIORITY, return_dtype=pl.Float64),
        token_penalty=1.0 / (1.0 + pl.col("tokens") / PENALTY_TOKENS),
    )
    weights = settings.scoring.weights
    score = (
        weights.recency * pl.col("recency")
        + weights.similarity * pl.col("similarity")
        + weights.kind * pl.col("kind_priority")
        + weights.penalty * pl.col("token_penalty")
    )
    candidates = (
        pairs.lazy()
        .join(items.lazy(), on="item")
        .join(_similarities(batch, settings.scoring).lazy(), on=["task", "item"], how="left")
        .with_columns(pl.col("similarity").fill_null(0.0), recency=_recency())
        .with_columns(score=score)
        .sort(["task", "score", "item"], descending=[False, True, False])
        .with_columns(rank=(pl.int_range(pl.len(), dtype=pl.UInt32).over("task") + 1))
        .select(
            "task",
            "item",
            "recency",
            "similarity",
            "kind_priority",
            "token_penalty",
            "score",
            "rank",
            stage=pl.lit(None, STAGE),
            reason=pl.lit(None, REASON),
            duplicate_of=pl.lit(None, pl.UInt32),
            shortfall_tokens=pl.lit(None, pl.UInt32),
            prompt_order=pl.lit(None, pl.UInt32),
            text=pl.lit(None, pl.String),
        )
        .collect()
    )
    return batch.with_frames(candidates=candidates)


def _pairs(batch: Batch) -> pl.DataFrame:
    """`task, item` of every candidate that is still in: an item is in one of a task's pools, or added to the task."""
    pooled = batch.memberships.join(batch.pools.filter(pl.col("reason").is_null()).select("pool", "item"), on="pool")
    added = batch.added.filter(pl.col("reason").is_null())
    return pl.concat([pooled.select("task", "item"), added.select("task", "item")])


def _recency() -> pl.Expr:
    place = pl.col("position").rank("ordinal").over("task", "history")
    return pl.when("history").then(place / pl.len().over("task", "history")).otherwise(1.0)


def task_words(batch: Batch, settings: ScoringSettings) -> pl.DataFrame:
    """`task, token`: the distinct words of each task's title, description and paths."""
    texts = batch.tasks.select(
        pl.col("task").alias("id"),
        pl.concat_str(
            "title",
            "description",
            *(pl.col(name).list.join(" ") for name in ("files_create", "files_modify", "files_read", "files_delete")),
            separator="\n",
        ).alias("text"),
    )
    return token_table(texts, settings.words).rename({"id": "task"})


def _similarities(batch: Batch, settings: ScoringSettings) -> pl.DataFrame:
    """`task, item, similarity` of the pairs that share a word; all others have none."""
    query = task_words(batch, settings)
    words = words_with_headings(batch.items, settings.words)
    if settings.similarity == "tags":
        words = _tag_words(batch.items, words, settings)
    codes = pl.concat([query.select("token"), words.select("token")]).unique().sort("token").with_row_index("word")
    query, words = (
        frame.join(codes, on="token").select(name, "word") for frame, name in ((query, "task"), (words, "item"))
    )
    weights = _word_weights(words, settings.similarity)
    shared = _shared(query, words.join(weights, on="word"))
    return _normalised(shared, query, words, weights, settings.similarity)


def _tag_words(items: pl.DataFrame, words: pl.DataFrame, settings: ScoringSettings) -> pl.DataFrame:
    """The words of an item's tags in place of those of its text, where it has any."""
    tagged = items.filter(pl.col("tags").list.len() > 0)
    tags = token_table(
        tagged.select(pl.col("item").alias("id"), pl.col("tags").list.join(" ").alias("text")), settings.words
    )
    return pl.concat([words.join(tagged, on="item", how="anti"), tags.rename({"id": "item"}).select("item", "token")])


def _word_weights(words: pl.DataFrame, similarity: str) -> pl.DataFrame:
    """`word, weight`: what a shared word counts."""
    frequency = words.group_by("word").agg(df=pl.len())
    count = words["item"].n_unique()
    weight = pl.lit(1.0)
    if similarity == "bm25":
        weight = (1 + (count - pl.col("df") + 0.5) / (pl.col("df") + 0.5)).log()
    elif similarity == "tfidf":
        weight = (((1 + count) / (1 + pl.col("df"))).log() + 1) ** 2
    return frequency.select("word", weight=weight)


def _shared(query: pl.DataFrame, words: pl.DataFrame) -> pl.DataFrame:
    """`task, item, shared`: the summed weight of the words that a task and an item share, tasks in bounded chunks."""
    frequency = words.group_by("word").agg(df=pl.len())
    load = query.join(frequency, on="word").group_by("task").agg(rows=pl.sum("df")).sort("task")
    load = load.with_columns(chunk=pl.col("rows").cum_sum() // _JOINED_ROWS)
    parts = [
        query.join(chunk, on="task", how="semi")
        .lazy()
        .join(words.lazy(), on="word")
        .group_by("task", "item")
        .agg(shared=pl.col("weight").sum() if words["weight"].dtype.is_float() else pl.len())
        .collect()
        for chunk in load.partition_by("chunk", maintain_order=True)
    ]
    empty = pl.DataFrame(schema={"task": pl.UInt32, "item": pl.UInt32, "shared": pl.Float64})
    return pl.concat([empty, *parts])


def _normalised(
    shared: pl.DataFrame, query: pl.DataFrame, words: pl.DataFrame, weights: pl.DataFrame, similarity: str
) -> pl.DataFrame:
    """Sums of shared weights, brought to 0..1 by the measure's own rule."""
    of_task = query.group_by("task").agg(of_task=pl.len())
    of_item = words.group_by("item").agg(of_item=pl.len())
    if similarity == "tfidf":
        unseen = (math.log(1 + words["item"].n_unique()) + 1) ** 2  # the weight of a word that no item has
        of_task = (
            query.join(weights, on="word", how="left")
            .group_by("task")
            .agg(of_task=pl.col("weight").fill_null(unseen).sort().sum())
        )
        of_item = words.join(weights, on="word").group_by("item").agg(of_item=pl.col("weight").sort().sum())
    sized = shared.join(of_task, on="task").join(of_item, on="item")
    if similarity == "tfidf":
        value = (pl.col("shared") / (pl.col("of_task") * pl.col("of_item")).sqrt()).clip(0.0, 1.0)
    elif similarity == "bm25":
        average = of_item["of_item"].mean() or 1.0
        saturated = pl.col("shared") * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * pl.col("of_item") / average))
        value = saturated / saturated.max().over("task")
    else:
        return sized.select(
            "task", "item", similarity=pl.col("shared") / (pl.col("of_task") + pl.col("of_item") - pl.col("shared"))
        )
    # sums of fractions depend on their order in the last bits
    return sized.select("task", "item", similarity=value.round(9))

"""What the items of a build say together, worked out once for all tasks: which words, and which of them are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tasks.likeness import Likeness, likeness
from tasks.lineage import lineage
from tasks.offers import Offers, offered
from tasks.passages import bare_headings, with_heading_words
from tasks.similarity import Asked, Similarity, with_tag_words
from tasks.text import token_table, word_table
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from tasks.batch import Batch
    from tasks.settings import Settings
    from tasks.text import Words


@dataclass(frozen=True)
class Corpus:
    """What the later stages know of items whatever the task. It holds for the frame of items that it was made of."""

    similarity: Similarity
    asked: Asked
    """The words of all tasks."""
    likeness: Likeness
    lineage: pl.DataFrame
    """What `tasks.lineage.lineage` says of the items."""
    headings: pl.Series
    """Places of the headings of documents and rule sets, which by themselves say nothing."""
    offers: Offers
    """What each item costs in a prompt."""


def corpus(batch: Batch, settings: Settings) -> Corpus:
    """The corpus of a batch's items.

    Cost: one pass over the texts, about 0.2 s for 10,000 items of 40 words, and what likeness costs.
    """
    items = batch.items
    words = word_table(items.select(pl.col("item").alias("id"), "text"), settings.scoring.words)
    searched = with_heading_words(items, words)
    if settings.scoring.similarity == "tags":
        searched = with_tag_words(items, searched, settings.scoring.words)
    similarity, family = Similarity(searched, settings.scoring.similarity), lineage(items)
    return Corpus(
        similarity=similarity,
        asked=similarity.asked(task_words(batch.tasks, settings.scoring.words)),
        likeness=likeness(items, words.rows.rename({"id": "item"}), family, settings),
        lineage=family,
        headings=bare_headings(items)["item"],
        offers=offered(items, family, token_counter(settings.tokens), settings.render),
    )


def task_words(tasks: pl.DataFrame, words: Words) -> pl.DataFrame:
    """`task, token`: the distinct words of each task's title, description and paths."""
    texts = tasks.select(
        pl.col("task").alias("id"),
        pl.concat_str(
            "title",
            "description",
            *(pl.col(name).list.join(" ") for name in ("files_create", "files_modify", "files_read", "files_delete")),
            separator="\n",
        ).alias("text"),
    )
    return token_table(texts, words).rename({"id": "task"})


def lineage_of(batch: Batch) -> pl.DataFrame:
    """The lineage of a batch's items, from its corpus where it has one."""
    return batch.corpus.lineage if batch.corpus else lineage(batch.items)


def headings_of(batch: Batch) -> pl.Series:
    """The places of a batch's bare headings, from its corpus where it has one."""
    return batch.corpus.headings if batch.corpus else bare_headings(batch.items)["item"]


def offers_of(batch: Batch, settings: Settings) -> Offers:
    """What a batch's items cost, from its corpus where it has one."""
    if batch.corpus:
        return batch.corpus.offers
    return offered(batch.items, lineage(batch.items), token_counter(settings.tokens), settings.render)

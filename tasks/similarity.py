"""How alike a task and an item are, by the words that they share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tasks.pairs import Lists, runs
from tasks.text import numbered, spelled, token_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasks.text import Words, WordTable

_K1, _B = 1.2, 0.75  # the usual constants of Okapi BM25
_RARE = 3  # times as many items as hold a task's words, from which on those words are rare


class Asked(NamedTuple):
    """What tasks ask for: of each the words that stand in some item, and its size."""

    tasks: NDArray[np.uint32]
    """Tasks that have words, in order."""
    words: NDArray[np.uint32]
    """By task, numbered as in the index."""
    starts: NDArray[np.intp]
    """Where each task's words begin."""
    ends: NDArray[np.intp]
    """And end."""
    sizes: NDArray[np.float64]
    """How many words a task has; for `tfidf` the sum of their weights, of those in no item too."""


class Similarity:
    """An index of the words of items: for each word the items in which it stands.

    Args:
        words: the distinct words of items, by their places.
        measure: `jaccard`, `bm25`, `tfidf`, or `tags`, which is Jaccard over the words that `with_tag_words` gives.
    """

    def __init__(self, words: WordTable, measure: str) -> None:
        item, word = (words.rows[column].to_numpy() for column in ("id", "word"))
        sizes = np.bincount(item)
        self._holders = Lists(word, item)
        self._measure = measure
        self._count = int(np.count_nonzero(sizes))
        known = pl.DataFrame({"token": words.vocabulary, "df": self._holders.often.astype(np.uint32)}).with_row_index(
            "word"
        )
        self._words = known.select("token", "word", weight=_weight(measure, self._count))
        self._weights = self._words["weight"].to_numpy()
        self._average = float(sizes.sum() / max(self._count, 1) or 1.0)
        self._sizes = sizes.astype(np.float64)
        if measure == "tfidf":
            weights = words.rows.join(self._words, on="word").group_by("id").agg(size=pl.col("weight").sort().sum())
            self._sizes[weights["id"].to_numpy()] = weights["size"].to_numpy()

    def asked(self, queries: pl.DataFrame) -> Asked:
        """What tasks ask for, to be found in this index.

        Args:
            queries: `task, token`, a row a distinct word of a task.
        """
        coded = queries.join(self._words, on="token", how="left")
        unseen = (math.log(1 + self._count) + 1) ** 2  # of a word that no item has
        own = pl.col("weight").fill_null(unseen).sort().sum() if self._measure == "tfidf" else pl.len().cast(pl.Float64)
        sizes = coded.group_by("task").agg(size=own).sort("task")
        seen = coded.drop_nulls("word").sort("task", "word")
        words, of_task = seen["word"].to_numpy(), seen["task"].to_numpy()
        tasks = sizes["task"].to_numpy()
        starts, ends = (np.searchsorted(of_task, tasks, side) for side in ("left", "right"))
        return Asked(tasks, words, starts, ends, sizes["size"].to_numpy())

    def of(self, asked: Asked, tasks: pl.Series) -> Iterator[tuple[int, NDArray[np.uint32], NDArray[np.float64]]]:
        """By task the items that share a word with it, in their order, and how alike they are, above 0 to 1.

        Args:
            asked: what tasks ask for.
            tasks: those of them that matter.

        Cost: a step a shared word of a task and an item; of common words no more than one an item besides.
        """
        wanted = np.isin(asked.tasks, tasks.to_numpy()).nonzero()[0]
        columns = (asked.tasks, asked.sizes, asked.starts, asked.ends)
        for task, size, start, end in zip(*(column[wanted].tolist() for column in columns), strict=True):
            if start < end:
                found, shared = self._shared(asked.words[start:end])
                yield task, found, self._normalised(shared, size, self._sizes[found])

    def _shared(self, words: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """The items in which any of these words stands, and the summed weight of those that do."""
        items = self._holders.of(words)
        plain = self._measure in ("jaccard", "tags")
        if plain and len(items) * _RARE < len(self._sizes):  # sorting a few is faster than a count of every item
            items.sort()
            starts, lengths = runs(items)
            return items[starts], lengths.astype(np.float64)
        sums = np.bincount(items, None if plain else np.repeat(self._weights[words], self._holders.often[words]))
        found = np.flatnonzero(sums != 0).astype(np.uint32)
        return found, sums[found].astype(np.float64)

    def _normalised(
        self, shared: NDArray[np.float64], of_task: float, of_item: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sums of shared weights, brought to 0..1 by the measure's own rule."""
        if self._measure == "tfidf":
            value = np.clip(shared / np.sqrt(of_task * of_item), 0.0, 1.0)
        elif self._measure == "bm25":
            saturated = shared * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * of_item / self._average))
            value = saturated / saturated.max()
        else:
            return shared / (of_task + of_item - shared)
        # sums of fractions depend on their order in the last bits
        return pl.Series(value).round(9).to_numpy()


def _weight(measure: str, count: int) -> pl.Expr:
    """What a shared word counts, by the number of items in which it stands."""
    if measure == "bm25":
        return (1 + (count - pl.col("df") + 0.5) / (pl.col("df") + 0.5)).log()
    if measure == "tfidf":
        return (((1 + count) / (1 + pl.col("df"))).log() + 1) ** 2
    return pl.lit(1.0)


def with_tag_words(items: pl.DataFrame, words: WordTable, rule: Words) -> WordTable:
    """The words of an item's tags in place of those of its text, where it has any."""
    tagged = items.filter(pl.col("tags").list.len() > 0).select(pl.col("item").alias("id"), "tags")
    tags = token_table(tagged.select("id", text=pl.col("tags").list.join(" ")), rule)
    return numbered(pl.concat([spelled(words).join(tagged, on="id", how="anti"), tags]))

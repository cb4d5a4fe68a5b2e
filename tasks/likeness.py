"""Which items say nearly the same, whatever the task that sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.near_sets import near_sets
from tasks.pairs import Lists, bounds
from tasks.text import difference_marks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasks.settings import Settings


_WORD = 4  # bytes of a word's number
_COLUMNS = (("item", "class"), ("loser", "winner"))
_GROUP = pl.Enum(("any", "brief", "policy", "history", "document"))  # a byte each: of pairs there may be millions


@dataclass(frozen=True)
class Likeness:
    """Classes of items that say the same, and which class may go in favour of which.

    Only classes of which an item may go, or make another go, are listed.
    """

    classes: pl.DataFrame
    """`item, class`."""
    edges: pl.DataFrame
    """`loser, winner`, both classes."""

    @property
    def size(self) -> int:
        """One more than the highest class."""
        return 1 + int(self.classes["class"].max() or 0)  # type: ignore[arg-type]

    def losers(self, winner: int) -> NDArray[np.uint32]:
        """The classes that may go in favour of one."""
        return self._losers.of(np.array([winner], np.uint32))

    @cached_property
    def _losers(self) -> Lists:
        return Lists(self.edges["winner"].to_numpy(), self.edges["loser"].to_numpy(), self.size)


def likeness(items: pl.DataFrame, words: pl.DataFrame, family: pl.DataFrame, settings: Settings) -> Likeness:
    """Compares all items with each other (Jaccard >= the threshold), by the rules that the guards add.

    With guards an item is no duplicate of its ancestor or descendant, nor where a negation, a number or a single
    letter differs; the brief is none of anything, a policy only of a policy, a document only of a document.

    Args:
        items: those of a batch.
        words: `item, word`, the distinct words of each, by both.
        family: their lineage.
        settings: the threshold and whether there are guards.

    Cost: an exact prefix-filter join over the distinct sets of words, about 0.5 s for 10,000 items of 40 words.
    """
    threshold, guards = settings.dedup.threshold, settings.dedup.guards
    if threshold > 1:
        return Likeness(*(pl.DataFrame(schema=dict.fromkeys(names, pl.UInt32)) for names in _COLUMNS))
    said = items.filter(pl.col("text") != "")
    classes = _classes(said, words, guards=guards)
    edges = _edges(classes, words, threshold)
    if guards:
        classes, edges = _set_relatives_apart(classes, edges, family.select("item", "root", "enter", "leave"))
        edges = edges.filter(_may_repeat())
    in_play = pl.concat([edges["loser"], edges["winner"], _crowded(classes)]).unique()
    kept = classes.filter(pl.col("class").is_in(in_play.implode()))
    return Likeness(kept.select("item", "class"), edges.select("loser", "winner"))


def _classes(items: pl.DataFrame, words: pl.DataFrame, *, guards: bool) -> pl.DataFrame:
    """`item, class, group, marks, size`: items with the same words (and marks, and group) are one class.

    An item without words is like none; with guards it is like those whose text is the same. Classes are numbered from
    0, in the order of their first items.
    """
    sets = _sets(words)
    wordless = ~pl.col("item").is_in(pl.Series(list(sets), dtype=pl.UInt32).implode())
    marks, group = (difference_marks(pl.col("text")), _group()) if guards else (pl.lit(""), pl.lit("any"))
    bare = pl.when(wordless).then(pl.col("text").str.strip_chars()) if guards else pl.lit(None, pl.String)
    rows = items.select("item", bare=bare, marks=marks, group=group.cast(_GROUP)).filter(pl.col("group") != "brief")
    numbers: dict[tuple[bytes | str | None, str, str], int] = {}
    keys = ((sets.get(item, bare), marks, group) for item, bare, marks, group in rows.iter_rows())
    found = [None if key[0] is None else numbers.setdefault(key, len(numbers)) for key in keys]
    size = [len(sets.get(item, b"")) // _WORD for item in rows["item"]]
    return (
        rows.drop("bare")
        .with_columns(pl.Series("class", found, pl.UInt32), pl.Series("size", size, pl.UInt32))
        .drop_nulls("class")
    )


def _sets(words: pl.DataFrame) -> dict[int, bytes]:
    """The words of each item as one key, made of their numbers in order."""
    item, numbers = words["item"].to_numpy(), words["word"].to_numpy().tobytes()
    return {int(item[start]): numbers[_WORD * start : _WORD * end] for start, end in bounds(item)}


def _group() -> pl.Expr:
    section = pl.col("section").cast(pl.String)
    return (
        pl.when(section == "brief")
        .then(pl.lit("brief"))
        .when((section == "rules") | (pl.col("kind").cast(pl.String) == "policy"))
        .then(pl.lit("policy"))
        .when(section == "history")
        .then(pl.lit("history"))
        .otherwise(pl.lit("document"))
    )


def _may_repeat() -> pl.Expr:
    """Whether a class may go in favour of another: what stands in history may repeat a document, not the reverse."""
    loser, winner = pl.col("loser_group"), pl.col("winner_group")
    return (loser == winner) | ((loser == "history") & (winner == "document"))


def _edges(classes: pl.DataFrame, words: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """`loser, winner` and their groups: ordered pairs of different classes, alike, with the same marks."""
    kinds = classes.unique("class", keep="first", maintain_order=True)
    first, item = kinds["item"].to_numpy(), words["item"].to_numpy()
    class_of = np.full(1 + max(first.max(initial=0), item.max(initial=0)), len(kinds), np.uint32)
    class_of[first] = np.arange(len(kinds))
    of = class_of[item]
    listed = of < len(kinds)
    marks = kinds["marks"].rank("dense").to_numpy()
    one, other = (pl.Series(side) for side in near_sets(of[listed], words["word"].to_numpy()[listed], marks, threshold))
    group = kinds["group"]
    loser, winner = pl.concat([one, other]), pl.concat([other, one])
    return pl.DataFrame(
        {"loser": loser, "winner": winner, "loser_group": group.gather(loser), "winner_group": group.gather(winner)}
    )


def _crowded(classes: pl.DataFrame) -> pl.Series:
    """The classes with more than one item."""
    return classes.filter(pl.len().over("class") > 1)["class"]


def _set_relatives_apart(
    classes: pl.DataFrame, edges: pl.DataFrame, relations: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Puts each item that is like one of its own relatives into a class of its own, its edges without that relative."""
    family = relations.filter(pl.len().over("root") > 1)
    placed = classes.join(family, on="item")
    if placed.is_empty():
        return classes, edges
    like = pl.concat(
        [
            edges.select(pl.col("loser").alias("class"), pl.col("winner").alias("other")),
            classes.select("class", pl.col("class").alias("other")).unique(),
        ]
    )
    near = (
        placed.lazy()
        .join(like.lazy(), on="class")
        .join(placed.lazy(), left_on=["other", "root"], right_on=["class", "root"], suffix="_b")
        .filter(pl.col("item") != pl.col("item_b"))
        .filter((pl.col("enter") <= pl.col("enter_b")) & (pl.col("enter_b") < pl.col("leave")))
        .select("item", "item_b")
        .unique()
        .collect()
    )
    if near.is_empty():
        return classes, edges
    apart = pl.concat([near["item"], near["item_b"]]).unique().sort()
    top = classes["class"].max()
    assert isinstance(top, int)
    alone = pl.DataFrame({"item": apart}).with_columns(alone=pl.int_range(pl.len(), dtype=pl.UInt32) + top + 1)
    renamed = classes.join(alone, on="item", how="left", maintain_order="left").with_columns(
        old=pl.col("class"), **{"class": pl.coalesce("alone", "class").cast(pl.UInt32)}
    )
    names = renamed.select("old", "class", "group", single=pl.when(pl.col("alone").is_not_null()).then("item")).unique()
    groups = names.select("old", "class", "group", "single")
    wide = pl.concat(
        [
            edges.select("loser", "winner"),
            classes.select(pl.col("class").alias("loser"), pl.col("class").alias("winner")).unique(),
        ]
    )
    expanded = (
        wide.join(groups, left_on="loser", right_on="old")
        .join(groups, left_on="winner", right_on="old", suffix="_w")
        .filter(pl.col("class") != pl.col("class_w"))
    )
    relatives = pl.concat([near, near.select(pl.col("item_b").alias("item"), pl.col("item").alias("item_b"))])
    expanded = expanded.join(
        relatives, left_on=["single", "single_w"], right_on=["item", "item_b"], how="anti", nulls_equal=False
    )
    return (
        renamed.select("item", "class", "group", "marks", "size"),
        expanded.select(loser="class", winner="class_w", loser_group="group", winner_group="group_w"),
    )

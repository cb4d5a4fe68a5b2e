"""Which items say nearly the same, whatever the task that sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tasks.text import difference_marks

if TYPE_CHECKING:
    from tasks.settings import Settings


_COLUMNS = (("item", "class"), ("loser", "winner"))


@dataclass(frozen=True)
class Likeness:
    """Classes of items that say the same, and which class may go in favour of which.

    Only classes of which an item may go, or make another go, are listed.
    """

    classes: pl.DataFrame
    """`item, class`."""
    edges: pl.DataFrame
    """`loser, winner`, both classes."""


def likeness(items: pl.DataFrame, words: pl.DataFrame, family: pl.DataFrame, settings: Settings) -> Likeness:
    """Compares all items with each other (Jaccard >= the threshold), by the rules that the guards add.

    With guards an item is no duplicate of its ancestor or descendant, nor where a negation, a number or a single
    letter differs; the brief is none of anything, a policy only of a policy, a document only of a document.

    Args:
        items: those of a batch.
        words: `item, token`, the distinct words of each.
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

    An item without words is like none; with guards it is like those whose text is the same.
    """
    said = words.group_by("item").agg(words=pl.col("token").sort().str.join(" "), size=pl.len())
    rows = items.select("item", "text", "section", "kind").join(said, on="item", how="left", maintain_order="left")
    if guards:
        key = pl.col("words").fill_null(pl.concat_str(pl.lit("\x1f"), pl.col("text").str.strip_chars()))
        marks, group = difference_marks(pl.col("text")), _group()
    else:
        key, marks, group = pl.col("words"), pl.lit(""), pl.lit("any")
    rows = rows.select(
        "item", key.alias("words"), marks.alias("marks"), group.alias("group"), pl.col("size").fill_null(0)
    )
    identity = pl.struct("words", "marks", "group").rank("dense").cast(pl.UInt32)
    return (
        rows.drop_nulls("words").filter(pl.col("group") != "brief").with_columns(identity.alias("class")).drop("words")
    )


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
    """`loser, winner` and their groups: ordered pairs of different classes, alike, with the same marks.

    Two sets of sizes a <= b can only reach the threshold t if a >= t * b and if they share two words (one, where a
    single shared word may do) among the first `n - ceil(t * n) + 2` of each, words ordered rarest first: the second
    of their common words cannot stand further behind in either. Only such pairs are verified.
    """
    kinds = classes.group_by("class").agg(pl.col("item").min(), pl.first("marks", "group", "size"))
    kinds = kinds.filter(pl.col("size") > 0)
    worded = kinds.select("class", "item").join(words, on="item").select("class", "token")
    order = worded.group_by("token").agg(df=pl.len()).sort("df", "token").with_row_index("word")
    coded = (
        worded.join(order.select("token", "word"), on="token")
        .select("class", "word")
        .join(kinds.select("class", "size"), on="class")
    )
    least = (pl.col("size") * threshold - 1e-9).ceil()
    first = (
        coded.sort("class", "word")
        .with_columns(place=pl.int_range(pl.len()).over("class"), least=least)
        .filter(pl.col("place") < pl.col("size") - pl.col("least") + 2)
        .select("class", "word", "least")
    )
    facts = kinds.select("class", "size", "marks", "group")
    pairs = (
        _sharing_two(first)
        .lazy()
        .join(facts.lazy(), on="class")
        .join(facts.lazy(), left_on="class_b", right_on="class", suffix="_b")
        .filter(
            (pl.col("marks") == pl.col("marks_b"))
            & (pl.min_horizontal("size", "size_b") >= threshold * pl.max_horizontal("size", "size_b") - 1e-9)
        )
        .collect()
    )
    words_of = coded.select("class", "word")
    shared = (
        pairs.lazy()
        .select("class", "class_b")
        .join(words_of.lazy(), on="class")
        .join(words_of.lazy(), left_on=["class_b", "word"], right_on=["class", "word"], how="semi")
        .group_by("class", "class_b")
        .agg(shared=pl.len())
        .collect()
    )
    union = pl.col("size") + pl.col("size_b") - pl.col("shared")
    alike = pairs.join(shared, on=["class", "class_b"]).filter(pl.col("shared") / union >= threshold)
    one_way = alike.select(loser="class", winner="class_b", loser_group="group", winner_group="group_b")
    other_way = alike.select(loser="class_b", winner="class", loser_group="group_b", winner_group="group")
    return pl.concat([one_way, other_way])


def _sharing_two(first: pl.DataFrame) -> pl.DataFrame:
    """`class, class_b` of the classes that share two of their first words, or one where that may be all they share.

    Words are brought together one by one, or two by two where that makes fewer rows: with many items of few words the
    pairs that share one word grow with the square of the items, those that share two hardly at all.

    Args:
        first: `class, word`, and `least`, the words that the class shares with any that is like it.
    """
    one_by_one = first.group_by("word").len().select((pl.col("len").cast(pl.UInt64) ** 2).sum()).item()
    two_by_two = first.group_by("class").len().select((pl.col("len").cast(pl.UInt64) ** 2).sum()).item()
    tiny = _meeting(first.filter(pl.col("least") <= 1), ["word"])
    if one_by_one <= two_by_two:
        found = _meeting(first, ["word"]).filter(pl.len().over("class", "class_b") > 1)
    else:
        words = first.select("class", "word")
        twos = words.join(words, on="class", suffix="_2").filter(pl.col("word") < pl.col("word_2"))
        found = _meeting(twos, ["word", "word_2"])
    return pl.concat([tiny, found]).unique()


def _meeting(rows: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """`class, class_b`, a row whenever two classes have the same in these columns."""
    return (
        rows.lazy()
        .join(rows.lazy(), on=on, suffix="_b")
        .filter(pl.col("class") < pl.col("class_b"))
        .select("class", "class_b")
        .collect()
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

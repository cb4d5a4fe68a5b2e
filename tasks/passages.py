"""The words by which passages of documents are found: their own, and those of the heading right above."""

from __future__ import annotations

import polars as pl

from tasks.markdown import is_heading
from tasks.text import Words, WordTable, spelled, word_table

DOCUMENT_SECTIONS = ("requirements", "design", "reference")


def is_document() -> pl.Expr:
    """Whether an item is a passage of a document that several tasks may draw from."""
    section = pl.col("section").cast(pl.String)
    return section.is_in(list(DOCUMENT_SECTIONS)) & pl.col("task_id").is_null() & (pl.col("source") != "rules")


def headings(passages: pl.DataFrame) -> pl.DataFrame:
    """`item` of the passages that are headings by themselves; `passages` holds `item, text`."""
    return passages.filter(pl.Series([is_heading(text) for text in passages["text"]], dtype=pl.Boolean)).select("item")


def bare_headings(items: pl.DataFrame) -> pl.DataFrame:
    """`item` of the headings of documents and rule sets.

    By themselves they say nothing, so they come with what is under them or not at all.
    """
    rules = items.filter(pl.col("source") == "rules")
    files = rules.join(rules.select(pl.col("parent_id").alias("item_id")), on="item_id", how="semi")
    return pl.concat([headings(items.filter(is_document())), headings(files)])


def words_with_headings(items: pl.DataFrame, words: Words) -> pl.DataFrame:
    """The distinct words of items; a document's passage also has those of the heading that it stands under.

    A passage often leaves its subject to its heading.

    Args:
        items: `item, item_id, parent_id, section, task_id, source, text`.
        words: how text is split.

    Returns:
        `item, token`.
    """
    own = word_table(items.select(pl.col("item").alias("id"), "text"), words)
    return spelled(with_heading_words(items, own)).rename({"id": "item"})


def with_heading_words(items: pl.DataFrame, own: WordTable) -> WordTable:
    """The same for items whose own words are known."""
    passages = items.filter(is_document())
    heads = passages.join(headings(passages), on="item", how="semi")
    named = heads.select(pl.col("item_id").alias("parent_id"), pl.col("item").alias("head"))
    under = (
        passages.join(heads.select("item"), on="item", how="anti").join(named, on="parent_id").select("item", "head")
    )
    above = under.join(own.rows, left_on="head", right_on="id").select(pl.col("item").alias("id"), "word").unique()
    theirs = own.rows.join(under, left_on="id", right_on="item", how="semi")
    return own._replace(rows=pl.concat([own.rows, above.join(theirs, on=["id", "word"], how="anti")]))

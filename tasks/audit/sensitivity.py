"""Invariant 3: nothing at or above the floor, and nothing that descends from it, has text in any file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.audit.reading import Context, sample
from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACEHOLDER = pl.format("[REDACTED: {}]", pl.col("level"))


class Sensitivity(Check):
    """Labels decide: an item above the floor leaves neither text, nor hash, nor bytes; a placeholder if redacted."""

    name = "sensitivity"

    def of_build(self) -> Iterator[Violation]:
        """The items of the whole build."""
        items = self.build.items.with_columns(
            pl.col("sensitivity").fill_null("").alias("level"), above=self.build.above_floor(pl.col("sensitivity"))
        )
        closed = items.filter("above")
        handles = self.build.frames["artifacts"]
        faults = {
            "its text is in items.parquet": closed.filter(
                pl.col("text").is_not_null() & pl.col("text").ne_missing(self._allowed)
            ),
            "the hash of its text is there": closed.filter(pl.col("content_hash").is_not_null()),
            "it has an artifact": closed.filter(
                pl.col("artifact").is_not_null()
                | pl.col("item_id").is_in(handles["item_id"].implode())
                | pl.format("artifact:{}", "item_id").is_in(handles["handle"].implode())
            ),
        }
        for fault, rows in faults.items():
            if len(rows):
                level = rows["level"][0]
                yield self.found(
                    "items.parquet",
                    f"{sample(rows['item_id'], len(rows))}: at the floor or above it ({level}), and {fault}.",
                )
        below = items.filter(~pl.col("above") & (pl.col("parent_id") != pl.col("item_id")))
        heirs = below.join(closed.select(parent_id="item_id"), on="parent_id", how="semi", maintain_order="left")
        if len(heirs):
            said = "below the floor, and its parent is not"
            yield self.found("items.parquet", f"{sample(heirs['item_id'], len(heirs))}: {said}.")

    def of_context(self, context: Context) -> Iterator[Violation]:
        """What one task selected, and what the other rows show."""
        above, chosen = pl.col("above_floor").fill_null(value=True), pl.col("decision") == "selected"
        shown = above & chosen & (pl.col("text").ne_missing(_PLACEHOLDER) if self._redacts else True)
        leaked = pl.col("above_floor") & ~chosen & pl.col("text").is_not_null()
        faults = {
            "selected, and at the floor or above it": shown,
            "at the floor or above it, and its text is in the file": leaked,
        }
        names = context.rows.select(
            pl.col("item_id").filter(fault).implode().alias(said) for said, fault in faults.items()
        )
        for said, items in names.row(0, named=True).items():
            if items:
                yield self.found(context.place, f"{sample(items, len(items))}: {said}.")

    @property
    def _redacts(self) -> bool:
        return bool(self.build.setting("policy", "sensitivity_action") == "redact")

    @property
    def _allowed(self) -> pl.Expr:
        """The text that may stand in the place of what is above the floor; no item's when they are dropped."""
        return _PLACEHOLDER if self._redacts else pl.lit(None, pl.String)

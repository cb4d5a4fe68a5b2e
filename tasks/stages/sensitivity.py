"""Stage 3: what is at or above the floor goes, with everything that descends from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import LEVEL, REASON, STAGE, Batch
from tasks.lineage import closed_items
from tasks.terms import LEVELS, placeholder
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from tasks.settings import Settings

NAME = "apply_sensitivity_filter"


def apply_sensitivity_filter(batch: Batch, settings: Settings) -> Batch:
    """Drops or redacts items at or above the floor; their text leaves the batch here and for good.

    A descendant of such an item takes its ancestor's label. `redact` puts `[REDACTED: <level>]` in the text's place and
    keeps the candidate; the raw text and the artifact reference go either way, as do tags and the hash of the text.
    """
    closed = closed_items(batch.items, LEVELS.index(settings.policy.sensitivity_floor))
    if closed.is_empty():
        return batch
    redact = settings.policy.sensitivity_action == "redact"
    items = _emptied(batch.items, closed, settings if redact else None)
    if redact:
        return batch.with_frames(items=items)
    return batch.with_frames(items=items, pools=_dropped(batch.pools, closed), added=_dropped(batch.added, closed))


def _emptied(items: pl.DataFrame, closed: pl.DataFrame, redact: Settings | None) -> pl.DataFrame:
    marked = items.join(closed, on="item", how="left", maintain_order="left")
    is_closed = pl.col("rank").is_not_null()
    level = pl.col("rank").replace_strict(dict(enumerate(LEVELS)), default=None, return_dtype=LEVEL)
    text = pl.format(placeholder("{}"), level) if redact else pl.lit("")
    tokens = pl.lit(0, pl.UInt32)
    if redact:
        counts = dict(enumerate(token_counter(redact.tokens).count(list(map(placeholder, LEVELS)))))
        tokens = pl.col("rank").replace_strict(counts, default=None, return_dtype=pl.UInt32)
    return marked.with_columns(
        sensitivity=pl.when(is_closed).then(level).otherwise("sensitivity"),
        text=pl.when(is_closed).then(text).otherwise("text"),
        tokens=pl.when(is_closed).then(tokens).otherwise("tokens"),
        tags=pl.when(is_closed).then(pl.lit([], pl.List(pl.String))).otherwise("tags"),
        redactions=pl.when(is_closed).then(pl.lit(0, pl.UInt32)).otherwise("redactions"),
        **{name: pl.when(~is_closed).then(name) for name in ("media_type", "artifact", "content_hash", "raw")},
    ).drop("rank")


def _dropped(rows: pl.DataFrame, closed: pl.DataFrame) -> pl.DataFrame:
    """The same rows, those of closed items that were still in marked as out."""
    goes = pl.col("item").is_in(closed["item"].implode()) & pl.col("reason").is_null()
    return rows.with_columns(
        stage=pl.when(goes).then(pl.lit(NAME, STAGE)).otherwise("stage"),
        reason=pl.when(goes).then(pl.lit("sensitivity", REASON)).otherwise("reason"),
    )

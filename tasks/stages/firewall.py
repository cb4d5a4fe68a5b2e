"""Stage 4: raw tool output stays outside; what goes on is a summary and a handle."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import Artifacts, Batch, empty
from tasks.summaries import lead, summarise
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from tasks.settings import Settings

NAME = "apply_firewall_to_batch"
DEFAULT_MEDIA_TYPE = "text/plain"


def apply_firewall_to_batch(batch: Batch, settings: Settings) -> Batch:
    """Replaces the text of each raw tool result by its summary and keeps the raw bytes as an artifact.

    The summary is made of the cleaned text, free of credentials; the artifact holds the bytes as they were logged. The
    label, the tags and the parent of an item stay as they are.

    Cost: one summary a distinct text, about 1 ms for 10,000 characters.
    """
    raw = batch.items.filter(pl.col("raw").is_not_null()).select("item", "item_id", "text", "media_type", "raw")
    if raw.is_empty():
        return batch
    handles = [f"artifact:{item_id}" for item_id in raw["item_id"]]
    media_types = raw["media_type"].to_list()
    if settings.firewall.summariser == "lead":
        # on one line, and of the same length: the whole of a short result must not stand in a prompt as it was
        summaries = [lead(text).replace("\n", " ") for text in raw["text"]]
    else:
        summaries = [
            summarise(text, handle=handle, media_type=media_type)
            for text, handle, media_type in zip(raw["text"], handles, media_types, strict=True)
        ]
    processed = pl.DataFrame(
        {
            "item": raw["item"],
            "summary": summaries,
            "summary_tokens": token_counter(settings.tokens).count(summaries),
            "handle": handles,
        },
        schema={"item": pl.UInt32, "summary": pl.String, "summary_tokens": pl.UInt32, "handle": pl.String},
    )
    items = (
        batch.items.join(processed, on="item", how="left", maintain_order="left")
        .with_columns(
            text=pl.coalesce("summary", "text"),
            tokens=pl.coalesce("summary_tokens", "tokens"),
            artifact=pl.coalesce("handle", "artifact"),
            raw=pl.lit(None, pl.Binary),
        )
        .drop("summary", "summary_tokens", "handle")
    )
    return batch.with_frames(items=items, artifacts=_artifacts(raw, handles))


def _artifacts(raw: pl.DataFrame, handles: list[str]) -> pl.DataFrame:
    contents = raw["raw"].to_list()
    return pl.DataFrame(
        {
            "handle": handles,
            "item_id": raw["item_id"],
            "sha256": [hashlib.sha256(content).hexdigest() for content in contents],
            "size_bytes": [len(content) for content in contents],
            "media_type": raw["media_type"].fill_null(DEFAULT_MEDIA_TYPE),
            "lines": [content.count(b"\n") + (not content.endswith(b"\n") and bool(content)) for content in contents],
            "content": contents,
        },
        schema=empty(Artifacts).schema,
    ).sort("handle")

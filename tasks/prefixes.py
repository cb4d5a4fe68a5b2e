"""How much of a prompt's start most prompts of its graph share: what a provider's prompt cache can hold for all."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from tasks.layout import SEPARATOR, label, labelled, title
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.batch import Batch
    from tasks.settings import RenderSettings, Settings

_SHARED = 0.5  # of a graph's prompts that must begin alike for a prefix to count as shared


def with_shared_prefixes(batch: Batch, settings: Settings) -> Batch:
    """The batch with `shared_prefix_tokens` of every prompt: 0 where it begins as no other does.

    All prompts of a graph must be in the batch, so this comes after the shards are one again.
    """
    units = _units(batch, settings.render)
    graphs = dict(batch.tasks.select("task", "graph").iter_rows())
    by_graph: dict[str, list[tuple[int, Iterator[str]]]] = {}
    for task in batch.prompts.filter(pl.col("prompt").is_not_null())["task"].to_list():
        if task in units:
            by_graph.setdefault(graphs[task], []).append((task, units[task]))
    prefixes: dict[int, str] = {}
    for prompts in by_graph.values():
        prefixes |= _prefixes(prompts)
    texts = [prefixes.get(task, "") for task in batch.prompts["task"]]
    tokens = pl.Series(token_counter(settings.tokens).count(texts), dtype=pl.UInt32)
    return batch.with_frames(
        prompts=batch.prompts.with_columns(
            shared_prefix_tokens=pl.when(pl.col("prompt").is_not_null()).then(tokens).otherwise(None)
        )
    )


def _units(batch: Batch, settings: RenderSettings) -> dict[int, Iterator[str]]:
    """Each prompt as titles and blocks, by task. A block is made when somebody asks for it, and of its text once."""
    if batch.candidates is None:
        return {}
    rows = (
        batch.candidates.filter(pl.col("reason").is_null() & pl.col("text").is_not_null())
        .select("task", "item", "prompt_order", pl.col("text").cast(pl.Categorical(pl.Categories.random())))
        .join(batch.items.select("item", pl.col("section", "kind").cast(pl.String)), on="item")
        .sort("task", "prompt_order")
        .with_columns(number=pl.col("text").to_physical())
    )
    known = rows["text"].unique()
    texts = dict(zip(known.to_physical().to_list(), known.cast(pl.String).to_list(), strict=True))
    text, section, kind = (rows[column].to_list() for column in ("number", "section", "kind"))

    @cache
    def block(text: int, section: str, kind: str) -> str:
        return labelled(texts[text], label(section, kind, settings), settings)

    def units(start: int, end: int) -> Iterator[str]:
        for row in range(start, end):
            if (row == start or section[row] != section[row - 1]) and (head := title(section[row], settings)):
                yield head
            yield block(text[row], section[row], kind[row])

    lengths = rows.group_by("task", maintain_order=True).len()
    ends = lengths["len"].cum_sum().to_list()
    return dict(zip(lengths["task"], map(units, [0, *ends], ends), strict=True))


def _prefixes(prompts: list[tuple[int, Iterator[str]]]) -> dict[int, str]:
    """The start of each prompt, in whole units, that at least half of these prompts have too, by task."""
    found: dict[int, str] = {}
    least = max(2, _SHARED * len(prompts))
    prefix = ""
    while True:
        heads = [(task, units, next(units, None)) for task, units in prompts]
        counts = Counter(unit for *_, unit in heads if unit is not None)
        unit = max(counts, key=lambda text: (counts[text], text), default=None)
        if unit is None or counts[unit] < least:
            return found
        prompts = [(task, units) for task, units, head in heads if head == unit]
        prefix += unit + SEPARATOR
        found.update(dict.fromkeys((task for task, _ in prompts), prefix))

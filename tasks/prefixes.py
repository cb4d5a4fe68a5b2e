"""How much of a prompt's start most prompts of its graph share: what a provider's prompt cache can hold for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.layout import SEPARATOR, label, labelled, title
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from tasks.batch import Batch
    from tasks.settings import RenderSettings, Settings

_SHARED = 0.5  # of a graph's prompts that must begin alike for a prefix to count as shared


def with_shared_prefixes(batch: Batch, settings: Settings) -> Batch:
    """The batch with `shared_prefix_tokens` of every prompt: 0 where it begins as no other does.

    All prompts of a graph must be in the batch, so this comes after the shards are one again.
    """
    units = _units(batch, settings.render)
    graphs = dict(batch.tasks.select("task", "graph").iter_rows())
    by_graph: dict[str, list[tuple[int, list[str]]]] = {}
    for task, prompt in batch.prompts.select("task", "prompt").iter_rows():
        if prompt is not None and task in units:
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


def _units(batch: Batch, settings: RenderSettings) -> dict[int, list[str]]:
    """Each prompt as a list of titles and blocks, by task."""
    if batch.candidates is None:
        return {}
    rows = (
        batch.candidates.filter(pl.col("reason").is_null() & pl.col("text").is_not_null())
        .select("task", "item", "text", "prompt_order")
        .join(batch.items.select("item", pl.col("section", "kind").cast(pl.String)), on="item")
        .sort("task", "prompt_order")
    )
    units: dict[int, list[str]] = {}
    before: tuple[int, str] | None = None
    for task, text, section, kind in rows.select("task", "text", "section", "kind").iter_rows():
        own = units.setdefault(task, [])
        if (task, section) != before and (head := title(section, settings)):
            own.append(head)
        before = (task, section)
        own.append(labelled(text, label(section, kind, settings), settings))
    return units


def _prefixes(prompts: list[tuple[int, list[str]]]) -> dict[int, str]:
    """The start of each prompt, in whole units, that at least half of these prompts have too, by task."""
    found: dict[int, str] = {}
    least = max(2, _SHARED * len(prompts))
    group, depth = prompts, 0
    while True:
        counts: dict[str, int] = {}
        for _, units in group:
            if depth < len(units):
                counts[units[depth]] = counts.get(units[depth], 0) + 1
        unit = max(counts, key=lambda text: (counts[text], text), default=None)
        if unit is None or counts[unit] < least:
            return found
        group = [(task, units) for task, units in group if depth < len(units) and units[depth] == unit]
        depth += 1
        for task, units in group:
            found[task] = SEPARATOR.join(units[:depth]) + SEPARATOR

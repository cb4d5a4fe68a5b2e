"""How much of a prompt's start most prompts of its graph share: what a provider's prompt cache can hold for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.batch import by_place
from tasks.layout import SEPARATOR, distinct_blocks, title
from tasks.pairs import begins, packed, runs
from tasks.terms import SECTIONS
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasks.batch import Batch
    from tasks.settings import RenderSettings, Settings

_SHARED = 0.5  # of a graph's prompts that must begin alike for a prefix to count as shared


def with_shared_prefixes(batch: Batch, settings: Settings) -> Batch:
    """The batch with `shared_prefix_tokens` of every prompt: 0 where it begins as no other does.

    All prompts of a graph must be in the batch, so this comes after the shards are one again.
    """
    units = _units(batch, settings.render)
    graphs = dict(batch.tasks.select("task", "graph").iter_rows())
    by_graph: dict[str, list[int]] = {}
    for task in batch.prompts.filter(pl.col("prompt").is_not_null())["task"]:
        by_graph.setdefault(graphs[task], []).append(task)
    prefixes: dict[int, str] = {}
    for tasks in by_graph.values():
        prefixes |= _prefixes(tasks, units)
    texts = [prefixes.get(task, "") for task in batch.prompts["task"]]
    tokens = pl.Series(token_counter(settings.tokens).count(texts), dtype=pl.UInt32)
    return batch.with_frames(
        prompts=batch.prompts.with_columns(
            shared_prefix_tokens=pl.when(pl.col("prompt").is_not_null()).then(tokens).otherwise(None)
        )
    )


@dataclass(frozen=True)
class _Units:
    """The titles and blocks of prompts, in their order, one prompt's after the other's."""

    texts: list[str]
    """Each distinct one."""
    numbers: NDArray[np.intp]
    """Which text each unit is."""
    spans: dict[int, tuple[int, int]]
    """Where a task's units begin, and how many there are."""


def _units(batch: Batch, settings: RenderSettings) -> _Units:
    if batch.candidates is None:
        return _Units([], np.empty(0, np.intp), {})
    rows = (
        batch.candidates.select("task", "item", "prompt_order", "text", "reason")
        .filter(pl.col("reason").is_null() & pl.col("text").is_not_null())
        .sort("task", "prompt_order")
    )
    rows = rows.with_columns(by_place(batch.items, "item", name).gather(rows["item"]) for name in ("section", "kind"))
    blocks, block = distinct_blocks(rows, settings)
    titles = [title(section, settings) for section in SECTIONS]
    known = {text: number for number, text in enumerate(dict.fromkeys([*blocks, *titles]))}
    of_block, of_title = (np.array([known[text] for text in texts], np.intp) for texts in (blocks, titles))
    task, section = rows["task"].to_numpy(), rows["section"].to_physical().to_numpy()
    opens = np.flatnonzero(begins(packed(task, section))) if any(titles) else np.empty(0, np.intp)
    numbers = np.insert(of_block[block], opens, of_title[section[opens]])
    task = np.insert(task, opens, task[opens])
    starts, lengths = runs(task)
    spans = dict(zip(task[starts].tolist(), zip(starts.tolist(), lengths.tolist(), strict=True), strict=True))
    return _Units(list(known), numbers, spans)


def _prefixes(tasks: Iterable[int], units: _Units) -> dict[int, str]:
    """The start of each prompt, in whole units, that at least half of these prompts have too, by task."""
    spans = np.array([(task, *units.spans[task]) for task in tasks if task in units.spans], np.intp).reshape(-1, 3)
    found: dict[int, str] = {}
    least = max(2, _SHARED * len(spans))
    prefix, depth = "", 0
    while True:
        spans = spans[spans[:, 2] > depth]
        heads = units.numbers[spans[:, 1] + depth]
        distinct, counts = np.unique(heads, return_counts=True)
        most = counts.max(initial=0)
        if most < least:
            return found
        unit = max(distinct[counts == most].tolist(), key=units.texts.__getitem__)
        spans = spans[heads == unit]
        prefix, depth = prefix + units.texts[unit] + SEPARATOR, depth + 1
        found.update(dict.fromkeys(spans[:, 0].tolist(), prefix))

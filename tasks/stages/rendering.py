"""Stage 8: the prompt, and an exact recount of its tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.batch import REASON, STAGE, Batch, Prompts, frame_of
from tasks.corpus import lineage_of, offers_of
from tasks.layout import END, LEAD, LEADING, PINNED, PROMPT_BYTES, SEPARATOR, compose, labelled_texts, title, units
from tasks.terms import SECTIONS
from tasks.tokens import TokenCounter, token_counter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tasks.offers import Offer
    from tasks.settings import RenderSettings, Settings

NAME = "render_context"
_NOWHERE = -1


@dataclass(frozen=True)
class _Draft:
    """One task's selected items in prompt order, while its prompt is made."""

    task: int
    budget: int
    rows: Sequence[int]
    """Of the candidates."""
    items: Sequence[int]
    sections: Sequence[str]
    blocks: Sequence[str]
    scores: Sequence[float]
    counter: TokenCounter
    style: RenderSettings

    @cached_property
    def grouped(self) -> list[tuple[str, list[str]]]:
        """Each section with its blocks, in the prompt's order."""
        names = (LEAD, *SECTIONS) if LEAD in self.sections else SECTIONS
        found: dict[str, list[str]] = {name: [] for name in names}
        for section, block in zip(self.sections, self.blocks, strict=True):
            found[section].append(block)
        return list(found.items())

    @cached_property
    def prompt(self) -> str:
        return compose(self.grouped, self.style)

    @cached_property
    def tokens(self) -> int:
        """Tokens of the whole prompt, exact."""
        return self.counter.count_joined(units(self.grouped, self.style), END)

    def fits(self) -> bool:
        return len(self.prompt.encode()) < PROMPT_BYTES and self.tokens <= self.budget

    def without(self, gone: Collection[int]) -> _Draft:
        """The same without some items."""
        columns = (self.rows, self.items, self.sections, self.blocks, self.scores)
        kept = [row for row in zip(*columns, strict=True) if row[1] not in gone]
        rows, items, sections, blocks, scores = zip(*kept, strict=True) if kept else ((),) * len(columns)
        return replace(self, rows=rows, items=items, sections=sections, blocks=blocks, scores=scores)


def render_context(batch: Batch, settings: Settings) -> Batch:
    """Lays out each task's selected items: sections in their order, documents as they run, history in time, brief last.

    Every prompt is counted whole. Should it exceed the budget after all, the least of its items that no other needs go
    until it fits. A task whose brief was not selected has no prompt: it is over budget by the brief's shortfall.

    Cost: one count a distinct block where the encoding parts texts at blank lines, else one a prompt; about 7 MB/s.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    facts = batch.items.select("item", "section", "kind").join(lineage_of(batch).select("item", "order"), on="item")
    chosen = (
        candidates.with_row_index("row")
        .filter(pl.col("reason").is_null())
        .select("row", "task", "item", "score", "text")
        .join(facts, on="item")
        .with_columns(place=pl.when(_leads()).then(-1).otherwise(pl.col("section").to_physical().cast(pl.Int32)))
        .sort("task", "place", "order", "item")
    )
    offers = offers_of(batch, settings).by_item
    drafts = list(_drafts(batch, chosen, settings))
    fitting = [_squeezed(draft, offers) for draft in drafts]
    return batch.with_frames(candidates=_ordered(candidates, drafts, fitting), prompts=_prompts(fitting, batch))


def _leads() -> pl.Expr:
    section, kind = LEADING
    return (pl.col("section").cast(pl.String) == section) & (pl.col("kind").cast(pl.String) == kind)


def _drafts(batch: Batch, chosen: pl.DataFrame, settings: Settings) -> Iterator[_Draft]:
    """The drafts of all tasks; one without items where nothing was selected."""
    drawn_blocks = labelled_texts(chosen.select("text", "section", "kind"), settings.render)
    section = pl.when(pl.col("place") < 0).then(pl.lit(LEAD)).otherwise(pl.col("section").cast(pl.String))
    drawn = chosen.select("row", "item", section.alias("section"), drawn_blocks.alias("block"), "score")
    columns = [column.to_list() for column in drawn.get_columns()]
    counter, start = token_counter(settings.tokens), 0
    counts = dict(chosen.group_by("task").len().iter_rows())
    for task, budget in batch.tasks.select("task", "budget_tokens").sort("task").iter_rows():
        end = start + counts.get(task, 0)
        rows, items, own, blocks, scores = (column[start:end] for column in columns)
        yield _Draft(task, settings.countable(budget), rows, items, own, blocks, scores, counter, settings.render)
        start = end


def _squeezed(draft: _Draft, offers: Mapping[int, Offer]) -> _Draft:
    """The draft without as many of its items as it takes until the counted prompt fits."""
    while draft.items and not draft.fits():
        needed = {offers[item].parent for item in draft.items}
        loose = [
            (score, item)
            for item, section, score in zip(draft.items, draft.sections, draft.scores, strict=True)
            if item not in needed and section not in PINNED
        ]
        draft = draft.without([min(loose)[1]] if loose else _ring(draft, offers))
    return draft


def _ring(draft: _Draft, offers: Mapping[int, Offer]) -> list[int]:
    """The items of a parent cycle, which go together; where there is none, what is pinned, which alone is left."""
    rows = zip(draft.items, draft.sections, draft.scores, strict=True)
    least = min(((score, item) for item, section, score in rows if section not in PINNED), default=None)
    if least is None:
        return list(draft.items)
    ring: list[int] = []
    above: int | None = least[1]
    while above is not None and above not in ring:
        ring.append(above)
        above = offers[above].parent if above in offers else None
    return ring[ring.index(above) :] if above is not None else ring


def _ordered(candidates: pl.DataFrame, drafts: Sequence[_Draft], fitting: Sequence[_Draft]) -> pl.DataFrame:
    """The candidates with their places in the prompts, and those that had to go after all marked as out."""
    order = np.full(len(candidates), _NOWHERE, np.int64)
    for draft in fitting:
        order[list(draft.rows)] = np.arange(len(draft.rows))
    placed = candidates.with_columns(prompt_order=pl.Series(order).replace(_NOWHERE, None).cast(pl.UInt32))
    out = sorted({row for draft in drafts for row in draft.rows} - {row for draft in fitting for row in draft.rows})
    if not out:
        return placed
    gone = pl.int_range(pl.len(), dtype=pl.UInt32).is_in(out)
    return placed.with_columns(
        stage=pl.when(gone).then(pl.lit(NAME, STAGE)).otherwise("stage"),
        reason=pl.when(gone).then(pl.lit("budget", REASON)).otherwise("reason"),
        text=pl.when(~gone).then("text"),
    )


def _prompts(drafts: Sequence[_Draft], batch: Batch) -> pl.DataFrame:
    assert batch.candidates is not None, "scoring comes first"
    short = dict(
        batch.candidates.filter(pl.col("shortfall_tokens").is_not_null())
        .join(batch.items.filter(pl.col("section").cast(pl.String) == "brief").select("item"), on="item", how="semi")
        .select("task", "shortfall_tokens")
        .iter_rows()
    )
    rows = []
    for draft in drafts:
        if "brief" not in draft.sections and (draft.task in short or not draft.items):
            rows.append(_over_budget(draft, short.get(draft.task)))
            continue
        rows.append(
            {
                "task": draft.task,
                "status": "ok",
                "prompt": draft.prompt,
                "prompt_tokens": draft.tokens,
                "tokens_by_section": _by_section(draft),
            }
        )
    return frame_of(Prompts, rows)


def _over_budget(draft: _Draft, short: int | None) -> dict[str, object]:
    message = (
        f"The brief alone needs {short} tokens more than the {draft.budget} that may be counted; raise the budget or "
        "shorten the task."
        if short
        else f"No candidate may stand in its prompt of {draft.budget} tokens; see the reason of each."
    )
    return {
        "task": draft.task,
        "status": "over_budget",
        "tokens_by_section": [],
        "message": message,
    }


def _by_section(draft: _Draft) -> list[dict[str, object]]:
    counted = []
    for name, blocks in draft.grouped:
        head = title(name, draft.style)
        texts = [text + SEPARATOR for text in ((head, *blocks) if head and blocks else blocks)]
        counted.append({"section": name, "tokens": sum(draft.counter.count(texts))})
    return counted

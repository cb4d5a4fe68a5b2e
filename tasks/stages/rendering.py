"""Stage 8: the prompt, and an exact recount of its tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tasks.batch import REASON, STAGE, Batch, Prompts, by_place, empty, frame_of
from tasks.corpus import lineage_of, offers_of
from tasks.layout import END, LEAD, LEADING, PINNED, PROMPT_BYTES, SEPARATOR, compose, distinct_blocks, title, units
from tasks.terms import SECTIONS
from tasks.tokens import TokenCounter, token_counter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tasks.offers import Offer
    from tasks.settings import RenderSettings, Settings

NAME = "render_context"
_NOWHERE = np.uint32(0xFFFFFFFF)


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
    tokens_of: Sequence[int]
    """Tokens of each block and the separator behind it."""
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
        columns = (self.rows, self.items, self.sections, self.blocks, self.tokens_of, self.scores)
        kept = [row for row in zip(*columns, strict=True) if row[1] not in gone]
        rows, items, sections, blocks, tokens_of, scores = zip(*kept, strict=True) if kept else ((),) * len(columns)
        return replace(
            self, rows=rows, items=items, sections=sections, blocks=blocks, tokens_of=tokens_of, scores=scores
        )


def render_context(batch: Batch, settings: Settings) -> Batch:
    """Lays out each task's selected items: sections in their order, documents as they run, history in time, brief last.

    Every prompt is counted whole. Should it exceed the budget after all, the least of its items that no other needs go
    until it fits. A task whose brief was not selected has no prompt: it is over budget by the brief's shortfall.

    Cost: one count a distinct block where the encoding parts texts at blank lines, else one a prompt; about 7 MB/s.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    chosen = _chosen(candidates, batch)
    offers = offers_of(batch, settings).by_item
    drafts = list(_drafts(batch, chosen, settings))
    fitting = [_squeezed(draft, offers) for draft in drafts]
    return batch.with_frames(candidates=_ordered(candidates, drafts, fitting), prompts=_prompts(fitting, batch))


def _chosen(candidates: pl.DataFrame, batch: Batch) -> pl.DataFrame:
    """`row, task, item, score, text, section, kind, place, order` of what is selected, in the prompts' order."""
    rows = candidates.select("task", "item", "score", "text", "reason").with_row_index("row")
    rows = rows.filter(pl.col("reason").is_null()).drop("reason")
    facts = {"section": batch.items, "kind": batch.items, "order": lineage_of(batch)}
    columns = (by_place(frame, "item", name).gather(rows["item"]).alias(name) for name, frame in facts.items())
    placed = rows.with_columns(columns).with_columns(
        place=pl.when(_leads()).then(-1).otherwise(pl.col("section").to_physical().cast(pl.Int32))
    )
    return placed.sort("task", "place", "order", "item")


def _leads() -> pl.Expr:
    section, kind = LEADING
    return (pl.col("section") == section) & (pl.col("kind") == kind)


def _drafts(batch: Batch, chosen: pl.DataFrame, settings: Settings) -> Iterator[_Draft]:
    """The drafts of all tasks; one without items where nothing was selected."""
    section = pl.when(pl.col("place") < 0).then(pl.lit(LEAD)).otherwise(pl.col("section").cast(pl.String))
    texts, block = distinct_blocks(chosen, settings.render)
    counter, start = token_counter(settings.tokens), 0
    tokens = counter.count([text + SEPARATOR for text in texts])
    columns: list[list[Any]] = [
        *(column.to_list() for column in chosen.select("row", "item", section.alias("section")).get_columns()),
        *([values[number] for number in block.tolist()] for values in (texts, tokens)),
        chosen["score"].to_list(),
    ]
    counts = dict(chosen.group_by("task").len().iter_rows())
    for task, budget in batch.tasks.select("task", "budget_tokens").sort("task").iter_rows():
        end = start + counts.get(task, 0)
        rows, items, sections, blocks, tokens_of, scores = (column[start:end] for column in columns)
        limit, style = settings.countable(budget), settings.render
        yield _Draft(task, limit, rows, items, sections, blocks, tokens_of, scores, counter, style)
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
    order = np.full(len(candidates), _NOWHERE)
    for draft in fitting:
        order[list(draft.rows)] = np.arange(len(draft.rows))
    numbers = pl.Series(order)
    placed = candidates.with_columns(pl.when(numbers != _NOWHERE).then(numbers).alias("prompt_order"))
    out = [
        row
        for draft, fitted in zip(drafts, fitting, strict=True)
        if fitted is not draft
        for row in sorted({*draft.rows} - {*fitted.rows})
    ]
    if not out:
        return placed
    gone = pl.int_range(pl.len(), dtype=pl.UInt32).is_in(out)
    return placed.with_columns(
        stage=pl.when(gone).then(pl.lit(NAME, STAGE)).otherwise("stage"),
        reason=pl.when(gone).then(pl.lit("budget", REASON)).otherwise("reason"),
        text=pl.when(~gone).then("text"),
    )


def _prompts(drafts: Sequence[_Draft], batch: Batch) -> pl.DataFrame:
    short = {} if all("brief" in draft.sections for draft in drafts) else _shortfalls(batch)
    rows: list[dict[str, object]] = []
    counted: list[tuple[int, str, int]] = []
    for draft in drafts:
        if "brief" not in draft.sections and (draft.task in short or not draft.items):
            rows.append(_over_budget(draft, short.get(draft.task)))
            continue
        rows.append({"task": draft.task, "status": "ok", "prompt": draft.prompt, "prompt_tokens": draft.tokens})
        counted += _by_section(draft)
    kind = empty(Prompts).schema["tokens_by_section"]
    parts = pl.DataFrame(counted, {"task": pl.UInt32, "section": pl.String, "tokens": pl.UInt32}, orient="row")
    lists = parts.group_by("task").agg(tokens_by_section=pl.struct("section", "tokens"))
    return (
        frame_of(Prompts, rows, [name for name in empty(Prompts).columns if name != "tokens_by_section"])
        .join(lists, on="task", how="left", maintain_order="left")
        .with_columns(pl.col("tokens_by_section").fill_null(pl.lit([], kind)))
        .select(empty(Prompts).columns)
    )


def _shortfalls(batch: Batch) -> dict[int, int]:
    """What the briefs lack that were not selected, by task."""
    assert batch.candidates is not None, "scoring comes first"
    briefs = batch.items.filter(pl.col("section") == "brief").select("item")
    short = batch.candidates.select("task", "item", "shortfall_tokens").filter(pl.col("shortfall_tokens").is_not_null())
    return dict(short.join(briefs, on="item", how="semi").select("task", "shortfall_tokens").iter_rows())


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
        "message": message,
    }


def _by_section(draft: _Draft) -> Iterator[tuple[int, str, int]]:
    """`task, section, tokens` of each section, title and separators included."""
    tokens = {name: 0 for name, _ in draft.grouped}
    for section, count in zip(draft.sections, draft.tokens_of, strict=True):
        tokens[section] += count
    for name, blocks in draft.grouped:
        head = title(name, draft.style)
        titled = draft.counter.count([head + SEPARATOR])[0] if head and blocks else 0
        yield draft.task, name, titled + tokens[name]

"""Stage 8: the prompt, and an exact recount of its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import REASON, STAGE, Batch, Prompts, frame_of
from tasks.corpus import lineage_of
from tasks.layout import END, LEAD, LEADING, PINNED, PROMPT_BYTES, SEPARATOR, compose, label, labelled, title, units
from tasks.terms import SECTIONS
from tasks.tokens import TokenCounter, token_counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasks.settings import Settings

NAME = "render_context"


@dataclass
class _Draft:
    """One task's selected items in prompt order, while its prompt is made."""

    task: int
    graph: str
    budget: int
    items: list[int]
    sections: list[str]
    blocks: list[str]
    scores: list[float]

    def prompt(self, settings: Settings) -> str:
        return compose(self._grouped(), settings.render)

    def tokens(self, counter: TokenCounter, settings: Settings) -> int:
        """Tokens of the whole prompt, exact."""
        return counter.count_joined(units(self._grouped(), settings.render), END)

    def _grouped(self) -> list[tuple[str, list[str]]]:
        return [
            (name, [block for block, section in zip(self.blocks, self.sections, strict=True) if section == name])
            for name in ((LEAD, *SECTIONS) if LEAD in self.sections else SECTIONS)
        ]

    def without(self, item: int) -> None:
        place = self.items.index(item)
        for column in (self.items, self.sections, self.blocks, self.scores):
            del column[place]


def render_context(batch: Batch, settings: Settings) -> Batch:
    """Lays out each task's selected items: sections in their order, documents as they run, history in time, brief last.

    Every prompt is counted whole. Should it exceed the budget after all, the least of its items that no other needs go
    until it fits. A task whose brief was not selected has no prompt: it is over budget by the brief's shortfall.

    Cost: one count a distinct block where the encoding parts texts at blank lines, else one a prompt; about 7 MB/s.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    relations = lineage_of(batch).select("item", "parent", "order")
    facts = batch.items.select("item", "section", "kind").join(relations, on="item")
    chosen = (
        candidates.filter(pl.col("reason").is_null())
        .select("task", "item", "score", "text")
        .join(facts, on="item")
        .with_columns(place=pl.when(_leads()).then(-1).otherwise(pl.col("section").to_physical().cast(pl.Int32)))
        .sort("task", "place", "order", "item")
    )
    counter = token_counter(settings.tokens)
    parents = dict(relations.select("item", "parent").iter_rows())
    drafts = _drafts(batch, chosen, settings)
    squeezed: list[tuple[int, int]] = []
    for draft in drafts:
        squeezed += [(draft.task, item) for item in _squeeze(draft, parents, counter, settings)]
    prompts = _prompts(drafts, batch, settings, counter)
    return batch.with_frames(candidates=_ordered(candidates, drafts, squeezed), prompts=prompts)


def _leads() -> pl.Expr:
    section, kind = LEADING
    return (pl.col("section").cast(pl.String) == section) & (pl.col("kind").cast(pl.String) == kind)


def _drafts(batch: Batch, chosen: pl.DataFrame, settings: Settings) -> list[_Draft]:
    rows = {task: part for (task,), part in chosen.group_by("task", maintain_order=True)}
    drafts = []
    for task, graph, budget in batch.tasks.select("task", "graph", "budget_tokens").iter_rows():
        part = rows.get(task)
        draft = _Draft(task, graph, settings.countable(budget), [], [], [], [])
        if part is not None:
            sections, kinds = part["section"].to_list(), part["kind"].to_list()
            draft.items, draft.scores = part["item"].to_list(), part["score"].to_list()
            draft.sections = [LEAD if pair == LEADING else pair[0] for pair in zip(sections, kinds, strict=True)]
            draft.blocks = [
                labelled(text, label(section, kind, settings.render), settings.render)
                for text, section, kind in zip(part["text"], sections, kinds, strict=True)
            ]
        drafts.append(draft)
    return drafts


def _squeeze(draft: _Draft, parents: dict[int, int | None], counter: TokenCounter, settings: Settings) -> list[int]:
    """Takes items out until the counted prompt fits; returns them."""
    gone: list[int] = []
    while draft.items:
        size = len(draft.prompt(settings).encode())
        if size < PROMPT_BYTES and draft.tokens(counter, settings) <= draft.budget:
            break
        needed = {parents.get(item) for item in draft.items}
        loose = [
            (score, item)
            for item, section, score in zip(draft.items, draft.sections, draft.scores, strict=True)
            if item not in needed and section not in PINNED
        ]
        for item in [min(loose)[1]] if loose else _ring(draft, parents):
            draft.without(item)
            gone.append(item)
    return gone


def _ring(draft: _Draft, parents: dict[int, int | None]) -> list[int]:
    """The items of a parent cycle, which go together; where there is none, what is pinned, which alone is left."""
    rows = zip(draft.items, draft.sections, draft.scores, strict=True)
    least = min(((score, item) for item, section, score in rows if section not in PINNED), default=None)
    if least is None:
        return list(draft.items)
    ring: list[int] = []
    above: int | None = least[1]
    while above is not None and above not in ring:
        ring.append(above)
        above = parents.get(above)
    return ring[ring.index(above) :] if above is not None else ring


def _ordered(candidates: pl.DataFrame, drafts: Sequence[_Draft], squeezed: Sequence[tuple[int, int]]) -> pl.DataFrame:
    order = pl.DataFrame(
        [(draft.task, item, place) for draft in drafts for place, item in enumerate(draft.items)],
        schema={"task": pl.UInt32, "item": pl.UInt32, "place": pl.UInt32},
        orient="row",
    )
    marked = candidates.join(order, on=["task", "item"], how="left", maintain_order="left").with_columns(
        prompt_order="place"
    )
    if squeezed:
        out = pl.DataFrame(squeezed, schema={"task": pl.UInt32, "item": pl.UInt32}, orient="row")
        gone = pl.col("out").fill_null(value=False)
        marked = marked.join(
            out.with_columns(out=pl.lit(value=True)), on=["task", "item"], how="left", maintain_order="left"
        ).with_columns(
            stage=pl.when(gone).then(pl.lit(NAME, STAGE)).otherwise("stage"),
            reason=pl.when(gone).then(pl.lit("budget", REASON)).otherwise("reason"),
            text=pl.when(~gone).then("text"),
        )
    return marked.select(candidates.columns)


def _prompts(drafts: Sequence[_Draft], batch: Batch, settings: Settings, counter: TokenCounter) -> pl.DataFrame:
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
                "prompt": draft.prompt(settings),
                "prompt_tokens": draft.tokens(counter, settings),
                "tokens_by_section": _by_section(draft, settings, counter),
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


def _by_section(draft: _Draft, settings: Settings, counter: TokenCounter) -> list[dict[str, object]]:
    counted = []
    for name, blocks in draft._grouped():  # noqa: SLF001 - the draft is this module's own
        head = title(name, settings.render)
        texts = [text + SEPARATOR for text in ((head, *blocks) if head and blocks else blocks)]
        counted.append({"section": name, "tokens": sum(counter.count(texts))})
    return counted

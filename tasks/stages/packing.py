"""Stage 7: which candidates the budget buys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import PRIORITIES, PRIORITY, REASON, STAGE, Batch
from tasks.layout import blocks
from tasks.lineage import lineage, with_ancestors
from tasks.passages import bare_headings
from tasks.purse import Choice, Offer, Purse
from tasks.tokens import TokenCounter, token_counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasks.settings import Settings

NAME = "select_and_pack"


def select_and_pack(batch: Batch, settings: Settings) -> Batch:
    """Fills each budget: the pinned brief, then rules, spec and the rest, best first, ancestors with their children.

    An item costs what it adds to the rendered prompt: its text, its label, its separator, its section's title where it
    is the first, and any ancestor that is not in yet. One that does not fit is passed over and the next is tried. Only
    the best `packing.horizon` candidates of a section are considered.

    `packing.rule = "plain"` is one pass in score order over the bare texts' tokens, without sections or ancestors.

    Cost: a loop over considered candidates, about 1 s a million.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    counter = token_counter(settings.tokens)
    alive = candidates.filter(pl.col("reason").is_null())
    offered = _offered(alive, batch.items, settings)
    goods = _goods(
        batch.items.join(offered.select("item").unique(), on="item", how="semi"), batch.items, counter, settings
    )
    beyond = _ancestors_beyond(alive, offered, goods)
    budgets = dict(batch.tasks.select("task", "budget_tokens").iter_rows())
    choices: list[tuple[int, Choice]] = []
    flat, start = offered["item"].to_list(), 0
    for task, count in offered.group_by("task", maintain_order=True).len().iter_rows():
        purse = Purse(goods, settings.countable(budgets[task]), counter, settings)
        ranked = flat[start : start + count]
        start += count
        choice = (
            purse.fill_plainly(ranked) if settings.packing.rule == "plain" else purse.fill(ranked, beyond.get(task, ()))
        )
        choices.append((task, choice))
    return batch.with_frames(
        candidates=_marked(candidates, _outcomes(choices), bare_headings(batch.items)),
        beyond=batch.beyond.with_columns(stage=pl.lit(NAME, STAGE), reason=pl.lit("horizon", REASON)),
    )


def _offered(alive: pl.DataFrame, items: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """`task, item` of the candidates within the horizon, in rank order; of the rules the more urgent ones first.

    Headings are not among them: they come with what is under them.
    """
    rows = alive.select("task", "item", "rank")
    if settings.packing.rule == "plain":
        return rows.select("task", "item")
    rows = rows.join(bare_headings(items), on="item", how="anti", maintain_order="left")
    place = pl.int_range(pl.len()).over("task", "section")
    facts = items.select("item", "section", urgency=_urgency())
    offered = rows.join(facts, on="item", maintain_order="left")
    if facts["urgency"].max():
        offered = offered.sort("task", "urgency", "rank")
    return offered.filter(place < settings.packing.horizon).select("task", "item")


def _urgency() -> pl.Expr:
    """0 for what comes first, more for rules whose source says that they are less urgent."""
    tags = pl.col("tags")
    urgency = pl.lit(0, pl.UInt8)
    for place, word in enumerate(PRIORITIES[1:], 1):
        urgency = pl.when(tags.list.contains(f"{PRIORITY}{word}")).then(pl.lit(place, pl.UInt8)).otherwise(urgency)
    return pl.when(pl.col("source") == "rules").then(urgency).otherwise(pl.lit(0, pl.UInt8))


def _ancestors_beyond(alive: pl.DataFrame, offered: pl.DataFrame, goods: dict[int, Offer]) -> dict[int, list[int]]:
    """By task the candidates beyond the horizon that are somebody's ancestors: they may come with a descendant."""
    rest = alive.select("task", "item").join(offered, on=["task", "item"], how="anti")
    known = pl.DataFrame({"item": list(goods)}, schema={"item": pl.UInt32})
    grouped = (
        rest.join(known, on="item", how="semi").sort("task", "item").group_by("task", maintain_order=True).agg("item")
    )
    return dict(grouped.iter_rows())


def _goods(offered: pl.DataFrame, items: pl.DataFrame, counter: TokenCounter, settings: Settings) -> dict[int, Offer]:
    """What each item is and costs, by its place; for ancestors beyond the horizon too."""
    family = lineage(items).select("item", "parent")
    wanted = with_ancestors(items, offered["item"].unique()).select("item", "text", "section", "kind", "tokens")
    drawn = wanted.join(blocks(wanted.select("item", "text", "section", "kind"), settings.render), on="item")
    drawn = drawn.join(family, on="item")
    costs = counter.count([block + "\n\n" for block in drawn["block"]])
    return {
        item: Offer(parent, section, kind, cost, len(block.encode()) + 2, tokens, text, body)
        for (item, parent, section, kind, tokens, text, body, block), cost in zip(
            drawn.select("item", "parent", "section", "kind", "tokens", "text", "body", "block").iter_rows(),
            costs,
            strict=True,
        )
    }


def _outcomes(choices: Iterable[tuple[int, Choice]]) -> pl.DataFrame:
    """`task, item, chosen, why, short, body`, a row a considered candidate."""
    columns: dict[str, list[object]] = {name: [] for name in ("task", "item", "chosen", "why", "short", "body")}
    for task, choice in choices:
        count = len(choice.selected) + len(choice.dropped)
        columns["task"] += [task] * count
        columns["item"] += [*choice.selected, *choice.dropped]
        columns["chosen"] += [True] * len(choice.selected) + [False] * len(choice.dropped)
        columns["why"] += [None] * len(choice.selected) + [reason for reason, _ in choice.dropped.values()]
        columns["short"] += [None] * len(choice.selected) + [short for _, short in choice.dropped.values()]
        columns["body"] += [*choice.selected.values(), *([None] * len(choice.dropped))]
    return pl.DataFrame(
        columns,
        schema={
            "task": pl.UInt32,
            "item": pl.UInt32,
            "chosen": pl.Boolean,
            "why": REASON,
            "short": pl.UInt32,
            "body": pl.String,
        },
    )


def _marked(candidates: pl.DataFrame, outcomes: pl.DataFrame, heads: pl.DataFrame) -> pl.DataFrame:
    """The candidates with what packing decided.

    Those still in that it never considered lie beyond the horizon, or are headings under which nothing was selected.
    """
    marked = candidates.join(outcomes, on=["task", "item"], how="left", maintain_order="left")
    still_in = pl.col("reason").is_null()
    beyond = still_in & pl.col("chosen").is_null()
    dropped = still_in & ~pl.col("chosen").fill_null(value=False)
    return marked.with_columns(
        stage=pl.when(dropped).then(pl.lit(NAME, STAGE)).otherwise("stage"),
        reason=pl.when(beyond & pl.col("item").is_in(heads["item"].implode()))
        .then(pl.lit("irrelevant", REASON))
        .when(beyond)
        .then(pl.lit("horizon", REASON))
        .when(dropped)
        .then("why")
        .otherwise("reason"),
        shortfall_tokens=pl.coalesce("short", "shortfall_tokens"),
        text=pl.when(still_in).then("body"),
    ).select(candidates.columns)

"""Stage 7: which candidates the budget buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.batch import REASON, STAGE, Batch
from tasks.corpus import headings_of, offers_of
from tasks.pairs import bounds
from tasks.purse import UNSAID, Choice, Goods, Purse
from tasks.terms import PRIORITIES, PRIORITY, REASONS
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasks.settings import Settings

NAME = "select_and_pack"

_HORIZON, _IRRELEVANT = REASONS.index("horizon"), REASONS.index("irrelevant")
_NOTHING = len(REASONS)


def select_and_pack(batch: Batch, settings: Settings) -> Batch:
    """Fills each budget: the pinned brief, then rules, spec and the rest, best first, ancestors with their children.

    An item costs what it adds to the rendered prompt: its text, its label, its separator, its section's title where it
    is the first, and any ancestor that is not in yet. One that does not fit is passed over and the next is tried. Only
    the best `packing.horizon` candidates of a section are considered.

    `packing.rule = "plain"` is one pass in score order over the bare texts' tokens, without sections or ancestors.

    Cost: a loop over considered candidates, about 0.4 s a million.
    """
    candidates = batch.candidates
    assert candidates is not None, "scoring comes first"
    facts = _Facts(batch.items, headings_of(batch))
    goods = Goods(offers_of(batch, settings), token_counter(settings.tokens), settings)
    shelves = list(_shelves(candidates, facts, goods))
    budgets = dict(batch.tasks.select("task", "budget_tokens").iter_rows())
    choices = []
    for shelf in shelves:
        purse = Purse(goods, settings.countable(budgets[shelf.task]))
        if settings.packing.rule == "plain":
            choices.append(purse.fill_plainly(shelf.offered))
        else:
            choices.append(purse.fill(shelf.offered, shelf.items))
    return batch.with_frames(
        candidates=_marked(candidates, shelves, choices, facts),
        beyond=batch.beyond.with_columns(stage=pl.lit(NAME, STAGE), reason=pl.lit("horizon", REASON)),
    )


class _Facts:
    """What counts of each item, in arrays by its place."""

    def __init__(self, items: pl.DataFrame, headings: pl.Series) -> None:
        rows = items.select("item", urgency=_urgency())
        places = rows["item"].to_numpy()
        size = int(places.max()) + 1 if len(places) else 0
        self.urgency, self.heads = np.zeros(size, np.int8), np.zeros(size, np.bool_)
        self.urgency[places] = rows["urgency"].to_numpy()
        self.heads[headings.to_numpy()] = True


@dataclass(frozen=True)
class _Shelf:
    """One task's candidates that are still in, by rank: their rows, their items, and the places of those on offer.

    The others may come with a descendant, or not at all.
    """

    task: int
    rows: NDArray[np.intp]
    items: NDArray[np.intp]
    places: NDArray[np.intp]

    @property
    def offered(self) -> NDArray[np.intp]:
        """The items on offer, best first."""
        return self.items[self.places]


def _shelves(candidates: pl.DataFrame, facts: _Facts, goods: Goods) -> Iterator[_Shelf]:
    """The shelves of all tasks. Of the rules the more urgent ones come first; headings come with what is under them."""
    packing = goods.settings.packing
    rows = candidates["reason"].is_null().to_numpy().nonzero()[0]
    tasks, items = candidates["task"].to_numpy()[rows], candidates["item"].to_numpy()[rows].astype(np.intp)
    urgent = facts.urgency.any()
    for start, end in bounds(tasks):
        own = items[start:end]
        places = np.arange(len(own))
        if packing.rule == "sections":
            places = (~facts.heads[own]).nonzero()[0]
            if urgent:
                places = places[np.argsort(facts.urgency[own[places]], kind="stable")]
            if len(places) > packing.horizon:
                places = _within(goods.offers.sections[own[places]], places, packing.horizon)
        yield _Shelf(int(tasks[start]), rows[start:end], own, places)


def _within(sections: NDArray[np.int8], places: NDArray[np.intp], horizon: int) -> NDArray[np.intp]:
    """The places, in their order, of which each section holds so many."""
    kept = np.ones(len(places), np.bool_)
    for section in (np.bincount(sections) > horizon).nonzero()[0]:
        kept[(sections == section).nonzero()[0][horizon:]] = False
    return places[kept]


def _urgency() -> pl.Expr:
    """0 for what comes first, more for rules whose source says that they are less urgent."""
    tags = pl.col("tags")
    urgency = pl.lit(0, pl.UInt8)
    for place, word in enumerate(PRIORITIES[1:], 1):
        urgency = pl.when(tags.list.contains(f"{PRIORITY}{word}")).then(pl.lit(place, pl.UInt8)).otherwise(urgency)
    return pl.when(pl.col("source") == "rules").then(urgency).otherwise(pl.lit(0, pl.UInt8))


def _marked(
    candidates: pl.DataFrame, shelves: Sequence[_Shelf], choices: Sequence[Choice], facts: _Facts
) -> pl.DataFrame:
    """The candidates with what packing decided.

    Those still in that it never considered lie beyond the horizon, or are headings under which nothing was selected.
    """
    reasons = np.where(facts.heads[candidates["item"].to_numpy()], _IRRELEVANT, _HORIZON)
    reasons[candidates["reason"].is_not_null().to_numpy()] = _NOTHING
    short = np.full(len(candidates), UNSAID)
    row_of = np.zeros(len(facts.heads), np.intp)
    selected: list[int] = []
    bodies: list[str] = []
    for shelf, choice in zip(shelves, choices, strict=True):
        offered = shelf.rows[shelf.places]
        reasons[offered], short[offered] = choice.reasons, choice.short
        row_of[shelf.items] = shelf.rows
        selected += row_of[list(choice.selected)].tolist()
        bodies += choice.selected.values()
    reasons[selected], short[selected] = _NOTHING, UNSAID
    why = pl.Series([*REASONS, None], dtype=REASON).gather(pl.Series(reasons))
    texts = pl.Series([None], dtype=pl.String).new_from_index(0, len(candidates)).scatter(selected, bodies)
    return candidates.with_columns(
        stage=pl.when(why.is_not_null()).then(pl.lit(NAME, STAGE)).otherwise("stage"),
        reason=pl.coalesce(why, "reason"),
        shortfall_tokens=pl.Series(short.astype(np.uint32)).set(pl.Series(short == UNSAID), None),
        text=texts,
    )

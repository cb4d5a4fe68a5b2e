"""The candidates of each task in the order of their worth, of which only those that matter are listed.

Tasks that see the same history share its order by all but similarity. Per task only the items that share a word with it
move; everything else is merged in as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from tasks.lineage import parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tasks.batch import Batch
    from tasks.settings import Settings

    Places = NDArray[np.uint32]
    Numbers = NDArray[np.float64]
    #: `(task, items, similarities)` of the items that share a word with a task.
    Alike = tuple[int, Places, Numbers]

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class Ranking:
    """The listed candidates, a place a pair, by task and rank; and what each task has of candidates beyond."""

    tasks: Places
    items: Places
    recency: Numbers
    similarity: Numbers
    score: Numbers
    rank: Places
    cut: Places
    cut_candidates: NDArray[np.int64]
    cut_tokens: NDArray[np.int64]


def listed(settings: Settings) -> int | None:
    """How many of a task's events are listed where no later stage asks for more; None for all of them.

    No event behind so many others can be within the horizon, or among the rows that are written.
    """
    rows = settings.audit.max_rows_per_task
    return max(settings.packing.horizon, rows) if rows and settings.packing.rule == "sections" else None


class Facts:
    """What counts of each item, in arrays by its place.

    Args:
        items: `item, item_id, parent_id, position, tokens, source, history, kind_priority, token_penalty`.
        alike: items that may be duplicates.
        settings: weights, and how far the packing and the written rows go.
    """

    def __init__(self, items: pl.DataFrame, alike: pl.Series, settings: Settings) -> None:
        place = items["item"].to_numpy()
        self.size = int(place.max()) + 1 if len(place) else 0
        self.weights = settings.scoring.weights
        self.kind_priority = self._spread(place, items["kind_priority"].to_numpy())
        self.token_penalty = self._spread(place, items["token_penalty"].to_numpy())
        self.position = self._spread(place, items["position"].to_numpy())
        self.tokens = self._spread(place, items["tokens"].cast(pl.Int64).to_numpy())
        self.history = self._spread(place, items["history"].to_numpy())
        self._links = parents(items)
        self.optional = self.history & ~self._needed(alike)
        self.optional[items.filter(pl.col("source") == "rules")["item"].to_numpy()] = False  # urgency may move them
        self.above = self._ancestors()
        self.listed = listed(settings)

    def score(self, items: Places, recency: Numbers, similarity: Numbers | float) -> Numbers:
        """The weighted sum."""
        return (
            self.weights.recency * recency
            + self.weights.similarity * similarity
            + self.weights.kind * self.kind_priority[items]
            + self.weights.penalty * self.token_penalty[items]
        )

    def _spread(self, place: Places, values: NDArray) -> NDArray:  # type: ignore[type-arg]
        spread = np.zeros(self.size, values.dtype)
        spread[place] = values
        return spread

    def _needed(self, alike: pl.Series) -> NDArray[np.bool_]:
        """What the search for duplicates looks at: items that are like another, and their children."""
        needed = np.zeros(self.size, np.bool_)
        needed[alike.to_numpy()] = True
        child, parent = self._links["item"].to_numpy(), self._links["parent"].to_numpy()
        needed[child[needed[parent]]] = True
        return needed

    def _ancestors(self) -> list[Places]:
        """Each item's ancestor 1, 2, 4, 8, ... generations up, or the topmost there is; until all are reached."""
        up = np.arange(self.size, dtype=np.uint32)
        up[self._links["item"].to_numpy()] = self._links["parent"].to_numpy()
        steps = [up]
        for _ in range(self.size.bit_length()):  # in a circle nobody is ever at the top
            if (up[up] == up).all():
                break
            up = up[up]
            steps.append(up)
        return steps


class _History:
    """The history that tasks share, in the order of its worth to a task with which it has no word in common."""

    def __init__(self, items: Places, facts: Facts) -> None:
        items = items[np.argsort(facts.position[items], kind="stable")]
        recency = np.arange(1, len(items) + 1) / max(len(items), 1)
        score = facts.score(items, recency, 0.0)
        order = np.lexsort((items, -score))
        self.items = items[order]
        self.recency = recency[order]
        self.score = score[order]
        self._losses = -self.score
        self.place = np.full(facts.size, -1, np.int64)
        self.place[self.items] = np.arange(len(items))
        self.options = np.cumsum(facts.optional[self.items])
        self.needed = np.flatnonzero(~facts.optional[self.items])
        self.tokens = int(facts.tokens[items].sum())

    def places_of(self, items: Places, scores: Numbers) -> NDArray[np.intp]:
        """Where items with scores would stand in the order: how many of the history come before each."""
        return _places(items, scores, among=self.items, losses=self._losses)


def _places(items: Places, scores: Numbers, *, among: Places, losses: Numbers) -> NDArray[np.intp]:
    """How many of an order, given by its items and their negative scores, come before each item with its score."""
    places = np.searchsorted(losses, -scores, "left")
    inside = np.flatnonzero(places < len(losses))
    for tied in inside[losses[places[inside]] == -scores[inside]]:  # of equal scores the lower item comes first
        end = np.searchsorted(losses, -scores[tied], "right")
        places[tied] += np.searchsorted(among[places[tied] : end], items[tied])
    return places


def ranked(batch: Batch, facts: Facts, alike: Iterable[Alike]) -> Ranking:
    """Ranks the candidates of all tasks of a batch: by score, ties by item.

    Args:
        batch: one with pools.
        facts: those of its items.
        alike: the similarities above 0, by task.
    """
    similarities = {task: (items, values) for task, items, values in alike}
    nothing = np.empty(0, np.uint32), np.empty(0)
    similarity = np.zeros(facts.size)
    found: dict[int, _Listed] = {}
    for _, seen in groupby(sorted(_views(batch, facts), key=_history_of), key=_history_of):
        shared: _History | None = None
        for view in seen:
            shared = shared or _History(view.history_items(), facts)
            items, values = similarities.get(view.task, nothing)
            similarity[items] = values
            found[view.task] = _listed(shared, view.others, items, similarity, facts)
            similarity[items] = 0.0
    return _joined([found[task] for task in sorted(found)], sorted(found))


@dataclass(frozen=True)
class _View:
    """What a task sees: the pools and single items of its history, and everything else."""

    task: int
    history: tuple[tuple[int, ...], tuple[int, ...]]
    others: Places
    pools: Mapping[int, Places]

    def history_items(self) -> Places:
        pools, single = self.history
        return np.concatenate([*(self.pools[pool] for pool in pools), np.array(single, np.uint32)])


def _history_of(view: _View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return view.history


def _views(batch: Batch, facts: Facts) -> Iterator[_View]:
    """The tasks that have candidates. An item is in one of a task's pools, or added to the task."""
    history: dict[int, Places] = {}
    others: dict[int, Places] = {}
    seen_pools = batch.pools.join(batch.memberships, on="pool", how="semi")  # those of other shards are many
    for pool, items in _grouped(seen_pools, "pool"):
        events = facts.history[items]
        for kept, part in ((history, items[events]), (others, items[~events])):
            if len(part):
                kept[pool] = part
    added = dict(_grouped(batch.added, "task"))
    none = np.empty(0, np.uint32)
    seen_by = batch.memberships.sort("task", "pool").group_by("task", maintain_order=True).agg("pool")
    for task, pools in seen_by.iter_rows():
        more = added.get(task, none)
        events = facts.history[more]
        seen = tuple(pool for pool in pools if pool in history)
        rest = np.concatenate([*(others[pool] for pool in pools if pool in others), more[~events]])
        if seen or len(rest) or len(more):
            yield _View(task, (seen, tuple(more[events].tolist())), rest.astype(np.uint32), history)


def _grouped(rows: pl.DataFrame, by: str) -> Iterator[tuple[int, Places]]:
    """The items that are still in, by pool or task."""
    alive = rows.filter(pl.col("reason").is_null()).sort(by, "item")
    counts = alive.group_by(by, maintain_order=True).len()
    ends = counts["len"].cum_sum().to_list()
    items = alive["item"].to_numpy()
    for key, start, end in zip(counts[by].to_list(), [0, *ends], ends, strict=False):
        yield key, items[start:end]


@dataclass(frozen=True)
class _Listed:
    """One task's part of a ranking."""

    items: Places
    recency: Numbers
    similarity: Numbers
    score: Numbers
    rank: Places
    cut_candidates: int
    cut_tokens: int


@dataclass(frozen=True)
class _Late:
    """Candidates that have no place in the history's own order, best first: those that move, and those not of it."""

    items: Places
    recency: Numbers
    score: Numbers
    places: NDArray[np.intp]
    """How many of the history come before each."""
    rank: NDArray[np.intp]
    """Its rank among them and the history that stays."""

    @classmethod
    def of(cls, shared: _History, moved: NDArray[np.intp], items: Places, recency: Numbers, score: Numbers) -> _Late:
        order = np.lexsort((items, -score))
        items, score = items[order], score[order]
        places = shared.places_of(items, score)
        rank = 1 + np.arange(len(items)) + places - np.searchsorted(moved, places)
        return cls(items, recency[order], score, places, rank)


def _listed(shared: _History, others: Places, alike: Places, similarity: Numbers, facts: Facts) -> _Listed:
    """Merges what moves into the order that the history has by itself, and lists what somebody will look at.

    What moves and surely ranks behind all that is listed is only counted, since it is most of what moves in a long log.

    Args:
        shared: the task's history.
        others: its other candidates.
        alike: items, candidates or not, whose similarity is not 0.
        similarity: of all items.
        facts: of all items.
    """
    moved = np.sort(shared.place[alike])
    moved = moved[np.searchsorted(moved, 0) :]
    head = _head(shared, len(moved), facts)
    items = np.concatenate([shared.items[moved], others])
    recency = np.concatenate([shared.recency[moved], np.ones(len(others))])
    score = facts.score(items, recency, similarity[items])
    floor = shared.score[head - 1] if head < len(shared.items) else -np.inf
    near = (score >= floor) | ~facts.optional[items]
    late = _Late.of(shared, moved, items[near], recency[near], score[near])

    stays = np.ones(len(shared.items), np.bool_)
    stays[moved] = False
    rest = np.flatnonzero(stays[:head])
    arrived = np.cumsum(np.bincount(late.places[: np.searchsorted(late.places, head)], minlength=head))
    rest_rank = 1 + np.arange(len(rest)) + arrived[rest]
    wanted = np.zeros(facts.size, np.bool_)
    wanted[shared.items[shared.needed]] = True
    last = _last(rest_rank[facts.optional[shared.items[rest]]], late.rank[facts.optional[late.items]], facts)
    wanted[shared.items[rest[rest_rank <= last]]] = True
    wanted[late.items[(late.rank <= last) | ~facts.optional[late.items]]] = True
    for up in facts.above:
        wanted[up[np.flatnonzero(wanted)]] = True

    if (~near & wanted[items]).any():  # ancestors of what is listed
        near |= wanted[items]
        late = _Late.of(shared, moved, items[near], recency[near], score[near])
    rest = shared.place[np.flatnonzero(wanted)]
    rest = np.sort(rest[rest >= 0])
    rest = rest[stays[rest]]
    rest_rank = 1 + rest - np.searchsorted(moved, rest) + np.searchsorted(late.places, rest, "right")
    chosen = wanted[late.items]
    ranks = np.concatenate([rest_rank, late.rank[chosen]])
    order = np.argsort(ranks, kind="stable")
    ranks = ranks[order]
    listed = np.concatenate([shared.items[rest], late.items[chosen]])[order]
    listed_score = np.concatenate([shared.score[rest], late.score[chosen]])[order]
    low = np.searchsorted(
        -listed_score, -floor, "right"
    )  # what is as good as that has nothing that was left out before it
    if low < len(listed):
        ahead = _places(items[~near], score[~near], among=listed[low:], losses=-listed_score[low:])
        ranks[low:] += np.cumsum(np.bincount(ahead, minlength=len(listed) - low + 1))[:-1]
    total = len(shared.items) + len(others)
    tokens = shared.tokens + int(facts.tokens[others].sum())
    return _Listed(
        items=listed,
        recency=np.concatenate([shared.recency[rest], late.recency[chosen]])[order],
        similarity=similarity[listed],
        score=listed_score,
        rank=ranks.astype(np.uint32),
        cut_candidates=total - len(listed),
        cut_tokens=tokens - int(facts.tokens[listed].sum()),
    )


def _head(shared: _History, moved: int, facts: Facts) -> int:
    """How much of the history's order surely holds all that may be listed, whichever of its items move."""
    if facts.listed is None:
        return len(shared.items)
    return int(np.searchsorted(shared.options, facts.listed + moved)) + 1


def _last(rest: NDArray[np.intp], late: NDArray[np.intp], facts: Facts) -> int:
    """The rank of the last optional candidate that is listed."""
    ranks = np.concatenate([rest, late])
    if facts.listed is None or len(ranks) <= facts.listed:
        return int(ranks.max(initial=0))
    return int(np.partition(ranks, facts.listed - 1)[facts.listed - 1])


def _joined(parts: Sequence[_Listed], tasks: Sequence[int]) -> Ranking:
    cut = [part.cut_candidates > 0 for part in parts]
    numbers = np.array(tasks, np.uint32)
    return Ranking(
        tasks=np.repeat(numbers, [len(part.items) for part in parts]),
        items=_column([part.items for part in parts], np.uint32),
        recency=_column([part.recency for part in parts], np.float64),
        similarity=_column([part.similarity for part in parts], np.float64),
        score=_column([part.score for part in parts], np.float64),
        rank=_column([part.rank for part in parts], np.uint32),
        cut=numbers[cut],
        cut_candidates=np.array([part.cut_candidates for part in parts], np.int64)[cut],
        cut_tokens=np.array([part.cut_tokens for part in parts], np.int64)[cut],
    )


def _column(parts: Sequence[NDArray[Number]], kind: type[Number]) -> NDArray[Number]:
    return np.concatenate([np.empty(0, kind), *parts])

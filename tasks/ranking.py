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
        rows = settings.audit.max_rows_per_task
        self.listed = max(settings.packing.horizon, rows) if rows and settings.packing.rule == "sections" else None

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
        """Each item's ancestor 1, 2, 4, 8, ... generations up, itself where there is none; until all are reached."""
        up = np.arange(self.size, dtype=np.uint32)
        up[self._links["item"].to_numpy()] = self._links["parent"].to_numpy()
        steps = []
        for _ in range(self.size.bit_length()):  # in a circle nobody is ever at the top
            if (up == np.arange(self.size)).all():
                break
            steps.append(up)
            up = up[up]
        return steps


class _History:
    """The history that tasks share, in the order of what it is worth to a task with whose words it has none in common."""

    def __init__(self, items: Places, facts: Facts) -> None:
        self.items = items[np.argsort(facts.position[items], kind="stable")]
        count = len(items)
        self.recency = np.arange(1, count + 1) / max(count, 1)
        self.score = facts.score(self.items, self.recency, 0.0)
        self.order = np.lexsort((self.items, -self.score))
        self.tokens = int(facts.tokens[items].sum())
        self.place = np.full(facts.size, -1, np.int64)
        self.place[self.items] = np.arange(count)


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
    for history, seen in groupby(sorted(_views(batch, facts), key=_history_of), key=_history_of):
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
    for pool, items in _grouped(batch.pools, "pool"):
        events = facts.history[items]
        for kept, part in ((history, items[events]), (others, items[~events])):
            if len(part):
                kept[pool] = part
    added = dict(_grouped(batch.added, "task"))
    none = np.empty(0, np.uint32)
    for task, pools in batch.memberships.sort("task", "pool").group_by("task", maintain_order=True).agg("pool").iter_rows():
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


def _listed(shared: _History, others: Places, alike: Places, similarity: Numbers, facts: Facts) -> _Listed:
    """Merges what moves into the order that the history has by itself, and cuts what nobody will look at.

    Args:
        shared: the task's history.
        others: its other candidates.
        alike: items, candidates or not, whose similarity is not 0.
        similarity: of all items.
        facts: of all items.
    """
    moved = shared.place[alike]
    moved = moved[moved >= 0]
    stays = np.ones(len(shared.items), np.bool_)
    stays[moved] = False
    rest = shared.order[stays[shared.order]]
    late = np.concatenate([shared.items[moved], others])
    recency = np.concatenate([shared.recency[moved], np.ones(len(others))])
    items = np.concatenate([shared.items[rest], late])
    score = np.concatenate([shared.score[rest], facts.score(late, recency, similarity[late])])
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.lexsort((items, -score))
    kept = _kept(items[order], facts)
    chosen = order[kept]
    listed = items[chosen]
    recency = np.concatenate([shared.recency[rest], recency])[chosen]
    tokens = shared.tokens + int(facts.tokens[others].sum()) - int(facts.tokens[listed].sum())
    rank = (kept + 1).astype(np.uint32)
    return _Listed(listed, recency, similarity[listed], score[chosen], rank, len(items) - len(listed), tokens)


def _kept(ordered: Places, facts: Facts) -> NDArray[np.intp]:
    """The places of the candidates that get a row, of all candidates of a task in their order."""
    if facts.listed is None or len(ordered) <= facts.listed:
        return np.arange(len(ordered))
    optional = facts.optional[ordered]
    first = ~optional | (np.cumsum(optional) <= facts.listed)
    wanted = np.zeros(facts.size, np.bool_)
    wanted[ordered[first]] = True
    for up in facts.above:
        wanted[up[wanted]] = True
    return np.flatnonzero(wanted[ordered])


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

"""The candidates of each task in the order of their worth, of which only those that matter are listed.

Tasks that see the same history share its order by all but similarity. Per task only the items that share a word with it
move; everything else is merged in as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl

from tasks.lineage import parents
from tasks.pairs import bounds, packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tasks.batch import Batch
    from tasks.settings import Settings

    #: Of items. Numbers of the machine's own size, since NumPy copies any others before it looks up by them.
    Places = NDArray[np.intp]
    Numbers = NDArray[np.float64]
    #: Of tasks and items, as frames have them.
    Rows = NDArray[np.uint32]
    #: `(task, items, similarities)` of the items that share a word with a task.
    Alike = tuple[int, Rows, Numbers]

Number = TypeVar("Number", bound=np.generic)
_Sort = Literal["quicksort", "stable"]


@dataclass(frozen=True)
class Ranking:
    """The listed candidates, a place a pair, by task and rank; and what each task has of candidates beyond."""

    tasks: Rows
    items: Rows
    recency: Numbers
    similarity: Numbers
    score: Numbers
    rank: Rows
    cut: Rows
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
        self._kind_worth = self.weights.kind * self.kind_priority
        self._penalty_worth = self.weights.penalty * self.token_penalty
        self.position = self._spread(place, items["position"].to_numpy())
        self.tokens = self._spread(place, items["tokens"].cast(pl.Int64).to_numpy())
        self.history = self._spread(place, items["history"].to_numpy())
        self._links = parents(items)
        self.optional = self.history & ~self._needed(alike)
        self.optional[items.filter(pl.col("source") == "rules")["item"].to_numpy()] = False  # urgency may move them
        self.above = self._ancestors()
        self.listed = listed(settings)

    def score(self, items: Places, recency_worth: Numbers, similarity: Numbers | float) -> Numbers:
        """The weighted sum; `recency_worth` has its weight already."""
        worth = recency_worth + self.weights.similarity * similarity
        worth += self._kind_worth[items]
        worth += self._penalty_worth[items]
        return worth

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
        up = np.arange(self.size)
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
        self.recency = np.ones(facts.size)  # of other candidates, too
        self.recency[items] = np.arange(1, len(items) + 1) / max(len(items), 1)
        self.recency_worth = facts.weights.recency * self.recency
        score = facts.score(items, self.recency_worth[items], 0.0)
        order = _by_worth(items, score)
        self.items, self.score = items[order], score[order]
        self.losses = -self.score
        self.place = np.full(facts.size, -1, np.int64)
        self.place[self.items] = np.arange(len(items))
        self.needed = self.items[~facts.optional[self.items]]
        self.tokens = int(facts.tokens[items].sum())
        self.head = self._head(facts)

    def _head(self, facts: Facts) -> int:
        """How much of the order holds the optional items that are listed, should a word in common raise none."""
        return _last(facts.optional[self.items], facts)


def _by_worth(items: Places, scores: Numbers, kind: _Sort = "quicksort") -> NDArray[np.intp]:
    """The order of items by score, descending; of equal scores the lower item comes first.

    What consists of a few ordered runs is merged by a `stable` sort, several times as fast.
    """
    order = np.argsort(-scores, kind=kind)
    same = scores[order[1:]] == scores[order[:-1]]
    if same.any():
        tie = np.zeros(len(order), np.bool_)
        tie[1:] = same
        tie[:-1] |= same
        tied = order[tie]
        order[tie] = tied[np.lexsort((items[tied], -scores[tied]))]
    return order


def _before(items: Places, losses: Numbers, *, among: Places, of: Numbers) -> NDArray[np.intp]:
    """How many of an order, given by its items and their negative scores, come before each item with its own."""
    places = np.searchsorted(of, losses, "left")
    inside = np.flatnonzero(places < len(of))
    for tied in inside[of[places[inside]] == losses[inside]]:
        end = np.searchsorted(of, losses[tied], "right")
        places[tied] += np.searchsorted(among[places[tied] : end], items[tied])
    return places


def ranked(batch: Batch, facts: Facts, alike: Iterable[Alike]) -> Ranking:
    """Ranks the candidates of all tasks of a batch: by score, ties by item.

    Args:
        batch: one with pools.
        facts: those of its items.
        alike: the similarities above 0, by task.
    """
    similarities = {task: (items.astype(np.intp), values) for task, items, values in alike}
    nothing = np.empty(0, np.intp), np.empty(0)
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
        return np.concatenate([*(self.pools[pool] for pool in pools), np.array(single, np.intp)])


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
    none = np.empty(0, np.intp)
    seen_by = batch.memberships.sort("task", "pool").group_by("task", maintain_order=True).agg("pool")
    for task, pools in seen_by.iter_rows():
        more = added.get(task, none)
        events = facts.history[more]
        seen = tuple(pool for pool in pools if pool in history)
        rest = np.concatenate([*(others[pool] for pool in pools if pool in others), more[~events]])
        if seen or len(rest) or len(more):
            yield _View(task, (seen, tuple(more[events].tolist())), rest, history)


def _grouped(rows: pl.DataFrame, by: str) -> Iterator[tuple[int, Places]]:
    """The items that are still in, by pool or task."""
    alive = rows.filter(pl.col("reason").is_null())
    keys, items = alive[by].to_numpy(), alive["item"].to_numpy()
    both = packed(keys, items)
    if (both[1:] < both[:-1]).any():  # pools mostly are in order
        order = np.argsort(both)
        keys, items = keys[order], items[order]
    for start, end in bounds(keys):
        yield int(keys[start]), items[start:end].astype(np.intp)


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
    """Merges what moves into the order that the history has by itself, and lists what somebody will look at.

    A word in common only ever raises a score, so that what is listed stands in the order's head or moves. Whatever lies
    deeper is listed for another's sake: its rank is what comes before it in the order, less what moves away from there,
    and what moves before it.

    Args:
        shared: the task's history.
        others: its other candidates.
        alike: items, candidates or not, whose similarity is not 0.
        similarity: of all items.
        facts: of all items.
    """
    places = shared.place[alike]
    moved = alike[places >= 0]
    places = np.sort(places[places >= 0])
    loose = np.concatenate([moved, others])
    score = facts.score(loose, shared.recency_worth[loose], similarity[loose])
    order = _by_worth(loose, score)
    loose, score = loose[order], score[order]

    head, head_score = shared.items[: shared.head], shared.score[: shared.head]
    stays = np.ones(len(head), np.bool_)
    stays[places[: np.searchsorted(places, len(head))]] = False
    losses = -score
    near = np.searchsorted(losses, -head_score[-1], "right") if len(head) < len(shared.items) else len(loose)
    top = np.concatenate([head[stays], loose[:near]])
    top_score = np.concatenate([head_score[stays], score[:near]])
    order = _by_worth(top, top_score, "stable")
    order = order[: _last(facts.optional[top[order]], facts)]
    top, top_score = top[order], top_score[order]

    rank = np.arange(1, len(top) + 1)
    if (wanted := _wanted(top, (shared.needed, others), facts)) is not None:
        deeper = _deeper(wanted, shared, places, loose, losses)
        rank = np.concatenate([rank, deeper.rank])
        order = np.argsort(rank, kind="stable")
        rank = rank[order]
        top = np.concatenate([top, deeper.items])[order]
        top_score = np.concatenate([top_score, -deeper.losses])[order]
    total = len(shared.items) + len(others)
    tokens = shared.tokens + int(facts.tokens[others].sum())
    return _Listed(
        items=top,
        recency=shared.recency[top],
        similarity=similarity[top],
        score=top_score,
        rank=rank,
        cut_candidates=total - len(top),
        cut_tokens=tokens - int(facts.tokens[top].sum()),
    )


class _Deeper(NamedTuple):
    """Candidates that are listed for another's sake, with their negative scores and their ranks."""

    items: Places
    losses: Numbers
    rank: Places


def _deeper(wanted: NDArray[np.bool_], shared: _History, places: Places, loose: Places, losses: Numbers) -> _Deeper:
    """Finds wanted candidates in the history's order and among what moves.

    Args:
        wanted: by item.
        shared: the history's order.
        places: what moves away from there, in its order.
        loose: what moves, and other candidates, by their worth.
        losses: their negative scores.
    """
    deep = np.flatnonzero(wanted[loose])
    before = _before(loose[deep], losses[deep], among=shared.items, of=shared.losses)
    deep_rank = 1 + deep + before - np.searchsorted(places, before)
    wanted[loose] = False
    still = shared.place[np.flatnonzero(wanted)]
    still = still[still >= 0]  # an ancestor may be no candidate
    before = _before(shared.items[still], shared.losses[still], among=loose, of=losses)
    still_rank = 1 + still - np.searchsorted(places, still) + before
    return _Deeper(
        np.concatenate([loose[deep], shared.items[still]]),
        np.concatenate([losses[deep], shared.losses[still]]),
        np.concatenate([deep_rank, still_rank]),
    )


def _last(optional: NDArray[np.bool_], facts: Facts) -> int:
    """How many of the best candidates there are down to the last optional one that is listed."""
    options = np.flatnonzero(optional)
    if facts.listed is None or len(options) < facts.listed:
        return len(optional)
    return int(options[facts.listed - 1]) + 1


def _wanted(top: Places, parts: Sequence[Places], facts: Facts) -> NDArray[np.bool_] | None:
    """Which items are in any of the parts, or an ancestor of one that is or of the top, and not in the top themselves.

    None where there are none.
    """
    wanted = np.zeros(facts.size, np.bool_)
    for items in (top, *parts):
        wanted[items] = True
    if not all(wanted[facts.above[0][items]].all() for items in (top, *parts)):
        for up in facts.above:
            wanted[up[np.flatnonzero(wanted)]] = True
    wanted[top] = False
    return wanted if wanted.any() else None


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


def _column(parts: Sequence[NDArray[Any]], kind: type[Number]) -> NDArray[Number]:
    return np.concatenate([np.empty(0, kind), *parts]).astype(kind, copy=False)

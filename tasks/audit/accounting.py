"""Invariant 6 in `contexts/`: each candidate once, selected or dropped with a reason, and the task's counts agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from tasks.audit.reading import sample
from tasks.audit.violation import Check, Violation
from tasks.terms import REASONS, STAGE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.audit.reading import Build, Context

_TOLERANCE = 1e-6  # scores are compared to the six decimals that are on record
_PARTS = {"recency": "recency", "similarity": "similarity", "kind_priority": "kind", "token_penalty": "penalty"}
_UNSAID = re.compile(r"[\W_]+")

_OUT, _CHOSEN = pl.col("decision") == "dropped", pl.col("decision") == "selected"
_REPEATS = (pl.col("reason") == "duplicate").fill_null(value=False)
_SCORED = pl.col("score").is_not_null()
_COUNTED = {
    "candidates": pl.len(),
    "included": _CHOSEN.sum(),
    "dropped": _OUT.sum(),
    "dedup_removed": (_OUT & _REPEATS).sum(),
    "sensitivity_dropped": (_OUT & (pl.col("reason") == "sensitivity")).sum(),
}


class Accounting(Check):
    """One pass of expressions over each context; loops only over what is selected, which the budget bounds."""

    name = "accounting"

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self._faults = {**_row_faults(), **_score_faults(build.setting("scoring", "weights"))}

    def of_context(self, context: Context) -> Iterator[Violation]:
        """Rows, duplicates, scores, counts and texts of one task."""
        faults = {said: fault.fill_null(value=True) for said, fault in (self._faults | _owner_faults(context)).items()}
        found = context.rows.select(
            *(fault.sum().alias(said) for said, fault in faults.items()),
            *(count.alias(column) for column, count in _COUNTED.items()),
            _climb().alias("climb"),
        ).row(0, named=True)
        for said, fault in faults.items():
            if found[said]:
                names = context.rows.filter(fault)["item_id"]
                yield self.found(context.place, f"{sample(names, len(names))} {said}.")
        if found["climb"]:
            yield self.found(context.place, "the ranks do not follow the scores.")
        for message in (*self._counts(context, found), *_selected_texts(context)):
            yield self.found(context.place, message)

    def _counts(self, context: Context, counted: dict[str, int]) -> Iterator[str]:
        """The task's counts are its rows; dropped rows beyond `audit.max_rows_per_task` are counted only."""
        task = context.task
        capped = 0 < self.build.max_rows <= len(context.rows)
        for column in _COUNTED:
            said, count = task[column], counted[column]
            if said != count and not (capped and column != "included" and (said or 0) > count):
                yield f"{column} says {said} in tasks.parquet, the file has {count}."
        if (task["included"] or 0) + (task["dropped"] or 0) != task["candidates"]:
            said = f"{task['candidates']} candidates, {task['included']} included, {task['dropped']} dropped"
            yield f"tasks.parquet says {said}."


def _row_faults() -> dict[str, pl.Expr]:
    """What no row may be."""
    place = pl.col("prompt_order")
    kept = pl.col("item_id").filter(~_REPEATS).implode()
    return {
        "is a candidate twice": pl.col("item_id").is_duplicated(),
        "is not in items.parquet": ~pl.col("known").fill_null(value=False),
        "is neither selected nor dropped": ~(_OUT | _CHOSEN),
        "is dropped without a reason that the contract knows": _OUT & ~pl.col("reason").is_in(REASONS),
        "is dropped without the stage that did it": _OUT & ~pl.col("stage").is_in(STAGE_NAMES),
        "is dropped, yet its text is in the file": _OUT & pl.col("text").is_not_null(),
        "is dropped, yet has a place in the prompt": _OUT & place.is_not_null(),
        "is selected with a reason to be dropped": _CHOSEN & pl.col("reason").is_not_null(),
        "is selected without text": _CHOSEN & pl.col("text").is_null(),
        "is selected without a place in the prompt": _CHOSEN & place.is_null(),
        "shares its place in the prompt": _CHOSEN & place.is_not_null() & place.is_duplicated(),
        "is a duplicate of none that was kept": _REPEATS & ~pl.col("duplicate_of").is_in(kept).fill_null(value=False),
        "names what it repeats, and is no duplicate": ~_REPEATS & pl.col("duplicate_of").is_not_null(),
    }


def _owner_faults(context: Context) -> dict[str, pl.Expr]:
    """Whose rows and items a file may hold: history alone is shown to the tasks that come after.

    The closure brings ancestors of whatever graph or task.
    """
    graph, task_id = context.task["graph"], context.task["task_id"]
    foreign = pl.col("owner_task").fill_null(task_id) != task_id
    return {
        "stands in the file of another task": (pl.col("graph") != graph) | (pl.col("task_id") != task_id),
        "is an item of another graph or task": (
            (pl.col("owner_graph").fill_null(graph) != graph) | (foreign & (pl.col("section") != "history"))
        )
        & ~pl.col("item_id").is_in(pl.col("parent").drop_nulls().implode()),
    }


def _score_faults(weights: object) -> dict[str, pl.Expr]:
    """A score is the weighted sum of its parts, and has a rank of its own."""
    faults = {
        "has a score that is no number": _SCORED & ~pl.col("score").is_finite().fill_null(value=False),
        "has a score without a rank of its own": _SCORED & (pl.col("rank").is_null() | pl.col("rank").is_duplicated()),
    }
    if isinstance(weights, dict) and all(isinstance(weights.get(name), int | float) for name in _PARTS.values()):
        whole = pl.sum_horizontal((pl.col(part) * weights[name] for part, name in _PARTS.items()), ignore_nulls=False)
        off = (pl.col("score") - whole).abs() > _TOLERANCE
        said = "has a score that is not the sum of its weighted parts"
        faults[said] = _SCORED & pl.col("score").is_finite() & off.fill_null(value=True)
    return faults


def _climb() -> pl.Expr:
    """Whether a score is above that of a better rank."""
    ranked = pl.col("score").filter(_SCORED).sort_by(pl.col("rank").filter(_SCORED))
    return (ranked.diff() > _TOLERANCE).any()


def _selected_texts(context: Context) -> Iterator[str]:
    """Each selected text stands in the prompt, in the order of the rows, none inside another."""
    prompt = context.task["prompt"]
    texts = [row["text"] or "" for row in context.selected]
    if prompt is None or _first_absent(prompt, texts) is None:
        return
    prompt, texts = _letters(prompt), [_letters(text) for text in texts]
    absent = _first_absent(prompt, texts)
    if absent is not None:
        where = "not in the prompt" if texts[absent] not in prompt else "not in the prompt in the order of its rows"
        yield f"{context.selected[absent]['item_id']} is selected, but its text is {where}."


def _first_absent(prompt: str, texts: Sequence[str]) -> int | None:
    """The first text that does not follow those before it."""
    place = 0
    for number, text in enumerate(texts):
        found = prompt.find(text, place)
        if found < 0:
            return number
        place = found + len(text)
    return None


def _letters(text: str) -> str:
    """Letters and digits alone: what a renderer must escape or indent does not matter."""
    return _UNSAID.sub("", text)

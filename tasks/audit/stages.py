"""Invariant 6 in `stages.parquet`: eight stages a task, each taking what the one before left, drops accounted."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from tasks.audit.reading import Context, sample
from tasks.audit.violation import Check, Violation
from tasks.terms import REASONS, STAGE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = ["graph", "task_id"]
_WHERE = "stages.parquet"
_FIRST = STAGE_NAMES[0]
_COUNTS = ("candidates_in", "candidates_out", "tokens_in", "tokens_out", "closures_added")


class Stages(Check):
    """Expressions over all stages of all tasks; the drops by reason are compared with each context."""

    name = "stages"

    def of_build(self) -> Iterator[Violation]:
        """Order, continuity and sums."""
        for fault, rows in self._faults():
            if len(rows):
                names = (f"{graph}/{task_id}" for graph, task_id in rows.select(_KEY).iter_rows())
                yield self.found(_WHERE, f"{sample(names, len(rows))}: {fault}.")

    def of_context(self, context: Context) -> Iterator[Violation]:
        """The drops of each stage are the candidates that carry it; stage 2 may bring back what stage 1 left out."""
        task = context.task
        if 0 < self.build.max_rows <= len(context.rows) or not (
            said := self._drops.get((task["graph"], task["task_id"]))
        ):
            return
        back = task["closures_added"] or 0
        rows = context.rows.select("decision", "stage", "reason").iter_rows()
        counted = Counter((stage, reason) for decision, stage, reason in rows if decision == "dropped")
        for stage, reason in sorted(said.keys() | counted.keys(), key=str):
            stated, found = said.get((stage, reason), 0), counted[stage, reason]
            if not found <= stated <= found + (back if stage == _FIRST else 0):
                yield self.found(context.place, f"{stage} says {stated} {reason}, the candidates say {found}.")

    @cached_property
    def _drops(self) -> dict[tuple[str, str], dict[tuple[str, str], int]]:
        """The stated drops of each task that has eight stages, by stage and reason."""
        drops: dict[tuple[str, str], dict[tuple[str, str], int]] = {
            key: {} for key in self._whole.select(_KEY).iter_rows()
        }
        rows = self._rows.select(*_KEY, "stage", "drops").explode("drops", empty_as_null=False, keep_nulls=False)
        for graph, task_id, stage, reason, count in rows.unnest("drops").iter_rows():
            if (graph, task_id) in drops and count:
                stated = drops[graph, task_id]
                stated[stage, reason] = stated.get((stage, reason), 0) + count
        return drops

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """All stages with the sums of their drops and what the stage after takes."""
        following = (
            pl.col(f"{unit}_in").shift(-1).over(_KEY).alias(f"{unit}_next") for unit in ("candidates", "tokens")
        )
        counts = pl.col("drops").list.eval(pl.element().struct.field("count"))
        return self.build.frames["stages"].with_columns(
            *following,
            dropped_sum=counts.list.sum().fill_null(0),
            **{reason: _dropped_for(reason) for reason in ("duplicate", "sensitivity")},
        )

    @cached_property
    def _tasks(self) -> pl.DataFrame:
        """The tasks, with their stages in the order of the file and the sums over them."""
        stages = self._rows.group_by(_KEY, maintain_order=True).agg(
            "stage",
            pl.col("candidates_in").first().alias("first_in"),
            pl.col("candidates_out").last().alias("last_out"),
            pl.col("closures_added").sum().alias("added_sum"),
            pl.col("dropped_sum").sum(),
            pl.col("duplicate").sum(),
            pl.col("sensitivity").sum(),
        )
        return self.build.tasks.join(stages, on=_KEY, how="left", maintain_order="left")

    @cached_property
    def _whole(self) -> pl.DataFrame:
        """The tasks whose stages are the eight, in order: others cannot be summed."""
        return self._tasks.filter((pl.col("stage") == list(STAGE_NAMES)).fill_null(value=False))

    def _faults(self) -> Iterator[tuple[str, pl.DataFrame]]:
        tasks, whole, rows = self._tasks, self._whole, self._rows
        unlisted = tasks.join(whole, on=_KEY, how="anti", maintain_order="left")
        yield (
            "its stages are not the eight in their order",
            unlisted.filter(pl.col("status").is_in(["ok", "over_budget"])),
        )
        yield "it has stages, and is no task", rows.join(tasks, on=_KEY, how="anti", maintain_order="left")
        rows = rows.join(whole, on=_KEY, how="semi", maintain_order="left")
        yield "a stage without one of its counts", rows.filter(pl.any_horizontal(pl.col(_COUNTS).is_null()))
        yield "a negative count", rows.filter(pl.any_horizontal(pl.col(_COUNTS) < 0))
        reasons = pl.col("drops").list.eval(pl.element().struct.field("reason"))
        odd = ~reasons.list.eval(pl.element().is_in(REASONS)).list.all()
        yield "drops for a reason that the contract does not know", rows.filter(odd)
        for unit in ("candidates", "tokens"):
            gap = pl.col(f"{unit}_next").is_not_null() & (pl.col(f"{unit}_out") != pl.col(f"{unit}_next"))
            yield f"a stage takes other {unit} than the one before left", rows.filter(gap)
        out = pl.col("candidates_in") - pl.col("dropped_sum") + pl.col("closures_added")
        yield (
            "a stage leaves other candidates than in - drops + closures added",
            rows.filter(out != pl.col("candidates_out")),
        )
        yield (
            "closures_added is not the sum of its stages",
            whole.filter(pl.col("added_sum") != pl.col("closures_added")),
        )
        yield "dedup_removed is not the sum of its stages", whole.filter(pl.col("duplicate") != pl.col("dedup_removed"))
        removed = pl.col("sensitivity") != pl.col("sensitivity_dropped")
        yield "sensitivity_dropped is not the sum of its stages", whole.filter(removed)
        built = whole.filter(pl.col("status") == "ok")
        yield (
            "the last stage leaves others than the task includes",
            built.filter(pl.col("last_out") != pl.col("included")),
        )
        # Stage 2 adds ancestors that are new, or brings back what stage 1 had dropped.
        total = pl.col("candidates").is_between(pl.col("first_in"), pl.col("first_in") + pl.col("closures_added"))
        yield "its candidates are not those of stage 1 and what the closure added", built.filter(~total)
        drops = pl.col("dropped_sum").is_between(pl.col("dropped"), pl.col("dropped") + pl.col("closures_added"))
        yield "its dropped are not the drops of its stages", built.filter(~drops)


def _dropped_for(reason: str) -> pl.Expr:
    """How many a stage dropped for one reason."""
    counts = (
        pl.when(pl.element().struct.field("reason") == reason).then(pl.element().struct.field("count")).otherwise(0)
    )
    return pl.col("drops").list.eval(counts).list.sum().fill_null(0)

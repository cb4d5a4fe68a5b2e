"""The eight stages in their fixed order, run as plain functions or as Prefect tasks from the very same functions."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar, cast

import polars as pl

from tasks.batch import Batch, Calls, Timings, empty, frame_of
from tasks.calls import call_settings, called, calls, pairs, within_phase
from tasks.corpus import corpus
from tasks.prefixes import with_shared_prefixes
from tasks.recovery import Broken, fall_back, guarded
from tasks.settings import Settings
from tasks.shards import merged, shards, trimmed
from tasks.stages.candidates import generate_candidates
from tasks.stages.closure import resolve_dependency_closure
from tasks.stages.dedup import deduplicate_candidates
from tasks.stages.firewall import apply_firewall_to_batch
from tasks.stages.packing import select_and_pack
from tasks.stages.rendering import render_context
from tasks.stages.scoring import score_candidates
from tasks.stages.sensitivity import apply_sensitivity_filter
from tasks.terms import POOLED_STAGES

T = TypeVar("T")
Stage = Callable[[Batch, Settings], Batch]
#: Calls a stage: (stage, batch, settings, shard) -> what `guarded` returns. A flow puts a Prefect task here.
Call = Callable[[Stage, Batch, Settings, int], tuple[Batch, Broken]]

#: Never reordered. Ancestors must be there to be scored; a summariser must not see what is above the floor; summaries,
#: not raw text, must be scored.
STAGES: tuple[Stage, ...] = (
    generate_candidates,
    resolve_dependency_closure,
    apply_sensitivity_filter,
    apply_firewall_to_batch,
    score_candidates,
    deduplicate_candidates,
    select_and_pack,
    render_context,
)


class ShardDone(NamedTuple):
    """What became of a shard: its batch with what stands in the build, what broke, how long each stage took."""

    batch: Batch
    broken: Broken
    timings: list[dict[str, object]]


#: Runs the later stages over shards, wherever: (shards, settings) -> what `run_shard` gives for each, in their order.
Spread = Callable[[Sequence[Batch], Settings], Iterable[ShardDone]]
#: Takes finished tasks with all their candidates, to write them down while the next shard is worked on.
Keep = Callable[[Batch], None]


def run_shard(batch: Batch, settings: Settings, number: int) -> ShardDone:
    """The stages that work on pairs, over one shard, in this process; the items stay behind."""
    run, broken = Run(settings), Broken()
    done = trimmed(run._through(STAGES[POOLED_STAGES:], batch, number, broken), settings)  # noqa: SLF001 - of this module
    return ShardDone(replace(done, items=done.items.clear(), corpus=None), broken, run.timings)


@dataclass
class Run:
    """Runs the stages over a batch; `timings` tells afterwards how long each took.

    `keep`, where given, gets the tasks as they are done; what the run returns holds their selected candidates alone.
    """

    settings: Settings
    call: Call = guarded
    timings: list[dict[str, object]] = field(default_factory=list)
    spread: Spread | None = None
    keep: Keep | None = None

    def __call__(self, loaded: Batch) -> Batch:
        """All eight stages; tasks that break one get the full context at the end.

        Raises:
            StageError: tasks broke a stage, and `policy.fallback_to_full` is off.
        """
        broken: Broken = {}
        batch = with_corpus(self._through(STAGES[:POOLED_STAGES], loaded, 0, broken), self.settings)
        whole = merged(batch, self._in_shards(batch, broken))
        done = fall_back(loaded, whole, broken, STAGES, self.settings) if broken else whole
        done = with_shared_prefixes(done, self.settings)
        return done if loaded.tools is None else done.with_frames(calls=self._calls(loaded))

    def _in_shards(self, batch: Batch, broken: Broken) -> list[Batch]:
        """The stages that work on pairs, over shards. Once someone keeps the candidates, the selected ones remain."""
        done = []
        for part in self._worked_on(batch, broken):
            if self.keep is None or part.candidates is None:
                done.append(part)
            else:
                self.keep(part)
                done.append(part.with_frames(candidates=part.candidates.filter(pl.col("reason").is_null())))
        return done

    def _worked_on(self, batch: Batch, broken: Broken) -> Iterator[Batch]:
        """The shards, one after the other, worked on in turn or wherever `spread` has it done."""
        if self.spread is None:
            for number, part in enumerate(shards(batch, self.settings)):
                yield trimmed(self._through(STAGES[POOLED_STAGES:], part, number, broken), self.settings)
            return
        for one in self.spread(list(shards(batch, self.settings, self.settings.run.shards)), self.settings):
            broken.update(one.broken)
            self.timings += one.timings
            yield replace(one.batch, items=batch.items)

    def _calls(self, loaded: Batch) -> pl.DataFrame:
        """The call prompts: the same stages over pairs of a task and a tool, their shards numbered on."""
        if called(loaded).is_empty():
            return empty(Calls)
        run = Run(call_settings(self.settings), self.call, self.timings)
        shard = 1 + max((int(str(row["shard"])) for row in self.timings), default=0)
        early: Broken = {}
        broken: Broken = {}
        made = pairs(loaded, run._through(STAGES[:1], within_phase(loaded), shard, early), run.settings)
        batch = run._through(STAGES[1:POOLED_STAGES], made.batch, shard, broken)
        parts = [
            run._through(STAGES[POOLED_STAGES:], part, shard + number, broken)
            for number, part in enumerate(shards(batch, run.settings))
        ]
        return calls(loaded, made, merged(batch, parts), broken=broken, early=early, settings=run.settings)

    def timings_frame(self) -> pl.DataFrame:
        """One row a (stage, shard)."""
        return frame_of(Timings, self.timings)

    def _through(self, stages: Sequence[Stage], batch: Batch, shard: int, broken: Broken) -> Batch:
        for stage in stages:
            started, clock = datetime.now(UTC), time.perf_counter()
            batch, lost = self.call(stage, batch, self.settings, shard)
            broken.update(lost)
            rows = len(batch.pools) if batch.candidates is None else len(batch.candidates)
            self.timings.append(
                {
                    "stage": stage.__name__,
                    "shard": shard,
                    "tasks": len(batch.tasks),
                    "rows": rows,
                    "started": started,
                    "seconds": time.perf_counter() - clock,
                    "peak_mb": peak_mb(),
                }
            )
        return batch


def with_corpus(batch: Batch, settings: Settings) -> Batch:
    """The batch with what its items say together, so that no shard works it out again.

    Should that fail, the stage that needs it fails too, and finds the tasks that are to blame.
    """
    try:
        return replace(batch, corpus=corpus(batch, settings))
    except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - whatever it is, it will be met again
        return batch


def peak_mb() -> float:
    """The most memory that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def unwalked(value: T) -> T:
    """A value for a Prefect task, in which Prefect does not look for futures; in frames that would cost much."""
    from prefect.utilities.annotations import quote

    return cast("T", quote(value))


def prefect_call() -> Call:
    """A way to call stages as Prefect tasks: one task a stage, named after it, over all tasks (of a shard) at once.

    Frames neither are cache keys nor persisted results: they travel in memory, unwalked, and in a holder that
    is emptied at once, so that Prefect does not keep them.
    """
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    def called(stage: Stage, holder: list[tuple[Batch, Broken]], settings: Settings, shard: int) -> int:
        batch, _ = holder[0]  # it stays there until there is a result, for a retry
        holder[0] = guarded(stage, batch, settings, shard)
        return len(holder[0][0].tasks)

    stage_tasks = {
        stage.__name__: task(
            name=stage.__name__,
            task_run_name=f"{stage.__name__}-{{shard}}",
            description=stage.__doc__,
            cache_policy=NO_CACHE,
            persist_result=False,
        )(called)
        for stage in STAGES
    }

    def call(stage: Stage, batch: Batch, settings: Settings, shard: int) -> tuple[Batch, Broken]:
        holder: list[tuple[Batch, Broken]] = [(batch, {})]
        stage_tasks[stage.__name__](unwalked(stage), unwalked(holder), unwalked(settings), shard)
        return holder.pop()

    return call

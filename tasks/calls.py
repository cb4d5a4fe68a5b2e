"""Call prompts: for each task and each tool that it calls, a `call`-phase prompt headed by the tool's schema.

The eight stages run once more, over pairs of a task and a tool. A tool's schema is an item of the brief, so that it is
pinned, and of the kind that leads a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import Batch, Calls, Items, Pools, StageCounts, empty, frame_of
from tasks.errors import StageError
from tasks.layout import LEADING
from tasks.lineage import with_ancestors
from tasks.settings import BudgetSettings
from tasks.stages.candidates import PHASE_KINDS
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from tasks.recovery import Broken
    from tasks.settings import Settings


@dataclass(frozen=True)
class Pairs:
    """The pairs of a task and a tool: `of` says which (`task` of the pair, `origin` of its task, `tool`)."""

    of: pl.DataFrame
    batch: Batch
    schemas: pl.DataFrame
    """`item, tool` of the schemas."""


def call_settings(settings: Settings) -> Settings:
    """The settings of call prompts: the call phase, and its budget unless one is set for all prompts alike.

    A total that is divided among tasks, or a task's own budget, is meant for contexts, so it says nothing here.
    """
    tokens = settings.budget.tokens if settings.budget.allocation == "uniform" else None
    phase = settings.policy.model_copy(update={"phase": "call"})
    return settings.model_copy(update={"policy": phase, "budget": BudgetSettings(tokens=tokens)})


def called(loaded: Batch) -> pl.DataFrame:
    """`task, origin, tool`: a row for each tool of the catalogue that a task calls, numbered by task and tool."""
    assert loaded.tools is not None, "a catalogue was read"
    return (
        loaded.tasks.select(pl.col("task").alias("origin"), pl.col("tools").alias("tool"))
        .explode("tool", empty_as_null=False, keep_nulls=False)
        .unique()
        .join(loaded.tools.select("tool"), on="tool", how="semi")
        .sort("origin", "tool")
        .with_row_index("task")
    )


def within_phase(loaded: Batch) -> Batch:
    """The batch with the items that the call phase admits, and what they descend from."""
    admitted = loaded.items.filter(pl.col("kind").cast(pl.String).is_in(list(PHASE_KINDS["call"])))
    return loaded.with_frames(items=with_ancestors(loaded.items, admitted["item"]))


def pairs(loaded: Batch, first: Batch, settings: Settings) -> Pairs:
    """The pairs as a batch, its tasks being the pairs.

    Args:
        loaded: the build's first batch.
        first: the same after stage 1 in the call phase, over all tasks: what a task sees depends on the others.
        settings: those of call prompts.
    """
    of = called(loaded).join(first.tasks.select(pl.col("task").alias("origin")), on="origin", how="semi")
    wanted = of["tool"].unique().sort()
    assert loaded.tools is not None, "a catalogue was read"
    alive = first.pools.filter(pl.col("reason").is_null())
    schemas = _schema_items(loaded.tools.filter(pl.col("tool").is_in(wanted.implode())), len(loaded.items), settings)
    numbered = pl.DataFrame({"item": schemas["item"], "tool": wanted}, schema={"item": pl.UInt32, "tool": pl.String})
    next_pool = 0 if alive.is_empty() else int(alive.select(pl.max("pool")).item()) + 1
    own = numbered.with_columns(pool=pl.int_range(pl.len(), dtype=pl.UInt32) + next_pool)
    lone = own.select("pool", "item", *(pl.lit(None, kind).alias(name) for name, kind in _pool_rest()))
    tasks = first.tasks.rename({"task": "origin"}).with_columns(budget_tokens=pl.lit(None, pl.Int64))
    memberships = pl.concat(
        [
            of.join(first.memberships.rename({"task": "origin"}), on="origin").select("task", "pool"),
            of.join(own, on="tool").select("task", "pool"),
        ]
    )
    batch = Batch(
        tasks=of.drop("tool").join(tasks, on="origin").sort("task").select(loaded.tasks.columns),
        items=pl.concat([with_ancestors(first.items, alive["item"].unique()), schemas]),
        memberships=memberships.sort("task", "pool"),
        pools=pl.concat([alive, lone]).sort("pool", "item"),
        stages=empty(StageCounts),
    )
    return Pairs(of, batch, numbered)


def _pool_rest() -> list[tuple[str, pl.DataType]]:
    return [(name, kind) for name, kind in empty(Pools).schema.items() if name in ("stage", "reason")]


def _schema_items(tools: pl.DataFrame, start: int, settings: Settings) -> pl.DataFrame:
    """The schemas as items, numbered from `start`, sorted by tool."""
    section, kind = LEADING
    ordered = tools.sort("tool")
    rows = [
        {
            "item": start + place,
            "item_id": f"tool#{tool}",
            "source": "tools",
            "section": section,
            "kind": kind,
            "text": text,
            "tokens": tokens,
            "sensitivity": "public",
            "position": start + place,
            "tags": [],
            "trusted": False,
            "redactions": redactions,
        }
        for place, ((tool, text, redactions), tokens) in enumerate(
            zip(
                ordered.select("tool", "text", "redactions").iter_rows(),
                token_counter(settings.tokens).count(ordered["text"].to_list()),
                strict=True,
            )
        )
    ]
    return frame_of(Items, rows)


def calls(
    loaded: Batch, made: Pairs, rendered: Batch, *, broken: Broken, early: Broken, settings: Settings
) -> pl.DataFrame:
    """One row a (task, tool), sorted: its prompt, or why it has none.

    Args:
        loaded: the build's first batch.
        made: the pairs.
        rendered: their batch after stage 8.
        broken: by pair, what broke a stage.
        early: by task, what broke stage 1.
        settings: those of call prompts.

    Raises:
        StageError: pairs broke a stage, and `policy.fallback_to_full` is off.
    """
    names = loaded.tasks.select(pl.col("task").alias("origin"), "graph", "task_id")
    every = called(loaded).drop("task").join(made.of, on=["origin", "tool"], how="left").join(names, on="origin")
    prompts = rendered.prompts.select("task", pl.col("status").cast(pl.String), "prompt", "prompt_tokens", "message")
    rows = every.join(prompts, on="task", how="left").join(_outcomes(made, rendered), on="task", how="left")
    reasons = [
        None if status is not None else broken.get(task) or early.get(origin) or "its stages"
        for task, origin, status in rows.select("task", "origin", "status").iter_rows()
    ]
    rows = rows.with_columns(pl.Series("broke", reasons, dtype=pl.String)).sort("graph", "task_id", "tool")
    failed = rows.filter(pl.col("broke").is_not_null())
    if len(failed) and not settings.policy.fallback_to_full:
        listed = ", ".join(
            f"{g}/{t} calling {tool} at {b}"
            for g, t, tool, b in failed.select("graph", "task_id", "tool", "broke").rows()
        )
        raise StageError(f"call prompts broke a stage: {listed}; mend their inputs or set policy.fallback_to_full.")
    budget = settings.countable()
    headed = pl.col("headed").fill_null(value=False)
    short = pl.format(
        f"the tool's schema and the brief need {{}} tokens more than the {budget} that may be counted; "
        "raise the budget.",
        "short",
    )
    message = (
        pl.when(pl.col("broke").is_not_null())
        .then(pl.format("stage {} broke on this call.", "broke"))
        .when(~headed & pl.col("short").is_not_null())
        .then(short)
        .when(~headed)
        .then(pl.coalesce("message", pl.lit("the tool's schema may not stand in its prompt, so there is none.")))
        .otherwise("message")
    )
    return rows.select(
        "graph",
        "task_id",
        "tool",
        status=pl.when(pl.col("broke").is_not_null())
        .then(pl.lit("failed"))
        .when((pl.col("status") == "ok") & ~headed)
        .then(pl.lit("over_budget"))
        .otherwise("status"),
        prompt=pl.when(headed).then("prompt"),
        prompt_tokens=pl.when(headed).then("prompt_tokens"),
        budget_tokens=pl.lit(settings.budget_of(), pl.Int64),
        message=pl.format("{}/{} calling {}: {}", "graph", "task_id", "tool", message),
    ).select(empty(Calls).columns)


def _outcomes(made: Pairs, rendered: Batch) -> pl.DataFrame:
    """`task, headed, short`: whether a pair's schema is in its prompt, else the tokens it missed."""
    if rendered.candidates is None:
        return pl.DataFrame(schema={"task": pl.UInt32, "headed": pl.Boolean, "short": pl.UInt32})
    own = rendered.candidates.join(made.schemas.select("item"), on="item", how="semi")
    return own.select("task", pl.col("reason").is_null().alias("headed"), pl.col("shortfall_tokens").alias("short"))

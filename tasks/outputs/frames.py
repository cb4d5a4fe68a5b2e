"""The frames of a build folder, in the contract's columns and order, drawn from a finished batch."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tasks.batch import Artifacts, Batch, Findings, Items, Timings, by_place, empty
from tasks.outputs.reader import PROMPT_COLUMNS
from tasks.pairs import bounds, packed, runs
from tasks.terms import LEVELS, REASONS, SECTIONS, STAGE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.settings import Settings

_HIDDEN_ITEM_COLUMNS = ("item", "raw", "redactions")


def tasks_frame(batch: Batch, settings: Settings) -> pl.DataFrame:
    """One row a task: its prompt and the counts that describe it."""
    counted = (
        batch.tasks.join(batch.prompts, on="task", how="left", maintain_order="left")
        .join(_candidate_counts(batch), on="task", how="left", maintain_order="left")
        .join(_selected_counts(batch), on="task", how="left", maintain_order="left")
        .join(_firewalled(batch), on="task", how="left", maintain_order="left")
    )
    numbers = (
        "candidates",
        "included",
        "closures_added",
        "dedup_removed",
        "sensitivity_dropped",
        "firewalled",
        "redactions",
    )
    uniform = settings.budget.tokens if settings.budget.allocation == "uniform" else None
    budget = pl.lit(uniform, pl.Int64) if uniform else pl.col("budget_tokens")
    return (
        counted.with_columns(pl.col(name).fill_null(0).cast(pl.UInt32) for name in numbers)
        .with_columns(
            budget_tokens=budget.fill_null(settings.budget_of()),
            tokenizer=pl.lit(_counter_name(settings)),
            margin=pl.lit(settings.tokens.margin, pl.Float64),
            prompt_sha256=_sha256(pl.col("prompt")),
            dropped=pl.col("candidates") - pl.col("included"),
            status=pl.col("status").cast(pl.String),
            tokens_by_section=pl.struct(_section_tokens(section).alias(section) for section in SECTIONS),
        )
        .sort("graph", "task_id")
        .select(
            *PROMPT_COLUMNS,
            "shared_prefix_tokens",
            "candidates",
            "included",
            "dropped",
            "closures_added",
            "dedup_removed",
            "sensitivity_dropped",
            "firewalled",
            "redactions",
            "tokens_by_section",
            "message",
        )
    )


def _counter_name(settings: Settings) -> str:
    return settings.tokens.tokenizer if settings.tokens.counter == "tiktoken" else settings.tokens.counter


def _sha256(text: pl.Expr) -> pl.Expr:
    return text.map_elements(lambda prompt: hashlib.sha256(prompt.encode()).hexdigest(), return_dtype=pl.String)


def _section_tokens(section: str) -> pl.Expr:
    rows = pl.col("tokens_by_section")
    own = pl.element().struct.field("section") == section
    return (
        rows.list.eval(pl.when(own).then(pl.element().struct.field("tokens")).otherwise(0))
        .list.sum()
        .fill_null(0)
        .cast(pl.UInt32)
    )


def _candidate_counts(batch: Batch) -> pl.DataFrame:
    """`task, candidates, closures_added, dedup_removed, sensitivity_dropped`, whole however few rows are written."""
    first = batch.stages.filter(pl.col("stage") == STAGE_NAMES[0]).select(
        "task", pl.col("candidates_in").alias("entered")
    )
    closures = batch.stages.group_by("task").agg(pl.sum("closures_added"))
    revived = _revived(batch).group_by("task").agg(revived=pl.len())
    drops = (
        batch.stages.select("task", "drops")
        .explode("drops", empty_as_null=False, keep_nulls=False)
        .unnest("drops")
        .group_by("task")
        .agg(
            dedup_removed=pl.col("count").filter(pl.col("reason") == "duplicate").sum(),
            sensitivity_dropped=pl.col("count").filter(pl.col("reason") == "sensitivity").sum(),
        )
    )
    return (
        first.join(closures, on="task", how="left")
        .join(revived, on="task", how="left")
        .join(drops, on="task", how="left")
        .with_columns(candidates=pl.col("entered") + pl.col("closures_added") - pl.col("revived").fill_null(0))
        .select("task", "candidates", "closures_added", "dedup_removed", "sensitivity_dropped")
    )


def _revived(batch: Batch) -> pl.DataFrame:
    """`task, item` of what stage 1 left out and the closure brought back."""
    out = batch.pools.filter(pl.col("reason").is_not_null()).select("pool", "item")
    back = out.join(batch.added.select("item").unique(), on="item", how="semi")
    rows = back.join(batch.memberships, on="pool").select("task", "item")
    return rows.join(batch.added, on=["task", "item"], how="semi")


def _selected(batch: Batch) -> pl.DataFrame:
    if batch.candidates is None:
        return pl.DataFrame(schema={"task": pl.UInt32, "item": pl.UInt32})
    return batch.candidates.filter(pl.col("reason").is_null()).select("task", "item")


def _selected_counts(batch: Batch) -> pl.DataFrame:
    rows = _selected(batch).join(batch.items.select("item", "redactions"), on="item")
    return rows.group_by("task").agg(included=pl.len(), redactions=pl.sum("redactions"))


def _firewalled(batch: Batch) -> pl.DataFrame:
    """`task, firewalled`: candidates that the firewall saw to."""
    seen = batch.items.filter(pl.col("artifact").is_not_null()).select("item")
    pools = (
        batch.pools.filter(pl.col("reason").is_null())
        .join(seen, on="item", how="semi")
        .group_by("pool")
        .agg(n=pl.len())
    )
    added = (
        batch.added.filter(pl.col("reason").is_null())
        .join(seen, on="item", how="semi")
        .group_by("task")
        .agg(n=pl.len())
    )
    pooled = batch.memberships.join(pools, on="pool").select("task", "n")
    return pl.concat([pooled, added]).group_by("task").agg(firewalled=pl.sum("n"))


def items_frame(batch: Batch, settings: Settings) -> pl.DataFrame:
    """One row an item. What is at or above the floor has no text here (a placeholder where it is redacted)."""
    floor = LEVELS.index(settings.policy.sensitivity_floor)
    closed = pl.col("sensitivity").to_physical() >= floor
    unseen = pl.col("raw").is_not_null() | (pl.col("text") == "")
    placeholder = settings.policy.sensitivity_action == "redact"
    hidden = unseen if placeholder else closed | unseen
    return batch.items.with_columns(text=pl.when(~hidden).then("text")).select(
        pl.col(name).cast(pl.String) if isinstance(kind, pl.Enum) else pl.col(name)
        for name, kind in empty(Items).schema.items()
        if name not in _HIDDEN_ITEM_COLUMNS
    )


def context_frames(batch: Batch, settings: Settings) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """`(graph, task_id, frame)` of each task that has candidates: selected rows in prompt order, then by rank.

    Holds the rows of all tasks twice, so a large batch comes in parts.
    """
    scored = batch.candidates
    if scored is None:
        return
    early = _early_drops(batch, scored, settings.audit.max_rows_per_task)
    ids, graphs, task_ids = (
        by_place(frame, place, name)
        for frame, place, name in (
            (batch.items, "item", "item_id"),
            (batch.tasks, "task", "graph"),
            (batch.tasks, "task", "task_id"),
        )
    )
    part = pl.concat([scored, early], how="diagonal")
    part = part[np.argsort(part.select(_context_order()).to_series().to_numpy(), kind="stable")]  # ordered for the most
    rows = part.select(
        graphs.gather(part["task"]),
        task_ids.gather(part["task"]),
        ids.gather(part["item"]),
        "recency",
        "similarity",
        "kind_priority",
        "token_penalty",
        "score",
        "rank",
        decision=pl.when(_SELECTED).then(pl.lit("selected")).otherwise(pl.lit("dropped")),
        stage=_texts(part["stage"].fill_null("select_and_pack"), STAGE_NAMES),
        reason=_texts(part["reason"], REASONS),
        duplicate_of=ids.gather(part["duplicate_of"]),
        shortfall_tokens="shortfall_tokens",
        prompt_order="prompt_order",
        text=pl.when(_SELECTED).then("text"),
    )
    places = part["task"].to_numpy()
    for start, end in bounds(places):
        task = int(places[start])
        yield graphs[task], task_ids[task], rows[start:end]


def _texts(column: pl.Series, names: Sequence[str]) -> pl.Series:
    """The values of an enumeration of these names as texts. Looking them up is several times faster than a cast."""
    return pl.Series(column.name, names).gather(column.to_physical())


_SELECTED = pl.col("reason").is_null()


def _context_order() -> pl.Expr:
    """One number a row: by task, then the selected ones in the prompt's order, the dropped by rank, others by id."""
    dropped, unranked = pl.lit(1 << 33, pl.UInt64), pl.lit(1 << 34, pl.UInt64)
    within = (
        pl.when(_SELECTED)
        .then(pl.col("prompt_order").cast(pl.UInt64))
        .when(pl.col("rank").is_not_null())
        .then(dropped + pl.col("rank"))
        .otherwise(unranked + pl.col("item"))
    )
    return pl.col("task").cast(pl.UInt64) * (1 << 35) + within


def _early_drops(batch: Batch, scored: pl.DataFrame, most: int) -> pl.DataFrame:
    """Rows of candidates that went before scoring, as many a task as there is room for."""
    tasks = scored["task"].to_numpy()
    starts, counts = runs(tasks)
    used = pl.DataFrame({"task": tasks[starts], "used": counts}, schema={"task": pl.UInt32, "used": pl.Int64})
    roomy = batch.tasks.select("task").join(used, on="task", how="left").with_columns(pl.col("used").fill_null(0))
    out = batch.pools.filter(pl.col("reason").is_not_null())
    if most:
        roomy = roomy.filter(pl.col("used") < most)
        if roomy.is_empty():
            return scored.clear()
        out = out.filter(pl.int_range(pl.len()).over("pool") < most)
    columns = ("task", "item", "stage", "reason", "used")
    members, added = (frame.join(roomy, on="task") for frame in (batch.memberships, batch.added))
    pooled = members.join(out, on="pool").select(columns)
    gone = added.filter(pl.col("reason").is_not_null()).select(columns)
    rows = pl.concat([pooled.join(added, on=["task", "item"], how="anti"), gone])
    rows = rows[np.argsort(packed(rows["task"].to_numpy(), rows["item"].to_numpy()))]
    if most:
        starts, counts = runs(rows["task"].to_numpy())
        place = np.arange(len(rows)) - np.repeat(starts, counts)
        rows = rows.filter(pl.col("used") + pl.Series(place) < most)
    return rows.drop("used")


def stages_frame(batch: Batch) -> pl.DataFrame:
    """One row a (task, stage), stages in their order."""
    return (
        batch.stages.join(batch.tasks.select("task", "graph", "task_id"), on="task")
        .sort("graph", "task_id", "stage")
        .select(
            "graph",
            "task_id",
            pl.col("stage").cast(pl.String),
            "candidates_in",
            "candidates_out",
            "tokens_in",
            "tokens_out",
            "drops",
            "closures_added",
        )
    )


def findings_frame(batch: Batch) -> pl.DataFrame:
    """One row a finding, sorted by its values."""
    columns = list(empty(Findings).schema)
    return batch.findings.select(pl.col(name).cast(pl.String) for name in columns).unique().sort(columns)


def artifacts_frame(batch: Batch) -> pl.DataFrame:
    """One row an artifact, without its bytes."""
    return batch.artifacts.select(name for name in empty(Artifacts).schema if name != "content").sort("handle")


def calls_frame(calls: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """One row a (task, tool), sorted."""
    return (
        calls.with_columns(
            tokenizer=pl.lit(_counter_name(settings)),
            margin=pl.lit(settings.tokens.margin, pl.Float64),
            prompt_sha256=_sha256(pl.col("prompt")),
        )
        .sort("graph", "task_id", "tool")
        .select(
            "graph",
            "task_id",
            "tool",
            "prompt",
            "prompt_tokens",
            "budget_tokens",
            "tokenizer",
            "margin",
            "status",
            "message",
            "prompt_sha256",
        )
    )


def timings_frame(timings: pl.DataFrame) -> pl.DataFrame:
    """One row a (stage, shard), in the order of the run."""
    return timings.select(list(empty(Timings).schema))

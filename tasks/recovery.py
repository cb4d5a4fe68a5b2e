"""Tasks that break a stage: found by halving the batch, then given the full context instead."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import polars as pl

from tasks.accounting import record
from tasks.batch import LEVEL, REASON, STAGE, Batch, Candidates, Memberships, Pools, Prompts, empty, frame_of
from tasks.errors import StageError
from tasks.layout import blocks, title
from tasks.lineage import lineage, with_ancestors
from tasks.settings import Settings
from tasks.stages.scoring import KIND_PRIORITY, PENALTY_TOKENS
from tasks.terms import LEVELS, POOLED_STAGES, STAGE_NAMES
from tasks.tokens import token_counter

Stage = Callable[[Batch, Settings], Batch]
#: What broke, by task: the stage's name and the class of the error. Its words may quote an input, so they stay out.
Broken = dict[int, str]

_LOG = logging.getLogger("prebrief")

#: Whatever a stage raises, the rest of the batch is built; a panic within Polars is no `Exception`.
_WHATEVER = (Exception, pl.exceptions.PanicException)


def guarded(stage: Stage, batch: Batch, settings: Settings, shard: int = 0) -> tuple[Batch, Broken]:
    """Runs a stage and counts what went in and out; tasks that break it are left out of the result and named.

    Cost: nothing while all is well. Else the stage runs again on halves, about 2 log2(n) times a broken task.
    """
    name = stage.__name__
    if batch.tasks.is_empty():  # none is left to do, or all broke an earlier stage
        return (_without_tasks(stage, batch, settings) if batch.candidates is None else batch), {}
    try:
        return record(batch, stage(batch, settings), name), {}
    except _WHATEVER as error:
        _LOG.debug("%s failed on %d tasks", name, len(batch.tasks), exc_info=error)
        broken = _halved(stage, batch, settings, batch.tasks["task"].to_list(), error)
    rest = narrowed(batch, sorted(set(batch.tasks["task"]) - broken.keys()))
    if rest.tasks.is_empty():  # no later stage will look at its items
        rest = rest.with_frames(items=rest.items.clear())
    after, more = guarded(stage, rest, settings, shard)  # tasks that do well alone may yet break it together
    broken |= more
    unseen = withheld(batch.items.join(after.items, on="item", how="anti"))
    return after.with_frames(items=pl.concat([after.items, unseen]).sort("item")), broken


def _without_tasks(stage: Stage, batch: Batch, settings: Settings) -> Batch:
    """What a stage makes of the items alone: they are written down, whether or not any task sees them."""
    if stage.__name__ not in STAGE_NAMES[:POOLED_STAGES]:
        return batch
    try:
        after = stage(batch, settings)
    except _WHATEVER as error:
        _LOG.debug("%s failed without tasks", stage.__name__, exc_info=error)
        return batch.with_frames(items=withheld(batch.items))
    return batch.with_frames(items=after.items, artifacts=after.artifacts)


def _halved(stage: Stage, batch: Batch, settings: Settings, tasks: Sequence[int], error: Exception) -> Broken:
    if len(tasks) == 1:
        return {tasks[0]: f"{stage.__name__} ({type(error).__name__})"}
    broken: Broken = {}
    for half in (tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]):
        try:
            stage(narrowed(batch, half), settings)
        except _WHATEVER as inner:
            broken |= _halved(stage, batch, settings, half, inner)
    if not broken:  # only the whole batch fails: no task is to blame alone, so none can be saved alone
        broken = dict.fromkeys(tasks, f"{stage.__name__} ({type(error).__name__})")
    return broken


def narrowed(batch: Batch, tasks: Sequence[int]) -> Batch:
    """The part of a batch that concerns these tasks, without the items that none of them may see."""
    part = batch.only(tasks)
    pools = part.pools.join(part.memberships, on="pool", how="semi", maintain_order="left")
    if part.pools.is_empty():  # before stage 1 every item may be seen
        return part
    seen = [pools.select("item"), part.added.select("item")]
    if part.candidates is not None:
        seen.append(part.candidates.select("item"))
    items = with_ancestors(part.items, pl.concat(seen)["item"].unique())
    return part.with_frames(pools=pools, items=items)


def withheld(items: pl.DataFrame) -> pl.DataFrame:
    """Items that a stage never saw to: what they hold must not be written, so they count as restricted and empty."""
    return items.with_columns(
        text=pl.lit(""),
        tokens=pl.lit(0, pl.UInt32),
        tags=pl.lit([], pl.List(pl.String)),
        redactions=pl.lit(0, pl.UInt32),
        sensitivity=pl.lit(LEVELS[-1], LEVEL),
        **{name: pl.lit(None, items.schema[name]) for name in ("media_type", "artifact", "content_hash", "raw")},
    )


# ---- the full context -------------------------------------------------------------------------------------------


def fall_back(loaded: Batch, built: Batch, broken: Broken, stages: Sequence[Stage], settings: Settings) -> Batch:
    """Gives each broken task the core rules, the head of its spec and its brief, through the stages 3, 4 and 8.

    A task for which this fails too has no prompt and the status `failed`.

    Raises:
        StageError: `policy.fallback_to_full` is off.
    """
    names = {
        task: f"{graph}/{task_id}"
        for task, graph, task_id in loaded.tasks.select("task", "graph", "task_id").iter_rows()
    }
    if not settings.policy.fallback_to_full:
        listed = ", ".join(f"{names[task]} at {broken[task]}" for task in sorted(broken))
        raise StageError(f"tasks broke a stage: {listed}; mend their inputs or set policy.fallback_to_full.")
    parts = [_full_context(loaded, task, broken[task], stages, settings) for task in sorted(broken)]
    gone = pl.DataFrame({"task": sorted(broken)}, schema={"task": pl.UInt32})
    kept = {
        name: frame.join(gone, on="task", how="anti", maintain_order="left")
        for name in ("candidates", "beyond", "prompts", "stages", "memberships", "added")
        if (frame := getattr(built, name)) is not None
    }
    found = [
        kept.get("candidates", empty(Candidates)),
        *(part.candidates for part in parts if part.candidates is not None),
    ]
    return built.with_frames(
        tasks=loaded.tasks,
        items=_overlaid(built.items, parts),
        memberships=kept["memberships"],
        added=kept["added"],
        candidates=pl.concat(found),
        beyond=kept["beyond"],
        prompts=pl.concat([kept["prompts"], *(part.prompts for part in parts)]).sort("task"),
        stages=pl.concat([kept["stages"], *(part.stages for part in parts)]).sort("task", "stage"),
    )


def _overlaid(items: pl.DataFrame, parts: Sequence[Batch]) -> pl.DataFrame:
    """The items of the build, those that only a full context saw to taken from there."""
    for part in parts:
        if part.candidates is not None:
            unseen = items.filter(pl.col("text") == "").select("item")
            own = part.items.filter(pl.col("raw").is_null()).join(unseen, on="item", how="semi")
            items = pl.concat([items.join(own, on="item", how="anti"), own])
    return items.sort("item")


def _full_context(loaded: Batch, task: int, broke: str, stages: Sequence[Stage], settings: Settings) -> Batch:
    row = loaded.only([task])
    message = f"Stage {broke} broke on this task; it got the core rules and the head of its spec."
    try:
        built = _run(row, stages, settings)
    except _WHATEVER as error:
        failed = f"Stage {broke} broke on this task, and so did its full context ({type(error).__name__})."
        prompts = frame_of(Prompts, [{"task": task, "status": "failed", "tokens_by_section": [], "message": failed}])
        return row.with_frames(prompts=prompts)
    ok = pl.col("status").cast(pl.String) == "ok"
    status = pl.when(ok).then(pl.lit("fallback", empty(Prompts).schema["status"])).otherwise("status")
    return built.with_frames(
        prompts=built.prompts.with_columns(
            message=pl.when(ok).then(pl.lit(message)).otherwise("message"), status=status
        )
    )


def _run(batch: Batch, stages: Sequence[Stage], settings: Settings) -> Batch:
    """The eight steps for one task: its own choice of candidates, and the real stages 3, 4 and 8."""
    steps: list[Stage] = [_everything, _unchanged, stages[2], stages[3], _plainly_scored, _unchanged, _head, stages[7]]
    for name, step in zip(STAGE_NAMES, steps, strict=True):
        batch = record(batch, step(batch, settings), name)
    return batch


def _unchanged(batch: Batch, settings: Settings) -> Batch:  # noqa: ARG001
    return batch


def _everything(batch: Batch, settings: Settings) -> Batch:  # noqa: ARG001
    """One pool with the core rules, the documents of the task's graph and its own brief."""
    task, graph, task_id = batch.tasks.select("task", "graph", "task_id").row(0)
    section = pl.col("section").cast(pl.String)
    core = (pl.col("source") == "rules") & pl.col("tags").list.contains("core")
    spec = section.is_in(["requirements", "design"]) & (pl.col("graph") == graph)
    brief = (section == "brief") & (pl.col("graph") == graph) & (pl.col("task_id") == task_id)
    items = with_ancestors(batch.items, batch.items.filter(core | spec | brief)["item"])
    pools = pl.DataFrame({"pool": 0, "item": items["item"], "stage": None, "reason": None}, schema=empty(Pools).schema)
    memberships = pl.DataFrame({"task": [task], "pool": [0]}, schema=empty(Memberships).schema)
    return batch.with_frames(items=items, pools=pools, memberships=memberships)


def _plainly_scored(batch: Batch, settings: Settings) -> Batch:
    """Candidates scored by all but their words, since the scoring itself may be what broke."""
    task = batch.tasks["task"][0]
    alive = batch.pools.filter(pl.col("reason").is_null()).select("item")
    weights = settings.scoring.weights
    rows = (
        batch.items.join(alive, on="item", how="semi")
        .select(
            pl.lit(task, pl.UInt32).alias("task"),
            "item",
            recency=1.0,
            similarity=0.0,
            kind_priority=pl.col("kind").cast(pl.String).replace_strict(KIND_PRIORITY, return_dtype=pl.Float64),
            token_penalty=1.0 / (1.0 + pl.col("tokens") / PENALTY_TOKENS),
        )
        .with_columns(
            score=weights.recency * pl.col("recency")
            + weights.similarity * pl.col("similarity")
            + weights.kind * pl.col("kind_priority")
            + weights.penalty * pl.col("token_penalty")
        )
        .sort(["score", "item"], descending=[True, False])
        .with_row_index("rank", offset=1)
    )
    return batch.with_frames(candidates=pl.concat([empty(Candidates), rows], how="diagonal"))


def _head(batch: Batch, settings: Settings) -> Batch:
    """Takes the brief, then the documents as they run until the budget is spent; without room for the brief nothing."""
    candidates = batch.candidates
    assert candidates is not None
    counter = token_counter(settings.tokens)
    drawn = blocks(batch.items.select("item", "text", "section", "kind"), settings.render)
    family = lineage(batch.items).select("item", "order", "parent")
    facts = batch.items.select("item", pl.col("section").cast(pl.String)).join(drawn, on="item").join(family, on="item")
    rows = candidates.select("item").join(facts, on="item").sort("order")
    costs = counter.count([f"{block}\n\n" for block in rows["block"]])
    left = settings.countable(batch.tasks["budget_tokens"][0])
    left -= sum(
        counter.count([f"{title(section, settings.render)}\n\n" for section in rows["section"].unique().sort()])
    )
    chosen: dict[int, str] = {}
    parents = dict(family.select("item", "parent").iter_rows())
    ranked = sorted(zip(rows.iter_rows(named=True), costs, strict=True), key=lambda pair: pair[0]["section"] != "brief")
    short: dict[int, int] = {}
    for row, cost in ranked:
        above = parents[row["item"]]
        if row["section"] == "brief" and cost > left:
            short[row["item"]] = cost - left
        elif cost <= left and not short and (above is None or above in chosen):
            chosen[row["item"]] = row["body"]
            left -= cost
    bodies = pl.DataFrame(
        {"item": list(chosen), "body": list(chosen.values())}, schema={"item": pl.UInt32, "body": pl.String}
    )
    missed = pl.DataFrame(
        {"item": list(short), "short": list(short.values())}, schema={"item": pl.UInt32, "short": pl.UInt32}
    )
    marked = candidates.join(bodies, on="item", how="left", maintain_order="left").join(
        missed, on="item", how="left", maintain_order="left"
    )
    out = pl.col("body").is_null()
    return batch.with_frames(
        candidates=marked.with_columns(
            stage=pl.when(out).then(pl.lit(STAGE_NAMES[6], STAGE)),
            reason=pl.when(out).then(pl.lit("budget", REASON)),
            shortfall_tokens="short",
            text="body",
        ).select(candidates.columns)
    )

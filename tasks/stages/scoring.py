"""Stage 5: how much each candidate is worth to its task. Here pools become pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tasks.batch import REASON, STAGE, Batch, Beyond, empty
from tasks.corpus import corpus
from tasks.ranking import Facts, Ranking, ranked

if TYPE_CHECKING:
    from tasks.settings import Settings

NAME = "score_candidates"

#: How much each kind is worth by itself.
KIND_PRIORITY = {
    "policy": 1.0,
    "plan_state": 0.9,
    "user_turn": 0.85,
    "agent_msg": 0.7,
    "tool_call": 0.6,
    "tool_result": 0.55,
    "memory_fact": 0.5,
    "retrieved_doc": 0.45,
    "doc_snippet": 0.4,
}
PENALTY_TOKENS = 500  # an item of so many tokens has half the penalty's worth


def score_candidates(batch: Batch, settings: Settings) -> Batch:
    """Turns pools into pairs and ranks each task's candidates.

    The score is the weighted sum of recency (`(i + 1) / n` by place among the task's history, 1 for standing
    documents), similarity to the task's words, the kind's priority and a penalty for length. Ties go by item id.

    Only what a later stage or the build folder may need gets a row: all but the history that ranks beyond both
    `packing.horizon` and `audit.max_rows_per_task`, is like no other item and is nobody's ancestor. The rest is
    counted in `beyond`.

    Cost: of the words a step a shared word of a task and an item; of the ranking a few array operations a task.
    """
    known = batch.corpus or corpus(batch, settings)
    facts = Facts(_facts(batch.items), known.likeness.classes["item"], settings)
    found = ranked(batch, facts, known.similarity.of(known.asked, batch.tasks["task"]))
    return batch.with_frames(candidates=_candidates(found, facts), beyond=_beyond(found))


def _facts(items: pl.DataFrame) -> pl.DataFrame:
    return items.select(
        "item",
        "item_id",
        "parent_id",
        "position",
        "tokens",
        "source",
        history=pl.col("section").cast(pl.String) == "history",
        kind_priority=pl.col("kind").cast(pl.String).replace_strict(KIND_PRIORITY, return_dtype=pl.Float64),
        token_penalty=1.0 / (1.0 + pl.col("tokens") / PENALTY_TOKENS),
    )


def _candidates(found: Ranking, facts: Facts) -> pl.DataFrame:
    items = found.items
    return pl.DataFrame(
        {
            "task": found.tasks,
            "item": items,
            "recency": found.recency,
            "similarity": found.similarity,
            "kind_priority": facts.kind_priority[items],
            "token_penalty": facts.token_penalty[items],
            "score": found.score,
            "rank": found.rank,
        }
    ).with_columns(
        stage=pl.lit(None, STAGE),
        reason=pl.lit(None, REASON),
        duplicate_of=pl.lit(None, pl.UInt32),
        shortfall_tokens=pl.lit(None, pl.UInt32),
        prompt_order=pl.lit(None, pl.UInt32),
        text=pl.lit(None, pl.String),
    )


def _beyond(found: Ranking) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "task": found.cut,
            "candidates": found.cut_candidates,
            "tokens": found.cut_tokens,
            "stage": None,
            "reason": None,
        },
        schema=empty(Beyond).schema,
    )

"""Stages 1-7 against what another system recorded for the same logs: order, scores, duplicates and selection.

Set by set the plain rules are switched on: first-paragraph summaries, no guards, one greedy pass over bare texts, the
ASCII words and that system's own token estimate. `docs/differences.md` says where prebrief's defaults differ and why.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from tasks.batch import Batch, Items, Tasks, frame_of, number
from tasks.pipeline import STAGES
from tasks.settings import Settings, load_settings
from tasks.tokens import token_counter

ROOT = Path(__file__).parents[2]
ORACLES = Path(os.environ.get("PREBRIEF_ORACLES") or ROOT.parent / "shared" / "data" / "oracle")

WIDE = (
    (0x1100, 0x11FF),
    (0x2600, 0x27BF),
    (0x3000, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),
    (0x1F000, 0x1FAFF),
    (0x20000, 0x2FA1F),
)


def estimate(text: str) -> int:
    """The recorded system's token estimate: wide characters count 1 each, four of all others count 1."""
    wide = sum(any(low <= ord(character) <= high for low, high in WIDE) for character in text)
    return wide + (len(text) - wide) // 4


def oracle_rows() -> list[tuple[str, dict]]:
    return [
        (path.name, json.loads(line))
        for path in sorted(ORACLES.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
        if line.strip()
    ]


def find_log(name: str) -> Path | None:
    data = ROOT.parent / "shared" / "data"
    places = (
        ORACLES,
        ORACLES.parent,
        ORACLES.parent / "history",
        ORACLES.parent / "history" / "scenarios",
        data / "history",
    )
    for place in places:
        if (place / name).is_file():
            return place / name
    return next((path for path in sorted(data.rglob(Path(name).name))), None)


@cache
def read_log(path: Path) -> tuple[dict, ...]:
    return tuple(json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())


def plain_settings(phase: str, budget: int) -> Settings:
    return load_settings(
        budget={"tokens": budget},
        policy={"phase": phase, "kind_limits": {}},
        scoring={"words": "ascii"},
        dedup={"guards": False},
        packing={"rule": "plain"},
        firewall={"summariser": "lead"},
        tokens={"counter": f"{__name__}:estimate"},
    )


def batch_of(events: tuple[dict, ...], query: str, settings: Settings) -> Batch:
    """One task whose title is the query, over one log."""
    tasks = frame_of(
        Tasks,
        [
            {
                "graph": "g",
                "task_id": "t",
                "title": query,
                "description": "",
                "level": 1,
                "progress": "pending",
                "verification": "",
                "context": "",
                "position": 0,
                **{
                    name: []
                    for name in (
                        "dependencies",
                        "related",
                        "related",
                        "consumers",
                        "files_create",
                        "files_modify",
                        "files_read",
                        "files_delete",
                        "files_inferred",
                        "acceptance_criteria",
                        "tools",
                    )
                },
            }
        ],
        columns=[name for name in Tasks.column_names() if name != "task"],
    )
    counter = token_counter(settings.tokens)
    rows = [
        {
            "item_id": event["id"],
            "source": "history",
            "section": "history",
            "kind": event.get("kind") or event["type"],
            "text": event["text"],
            "tokens": counter.count([event["text"]])[0],
            "parent_id": event.get("parent_id"),
            "sensitivity": event.get("sensitivity") or "public",
            "position": position,
            "tags": [],
            "trusted": False,
            "raw": event["text"].encode() if (event.get("kind") or event["type"]) == "tool_result" else None,
            "redactions": 0,
        }
        for position, event in enumerate(events)
    ]
    items = frame_of(Items, rows, columns=[name for name in Items.column_names() if name != "item"])
    return Batch(tasks=number(tasks, ["graph", "task_id"], "task"), items=number(items, "item_id", "item"))


def with_given_estimates(batch: Batch) -> Batch:
    """The recorded system takes an item's penalty from the estimate in the log - none here - unless it was summarised."""
    summarised = pl.col("artifact").is_not_null()
    return batch.with_frames(items=batch.items.with_columns(tokens=pl.when(summarised).then("tokens").otherwise(0)))


@cache
def deduplicated(log: Path, phase: str, query: str) -> Batch:
    """The batch after stage 6, which no budget changes."""
    settings = plain_settings(phase, 1)
    batch = batch_of(read_log(log), query, settings)
    for stage in STAGES[:4]:
        batch = stage(batch, settings)
    batch = STAGES[4](with_given_estimates(batch), settings).with_frames(items=batch.items)
    return STAGES[5](batch, settings)


ROWS = oracle_rows() if ORACLES.is_dir() else []


@pytest.mark.skipif(
    not ROWS, reason=f"no oracle in {ORACLES.name}: set PREBRIEF_ORACLES to a folder of recorded results"
)
@pytest.mark.parametrize(
    ("source", "row"),
    ROWS,
    ids=[f"{name}-{row['file']}-{row['phase']}-{row['budget']}-{row['query_sha']}" for name, row in ROWS],
)
def test_differential_stages_equal_the_recorded_results(source, row):
    log = find_log(row["file"])
    if log is None:
        pytest.skip(f"{source} was recorded over {row['file']}, which is not here")
    assert hashlib.sha256(row["query"].encode()).hexdigest().startswith(row["query_sha"]), "the oracle's query is whole"
    settings = plain_settings(row["phase"], row["budget"])
    batch = STAGES[6](deduplicated(log, row["phase"], row["query"]), settings)

    names = dict(batch.items.select("item", "item_id").iter_rows())
    ranked = batch.candidates.sort("rank")
    assert len(ranked) == row["candidates"]
    assert len(batch.added) == row["closures"]
    assert [names[item] for item in ranked["item"]] == row["order"]
    assert ranked["score"].to_list() == pytest.approx(row["scores"], abs=6e-7)
    duplicates = ranked.filter(pl.col("reason") == "duplicate")
    assert sorted(names[item] for item in duplicates["item"]) == sorted(row["dedup"])
    selected = ranked.filter(pl.col("reason").is_null())
    assert [names[item] for item in selected["item"]] == row["selected"]
    packed = ranked.filter(pl.col("stage") == "select_and_pack")
    dropped = {names[item]: reason for item, reason in packed.select("item", "reason").iter_rows()}
    recorded = {item: reason for item, reason in row["dropped"] if reason not in ("dedup", "sensitivity")}
    assert dropped == recorded
    tokens = selected.join(batch.items, on="item").group_by("kind").agg(pl.sum("tokens"))
    assert {kind: n for kind, n in tokens.iter_rows() if n} == {kind: n for kind, n in row["tokens"].items() if n}

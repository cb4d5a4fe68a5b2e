"""`python -m benchmarks growth [small]`: how time grows with events and with tasks, as exponents.

Events from 1,250 to 40,000 at 1,000 tasks, tasks from 100 to 10,000 at 10,000 events; `small` ends at a quarter of
both. The exponent is that of what comes on top of a build of nearly nothing, which costs about a second anyway.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import Ran, exponent, prebrief, write_rows
from benchmarks.swarms import write_swarm

PASSAGES = 300
EVENTS = (1_250, 2_500, 5_000, 10_000, 20_000, 40_000)
TASKS = (100, 300, 1_000, 3_000, 10_000)


def main(*arguments: str) -> None:
    small = "small" in arguments
    events = [count for count in EVENTS if not small or count <= EVENTS[-1] // 4]
    tasks = [count for count in TASKS if not small or count <= TASKS[-1] // 4]
    start = _build(1, 1, 2).seconds
    by_events = [(1000, count, _build(1000, count, PASSAGES)) for count in events]
    by_tasks = [(count, 10_000, _build(count, 10_000, PASSAGES)) for count in tasks]
    rows = [_row("events", *run) for run in by_events] + [_row("tasks", *run) for run in by_tasks]
    write_rows("growth", rows)
    for name, sizes, runs in (("events", events, by_events), ("tasks", tasks, by_tasks)):
        seconds = [max(ran.seconds - start, 0.01) for _, _, ran in runs]
        print(f"growth in {name}: exponent {exponent(sizes, seconds):.2f}")


def _build(tasks: int, events: int, passages: int) -> Ran:
    with tempfile.TemporaryDirectory(prefix="prebrief-bench-") as scratch:
        swarm = write_swarm(Path(scratch, "swarm"), tasks, events, passages)
        sys.stderr.write(f"{tasks:,} tasks x {events:,} events\n")
        return prebrief(
            "build", swarm / "task-graph.json", "--history", swarm / "history.jsonl", "--out", Path(scratch, "builds")
        )


def _row(series: str, tasks: int, events: int, ran: Ran) -> dict[str, object]:
    return {"series": series, "tasks": tasks, "events": events, "passages": PASSAGES, **ran._asdict()}

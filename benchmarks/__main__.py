"""`python -m benchmarks [TASKS EVENTS PASSAGES]`: builds a made-up swarm and prints where the time went."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from benchmarks.swarms import write_swarm


def main(tasks: int = 1000, events: int = 1000, passages: int = 300) -> None:
    with tempfile.TemporaryDirectory(prefix="prebrief-bench-") as scratch:
        swarm = write_swarm(Path(scratch, "swarm"), tasks, events, passages)
        command = [Path(sys.executable).with_name("prebrief"), "build", swarm / "task-graph.json"]
        command += ["--history", swarm / "history.jsonl", "--out", Path(scratch, "builds")]
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - started
        timings = pl.read_parquet(Path(scratch, "builds", "latest", "timings.parquet"))
        stages = timings.group_by("stage", maintain_order=True).agg(pl.sum("seconds"), pl.max("peak_mb"))
        with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            print(stages)
        print(f"{tasks:,} tasks x {events:,} events x {passages} passages: {wall:.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))

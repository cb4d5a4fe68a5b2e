"""`python -m benchmarks floor [TASKS EVENTS]`: a build's time over the least that it can cost.

The floor reads the same inputs with Polars, counts the tokens of each unique text once with tiktoken, and writes the
same Parquet files and prompts. Both are processes of their own, measured one after the other in one run.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

from benchmarks.measuring import prebrief, ran, write_rows
from benchmarks.swarms import write_swarm
from tasks.tokens import load_encoding

PASSAGES = 300


def main(tasks: str = "1000", events: str = "10000") -> None:
    with tempfile.TemporaryDirectory(prefix="prebrief-bench-") as scratch:
        swarm, builds = write_swarm(Path(scratch, "swarm"), int(tasks), int(events), PASSAGES), Path(scratch, "builds")
        ours = prebrief("build", swarm / "task-graph.json", "--history", swarm / "history.jsonl", "--out", builds)
        steps = Path(scratch, "steps.json")
        least = ran([sys.executable, "-m", "benchmarks.floor", str(swarm), str(builds / "latest"), str(steps)])
        wall = json.loads(steps.read_text())
        stages = pl.read_parquet(builds / "latest" / "timings.parquet")
        seconds = dict(stages.group_by("stage", maintain_order=True).agg(pl.sum("seconds")).rows())
    floor = sum(wall.values())
    row = {"tasks": int(tasks), "events": int(events), "passages": PASSAGES, **ours._asdict()}
    row |= {"floor": floor, "floor_process": least.seconds, "over_floor": ours.seconds / floor}
    row |= {f"floor_{name}": value for name, value in wall.items()}
    write_rows("floor", [row | {f"stage_{name}": value for name, value in seconds.items()}])


def steps_of(swarm: Path, build: Path, out: Path) -> dict[str, float]:
    """Seconds of each step: `read`, `count`, `write`. What the build holds is read before the clock runs."""
    frames = [(path.relative_to(build), pl.read_parquet(path)) for path in sorted(build.rglob("*.parquet"))]
    prompts = [(path.relative_to(build), path.read_text("utf-8")) for path in sorted(build.rglob("*.md"))]
    artifacts = [path.read_bytes() for path in sorted((build / "artifacts").iterdir())]
    texts = pl.read_parquet(build / "items.parquet")["text"].drop_nulls().unique().to_list()
    texts += [data.decode("utf-8", "replace") for data in artifacts]  # tool results are counted as logged, too
    for name in {path.parent for path, _ in (*frames, *prompts)} | {Path("artifacts")}:
        (out / name).mkdir(parents=True, exist_ok=True)
    clock = [time.perf_counter()]
    for log in sorted(swarm.glob("*.jsonl")):
        pl.read_ndjson(log)
    for plan in sorted(swarm.glob("*.json")):
        json.loads(plan.read_bytes())
    for document in sorted(swarm.glob("*.md")):
        document.read_text("utf-8")
    clock.append(time.perf_counter())
    encoding = load_encoding("o200k_base")
    for text in dict.fromkeys(texts):
        encoding.encode_ordinary(text)
    clock.append(time.perf_counter())
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(lambda part: _write(part[1], out / part[0]), frames))
    for path, prompt in prompts:
        (out / path).write_text(prompt, "utf-8")
    for data in artifacts:
        (out / "artifacts" / hashlib.sha256(data).hexdigest()).write_bytes(data)
    clock.append(time.perf_counter())
    return {name: clock[place + 1] - clock[place] for place, name in enumerate(("read", "count", "write"))}


def _write(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path, compression="zstd", compression_level=1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="prebrief-floor-") as out:
        Path(sys.argv[3]).write_text(json.dumps(steps_of(Path(sys.argv[1]), Path(sys.argv[2]), Path(out))))

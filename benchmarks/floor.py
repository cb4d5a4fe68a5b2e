"""`python -m benchmarks.floor SWARM BUILD`: the least that a build of a swarm can cost.

Reads the inputs with Polars, counts the tokens of each unique text once, and writes the files of an existing build
again. A build that took twice as long spent half of its time on what it is there for.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

from tasks.tokens import load_encoding


def floor(swarm: Path, build: Path, out: Path) -> dict[str, float]:
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


def main(swarm: str, build: str) -> None:
    started = time.process_time()
    with tempfile.TemporaryDirectory(prefix="prebrief-floor-") as out:
        steps = floor(Path(swarm), Path(build), Path(out))
    used = resource.getrusage(resource.RUSAGE_SELF)
    for name, seconds in steps.items():
        print(f"{name:8}{seconds:8.2f} s")
    cpu = used.ru_utime + used.ru_stime - started
    print(f"floor   {sum(steps.values()):8.2f} s wall; CPU with reading the build {cpu:.2f} s")


if __name__ == "__main__":
    main(*sys.argv[1:3])

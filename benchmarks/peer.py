"""`python -m benchmarks peer [EVENTS ...]`: time a task, against contextweaver 0.18.2 over the same events.

The peer is installed from the package index into a virtual environment of its own, `benchmarks/.peer`. One build of it
serves one task; prebrief builds 1,000 tasks at once. 20,000 events take the peer about 18 minutes, so ask for them by
hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import prebrief, write_rows
from benchmarks.swarms import write_swarm

PEER = "contextweaver==0.18.2"
TASKS, PASSAGES = 1000, 300
_VENV = Path("benchmarks") / ".peer"
_SCRIPT = Path(__file__).with_name("peer_build.py")


def main(*events: str) -> None:
    python = _peer()
    rows = []
    for count in map(int, events or ("1000", "5000")):
        with tempfile.TemporaryDirectory(prefix="prebrief-bench-") as scratch:
            swarm = write_swarm(Path(scratch, "swarm"), TASKS, count, PASSAGES)
            log = swarm / "history.jsonl"
            said = subprocess.run([python, _SCRIPT, log], check=True, capture_output=True, text=True).stdout
            theirs = json.loads(said)
            ours = prebrief("build", swarm / "task-graph.json", "--history", log, "--out", Path(scratch, "builds"))
        a_task = ours.seconds / TASKS
        rows.append(
            {
                "events": count,
                "tasks": TASKS,
                "peer_seconds_a_task": theirs["seconds"],
                "seconds": ours.seconds,
                "seconds_a_task": a_task,
                "faster": theirs["seconds"] / a_task,
                "peak_mb": ours.peak_mb,
            }
        )
    write_rows("peer", rows)


def _peer() -> Path:
    python = _VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", _VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True)
    return python

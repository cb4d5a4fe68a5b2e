"""`python -m benchmarks latency`: how long a person waits: a first build, one that is found again, a look, a flow.

Each is the middle of five runs, with the vocabulary and the compiled rules in the cache. The flow runs against a server
that is up already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measuring import median, prebrief, ran, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

GRAPH = Path("data") / "quickstart" / "task-graph.json"
LOG = Path("data") / "quickstart" / "history.jsonl"
RUNS = 5
_PORT = 42_171


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="prebrief-bench-") as scratch:
        inputs = (GRAPH, "--history", LOG)
        kept = Path(scratch, "kept")
        prebrief("build", *inputs, "--out", kept)  # fills the cache
        task = ("show", "TASK-005", "--build", kept)
        found = {
            "quickstart --direct": median(
                prebrief("build", *inputs, "--out", Path(scratch, f"direct-{run}")) for run in range(RUNS)
            ),
            "no-op rebuild": median(prebrief("build", *inputs, "--out", kept) for _ in range(RUNS)),
            "show": median(prebrief(*task) for _ in range(RUNS)),
            "import of the command": median(ran([sys.executable, "-c", "import flows.cli"]) for _ in range(RUNS)),
        }
        with _server(Path(scratch, "prefect")) as env:
            prebrief("build", *inputs, "--flow", "--out", Path(scratch, "first-flow"), env=env)
            found["quickstart --flow, server up"] = median(
                prebrief("build", *inputs, "--flow", "--out", Path(scratch, f"flow-{run}"), env=env)
                for run in range(RUNS)
            )
    rows = [{"what": what, **run._asdict()} for what, run in found.items()]
    write_rows("latency", rows)
    more = found["quickstart --flow, server up"].seconds - found["quickstart --direct"].seconds
    print(f"--flow over --direct: +{more:.2f} s")


@contextmanager
def _server(home: Path) -> Iterator[dict[str, str]]:
    """A Prefect server of its own on loopback; yields what a client of it has in its environment."""
    url = f"http://127.0.0.1:{_PORT}/api"
    env = {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    command = [Path(sys.executable).with_name("prefect"), "server", "start", "--host", "127.0.0.1", "--port", _PORT]
    server = subprocess.Popen(
        list(map(str, command)), env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(f"{url}/health")
        yield env
    finally:
        server.terminate()
        server.wait(30)


def _wait(url: str, seconds: float = 180) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + seconds
    while True:
        try:
            direct.open(url, timeout=5).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        else:
            return

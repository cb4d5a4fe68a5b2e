"""A Prefect server for tests: how it is started, asked and stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 180  # a first start migrates a database
REPORT_SECONDS = 60  # task runs and events reach the server's database a moment after they happened
QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Server:
    """A running server, asked by its REST interface."""

    api: str
    home: Path
    group: int  # of its processes

    def ask(self, path: str, query: dict):
        """What the server answers to a filter."""
        request = urllib.request.Request(
            f"{self.api}/{path}", data=json.dumps(query).encode(), headers={"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def latest_run(self, flow: str) -> dict:
        """The run of a flow that was started last."""
        query = {"flows": {"name": {"any_": [flow]}}, "sort": "START_TIME_DESC", "limit": 1}
        return self.ask("flow_runs/filter", query)[0]

    def task_runs(self, flow_run: str, count: int) -> list[dict]:
        """The task runs of a flow run in the order of their start, once this many are there and all are done."""
        query = {"task_runs": {"flow_run_id": {"any_": [flow_run]}}}
        runs = eventually(
            lambda: self.ask("task_runs/filter", query),
            lambda runs: len(runs) >= count and all(run["end_time"] for run in runs),
        )
        return sorted(runs, key=lambda run: run["start_time"])

    def events(self, flow_run: str, prefix: str) -> list[dict]:
        """The events of a flow run whose names begin like this."""
        resource = {"id": [f"prefect.flow-run.{flow_run}"]}
        query = {"filter": {"event": {"prefix": [prefix]}, "any_resource": resource}}
        return self.ask("events/filter", query)["events"]

    def kill(self) -> None:
        """Ends it at once, as a machine does that fails."""
        os.killpg(self.group, signal.SIGKILL)

    def environment(self, **more: str) -> dict[str, str]:
        """An environment in which commands use this server."""
        return clean_environment() | QUIET | {"PREFECT_HOME": str(self.home), "PREFECT_API_URL": self.api} | more


def clean_environment() -> dict[str, str]:
    """The environment without a word about Prefect."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_") and name not in QUIET}


def eventually(look, good):
    """What `look` sees as soon as it is good."""
    until = time.monotonic() + REPORT_SECONDS
    while not good(seen := look()):
        assert time.monotonic() < until, seen
        time.sleep(0.2)
    return seen


@contextmanager
def serving(home: Path):
    """A server on a free port of this machine that keeps everything in `home`."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    command = [BIN / "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    environment = clean_environment() | QUIET | {"PREFECT_HOME": str(home)}
    with (home / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        server = Server(f"http://127.0.0.1:{port}/api", home, process.pid)
        _wait_for(server, process)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def _wait_for(server: Server, process: subprocess.Popen) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        assert process.poll() is None, (server.home / "server.log").read_text()
        assert time.monotonic() < until, "the server does not start"
        try:
            urllib.request.urlopen(f"{server.api}/health", timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return


@contextmanager
def reporting_to(server: Server):
    """Flows in this process report to a server, also where Prefect was imported before."""
    from prefect.events.worker import EventsWorker
    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

    updates = {PREFECT_API_URL: server.api, PREFECT_HOME: server.home, PREFECT_LOGGING_TO_API_ENABLED: False}
    with temporary_settings(updates=updates):
        yield
        EventsWorker.drain_all()  # while there is a server to take them


def contents(build: Path) -> dict[str, bytes]:
    """Every file of a build that belongs to its identity."""
    return {
        str(path.relative_to(build)): path.read_bytes()
        for path in sorted(build.rglob("*"))
        if path.is_file() and path.name != "timings.parquet"
    }

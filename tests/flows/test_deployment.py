"""`deployments/prefect.yaml`: deployed from the checkout, run by a process worker, and its build found."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from tasks.audit import audit
from tests.flows.serving import BIN

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deployments" / "prefect.yaml"


@pytest.fixture(scope="module")
def deployments() -> dict[str, dict]:
    return {entry["name"]: entry for entry in yaml.safe_load(FILE.read_text())["deployments"]}


def uncommented() -> dict[str, dict]:
    """The file with its example taken out of the comment."""
    text = FILE.read_text()
    example = text.index("  # - name:")
    bare = re.sub(r"^(\s*)# ?", r"\1", text[example:], flags=re.MULTILINE)
    return {entry["name"]: entry for entry in yaml.safe_load(text[:example] + bare)["deployments"]}


def prefect(server, *words: str) -> str:
    done = subprocess.run(
        [BIN / "prefect", "--no-prompt", *words],
        cwd=ROOT,
        env=server.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_deployed_and_run_by_a_worker_it_builds(server, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in FILE.parent.iterdir()}
    prefect(server, "work-pool", "create", "prebrief", "--type", "process")
    prefect(server, "deploy", "--prefect-file", str(FILE.relative_to(ROOT)), "--all")
    out = tmp_path / "builds"
    prefect(server, "deployment", "run", "prelaunch/prelaunch", "--param", f"out={out}", "--param", "budget=4500")
    log = prefect(server, "worker", "start", "--pool", "prebrief", "--run-once")
    run = server.latest_run("prelaunch")
    assert (run["state_type"], run["parameters"]["out"]) == ("COMPLETED", str(out)), log
    build = (out / "latest").resolve()
    assert audit(build) == []
    assert {path.name for path in out.iterdir()} == {"latest", build.name}
    assert {path: path.stat().st_mtime_ns for path in FILE.parent.iterdir()} == before


def test_it_is_scheduled_in_a_named_time_zone(deployments):
    from prefect.client.schemas.schedules import CronSchedule

    (schedule,) = deployments["prelaunch"]["schedules"]
    assert CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])
    assert schedule["active"] is False  # nobody gets a scheduled sample by deploying


def test_runs_that_meet_wait_for_each_other(deployments):
    assert deployments["prelaunch"]["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}


def test_its_parameters_are_those_of_the_flow(server, deployments):
    from flows.prelaunch import prelaunch

    assert prelaunch.validate_parameters(deployments["prelaunch"]["parameters"])
    assert all((ROOT / graph).is_file() for graph in deployments["prelaunch"]["parameters"]["graphs"])


def test_the_trigger_in_the_comment_waits_for_the_gate(server):
    from prefect.events import DeploymentEventTrigger

    from flows.prelaunch import PASSED

    (spec,) = uncommented()["launch"]["triggers"]
    trigger = DeploymentEventTrigger.model_validate(spec)
    trigger.set_deployment_id(uuid4())
    automation = trigger.as_automation()
    assert automation.enabled
    assert automation.trigger.expect == {PASSED}
    assert automation.actions[0].parameters == {"build": "{{ event.payload.path }}"}

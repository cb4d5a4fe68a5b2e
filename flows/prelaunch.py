"""What a schedule runs before a swarm launches: build, audit, gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.events import emit_event

from flows.build import build_contexts, event_resource
from tasks.audit import audit
from tasks.errors import PrebriefError
from tasks.outputs.places import as_place, below
from tasks.outputs.reader import BuildFolder, find_build

#: Emitted for a build that may be launched on; `prebrief.build.completed` comes before the audit.
PASSED = "prebrief.gate.passed"


class GateError(PrebriefError):
    """A build was made, but it is not fit to launch on."""

    code = "GATE"


@flow(name="prelaunch", persist_result=False)
def prelaunch(
    graphs: list[str],
    *,
    specs: str | None = None,
    rules: str | None = None,
    history: list[str] | None = None,
    commands: str | None = None,
    tools: str | None = None,
    plan: dict[str, Any] | None = None,
    config: str | None = None,
    budget: int | None = None,
    phase: str | None = None,
    out: str = "builds",
    cache: bool = True,
    runner: str | None = None,
    address: str | None = None,
    allow_not_ok: int = 0,
) -> str:
    """Builds, audits and opens the gate, or fails with the reason; returns the build's folder or URL.

    Of a build at a URL, what is audited is what was fetched from there.

    `allow_not_ok` is how many tasks and call prompts may be over budget or on the full context.

    Raises:
        GateError: a named input is missing, the audit found a violation, or too many tasks are not ok.
        BuildMissingError: the build at a URL is not whole.
    """
    built = build_contexts(
        graphs=graphs,
        specs=specs,
        rules=rules,
        history=history,
        commands=commands,
        tools=tools,
        plan=plan,
        config=config,
        budget=budget,
        phase=phase,
        out=out,
        cache=cache,
        runner=runner,
        address=address,
    )
    place = as_place(out)
    folder = find_build(below(place, built["build_id"])) if isinstance(place, str) else Path(built["path"])
    violations = audit_build(str(folder))
    gate(built, violations, missing_inputs(folder), allow_not_ok)
    emit_event(PASSED, resource=event_resource(built), payload=built)
    get_run_logger().info("build %s may launch: %s", built["build_id"], built["path"])
    return str(built["path"])


@task(cache_policy=NO_CACHE, persist_result=False)
def audit_build(path: str) -> list[dict[str, str]]:
    """The violations that the audit finds in a build, as plain data."""
    return [violation._asdict() for violation in audit(Path(path))]


@task(cache_policy=NO_CACHE, persist_result=False)
def gate(built: dict[str, Any], violations: list[dict[str, str]], missing: list[str], allow_not_ok: int) -> None:
    """Lets a build through, or says why not.

    Raises:
        GateError: an input that was named is missing, there is a violation, or more tasks are not ok than may be.
    """
    if missing:
        raise GateError(
            f"build {built['build_id']} lacks inputs that were named: {', '.join(missing)}; "
            "mend their paths, or take them out of the parameters."
        )
    if violations:
        first = violations[0]
        raise GateError(
            f"build {built['build_id']} has {len(violations)} violations, the first of {first['check']} at "
            f"{first['where']}: {first['message']}; run: prebrief audit {built['path']}"
        )
    not_ok = _not_ok("tasks", built["statuses"]) + _not_ok("call prompts", built.get("calls", {}))
    if sum(count for count, _ in not_ok) > allow_not_ok:
        named = ", ".join(what for _, what in not_ok)
        raise GateError(
            f"{named} of {built['tasks']} tasks of build {built['build_id']}, and {allow_not_ok} may be; "
            f"raise the budget or mend what findings.parquet names in {built['path']}"
        )


def _not_ok(what: str, statuses: dict[str, int]) -> list[tuple[int, str]]:
    """How many are not ok, by status, as a number and in words."""
    return [(count, f"{count} {what} {status}") for status, count in sorted(statuses.items()) if status != "ok"]


def missing_inputs(build: Path) -> list[str]:
    """What was named for a build and could not be read: a launch without it would be one on less than was meant."""
    findings = BuildFolder(build).findings
    lost = findings.filter(
        (pl.col("severity") == "error") & pl.col("code").str.contains("^(?:INPUT|RULES|SPECS|GRAPH|PLAN)_")
    )
    return lost["where"].unique().sort().to_list()

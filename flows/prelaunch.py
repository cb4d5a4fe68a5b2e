"""What a schedule runs before a swarm launches: build, audit, gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE

from flows.build import build_contexts
from tasks.audit import audit
from tasks.errors import PrebriefError


class GateError(PrebriefError):
    """A build was made, but it is not fit to launch on."""

    code = "GATE"


@flow(name="prelaunch", persist_result=False)
def prelaunch(
    graphs: list[str],
    specs: str | None = None,
    rules: str | None = None,
    history: list[str] | None = None,
    config: str | None = None,
    budget: int | None = None,
    phase: str | None = None,
    out: str = "builds",
    allow_not_ok: int = 0,
) -> str:
    """Builds, audits and opens the gate, or fails with the reason; returns the build's folder.

    `allow_not_ok` is how many tasks may be over budget or on the full context.

    Raises:
        GateError: the audit found a violation, or too many tasks are not ok.
    """
    built = build_contexts(
        graphs=graphs, specs=specs, rules=rules, history=history, config=config, budget=budget, phase=phase, out=out
    )
    violations = audit_build(built["path"])
    gate(built, violations, allow_not_ok)
    get_run_logger().info("build %s may launch: %s", built["build_id"], built["path"])
    return str(built["path"])


@task(cache_policy=NO_CACHE, persist_result=False)
def audit_build(path: str) -> list[dict[str, str]]:
    """The violations that the audit finds in a build, as plain data."""
    return [violation._asdict() for violation in audit(Path(path))]


@task(cache_policy=NO_CACHE, persist_result=False)
def gate(built: dict[str, Any], violations: list[dict[str, str]], allow_not_ok: int) -> None:
    """Lets a build through, or says why not."""
    if violations:
        first = violations[0]
        raise GateError(
            f"build {built['build_id']} breaks {len(violations)} invariants, first {first['check']} at {first['where']}: "
            f"{first['message']}; run: prebrief audit {built['path']}"
        )
    not_ok = sum(count for status, count in built["statuses"].items() if status != "ok")
    if not_ok > allow_not_ok:
        raise GateError(
            f"{not_ok} tasks of build {built['build_id']} are not ok and {allow_not_ok} may be; raise the budget or mend "
            "what findings.parquet names."
        )

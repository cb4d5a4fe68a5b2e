"""The flow: load, eight stage tasks, write, publish. The very functions that a direct build runs, as Prefect tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from prefect import Flow, task
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.events import emit_event

from flows.progress import reporting
from flows.runners import spread_on
from tasks.building import build
from tasks.making import finish, load_batch, writing
from tasks.outputs.places import as_place
from tasks.outputs.reader import BuildFolder
from tasks.outputs.summary import build_summary, stage_summary
from tasks.pipeline import Run, prefect_call, unwalked
from tasks.settings import Settings, find_settings_file, load_settings
from tasks.sources.inputs import Inputs, Request
from tasks.stores.remote import shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tasks.batch import Batch
    from tasks.building import Make
    from tasks.outputs.writer import BuildWriter
    from tasks.pipeline import Spread

COMPLETED = "prebrief.build.completed"

P = ParamSpec("P")
R = TypeVar("R")


class PlainFlow(Flow[P, R]):
    """A flow whose parameters are plain data, for which Prefect would import a web framework to show them."""

    def serialize_parameters(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The parameters as the server keeps them."""
        try:
            return cast("dict[str, Any]", json.loads(json.dumps(parameters)))
        except (TypeError, ValueError):
            return super().serialize_parameters(parameters)


def _flow(function: Callable[P, R]) -> PlainFlow[P, R]:
    return PlainFlow(function, name="build-contexts", persist_result=False, validate_parameters=True)


@_flow
def build_contexts(
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
) -> dict[str, Any]:
    """Builds the context of every task of the graphs; relative paths count from the working folder.

    The parameters are those of `prebrief build`, defaults included.

    Returns:
        The absolute `path` of the build or its URL (without who logs in), whether it is `fresh`, and its numbers, as
        plain data.

    Raises:
        PrebriefError: the input, a setting or the output folder is refused.
    """
    settings = load_settings(
        find_settings_file(Path(config) if config else None),
        budget={"tokens": budget},
        policy={"phase": phase},
        plan=plan or {},
        tokens={"cache": None if cache else False},
    )
    request = Request(
        graphs=tuple(map(Path, graphs)),
        specs=Path(specs) if specs else None,
        rules=Path(rules) if rules else None,
        history=tuple(map(Path, history or ())),
        commands=Path(commands) if commands else None,
        tools=Path(tools) if tools else None,
    )
    spread = spread_on(runner, address) if runner else None
    built = build(request, settings, as_place(out), make=_making(settings, spread))
    folder = BuildFolder(built.path)
    path = shown(built.url) if built.url else str(built.path.resolve())
    outcome = {"path": path, "fresh": built.fresh, **build_summary(folder)}
    _publish(folder, outcome)
    return outcome


def _making(settings: Settings, spread: Spread | None) -> Make:
    """Makes a build of Prefect tasks: one that loads, one a stage (and shard), one that writes."""

    def make(inputs: Inputs, name: str, listed: list[dict[str, Any]], place: Path | str) -> Path:
        run = Run(settings, call=reporting(prefect_call(), _progress_artifact()), spread=spread)
        holder: list[Batch] = []
        load_inputs(unwalked(run), unwalked(inputs), unwalked(holder))
        batch = holder.pop()
        with writing(run, batch.tasks, name, place) as files:
            write_outputs(unwalked(run), unwalked(run(batch)), unwalked(files), unwalked(listed))
        return files.place

    return make


@task(cache_policy=NO_CACHE, persist_result=False)
def load_inputs(run: Run, inputs: Inputs, holder: list[Batch]) -> int:
    """Parses, cleans and counts all inputs."""
    holder.append(load_batch(run, inputs))
    return len(holder[0].tasks)


@task(cache_policy=NO_CACHE, persist_result=False)
def write_outputs(run: Run, batch: Batch, files: BuildWriter, inputs: list[dict[str, Any]]) -> int:
    """Writes what was not written while the stages ran, and the manifest."""
    finish(run, batch, files, inputs)
    return len(batch.tasks)


def _progress_artifact() -> Callable[[float], None]:
    """Shows in Prefect how far the build is, once there is something to report."""
    shown: list[UUID] = []

    def report(percent: float) -> None:
        if shown:
            update_progress_artifact(artifact_id=shown[0], progress=percent)
        else:
            made = create_progress_artifact(percent, key="prebrief-progress", description="Stages times tasks done")
            shown.append(cast("UUID", made))

    return report


def _publish(folder: BuildFolder, summary: dict[str, Any]) -> None:
    """Shows the run's outcome in Prefect: the stages' counts, a summary, and an event that triggers can wait for."""
    create_table_artifact(
        table=stage_summary(folder), key="prebrief-stages", description=f"Stages of build {summary['build_id']}"
    )
    create_markdown_artifact(
        markdown=_markdown(summary), key="prebrief-summary", description=f"Build {summary['build_id']}"
    )
    emit_event(COMPLETED, resource=event_resource(summary), payload=summary)


def event_resource(outcome: dict[str, Any]) -> dict[str, str]:
    """A build as the resource of an event; triggers may match its folder."""
    return {
        "prefect.resource.id": f"prebrief.build.{outcome['build_id']}",
        "prefect.resource.name": outcome["build_id"],
        "prebrief.path": outcome["path"],
    }


def _markdown(summary: dict[str, Any]) -> str:
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(summary["statuses"].items()))
    findings = ", ".join(f"{count} {severity}" for severity, count in sorted(summary["findings"].items())) or "none"
    rows = {
        "tasks": f"{summary['tasks']} in {summary['graphs']} graphs ({statuses})",
        "tokens": f"{summary['tokens']:,} of {summary['budget_tokens']:,} budgeted",
        "candidates": f"{summary['included']:,} in, {summary['dropped']:,} out",
        "findings": findings,
    }
    lines = [f"# Build {summary['build_id']}", "", "| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items())]
    return "\n".join(lines) + "\n"

"""The `prebrief` command: flags in, tables or one JSON object out, exit codes that scripts can trust.

Every command is thin over functions that people may call themselves. Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.artifacts import app as artifacts
from flows.commands import App
from flows.console import (
    A_BUILD,
    GOOD,
    PARTLY,
    PLACE,
    REFUSED,
    Build,
    Json,
    build_at,
    naming_what_the_system_refuses,
    open_what_is_closed,
    print_facts,
    print_json,
    print_table,
    sentences,
)
from tasks.errors import PrebriefError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tasks.building import Built
    from tasks.outputs.reader import BuildFolder
    from tasks.pipeline import Call
    from tasks.tracker import ContextTracker

_FINDINGS_SHOWN = 5

app = App(
    help="Compiles, before a swarm of coding agents launches, the context that each agent starts with.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(artifacts, name="artifact")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"prebrief {version('prebrief')}\n")
        raise typer.Exit(GOOD)


@app.callback()
def prebrief(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compiles, before a swarm of coding agents launches, the context that each agent starts with."""


def main() -> None:
    """The console script."""
    gc.set_threshold(300_000, 20, 50)  # a build makes millions of objects and hardly a cycle
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000")  # Polars' pages, else given back and taken again
    open_what_is_closed()
    try:
        with naming_what_the_system_refuses():  # what is printed outside of the commands, too: help, mistaken usage
            app()
    finally:
        gc.freeze()  # or the process would look for cycles in all that it drops at its end: a third of a second


# ---- building ---------------------------------------------------------------------------------------------------


@app.command()
@sentences
def build(
    graphs: Annotated[
        list[Path],
        typer.Argument(metavar="PLAN...", help="Task graphs and other plans, or their folders; all are built at once."),
    ],
    specs: Annotated[
        Path | None, typer.Option(help="Folder of requirements.md and design.md; may hold {feature}.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Folder of security rules (default: those that come along).")
    ] = None,
    history: Annotated[list[Path] | None, typer.Option(help="Event log, JSON lines; repeatable.")] = None,
    commands: Annotated[Path | None, typer.Option(help="Folder of command files, split or not.")] = None,
    tools: Annotated[
        Path | None, typer.Option(help="Tool catalogue, the JSON of MCP's tools/list; gives call prompts.")
    ] = None,
    plan_format: Annotated[
        str | None, typer.Option(help="zerg, task-master, spec-kit or beads (default: found out by content).")
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Tag of a Task Master plan (default: the current one).")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Tasks that get a context, by status, or all; repeatable (default: what is still to do)."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings file (default: prebrief.toml where there is one).")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens that every prompt may hold.")] = None,
    phase: Annotated[str | None, typer.Option(help="route, call, interpret or answer.")] = None,
    out: Annotated[
        str, typer.Option(metavar=PLACE, help="Where builds go: a folder, or a URL such as s3://bucket/prefix.")
    ] = "builds",
    cache: Annotated[bool, typer.Option(help="Keep token counts and compiled rules for the next run.")] = True,
    runner: Annotated[
        str | None, typer.Option(help="With --flow: where shards run, threads, dask or ray (default: in turn).")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Of the runner's cluster (default: workers of its own).")] = None,
    flow: Annotated[bool, typer.Option("--flow/--direct", help="As a Prefect flow, or in this process.")] = False,
    as_json: Json = False,
) -> None:
    """Build the context of every task of the given task graphs."""
    from tasks.settings import find_settings_file

    settings_file = find_settings_file(config)
    plan = {"format": plan_format, "tag": tag, "status": status or None}
    if (runner or address) and not flow:
        from tasks.errors import SettingsError

        raise SettingsError("--runner and --address belong to a flow; add --flow.")
    if flow:
        from flows.launch import build_in_flow

        built = build_in_flow(
            [str(path) for path in graphs],
            specs=_text(specs),
            rules=_text(rules),
            history=[str(path) for path in history or ()],
            commands=_text(commands),
            tools=_text(tools),
            plan=plan,
            config=_text(settings_file),
            budget=budget,
            phase=phase,
            out=out,
            cache=cache,
            runner=runner,
            address=address,
        )
    else:
        from tasks.building import build as build_directly
        from tasks.settings import load_settings
        from tasks.sources.inputs import Request

        request = Request(
            graphs=tuple(graphs),
            specs=specs,
            rules=rules,
            history=tuple(history or ()),
            commands=commands,
            tools=tools,
            cwd=Path.cwd(),
        )
        settings = load_settings(
            settings_file,
            budget={"tokens": budget},
            policy={"phase": phase},
            plan=plan,
            tokens={"cache": None if cache else False},
        )
        with _watched() as call:
            built = build_directly(request, settings, out, call=call)
    raise typer.Exit(_report_build(built, as_json=as_json))


@contextmanager
def _watched() -> Iterator[Call | None]:
    """Bars on stderr where that is a terminal; elsewhere nothing watches a build."""
    if not sys.stderr.isatty():
        yield None
        return
    from flows.progress import bars

    with bars() as call:
        yield call


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _print_findings(folder: BuildFolder, place: str, counts: dict[str, int]) -> None:
    """Says on stderr what was left out or is not there, and how much else was odd."""
    named = folder.findings.select("severity", "code", "where", "message").sort("severity").rows()
    told = [row for row in named if row[0] == "error" or (row[0] == "warning" and row[1].endswith("_MISSING"))]
    for _, code, where, message in told[:_FINDINGS_SHOWN]:
        sys.stderr.write(f"{code} {where}: {message}\n")
    shown = Counter(f"{severity}s" for severity, *_ in told[:_FINDINGS_SHOWN])
    more = {f"{name}s": counts.get(name, 0) - shown[f"{name}s"] for name in ("error", "warning")}
    other = [f"{count} {name}" for name, count in more.items() if count > 0]
    if other:
        sys.stderr.write(f"{' and '.join(other)} more: see {place}/findings.parquet\n")


def _report_build(built: Built, *, as_json: bool) -> int:
    """Prints what was built; returns the exit code."""
    from tasks.outputs.summary import build_summary

    folder, fresh = build_at(built.path), built.fresh
    where, summary = str(folder.root), build_summary(folder)
    if built.url is not None:
        from tasks.stores.remote import shown

        where = shown(built.url)
    code = GOOD if summary["statuses"].keys() | summary.get("calls", {}).keys() <= {"ok"} else PARTLY
    if as_json:
        print_json({**summary, "path": where, "fresh": fresh})
        return code
    rows = folder.tasks.select(
        "graph", "task_id", "status", "prompt_tokens", "budget_tokens", "included", "dropped"
    ).rows()
    print_table(("graph", "task", "status", "tokens", "budget", "in", "out"), rows, most=40)
    for frame in (folder.tasks, folder.calls):
        if frame is not None:
            for message in frame.filter(frame["message"].is_not_null())["message"].head(5):
                sys.stderr.write(f"{message}\n")
    _print_findings(folder, where, summary["findings"])
    said = ", ".join(f"{count} {status}" for status, count in sorted(summary["statuses"].items()))
    if "calls" in summary:
        counted = ", ".join(f"{count} {status}" for status, count in sorted(summary["calls"].items()))
        sys.stdout.write(f"call prompts: {counted or 'none'}\n")
    made = "built" if fresh else "already built"
    sys.stdout.write(f"{made}: {summary['tasks']} tasks ({said}), {summary['tokens']:,} tokens in all\n{where}\n")
    return code


# ---- reading ----------------------------------------------------------------------------------------------------


@app.command()
@sentences
def show(
    task: Annotated[str, typer.Argument(help="A task's id, or graph/id where graphs share it.")],
    tool: Annotated[str | None, typer.Option(help="The prompt for a call of this tool instead.")] = None,
    build: Build = "builds",
    as_json: Json = False,
) -> None:
    """Print a task's prompt, as the agent gets it."""
    from tasks.outputs.places import as_place
    from tasks.outputs.prompts import prompt_file

    place = as_place(build)
    if tool is None and not as_json and isinstance(place, Path) and (prompt := prompt_file(place, task)):
        sys.stdout.write(prompt.read_text("utf-8"))
        return
    folder = build_at(build)
    row = folder.task(task) if tool is None else folder.call(task, tool)
    if as_json:
        print_json(row)
    elif row["prompt"] is None:
        sys.stderr.write(f"{row['graph']}/{row['task_id']} has no prompt: {row['message']}\n")
        raise typer.Exit(REFUSED)
    else:
        sys.stdout.write(row["prompt"])


@app.command()
@sentences
def why(
    task: Annotated[str, typer.Argument(help="A task's id, or graph/id where graphs share it.")],
    item: Annotated[str | None, typer.Argument(help="An item's id, or its unique end.")] = None,
    build: Build = "builds",
    as_json: Json = False,
) -> None:
    """Say why each candidate of a task is in its context or out of it."""
    from tasks.outputs.explain import explain_item, explain_task

    folder = build_at(build)
    row = folder.task(task)
    graph, task_id = row["graph"], row["task_id"]
    if item is None:
        rows = explain_task(folder, graph, task_id)
        if as_json:
            print_json({"graph": graph, "task_id": task_id, "candidates": rows.to_dicts()})
            return
        columns = ("decision", "reason", "score", "tokens", "section", "item_id", "begins")
        print_table(columns, rows.select(columns).rows(), most=None)
        return
    entry = explain_item(folder, graph, task_id, folder.item(item)["item_id"])
    if as_json:
        print_json(entry)
    else:
        print_facts(entry)


@app.command()
@sentences
def audit(
    build: Annotated[str, typer.Argument(metavar=PLACE, help=A_BUILD)] = "builds",
    as_json: Json = False,
) -> None:
    """Prove a build's invariants from its files alone; exit code 1 where one does not hold."""
    from tasks.audit import audit as run_audit
    from tasks.outputs.reader import find_build

    root = find_build(build)
    violations = run_audit(root)
    if as_json:
        found = [violation._asdict() for violation in violations]
        print_json({"build": root.name, "ok": not violations, "violations": found})
    elif violations:
        print_table(("check", "where", "message"), [tuple(violation) for violation in violations], most=40)
    if not as_json:
        sys.stdout.write(
            f"{root.name}: {len(violations)} violations\n" if violations else f"{root.name}: all invariants hold\n"
        )
    raise typer.Exit(REFUSED if violations else GOOD)


@app.command()
@sentences
def split(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of command files.")],
    check: Annotated[bool, typer.Option("--check", help="Say what would be done, and do nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put split commands together again.")] = False,
    as_json: Json = False,
) -> None:
    """Split command files of 300 lines or more into a core and details; exit code 3 where one had to be left."""
    from flows.split import split_commands

    report = split_commands(folder, check=check, undo=undo)
    if as_json:
        print_json(report.as_dict())
    else:
        columns = ("name", "status", "lines", "core", "details")
        rows = [tuple(getattr(outcome, column) for column in columns) for outcome in report.commands]
        print_table(("command", *columns[1:]), rows, most=None)
        if check:
            sys.stdout.write("nothing was written\n")
    _warn(report.findings)
    raise typer.Exit(PARTLY if any(row["severity"] == "error" for row in report.findings) else GOOD)


@app.command()
@sentences
def load(
    name: Annotated[str, typer.Argument(help="A command, by the name of its file.")],
    details: Annotated[bool, typer.Option("--details", help="The details too, after one blank line.")] = False,
    commands: Annotated[Path, typer.Option(help="Folder of command files.")] = Path(),
) -> None:
    """Print a command: its core where it is split, else all of it."""
    from flows.split import load_command

    loaded = load_command(name, commands, details=details)
    typer.echo(loaded.data, nl=False)
    _warn(loaded.findings)


def _warn(findings: Iterable[dict[str, str]]) -> None:
    for row in findings:
        sys.stderr.write(f"{row['severity']} {row['code']}: {row['where']}: {row['message']}\n")


# ---- sessions ---------------------------------------------------------------------------------------------------


@app.command()
@sentences
def forecast(
    build: Annotated[str, typer.Argument(metavar=PLACE, help=A_BUILD)] = "builds",
    workers: Annotated[int | None, typer.Option(help="How many; default: the largest level's tasks, up to 5.")] = None,
    assignment: Annotated[Path | None, typer.Option(help="JSON: worker -> task ids, or ZERG's.")] = None,
    graph: Annotated[list[Path] | None, typer.Option(help="A graph of the build that has moved; repeatable.")] = None,
    root: Annotated[Path | None, typer.Option(help="Where the plan's paths start, for the sizes of files.")] = None,
    window: Annotated[int, typer.Option(help="Tokens of the model's context window.")] = 200_000,
    threshold: Annotated[float, typer.Option(help="Percent of it at which to checkpoint.")] = 70.0,
    out: Annotated[Path | None, typer.Option(help="Parquet of the tasks; .workers.parquet goes beside it.")] = None,
    as_json: Json = False,
) -> None:
    """Forecast the tokens of each worker's session, and before which tasks to checkpoint."""
    from flows.forecast import forecast_build, write_forecast

    report = forecast_build(
        build_at(build),
        workers=workers,
        assignment=assignment,
        graphs=graph or (),
        root=root,
        window=window,
        threshold=threshold,
    )
    if out is not None:
        write_forecast(report, out)
    if as_json:
        print_json(report.as_dict())
        return
    tasks, forecasts = report.forecast
    columns = ("context_tokens", "files", "file_tokens", "tool_tokens", "task_tokens", "tokens", "session_tokens")
    shown = tasks.select("worker", "task_id", "level", *columns, "session").rows()
    head = ("worker", "task", "level", "context", "files", "reading", "tools", "flat", "sum", "so far", "session")
    print_table(head, shown, most=40)
    sys.stdout.write("\n")
    for row in forecasts.iter_rows(named=True):
        where = f"; checkpoint before {', '.join(row['checkpoint_before'])}" if row["checkpoint_before"] else ""
        said = f"crosses {threshold:g} %{where}" if row["crosses"] else f"stays below {threshold:g} %"
        used = f"{row['tokens']:,} tokens ({row['usage_percent']:.1f} %)"
        sys.stdout.write(f"{row['worker']}: {row['tasks']} tasks, {used}, {said}\n")
    for row in report.budgets.iter_rows(named=True):
        sys.stdout.write(
            f"budget of {row['graph']}: {row['allocated']:,} tokens allocated to {row['tasks']} tasks "
            f"({report.allocation}), {row['average']:,} on average\n"
        )
    _warn(report.findings)


@app.command()
@sentences
def track(
    status: Annotated[str | None, typer.Option(metavar="SESSION", help="Print what a session has used.")] = None,
    window: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="Tokens of the context window (200,000).")
    ] = None,
    threshold: Annotated[
        str | None, typer.Option(metavar="FLOAT", help="Percent of it at which to checkpoint (70).")
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task whose context the session starts with.")] = None,
    build: Build = "builds",
    as_json: Json = False,
) -> None:
    """Count a tool call as a PostToolUse hook of Claude Code, from its JSON on stdin; say when to checkpoint."""
    from tasks.errors import TrackingError
    from tasks.hook import hook_input, limits, on_tool_use, session_usage, sessions_folder

    if status is not None:
        usage = session_usage(status, sessions_folder(), *limits(window, threshold)).as_dict()
        print_json(usage) if as_json else print_facts(usage)
        return
    if sys.stdin is not None and sys.stdin.isatty():
        raise TrackingError("no hook's JSON comes from stdin; name a session with --status, or run it as a hook.")

    def begin(tracker: ContextTracker) -> None:
        if task is not None:
            try:
                tracker.use_build(build_at(build), task)
            except PrebriefError as error:
                _warn_of(error)

    answer = None
    try:
        given = limits(window, threshold)
    except TrackingError as error:  # a hook never stands in the way of the session that it watches
        _warn_of(error)
        given = None, None
    try:
        answer = on_tool_use(hook_input(), sessions_folder(), *given, begin=begin)
    except TrackingError as error:
        _warn_of(error)
    if answer is not None:
        typer.echo(json.dumps(answer))


def _warn_of(error: PrebriefError) -> None:
    typer.echo(f"warning {error.code}: {error}", err=True)  # also where there is no stderr


# ---- exports ----------------------------------------------------------------------------------------------------


@app.command()
@sentences
def export(
    form: Annotated[str, typer.Option("--format", help="zerg, markdown, jsonl or claude.")],
    build: Build = "builds",
    graph: Annotated[list[Path] | None, typer.Option(help="zerg: a graph that has moved; repeatable.")] = None,
    out: Annotated[Path | None, typer.Option(help="File or folder to write to.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="zerg: replace contexts that planners wrote.")] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="zerg: write over the graph itself.")] = False,
    part: Annotated[int | None, typer.Option(min=1, help="claude: this part of a long context.")] = None,
    as_json: Json = False,
) -> None:
    """Hand contexts on: ZERG's task graph, Markdown files, JSON lines, or a SessionStart hook of Claude Code."""
    from tasks.errors import ExportError, SettingsError
    from tasks.outputs import export as exports

    if form not in exports.FORMATS:
        raise ExportError(f"there is no format {form!r}; choose one of {', '.join(exports.FORMATS)}.")
    if form == "claude":
        _answer_hook(build, part)
        return
    folder = build_at(build)
    if form == "zerg":
        done = exports.export_zerg(folder, named=graph or (), out=out, overwrite=overwrite, in_place=in_place)
    elif form == "markdown":
        done = exports.export_markdown(folder, out or Path("contexts"))
    else:
        if out is None and as_json:
            raise SettingsError("--format jsonl prints a line a context; give --out FILE, or leave --json out.")
        if out is None:
            sys.stdout.writelines(exports.jsonl_rows(folder))
            raise typer.Exit(PARTLY if folder.tasks["prompt"].null_count() else GOOD)
        done = exports.export_jsonl(folder, out)
    for warning in done.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    if done.kept:
        sys.stderr.write(f"contexts of planners that were kept: {done.kept}; --overwrite replaces them\n")
    if as_json:
        print_json(done.as_dict())
    else:
        sys.stdout.writelines(f"{path}\n" for path in done.written)
    raise typer.Exit(PARTLY if done.missing else GOOD)


def _answer_hook(build: str, part: int | None) -> None:
    """Prints the answer of a hook, or nothing: a hook never stands in the way of the session that it serves."""
    from tasks.outputs.export import TASK_VARIABLE, hook_answer

    task = os.environ.get(TASK_VARIABLE, "").strip()
    if not task:
        return
    try:
        answer = hook_answer(build_at(build), task, part)
    except PrebriefError as error:
        if part in (None, 1):
            _warn_of(error)
        return
    if answer is not None:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    elif part in (None, 1):
        sys.stderr.write(f"warning: the build has no context of task {task!r}, which {TASK_VARIABLE} names\n")


# ---- printing ---------------------------------------------------------------------------------------------------


if __name__ == "__main__":
    main()

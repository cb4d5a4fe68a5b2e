"""The `prebrief` command: flags in, tables or one JSON object out, exit codes that scripts can trust.

Every command is thin over functions that people may call themselves. Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from tasks.errors import PrebriefError

if TYPE_CHECKING:
    from tasks.outputs.reader import BuildFolder

GOOD, REFUSED, WRONG, PARTLY = 0, 1, 2, 3

P = ParamSpec("P")

app = typer.Typer(
    help="Compiles, before a swarm of coding agents launches, the context that each agent starts with.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Build = Annotated[Path, typer.Option("--build", help="A build, or an output folder (its newest build).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def main() -> None:
    """The console script."""
    app()


def _sentences(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose errors are one sentence on stderr and exit code 2, never a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except PrebriefError as error:
            if kwargs.get("as_json"):
                _print_json({"error": {"code": error.code, "message": str(error)}})
            else:
                sys.stderr.write(f"error {error.code}: {error}\n")
            raise typer.Exit(WRONG) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(GOOD) from None

    return run


# ---- building ---------------------------------------------------------------------------------------------------


@app.command()
@_sentences
def build(
    graphs: Annotated[list[Path], typer.Argument(metavar="GRAPH...", help="Task graphs; all are built at once.")],
    specs: Annotated[Path | None, typer.Option(help="Folder of requirements.md and design.md; may hold {feature}.")] = None,
    rules: Annotated[Path | None, typer.Option(help="Folder of security rules (default: those that come along).")] = None,
    history: Annotated[list[Path] | None, typer.Option(help="Event log, JSON lines; repeatable.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (default: prebrief.toml where there is one).")] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens that every prompt may hold.")] = None,
    phase: Annotated[str | None, typer.Option(help="route, call, interpret or answer.")] = None,
    out: Annotated[Path, typer.Option(help="Where builds go.")] = Path("builds"),
    cache: Annotated[bool, typer.Option(help="Keep the vocabulary and compiled rules for the next run.")] = True,
    flow: Annotated[bool, typer.Option("--flow/--direct", help="As a Prefect flow, or in this process.")] = False,
    as_json: Json = False,
) -> None:
    """Build the context of every task of the given task graphs."""
    from tasks.settings import find_settings_file

    settings_file = find_settings_file(config)
    if flow:
        from flows.launch import build_in_flow

        built = build_in_flow(
            [str(path) for path in graphs],
            specs=_text(specs),
            rules=_text(rules),
            history=[str(path) for path in history or ()],
            config=_text(settings_file),
            budget=budget,
            phase=phase,
            out=str(out),
            cache=cache,
        )
    else:
        from tasks.building import build as build_directly
        from tasks.settings import load_settings
        from tasks.sources.inputs import Request

        request = Request(graphs=tuple(graphs), specs=specs, rules=rules, history=tuple(history or ()), cwd=Path.cwd())
        settings = load_settings(
            settings_file, budget={"tokens": budget}, policy={"phase": phase}, tokens={"cache": None if cache else False}
        )
        built = build_directly(request, settings, out)
    raise typer.Exit(_report_build(_folder(built.path), fresh=built.fresh, as_json=as_json))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _report_build(folder: BuildFolder, *, fresh: bool, as_json: bool) -> int:
    """Prints what was built; returns the exit code."""
    from tasks.outputs.summary import build_summary

    summary = build_summary(folder)
    code = GOOD if summary["statuses"].keys() <= {"ok"} else PARTLY
    if as_json:
        _print_json({**summary, "path": str(folder.root), "fresh": fresh})
        return code
    rows = folder.tasks.select("graph", "task_id", "status", "prompt_tokens", "budget_tokens", "included", "dropped").rows()
    _print_table(("graph", "task", "status", "tokens", "budget", "in", "out"), rows, most=40)
    for message in folder.tasks.filter(folder.tasks["message"].is_not_null())["message"].head(5):
        sys.stderr.write(f"{message}\n")
    for severity, count in sorted(summary["findings"].items()):
        if severity != "info":
            sys.stderr.write(f"{count} findings of severity {severity}; see findings.parquet in the build.\n")
    said = ", ".join(f"{count} {status}" for status, count in sorted(summary["statuses"].items()))
    made = "built" if fresh else "already built"
    sys.stdout.write(f"{made}: {summary['tasks']} tasks ({said}), {summary['tokens']:,} tokens in all\n{folder.root}\n")
    return code


# ---- reading ----------------------------------------------------------------------------------------------------


@app.command()
@_sentences
def show(
    task: Annotated[str, typer.Argument(help="A task's id, or graph/id where graphs share it.")],
    build: Build = Path("builds"),
    as_json: Json = False,
) -> None:
    """Print a task's prompt, as the agent gets it."""
    folder = _folder(build)
    row = folder.task(task)
    if as_json:
        _print_json(row)
    elif row["prompt"] is None:
        sys.stderr.write(f"{row['graph']}/{row['task_id']} has no prompt: {row['message']}\n")
        raise typer.Exit(REFUSED)
    else:
        sys.stdout.write(row["prompt"])


@app.command()
@_sentences
def why(
    task: Annotated[str, typer.Argument(help="A task's id, or graph/id where graphs share it.")],
    item: Annotated[str | None, typer.Argument(help="An item's id, or its unique end.")] = None,
    build: Build = Path("builds"),
    as_json: Json = False,
) -> None:
    """Say why each candidate of a task is in its context or out of it."""
    from tasks.outputs.explain import explain_item, explain_task

    folder = _folder(build)
    row = folder.task(task)
    graph, task_id = row["graph"], row["task_id"]
    if item is None:
        rows = explain_task(folder, graph, task_id)
        if as_json:
            _print_json({"graph": graph, "task_id": task_id, "candidates": rows.to_dicts()})
            return
        columns = ("decision", "reason", "score", "tokens", "section", "item_id", "begins")
        _print_table(columns, rows.select(columns).rows(), most=None)
        return
    entry = explain_item(folder, graph, task_id, folder.item(item)["item_id"])
    if as_json:
        _print_json(entry)
    else:
        _print_facts(entry)


@app.command()
@_sentences
def audit(
    build: Annotated[Path, typer.Argument(help="A build, or an output folder (its newest build).")] = Path("builds"),
    as_json: Json = False,
) -> None:
    """Prove a build's invariants from its files alone; exit code 1 where one does not hold."""
    from tasks.audit import audit as run_audit
    from tasks.outputs.reader import find_build

    root = find_build(build)
    violations = run_audit(root)
    if as_json:
        found = [violation._asdict() for violation in violations]
        _print_json({"build": root.name, "ok": not violations, "violations": found})
    elif violations:
        _print_table(("check", "where", "message"), [tuple(violation) for violation in violations], most=40)
    if not as_json:
        sys.stdout.write(f"{root.name}: {len(violations)} violations\n" if violations else f"{root.name}: all invariants hold\n")
    raise typer.Exit(REFUSED if violations else GOOD)


# ---- printing ---------------------------------------------------------------------------------------------------


def _folder(place: Path) -> BuildFolder:
    from tasks.outputs.reader import BuildFolder, find_build

    return BuildFolder(find_build(place))


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n")


def _print_table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, most: int | None) -> None:
    """A table as wide as the terminal; of a long one the first rows, and how many there are."""
    from rich.console import Console
    from rich.table import Table

    listed = list(rows)
    shown = listed if most is None or len(listed) <= most else listed[:most]
    table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for column, values in zip(table.columns, zip(*shown, strict=True), strict=False):
        if all(isinstance(value, (int, float, type(None))) for value in values):
            column.justify = "right"
    for row in shown:
        table.add_row(*(_cell(value) for value in row))
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 160)
    console.print(table)
    if len(shown) < len(listed):
        console.print(f"… and {len(listed) - len(shown)} more")


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    for name, value in facts.items():
        if isinstance(value, dict):
            sys.stdout.write(f"{indent}{name}:\n")
            _print_facts(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            sys.stdout.write(f"{indent}{name}:\n")
            for entry in value:
                sys.stdout.write(f"{indent}  - " + ", ".join(f"{key} {_cell(inner)}" for key, inner in entry.items()) + "\n")
        elif value not in (None, [], ""):
            shown = ", ".join(map(_cell, value)) if isinstance(value, list) else _cell(value)
            sys.stdout.write(f"{indent}{name}: {shown}\n")


if __name__ == "__main__":
    main()

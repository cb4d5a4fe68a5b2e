"""`prebrief artifact`: the raw tool results of a build, for those who need more than the summary in a prompt."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flows.commands import App
from flows.console import Build, Json, build_at, print_json, print_table, sentences

app = App(help="List and read the raw tool results of a build.", no_args_is_help=True)


@app.command("list")
@sentences
def list_artifacts(build: Build = "builds", as_json: Json = False) -> None:
    """List the raw tool results that a build keeps out of band."""
    rows = build_at(build).artifacts.select("handle", "media_type", "size_bytes", "lines")
    if as_json:
        print_json({"artifacts": rows.to_dicts()})
    else:
        print_table(("handle", "type", "bytes", "lines"), rows.rows(), most=None)


@app.command()
@sentences
def get(
    handle: Annotated[str, typer.Argument(help="As prompts print it: artifact:<item id>.")],
    lines: Annotated[str | None, typer.Option(metavar="A:B", help="Only these lines, from 1, both included.")] = None,
    json_path: Annotated[
        str | None, typer.Option("--json", metavar="PATH", help="Only the value at items[3].name or /items/3/name.")
    ] = None,
    head: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first lines.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The bytes as they were logged, credentials included.")] = False,
    build: Build = "builds",
) -> None:
    """Print a raw tool result, or a part of it; credentials are masked unless --raw is given."""
    from tasks.errors import SettingsError
    from tasks.outputs.drill import find_artifact, json_at, lines_of
    from tasks.settings import find_settings_file, load_settings

    if sum(part is not None for part in (lines, json_path, head)) + raw > 1:
        raise SettingsError("--lines, --json, --head and --raw exclude each other; give one.")
    floor = load_settings(find_settings_file(None)).policy.sensitivity_floor
    artifact = find_artifact(build_at(build), handle, floor)
    if raw:
        sys.stdout.buffer.write(artifact.content)
        return
    text = artifact.text()
    if json_path is not None:
        text = json_at(text, json_path)
    elif lines is not None or head is not None:
        text = lines_of(text, lines if lines is not None else f":{head}")
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")

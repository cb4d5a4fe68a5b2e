"""One build in this process, step by step: what is there, what it is, load, eight stages, write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tasks.credential_scanner import begin_compiling
from tasks.outputs.identity import build_id, canonical
from tasks.outputs.places import as_place, below, existing_build, point_latest
from tasks.sources.files import absolute
from tasks.sources.inputs import Inputs, Request, discover

if TYPE_CHECKING:
    from pathlib import Path

    from tasks.pipeline import Call
    from tasks.settings import Settings


@dataclass(frozen=True)
class Built:
    """Where a build lies, and whether this run made it or found it.

    For a build at a URL, `path` is a copy on this machine that goes when the process ends, and `url` is where it lies.
    """

    path: Path
    fresh: bool
    url: str | None = field(default=None, repr=False)  # it may say who logs in


#: Makes a build that is not there yet: (inputs, its id, what went in, place) -> where it lies on this machine.
Make = Callable[["Inputs", str, list[dict[str, Any]], "Path | str"], "Path"]


def build(
    request: Request, settings: Settings, out: Path | str, *, call: Call | None = None, make: Make | None = None
) -> Built:
    """Builds every task of the graphs, or finds the complete build of the same inputs and settings.

    `out` is a folder, or a URL that fsspec reaches. `call` calls the stages; someone who watches a build puts something
    around it. `make` does all the work, for someone who has it done elsewhere.

    Raises:
        InputError: there is no readable graph.
        OutputError: `out` cannot be written.
        SettingsError: `out` is a URL that lost a slash.
        StageError: tasks broke a stage and may not fall back.
    """
    out = as_place(out)
    place = out if isinstance(out, str) else absolute(out)  # a plugin may move the working folder
    inputs = discover(request, settings)
    listed = listing(inputs)
    name = build_id(listed, settings)
    if found := existing_build(place, name):
        point_latest(place, name)
        return built_at(out, found, fresh=False)
    begin_compiling(settings.tokens)
    made = make(inputs, name, listed, place) if make else _make(inputs, name, listed, place, settings, call)
    return built_at(out, made, fresh=True)


def _make(
    inputs: Inputs,
    name: str,
    listed: list[dict[str, Any]],
    place: Path | str,
    settings: Settings,
    call: Call | None,
) -> Path:
    from tasks.making import finish, load_batch, writing  # frames, stages: a build that is found needs none of them
    from tasks.pipeline import Run

    run = Run(settings, call=call) if call else Run(settings)
    batch = load_batch(run, inputs)
    with writing(run, batch.tasks, name, place) as files:
        finish(run, run(batch), files, listed)
    return files.place


def built_at(out: Path | str, path: Path, *, fresh: bool) -> Built:
    """A build below an output folder, its path as that was given, or below a URL, with its copy."""
    if isinstance(out, str):
        return Built(path, fresh=fresh, url=below(out, path.name))
    return Built(out / path.name, fresh=fresh)


def listing(inputs: Inputs) -> list[dict[str, Any]]:
    """What went in: `path, sha256, bytes` of every file, each path once.

    A file that was named but not read stands there with no bytes and the hash of what was found instead, since that
    finding is part of the build. What was found of a file that was read stands under `<path>#findings`.
    """
    read = {file.label: {"path": file.label, "sha256": file.sha256, "bytes": len(file.data)} for file in inputs.files}
    missed: dict[str, list[bytes]] = {}
    for row in inputs.findings:
        if row["code"].startswith("INPUT_") or row["severity"] != "info":
            missed.setdefault(f"{row['where']}#findings" if row["where"] in read else row["where"], []).append(
                canonical(row)
            )
    return list(read.values()) + [
        {"path": path, "sha256": hashlib.sha256(b"\n".join(sorted(set(rows)))).hexdigest(), "bytes": 0}
        for path, rows in missed.items()
    ]

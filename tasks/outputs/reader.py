"""A build folder as those read it who look something up: what is missing is an error that says what to do next."""

from __future__ import annotations

import difflib
import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.errors import BuildMissingError
from tasks.outputs.names import file_places
from tasks.outputs.places import as_place
from tasks.regular import is_file, is_folder, read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MANIFEST = "manifest.json"
LATEST = "latest"

#: The columns of a build's tasks that say what each prompt is, in order; counts and `message` come after them.
PROMPT_COLUMNS = (
    "graph",
    "task_id",
    "title",
    "level",
    "status",
    "prompt",
    "prompt_tokens",
    "budget_tokens",
    "tokenizer",
    "margin",
    "prompt_sha256",
)

_SHOWN = 5  # names that an error lists


def find_build(place: Path | str) -> Path:
    """The build folder at `place`: that folder itself, or the newest build of an output folder.

    Of a build at a URL it is a copy, checked against its manifest, that goes when the process ends.

    Raises:
        BuildMissingError: there is no complete build; the sentence ends in the command to run next.
        SettingsError: `place` is a URL that lost a slash.
    """
    place = as_place(place)
    if isinstance(place, str):
        from tasks.outputs.remote import fetch_build

        return fetch_build(place)
    for folder in (place, place / LATEST):
        if is_file(folder / MANIFEST):
            return folder.resolve()
    what = "holds no complete build" if is_folder(place) else "is no folder"
    raise BuildMissingError(f"{place} {what}; run: prebrief build GRAPH --out {place}")


class BuildFolder:
    """One complete build. Frames are read when they are first asked for and kept; contexts are read one at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What went in, by which settings, and every file with its hash."""
        path = self.root / MANIFEST
        try:
            manifest = json.loads(read_regular(path, None))
        except (OSError, ValueError, RecursionError) as error:
            raise self._damaged(path) from error
        if not isinstance(manifest, dict):
            raise self._damaged(path)
        return manifest

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """One row a task."""
        return self._frame("tasks.parquet")

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row an item; `text` is null where it is above the floor."""
        return self._frame("items.parquet")

    @cached_property
    def stages(self) -> pl.DataFrame:
        """One row a (task, stage)."""
        return self._frame("stages.parquet")

    @cached_property
    def findings(self) -> pl.DataFrame:
        """One row a thing that was odd in the inputs."""
        return self._frame("findings.parquet")

    @cached_property
    def timings(self) -> pl.DataFrame:
        """One row a (stage, shard)."""
        return self._frame("timings.parquet")

    @cached_property
    def artifacts(self) -> pl.DataFrame:
        """One row a raw tool result that is kept out of band."""
        return self._frame("artifacts.parquet")

    @cached_property
    def calls(self) -> pl.DataFrame | None:
        """One row a (task, tool); None where no catalogue of tools went in."""
        return self._frame("calls.parquet") if (self.root / "calls.parquet").is_file() else None

    def call(self, task: str, tool: str) -> dict[str, Any]:
        """The row of a call prompt; the task is named as in `task`.

        Raises:
            BuildMissingError: there is no such task, or no call prompt of it for that tool.
        """
        row = self.task(task)
        name = f"{row['graph']}/{row['task_id']}"
        if self.calls is None:
            raise BuildMissingError("this build has no call prompts; name a catalogue: prebrief build … --tools FILE")
        own = self.calls.filter(_is(row["graph"], row["task_id"]))
        found = own.filter(pl.col("tool") == tool)
        if found.is_empty():
            known = _suggestion(tool, own["tool"].to_list())
            raise BuildMissingError(f"{name} has no call prompt for {tool!r}; {known}.")
        return found.row(0, named=True)

    def context(self, graph: str, task_id: str) -> pl.DataFrame:
        """One row a candidate of a task.

        Raises:
            BuildMissingError: the build has no such task, or no context of it.
        """
        return self._frame(f"contexts/{self._place(graph, task_id)}.parquet")

    def prompt_path(self, graph: str, task_id: str) -> Path:
        """The file that holds a task's prompt.

        Raises:
            BuildMissingError: the build has no such task, or the task has no prompt.
        """
        path = self.root / "prompts" / f"{self._place(graph, task_id)}.md"
        if not path.is_file():
            row = self.tasks.row(by_predicate=_is(graph, task_id), named=True)
            why = f"its status is {row['status']}" if row["prompt"] is None else "its file is gone"
            raise BuildMissingError(f"{graph}/{task_id} has no prompt, {why}; run: prebrief why {graph}/{task_id}")
        return path

    def task(self, name: str) -> dict[str, Any]:
        """The row of a task, named by its id where that is unique in the build, else as `graph/task_id`.

        Raises:
            BuildMissingError: no task or several go by that name; the sentence lists what may be meant.
        """
        full = pl.format("{}/{}", "graph", "task_id")
        for named in (pl.col("task_id") == name, full == name):
            rows = self.tasks.filter(named)
            if len(rows) == 1:
                return rows.row(0, named=True)
            if len(rows) > 1:
                choices = _listed(rows.select(full.alias("name"))["name"].to_list())
                raise BuildMissingError(f"{name!r} names {len(rows)} tasks of this build; say which one: {choices}.")
        ids = self.tasks["task_id"].unique().sort().to_list()
        names = self.tasks.select(full.alias("name"))["name"].unique().sort().to_list()
        raise BuildMissingError(f"this build has no task {name!r}; {_suggestion(name, ids + names)}.")

    def item(self, name: str) -> dict[str, Any]:
        """The row of an item, named by its id or an ending of it that no other id has.

        Where several ids have the ending, one in which it is a whole word is meant: `tc1` is `log/tc1`, not `log/xtc1`.

        Raises:
            BuildMissingError: no item or several go by that name; the sentence lists what may be meant.
        """
        ids = self.items["item_id"]
        found = ids.filter(ids == name).to_list() or ids.filter(ids.str.ends_with(name)).sort().to_list()
        whole = [item_id for item_id in found if not item_id[: -len(name) or None][-1:].isalnum()]
        if len(found) > 1 and len(whole) == 1:
            found = whole
        if len(found) == 1:
            return self.items.row(by_predicate=pl.col("item_id") == found[0], named=True)
        if found:
            choices = _listed(found)
            raise BuildMissingError(f"{name!r} ends {len(found)} item ids of this build; say more of one: {choices}.")
        raise BuildMissingError(f"this build has no item {name!r}; {_suggestion(name, ids.sort().to_list())}.")

    @cached_property
    def _places(self) -> dict[tuple[str, str], str]:
        """Where each task's files lie below `contexts/` and `prompts/`, without suffix."""
        return file_places(self.tasks.select("graph", "task_id").iter_rows())

    def _place(self, graph: str, task_id: str) -> str:
        place = self._places.get((graph, task_id))
        if place is None:
            known = [f"{graph}/{task_id}" for graph, task_id in self._places]
            raise BuildMissingError(
                f"this build has no task {graph}/{task_id}; {_suggestion(f'{graph}/{task_id}', known)}."
            )
        return place

    def _frame(self, name: str) -> pl.DataFrame:
        path = self.root / name
        try:
            # Some flipped bytes end a process that parses them, so a file that is not the listed one is not parsed.
            data = read_regular(path, None)
            if self._digests.get(name, "") not in ("", hashlib.sha256(data).hexdigest()):
                raise self._damaged(path)
            return pl.read_parquet(data)
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._damaged(path) from error

    @cached_property
    def _digests(self) -> dict[str, str]:
        """The SHA-256 of each file that the manifest lists."""
        outputs = self.manifest.get("outputs")
        rows = outputs if isinstance(outputs, list) else []
        return {
            row["path"]: row["sha256"] for row in rows if isinstance(row, dict) and {"path", "sha256"} <= row.keys()
        }

    def _damaged(self, path: Path) -> BuildMissingError:
        what = "cannot be read" if path.is_file() else "is missing"
        return BuildMissingError(f"{path} {what}; run: prebrief audit {self.root}")


def _is(graph: str, task_id: str) -> pl.Expr:
    return (pl.col("graph") == graph) & (pl.col("task_id") == task_id)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _suggestion(name: str, known: Sequence[str]) -> str:
    """The names that are close to a wrong one, else the first there are."""
    lowered = {candidate.casefold(): candidate for candidate in reversed(known)}
    close = difflib.get_close_matches(name.casefold(), lowered, n=_SHOWN, cutoff=0.5)
    if close:
        return "close to it: " + ", ".join(lowered[match] for match in close)
    return f"there are: {_listed(known)}" if known else "it has none"

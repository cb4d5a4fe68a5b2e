"""A build folder as an auditor reads it: nothing is trusted, and what cannot be read is a violation.

Every frame that leaves this module has the contract's columns in plain types, so that no check has to guard against a
missing column or a type of another width.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from tasks.audit.violation import Violation
from tasks.outputs.names import file_places
from tasks.outputs.reader import MANIFEST
from tasks.terms import LEVELS, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CHECK = "files"

_TEXT, _COUNT, _REAL, _TEXTS = pl.String(), pl.Int64(), pl.Float64(), pl.List(pl.String())
_DROPS = pl.List(pl.Struct({"reason": pl.String(), "count": pl.Int64()}))
_BY_SECTION = pl.Struct(dict.fromkeys(SECTIONS, pl.Int64()))

Columns = dict[str, pl.DataType | None]  # None: any type


def _columns(names: str, plain: pl.DataType, **others: pl.DataType | None) -> Columns:
    return {name: others.get(name, plain) for name in names.split()}


#: The columns of each Parquet file, in order, by the contract.
COLUMNS: dict[str, Columns] = {
    "tasks": _columns(
        "graph task_id title level status prompt prompt_tokens budget_tokens tokenizer margin prompt_sha256"
        " shared_prefix_tokens candidates included dropped closures_added dedup_removed sensitivity_dropped firewalled"
        " redactions tokens_by_section message",
        _COUNT,
        **dict.fromkeys(
            ("graph", "task_id", "title", "status", "prompt", "tokenizer", "prompt_sha256", "message"), _TEXT
        ),
        margin=_REAL,
        tokens_by_section=_BY_SECTION,
    ),
    "items": _columns(
        "item_id graph task_id source section kind text tokens parent_id sensitivity position path line_start line_end"
        " tags trusted media_type artifact content_hash",
        _TEXT,
        **dict.fromkeys(("tokens", "position", "line_start", "line_end"), _COUNT),
        tags=_TEXTS,
        trusted=pl.Boolean(),
    ),
    "contexts": _columns(
        "graph task_id item_id recency similarity kind_priority token_penalty score rank decision stage reason"
        " duplicate_of shortfall_tokens prompt_order text",
        _TEXT,
        **dict.fromkeys(("recency", "similarity", "kind_priority", "token_penalty", "score"), _REAL),
        **dict.fromkeys(("rank", "shortfall_tokens", "prompt_order"), _COUNT),
    ),
    "stages": _columns(
        "graph task_id stage candidates_in candidates_out tokens_in tokens_out drops closures_added",
        _COUNT,
        **dict.fromkeys(("graph", "task_id", "stage"), _TEXT),
        drops=_DROPS,
    ),
    "timings": _columns("stage shard tasks rows started seconds peak_mb", _REAL, stage=_TEXT, shard=None, started=None),
    "findings": _columns("severity code where message", _TEXT),
    "artifacts": _columns("handle item_id sha256 size_bytes media_type lines", _TEXT, size_bytes=_COUNT, lines=_COUNT),
    "calls": _columns(
        "graph task_id tool prompt prompt_tokens budget_tokens tokenizer margin status message prompt_sha256",
        _TEXT,
        **dict.fromkeys(("prompt_tokens", "budget_tokens"), _COUNT),
        margin=_REAL,
    ),
}
FRAMES = ("tasks", "items", "stages", "timings", "findings", "artifacts")
#: Files that a build has only where its inputs ask for them; without one the frame is empty.
OPTIONAL = ("calls",)

_DEFAULT_FLOOR = "confidential"
_DEFAULT_MAX_ROWS = 2000


@dataclass
class Context:
    """One context file, joined with what the build knows about its items and its task."""

    place: str
    """Its path in the build."""
    task: dict[str, Any]
    """The task's row."""
    rows: pl.DataFrame
    """Its columns, then those of `Build.details`."""

    @cached_property
    def selected(self) -> list[dict[str, Any]]:
        """The rows of items that stand in the prompt, in its order. The budget bounds them, so plain loops will do."""
        chosen = self.rows.filter(pl.col("decision") == "selected")
        return chosen.sort("prompt_order", nulls_last=True).to_dicts()

    @property
    def prompt_place(self) -> str:
        """The path of the task's prompt in the build."""
        return self.place.replace("contexts/", "prompts/", 1).removesuffix(".parquet") + ".md"


@dataclass
class Build:
    """A build folder. Small frames are held, contexts and artifacts are read one at a time."""

    root: Path
    manifest: dict[str, Any]
    frames: dict[str, pl.DataFrame]
    files: dict[str, Path]
    """The regular files, by their path in the folder. Links are not among them: nothing follows one."""
    damages: list[Violation] = field(default_factory=list)
    """What was wrong with the files themselves."""

    @property
    def tasks(self) -> pl.DataFrame:
        """`tasks.parquet`, only the rows that have a key of their own."""
        return self.frames["tasks"]

    @property
    def items(self) -> pl.DataFrame:
        """`items.parquet`, only the rows that have an id of their own."""
        return self.frames["items"]

    def setting(self, *names: str) -> Any:  # noqa: ANN401 - as many types as there are settings
        """A setting of the manifest by its path; None where the manifest does not have it."""
        found: Any = self.manifest.get("settings")
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    @cached_property
    def floor(self) -> str:
        """The lowest label that is kept out."""
        floor = self.setting("policy", "sensitivity_floor")
        return floor if floor in LEVELS else _DEFAULT_FLOOR

    @cached_property
    def max_rows(self) -> int:
        """Rows of a context file beyond which dropped candidates are only counted; 0 for none."""
        rows = self.setting("audit", "max_rows_per_task")
        return rows if isinstance(rows, int) and rows >= 0 else _DEFAULT_MAX_ROWS

    def above_floor(self, level: pl.Expr) -> pl.Expr:
        """Whether a label is at the floor or above it. A label that is none counts as the highest."""
        return ~level.is_in(LEVELS[: LEVELS.index(self.floor)]).fill_null(value=False)

    @cached_property
    def places(self) -> dict[tuple[str, str], str]:
        """Where a task's files belong below `contexts/` and `prompts/`, without suffix."""
        return file_places(self.tasks.select("graph", "task_id").iter_rows())

    def task_rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each task's place and row."""
        for row in self.tasks.iter_rows(named=True):
            yield self.places[row["graph"], row["task_id"]], row

    def call_rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each call prompt's name and row."""
        for row in self.frames["calls"].iter_rows(named=True):
            yield f"{row['graph']}/{row['task_id']} calling {row['tool']}", row

    @cached_property
    def details(self) -> pl.DataFrame:
        """What contexts are told about items, a row an item.

        Columns: `section, kind, level, owner_graph, owner_task, item_text, artifact, parent` (one that exists and is
        another), `cyclic` (it descends from itself), `above_floor, known`.
        """
        ids = self.items["item_id"]
        parent = pl.col("parent_id")
        exists = parent.is_in(ids.implode()) & (parent != pl.col("item_id"))
        linked = self.items.with_columns(parent=pl.when(exists).then(parent))
        return linked.select(
            "section",
            "kind",
            pl.col("sensitivity").alias("level"),
            pl.col("graph").alias("owner_graph"),
            pl.col("task_id").alias("owner_task"),
            pl.col("text").alias("item_text"),
            "artifact",
            "parent",
            pl.col("item_id")
            .is_in(list(_on_cycles(dict(linked.select("item_id", "parent").iter_rows()))))
            .alias("cyclic"),
            self.above_floor(pl.col("sensitivity")).alias("above_floor"),
            pl.lit(value=True).alias("known"),
        )

    @cached_property
    def _index(self) -> dict[str, int]:
        return {item_id: place for place, item_id in enumerate(self.items["item_id"])}

    def contexts(self) -> Iterator[Context]:
        """Each task's context, one in memory at a time. What cannot be read is added to the damages."""
        for place, task in self.task_rows():
            path = f"contexts/{place}.parquet"
            if path in self.files:
                frame = read_frame(self.files[path], path, "contexts", self.damages)
                if frame is not None:
                    # A dictionary and a gather take a tenth of the time of a join with all items for each small file.
                    places = pl.Series(list(map(self._index.get, frame["item_id"])), dtype=pl.UInt32)
                    told = self.details.select(pl.all().gather(places))
                    yield Context(path, task, pl.concat([frame, told], how="horizontal"))


def read_build(root: Path) -> Build:
    """The folder's files and frames; every damage is noted, none raises."""
    damages: list[Violation] = []
    files = dict(_walk(root, damages))
    frames = {}
    for name in (*FRAMES, *OPTIONAL):
        path = f"{name}.parquet"
        frame = read_frame(files[path], path, name, damages) if path in files else None
        if path not in files and name in FRAMES:
            damages.append(Violation(CHECK, path, "the file is missing."))
        frames[name] = pl.DataFrame(schema=_types(name)) if frame is None else frame
    frames["tasks"] = _keyed(frames["tasks"], ["graph", "task_id"], "tasks.parquet", damages)
    frames["items"] = _keyed(frames["items"], ["item_id"], "items.parquet", damages)
    frames["calls"] = _keyed(frames["calls"], ["graph", "task_id", "tool"], "calls.parquet", damages)
    return Build(root, _read_manifest(files, damages), frames, files, damages)


def read_frame(path: Path, where: str, name: str, damages: list[Violation]) -> pl.DataFrame | None:
    """A Parquet file with the contract's columns in plain types.

    What is missing or of another type is noted and filled with nulls. None where there is nothing to read.
    """
    try:
        frame = _parquet(path)
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 - whatever damage does to a reader
        damages.append(Violation(CHECK, where, f"the file cannot be read: {_first_line(error)}"))
        return None
    if frame.columns != list(COLUMNS[name]):
        damages.append(Violation(CHECK, where, f"its columns are not {', '.join(COLUMNS[name])}, in this order."))
    plain = {
        column: pl.lit(None, wanted)
        if column not in frame.columns or (wanted is not None and not _same_kind(frame.schema[column], wanted))
        else pl.col(column)
        if wanted is None
        else pl.col(column).cast(wanted)
        for column, wanted in COLUMNS[name].items()
    }
    wrong = [column for column, expression in plain.items() if column in frame.columns and not _reads(expression)]
    try:
        typed = frame.select(expression.alias(column) for column, expression in plain.items())
    except pl.exceptions.PolarsError as error:
        damages.append(Violation(CHECK, where, f"a value does not fit its column: {_first_line(error)}"))
        return None
    if wrong:
        said = ", ".join(f"{column} ({frame.schema[column]})" for column in wrong)
        damages.append(Violation(CHECK, where, f"columns of another type: {said}."))
    return typed


def _parquet(path: Path) -> pl.DataFrame:
    """A Parquet file, its values checked one by one. Raises whatever is wrong with it.

    Arrow's reader turns damage into errors; Polars' own ends the process for some flipped bytes.
    """
    with pq.ParquetFile(path) as file:
        table = file.read(use_threads=False)
    table.validate(full=True)
    return pl.DataFrame(pl.from_arrow(table))


def _reads(expression: pl.Expr) -> bool:
    """Whether an expression takes a column, rather than a stand-in for it."""
    return bool(expression.meta.root_names())


def _same_kind(given: pl.DataType, wanted: pl.DataType) -> bool:
    if given == pl.Null:
        return True
    if isinstance(wanted, pl.List):
        return isinstance(given, pl.List) and _same_kind(_of(given.inner), _of(wanted.inner))
    if isinstance(wanted, pl.Struct):
        if not isinstance(given, pl.Struct) or [inner.name for inner in given.fields] != [
            inner.name for inner in wanted.fields
        ]:
            return False
        pairs = zip(given.fields, wanted.fields, strict=True)
        return all(_same_kind(_of(left.dtype), _of(right.dtype)) for left, right in pairs)
    if wanted == pl.String:
        return isinstance(given, pl.String | pl.Enum | pl.Categorical)
    if wanted == pl.Boolean:
        return given == pl.Boolean
    return given.is_integer() or (wanted == pl.Float64 and given.is_float())


def _of(dtype: Any) -> pl.DataType:  # noqa: ANN401 - Polars gives an inner type as a class or an instance
    typed: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return typed


def _types(name: str) -> dict[str, pl.DataType]:
    return {column: dtype or pl.Null() for column, dtype in COLUMNS[name].items()}


def _keyed(frame: pl.DataFrame, key: list[str], where: str, damages: list[Violation]) -> pl.DataFrame:
    """The rows that have a key of their own; others could hide behind each other."""
    whole = frame.drop_nulls(key)
    unique = whole.unique(key, keep="first", maintain_order=True)
    if len(whole) < len(frame):
        damages.append(Violation(CHECK, where, f"{len(frame) - len(whole)} rows have no {' or no '.join(key)}."))
    if len(unique) < len(whole):
        twice = whole.filter(whole.select(key).is_duplicated()).select(key).row(0)
        said = f"{'/'.join(twice)} stands there more than once, and so do {len(whole) - len(unique)} rows in all."
        damages.append(Violation(CHECK, where, said))
    return unique


def _read_manifest(files: dict[str, Path], damages: list[Violation]) -> dict[str, Any]:
    if MANIFEST not in files:
        damages.append(Violation(CHECK, MANIFEST, "the file is missing, so the build is not complete."))
        return {}
    try:
        manifest = json.loads(files[MANIFEST].read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        damages.append(Violation(CHECK, MANIFEST, f"the file cannot be read: {_first_line(error)}"))
        return {}
    if not isinstance(manifest, dict):
        damages.append(Violation(CHECK, MANIFEST, "it does not hold one JSON object."))
        return {}
    return manifest


def _walk(root: Path, damages: list[Violation]) -> Iterator[tuple[str, Path]]:
    """The regular files below a folder, by path, in order. Links and devices are noted and not followed."""
    pending = [""]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(root / inside) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            damages.append(Violation(CHECK, inside or ".", f"the folder cannot be listed: {error.strerror}."))
            continue
        for entry in entries:
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.is_file(follow_symlinks=False):
                yield path, root / path
            else:
                damages.append(Violation(CHECK, path, "it is neither a file nor a folder, but a link or a device."))


def _on_cycles(parents: dict[str, str | None]) -> Iterator[str]:
    """The items that descend from themselves. Each item is walked over once."""
    settled: set[str] = set()
    for start in parents:
        trail: dict[str, int] = {}
        here: str | None = start
        while here is not None and here not in settled and here not in trail:
            trail[here] = len(trail)
            here = parents.get(here)
        if here is not None and here in trail:
            yield from list(trail)[trail[here] :]
        settled.update(trail)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]


def sample(names: Iterable[Any], total: int) -> str:
    """The first of several names, and how many more there are."""
    first = str(next(iter(names)))
    return first if total == 1 else f"{first} and {total - 1} more"

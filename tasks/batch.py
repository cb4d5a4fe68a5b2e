"""The typed frames that travel through the stages, every column described once, and the Batch that carries them.

Rows are numbered: `task` and `item` are the places of a task and an item in the sorted frames of the whole build, so
that wide frames carry small integers. A subset of a batch keeps these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.terms import KINDS, LEVELS, PROGRESS, REASONS, SECTIONS, SEVERITIES, STAGE_NAMES, STATUSES
from tasks.typed_frames import dy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.corpus import Corpus

STAGE = pl.Enum(STAGE_NAMES)
SECTION = pl.Enum(SECTIONS)
KIND = pl.Enum(KINDS)
LEVEL = pl.Enum(LEVELS)
REASON = pl.Enum(REASONS)

# ---- what sources give ------------------------------------------------------------------------------------------


class Tasks(dy.Schema):
    """One row a task of a graph, sorted by graph and id. Key: (graph, task_id), since ids repeat across graphs."""

    task = dy.UInt32(unique=True, description="Place of the task in the build, from 0, by graph and id.")
    graph = dy.String(primary_key=True, description="The feature; `feature@hash` where two graphs share one.")
    task_id = dy.String(primary_key=True, description="The id as the plan prints it.")
    title = dy.String(description="One line.")
    description = dy.String(description="Markdown; empty where the plan has none.")
    level = dy.Int32(description="When the task may start, relative to others; from dependency depth where unsaid.")
    progress = dy.Enum(PROGRESS, description="How far it is, as the plan says; pending where it does not.")
    parent = dy.String(nullable=True, description="The task of the same graph that it is a part of.")
    dependencies = dy.List(dy.String(), description="Ids in the same graph that come first, in the plan's order.")
    related = dy.List(dy.String(), description="Ids in the same graph that the plan names beside; no order follows.")
    consumers = dy.List(dy.String(), description="Ids or words the plan gives for who uses the outcome.")
    files_create = dy.List(dy.String(), description="Paths the task creates, as the plan has them.")
    files_modify = dy.List(dy.String(), description="Paths the task changes.")
    files_read = dy.List(dy.String(), description="Paths the task only reads.")
    files_delete = dy.List(dy.String(), description="Paths the task removes or moves away.")
    files_inferred = dy.List(dy.String(), description="Those of the four that only its text names.")
    acceptance_criteria = dy.List(dy.String(), description="What must hold when it is done, one line each.")
    verification = dy.String(description="The command that proves it; empty where there is none.")
    tools = dy.List(dy.String(), description="Names of the tools the task may call.")
    context = dy.String(description="What the planner wrote for the agent; empty where there is none.")
    budget_tokens = dy.Int64(min=0, nullable=True, description="The task's own budget; null takes the build's.")
    position = dy.UInt32(description="Place in its plan, from 0.")


class Earlier(dy.Schema):
    """One row a (task, task that it comes after): dependencies, their parts, and wholes; also of tasks not built."""

    graph = dy.String(description="The graph of both.")
    task_id = dy.String(description="The later task.")
    earlier = dy.String(description="The task that it builds on or is a part of.")
    part = dy.Bool(description="Whether it is a part of that task.")


class Items(dy.Schema):
    """One row a piece of text that may enter a context, sorted by id."""

    item = dy.UInt32(unique=True, description="Place of the item in the build, from 0, by id.")
    item_id = dy.String(primary_key=True, description="Unique in a build; stable while the text stays the same.")
    graph = dy.String(nullable=True, description="The graph it belongs to; null where it serves all.")
    task_id = dy.String(nullable=True, description="The task it belongs to; null where it serves many.")
    source = dy.String(description="What it came from: brief, plan, rules, spec, history, …")
    section = dy.Enum(SECTIONS, description="The place in the prompt.")
    kind = dy.Enum(KINDS, description="What it is to a reader.")
    text = dy.String(description="Cleaned, free of credentials. After the firewall the summary of a raw result.")
    tokens = dy.UInt32(description="Of `text`, by the build's counter.")
    parent_id = dy.String(nullable=True, description="The item that makes this one readable; may be missing.")
    sensitivity = dy.Enum(LEVELS, description="Its own label, raised to an ancestor's that is left out.")
    position = dy.UInt32(description="Document order for documents, time order for history; one count for all items.")
    path = dy.String(nullable=True, description="The input it came from, as the manifest names it.")
    line_start = dy.UInt32(nullable=True, description="First line there, from 1.")
    line_end = dy.UInt32(nullable=True, description="Last line there, inclusive.")
    tags = dy.List(dy.String(), description="Labels from the input; for rules what they apply to.")
    trusted = dy.Bool(description="Written by the project's people, not by a tool or a model.")
    media_type = dy.String(nullable=True, description="Of a raw tool result, where the log says it.")
    artifact = dy.String(nullable=True, description="`artifact:<item_id>` of a result that the firewall processed.")
    content_hash = dy.String(nullable=True, description="SHA-256 of `text` as loaded; null at or above the floor.")
    raw = dy.Binary(nullable=True, description="A raw tool result as logged; never written but as an artifact.")
    redactions = dy.UInt32(description="Credentials masked in the text.")


class Findings(dy.Schema):
    """One row a thing that is odd in the inputs."""

    severity = dy.Enum(SEVERITIES, description="info: nothing lost; warning: read otherwise; error: left out.")
    code = dy.String(description="Stable, in capitals.")
    where = dy.String(description="The input, then line, row, task or item.")
    message = dy.String(description="What is odd and what was made of it, in one sentence.")


# ---- what stages add --------------------------------------------------------------------------------------------


class Memberships(dy.Schema):
    """Which pools a task draws from."""

    task = dy.UInt32(description="The task.")
    pool = dy.UInt32(description="A pool of candidates.")


class Pools(dy.Schema):
    """What tasks share: one row an item of a pool. An item that is out carries the stage and the reason."""

    pool = dy.UInt32(description="A group of candidates that the same tasks see.")
    item = dy.UInt32(description="A candidate of each of these tasks.")
    stage = dy.Enum(STAGE_NAMES, nullable=True, description="Where it went out; null while it is in.")
    reason = dy.Enum(REASONS, nullable=True, description="Why it went out; null while it is in.")


class Added(dy.Schema):
    """The ancestors that the closure added to a task, beyond what its pools still hold."""

    task = dy.UInt32(description="The task.")
    item = dy.UInt32(description="An ancestor of one of its candidates.")
    stage = dy.Enum(STAGE_NAMES, nullable=True, description="Where it went out; null while it is in.")
    reason = dy.Enum(REASONS, nullable=True, description="Why it went out; null while it is in.")


class Candidates(dy.Schema):
    """One row a (task, item) pair, from the scoring on, by task and rank."""

    task = dy.UInt32(description="The task.")
    item = dy.UInt32(description="The item.")
    recency = dy.Float64(description="0 to 1: (i + 1) / n among the task's history; 1 for standing documents.")
    similarity = dy.Float64(description="To the task's words; 0 to 1 for jaccard.")
    kind_priority = dy.Float64(description="0 to 1, by kind.")
    token_penalty = dy.Float64(description="1 / (1 + tokens / 500).")
    score = dy.Float64(description="The weighted sum of the four.")
    rank = dy.UInt32(description="Within the task, from 1: score descending, then item id.")
    stage = dy.Enum(STAGE_NAMES, nullable=True, description="Where it went out; null while it is in.")
    reason = dy.Enum(REASONS, nullable=True, description="Why it went out; null while it is in.")
    duplicate_of = dy.UInt32(nullable=True, description="The kept item that this one repeats.")
    shortfall_tokens = dy.UInt32(nullable=True, description="Tokens it would have needed beyond what was left.")
    prompt_order = dy.UInt32(nullable=True, description="Place in the prompt, from 0, parents first.")
    text = dy.String(nullable=True, description="What stands in the prompt; selected rows only.")


class Beyond(dy.Schema):
    """One row a task: how many of its candidates have no row, since no stage after the scoring would look at them."""

    task = dy.UInt32(description="The task.")
    candidates = dy.UInt64(description="How many there are.")
    tokens = dy.UInt64(description="Their tokens together.")
    stage = dy.Enum(STAGE_NAMES, nullable=True, description="Where they went out; null while they are in.")
    reason = dy.Enum(REASONS, nullable=True, description="Why they went out; null while they are in.")


class StageCounts(dy.Schema):
    """One row a (task, stage): what went in, what came out and why the rest did not."""

    task = dy.UInt32(description="The task.")
    stage = dy.Enum(STAGE_NAMES, description="The stage.")
    candidates_in = dy.UInt32(description="Candidates before the stage.")
    candidates_out = dy.UInt32(description="Candidates after it: in - drops + closures_added.")
    tokens_in = dy.UInt64(description="Sum of the tokens of the candidates before the stage.")
    tokens_out = dy.UInt64(description="The same after it.")
    drops = dy.List(
        dy.Struct({"reason": dy.String(), "count": dy.UInt32()}), description="Candidates that went out, by reason."
    )
    closures_added = dy.UInt32(description="Ancestors that the stage brought in.")


class Prompts(dy.Schema):
    """One row a task: its prompt, or why it has none."""

    task = dy.UInt32(description="The task.")
    status = dy.Enum(STATUSES, description="ok, or what happened instead.")
    prompt = dy.String(nullable=True, description="The whole context; null where the task is over budget or failed.")
    prompt_tokens = dy.UInt32(nullable=True, description="The tokenizer's plain count of the whole prompt.")
    shared_prefix_tokens = dy.UInt32(nullable=True, description="Of its start that most prompts of its graph share.")
    tokens_by_section = dy.List(
        dy.Struct({"section": dy.String(), "tokens": dy.UInt32()}), description="Rendered tokens of each section."
    )
    message = dy.String(nullable=True, description="One sentence where the status is not ok.")


class Artifacts(dy.Schema):
    """One row a raw tool result that is kept out of band."""

    handle = dy.String(primary_key=True, description="`artifact:<item_id>`.")
    item_id = dy.String(description="The item whose raw text it is.")
    sha256 = dy.String(description="Of the bytes; also their file name.")
    size_bytes = dy.UInt64(description="Length of the bytes.")
    media_type = dy.String(description="As the log says; `text/plain` where it does not.")
    lines = dy.UInt64(description="Lines of the text, a last one without its newline included.")
    content = dy.Binary(description="The raw text, UTF-8.")


class Tools(dy.Schema):
    """One row a tool of the catalogue, sorted by name."""

    tool = dy.String(primary_key=True, description="Its name, as tasks call it.")
    text = dy.String(description="Its schema as it heads a prompt, before it is made safe.")
    redactions = dy.UInt32(description="Credentials masked in the text.")


class Calls(dy.Schema):
    """One row a (task, tool): the prompt for a call, or why there is none."""

    graph = dy.String(primary_key=True, description="The task's graph.")
    task_id = dy.String(primary_key=True, description="The task.")
    tool = dy.String(primary_key=True, description="A tool that it calls and that the catalogue has.")
    prompt = dy.String(nullable=True, description="The whole prompt, the tool's schema first.")
    prompt_tokens = dy.UInt32(nullable=True, description="The tokenizer's plain count of the whole prompt.")
    budget_tokens = dy.Int64(min=0, description="Tokens that it may hold, margin included.")
    status = dy.String(description="ok, over_budget or failed.")
    message = dy.String(nullable=True, description="One sentence where the status is not ok.")


class Timings(dy.Schema):
    """One row a (stage, shard); the one frame outside a build's identity."""

    stage = dy.String(description="A stage, or loading and writing around them.")
    shard = dy.UInt32(description="Which run of tasks, from 0.")
    tasks = dy.UInt32(description="Tasks in it.")
    rows = dy.UInt64(description="Rows of its widest frame afterwards: pools, later pairs.")
    started = dy.Datetime(time_zone="UTC", time_unit="us", description="When it began.")
    seconds = dy.Float64(min=0, description="How long it took, wall clock.")
    peak_mb = dy.Float64(min=0, description="Most memory that the process has held so far, MiB.")


# ---- the batch --------------------------------------------------------------------------------------------------

FRAMES: dict[str, type[dy.Schema]] = {
    "tasks": Tasks,
    "earlier": Earlier,
    "items": Items,
    "findings": Findings,
    "memberships": Memberships,
    "pools": Pools,
    "added": Added,
    "candidates": Candidates,
    "beyond": Beyond,
    "stages": StageCounts,
    "prompts": Prompts,
    "artifacts": Artifacts,
    "tools": Tools,
    "calls": Calls,
}


@cache
def empty(schema: type[dy.Schema]) -> pl.DataFrame:
    """A frame of a schema without rows."""
    return pl.DataFrame(schema={name: column.dtype for name, column in schema.columns().items()})


@dataclass(frozen=True)
class Batch:
    """All tasks of a build and what is known of them so far. A stage takes one and returns another."""

    tasks: pl.DataFrame
    items: pl.DataFrame
    earlier: pl.DataFrame = field(default_factory=lambda: empty(Earlier))
    findings: pl.DataFrame = field(default_factory=lambda: empty(Findings))
    memberships: pl.DataFrame = field(default_factory=lambda: empty(Memberships))
    pools: pl.DataFrame = field(default_factory=lambda: empty(Pools))
    added: pl.DataFrame = field(default_factory=lambda: empty(Added))
    candidates: pl.DataFrame | None = None
    beyond: pl.DataFrame = field(default_factory=lambda: empty(Beyond))
    stages: pl.DataFrame = field(default_factory=lambda: empty(StageCounts))
    prompts: pl.DataFrame = field(default_factory=lambda: empty(Prompts))
    artifacts: pl.DataFrame = field(default_factory=lambda: empty(Artifacts))
    tools: pl.DataFrame | None = None
    calls: pl.DataFrame | None = None
    corpus: Corpus | None = None
    """What is known of these items for all tasks, where it was worked out before the batch was cut."""

    def with_frames(self, **frames: pl.DataFrame | None) -> Batch:
        """The same batch with some frames replaced. Other items make another corpus."""
        corpus = None if "items" in frames else self.corpus
        return replace(self, corpus=corpus, **frames)  # type: ignore[arg-type]

    def only(self, tasks: Iterable[int]) -> Batch:
        """The part of the batch that concerns these tasks; items, pools and findings stay whole."""
        kept = pl.DataFrame({"task": sorted(tasks)}, schema={"task": pl.UInt32})
        parts = {
            name: frame.join(kept, on="task", how="semi", maintain_order="left")
            for name in ("tasks", "memberships", "added", "candidates", "beyond", "stages", "prompts")
            if (frame := getattr(self, name)) is not None
        }
        return self.with_frames(**parts)

    def validate(self) -> Batch:
        """The same batch, every frame checked against its schema.

        Raises:
            dataframely.exc.ValidationError: a frame breaks its schema, which is a fault of prebrief's own.
        """
        checked = {
            name: schema.validate(frame)
            for name, schema in FRAMES.items()
            if (frame := getattr(self, name)) is not None and frame is not empty(schema)
        }
        return self.with_frames(**checked)


_BETWEEN = "\x1f"


def frame_of(
    schema: type[dy.Schema], rows: Sequence[dict[str, Any]], columns: Iterable[str] | None = None
) -> pl.DataFrame:
    """A frame from rows of plain values, typed by a schema; `columns` leaves out those that come later."""
    types = empty(schema).schema
    data: dict[str, Sequence[Any]] = {}
    joined: list[str] = []
    for name in types if columns is None else columns:
        data[name] = [row.get(name) for row in rows]
        if types[name] == pl.List(pl.String) and (texts := _joined(data[name])) is not None:
            data[name] = texts
            joined.append(name)
    given = {name: pl.String() if name in joined else types[name] for name in data}
    return pl.DataFrame(data, schema=given, strict=True).with_columns(pl.col(joined).str.split(_BETWEEN).list.slice(1))


def _joined(rows: Sequence[Sequence[str] | None]) -> list[str | None] | None:
    """Lists of texts as one text each, a mark before every entry; None where a text has the mark itself.

    Polars makes a column of each list that it is given, which costs far more than to split such texts.
    """
    joined = [None if row is None else "".join([_BETWEEN + text for text in row]) for row in rows]
    marks = "".join(filter(None, joined)).count(_BETWEEN)
    return joined if marks == sum(map(len, filter(None, rows))) else None


def number(frame: pl.DataFrame, by: str | Sequence[str], name: str) -> pl.DataFrame:
    """A frame sorted by its key, each row's place in a new first column."""
    return frame.drop(name, strict=False).sort(by).with_row_index(name)


def by_place(frame: pl.DataFrame, place: str, name: str) -> pl.Series:
    """A column by the places of its rows, null at places that the frame does not have."""
    if len(frame) and frame[place][-1] == len(frame) - 1 and frame[place].is_sorted():  # it has them all
        return frame[name]
    places = pl.DataFrame({place: pl.int_range(1 + int(frame[place].max() or 0), dtype=pl.UInt32, eager=True)})  # type: ignore[arg-type]
    return places.join(frame.select(place, name), on=place, how="left", maintain_order="left")[name]

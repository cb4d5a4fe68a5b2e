"""All plans of a build as one frame: graphs under names of their own, ids unique, dependencies known, levels given."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.batch import Earlier, Tasks, frame_of, number
from tasks.sources.findings import Findings, Row, finding, shown
from tasks.sources.identity import Names
from tasks.sources.masking import MASKED, credential_finding
from tasks.sources.order import circular, depths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tasks.sources.plans.plan import GraphRead

_COLUMNS = tuple(name for name in Tasks.columns() if name != "task")


@dataclass(frozen=True)
class Settled:
    """The tasks of all plans.

    Attributes:
        tasks: The frame, numbered by graph and id; also of tasks that get no context.
        earlier: Who builds on whom, those tasks included.
        said: What the plans say of tasks beside their briefs, with `graph` and `task_id`, in the plans' order.
        findings: What is odd in the plans.
    """

    tasks: pl.DataFrame
    earlier: pl.DataFrame
    said: list[dict[str, Any]]
    findings: list[Row]


def settled(reads: Iterable[GraphRead]) -> Settled:
    """All plans in one. The order in which they are given is nothing.

    A feature that several files give becomes `feature@<8 hex of the file's SHA-256>` for each of them; a file given
    twice is read once.
    """
    rows: list[dict[str, Any]] = []
    earlier: list[dict[str, Any]] = []
    findings: list[Row] = []
    for read in named_apart(reads):
        graph = Findings(read.label)
        settled_rows = _settled_rows(read, graph)
        rows += settled_rows
        earlier += _order(settled_rows)
        findings += read.findings + graph.rows
        findings += [
            credential_finding(f"{row['graph']}/{row['task_id']}", row[MASKED])
            for row in settled_rows
            if row.get(MASKED)
        ]
    tasks = number(frame_of(Tasks, rows, _COLUMNS), ["graph", "task_id"], "task")
    said = [
        {"graph": row["graph"], "task_id": row["task_id"], "position": row["position"], **text}
        for row in rows
        for text in row["said"]
    ]
    return Settled(tasks, frame_of(Earlier, earlier).unique().sort("graph", "task_id", "earlier"), said, findings)


def with_status(tasks: pl.DataFrame, wanted: Collection[str]) -> pl.DataFrame:
    """The tasks that get a context: those as far as is wanted, numbered anew."""
    return number(tasks.filter(pl.col("progress").is_in(list(wanted))), ["graph", "task_id"], "task")


def _order(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What each task of a graph comes after: see `Earlier`."""
    parts = _parts(rows)
    for row in rows:
        key = {"graph": row["graph"], "task_id": row["task_id"]}
        for name in _after(row, parts):
            yield {**key, "earlier": name, "part": False}
        if row["parent"] is not None:
            yield {**key, "earlier": row["parent"], "part": True}


def _after(row: Mapping[str, Any], parts: Mapping[str, Sequence[str]]) -> list[str]:
    """What a task depends on, and the parts of that, unless it is one of them: a whole is done when its parts are."""
    found = dict.fromkeys(row["dependencies"])
    for name in row["dependencies"]:
        below = _below(name, parts)
        if row["task_id"] not in below:
            found.update(dict.fromkeys(below))
    return list(found)


def _parts(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for row in rows:
        if row["parent"] is not None:
            parts.setdefault(row["parent"], []).append(row["task_id"])
    return parts


def _below(name: str, parts: Mapping[str, Sequence[str]]) -> dict[str, None]:
    """The parts of a task and their parts, itself left out."""
    found: dict[str, None] = {}
    pending = list(parts.get(name, ()))
    while pending:
        part = pending.pop(0)
        if part not in found and part != name:
            found[part] = None
            pending += parts.get(part, ())
    return found


def named_apart(reads: Iterable[GraphRead]) -> list[GraphRead]:
    """The graphs by name, each file once, equal features told apart by their files' hashes."""
    once: dict[tuple[str, str], GraphRead] = {}
    for read in sorted(reads, key=lambda read: (read.feature, read.sha256, read.label)):
        key = read.feature, read.sha256
        if key in once:
            message = f"It is the same as {once[key].label}, and was read once."
            again = finding("info", "GRAPH_REPEATED", read.label, message)
            once[key] = replace(once[key], findings=[*once[key].findings, again])
        else:
            once[key] = read
    readable = Counter(read.feature for read in once.values() if read.rows)
    named: list[GraphRead] = []
    for read in once.values():
        if readable[read.feature] > 1 and read.rows:
            feature = f"{read.feature}@{read.sha256[:8]}"
            message = f"Several graphs have the feature {shown(read.feature)}; this one is called {shown(feature)}."
            note = finding("info", "GRAPH_SAME_FEATURE", read.label, message)
            named.append(replace(read, feature=feature, findings=[*read.findings, note]))
        else:
            named.append(read)
    return named


def _settled_rows(read: GraphRead, findings: Findings) -> list[dict[str, Any]]:
    rows = _with_unique_ids(read.rows, findings)
    ids = {row["task_id"] for row in rows}
    for row in rows:
        row["graph"] = read.feature
        row["progress"] = row["status"]
        row["title"] = row["title"] or row["task_id"]
        row["dependencies"] = _known_dependencies(row, ids, findings)
        row["parent"] = _known_parent(row, ids, findings)
        row["related"] = [name for name in row["related"] if name in ids and name != row["task_id"]]
        if unknown := [name for name in row["consumers"] if name not in ids]:
            message = f"It names consumers that are no tasks: {_listed(unknown)}; they were kept."
            findings.add("info", "TASK_UNKNOWN_CONSUMER", message, _place(row))
    _settle_levels(rows, findings, phases=read.phases)
    _report_owners(rows, findings)
    return rows


def _place(row: Mapping[str, Any]) -> str:
    return f"task {row['task_id']}"


def _listed(names: Sequence[str]) -> str:
    most = 5
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def _with_unique_ids(rows: list[dict[str, Any]], findings: Findings) -> list[dict[str, Any]]:
    """Every row with an id of its own. A repeated row goes; of different rows the later ones get another id."""
    names = Names("~", reserved=(row["task_id"] for row in rows))
    contents: dict[str, list[dict[str, Any]]] = defaultdict(list)
    kept: list[dict[str, Any]] = []
    for row in rows:
        place = row["position"] + 1
        content = {name: value for name, value in row.items() if name not in ("position", MASKED)}
        if row["task_id"] and content in contents[row["task_id"]]:
            message = "The same task stands there again; it was read once."
            findings.add("warning", "TASK_REPEATED", message, f"task {row['task_id']}")
            continue
        contents[row["task_id"]].append(content)
        unique = names.claim(row["task_id"]) if row["task_id"] else names.invent(f"task-{place}")
        if not row["task_id"]:
            message = f"It has no id; it is called {shown(unique)} after its place."
            findings.add("warning", "TASK_NO_ID", message, f"task {place}")
        elif unique != row["task_id"]:
            message = f"Another task has this id; the one at place {place} is called {shown(unique)}."
            findings.add("warning", "TASK_SAME_ID", message, f"task {row['task_id']}")
        kept.append({**row, "task_id": unique})
    return kept


def _known_dependencies(row: Mapping[str, Any], ids: set[str], findings: Findings) -> list[str]:
    given: list[str] = row["dependencies"]
    if unknown := [name for name in given if name not in ids]:
        message = f"It depends on what is no task: {_listed(unknown)}; that was left out."
        findings.add("warning", "TASK_UNKNOWN_DEPENDENCY", message, _place(row))
    if row["task_id"] in given:
        message = "It depends on itself; that was left out."
        findings.add("warning", "TASK_SELF_DEPENDENCY", message, _place(row))
    return [name for name in given if name in ids and name != row["task_id"]]


def _known_parent(row: Mapping[str, Any], ids: set[str], findings: Findings) -> str | None:
    parent: str | None = row["parent"]
    if parent is None or (parent in ids and parent != row["task_id"]):
        return parent
    findings.add("info", "TASK_UNKNOWN_PARENT", f"Its parent {shown(parent)} is no other task.", _place(row))
    return None


def _settle_levels(rows: list[dict[str, Any]], findings: Findings, *, phases: bool) -> None:
    named = {row["task_id"]: [*row["dependencies"], *filter(None, [row["parent"]])] for row in rows}
    for names in circular(named):
        message = f"These tasks depend on each other in a circle: {_listed(names)}; all were kept."
        findings.add("warning", "GRAPH_CYCLE", message)
    unsaid = [row for row in rows if row["level"] is None]
    if unsaid:
        message = f"{len(unsaid)} of {len(rows)} tasks have no level; it was taken from what they depend on."
        findings.add("info", "GRAPH_NO_LEVEL", message)
        given = {row["task_id"]: row["level"] for row in rows if row["level"] is not None}
        parts = _parts(rows)
        order = {row["task_id"]: [*_after(row, parts), *filter(None, [row["parent"]])] for row in rows}
        found = depths(order, given)
        for row in unsaid:
            row["level"] = found[row["task_id"]]
    level = {row["task_id"]: row["level"] for row in rows}
    for row in rows:
        if late := [name for name in row["dependencies"] if level[name] >= row["level"] + phases]:
            message = f"It depends on tasks that are not on a lower level: {_listed(late)}; they were kept."
            findings.add("info", "TASK_LEVEL_DEPENDENCY", message, _place(row))


def _report_owners(rows: Iterable[Mapping[str, Any]], findings: Findings) -> None:
    owners: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for path in dict.fromkeys(row["files_create"] + row["files_modify"]):
            if path in row["files_inferred"]:
                continue
            owners[path].append(row["task_id"])
    for path, names in owners.items():
        if len(names) > 1:
            message = f"Several tasks create or modify {shown(path)}: {_listed(names)}."
            findings.add("info", "FILE_SHARED", message)

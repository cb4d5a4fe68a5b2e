"""Task graphs: one file as rows of tasks, and all files of a build as one frame.

Nothing in a graph is refused but a file without a single readable task. What planners write is read for what it says;
where it says something odd, a finding names it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tasks.batch import Tasks, frame_of, number
from tasks.sources.files import InputFile, decode
from tasks.sources.findings import Findings, Row, finding, shown
from tasks.sources.identity import Names
from tasks.sources.masking import MASKED, credential_finding
from tasks.sources.order import circular, depths
from tasks.sources.plan import level_of, task_row
from tasks.sources.values import Oddities, UnreadableJsonError, name_of, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

#: The columns of a row that hold text from the plan, in which credentials are masked.
TASK_TEXTS = (
    "task_id",
    "title",
    "description",
    "dependencies",
    "consumers",
    "files_create",
    "files_modify",
    "files_read",
    "files_delete",
    "acceptance_criteria",
    "verification",
    "tools",
    "context",
)
_COLUMNS = tuple(name for name in Tasks.columns() if name != "task")


@dataclass(frozen=True)
class GraphRead:
    """One file's plan: rows as the file has them, ids and levels not settled (`task_id` may be empty, `level` None)."""

    label: str
    sha256: str
    feature: str
    rows: list[dict[str, Any]]
    findings: list[Row]


# ---- one file ---------------------------------------------------------------------------------------------------


def read_graph(file: InputFile) -> GraphRead:
    """The tasks of a file. Never raises; a file without a readable task has no rows and a finding of severity error."""
    text, odd_bytes = decode(file)
    findings = Findings(file.label)
    feature = ""
    rows: list[dict[str, Any]] = []
    try:
        oddities = Oddities()
        document = parse_json(text, oddities)
    except UnreadableJsonError as error:
        findings.add("error", "GRAPH_UNREADABLE", f"It is {error}; the graph was left out.")
    else:
        _report(oddities, findings)
        feature, rows = _plan(document, file.label, findings)
    return GraphRead(file.label, file.sha256, feature, rows, odd_bytes + findings.rows)


def feature_of(file: InputFile) -> str:
    """The feature that a file is about, by which its specs are found."""
    return read_graph(file).feature


def _report(oddities: Oddities, findings: Findings) -> None:
    for key in oddities.repeated_keys:
        findings.add("warning", "JSON_REPEATED_KEY", f"The key {shown(key)} is given more than once; the last counts.")
    if oddities.not_numbers:
        message = f"It holds {oddities.not_numbers} values that are NaN or infinite; they were read as null."
        findings.add("warning", "JSON_NOT_A_NUMBER", message)


def _plan(document: object, label: str, findings: Findings) -> tuple[str, list[dict[str, Any]]]:
    plan = document if isinstance(document, dict) else {"tasks": document}
    feature = name_of(plan.get("feature"))
    if not feature:
        feature = _folder(label)
        message = f"It names no feature; {shown(feature)} was taken from where it lies."
        findings.add("info", "GRAPH_NO_FEATURE", message)
    tasks = _tasks(plan.get("tasks"), findings)
    if not tasks:
        findings.add("error", "GRAPH_EMPTY", "It holds no readable task; the graph was left out.")
    levels = _levels(plan.get("levels"))
    rows = []
    for position, task in tasks:
        row = task_row(task, position, findings)
        if row["level"] is None:
            row["level"] = levels.get(row["task_id"])
        rows.append(row)
    return feature, rows


def _folder(label: str) -> str:
    """The name of the folder that a file lies in, or else the file's own without its suffix."""
    folder, _, name = label.rpartition("/")
    folder = folder.rpartition("/")[2].strip(".")
    return folder or name.rpartition(".")[0] or name


def _tasks(value: object, findings: Findings) -> list[tuple[int, dict[str, Any]]]:
    """The tasks with their places in the plan, also from an object that has them by id."""
    if isinstance(value, dict):
        message = "Its tasks are an object, not a list; they were read in the order given."
        findings.add("info", "GRAPH_TASKS_OBJECT", message)
        value = [{"id": key, **task} if isinstance(task, dict) else task for key, task in value.items()]
    if not isinstance(value, list):
        return []
    for position, task in enumerate(value):
        if not isinstance(task, dict):
            message = "This entry of the tasks is no object; it was left out."
            findings.add("error", "TASK_UNREADABLE", message, f"task {position + 1}")
    return [(position, task) for position, task in enumerate(value) if isinstance(task, dict)]


def _levels(value: object) -> dict[str, int]:
    """The level of each task that the graph's own `levels` names."""
    if isinstance(value, list):
        value = {
            level_of(entry.get("level", place)) if isinstance(entry, dict) else place: entry
            for place, entry in enumerate(value, 1)
        }
    found: dict[str, int] = {}
    for key, entry in value.items() if isinstance(value, dict) else ():
        level = level_of(key)
        ids = entry.get("tasks") if isinstance(entry, dict) else entry
        if level is not None and isinstance(ids, list):
            for task_id in map(name_of, ids):
                found.setdefault(task_id, level)
    return found


# ---- all files --------------------------------------------------------------------------------------------------


def read_graphs(files: Iterable[InputFile]) -> tuple[pl.DataFrame, list[Row]]:
    """The tasks of all files as a frame numbered by graph and id, and all findings. See `settled`."""
    return settled([read_graph(file) for file in files])


def settled(reads: Iterable[GraphRead]) -> tuple[pl.DataFrame, list[Row]]:
    """Graphs under names of their own, ids unique, dependencies known, levels given. The order of graphs is nothing.

    A feature that several files give becomes `feature@<8 hex of the file's SHA-256>` for each of them; a file given
    twice is read once.
    """
    rows: list[dict[str, Any]] = []
    findings: list[Row] = []
    for read in named_apart(reads):
        graph = Findings(read.label)
        settled_rows = _settled_rows(read, graph)
        rows += settled_rows
        findings += read.findings + graph.rows
        findings += [
            credential_finding(f"{row['graph']}/{row['task_id']}", row[MASKED])
            for row in settled_rows
            if row.get(MASKED)
        ]
    return number(frame_of(Tasks, rows, _COLUMNS), ["graph", "task_id"], "task"), findings


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
        row["title"] = row["title"] or row["task_id"]
        row["dependencies"] = _known_dependencies(row, ids, findings)
        if unknown := [name for name in row["consumers"] if name not in ids]:
            message = f"It names consumers that are no tasks: {_listed(unknown)}; they were kept."
            findings.add("info", "TASK_UNKNOWN_CONSUMER", message, _place(row))
    _settle_levels(rows, findings)
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


def _settle_levels(rows: list[dict[str, Any]], findings: Findings) -> None:
    dependencies = {row["task_id"]: row["dependencies"] for row in rows}
    for names in circular(dependencies):
        message = f"These tasks depend on each other in a circle: {_listed(names)}; all were kept."
        findings.add("warning", "GRAPH_CYCLE", message)
    unsaid = [row for row in rows if row["level"] is None]
    if unsaid:
        message = f"{len(unsaid)} of {len(rows)} tasks have no level; it was taken from what they depend on."
        findings.add("info", "GRAPH_NO_LEVEL", message)
        given = {row["task_id"]: row["level"] for row in rows if row["level"] is not None}
        found = depths(dependencies, given)
        for row in unsaid:
            row["level"] = found[row["task_id"]]
    level = {row["task_id"]: row["level"] for row in rows}
    for row in rows:
        if late := [name for name in row["dependencies"] if level[name] >= row["level"]]:
            message = f"It depends on tasks that are not on a lower level: {_listed(late)}; they were kept."
            findings.add("info", "TASK_LEVEL_DEPENDENCY", message, _place(row))


def _report_owners(rows: Iterable[Mapping[str, Any]], findings: Findings) -> None:
    owners: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for path in dict.fromkeys(row["files_create"] + row["files_modify"]):
            owners[path].append(row["task_id"])
    for path, names in owners.items():
        if len(names) > 1:
            message = f"Several tasks create or modify {shown(path)}: {_listed(names)}."
            findings.add("info", "FILE_SHARED", message)

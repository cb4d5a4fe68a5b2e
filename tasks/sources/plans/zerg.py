"""ZERG's task graphs: a feature and its tasks, in any of the shapes in which planners write them.

Nothing in a graph is refused but a file without a single readable task. What planners write is read for what it says;
where it says something odd, a finding names it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasks.exported import is_edited, is_exported
from tasks.sources.findings import Findings, shown
from tasks.sources.plans.plan import GraphRead, PlanFormat, PlanSource, task_row
from tasks.sources.plans.statuses import status_of
from tasks.sources.values import (
    Oddities,
    UnreadableJsonError,
    flattened,
    name_of,
    parse_json,
    prose,
    scalar,
    whole_number,
)
from tasks.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HIGHEST_LEVEL = 1_000_000
_LARGEST_BUDGET = 2**63 - 1

_BUDGETS = ("budget_tokens", "token_budget", "budget")
_DEPENDENCIES = ("dependencies", "depends_on")
_PARENTS = ("parent", "parent_id")
_IDS = ("id", "task_id", "task", "name")
_PATHS = ("path", "file", "filename", "name")
_ACTIONS = ("action", "operation", "type", "mode")
_COMMANDS = ("command", "cmd", "run", "commands")
_CRITERIA = ("criterion", "description", "text", "title", "name")

#: What is done to a file, by the words that plans use for it.
_DONE: dict[str, str] = {
    "create": "files_create",
    "created": "files_create",
    "add": "files_create",
    "new": "files_create",
    "modify": "files_modify",
    "modified": "files_modify",
    "update": "files_modify",
    "edit": "files_modify",
    "change": "files_modify",
    "read": "files_read",
    "reference": "files_read",
    "delete": "files_delete",
    "deleted": "files_delete",
    "remove": "files_delete",
    "move": "move",
    "rename": "move",
}
_LISTS = {"files_owned": "files_modify", **{name: name for name in sorted({*_DONE.values()} - {"move"})}}

_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]?\][ \t]+)?")


# ---- the graph ---------------------------------------------------------------------------------------------------


def _read(source: PlanSource) -> GraphRead:
    findings = Findings(source.label)
    feature = ""
    rows: list[dict[str, Any]] = []
    try:
        oddities = Oddities()
        document = source.clear(parse_json(source.text, oddities))
    except UnreadableJsonError as error:
        findings.add("error", "GRAPH_UNREADABLE", f"It is {error}; the graph was left out.")
    else:
        oddities.report(findings)
        feature, rows = _plan(document, source.label, findings)
    return GraphRead(source.label, source.file.sha256, feature, rows, findings.rows)


def _recognises(text: str, document: object) -> bool:  # noqa: ARG001 - the signature is that of all formats
    """A list of tasks, or an object that has one."""
    return isinstance(document, list) or (isinstance(document, dict) and "tasks" in document)


def _certain(document: object) -> bool:
    """A list of tasks under a feature: no other tool's plan names one."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("feature"), str)
        and isinstance(document.get("tasks"), list)
    )


FORMAT = PlanFormat("zerg", _recognises, _read, _certain)


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
        row = _task(task, position, findings)
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


# ---- a task -------------------------------------------------------------------------------------------------------


def level_of(value: object) -> int | None:
    """A level that is a whole number of believable size, also one written as text; None for anything else."""
    level = whole_number(value)
    return level if level is not None and abs(level) <= _HIGHEST_LEVEL else None


def _task(task: dict[str, Any], position: int, findings: Findings) -> dict[str, Any]:
    """A task as a row. `task_id` is empty where there is none."""
    task_id = name_of(task.get("id")) or name_of(task.get("task_id"))
    place = f"task {task_id or position + 1}"
    row = task_row(
        position,
        task_id,
        title=_words(task, "title", findings, place),
        description=_description(task, findings, place),
        level=_level(task, findings, place),
        status=_status(task, findings, place),
        parent=name_of(_first(task, _PARENTS)) or None,
        dependencies=_names(_first(task, _DEPENDENCIES), findings, place, "dependencies"),
        consumers=_names(task.get("consumers"), findings, place, "consumers"),
        **_files(task, findings, place),
        acceptance_criteria=list(criteria(task.get("acceptance_criteria"))),
        verification=_verification(task.get("verification")),
        tools=_names(task.get("tools"), findings, place, "tools"),
        context=_context(task, findings, place),
        budget_tokens=_budget(task, findings, place),
    )
    if not row["title"]:
        findings.add("info", "TASK_NO_TITLE", "It has no title; its id stands for it.", place)
    if not row["description"]:
        findings.add("info", "TASK_NO_DESCRIPTION", "It has no description.", place)
    return row


def _first(task: dict[str, Any], names: Iterable[str]) -> object:
    return next((task[name] for name in names if task.get(name) is not None), None)


def _words(task: dict[str, Any], name: str, findings: Findings, place: str) -> str:
    value = task.get(name)
    if value is not None and not isinstance(value, str):
        _report_type(name, findings, place)
    return one_line(prose(value))


def _description(task: dict[str, Any], findings: Findings, place: str) -> str:
    value = task.get("description")
    if value is not None and not isinstance(value, str):
        _report_type("description", findings, place)
    return prose(value)


def _context(task: dict[str, Any], findings: Findings, place: str) -> str:
    """What the planner wrote: an export that came back would feed each build on the last one."""
    value = task.get("context")
    if not isinstance(value, str) or not is_exported(value):
        return prose(value)
    if is_edited(value):
        message = "Its context is one that prebrief exported, edited since; it was left out, the edits with it."
        findings.add("warning", "TASK_CONTEXT_EXPORTED", message, place)
    else:
        message = "Its context is one that prebrief exported; it was left out."
        findings.add("info", "TASK_CONTEXT_EXPORTED", message, place)
    return ""


def _report_type(name: str, findings: Findings, place: str) -> None:
    findings.add("info", "TASK_FIELD_TYPE", f"Its {name} is not written as expected; it was read as text.", place)


def _level(task: dict[str, Any], findings: Findings, place: str) -> int | None:
    value = task.get("level")
    level = level_of(value)
    if level is None and value is not None:
        findings.add("info", "TASK_LEVEL", "Its level is no whole number; it counts as not given.", place)
    return level


def _status(task: dict[str, Any], findings: Findings, place: str) -> str:
    """Graphs seldom say it, and then mostly of what is yet to do: an unknown word, too, is a task that waits."""
    word = name_of(task.get("status"))
    status = status_of(word)
    if word and (status is None or status == "deleted"):
        findings.add("info", "PLAN_STATUS", f"Its status {shown(word)} is not known; it counts as pending.", place)
    return status if status and status != "deleted" else "pending"


def _budget(task: dict[str, Any], findings: Findings, place: str) -> int | None:
    value = _first(task, _BUDGETS)
    budget = whole_number(value)
    if budget is not None and 0 < budget <= _LARGEST_BUDGET:
        return budget
    if value is not None:
        message = "Its token budget is no positive whole number; the build's budget holds."
        findings.add("warning", "TASK_BUDGET", message, place)
    return None


def _names(value: object, findings: Findings, place: str, field: str) -> list[str]:
    """Ids or words, each once, from a list, one string (also with commas), or objects that have an id."""
    if isinstance(value, str) and "," in value:
        value = value.split(",")
    found: list[str] = []
    odd = False
    for entry in flattened(list(value.items()) if isinstance(value, dict) and "id" not in value else value):
        inner = _first(entry, _IDS) if isinstance(entry, dict) else entry[0] if isinstance(entry, tuple) else entry
        name = name_of(inner)
        odd = odd or not isinstance(entry, str) or not name
        if name:
            found.append(name)
    if odd or (value is not None and not isinstance(value, list)):
        _report_type(field, findings, place)
    return list(dict.fromkeys(found))


def criteria(value: object) -> Iterator[str]:
    """The acceptance criteria in a value of any shape, one line each.

    A string of several lines, or with bullets, gives several.
    """
    for entry in flattened(value):
        if isinstance(entry, dict):
            text = name_of(_first(entry, _CRITERIA))
            if line := text or one_line("; ".join(_without_bullet(line) for line in prose(entry).split("\n"))):
                yield line
            continue
        for line in clean(scalar(entry) or "").split("\n"):
            if text := one_line(_without_bullet(line)):
                yield text


def _without_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _verification(value: object) -> str:
    """The commands that prove a task, a line or more each."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_verification, flattened(value))))
    if isinstance(value, dict):
        command = _first(value, _COMMANDS)
        return _verification(command) if command is not None else prose(value)
    return prose(value)


# ---- files ------------------------------------------------------------------------------------------------------


def _files(task: dict[str, Any], findings: Findings, place: str) -> dict[str, list[str]]:
    """The paths by what is done to them. A list that does not say it holds files to modify."""
    found: dict[str, list[str]] = {"files_create": [], "files_modify": [], "files_read": [], "files_delete": []}
    files = task.get("files")
    odd = files is not None and not isinstance(files, dict)
    if isinstance(files, dict) and not _is_entry(files):
        for key, value in files.items():
            column = _DONE.get(key.strip().lower())
            if column is None and value:
                message = f"Its files have the unknown part {shown(key)}; that was left out."
                findings.add("warning", "TASK_FILES_PART", message, place)
            elif column is not None:
                odd = _add(value, column, found) or odd or not isinstance(value, list)
    else:
        odd = _add(files, "files_modify", found) or odd
    for name, column in _LISTS.items():
        if name in task:
            odd = _add(task[name], column, found) or odd
    if odd:
        _report_type("files", findings, place)
    paths = {column: list(dict.fromkeys(entries)) for column, entries in found.items()}
    _report_paths([path for entries in paths.values() for path in entries], findings, place)
    return paths


def _is_entry(value: dict[str, Any]) -> bool:
    """Whether an object names one file, not files by what is done to them."""
    return any(isinstance(value.get(name), str) for name in _PATHS) or ("from" in value and "to" in value)


def _add(value: object, column: str, found: dict[str, list[str]]) -> bool:
    """Adds the paths of a value to a column; says whether anything in it was not simply a path."""
    odd = isinstance(value, list) and any(entry is None for entry in value)
    for entry in flattened(value):
        if isinstance(entry, dict):
            odd = odd or column != "move"
            _add_object(entry, column, found)
        elif path := name_of(entry):
            odd = odd or not isinstance(entry, str) or column == "move"
            found["files_modify" if column == "move" else column].append(path)
        else:
            odd = True
    return odd


def _add_object(entry: dict[str, Any], column: str, found: dict[str, list[str]]) -> None:
    source, target = name_of(entry.get("from")), name_of(entry.get("to"))
    if source or target:
        found["files_delete"] += [source] if source else []
        found["files_create"] += [target] if target else []
        return
    path = name_of(_first(entry, _PATHS))
    action = next((_DONE[word] for name in _ACTIONS if (word := name_of(entry.get(name)).lower()) in _DONE), column)
    if path:
        found["files_modify" if action == "move" else action].append(path)
    elif column == "move":
        for old, new in entry.items():
            found["files_delete"].append(one_line(old))
            found["files_create"] += [name] if (name := name_of(new)) else []
    else:
        for value in entry.values():
            _add(value, column, found)


def _report_paths(paths: list[str], findings: Findings, place: str) -> None:
    kinds = (
        (
            "PATH_GLOB",
            "patterns, not single files",
            [path for path in paths if re.search(r"[*?]|\[.+\]|\{.+,.+\}", path)],
        ),
        ("PATH_FOLDER", "folders", [path for path in paths if path.endswith(("/", "\\"))]),
        ("PATH_COLON", "names with a colon, which not every system allows", [path for path in paths if ":" in path]),
        ("PATH_OUTSIDE", "paths outside the project", [path for path in paths if _leads_outside(path)]),
    )
    for code, what, odd in kinds:
        if odd:
            more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
            findings.add("info", code, f"Its files are {what}: {shown(odd[0])}{more}; kept as written.", place)


def _leads_outside(path: str) -> bool:
    plain = path.replace("\\", "/")
    return plain.startswith(("/", "~")) or ".." in plain.split("/") or bool(re.match(r"[A-Za-z]:/", plain))

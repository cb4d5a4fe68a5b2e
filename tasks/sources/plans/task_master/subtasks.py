"""Task Master's tasks within tasks: the address of each, and what it depends on by address.

The address of a subtask is its parent's, a dot and the id that it has within the parent. An id that begins with the
parent's address is the address already (`27.8` under 27), unless another subtask has that address; all others are
local whatever they look like (`28.9` under 27 is 27.28.9, which is what the tool prints).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from tasks.sources.findings import Findings, shown
from tasks.sources.plans.statuses import status_of
from tasks.sources.values import flattened, name_of, prose, whole_number
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REFERENCE = re.compile(r"(?:(?:sub)?task[ \t]*)?#?(\d+(?:\.\d+)*)", re.IGNORECASE | re.ASCII)
_NUMBERS = re.compile(r"#?\d+(?:\.\d+)*(?:[ \t]+#?\d+(?:\.\d+)*)+", re.ASCII)
_NOTHING = ("", "none", "n/a", "-", "null")


@dataclass(frozen=True)
class Placed:
    """A task and its address, with the addresses of its parent's subtasks by the ids they have there."""

    task: dict[str, Any]
    task_id: str
    parent: str | None
    siblings: Mapping[str, str]


def placed_tasks(value: object, findings: Findings) -> Iterator[Placed]:
    """The tasks of a plan, each before its subtasks, as deep as JSON is read. What was deleted is left out."""
    yield from _tasks(value, None, findings)


def _tasks(value: object, parent: str | None, findings: Findings) -> Iterator[Placed]:
    entries = list(_entries(value, parent, findings))
    given = [_id(task.get("id")) for _, task in entries]
    taken = {name for name in given if name}
    plain = {f"{parent}.{name}" for name in taken if not name.startswith(f"{parent}.")}
    siblings: dict[str, str] = {}
    addresses: list[str] = []
    free = 1
    for (position, _), name in zip(entries, given, strict=True):
        local = name
        if not local:
            free = next(number for number in count(max(free, position + 1)) if str(number) not in taken)
            local = str(free)
            free += 1
        whole = parent is None or (local.startswith(f"{parent}.") and local not in plain)
        addresses.append(local if whole else f"{parent}.{local}")
        siblings.setdefault(local, addresses[-1])
        if not name:
            message = f"It has no id; it is called {shown(addresses[-1])} after its place."
            findings.add("warning", "TASK_NO_ID", message, f"task {addresses[-1]}")
    for (_, task), address in zip(entries, addresses, strict=True):
        if status_of(name_of(task.get("status"))) != "deleted":
            yield Placed(task, address, parent, siblings if parent is not None else {})
            yield from _tasks(task.get("subtasks"), address, findings)


def _entries(value: object, parent: str | None, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """The tasks of a list with their places, also of an object that has them by id; a mere string is a title."""
    above = f"task {parent}, subtask" if parent is not None else "task"
    if isinstance(value, dict):
        message = "Its tasks are an object, not a list; they were read in the order given."
        findings.add("info", "GRAPH_TASKS_OBJECT", message, f"task {parent}" if parent is not None else "")
        value = [{"id": key, **task} if isinstance(task, dict) else task for key, task in value.items()]
    for position, task in enumerate(value if isinstance(value, list) else ()):
        if isinstance(task, dict):
            yield position, task
        elif isinstance(task, str) and parent is not None and task.strip():
            yield position, {"title": task}
        else:
            message = "This entry of the tasks is no object; it was left out."
            findings.add("error", "TASK_UNREADABLE", message, f"{above} {position + 1}")


def _id(value: object) -> str:
    """An id as the tool prints it: `5.0` is 5, all else as it stands."""
    number = None if isinstance(value, str) else whole_number(value)
    return name_of(value) if number is None else str(number)


def dependencies_of(placed: Placed, known: set[str], findings: Findings, place: str) -> list[str]:
    """What a task depends on, by address. Those of a subtask are ids within its parent, but for whole addresses.

    A number that no sibling has is the task of that number, where there is one.
    """
    found: list[str] = []
    others: list[str] = []
    outer: list[str] = []
    for entry in flattened(placed.task.get("dependencies")):
        value = entry.get("id", entry) if isinstance(entry, dict) else entry
        text = one_line(prose(value)) if isinstance(value, dict) else _id(value)
        names, other = _names(text, known, placed.siblings)
        found += [_address(name, placed, known) for name in names]
        outer += [name for name in names if _is_outer(name, placed, known)]
        others += [other] if other else []
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        message = f"What it depends on names no task: {shown(others[0])}{more}; that was left out."
        findings.add("info", "PLAN_DEPENDENCY", message, place)
    if outer:
        more = f" and {len(outer) - 1} more" if len(outer) > 1 else ""
        message = f"It depends on {shown(outer[0])}{more}; as no subtask beside it has that id, the task is meant."
        findings.add("info", "PLAN_OUTER_TASK", message, place)
    return list(dict.fromkeys(found))


def _names(text: str, known: set[str], siblings: Mapping[str, str]) -> tuple[list[str], str]:
    """The ids in a dependency, mostly one, sometimes a list in a string, and what is prose. A lone word is an id."""
    if text in known or text in siblings:
        return [text], ""
    parts = [part.strip("\"'` ") for part in re.split(r"[,;]", text.strip("[](){} "))]
    found: list[str] = []
    others: list[str] = []
    for part in parts:
        if part in known or part in siblings:
            found.append(part)
        elif reference := _REFERENCE.fullmatch(part):
            found.append(reference[1])
        elif _NUMBERS.fullmatch(part):
            found += [number.lstrip("#") for number in part.split()]
        elif part.lower() not in _NOTHING:
            others.append(part)
    if others and len(parts) == 1 and " " not in others[0]:
        return others, ""
    return found, ", ".join(others)


def _address(name: str, placed: Placed, known: set[str]) -> str:
    if placed.parent is None:
        return name
    local = f"{placed.parent}.{name}"
    if name.isdecimal():
        return name if _is_outer(name, placed, known) else placed.siblings.get(name, local)
    if name in known:
        return name
    return placed.siblings.get(name, local if local in known else name)


def _is_outer(name: str, placed: Placed, known: set[str]) -> bool:
    """Whether a number in a subtask is no sibling but a task of its own."""
    return placed.parent is not None and name.isdecimal() and name not in placed.siblings and name in known

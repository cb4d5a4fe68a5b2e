"""What ZERG's launcher checks of a task graph: why it would refuse one, and what would go wrong if it did not."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Task = Mapping[str, Any]

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_OWNED = ("create", "modify")
_FILE_LISTS = (*_OWNED, "read")
_SHOWN = 5


class Problem(NamedTuple):
    """One thing that is wrong: with a task, by its id or place, or with the graph itself where `task` is empty."""

    task: str
    what: str

    @property
    def sentence(self) -> str:
        """The whole of it, to be read after the graph's name."""
        return f"task {self.task} {self.what}" if self.task else self.what


def launch_problems(graph: object) -> list[Problem]:
    """Why ZERG would refuse a parsed graph; empty where it would launch it.

    These are the checks that its launcher makes: form of tasks and ids, levels, dependencies, who owns which file,
    consumers, and whether each task is reached from the first level. Linear in the size of the graph.
    """
    if not isinstance(graph, dict):
        return [Problem("", "it is no object.")]
    problems = [] if "feature" in graph else [Problem("", "it names no feature.")]
    tasks = graph.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        return [*problems, Problem("", "its tasks are no list with an entry.")]
    problems += [Problem(_called(task, place), what) for place, task in enumerate(tasks, 1) for what in _form(task)]
    known = [task for task in tasks if isinstance(task, dict) and isinstance(task.get("id"), str)]
    by_id = {task["id"]: task for task in known}
    problems += [Problem(_shown(task["id"]), what) for task in known for what in _relations(task, by_id)]
    of_all = (_repeated(known), _circles(by_id), _owners(known), _levels(graph, by_id))
    problems += [Problem("", what) for whats in of_all for what in whats]
    return [*problems, *_unreached(known)]


def launch_risks(graph: object) -> list[Problem]:
    """What ZERG launches all the same, though it would do a task harm: nothing to verify, no files, no usable text."""
    tasks = graph.get("tasks") if isinstance(graph, dict) else None
    return [
        Problem(_called(task, place), what)
        for place, task in enumerate(tasks if isinstance(tasks, list) else (), 1)
        if isinstance(task, dict)
        for what in _risks(task)
    ]


def summed_up(problems: Iterable[Problem], most: int = _SHOWN) -> str:
    """The first few kinds of problems as sentences; tasks that have the same one are named together."""
    tasks: dict[str, list[str]] = {}
    for problem in problems:
        tasks.setdefault(problem.what, []).extend(filter(None, [problem.task]))
    told = [f"{_listed(names)}: {what}" if names else what for what, names in tasks.items()]
    rest = f" There are {len(told) - most} more kinds." if len(told) > most else ""
    return " ".join(told[:most]) + rest


# ---- one task ---------------------------------------------------------------------------------------------------


def _called(task: object, place: int) -> str:
    name = task.get("id") if isinstance(task, dict) else None
    return _shown(name) if isinstance(name, str) and name else f"at place {place}"


def _form(task: object) -> Iterator[str]:
    if not isinstance(task, dict):
        yield "is no object."
        return
    name = task.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        yield "has no id of a letter and up to 63 letters, digits, hyphens and underscores."
    if "title" not in task:
        yield "has no title."
    if not isinstance(task.get("level"), int) or task["level"] < 1:
        yield "has no level of 1 or more."
    if "verification" in task and not (isinstance(task["verification"], dict) and "command" in task["verification"]):
        yield "has a verification without a command."
    if "files" in task and not isinstance(task["files"], dict):
        yield "has files that are no object."
    elif odd := [name for name in _FILE_LISTS if not _is_files(task, name)]:
        yield f"has files to {' and '.join(odd)} that are no list of paths."
    if not isinstance(task.get("dependencies", []), list):
        yield "has dependencies that are no list."
    if not isinstance(task.get("consumers") or [], list):
        yield "has consumers that are no list."


def _is_files(task: Task, name: str) -> bool:
    """Whether the launcher can read such a list: what is in it is looked at only to find the owner of each file."""
    listed = task.get("files", {}).get(name, [])
    return isinstance(listed, list) and not (name in _OWNED and any(isinstance(path, (dict, list)) for path in listed))


def _relations(task: Task, by_id: Mapping[str, Task]) -> Iterator[str]:
    level, needed = task.get("level"), _entries(task, "dependencies")
    if unknown := [name for name in needed if not _is_known(name, by_id)]:
        yield f"depends on {_listed(unknown)}, which is no task."
    late = [name for name in needed if _is_known(name, by_id) and not _is_lower(by_id[name].get("level"), level)]
    if late:
        yield f"depends on {_listed(late)}, which is not on a lower level."
    consumers = _entries(task, "consumers")
    if unknown := [name for name in consumers if not _is_known(name, by_id)]:
        yield f"names the consumer {_listed(unknown)}, which is no task."
    if consumers and not task.get("integration_test"):
        yield "has consumers and no integration_test."


def _risks(task: Task) -> Iterator[str]:
    verification, files, context = task.get("verification"), task.get("files"), task.get("context")
    if "verification" not in task or (
        isinstance(verification, dict) and "command" in verification and not verification["command"]
    ):
        yield "has no command that verifies it."
    if "files" not in task:
        yield "has no files to create, modify and read."
    elif isinstance(files, dict):
        odd = [name for name in _FILE_LISTS if not all(isinstance(path, str) for path in _entries(files, name))]
        if odd := [name for name in odd if _is_files(task, name)]:
            yield f"has files to {' and '.join(odd)} that are no paths."
    if context is not None and not isinstance(context, str):
        yield "has a context that is no text."


def _entries(task: Task, field: str) -> list[Any]:
    value = task.get(field)
    return value if isinstance(value, list) else []


def _is_known(name: object, by_id: Mapping[str, Task]) -> bool:
    return isinstance(name, str) and name in by_id


def _is_lower(level: object, than: object) -> bool:
    return not isinstance(level, int) or not isinstance(than, int) or level < than


# ---- all of them ------------------------------------------------------------------------------------------------


def _repeated(tasks: Iterable[Task]) -> Iterator[str]:
    for name, count in Counter(task["id"] for task in tasks).items():
        if count > 1:
            yield f"{count} tasks are called {_shown(name)}."


def _owners(tasks: Iterable[Task]) -> Iterator[str]:
    owners: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        files = task.get("files")
        listed = files if isinstance(files, dict) else {}
        for name in _OWNED:
            for path in _entries(listed, name):
                if isinstance(path, str):
                    owners[path].append(task["id"])
    for path, names in owners.items():
        different = list(dict.fromkeys(names))
        if len(different) > 1:
            yield f"the tasks {_listed(different)} all create or modify {_shown(path)}."
        elif len(names) > 1:
            yield f"the task {_shown(names[0])} lists {_shown(path)} more than once to create or modify."


def _levels(graph: Mapping[str, Any], by_id: Mapping[str, Task]) -> Iterator[str]:
    """What is wrong with the graph's own list of levels, which it may leave out."""
    levels = graph.get("levels", {})
    if not isinstance(levels, dict):
        yield "its levels are no object."
        return
    for number, level in levels.items():
        named = level.get("tasks") if isinstance(level, dict) else None
        if not isinstance(named, list) or "name" not in level:
            yield f"its level {_shown(number)} is no object with a name and a list of tasks."
        elif unknown := [name for name in named if not _is_known(name, by_id)]:
            yield f"its level {_shown(number)} holds {_listed(unknown)}, which is no task."


def _unreached(tasks: Sequence[Task]) -> Iterator[Problem]:
    """The tasks that no chain of dependencies leads to from level 1; none is missed where level 1 is empty."""
    users: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        for need in _entries(task, "dependencies"):
            if isinstance(need, str):
                users[need].append(task["id"])
    waiting = [task["id"] for task in tasks if task.get("level") == 1]
    if not waiting:
        return
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += users[name]
    for name in sorted({task["id"] for task in tasks} - reached):
        yield Problem(_shown(name), "cannot be reached from level 1 by dependencies.")


def _circles(by_id: Mapping[str, Task]) -> Iterator[str]:
    """The tasks of which each can only start after itself: what is left when all that can start are taken away."""
    waiting = {
        name: {need for need in _entries(task, "dependencies") if _is_known(need, by_id)}
        for name, task in by_id.items()
    }
    users: dict[str, list[str]] = defaultdict(list)
    for name, needs in waiting.items():
        for need in needs:
            users[need].append(name)
    ready = [name for name, needs in waiting.items() if not needs]
    while ready:
        done = ready.pop()
        del waiting[done]
        for name in users[done]:
            waiting[name].discard(done)
            if not waiting[name]:
                ready.append(name)
    if waiting:  # some of these only wait for a circle: follow the waiting until it comes back
        name = min(waiting)
        met: dict[str, int] = {}
        while name not in met:
            met[name] = len(met)
            name = min(waiting[name])
        yield f"the tasks {_listed(sorted(list(met)[met[name] :]))} depend on each other in a circle."


# ---- words ------------------------------------------------------------------------------------------------------


def _shown(name: object) -> str:
    return one_line(str(name))


def _listed(names: Sequence[object]) -> str:
    shown = ", ".join(map(_shown, names[:_SHOWN]))
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown

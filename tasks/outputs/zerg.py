"""Contexts in the form that ZERG's workers take: beside what ZERG prints itself, and the graphs it would not launch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tasks.outputs.reader import BuildFolder

_FILES = re.compile(r"(?:Create|Modify|Read|Delete): ")
_KEPT_FILES = "Delete: "  # ZERG's prompt has the others
_CRITERIA = "Acceptance criteria:\n"
_DEPENDS = "Depends on:\n"
_PARTS = "Its parts:\n"
_PART_OF = "Part of: "
_CONSUMERS = "Consumers: "
_VERIFICATION = "Verification:"
_FENCE = re.compile(r"`{3,}")
_TITLE = re.compile(r"\n*(?:## Task|\[TASK\])\n*\Z")

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_FILE_LISTS = ("create", "modify", "read")
_SHOWN = 5


def zerg_context(folder: BuildFolder, row: Mapping[str, Any]) -> str | None:
    """The context of a task for ZERG: its prompt without what ZERG puts around it itself.

    Title, description, the files to create, modify and read, and the verification go; acceptance criteria, files to
    delete, dependencies and consumers stay, since nothing else says them. Where nothing would remain, the whole prompt
    stays. Ends with one newline; None where the task has no prompt.

    Args:
        folder: The build.
        row: The task's row of the build's tasks.
    """
    prompt: str | None = row["prompt"]
    if prompt is None:
        return None
    briefs = folder.items.filter(pl.col("section") == "brief").select("item_id")
    chosen = folder.context(row["graph"], row["task_id"]).filter(pl.col("decision") == "selected")
    for body in chosen.join(briefs, on="item_id", how="semi")["text"]:
        before, found, after = prompt.rpartition(body)
        if found:
            kept = without_printed(body)
            head = before if kept else _TITLE.sub("", before)
            prompt = f"{head}{kept}{after}"
    return f"{prompt.strip(chr(10))}\n" if prompt.strip() else row["prompt"]


def without_printed(brief: str) -> str:
    """A brief without title, description, files and verification; whole where it does not read as a brief."""
    if not brief.startswith("**"):
        return brief
    blocks = brief.split("\n\n")
    kept: list[str] = []
    if len(blocks) > 1 and blocks[-1].startswith(_CONSUMERS):
        kept.append(blocks.pop())
    if len(blocks) > 1 and _is_list(blocks[-1], _DEPENDS):
        kept.append(blocks.pop())
    blocks = _without_verification(blocks)
    if len(blocks) > 1 and _is_list(blocks[-1], _CRITERIA):
        kept.append(blocks.pop())
    if len(blocks) > 1 and all(_FILES.match(line) for line in blocks[-1].split("\n")):
        kept += [line for line in blocks.pop().split("\n") if line.startswith(_KEPT_FILES)]
    if len(blocks) > 1 and _is_list(blocks[-1], _PARTS):
        kept.append(blocks.pop())
    if len(blocks) > 1 and blocks[-1].startswith(_PART_OF) and "\n" not in blocks[-1]:
        kept.append(blocks.pop())
    return "\n\n".join(reversed(kept))


def _is_list(block: str, label: str) -> bool:
    head, _, rest = block.partition("\n")
    return f"{head}\n" == label and all(line.startswith("- ") for line in rest.split("\n"))


def _without_verification(blocks: list[str]) -> list[str]:
    """The blocks of a brief without the last one, or ones, if they are its verification."""
    last = blocks[-1]
    if last.startswith(f"{_VERIFICATION} `") and "\n" not in last:
        return blocks[:-1]
    if _FENCE.fullmatch(last.rpartition("\n")[2]):
        for place in range(len(blocks) - 1, 0, -1):
            if blocks[place].startswith(f"{_VERIFICATION}\n```"):
                return blocks[:place]
    return blocks


# ---- what ZERG would not launch ---------------------------------------------------------------------------------


def launch_problems(graph: object) -> list[str]:
    """Why ZERG would refuse a parsed graph, a sentence each; empty where it would launch it.

    These are the checks that its launcher makes: form of tasks and ids, levels, dependencies, who owns which file, and
    consumers. Linear in the size of the graph.
    """
    if not isinstance(graph, dict):
        return ["it is no object."]
    problems = [] if isinstance(graph.get("feature"), str) and graph["feature"] else ["it names no feature."]
    tasks = graph.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        return [*problems, "its tasks are no list with an entry."]
    for place, task in enumerate(tasks, 1):
        problems += [f"task {_called(task, place)} {what}" for what in _form(task)]
    known = [task for task in tasks if isinstance(task, dict) and isinstance(task.get("id"), str)]
    for name, count in Counter(task["id"] for task in known).items():
        if count > 1:
            problems.append(f"{count} tasks are called {name}.")
    by_id = {task["id"]: task for task in known}
    for task in known:
        problems += [f"task {task['id']} {what}" for what in _relations(task, by_id)]
    problems += [f"the tasks {names} depend on each other in a circle." for names in _circles(by_id)]
    problems += _owners(known)
    return problems


def _called(task: object, place: int) -> str:
    name = task.get("id") if isinstance(task, dict) else None
    return name if isinstance(name, str) and name else f"at place {place}"


def _form(task: object) -> Iterator[str]:
    if not isinstance(task, dict):
        yield "is no object."
        return
    name = task.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        yield "has no id of a letter and up to 63 letters, digits, hyphens and underscores."
    if not isinstance(task.get("title"), str) or not task["title"]:
        yield "has no title."
    if not isinstance(task.get("level"), int) or task["level"] < 1:
        yield "has no level of 1 or more."
    verification = task.get("verification")
    if not isinstance(verification, dict) or not verification.get("command"):
        yield "has no verification with a command."
    files = task.get("files")
    if not isinstance(files, dict):
        yield "has no files to create, modify and read."
    elif odd := [name for name in _FILE_LISTS if not _is_paths(files.get(name, []))]:
        yield f"has files to {' and '.join(odd)} that are no list of paths."
    if not isinstance(task.get("dependencies", []), list):
        yield "has dependencies that are no list."
    if task.get("context") is not None and not isinstance(task["context"], str):
        yield "has a context that is no text."


def _is_paths(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(path, str) for path in value)


def _names(task: Mapping[str, Any], field: str) -> list[str]:
    value = task.get(field)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _relations(task: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    needed = _names(task, "dependencies")
    if unknown := [name for name in needed if name not in by_id]:
        yield f"depends on {_listed(unknown)}, which is no task."
    level = task.get("level")
    late = [name for name in needed if name in by_id and not _is_lower(by_id[name].get("level"), level)]
    if late:
        yield f"depends on {_listed(late)}, which is not on a lower level."
    consumers = _names(task, "consumers")
    if unknown := [name for name in consumers if name not in by_id]:
        yield f"names the consumer {_listed(unknown)}, which is no task."
    if consumers and not task.get("integration_test"):
        yield "has consumers and no integration_test."


def _is_lower(level: object, than: object) -> bool:
    return not isinstance(level, int) or not isinstance(than, int) or level < than


def _owners(tasks: list[dict[str, Any]]) -> Iterator[str]:
    owners: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        files = task.get("files")
        if not isinstance(files, dict):
            continue
        for name in ("create", "modify"):
            for path in dict.fromkeys(_names(files, name)):
                if task["id"] not in owners[path]:
                    owners[path].append(task["id"])
    for path, names in owners.items():
        if len(names) > 1:
            yield f"the tasks {_listed(names)} all create or modify {path}."


def _circles(by_id: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The tasks of which each can only start after itself: what is left when all that can start are taken away."""
    waiting = {name: {need for need in _names(task, "dependencies") if need in by_id} for name, task in by_id.items()}
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
        yield _listed(sorted(list(met)[met[name] :]))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown

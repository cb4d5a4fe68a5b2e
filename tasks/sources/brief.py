"""A task's own brief, and what its planner wrote for it, as items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasks.sources.documents import blocks
from tasks.sources.identity import component

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

_FILES = (
    ("Create", "files_create"),
    ("Modify", "files_modify"),
    ("Read", "files_read"),
    ("Delete", "files_delete"),
)
_MOST_LISTED = 24  # tasks that a brief describes; of more it names the ids
_MOST_NAMED = 200  # ids
_BRIEF = {"source": "brief", "section": "brief", "kind": "user_turn"}
_CONTEXT = {"source": "plan", "section": "reference", "kind": "plan_state"}
_PARENT = {"source": "plan", "section": "requirements", "kind": "plan_state"}
_TICKS = re.compile(r"`+")


def brief_items(tasks: pl.DataFrame) -> list[dict[str, Any]]:
    """One pinned item a task, more where its planner wrote a context or it is a part of another task.

    Args:
        tasks: A tasks frame of whole graphs: what a task depends on is described from its own row.

    Returns:
        Rows without number, position and tokens.
    """
    plans = {graph: _Plan(rows.to_dicts()) for (graph,), rows in tasks.partition_by("graph", as_dict=True).items()}
    items: list[dict[str, Any]] = []
    for plan in plans.values():
        for row in plan.rows.values():
            name = f"{component(row['graph'])}/{component(row['task_id'])}"
            items.append(_item(row, f"{name}#brief", plan.brief(row), _BRIEF))
            if row["context"].strip():
                items.append(_item(row, f"{name}#context", closed(row["context"]), _CONTEXT))
            if (parent := plan.rows.get(row["parent"])) and parent["description"].strip():
                text = f"From {_named(parent)}:\n\n{closed(parent['description'].strip())}"
                items.append(_item(row, f"{name}#parent", text, _PARENT))
    return items


class _Plan:
    """The tasks of one graph by id, and the parts of each."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.rows = {row["task_id"]: row for row in rows}
        self._parts: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows.values():
            if row["parent"] is not None:
                self._parts.setdefault(row["parent"], []).append(row)

    def brief(self, row: Mapping[str, Any]) -> str:
        """The brief of one of the tasks."""
        above = self._above(row)
        parts = sorted(self._parts.get(row["task_id"], []), key=lambda part: part["position"])
        needed = dict.fromkeys(name for task in (row, *above) for name in task["dependencies"])
        inside = {row["task_id"], *(task["task_id"] for task in above)}
        rows = [self.rows[name] for name in needed if name in self.rows and name not in inside]
        related = [self.rows[name] for name in row["related"] if name in self.rows]
        return brief_text(row, rows, above, parts, related)

    def _above(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What a task is a part of, the nearest first; parents in a circle end it."""
        above: dict[str, dict[str, Any]] = {}
        while (parent := row["parent"]) in self.rows and parent not in above:
            row = above[parent] = self.rows[parent]
        return list(above.values())


def _item(row: Mapping[str, Any], item_id: str, text: str, what: Mapping[str, str]) -> dict[str, Any]:
    return {
        "item_id": item_id,
        "graph": row["graph"],
        "task_id": row["task_id"],
        "text": text,
        "sensitivity": "public",
        "tags": [],
        "trusted": True,
        **what,
    }


def brief_text(
    task: Mapping[str, Any],
    needed: Sequence[Mapping[str, Any]],
    above: Sequence[Mapping[str, Any]] = (),
    parts: Sequence[Mapping[str, Any]] = (),
    related: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The brief of a task as Markdown: what to do, with which files, when it is done, what it builds on.

    Args:
        task: A row of the tasks frame.
        needed: The rows of the tasks that it depends on directly, or what it is a part of does.
        above: The rows of the tasks that it is a part of, the nearest first.
        parts: The rows of the tasks that are its parts.
        related: The rows of the tasks that its plan names beside.
    """
    inferred = frozenset(task["files_inferred"])
    blocks = [_headline(task), closed(task["description"].strip("\n").rstrip())]
    blocks.append(f"Part of: {', in '.join(f'{_named(task)}{_progress(task)}' for task in above)}" if above else "")
    blocks.append(_tasks("Its parts", parts))
    files = [(label, [path for path in task[column] if path not in inferred]) for label, column in _FILES]
    files.append(("Files named in its text", [path for path in task["files_inferred"] if not _is_in(path, task)]))
    blocks.append("\n".join(f"{label}: {_paths(paths)}" for label, paths in files if paths))
    blocks.append(_bullets("Acceptance criteria", task["acceptance_criteria"]))
    blocks.append(_verification(task["verification"]))
    blocks.append(_tasks("Related", related))
    blocks.append(_tasks("Depends on", needed))
    blocks.append(f"Consumers: {', '.join(task['consumers'])}" if task["consumers"] else "")
    return "\n\n".join(filter(None, blocks))


def _is_in(path: str, task: Mapping[str, Any]) -> bool:
    """Whether a path stands word for word in what the brief says anyway."""
    return path in task["description"] or path in task["title"]


def _tasks(label: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    lines = list(map(_provided, tasks[:_MOST_LISTED]))
    if more := [task["task_id"] for task in tasks[_MOST_LISTED:]]:
        unnamed = f" and {len(more) - _MOST_NAMED} more" if len(more) > _MOST_NAMED else ""
        lines.append(f"also {', '.join(more[:_MOST_NAMED])}{unnamed}")
    return _bullets(label, lines)


def closed(text: str) -> str:
    """A text whose last fence is closed, so that what follows is not taken for code."""
    top = [token for token in blocks(text) if token.level == 0] if "```" in text or "~~~" in text else []
    if not top or top[-1].type != "fence" or top[-1].map is None:
        return text
    fence, first = top[-1].markup, top[-1].map[0]
    lines = text.split("\n")
    last = lines[-1].strip()
    is_closed = len(lines) - 1 > first and len(last) >= len(fence) and not last.strip(fence[0])
    return text if is_closed else f"{text}\n{fence}"


def _headline(task: Mapping[str, Any]) -> str:
    task_id, title = task["task_id"], task["title"]
    return f"**{task_id}**" if title == task_id else f"**{task_id}: {title}**"


def _bullets(label: str, lines: Iterable[str]) -> str:
    entries = [f"- {line}" for line in lines]
    return "\n".join([f"{label}:", *entries]) if entries else ""


def _named(task: Mapping[str, Any]) -> str:
    return task["task_id"] if task["title"] == task["task_id"] else f"{task['task_id']} {task['title']}"


def _provided(task: Mapping[str, Any]) -> str:
    """A task as another can rely on it; how far it is, where it is not simply to do."""
    files = [path for path in task["files_create"] if path not in task["files_inferred"]]
    creates = f", creates {_paths(files)}" if files else ""
    return f"{_named(task)}{creates}{_progress(task)}"


def _progress(task: Mapping[str, Any]) -> str:
    return f" ({task['progress']})" if task["progress"] != "pending" else ""


def _paths(paths: Iterable[str]) -> str:
    return ", ".join(map(_code, paths))


def _verification(command: str) -> str:
    command = command.strip()
    if "\n" not in command:
        return f"Verification: {_code(command)}" if command else ""
    fence = "`" * max(3, 1 + max(_runs(command), default=0))
    return f"Verification:\n{fence}\n{command}\n{fence}"


def _code(text: str) -> str:
    """A text as a code span, whatever back-ticks it holds."""
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (1 + max(_runs(text)))
    return f"{ticks} {text} {ticks}"


def _runs(text: str) -> Iterator[int]:
    return (len(run) for run in _TICKS.findall(text))

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
_BRIEF = {"source": "brief", "section": "brief", "kind": "user_turn"}
_CONTEXT = {"source": "plan", "section": "reference", "kind": "plan_state"}
_TICKS = re.compile(r"`+")


def brief_items(tasks: pl.DataFrame) -> list[dict[str, Any]]:
    """One pinned item a task, one more where its planner wrote a context: rows without number, position and tokens.

    Args:
        tasks: A tasks frame of whole graphs: what a task depends on is described from its own row.
    """
    rows = tasks.to_dicts()
    by_key = {(row["graph"], row["task_id"]): row for row in rows}
    items: list[dict[str, Any]] = []
    for row in rows:
        name = f"{component(row['graph'])}/{component(row['task_id'])}"
        needed = [by_key[key] for other in row["dependencies"] if (key := (row["graph"], other)) in by_key]
        items.append(_item(row, f"{name}#brief", brief_text(row, needed), _BRIEF))
        if row["context"].strip():
            items.append(_item(row, f"{name}#context", closed(row["context"]), _CONTEXT))
    return items


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


def brief_text(task: Mapping[str, Any], needed: Sequence[Mapping[str, Any]]) -> str:
    """The brief of a task as Markdown: what to do, with which files, when it is done, what it builds on.

    Args:
        task: A row of the tasks frame.
        needed: The rows of the tasks that it depends on directly.
    """
    blocks = [_headline(task), closed(task["description"].strip("\n").rstrip())]
    blocks.append("\n".join(f"{label}: {_paths(task[column])}" for label, column in _FILES if task[column]))
    blocks.append(_bullets("Acceptance criteria", task["acceptance_criteria"]))
    blocks.append(_verification(task["verification"]))
    blocks.append(_bullets("Depends on", map(_provided, needed)))
    blocks.append(f"Consumers: {', '.join(task['consumers'])}" if task["consumers"] else "")
    return "\n\n".join(filter(None, blocks))


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


def _provided(task: Mapping[str, Any]) -> str:
    named = task["task_id"] if task["title"] == task["task_id"] else f"{task['task_id']} {task['title']}"
    return f"{named}, creates {_paths(task['files_create'])}" if task["files_create"] else named


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

"""Batches made by hand, for tests of single stages: rows with what a test says, plain values for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasks.batch import Batch, Earlier, Items, Tasks, frame_of, number
from tasks.settings import Settings, load_settings
from tasks.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LISTS = ("dependencies", "related", "consumers", "files_create", "files_modify", "files_read", "files_delete", "files_inferred", "acceptance_criteria", "tools")  # fmt: skip
SETTINGS = load_settings()


def batch(
    items: Sequence[Mapping[str, Any]] = (),
    tasks: int | Sequence[Mapping[str, Any]] = 1,
    settings: Settings = SETTINGS,
) -> Batch:
    """A batch before stage 1: `items` and `tasks` as rows, or so many plain tasks `t0`, `t1`, ... of graph `g`."""
    given = [{"task_id": f"t{count}"} for count in range(tasks)] if isinstance(tasks, int) else tasks
    plain = {
        "graph": "g",
        "title": "",
        "description": "",
        "level": 1,
        "progress": "pending",
        "parent": None,
        "verification": "",
        "context": "",
    }
    rows = [{**plain, **{key: [] for key in _LISTS}, "position": place, **row} for place, row in enumerate(given)]
    counter = token_counter(settings.tokens)
    pieces = [{**_plain_item(place), **row} for place, row in enumerate(items)]
    for row in pieces:
        row.setdefault("tokens", counter.count([row["text"]])[0])
    return Batch(
        tasks=number(
            frame_of(Tasks, rows, [name for name in Tasks.column_names() if name != "task"]),
            ["graph", "task_id"],
            "task",
        ),
        earlier=frame_of(
            Earlier,
            [
                {"graph": row["graph"], "task_id": row["task_id"], "earlier": name, "part": False}
                for row in rows
                for name in row["dependencies"]
            ],
        ),
        items=number(
            frame_of(Items, pieces, [name for name in Items.column_names() if name != "item"]), "item_id", "item"
        ),
    )


def said(item_id: str, text: str = "", parent: str | None = None, **more: Any) -> dict[str, Any]:
    """An event of the history."""
    return {"item_id": item_id, "text": text or item_id, "parent_id": parent, **more}


def passage(item_id: str, text: str, parent: str | None = None, section: str = "design", **more: Any) -> dict[str, Any]:
    """A passage of a document of graph `g`."""
    what = {"source": "spec", "section": section, "kind": "doc_snippet", "graph": "g", "path": f"{section}.md"}
    return {"item_id": item_id, "text": text, "parent_id": parent, **what, **more}


def brief(task_id: str = "t0", text: str = "the brief") -> dict[str, Any]:
    what = {"source": "brief", "section": "brief", "kind": "user_turn", "graph": "g", "task_id": task_id}
    return {"item_id": f"{task_id}#brief", "text": text, **what}


def rule(item_id: str, text: str, scope: str = "core", parent: str | None = None) -> dict[str, Any]:
    what = {"source": "rules", "section": "rules", "kind": "policy", "tags": [scope]}
    return {"item_id": item_id, "text": text, "parent_id": parent, **what}


def names(batch: Batch, places: Sequence[int] | None) -> list[str]:
    """Item ids of places."""
    known = dict(batch.items.select("item", "item_id").iter_rows())
    return [known[place] for place in places or ()]


def out(batch: Batch) -> dict[str, str]:
    """What is out of the pools, the additions or the candidates, and why."""
    frame = batch.candidates if batch.candidates is not None else batch.pools
    known = dict(batch.items.select("item", "item_id").iter_rows())
    return {known[item]: reason for item, reason in frame.select("item", "reason").iter_rows() if reason is not None}


def _plain_item(place: int) -> dict[str, Any]:
    return {
        "source": "history",
        "section": "history",
        "kind": "user_turn",
        "sensitivity": "public",
        "position": place,
        "tags": [],
        "trusted": False,
        "redactions": 0,
        "content_hash": "0" * 64,
    }

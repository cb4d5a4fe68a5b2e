"""What plans say of tasks beside their briefs, as rows of items without number and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasks.sources.identity import Names, component, digest
from tasks.sources.masking import count_masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SECTIONS = {"details": "requirements", "design": "design"}
_LONGEST = 1500  # characters of a passage; a longer text becomes several


def said_items(said: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The details and the design of tasks, in passages that may be chosen one by one.

    Args:
        said: `graph, task_id, position, place, text` of each text.

    Returns:
        Rows with `place`, that of the task in its plan.
    """
    names = Names("-")
    for entry in said:
        if entry["place"] not in _SECTIONS:
            continue
        for text in _passages(entry["text"]):
            yield {
                **_row(entry, text, names, entry["place"]),
                "section": _SECTIONS[entry["place"]],
                "kind": "plan_state",
                "trusted": True,
                "place": entry["position"],
            }


def note_items(said: Iterable[Mapping[str, Any]], section_place: int) -> Iterator[dict[str, Any]]:
    """The notes of past work as events of the history, by the times that they have."""
    names = Names("-")
    for count, entry in enumerate(said):
        if entry["place"] != "note" or not entry["text"].strip():
            continue
        time = entry["time"]
        text = f"Note on {entry['task_id']}:\n\n{entry['text']}"  # others, who build on the task, read it too
        yield {
            **_row(entry, text, names, "note"),
            "section": "history",
            "kind": "memory_fact",
            "trusted": False,
            "redactions": count_masked(text),
            "order": (section_place, time is not None, time or 0, f"plan/{entry['graph']}", count),
        }


def _row(entry: Mapping[str, Any], text: str, names: Names, what: str) -> dict[str, Any]:
    name = f"{component(entry['graph'])}/{component(entry['task_id'])}#{what}-{digest(text, 10)}"
    return {
        "item_id": names.claim(name),
        "graph": entry["graph"],
        "task_id": entry["task_id"],
        "source": "plan",
        "text": text,
        "sensitivity": "public",
        "tags": [],
    }


def _passages(text: str) -> Iterator[str]:
    from tasks.sources.plans.brevity import brief_part  # long in compiling, and few plans say more than a brief

    rest, longest = text, _LONGEST
    while rest.strip():
        passage, after = brief_part(rest, longest)
        if passage:
            yield passage
            rest, longest = after, _LONGEST
        else:  # it begins with a longer piece of code, which stays whole
            longest *= 2

"""A task graph as the text that it is: where each task stands in it, and contexts put in with nothing else changed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tasks.exported import is_edited, is_exported
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONTEXT = "context"

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """A key of an object and its value, by where they begin and end."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


@dataclass(frozen=True)
class TaskText:
    """A task in a graph's text: its id as a build has it, where it begins, its members, what it says."""

    task_id: str
    start: int
    members: tuple[Member, ...]
    value: dict[str, Any]


@dataclass(frozen=True)
class Filled:
    """A graph's text with contexts put in, and the ids of the tasks that got one or kept their own.

    `odd` are those that got one in the place of a value that is no text.
    """

    text: str
    filled: list[str]
    kept: list[str]
    odd: list[str]


class NotAGraphError(ValueError):
    """A text that is no JSON, or holds no task."""


def decode_graph(data: bytes) -> str:
    """The text of a graph, UTF-8, UTF-16 or UTF-32, without a byte order mark; line ends stay as they are.

    Raises:
        NotAGraphError: the bytes are in no such encoding.
    """
    try:
        return data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise NotAGraphError("it is not UTF-8") from error


def feature_in(text: str) -> str:
    """The feature that a graph names; empty where it names none.

    Raises:
        NotAGraphError: it is no JSON.
    """
    at, value = _whole(text)
    if not isinstance(value, dict):
        return ""
    return next((_name(text, member) for member in reversed(_members(text, at)) if member.key == "feature"), "")


def tasks_in(text: str) -> list[TaskText]:
    """The tasks of a graph in the plan's order, under the ids that a build gives them.

    A task without an id is called after its place; of different tasks with one id the later ones are numbered.

    Raises:
        NotAGraphError: it is no JSON.
    """
    at, value = _whole(text)
    start = at
    if isinstance(value, dict):
        found = [member for member in _members(text, at) if member.key == "tasks"]
        if not found:
            return []
        start, value = found[-1].start, value["tasks"]
    entries = list(_entries(text, start, value))
    given = [_own_id(text, members) or key for _, key, _, members, _ in entries]
    taken = {name for name in given if name}
    seen: dict[str, list[dict[str, Any]]] = {}
    tasks: list[TaskText] = []
    for (place, _, begin, members, task), name in zip(entries, given, strict=True):
        tasks.append(TaskText(_settled(name, place, task, seen, taken), begin, members, task))
    return tasks


def fill_contexts(text: str, contexts: Mapping[str, str], *, overwrite: bool) -> Filled:
    """A graph with the contexts of its tasks put in; every other character stays.

    A context that is there already, as text that is not blank, is kept unless `overwrite` is set or an export put it
    there and nobody edited it since.
    """
    ascii_only = text.isascii()
    filled: list[str] = []
    kept: list[str] = []
    odd: list[str] = []
    for task in reversed(tasks_in(text)):
        context = contexts.get(task.task_id)
        own = task.value.get(CONTEXT)
        if _is_somebodys(own) and not overwrite:
            kept.append(task.task_id)
        elif context:
            value = json.dumps(context, ensure_ascii=ascii_only)
            text = _with_context(text, task, value)
            filled.append(task.task_id)
            odd += [task.task_id] if own is not None and not isinstance(own, str) else []
    return Filled(text, filled[::-1], kept[::-1], odd[::-1])


def _is_somebodys(context: object) -> bool:
    """Whether a context holds words that somebody wrote."""
    return isinstance(context, str) and bool(context.strip()) and (not is_exported(context) or is_edited(context))


def _with_context(text: str, task: TaskText, value: str) -> str:
    there = [member for member in task.members if member.key == CONTEXT]
    if there:
        return text[: there[-1].start] + value + text[there[-1].end :]
    if not task.members:
        return f'{text[: task.start + 1]}"{CONTEXT}": {value}{text[task.start + 1 :]}'
    last = task.members[-1]
    before = task.members[-2].end if len(task.members) > 1 else task.start
    gap = text[before : last.key_start].lstrip(" \t\r\n")[1:]  # after the comma or the brace
    colon = text[last.key_end : last.start]
    return f'{text[: last.end]},{gap}"{CONTEXT}"{colon}{value}{text[last.end :]}'


# ---- where things stand -----------------------------------------------------------------------------------------


def _whole(text: str) -> tuple[int, Any]:
    at = _skip(text, 0)
    value, end = _value(text, at)
    if _skip(text, end) != len(text):
        raise NotAGraphError("it is not one JSON value")
    return at, value


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        raise NotAGraphError("it is not valid JSON") from error


def _members(text: str, at: int) -> tuple[Member, ...]:
    """The members of the object that begins at a place; the text is known to be valid."""
    members: list[Member] = []
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, key_end = _value(text, at)
        start = _skip(text, _skip(text, key_end) + 1)
        _, end = _value(text, start)
        members.append(Member(key, at, key_end, start, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return tuple(members)


def _entries(
    text: str, start: int, value: object
) -> Iterator[tuple[int, str, int, tuple[Member, ...], dict[str, Any]]]:
    """The tasks of a list, or of an object that has them by id: place, that id, where it begins, members, value."""
    if isinstance(value, dict):
        once = {member.key: member for member in _members(text, start)}
        places = [(member.key, member.start) for member in once.values()]
        entries = list(value.values())
    elif isinstance(value, list):
        places = [("", place) for place in _elements(text, start)]
        entries = value
    else:
        return
    for number, ((key, place), entry) in enumerate(zip(places, entries, strict=True), 1):
        if isinstance(entry, dict):
            yield number, one_line(key), place, _members(text, place), entry


def _elements(text: str, at: int) -> list[int]:
    places: list[int] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        places.append(at)
        at = _skip(text, _value(text, at)[1])
        at = _skip(text, at + 1) if text[at] == "," else at
    return places


# ---- ids --------------------------------------------------------------------------------------------------------


def _own_id(text: str, members: tuple[Member, ...]) -> str:
    by_key = {member.key: member for member in members}
    return next((name for key in ("id", "task_id") if key in by_key and (name := _name(text, by_key[key]))), "")


def _name(text: str, member: Member) -> str:
    """A value as a name: a string on one line, a number as it is printed; empty where it gives none."""
    printed = text[member.start : member.end]
    if printed.startswith('"'):
        return one_line(json.loads(printed))
    return "" if printed == "null" or printed[0] in "[{" else printed


def _settled(
    name: str, place: int, task: dict[str, Any], seen: dict[str, list[dict[str, Any]]], taken: set[str]
) -> str:
    if not name:
        return f"task-{place}"
    others = seen.setdefault(name, [])
    if task in others:
        return name if others.index(task) == 0 else f"{name}~{others.index(task) + 1}"
    others.append(task)
    return name if len(others) == 1 or f"{name}~{len(others)}" in taken else f"{name}~{len(others)}"

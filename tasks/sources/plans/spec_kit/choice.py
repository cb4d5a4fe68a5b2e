"""Which entries of a text are its tasks, and whether a text is a plan at all.

Of the forms that tasks have, one counts: that which says most. A line with a task's id is enough to know a plan by; the
weaker forms occur in any Markdown, and are known only under headings that say so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.entries import parts_of
from tasks.sources.plans.spec_kit.forms import MAY_BE
from tasks.sources.plans.spec_kit.phases import names_phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.sources.plans.spec_kit.entries import Entry, Form, Parts, Section

_TITLE = re.compile(
    r"\b(?:tasks|task[ \t]+(?:list|breakdown|plan)|to-?do)\b|タスク|任务|任務|작업|할[ \t]*일"
    r"|\b(?:tareas|tarefas|t[âa]ches|aufgaben|zadania|attività|compiti|taken|görevler|nhiệm[ \t]+vụ)\b|\bзадач[иа]?\b",
    re.IGNORECASE,
)
#: Sections whose boxes are checks, not tasks.
_CHECKS = re.compile(
    r"check-?list|validation|verification|definition of done|acceptance|criteria|sign-?off|prerequisit|readiness"
    r"|\b(?:notes|risks|questions|summary)\b|depend|验收|检查|校验|依赖|受け入れ|チェック|依存|critères|criterios|critérios",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\W*(\d{1,4})\b")
_BEGINNING = 10_000  # characters
_LEAST = 2  # entries of a weaker form by which a plan is known


def tasks_among(parts: Parts) -> list[Entry]:
    """The entries that are tasks, of one form: ids in boxes, headings, ids in lists, numbers in boxes, rows, boxes.

    Headings and ids in lists: which names more tasks. Of those without a box, the first of each id counts.
    """
    found: dict[Form, list[Entry]] = {form: [] for form in ("id", "number", "box", "heading", "row")}
    for entry in parts.entries:
        found[entry.form].append(entry)
    if boxed := [entry for entry in found["id"] if entry.mark is not None]:
        return boxed
    # T1 in a list without a box is as likely a name.
    listed = _first_of_each(entry for entry in found["id"] if len(entry.task_id.lstrip("TASK-")) > 1)
    headings = _first_of_each(found["heading"])
    if len(headings) < _LEAST <= len(found["number"]):
        headings = []
    return (
        max(headings, listed, key=len)
        or found["number"]
        or _first_of_each(found["row"])
        or _outermost(_in_plan(found["box"]))
    )


def is_plan(text: str) -> bool:
    """Whether a cleaned Markdown text is a plan. Its beginning is tried first: that is mostly enough, and cheaper."""
    if not MAY_BE.search(text):
        return False
    beginning = text[: text.find("\n", _BEGINNING) + 1]
    return (bool(beginning) and _holds_plan(beginning)) or _holds_plan(text)


def _holds_plan(text: str) -> bool:
    parts = parts_of(text)
    tasks = tasks_among(parts)
    if not tasks:
        return False
    form = tasks[0].form
    if form == "id" and any(entry.mark is not None or not entry.task_id.startswith("TASK") for entry in tasks):
        return True
    if len(tasks) < _LEAST and form != "heading":
        return False
    return _titled(parts.sections) or _KNOWN[form](tasks, parts.sections)


def _titled(sections: Iterable[Section]) -> bool:
    """Whether the title of a document, its first heading if that is of the first level, says that it holds tasks."""
    title = next(iter(sections), None)
    return title is not None and title.depth == 1 and bool(_TITLE.search(title.title))


def _under_phases(tasks: Sequence[Entry], sections: Sequence[Section]) -> bool:  # noqa: ARG001 - as the others
    """Whether most tasks stand under headings that name phases."""
    return sum(_in_phase(entry) for entry in tasks) * 2 > len(tasks) >= _LEAST


def _under_numbers(tasks: Sequence[Entry], sections: Sequence[Section]) -> bool:
    """Whether most tasks stand under phases, or under headings that have the number theirs begins with."""
    numbered = sum(
        any(
            (found := _NUMBER.match(section.title)) and found[1] == entry.task_id.split(".")[0]
            for section in entry.path
        )
        for entry in tasks
    )
    return numbered * 2 > len(tasks) or _under_phases(tasks, sections)


def _under_several_phases(tasks: Sequence[Entry], sections: Sequence[Section]) -> bool:
    """Whether all tasks stand under phases, of which there are more than one, in a document without a title."""
    phases = {next((section.title for section in entry.path if names_phase(section)), None) for entry in tasks}
    return len(phases) >= _LEAST and None not in phases and sections[0].depth > 1


def _no(tasks: Sequence[Entry], sections: Sequence[Section]) -> bool:  # noqa: ARG001 - as the others
    return False


_KNOWN = {
    "id": _under_phases,
    "heading": _under_phases,
    "number": _under_numbers,
    "box": _under_several_phases,
    "row": _no,
}


def _in_phase(entry: Entry) -> bool:
    return any(map(names_phase, entry.path))


def _first_of_each(entries: Iterable[Entry]) -> list[Entry]:
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.task_id, entry)
    return list(first.values())


def _in_plan(boxes: Sequence[Entry]) -> list[Entry]:
    """Boxes that are tasks: those under phases where there are any, else all but those under headings for checks."""
    in_phases = [entry for entry in boxes if _in_phase(entry)]
    return in_phases or [
        entry
        for entry in boxes
        if not any(_CHECKS.search(section.title) for section in entry.path if section.depth > 1)
    ]


def _outermost(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that do not lie within others."""
    kept: list[Entry] = []
    for entry in entries:
        if not kept or entry.line >= kept[-1].end:
            kept.append(entry)
    return kept

"""The tasks of a spec-kit `tasks.md` as they are written, and what the text around them says of their headings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.choice import tasks_among
from tasks.sources.plans.spec_kit.entries import parts_of
from tasks.sources.plans.spec_kit.fields import dedented, fields_of, known_field, status_in
from tasks.sources.plans.spec_kit.forms import DONE_MARKS
from tasks.sources.plans.spec_kit.ids import Ids
from tasks.sources.plans.spec_kit.stories import marks_in, stories_of_label
from tasks.sources.plans.statuses import status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.sources.plans.spec_kit.entries import Entry, Form, Section

_SEPARATOR = re.compile(r"[ \t]*(?:[:：]|[.)](?=\s|$)|[-–—](?=\s))?[ \t]*")
_BRACKET = re.compile(r"\[([^\[\]\n]{1,40})\](?!\()")
_NO_STORY = frozenset(
    ("setup", "foundation", "foundational", "polish", "shared", "infrastructure", "infra", "cross-cutting", "final")
)
_PARALLEL = frozenset(("p", "p?", "parallel"))
#: A sign at the end of a heading that its task is done.
_DONE_SIGN = re.compile(
    r"[ \t]*[-–—:]?[ \t]*[✅☑✔✓]\ufe0f?[ \t]*[*_(]*(?:done|completed?|finished|已完成|完成|完了)?[*_)]*[ \t]*\Z",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"[ \t]+[-–—][ \t]+(?:\*\*[ \t]*[A-Z][A-Z \t-]{2,40}:?[ \t]*\*\*"
    r"|(?:SOLVED|FIXED|DONE|COMPLETED?|VALIDATED|VERIFIED|RESOLVED))[ \t]*:?[ \t]+\S"
)
_STRUCTURE = re.compile(
    r"[ \t]*(?:[-*+>][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||```|~~~"
    r"|(?:\*\*|__)[^*_\n]{1,40}(?:[:：]|(?:\*\*|__)[ \t]*[:：]))"
)
_BLANKS = re.compile(r"[ \t]{2,}")
_WIDTH = 72  # characters of the shortest lines that texts are wrapped to
_RULE = re.compile(r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|_{3,}[ \t]*)?")


@dataclass(eq=False)
class Task:
    """A task as it is written. `path` are the headings that it stands under, the outermost first.

    `mark` is what its box holds, None where it has none. `stories` is None where it has no label that says so, and
    empty where its label is of another kind. `tests` and `checkpoints` are its own, not those of its headings.
    """

    task_id: str
    path: tuple[Section, ...]
    mark: str | None
    struck: bool
    text: str = ""
    body: str = ""
    parallel: bool = False
    stories: tuple[int, ...] | None = None
    status: str | None = None
    note: str = ""
    parent: str | None = None
    criteria: list[str] = field(default_factory=list)
    depends: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)


@dataclass
class Outline:
    """A `tasks.md`. `prose` are the lines outside of tasks, with their headings; `code` the same of fences.

    `form` is that of its tasks. `unboxed` are ids that stand in a list as tasks do, but without the box that the others
    have.
    """

    tasks: list[Task]
    form: Form | None
    sections: list[Section]
    prose: list[tuple[tuple[Section, ...], str]]
    code: list[tuple[tuple[Section, ...], str]]
    unboxed: list[str]
    repeated: list[str]
    _under: dict[int, list[Section]] | None = field(default=None, repr=False)

    def under(self, top: Section | None) -> Sequence[Section]:
        """A heading and those below it that say something of their tasks."""
        if self._under is None:
            self._under = {}
            for section in self.sections:
                if section.tests or section.checkpoints:
                    for above in (*section.path, section):
                        self._under.setdefault(id(above), []).append(section)
        return self._under.get(id(top), ())

    @property
    def ids(self) -> Ids:
        """The ids of its tasks as texts name them."""
        names = [task.task_id for task in self.tasks]
        return Ids(names, numbers=bool(names) and all(name[:1].isdecimal() for name in names))


def outline(text: str) -> Outline:
    """A cleaned `tasks.md` taken apart. Never raises."""
    parts = parts_of(text)
    chosen = tasks_among(parts)
    form = chosen[0].form if chosen else None
    lines = parts.lines
    owners = _owners(chosen, len(lines))
    tasks = [_task(entry, number, owners, lines) for number, entry in enumerate(chosen)]
    if form == "number":
        _set_parents(tasks)
    prose: list[tuple[tuple[Section, ...], str]] = []
    for path, first, content in parts.paragraphs:
        outside = [(at, line) for at, line in enumerate(content, first) if owners[min(at, len(lines) - 1)] is None]
        prose += [(path, line) for line in _joined(outside, lines)]
        _mark(path, [line for _, line in outside])
    ids = {task.task_id for task in tasks}
    listed = [entry for entry in parts.entries if entry.form == "id"] if form == "id" else []
    unboxed = [entry.task_id for entry in listed if entry.mark is None and entry.task_id not in ids]
    kept, repeated = (tasks, list[str]()) if form == "box" else _once(tasks)
    if form == "box":
        for number, task in enumerate(tasks, 1):
            task.task_id = f"T{number}"
    return Outline(kept, form, parts.sections, prose, parts.code, list(dict.fromkeys(unboxed)), repeated)


def is_done(task: Task) -> bool:
    """Whether the box of a task says that it is done."""
    return bool(task.mark) and task.mark in DONE_MARKS


def _set_parents(tasks: Iterable[Task]) -> None:
    """Task 2.1 is a part of task 2, where that is one."""
    known: set[str] = set()
    for task in tasks:
        above = task.task_id.rpartition(".")[0]
        task.parent = above if above in known else None
        known.add(task.task_id)


def _joined(numbered: Iterable[tuple[int, str]], lines: Sequence[str]) -> list[str]:
    """The lines of a paragraph, wrapped ones as one."""
    joined: list[str] = []
    last = -1
    for at, line in numbered:
        if joined and last == at - 1 and at < len(lines) and _wrapped(lines[last], line):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
        last = at
    return joined


def _owners(chosen: Sequence[Entry], count: int) -> list[int | None]:
    """For each line of the text the task that it belongs to, the innermost one."""
    owners: list[int | None] = [None] * count
    for number, entry in enumerate(chosen):
        end = min(entry.end, count)
        owners[entry.line : end] = [number] * (end - entry.line)
    return owners


def _once(tasks: Iterable[Task]) -> tuple[list[Task], list[str]]:
    """The tasks without those that stand again, as in a summary, and the ids of these.

    The first of an id decides. Two different ones in one section are a slip of the planner's, and both are kept.
    """
    kept: list[Task] = []
    first: dict[str, Task] = {}
    repeated: list[str] = []
    for task in tasks:
        known = first.setdefault(task.task_id, task)
        if known is not task and (known.text == task.text or known.path != task.path):
            repeated.append(task.task_id)
        else:
            kept.append(task)
    return kept, repeated


# ---- a task -------------------------------------------------------------------------------------------------------


def _task(entry: Entry, number: int, owners: Sequence[int | None], lines: Sequence[str]) -> Task:
    task = Task(entry.task_id, entry.path, entry.mark, struck="~~" in entry.before)
    text = _BLANKS.sub(" ", entry.text)
    if entry.before.endswith(("**", "__", "~~")) and entry.after == "":
        # The whole line is marked, not the id alone.
        text = text.replace(entry.before[-2:], "", 1)
    body = [lines[at] for at in range(entry.below, min(entry.end, len(lines))) if owners[at] == number]
    if entry.form == "heading":
        if entry.mark is None and (sign := _DONE_SIGN.search(text)):
            task.status, text = "done", text[: sign.start()]
        while body and _RULE.fullmatch(body[-1]):  # the line that is drawn below a task
            body.pop()
    elif entry.form != "row":
        body = _without_marks_of_headings(body, entry)
        if body and _wrapped(lines[entry.line], body[0]):
            while body and _goes_on(body[0]):
                text = f"{text.rstrip()} {body.pop(0).strip()}"
    task.text = _without_labels(_SEPARATOR.sub("", text, count=1), task)
    if (is_done(task) or task.status == "done") and (note := _NOTE.search(task.text)):
        task.note = task.text[note.start() :].strip(" \t-–—")
        task.text = task.text[: note.start()].rstrip()
    found = fields_of(entry.cells or dedented(body), boxed=entry.mark is not None)
    task.body, task.criteria, task.depends = found.rest, found.criteria, found.depends
    task.tests, task.checkpoints = found.tests, found.checkpoints
    task.status = task.status or next(map(status_in, found.status), None)
    return task


def _without_marks_of_headings(body: Iterable[str], entry: Entry) -> list[str]:
    """The lines below a task without tests and checkpoints that are not indented: those are of the task's heading."""
    kept: list[str] = []
    for line in body:
        if line[:1].strip() and entry.path and (marks := list(marks_in([line]))):
            _add_marks(entry.path[-1], marks)
        else:
            kept.append(line)
    return kept


def _wrapped(above: str, line: str) -> bool:
    """Whether a line goes on with the one above: its first word would have made that one too long."""
    return _goes_on(line) and len(above.rstrip()) + 1 + len(line.split(maxsplit=1)[0]) >= _WIDTH


def _goes_on(line: str) -> bool:
    """Whether a line within a paragraph is mere text."""
    return bool(line.strip()) and not _STRUCTURE.match(line) and not known_field(line)


def _without_labels(text: str, task: Task) -> str:
    """The text without the labels before it, which go into the task. Other brackets are text."""
    while found := _BRACKET.match(text):
        label = found[1].strip()
        word = label.lower()
        status = status_of(word)
        if word in _PARALLEL:
            task.parallel = True
        elif numbers := stories_of_label(label):
            task.stories = tuple(dict.fromkeys((task.stories or ()) + numbers))
        elif word in _NO_STORY:
            task.stories = task.stories or ()
        elif status not in (None, "pending", "deleted"):
            task.status = status
        else:
            break
        text = _SEPARATOR.sub("", text[found.end() :], count=1)
    return text.strip()


# ---- what headings say of their tasks -----------------------------------------------------------------------------


def _mark(path: tuple[Section, ...], lines: Sequence[str]) -> None:
    if not path:
        return
    _add_marks(path[-1], marks_in(lines))
    for line in lines:
        if (found := known_field(line)) and found[0] == "depends" and found[1]:
            path[-1].waits.append(found[1])


def _add_marks(section: Section, marks: Iterable[tuple[bool, str]]) -> None:
    for is_test, text in marks:
        (section.tests if is_test else section.checkpoints).append(text)

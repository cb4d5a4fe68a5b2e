"""A spec-kit `tasks.md` taken apart: its task lines, the headings that they stand under, and the prose around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.sources.documents import blocks
from tasks.sources.plans.spec_kit.stories import marks_in, stories_of_label
from tasks.sources.plans.statuses import status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it.token import Token

#: A task's id as it is printed: `T001`, `T-001`, `T018b`.
ID = r"(?<![A-Za-z0-9_])T-?\d{1,6}(?:\.\d{1,3})*[a-z]?(?![A-Za-z0-9_])"

_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n((?:(?!---)[^\n]*\n){0,100})---[ \t]*(?:\n|\Z)")
_FRONT_LINE = re.compile(r"[ \t]*(?:#.*|-[ \t].*|[\w.-]+[ \t]*:.*)?|[ \t]+.*")
_TASK = re.compile(
    r"(?:\[(?P<mark>[^\[\]\n]{0,2})\][ \t]*|(?P<sign>[✅☑✔✓⬜☐])\ufe0f?[ \t]*)?"
    rf"(?P<before>[*_`~\[]*)(?P<id>{ID})(?P<after>[*_`~\]]*)(?P<text>.*)",
    re.DOTALL,
)
#: What follows an id that a line only speaks of: a range, a list of ids, an arrow.
_REFERENCE = re.compile(
    r"[ \t]*(?:(?:[-–—~,、,&+/∥]|\.\.+|to\b|through\b|and\b)[ \t]*(?:T-?)?\d|→|⇒|➔|➡|←|<?[-=]+>|∥)", re.IGNORECASE
)
_LINE = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(\[[^\[\]\n]{0,2}\].*)")
_SEPARATOR = re.compile(r"[ \t]*(?:[:：]|[.)](?=\s|$)|[-–—](?=\s))?[ \t]*")
_BRACKET = re.compile(r"\[([^\[\]\n]{1,40})\](?!\()")
_NO_STORY = frozenset(
    ("setup", "foundation", "foundational", "polish", "shared", "infrastructure", "infra", "cross-cutting", "final")
)
_PARALLEL = frozenset(("p", "p?", "parallel"))
#: What stands in the box of a task that is done.
DONE_MARKS = frozenset("xX✓✔✅☑")
_SIGNS = {"⬜": "", "☐": ""}
_NOTE = re.compile(
    r"[ \t]+[-–—][ \t]+(?:\*\*[ \t]*[A-Z][A-Z \t-]{2,40}:?[ \t]*\*\*"
    r"|(?:SOLVED|FIXED|DONE|COMPLETED?|VALIDATED|VERIFIED|RESOLVED))[ \t]*:?[ \t]+\S"
)
_STRUCTURE = re.compile(
    r"[ \t]*(?:[-*+>][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||```|~~~"
    r"|(?:\*\*|__)[^*_\n]{1,40}(?:[:：]|(?:\*\*|__)[ \t]*[:：]))"
)
_WIDTH = 72  # characters of the shortest lines that texts are wrapped to
_FIELDS = {
    "ac": "criteria",
    "acceptance": "criteria",
    "acceptance criteria": "criteria",
    "acceptance criterion": "criteria",
    "done when": "criteria",
    "depends on": "depends",
    "depends": "depends",
    "dependencies": "depends",
    "dependency": "depends",
    "受け入れ基準": "criteria",
    "受入基準": "criteria",
    "验收标准": "criteria",
    "依存": "depends",
    "依存関係": "depends",
    "依赖": "depends",
}
_FIELD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?P<bold>\*\*|__)?(?P<name>[^\W\d_][^*_:：\n]{1,30}?)[ \t]*"
    r"(?:[:：][ \t]*(?(bold)(?:\*\*|__))|(?(bold)(?:\*\*|__)[ \t]*[:：]|(?!)))[ \t]*(?P<value>.*)",
    re.DOTALL,
)


@dataclass(eq=False)
class Section:
    """A heading, what stands above it, and what it says of its tasks: when they are done, and what they wait for."""

    title: str
    depth: int
    path: tuple[Section, ...]
    tests: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Task:
    """A task as it is written. `path` are the headings that it stands under, the outermost first.

    `stories` is None where it has no label that says so, and empty where its label is of another kind.
    """

    task_id: str
    path: tuple[Section, ...]
    text: str
    body: str
    mark: str
    boxed: bool
    struck: bool
    parallel: bool = False
    stories: tuple[int, ...] | None = None
    status: str | None = None
    note: str = ""
    criteria: list[str] = field(default_factory=list)
    depends: list[str] = field(default_factory=list)


@dataclass
class Outline:
    """A `tasks.md`. `prose` are the lines outside of tasks, with their headings; `code` the same of fences.

    `unboxed` are ids that stand in a list as tasks do, but without the box that the others have.
    """

    tasks: list[Task]
    sections: list[Section]
    prose: list[tuple[tuple[Section, ...], str]]
    code: list[tuple[tuple[Section, ...], str]]
    unboxed: list[str]
    repeated: list[str]


@dataclass
class _Found:
    """A list's entry that begins as a task does: its lines, and what stands in the first."""

    line: int
    end: int
    path: tuple[Section, ...]
    match: re.Match[str]

    @property
    def boxed(self) -> bool:
        return self.match["mark"] is not None or self.match["sign"] is not None


def has_tasks(text: str) -> bool:
    """Whether a Markdown text has at least one task line."""
    return bool(re.search(ID, text)) and bool(_chosen(_found(_without_front_matter(text))[0]))


def outline(text: str) -> Outline:
    """A cleaned `tasks.md` taken apart. Never raises."""
    text = _without_front_matter(text)
    found, sections, paragraphs, code = _found(text)
    chosen = _chosen(found)
    lines = text.split("\n")
    owners = _owners(chosen, len(lines))
    tasks = [_task(entry, number, owners, lines) for number, entry in enumerate(chosen)]
    prose: list[tuple[tuple[Section, ...], str]] = []
    for path, first, content in paragraphs:
        outside = [(at, line) for at, line in enumerate(content, first) if owners[min(at, len(lines) - 1)] is None]
        prose += [(path, line) for line in _joined(outside, lines)]
        _mark(path, [line for _, line in outside])
    ids = {task.task_id for task in tasks}
    unboxed = [entry.match["id"] for entry in found if not entry.boxed and entry.match["id"] not in ids]
    kept, repeated = _once(tasks)
    return Outline(kept, sections, prose, code, list(dict.fromkeys(unboxed)), repeated)


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


def _without_front_matter(text: str) -> str:
    """The text with its front matter as empty lines, so that the others keep their numbers."""
    found = _FRONT_MATTER.match(text)
    if found and all(_FRONT_LINE.fullmatch(line) for line in found[1].split("\n")):
        return "\n" * found[0].count("\n") + text[found.end() :]
    return text


# ---- which lines are tasks ----------------------------------------------------------------------------------------


def _found(
    text: str,
) -> tuple[
    list[_Found],
    list[Section],
    list[tuple[tuple[Section, ...], int, list[str]]],
    list[tuple[tuple[Section, ...], str]],
]:
    """Entries that begin as tasks do, the headings, the paragraphs (with their first lines) and the fences."""
    found: list[_Found] = []
    sections: list[Section] = []
    paragraphs: list[tuple[tuple[Section, ...], int, list[str]]] = []
    code: list[tuple[tuple[Section, ...], str]] = []
    path: tuple[Section, ...] = ()
    quoted = 0
    tokens = blocks(text)
    for index, token in enumerate(tokens):
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "heading_open":
            depth = int(token.tag[1:])
            above = tuple(section for section in path if section.depth < depth)
            sections.append(Section(tokens[index + 1].content, depth, above))
            path = (*above, sections[-1])
        elif token.map is None or quoted:
            continue
        elif token.type == "fence":
            code += [(path, line) for line in token.content.split("\n")]
        elif token.type == "code_block":
            found += _over_indented(token.content.split("\n"), token.map, path)
        elif token.type == "list_item_open" and index + 2 < len(tokens) and tokens[index + 2].type == "inline":
            content = tokens[index + 2].content.split("\n")[0]
            if (match := _TASK.fullmatch(content.strip())) and not _REFERENCE.match(match["text"]):
                found.append(_Found(token.map[0], token.map[1], path, match))
        elif token.type == "inline" and tokens[index - 1].type != "heading_open":
            content_lines = token.content.split("\n")
            paragraphs.append((path, token.map[0], content_lines))
            first, end = token.map
            found += _over_indented(content_lines[1:], [first + 1, end], path)
    return sorted(found, key=lambda entry: (entry.line, -entry.end)), sections, paragraphs, code


def _over_indented(lines: Sequence[str], place: Sequence[int], path: tuple[Section, ...]) -> Iterator[_Found]:
    """Task lines with boxes that are indented so far that Markdown takes them for text or code."""
    for line, content in enumerate(lines, place[0]):
        entry = _LINE.fullmatch(content.rstrip())
        match = _TASK.fullmatch(entry[1]) if entry else None
        if match and not _REFERENCE.match(match["text"]):
            yield _Found(line, place[1], path, match)


def _chosen(found: Sequence[_Found]) -> list[_Found]:
    """The entries that are tasks: those with a box where any has one, else the first of each id."""
    boxed = [entry for entry in found if entry.boxed]
    if boxed:
        return boxed
    first: dict[str, _Found] = {}
    for entry in found:
        if len(entry.match["id"].lstrip("T-")) > 1:  # T1 without a box is as likely a name
            first.setdefault(entry.match["id"], entry)
    return list(first.values())


def _owners(chosen: Sequence[_Found], count: int) -> list[int | None]:
    """For each line of the text the task that it belongs to, the innermost one."""
    owners: list[int | None] = [None] * count
    for number, entry in enumerate(chosen):
        end = min(entry.end, count)
        owners[entry.line : end] = [number] * (end - entry.line)
    return owners


def _once(tasks: Iterable[Task]) -> tuple[list[Task], list[str]]:
    """The tasks without those that stand again word for word, as in a summary; and the ids of these."""
    kept: dict[tuple[str, str], Task] = {}
    repeated = [task.task_id for task in tasks if kept.setdefault((task.task_id, task.text), task) is not task]
    return list(kept.values()), repeated


# ---- a task -------------------------------------------------------------------------------------------------------


def _task(entry: _Found, number: int, owners: Sequence[int | None], lines: Sequence[str]) -> Task:
    match = entry.match
    mark = match["mark"] if match["mark"] is not None else _SIGNS.get(match["sign"] or "⬜", "x")
    task = Task(match["id"], entry.path, "", "", mark.strip(), boxed=entry.boxed, struck="~~" in match["before"])
    text = match["text"]
    if match["before"].endswith(("**", "__", "~~")) and match["after"] == "":
        # The whole line is marked, not the id alone.
        text = text.replace(match["before"][-2:], "", 1)
    body: list[str] = []
    for at in range(entry.line + 1, min(entry.end, len(lines))):
        if owners[at] == number:
            line = lines[at]
            if line[:1].strip() and (marks := list(marks_in([line]))) and entry.path:
                _add_marks(entry.path[-1], marks)
            else:
                body.append(line)
    if body and _wrapped(lines[entry.line], body[0]):
        while body and _goes_on(body[0]):
            text = f"{text.rstrip()} {body.pop(0).strip()}"
    task.text = _without_labels(_SEPARATOR.sub("", text, count=1), task)
    if (task.mark in DONE_MARKS or task.status == "done") and (note := _NOTE.search(task.text)):
        task.note = task.text[note.start() :].strip(" \t-–—")
        task.text = task.text[: note.start()].rstrip()
    task.body = _body(_dedented(body), task)
    return task


def _wrapped(above: str, line: str) -> bool:
    """Whether a line goes on with the one above: its first word would have made that one too long."""
    return _goes_on(line) and len(above.rstrip()) + 1 + len(line.split(maxsplit=1)[0]) >= _WIDTH


def _goes_on(line: str) -> bool:
    """Whether a line within a paragraph is mere text."""
    return bool(line.strip()) and not _STRUCTURE.match(line) and not _known(line)


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


def _dedented(lines: Sequence[str]) -> str:
    """Lines without the indentation that they share; tabs at their beginnings are four blanks wide."""
    widened = [re.sub(r"^[ \t]+", lambda found: found[0].expandtabs(4), line).rstrip() for line in lines]
    shared = min((len(line) - len(line.lstrip(" ")) for line in widened if line), default=0)
    return "\n".join(line[shared:] for line in widened).strip("\n")


def _body(text: str, task: Task) -> str:
    """The lines below a task without its fields for criteria and dependencies, which go into the task."""
    if not text:
        return ""
    lines = text.split("\n")
    kept = [True] * len(lines)
    for first, end, kind, value in _fields(text, lines):
        (task.criteria if kind == "criteria" else task.depends).append(value)
        kept[first:end] = [False] * (end - first)
    rest = "\n".join(line for line, keep in zip(lines, kept, strict=True) if keep)
    return re.sub(r"\n{3,}", "\n\n", rest).strip("\n")


def _fields(text: str, lines: Sequence[str]) -> Iterator[tuple[int, int, str, str]]:
    """First line, end, kind and value of each known field: an entry of a list or a line of a paragraph."""
    tokens = blocks(text)
    reached = 0
    for index, token in enumerate(tokens):
        if token.map is None or token.map[0] < reached:
            continue
        first, end = token.map[0], min(token.map[1], len(lines))
        if token.type == "list_item_open" and token.level == 1:
            while end > first + 1 and not lines[end - 1].strip():
                end -= 1
            if (found := _known(lines[first])) is not None:
                reached = end
                yield first, end, found[0], "\n".join([found[1], _dedented(lines[first + 1 : end])]).strip("\n")
        elif token.type == "paragraph_open" and token.level == 0:
            starts = [at for at in range(first, end) if _FIELD.fullmatch(lines[at])]
            for place, at in enumerate(starts):
                stop = starts[place + 1] if place + 1 < len(starts) else end
                following = _list_after(tokens, index, stop, end, len(lines))
                if (found := _known(lines[at])) is not None:
                    stop = following if not found[1] else stop
                    reached = max(reached, stop)
                    yield at, stop, found[0], "\n".join([found[1], *lines[at + 1 : stop]]).strip("\n")


def _list_after(tokens: Sequence[Token], index: int, stop: int, end: int, count: int) -> int:
    """Where a field without a value on its line ends: with the list that follows its paragraph."""
    after = tokens[index + 3] if stop == end and index + 3 < len(tokens) else None
    if after is None or after.map is None or after.type not in ("bullet_list_open", "ordered_list_open"):
        return stop
    return min(after.map[1], count)


def _known(line: str) -> tuple[str, str] | None:
    """The kind of field that a line begins, and what stands in it."""
    found = _FIELD.fullmatch(line)
    kind = _FIELDS.get(" ".join(found["name"].lower().split())) if found else None
    return (kind, found["value"].strip()) if found and kind else None


# ---- what headings say of their tasks -----------------------------------------------------------------------------


def _mark(path: tuple[Section, ...], lines: Sequence[str]) -> None:
    if not path:
        return
    _add_marks(path[-1], marks_in(lines))
    for line in lines:
        if (found := _known(line)) and found[0] == "depends" and found[1]:
            path[-1].waits.append(found[1])


def _add_marks(section: Section, marks: Iterable[tuple[bool, str]]) -> None:
    for is_test, text in marks:
        (section.tests if is_test else section.checkpoints).append(text)

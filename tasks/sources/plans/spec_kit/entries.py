"""A spec-kit `tasks.md` taken apart: what stands in it that may be a task, under which headings, and what else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tasks.sources.documents import blocks
from tasks.sources.plans.spec_kit.forms import BOXED, HEADING, LINE, NUMBERED, REFERENCE, SIGNS, TASK
from tasks.sources.plans.spec_kit.tables import table_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

#: What makes an entry one: an id in a list, a number in a box, a box alone, a heading, a table's row.
Form = Literal["id", "number", "box", "heading", "row"]

_FRONT_MATTER = re.compile(r"\A\s*---[ \t]*\n((?:(?!---)[^\n]*\n){0,100})---[ \t]*(?:\n|\Z)")
_FRONT_LINE = re.compile(r"[ \t]*(?:#.*|-[ \t].*|[\w.-]+[ \t]*:.*)?|[ \t]+.*")


@dataclass(eq=False)
class Section:
    """A heading, what stands above it, and what it says of its tasks: when they are done, and what they wait for."""

    title: str
    depth: int
    path: tuple[Section, ...]
    tests: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)


@dataclass
class Entry:
    """What begins as a task does. Its lines go from `line` to before `end`; what is below it begins at `below`.

    `mark` is what its box holds, None where it has none. `before` and `after` are the marks around its id, which is
    empty where it has none. `cells` are what the others of its row say, as a list.
    """

    form: Form
    line: int
    below: int
    end: int
    path: tuple[Section, ...]
    task_id: str
    text: str
    mark: str | None = None
    before: str = ""
    after: str = ""
    cells: str = ""


@dataclass
class Parts:
    """What a text consists of. Paragraphs come with the number of their first line, `code` are the lines of fences."""

    lines: list[str]
    entries: list[Entry] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    paragraphs: list[tuple[tuple[Section, ...], int, list[str]]] = field(default_factory=list)
    code: list[tuple[tuple[Section, ...], str]] = field(default_factory=list)


def parts_of(text: str) -> Parts:
    """A cleaned text taken apart; its front matter does not count. Never raises."""
    text = _without_front_matter(text)
    parts = Parts(text.split("\n"))
    path: tuple[Section, ...] = ()
    open_headings: list[tuple[int, Entry]] = []
    quoted = 0
    tokens = blocks(text)
    for index, token in enumerate(tokens):
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "heading_open":
            depth, title = int(token.tag[1:]), tokens[index + 1].content
            path = tuple(section for section in path if section.depth < depth)
            first, below = token.map or (0, 0)
            while open_headings and open_headings[-1][0] >= depth:
                open_headings.pop()[1].end = first
            if not quoted and (match := HEADING.fullmatch(title)) and not REFERENCE.match(match["text"]):
                parts.entries.append(_made("heading", match, first, below, len(parts.lines), path))
                open_headings.append((depth, parts.entries[-1]))
            path = (*path, Section(title, depth, path))
            parts.sections.append(path[-1])
        elif token.map is not None and not quoted:
            _add(token, tokens, index, path, parts)
    parts.entries.sort(key=lambda entry: (entry.line, -entry.end))
    return parts


def _without_front_matter(text: str) -> str:
    """The text with its front matter as empty lines, so that the others keep their numbers."""
    found = _FRONT_MATTER.match(text)
    if found and all(_FRONT_LINE.fullmatch(line) for line in found[1].split("\n")):
        return "\n" * found[0].count("\n") + text[found.end() :]
    return text


def _add(token: Token, tokens: Sequence[Token], index: int, path: tuple[Section, ...], parts: Parts) -> None:
    """What a token with lines adds to the parts."""
    first, end = token.map or (0, 0)
    if token.type == "fence":
        parts.code += [(path, line) for line in token.content.split("\n")]
    elif token.type == "code_block":
        parts.entries += _over_indented(token.content.split("\n"), first, end, path)
    elif token.type == "list_item_open" and index + 2 < len(tokens) and tokens[index + 2].type == "inline":
        parts.entries += _entry(tokens[index + 2].content.split("\n")[0].strip(), first, end, path)
    elif token.type == "table_open":
        for row in table_rows(tokens, index):
            line = row.line
            parts.entries.append(Entry("row", line, line + 1, line + 1, path, row.task_id, row.text, cells=row.others))
    elif token.type == "inline" and tokens[index - 1].type != "heading_open":
        lines = token.content.split("\n")
        parts.paragraphs.append((path, first, lines))
        parts.entries += _over_indented(lines[1:], first + 1, end, path)


def _entry(content: str, first: int, end: int, path: tuple[Section, ...]) -> Iterator[Entry]:
    """The entry that a line of a list is, by what comes first: an id, a number in a box, a box."""
    if match := TASK.fullmatch(content):
        if not REFERENCE.match(match["text"]):
            yield _made("id", match, first, first + 1, end, path)
    elif match := NUMBERED.fullmatch(content):
        yield _made("number", match, first, first + 1, end, path)
    elif match := BOXED.fullmatch(content):
        yield _made("box", match, first, first + 1, end, path)


def _over_indented(lines: Sequence[str], first: int, end: int, path: tuple[Section, ...]) -> Iterator[Entry]:
    """Entries with boxes that are indented so far that Markdown takes them for text or code."""
    for line, content in enumerate(lines, first):
        if found := LINE.fullmatch(content.rstrip()):
            yield from _entry(found[1], line, end, path)


def _made(form: Form, match: re.Match[str], line: int, below: int, end: int, path: tuple[Section, ...]) -> Entry:
    found = match.groupdict()
    sign, mark = found["sign"], found["mark"]
    return Entry(
        form,
        line,
        below,
        end,
        path,
        task_id=found.get("id") or found.get("number") or "",
        text=found["text"],
        mark=mark.strip() if mark is not None else SIGNS[sign] if sign else None,
        before=found.get("before") or "",
        after=found.get("after") or "",
    )

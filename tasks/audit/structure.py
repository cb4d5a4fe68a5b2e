"""Invariant 7: what CommonMark sees in a prompt is prebrief's structure and nothing that an item's text made up."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from tasks.audit.violation import Check, Violation
from tasks.terms import SECTION_TITLES, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.audit.reading import Build, Context

#: The first byte count that no longer fits one argument of a Linux process.
PROMPT_BYTES = 131_072

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # Unicode's Cc without tab and newline
_TITLES = tuple(SECTION_TITLES[section] for section in SECTIONS)


class Structure(Check):
    """Parses each prompt's blocks, 6 MB/s. Headings inside lists and quotes open no section and are not judged."""

    name = "structure"

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self._labelled = build.setting("render", "style") == "labelled"
        self._opened: dict[tuple[str, str], set[str]] = {}

    def of_build(self) -> Iterator[Violation]:
        """Headings, fences, characters, the end and the size of every prompt, calls included."""
        for place, task in self.build.task_rows():
            if task["prompt"] is not None:
                seen = outline(task["prompt"])
                self._opened[task["graph"], task["task_id"]] = set(seen.sections)
                for message in self._faults(task["prompt"], seen):
                    yield self.found(f"prompts/{place}.md", message)
        for name, call in self.build.call_rows():
            if call["prompt"] is not None:
                for message in self._faults(call["prompt"], outline(call["prompt"])):
                    yield self.found("calls.parquet", f"{name}: {message}")

    def of_context(self, context: Context) -> Iterator[Violation]:
        """The sections of a prompt are those of its selected items: a forged title would be one too many."""
        task = context.task
        opened = self._opened.get((task["graph"], task["task_id"]))
        if opened is None or self._labelled:
            return
        wanted = {SECTION_TITLES[row["section"]] for row in context.selected if row["section"] in SECTION_TITLES}
        where = context.prompt_place
        if odd := sorted(wanted - opened):
            yield self.found(where, f"items of {odd[0]!r} are selected, and it has no such section.")
        if odd := sorted((opened & set(_TITLES)) - wanted):
            yield self.found(where, f"it has the section {odd[0]!r}, and no item of it is selected.")

    def _faults(self, prompt: str, seen: Outline) -> Iterator[str]:
        if seen.top:
            yield f"line {seen.top[0]} is a heading of the first level."
        if seen.open_fence:
            yield f"the fence at line {seen.open_fence} never closes."
        yield from (
            f"the section {title!r} opens {count} times."
            for title, count in Counter(seen.sections).items()
            if count > 1
        )
        if not self._labelled:
            if odd := [title for title in seen.sections if title not in _TITLES]:
                yield f"{odd[0]!r} is no section of a prompt."
            known = [_TITLES.index(title) for title in dict.fromkeys(seen.sections) if title in _TITLES]
            if known != sorted(known):
                yield "the sections are not in their order."
        if control := _CONTROL.search(prompt):
            yield f"it holds the control character U+{ord(control[0]):04X}."
        if not prompt.strip() or not prompt.endswith("\n") or prompt.endswith("\n\n"):
            yield "it does not end with exactly one newline."
        if (size := len(prompt.encode("utf-8"))) >= PROMPT_BYTES:
            yield f"it has {size} bytes and must stay below {PROMPT_BYTES}."


@dataclass
class Outline:
    """What CommonMark sees at the top level of a text."""

    top: list[int] = field(default_factory=list)
    """Lines of headings of the first level, from 1."""
    sections: list[str] = field(default_factory=list)
    """Titles of headings of the second level, in order."""
    open_fence: int | None = None
    """The line of a fence that runs to the end of the text, or of the top level, without being closed."""


def outline(text: str) -> Outline:
    """The headings and open fences of a text; setext headings count."""
    seen = Outline()
    tokens = _parser().parse(text)
    end = text.count("\n") + (not text.endswith("\n"))
    for place, token in enumerate(tokens):
        first, after = token.map or (0, 0)
        if token.type == "heading_open" and token.level == 0:
            if token.tag == "h1":
                seen.top.append(first + 1)
            elif token.tag == "h2":
                seen.sections.append(tokens[place + 1].content)
        # A closed fence spans its content, the line that opens it and the one that closes it.
        elif (
            token.type == "fence"
            and after - first != token.content.count("\n") + 2
            and (token.level == 0 or after >= end)
        ):
            seen.open_fence = first + 1
    return seen


@cache
def _parser() -> MarkdownIt:
    """CommonMark's blocks alone: what stands inside a line makes no structure."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser

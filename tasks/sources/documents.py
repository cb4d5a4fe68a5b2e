"""Documents: Markdown files as cleaned text, whose lines still count as they do in the file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tasks.sources.files import InputFile, decode
from tasks.sources.masking import MARKER
from tasks.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from tasks.credentials import Redaction
    from tasks.sources.findings import Row

_MARKDOWN = frozenset({"", "md", "markdown", "mdc", "mdx", "txt", "text"})
_LONGEST_PIECE = 1500  # characters of code in a passage, give or take its last line
_TICKS = re.compile(r"`+")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """CommonMark with tables, down to blocks and headings: what stands inside a paragraph is left as it is."""
    from markdown_it import MarkdownIt  # a build that is found parses nothing

    markdown = MarkdownIt("commonmark").enable("table")
    markdown.core.ruler.enableOnly(["normalize", "block"])
    return markdown


def blocks(text: str) -> list[Token]:
    """The blocks of a Markdown text with their line maps, at about 3 MB/s."""
    return _parser().parse(text)


@dataclass(frozen=True)
class Document:
    """The text of a file. Where masking took line ends away, `spans` says which lines of the file a line stands for."""

    label: str
    text: str
    masked: Mapping[str, int] = field(default_factory=dict)
    spans: tuple[tuple[int, int], ...] | None = None

    def line(self, index: int, *, last: bool = False) -> int:
        """The line of the file, from 1, where a line of the text (from 0) begins, or ends."""
        if self.spans is None:
            return index + 1
        return self.spans[index][1 if last else 0]

    def redactions_in(self, text: str) -> int:
        """Credentials that were masked in a part of the text."""
        if not self.masked:
            return 0
        return sum(found[1] in self.masked for found in MARKER.finditer(text))

    def with_redaction(self, redaction: Redaction) -> Document:
        """The document without its credentials; a key that spanned lines leaves the numbers of the others true."""
        spans = None
        if self.text.count("\n") != redaction.text.count("\n"):
            spans = _line_spans(self.text.split("\n"), redaction.text.split("\n"))
        return replace(self, text=redaction.text, masked=redaction.counts, spans=spans)


def read_document(file: InputFile) -> tuple[Document, list[Row]]:
    """The cleaned text of a file, and what was odd about its bytes."""
    text, findings = decode(file)
    return Document(file.label, clean(text)), findings


def as_markdown(document: Document) -> Document:
    """A document of code or data as Markdown: fenced pieces of whole top-level parts; Markdown stays as it is.

    A document is Markdown unless the suffix of its name says otherwise. Line numbers stay true.
    """
    suffix = PurePosixPath(document.label).suffix.lower().removeprefix(".")
    if suffix in _MARKDOWN:
        return document
    lines: list[str] = []
    spans: list[tuple[int, int]] = []
    for first, end in _pieces(document.text.split("\n")):
        inside = document.text.split("\n")[first:end]
        fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall("\n".join(inside))), default=0))
        lines += [f"{fence}{suffix}", *inside, fence, ""]
        numbers = [(document.line(index), document.line(index, last=True)) for index in range(first, end)]
        spans += [numbers[0], *numbers, numbers[-1], numbers[-1]]
    return replace(document, text="\n".join(lines), spans=tuple(spans))


def _pieces(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines, from first to before end, each beginning where a line without indent follows a blank one."""
    first = size = 0
    for place, line in enumerate(lines):
        begins = bool(line) and not line[0].isspace() and place > 0 and not lines[place - 1].strip()
        if size and (size > _LONGEST_PIECE or (begins and size > _LONGEST_PIECE // 2)):
            yield from _trimmed(lines, first, place)
            first, size = place, 0
        size += len(line) + 1
    yield from _trimmed(lines, first, len(lines))


def _trimmed(lines: list[str], first: int, end: int) -> Iterator[tuple[int, int]]:
    while first < end and not lines[first].strip():
        first += 1
    while end > first and not lines[end - 1].strip():
        end -= 1
    if first < end:
        yield first, end


def _line_spans(before: list[str], after: list[str]) -> tuple[tuple[int, int], ...]:
    """First and last line (from 1) in `before` of each line in `after`."""
    spans: list[tuple[int, int]] = []
    for kind, start, end, first, stop in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            spans += [(line + 1, line + 1) for line in range(start, end)]
        else:
            bottom = max(end, start + 1)
            for index in range(stop - first):
                line = min(start + index + 1, bottom)
                spans.append((line, bottom if first + index == stop - 1 else line))
    return tuple(spans)

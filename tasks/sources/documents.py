"""Documents: Markdown files as cleaned text, whose lines still count as they do in the file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from tasks.sources.files import InputFile, decode
from tasks.sources.masking import MARKER
from tasks.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markdown_it.token import Token

    from tasks.credentials import Redaction
    from tasks.sources.findings import Row


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """CommonMark with tables, down to blocks and headings: what stands inside a paragraph is left as it is."""
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

"""The part of a long text that a brief can hold: whole blocks of Markdown from its beginning."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from tasks.sources.plans.parsed import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markdown_it.token import Token

#: Characters of what stands in a task's brief, which no budget may cut.
BRIEF = 2000

#: Acceptance criteria in a brief.
MOST_CRITERIA = 30

_CODE = ("fence", "code_block", "html_block")
_KEY = re.compile(r"-----BEGIN [^\n]*-----.*?(?:-----END [^\n]*-----|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)\]*_]*\s+|[。！？][」』）]*")
_WORD = re.compile(r"\s+|[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff](?=[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff])")
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_INDENTED = re.compile(r" {4}|\t")


def brief_part(text: str, most: int = BRIEF) -> tuple[str, str]:
    """The beginning of a cleaned Markdown text, of at most `most` characters, and the rest; nothing is lost between.

    The cut lies between two blocks of the top level, and never below a heading. Where the first block alone is longer,
    it lies between its inner blocks, its lines, its sentences or its words, whichever first leaves half of the room or
    more. Code is never cut, nor is a key; where the text begins with a longer piece of it, the beginning is empty.
    """
    text = _BLANK_LINES.sub("", text).rstrip()
    if len(text) <= most:
        return text, ""
    lines = text.split("\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
    tokens = [token for token in parsed(text) if token.map is not None and token.map[0] < len(lines)]
    keys = [found.span() for found in _KEY.finditer(text)]
    cut = max(_fitting(_between_blocks(tokens, offsets), text, most, keys), default=0)
    if not cut:
        code = [(offsets[first], offsets[min(end, len(lines))]) for first, end in _maps(tokens, _CODE)]
        cut = _inner_cut(text, tokens, offsets, most, [*keys, *code])
    return text[:cut].rstrip(), _BLANK_LINES.sub("", text[cut:])


def brief_criteria(lines: Sequence[str], most: int = BRIEF) -> tuple[list[str], str]:
    """The first criteria, at most 30 and `most` characters in all, and the rest as a Markdown list with its title."""
    ends = accumulate(map(len, lines))
    count = sum(end <= most and index < MOST_CRITERIA for index, end in enumerate(ends))
    rest = [f"- {line}" for line in lines[count:]]
    return list(lines[:count]), "\n".join(["Acceptance criteria:", "", *rest]) if rest else ""


def _maps(tokens: Iterable[Token], types: Sequence[str]) -> list[tuple[int, int]]:
    return [(token.map[0], token.map[1]) for token in tokens if token.map is not None and token.type in types]


def _between_blocks(tokens: Iterable[Token], offsets: Sequence[int]) -> list[int]:
    """Where a block of the top level begins that does not stand right below a heading."""
    cuts: list[int] = []
    below_heading = False
    for token in tokens:
        if token.level == 0 and token.map is not None and token.nesting >= 0:
            if not below_heading:
                cuts.append(offsets[token.map[0]])
            below_heading = token.type == "heading_open"
    return cuts


def _fitting(cuts: Iterable[int], text: str, most: int, whole: Iterable[tuple[int, int]]) -> list[int]:
    """The cuts that leave text before them, not too much of it, and no piece that must stay whole in two."""
    spans = list(whole)
    return [
        cut
        for cut in cuts
        if 0 < cut < len(text)
        and len(text[:cut].rstrip()) <= most
        and not any(first < cut < end for first, end in spans)
    ]


def _inner_cut(
    text: str, tokens: Iterable[Token], offsets: Sequence[int], most: int, whole: Sequence[tuple[int, int]]
) -> int:
    """Where to cut a text whose first block is too long; 0 where it cannot be cut."""
    starts = [offsets[token.map[0]] for token in tokens if token.map is not None]
    kinds = (
        # A rest that begins with four blanks would read as code.
        [cut for cut in starts if not _INDENTED.match(text, cut)],
        [cut for cut in offsets if not _INDENTED.match(text, cut)],
        [found.end() for found in _SENTENCE.finditer(text, 0, most + 1)],
        [found.end() for found in _WORD.finditer(text, 0, most + 1)],
    )
    best = [max(_fitting(cuts, text, most, whole), default=0) for cuts in kinds]
    return next((cut for cut in best if cut >= most // 2), max(best))

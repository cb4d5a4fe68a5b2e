# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Commit histories: `git log`, in full or one line a commit."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, line_piece, note
from tasks.summaries.signals import EDGE, FACT, FAILURE, NOISE, REST, TROUBLE, rank_of

if TYPE_CHECKING:
    from tasks.summaries.source import Source

COMMIT = re.compile(r"commit ([0-9a-f]{7,64})\b")
SHORT = re.compile(r"[*|/\\ ]*([0-9a-f]{7,12}) (?=\S)")
FIELD = re.compile(r"(Author|Date|Merge|Commit|CommitDate|AuthorDate|Reflog|tag|Tagger):\s+(.*)")
TELLING = re.compile(
    r"(?i)\b(?:revert|hotfix|security|cve-\d|breaking|urgent|rollback|remove|drop|migrat\w*|release|bump)\b|!:"
)


def detect(source: Source) -> bool:
    """Two commit heads or more, the first at the top; or nearly every line a short hash and a subject."""
    heads = [place for place in source.filled[:400] if COMMIT.match(source.lines[place])]
    if len(heads) >= 2 and heads[0] == source.filled[0]:
        return True
    return len(source.filled) >= 4 and source.share(SHORT) >= 0.9


def digest(source: Source) -> Digest:
    """How many commits, by whom; the newest whole; then the subjects that tell most, the others, the oldest."""
    lines = source.lines
    heads = [place for place in source.filled if COMMIT.match(lines[place])]
    if not heads:
        return one_line(source)
    starts = set(heads)
    authors = Counter(
        found[2] for place in source.filled if (found := FIELD.match(lines[place])) and found[1] == "Author"
    )
    pieces = [note(f"{len(heads)} commits", 0.1, -2.0)]
    if len(authors) > 1:
        ordered = sorted(authors.items(), key=lambda one: (-one[1], one[0]))
        more = f" (5 of {len(ordered)} authors shown)" if len(ordered) > 5 else ""
        pieces.append(
            note(f"authors: {', '.join(f'{name} {count}' for name, count in ordered[:5])}{more}", FAILURE, -1.0)
        )
    number = -1
    subject = True
    for place in source.filled:
        line = lines[place]
        is_subject = False
        if place in starts:
            number, subject = number + 1, True
        age = TROUBLE + 0.6 + 0.12 * min(number, 60)
        newest, oldest = number == 0, number == len(heads) - 1
        if place in starts:
            rank = FAILURE - 0.4 if newest else EDGE if oldest else NOISE - 1 + 0.01 * min(number, 50)
        elif FIELD.match(line):
            rank = FAILURE + 0.1 if newest else EDGE + 0.1 if oldest else NOISE
        elif subject:
            subject, is_subject = False, True
            rank = (
                FAILURE - 0.3
                if newest
                else min(TROUBLE + 0.1, age)
                if TELLING.search(line)
                else TROUBLE + 0.5
                if oldest
                else age
            )
            if rank_of(line) <= FAILURE + 0.2:
                rank = min(rank, TROUBLE)
        else:
            rank = TROUBLE if newest else EDGE if rank_of(line) < FACT else REST + 1
        if rank < NOISE:
            pieces.append(replace(line_piece(source, place, rank), units=int(is_subject)))
    return Digest(pieces, "commits", len(heads))


def one_line(source: Source) -> Digest:
    """One line a commit."""
    lines, filled = source.lines, source.filled
    pieces = [note(f"{len(filled)} commits", 0.1, -1.0)]
    for number, place in enumerate(filled):
        rank = TROUBLE + 0.3 + 0.1 * min(number, 90)
        if TELLING.search(lines[place]) or rank_of(lines[place]) <= FAILURE + 0.2:
            rank = FAILURE + 0.05 * min(number, 40)
        if number == 0:
            rank = FAILURE - 0.3
        elif number == len(filled) - 1:
            rank = TROUBLE
        pieces.append(line_piece(source, place, rank, "commits"))
    return Digest(pieces, "commits", len(filled))

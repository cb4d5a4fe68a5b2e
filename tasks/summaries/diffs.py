# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Unified diffs, alone or behind a commit's message, and `--stat` lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, Piece, line_piece, note
from tasks.summaries.signals import EDGE, FAILURE, REST, TROUBLE, rank_of

if TYPE_CHECKING:
    from tasks.summaries.source import Source

FILE = re.compile(r"diff --git |diff -\S+ |Index: |diff --cc ")
HUNK = re.compile(r"@@+ -(\d+)(?:,(\d+))? .*?\+(\d+)(?:,(\d+))? @@+(.*)")
STATE = re.compile(
    r"(?:new file mode|deleted file mode|rename (?:from|to)|copy (?:from|to)|similarity index|old mode|new mode"
    r"|Binary files|GIT binary)"
)
HEADER = re.compile(r"(?:index [0-9a-f]+\.\.|--- |\+\+\+ )")
DECLARED = re.compile(
    r"[+-]\s*(?:export |public |private |async |pub |static )*(?:def|class|function|func|fn|interface|type|struct"
    r"|enum|const|CREATE|ALTER|DROP)\b"
)
TRIVIAL = re.compile(r"[+-]\s*(?:[{}()\[\];,]*|#.*|//.*|\*.*|import .*|from .* import .*|use .*|\"\"\".*)$")


STAT = re.compile(r"\s*(?P<name>\S.*?)\s+\|\s+(?:(?P<count>\d+)(?:\s+[+-]*)?|Bin .*)$")


@dataclass(slots=True)
class File:
    """One file of a diff: the place of its first line, its name, its changed lines and what happened to it."""

    place: int
    name: str
    added: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    hunks: int = 0
    states: list[str] = field(default_factory=list)


def detect(source: Source) -> bool:
    """At least one hunk or file header of a diff among the lines."""
    if "|" in source.text and source.share(STAT) >= 0.6:
        return True
    hunks = files = 0
    for line in source.lines[:20_000]:
        hunks += HUNK.match(line) is not None
        files += line.startswith(("diff --git ", "+++ ", "diff --cc "))
        if hunks and files:
            return True
    return files > 1


def files_of(source: Source) -> tuple[list[File], list[int], list[tuple[int, File]]]:
    """The files, the places of the lines outside any file, and the hunk headers."""
    files: list[File] = []
    outside: list[int] = []
    hunks: list[tuple[int, File]] = []
    old = new = 0
    for place, line in enumerate(source.lines):
        if line.startswith("diff --git "):  # no line of a hunk: its header promised more than there is
            old = new = 0
        if old > 0 or new > 0:
            current = files[-1]
            mark = line[:1]
            if mark == "+":
                current.added.append(place)
                new -= 1
            elif mark == "-":
                current.removed.append(place)
                old -= 1
            elif mark != "\\":
                old, new = old - 1, new - 1
        elif FILE.match(line):
            files.append(File(place, line.rpartition(" b/")[2] if " b/" in line else line.split()[-1]))
        elif (found := HUNK.match(line)) and files:
            old, new = int(found[2] or 1), int(found[4] or 1)
            files[-1].hunks += 1
            hunks.append((place, files[-1]))
        elif line.startswith("+++ "):
            name = line[4:].partition("\t")[0].removeprefix("b/")
            if not files or files[-1].hunks:
                files.append(File(place, name))
        elif STATE.match(line) and files:
            files[-1].states.append(line)
        elif line and not HEADER.match(line):
            outside.append(place)
    return files, outside, hunks


def digest(source: Source) -> Digest:
    """Totals, each file with its counts and fate, then declarations and the small changes before the large."""
    if "|" in source.text and source.share(STAT) >= 0.6:
        return stat_digest(source)
    files, outside, hunks = files_of(source)
    if not files:
        raise ValueError("no file in the diff")
    added, removed = (
        sum(len(part) for part in parts) for parts in zip(*((file.added, file.removed) for file in files), strict=True)
    )
    pieces = [note(f"{len(files)} files changed, +{added} -{removed}, {len(hunks)} hunks", 0.1, -2.0)]
    digest_ = Digest(pieces, "lines", len(source.lines))
    for number, file in enumerate(files):
        fate = f" ({'; '.join(file.states[:3])})" if file.states else ""
        rank = FAILURE + 0.02 * number - (0.4 if file.states else 0)
        pieces.append(
            Piece(
                f"- {file.name}: +{len(file.added)} -{len(file.removed)}{fate}",
                rank,
                file.place,
                None,
                len(file.name),
                0,
                "files",
            )
        )
    digest_.labels["files"] = len(files)
    for place, _ in hunks:
        context = HUNK.match(source.lines[place])
        rank = TROUBLE + 0.9 if context and context[5].strip() else REST + 2
        pieces.append(line_piece(source, place, rank))
    for number, file in enumerate(files):
        pieces += changes_of(source, file, number)
    for order, place in enumerate(outside):
        line = source.lines[place]
        rank = min(rank_of(line), TROUBLE if order < 6 else REST)
        pieces.append(line_piece(source, place, rank if not line.startswith(("commit ", "Author:")) else FAILURE + 0.5))
    digest_.labels["changed lines"] = added + removed
    return digest_


def changes_of(source: Source, file: File, number: int) -> list[Piece]:
    """The changed lines of a file worth showing, those of small changes first."""
    changed = sorted([*file.added, *file.removed])
    small = len(changed) <= 12
    pieces: list[Piece] = []
    rich = 0
    for place in changed[:400]:
        line = source.lines[place]
        if TRIVIAL.match(line):
            rank = REST + 2
        else:
            rank = TROUBLE + 0.3 + (0 if small else 0.7) + 0.07 * rich + 0.05 * min(number, 20)
            if place - 1 in changed and source.lines[place - 1][:1] != line[:1]:
                rank -= 0.15
            if DECLARED.match(line):
                rank -= 0.5
            if line[:1] == "-" and rank_of(line[1:]) < EDGE:
                rank -= 0.1
            rich += 1
        pieces.append(line_piece(source, place, max(rank, FAILURE + 0.4), "changed lines"))
    return pieces


def stat_digest(source: Source) -> Digest:
    """`--stat` lines: the totals, then the files that changed most, the first and the last."""
    rows: list[tuple[int, int]] = []
    pieces: list[Piece] = []
    for place in source.filled:
        if found := STAT.match(source.lines[place]):
            rows.append((int(found["count"] or 0), place))
        else:
            pieces.append(line_piece(source, place, min(rank_of(source.lines[place]), TROUBLE)))
    pieces.append(note(f"{len(rows)} files", 0.1, -1.0))
    for order, (_, place) in enumerate(sorted(rows, key=lambda row: (-row[0], row[1]))[:200]):
        edge = place in (rows[0][1], rows[-1][1])
        rank = FAILURE + 0.2 + 0.2 * order
        pieces.append(line_piece(source, place, min(rank, EDGE) if edge else rank, "files"))
    whole = Digest(pieces, "files", len(rows))
    whole.labels["files"] = len(rows)
    return whole

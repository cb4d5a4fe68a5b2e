# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Pieces of a summary, and which of them enter: by rank, within the room, in the source's own order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.summaries.signals import NOISE, REST, rank_of
from tasks.summaries.source import Room, Source, byte_length, tokens_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LINE_LIMIT = 260  # characters; a longer line keeps the clauses that matter, or is withheld whole
GAP = "[...]"
CLAUSE = re.compile(
    r"(?<=[;.!?。；！？])\s+|(?<=,)\s+|(?<=[。；！？])|(?<!\s)\s+(?=[\w.-]+=)|(?<!\s)\s+\|\s+|(?<!\s)\s*<br\s*/?>\s*"
)
BREAKS = re.compile(r"[;.!?。；！？,=|<]")  # no clause and no sentence ends without one
MEANING = re.compile(r"[^\W_]")
FILLED = 0.6  # of the room that ordinary lines may take it up to
FENCE = re.compile(r"\s{0,3}(?:`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Piece:
    """One line of a summary.

    `rank` says how early it is kept (low first), `place` where it stands, `line` which source line it repeats
    (None for a line of our own), `size` how many of the source's bytes it gives, `units` how many of its units,
    `label` what it counts under when a list is shortened.
    """

    text: str
    rank: float
    place: float
    line: int | None = None
    size: int = 0
    units: int = 0
    label: str = ""


@dataclass(slots=True)
class Digest:
    """What a shape found: pieces, and what the source counts in (`unit`, in the plural, and how many of them)."""

    pieces: list[Piece]
    unit: str = "lines"
    units: int = 0
    labels: Counter[str] = field(default_factory=Counter)


def note(text: str, rank: float = 0.0, place: float = -1.0) -> Piece:
    """A line of our own: counts, mostly; at the top unless told otherwise."""
    return Piece(text, rank, place)


def line_piece(source: Source, place: int, rank: float, label: str = "", text: str | None = None) -> Piece:
    """A source line, verbatim if it is not over-long."""
    line = source.lines[place]
    shown = fit(line if text is None else text)
    return Piece(shown, rank, place, place, min(byte_length(line), byte_length(shown)) + 1, 1, label)


def graded(pieces: Iterable[Piece], rank: float, slope: float) -> list[Piece]:
    """Pieces of one kind: the first, the last, then the others, each a little lower in rank than the one before.

    The slope lets the first of the next kind enter before the twentieth of this one.
    """
    ordered = list(pieces)
    if len(ordered) > 2:
        ordered[1:1] = [ordered.pop()]
    return [
        Piece(piece.text, rank + slope * index, piece.place, piece.line, piece.size, piece.units, piece.label)
        for index, piece in enumerate(ordered)
    ]


def fit(line: str, limit: int = LINE_LIMIT) -> str:
    """A line within the limit: as it is, or its weightiest clauses, or, where it has none, its length alone."""
    if len(line) <= limit:
        return line
    withheld = f"<line, {len(line)} characters>"
    parts = clauses(line)
    if len(parts) < 2:
        return withheld
    order = sorted(range(len(parts)), key=lambda index: (0 if index == 0 else rank_of(parts[index]), index))
    kept: set[int] = set()
    left = limit - 40
    for index in order[:400]:
        if len(parts[index]) + 7 <= left:
            kept.add(index)
            left -= len(parts[index]) + 7
    if not kept:
        return withheld
    shown: list[str] = []
    last = -1
    for index in sorted(kept):
        if index != last + 1:
            shown.append(GAP)
        shown.append(parts[index])
        last = index
    return f"{' '.join(shown)} <of {len(line)} characters>"


def clauses(line: str) -> list[str]:
    """A long line at its clause ends; a quoted value is never parted."""
    if not BREAKS.search(line):
        return [line] if line.strip() else []
    parts: list[str] = []
    start = quotes = counted = 0
    for found in CLAUSE.finditer(line):
        quotes += line.count('"', counted, found.start())
        counted = found.start()
        if quotes % 2 == 0 and found.start() > start:
            parts.append(line[start : found.start()])
            start = found.end()
    if start < len(line):
        parts.append(line[start:])
    return [part for part in parts if part.strip()]


def lines_by(
    source: Source, ranker: Callable[[str], float] = rank_of, slope: float = 0.06, places: Sequence[int] | None = None
) -> list[Piece]:
    """A piece for each line worth one, ranked by what it says, with a slope among those of one rank."""
    ranks: dict[float, list[int]] = {}
    seen: dict[str, float] = {}
    for place in source.filled if places is None else places:
        line = source.lines[place]
        if FENCE.match(line):
            continue
        rank = seen.get(line)
        if rank is None:
            rank = seen[line] = ranker(line)
        elif rank < REST:
            continue
        ranks.setdefault(rank, []).append(place)
    pieces: list[Piece] = []
    for rank, found in sorted(ranks.items()):
        some = found if len(found) <= 120 else [*found[:80], *found[-40:]]
        pieces += graded((line_piece(source, place, rank) for place in some), rank, slope)
    return pieces


def choose(digest: Digest, room: Room) -> list[Piece]:
    """The pieces that enter, in the order in which they stand; one that does not fit is skipped, not cut."""
    chosen: list[Piece] = []
    seen: set[str] = set()
    tokens, characters = room.tokens, room.characters
    reserved = room.tokens * (1 - FILLED)
    for piece in sorted(digest.pieces, key=lambda piece: (piece.rank, piece.place, piece.text)):
        if not MEANING.search(piece.text) or (piece.line is not None and piece.text in seen):
            continue
        if piece.rank >= NOISE or (piece.rank >= REST and tokens < reserved):
            break
        if characters < 8 or tokens < 3:
            break
        cost = tokens_in(piece.text) + 1
        if cost <= tokens and len(piece.text) + 1 <= characters:
            chosen.append(piece)
            seen.add(piece.text)
            tokens -= cost
            characters -= len(piece.text) + 1
    chosen.sort(key=lambda piece: (piece.place, piece.rank, piece.text))
    return with_gaps(chosen, tokens, characters)


def with_gaps(chosen: list[Piece], tokens: float, characters: int) -> list[Piece]:
    """The pieces with a mark wherever source lines were left out between two, where there is room for all marks."""
    marked: list[Piece] = []
    before: int | None = None
    for piece in chosen:
        if before is not None and piece.line is not None and piece.line > before + 1:
            marked.append(Piece(GAP, REST, piece.place))
        marked.append(piece)
        before = piece.line if piece.line is not None else before
    gaps = len(marked) - len(chosen)
    fits = gaps <= max(4, len(chosen) // 3) and gaps * 4 <= tokens and gaps * (len(GAP) + 1) <= characters
    return marked if fits else chosen


def shortened(digest: Digest, chosen: list[Piece]) -> list[str]:
    """For each label whose pieces are not all shown, how many of how many are."""
    if not digest.labels:
        return []
    shown = Counter(piece.label for piece in chosen if piece.label)
    return [
        f"{label}: {shown[label]} of {total} shown"
        for label, total in sorted(digest.labels.items())
        if shown[label] < total
    ]

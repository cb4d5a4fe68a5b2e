# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Hits of a search in files: `grep -n`, `rg`, `git grep`, in lines or under headings."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, Piece, line_piece, note
from tasks.summaries.signals import EDGE, FAILURE, NOISE, REST, STATUS, TROUBLE, is_total, rank_of, severity

if TYPE_CHECKING:
    from tasks.summaries.source import Source

HIT = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^\s:|\"'(){}<>=,;][^:"
    r"|\"'(){}<>=,;]*?)(?P<mark>[:-])(?P<line>\d+)(?P=mark)(?:\d+(?P=mark))?(?P<text>.*)"
)
FILE_HIT = re.compile(r"(?P<path>(?:\.{0,2}/)?[\w@.-]+(?:/[\w@.+-]+)*\.\w{1,8}):(?P<text>\s*\S.*)")
UNDER = re.compile(r"(?P<line>\d+)(?P<mark>[:-])(?:\d+:)?(?P<text>.*)")
DEFINED = re.compile(
    r"\s*(?:export |public |private |protected |async |static |pub |default )*(?:def|class|function|func|fn"
    r"|interface|type|struct|enum|trait|const|CREATE TABLE|resource)\b"
)


def detect(source: Source) -> bool:
    """Most lines are `path:number:text`, or `number:text` below paths."""
    sample = source.sample
    if len(sample) < 3:
        return False
    hits = source.share(HIT)
    under = source.share(UNDER)
    return (
        hits >= 0.6
        or (under >= 0.6 and hits < 0.3 and any("/" in line or "." in line for line in sample[:1]))
        or source.share(FILE_HIT) >= 0.85
    )


def digest(source: Source) -> Digest:
    """Hits and files counted; of each file the first hit, declarations before uses, and whatever speaks of failure."""
    lines = source.lines
    headed = source.share(HIT) < 0.5 and source.share(UNDER) >= 0.5
    pattern = HIT if source.share(HIT) >= 0.5 else FILE_HIT
    files: Counter[str] = Counter()
    pieces: list[Piece] = []
    path = ""
    heading = -1
    hits = 0
    for place in source.filled:
        line = lines[place]
        found = (UNDER if headed else pattern).match(line[:2_000])
        if found is None:
            if headed and not is_total(line):
                path, heading = line.strip(), place
            elif line != "--":
                pieces.append(line_piece(source, place, STATUS + 0.2 if is_total(line) else min(rank_of(line), EDGE)))
            continue
        text = found["text"]
        path = path if headed else found["path"]
        if "mark" in found.groupdict() and found["mark"] == "-":
            pieces.append(line_piece(source, place, NOISE))
            continue
        hits += 1
        files[path] += 1
        rank = hit_rank(text, files[path], len(files))
        pieces.append(line_piece(source, place, rank, "hits"))
        if headed and files[path] == 1 and heading >= 0:
            pieces.append(line_piece(source, heading, rank - 0.01))
    ordered = sorted(files.items(), key=lambda one: (-one[1], one[0]))
    pieces.append(note(f"{hits} hits in {len(files)} files", 0.1, -2.0))
    limit = 8
    shown = ", ".join(f"{name} {count}" for name, count in ordered[:limit])
    of = f" ({limit} of {len(ordered)} files shown)" if len(ordered) > limit else ""
    if len(files) > 1:
        pieces.append(note(f"by file: {shown}{of}", FAILURE, -1.0))
    whole = Digest(pieces, "hits", hits)
    whole.labels["hits"] = hits
    return whole


def hit_rank(text: str, hit_of_file: int, file: int) -> float:
    """How early a hit is kept."""
    rank = TROUBLE + 0.4 if hit_of_file == 1 else REST - 1 + min(hit_of_file, 20) * 0.1
    rank += min(file, 40) * 0.03
    if DEFINED.match(text):
        rank -= 0.9 if hit_of_file < 4 else 0.5
    if severity(text[:400]) < REST:
        rank -= 0.4
    return max(rank, FAILURE + 0.1)

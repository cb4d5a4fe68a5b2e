# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""What compilers, type checkers and linters say: tsc, ESLint, Ruff, mypy, gcc, clang, rustc, javac, go vet."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, Piece, graded, line_piece, note
from tasks.summaries.signals import FACT, FAILURE, NOISE, REST, STATUS, TROUBLE, WARNING, is_total, rank_of

if TYPE_CHECKING:
    from tasks.summaries.source import Source

AT = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^\s:()\[\]|]+\.?[^\s:()\[\]|]*)(?:\((?P<line>\d+)(?:,\d+)?\)"
    r"|:(?P<line2>\d+)(?::\d+)?)\s*[:-]?\s+"
    r"(?:(?P<level>fatal error|error|warning|note|info|hint|style|refactor|convention|E|W|C|R|F)\b:?\s*)?(?P<rest>\S.*)"
)
UNDER = re.compile(r"\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<level>error|warning|info)\s+(?P<rest>\S.*)")
RUST = re.compile(r"(?P<level>error|warning)(?:\[(?P<code>[A-Z]+\d+|[\w:]+)\])?: (?P<rest>\S.*)")
RUST_AT = re.compile(r"\s*-->? (?P<path>\S+?):(?P<line>\d+):\d+")
RUFF = re.compile(r"(?P<code>[A-Z]{1,5}\d{3,4}) (?:\[\*\] )?(?P<rest>\S.*)")
CLOSES = re.compile(
    r"error: (?:could not compile|aborting)|warning: .* generated \d+ warning|error: test failed|\d+ errors? generated"
)
CODE = re.compile(
    r"\b(TS\d{3,5}|[A-Z]{1,5}\d{3,4})\b|\[(-W[\w=-]+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-z]{3,}-?[a-z]*|[EW]\d{4})\]$"
    r"|(?<=\s\s)(@?[a-z][\w/-]*[a-z])$"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One message: where it stands in the source, its level, its code and the file it is about."""

    place: int
    level: str
    code: str
    path: str


def messages(source: Source, places: list[int]) -> list[Said]:
    """The messages among the lines at these places."""
    found: list[Said] = []
    path = ""
    for place in places:
        line = source.lines[place][:600]
        if CLOSES.match(line):
            continue
        if match := UNDER.match(line):
            found.append(Said(place, match["level"], code_of(match["rest"]), path))
        elif match := RUST.match(line):
            found.append(Said(place, match["level"], match["code"] or "", ""))
        elif (match := RUST_AT.match(line)) and found:
            if not found[-1].path:
                found[-1] = Said(found[-1].place, found[-1].level, found[-1].code, match["path"])
        elif match := AT.match(line):
            level = {"fatal error": "error", "E": "error", "F": "error", "W": "warning"}.get(
                match["level"] or "", match["level"] or ""
            )
            code = code_of(match["rest"]) or ("" if match["level"] not in ("E", "F", "W", "C", "R") else match["level"])
            if level or code:
                found.append(Said(place, level or "error", code, match["path"]))
        elif match := RUFF.match(line):
            found.append(Said(place, "error", match["code"], ""))
        elif line and not line[0].isspace() and re.match(r"(?:/|\./|[\w@-]+/|[A-Za-z]:\\)?\S*\.\w{1,5}$", line):
            path = line.strip()
    return found


def code_of(rest: str) -> str:
    """The rule or error code of a message."""
    match = CODE.search(rest)
    return next((group for group in match.groups() if group), "") if match else ""


def detect(source: Source) -> bool:
    """Three messages or more, on a fair part of the lines."""
    probe = source.filled if len(source.filled) <= 600 else [*source.filled[:400], *source.filled[-200:]]
    found = messages(source, probe)
    located = sum(1 for one in found if one.path or one.code)
    arrows = sum(1 for place in probe if RUST_AT.match(source.lines[place]))
    return located >= 2 and ((arrows >= 2 and len(found) * 25 >= len(probe)) or len(found) * 12 >= len(probe))


def digest(source: Source) -> Digest:
    """Counts by level, code and file; closing lines; then errors, one of each code before the second of any."""
    found = messages(source, source.filled)
    said = {one.place for one in found}
    levels = Counter(one.level for one in found)
    codes = Counter(one.code for one in found if one.code)
    paths = Counter(one.path for one in found if one.path)
    pieces = [
        note(
            f"messages: {', '.join(f'{level} {count}' for level, count in sorted(levels.items()))}; {len(paths)} files",
            0.2,
            -3.0,
        )
    ]
    if len(found) > 3 and codes:
        pieces.append(note(f"codes: {tallied(codes, 8)}", FAILURE - 0.2, -2.0))
    if len(found) > 5 and len(paths) > 1:
        pieces.append(note(f"files: {tallied(paths, 4)}", TROUBLE, -1.0))
    seen: Counter[tuple[str, str]] = Counter()
    groups: dict[float, list[Piece]] = {}
    for one in found[:5_000]:
        again = seen[one.level, one.code]
        seen[one.level, one.code] += 1
        base = FAILURE if one.level == "error" else WARNING if one.level == "warning" else REST
        rare = 0 if codes[one.code] <= max(1, len(found) // 25) else 0.15
        rank = base + rare + min(again, 8) * 0.25
        groups.setdefault(rank, []).append(line_piece(source, one.place, rank, "messages"))
        near = nearest_path(source, one)
        if near is not None:
            groups.setdefault(rank + 0.04, []).append(line_piece(source, near, rank + 0.04))
    for rank, group in groups.items():
        pieces += graded(group if len(group) <= 100 else [*group[:70], *group[-30:]], rank, 0.07)
    for place in source.filled:
        line = source.lines[place]
        if place not in said and len(pieces) < 6_000:
            pieces.append(line_piece(source, place, around(line, last=place in source.filled[-3:])))
    whole = Digest(pieces, "lines", len(source.lines))
    whole.labels["messages"] = len(found)
    return whole


def around(line: str, *, last: bool) -> float:
    """The rank of a line that is no message: closing counts first, code frames last."""
    if (is_total(line) or last) and not line.strip(" |^~-=_").isdigit():
        return (
            STATUS + 0.3
            if any(character.isdigit() for character in line) and (last or not line[:1].isspace())
            else FAILURE + 0.6
        )
    if line[:1].isspace() or line[:1] in "|^~":
        return NOISE
    return min(rank_of(line) + 0.2, FACT + 1.5)


def nearest_path(source: Source, one: Said) -> int | None:
    """The line that names the file of a message which does not name it itself."""
    line = source.lines[one.place]
    if UNDER.match(line):
        for place in range(one.place - 1, max(-1, one.place - 200), -1):
            above = source.lines[place]
            if above and not above[0].isspace():
                return place
    if RUST.match(line) or RUFF.match(line):
        for place in range(one.place + 1, min(len(source.lines), one.place + 4)):
            if RUST_AT.match(source.lines[place]):
                return place
    return None


def tallied(counts: Counter[str], limit: int) -> str:
    """The commonest of the counted, and how many more there are."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    shown = ", ".join(f"{name} x{count}" for name, count in ordered[:limit])
    return shown if len(ordered) <= limit else f"{shown} ({limit} of {len(ordered)} shown)"

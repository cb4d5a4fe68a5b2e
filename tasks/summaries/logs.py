# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
# ruff: noqa: SIM905 - word lists read best as text
"""Logs: of services, of web servers, of machines; and any output with a time or a level on its lines."""

from __future__ import annotations

import re
from collections import Counter

from tasks.summaries.pieces import Digest, Piece, fit, graded, note
from tasks.summaries.signals import (
    EDGE,
    EXCEPTION,
    FAILURE,
    NOISE,
    REST,
    TROUBLE,
    WARNING,
    is_total,
    rank_of,
    severity,
    template,
)
from tasks.summaries.source import Source, byte_length

TIME = (
    r"[\[(]?(?:\w+=)?\"?(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d(?::\d\d)?[\d.,:Z+-]*|\d\d:\d\d:\d\d[.,\d]*"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:[A-Z][a-z]{2}) [ \d]?\d [\d:]{8}|[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d"
    r"|\d\d[-/.](?:\d\d|[A-Z][a-z]{2})[-/.]\d{2,4}[T :]\d\d:\d\d|\[\s*\d+\.\d{6}\]|\d{10}(?:\d{3})?\b)\"?[\])]?"
)
STAMPED = re.compile(
    rf"(?:[\w.-]+\s*\|\s*)?(?:[\w./-]+\s+)?{TIME}|.{{0,60}}?\[{TIME}|(?:\[?(?:FATAL|CRITICAL|ERROR|WARN|WARNING"
    rf"|INFO|DEBUG|TRACE|NOTICE)\]?[:\s])|time=|ts=|level="
)
LEVEL = re.compile(
    r"(?<![A-Za-z0-9_-])(?:(FATAL|CRITICAL|CRIT|EMERG|ALERT|PANIC|ERROR|ERR|SEVERE|WARNING|WARN|NOTICE|INFO|DEBUG"
    r"|TRACE|FINE)(?![A-Za-z0-9_-])"
    r"|level=\"?([a-z]+)|[\[<(](fatal|critical|crit|emerg|alert|error|err|warning|warn|notice|info|debug"
    r"|trace)[\]>)]|(?<=\s)(error|warning|warn|info|debug|fatal):\s)"
)
KLOG = re.compile(r"([IWEF])\d{4} \d\d:\d\d:\d\d")
ACCESS = re.compile(r"\S+ \S+ \S+ \[[^\]]+\] \"([A-Z]+) (\S+)[^\"]*\" (\d{3}) ")
SAME = {"ERR": "ERROR", "WARNING": "WARN", "CRIT": "CRITICAL", "EMERG": "CRITICAL", "SEVERE": "ERROR"}
LEVEL_RANK = {
    "FATAL": FAILURE - 0.2,
    "CRITICAL": FAILURE - 0.2,
    "PANIC": FAILURE - 0.2,
    "ALERT": FAILURE - 0.2,
    "ERROR": FAILURE,
    "WARN": WARNING - 0.4,
}
ORDER = ["FATAL", "PANIC", "CRITICAL", "ALERT", "ERROR", "WARN", "NOTICE", "INFO", "DEBUG", "TRACE"]
FRAME = re.compile(r"\s+at |\s+File \"|\s+\.\.\. \d+ (?:more|common)|\s*\^|goroutine \d|\s+\d+: ")
STEADY = frozenset("INFO DEBUG TRACE".split())


def detect(source: Source) -> bool:
    """A third of the lines begin with a time or a level."""
    return len(source.filled) >= 2 and source.share(STAMPED) >= 0.33


def level_of(line: str) -> str:
    """The level that a line names, in capitals; empty if it names none."""
    found = LEVEL.search(line[:160])
    if found:
        name = (found[1] or found[2] or found[3] or found[4]).upper()
        return SAME.get(name, name)
    if klog := KLOG.match(line):
        return {"I": "INFO", "W": "WARN", "E": "ERROR", "F": "FATAL"}[klog[1]]
    return ""


def rank_in_log(line: str, level: str) -> float:
    """How early a log line is kept, from its level first, then from its words."""
    if found := ACCESS.match(line):
        return {"5": FAILURE, "4": WARNING}.get(found[3][0], REST)
    said = severity(line[:2_000])
    if level in LEVEL_RANK:
        return LEVEL_RANK[level] + (0.0 if said <= FAILURE or level == "WARN" else 0.1)
    if not level and EXCEPTION.match(line):
        return FAILURE - 0.1
    if not level and FRAME.match(line):
        return NOISE
    if said == FAILURE:
        return TROUBLE if level in STEADY else FAILURE + 0.2
    if said < REST:
        return WARNING + 0.5 if level in STEADY else said
    if level in STEADY or level == "NOTICE":
        return REST
    return min(max(rank_of(line), TROUBLE + 0.4), REST)


class Fold:
    """Lines alike but for their numbers."""

    __slots__ = ("count", "first", "last", "level", "rank")

    def __init__(self, place: int, level: str, rank: float) -> None:
        self.first = self.last = place
        self.count = 1
        self.level = level
        self.rank = rank


def digest(source: Source) -> Digest:
    """Counts by level; lines alike folded; the gravest, the rarest, the first and the last of them."""
    lines, filled = source.lines, source.filled
    folds: dict[tuple[str, ...], Fold] = {}
    levels: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for place in filled:
        line = lines[place]
        access = ACCESS.match(line)
        if access:
            codes[access[3]] += 1
            key: tuple[str, ...] = (access[1], template(access[2].partition("?")[0]), access[3])
        else:
            key = (template(line[:400]),)
        known = folds.get(key)
        if known is None:
            level = level_of(line)
            folds[key] = known = Fold(place, level, rank_in_log(line, level))
        else:
            known.count += 1
            known.last = place
        if known.level:
            levels[known.level] += 1
    pieces = counts_of(levels, codes, len(filled))
    edges = {filled[0]: EDGE - 0.6, filled[-1]: FAILURE + 0.35, **({filled[-2]: EDGE} if len(filled) > 2 else {})}
    groups: dict[float, list[Fold]] = {}
    for fold in folds.values():
        rank = fold.rank
        if REST <= rank < NOISE:
            rank += -0.8 if fold.count == 1 and len(folds) < len(filled) / 4 else min(1.0, fold.count / len(filled))
            if is_total(lines[fold.first][-120:]):
                rank -= 0.3
        groups.setdefault(round(min(rank, edges.get(fold.first, rank)), 2), []).append(fold)
    begins = {fold.first for fold in folds.values()}
    pieces += [plain(source, place, rank) for place, rank in edges.items() if place not in begins]
    for rank, group in sorted(groups.items()):
        some = group if len(group) <= 120 else [*group[:80], *group[-40:]]
        pieces += graded((folded(source, fold, rank) for fold in some), rank, 0.1)
    pieces += after_exceptions(source)
    return Digest(pieces, "lines", len(lines))


def plain(source: Source, place: int, rank: float) -> Piece:
    """A line as it stands."""
    line = fit(source.lines[place])
    return Piece(line, rank, place, place, byte_length(line) + 1, 1)


def folded(source: Source, fold: Fold, rank: float) -> Piece:
    """A line with the number of those alike before it."""
    line = fit(source.lines[fold.first])
    text = line if fold.count == 1 else f"x{fold.count} {line}"
    return Piece(text, rank, fold.first, fold.first, byte_length(line) + 1, 1)


def counts_of(levels: Counter[str], codes: Counter[str], lines: int) -> list[Piece]:
    """How many lines have each level, or each answer of a web server."""
    pieces: list[Piece] = []
    if levels:
        names = sorted(levels, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
        pieces.append(
            note(f"levels: {', '.join(f'{name} {levels[name]}' for name in names[:10])} (of {lines} lines)", 0.1)
        )
    if codes:
        pieces.append(
            note(
                f"status: {', '.join(f'{code} x{codes[code]}' for code in sorted(codes)[:14])} (of {lines} lines)", 0.1
            )
        )
    return pieces


def after_exceptions(source: Source) -> list[Piece]:
    """For the first few exceptions, the frame next to each."""
    pieces: list[Piece] = []
    for place in source.filled:
        line = source.lines[place]
        if line[:1].isspace() or len(pieces) >= 6:
            continue
        if EXCEPTION.match(line):
            for near in (place + 1, place - 2, place - 1):
                if 0 <= near < len(source.lines) and re.match(r"\s+(?:at |File \")", source.lines[near]):
                    pieces.append(plain(source, near, TROUBLE + 0.1 * len(pieces)))
                    break
    return pieces

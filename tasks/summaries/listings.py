# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
"""Listings of files: `ls -l`, `find`, `tree`, `git status --short`, archives."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tasks.summaries.pieces import Digest, Piece, graded, line_piece, note
from tasks.summaries.signals import FACT, FAILURE, REST, STATUS, TROUBLE, WARNING, is_total, severity

if TYPE_CHECKING:
    from tasks.summaries.source import Source

LONG = re.compile(
    r"\s*(?:\d+\s+)?(?P<mode>[bcdlps-][rwxsStT-]{9})[.+@]?\s+(?:\d+\s+)?\S+(?:\s+"
    r"|/)\S+\s+(?P<size>[\d.,]+[KMGT]?)\s+(?P<rest>\S.*)"
)
TREE = re.compile(r"[\s│|]*(?:├──|└──|\|--|`--|\+--)\s*(?P<name>.*\S)")
PATH = re.compile(r"(?:\./|\.\./|/|~/)?(?:[^\s/:|<>\"'(){}=,;]+/)*[^\s/:|<>\"'(){}=,;]+/?$|\.{1,2}$")
TOTAL = re.compile(r"total \d|\d+ director(?:y|ies)|\s*\d+ files?\b")
ODD = re.compile(
    r"(?:^|/)(?:\.env(?:\.\w+)?|core(?:\.\d+)?|id_rsa|Dockerfile|Makefile|package\.json|pyproject\.toml|go\.mod"
    r"|Cargo\.toml)$"
    r"|\.(?:pem|key|orig|rej|bak|swp|lock|core|dump|sqlite3?|db|log|tmp|crash|p12|keystore|sql|hprof)$|~$",
    re.IGNORECASE,
)


def detect(source: Source) -> bool:
    """Nearly all lines are entries."""
    if len(source.sample) < 5:
        return False
    long, tree = source.share(LONG), source.share(TREE)
    if long >= 0.6 or tree >= 0.6:
        return True
    paths = sum(1 for line in source.sample if "/" in line and PATH.match(line))
    names = sum(1 for line in source.sample if PATH.match(line))
    return paths * 10 >= len(source.sample) * 5 and names * 100 >= len(source.sample) * 80


def name_of(line: str) -> str:
    """The path or name of an entry."""
    if found := LONG.match(line):
        rest = found["rest"].partition(" -> ")[0]
        return re.sub(
            r"^(?:[A-Z][a-z]{2} +\d+ +[\d:]+|\d{4}-\d\d-\d\d +[\d:.]+(?: [+-]\d{4})?|\d+ +[A-Z][a-z]{2} +[\d:]+) +",
            "",
            rest,
        )
    if found := TREE.match(line):
        return re.sub(r"^\[[^\]]*\]\s+", "", found["name"]).partition(" -> ")[0]
    return line.strip()


def digest(source: Source) -> Digest:
    """How many entries, of which kinds and in which folders; the odd, the largest, the first and the last of them."""
    lines = source.lines
    entries: list[tuple[int, str]] = []
    pieces: list[Piece] = []
    long = source.share(LONG) >= 0.5
    tree = source.share(TREE) >= 0.5
    for place in source.filled:
        line = lines[place]
        if TOTAL.match(line) or (is_total(line) and not LONG.match(line) and not TREE.match(line) and " " in line):
            pieces.append(line_piece(source, place, STATUS + 0.2))
        elif (long and LONG.match(line)) or (tree and TREE.match(line)) or (not long and not tree and PATH.match(line)):
            entries.append((place, name_of(line)))
        else:
            pieces.append(line_piece(source, place, FAILURE if severity(line) < REST else TROUBLE))
    suffixes = Counter(suffix_of(name) for _, name in entries)
    folders = Counter(name.rpartition("/")[0] for _, name in entries if "/" in name.rstrip("/"))
    kinds = Counter(kind_of(lines[place]) for place, _ in entries) if long else Counter()
    counted = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda one: (-one[1], one[0])))
    pieces.append(note(f"{len(entries)} entries{': ' + counted if counted else ''}", 0.1, -3.0))
    if len(entries) > 8:
        pieces.append(note(f"by suffix: {tallied(suffixes, 10)}", FAILURE - 0.1, -2.0))
    if len(folders) > 1:
        pieces.append(note(f"by folder: {tallied(folders, 5)}", TROUBLE - 0.2, -1.0))
    rare = (
        {suffix for suffix, count in suffixes.items() if count <= max(1, len(entries) // 60)}
        if len(suffixes) <= 40
        else set()
    )
    largest = set(by_size(lines, entries)[:2]) if long else set()
    groups: dict[float, list[Piece]] = {}
    for number, (place, name) in enumerate(entries):
        rank = entry_rank(lines[place], name)
        if rank >= REST and place in largest:
            rank = TROUBLE + 0.1
        if rank >= REST and suffix_of(name) in rare:
            rank = TROUBLE + 0.4
        if rank >= REST:
            if number in (0, len(entries) - 1):
                rank = FACT
            elif number > 300:
                continue
        groups.setdefault(rank, []).append(line_piece(source, place, rank, "entries"))
    for rank, group in groups.items():
        ordinary = rank >= REST and len(group) > 12
        some = group[:: max(1, len(group) // 12)] if ordinary else group[:200]
        pieces += graded(some, rank, 0.06)
    whole = Digest(pieces, "entries", len(entries))
    whole.labels["entries"] = len(entries)
    return whole


def entry_rank(line: str, name: str) -> float:
    """How early an entry is kept, by its name and rights alone."""
    found = LONG.match(line)
    base = name.rstrip("/").rpartition("/")[2]
    if severity(line.replace("_", " ")) <= FAILURE and " " in line and not found:
        return FAILURE
    if found and ((found["mode"][8] == "w" and found["mode"][0] != "l") or "s" in found["mode"].lower()[1:]):
        return FAILURE + 0.2
    if ODD.search(base):
        return TROUBLE - 0.3
    if found and found["size"] == "0" and found["mode"][0] == "-":
        return WARNING
    if found and found["mode"][0] == "l":
        return WARNING + 0.2
    if not found and severity(base.replace("_", " ").replace(".", " ").replace("-", " ")) <= FAILURE:
        return WARNING + 0.3
    return REST


def kind_of(line: str) -> str:
    """What an entry of `ls -l` is."""
    found = LONG.match(line)
    return {"d": "folders", "l": "links", "-": "files"}.get(found["mode"][0], "others") if found else "others"


def suffix_of(name: str) -> str:
    """The suffix of a name; a long one is none."""
    base = name.rstrip("/").rpartition("/")[2]
    stem, dot, suffix = base.rpartition(".")
    return f".{suffix}" if dot and stem and len(suffix) <= 10 else "(none)"


def by_size(lines: list[str], entries: list[tuple[int, str]]) -> list[int]:
    """Places of the files, the largest first."""
    scale = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    sized: list[tuple[float, int]] = []
    for place, _ in entries:
        found = LONG.match(lines[place])
        if found and found["mode"][0] == "-":
            digits = found["size"].rstrip("KMGT").replace(",", "")
            if digits.replace(".", "", 1).isdigit():
                sized.append((-float(digits) * scale.get(found["size"][-1], 1), place))
    return [place for _, place in sorted(sized)]


def tallied(counts: Counter[str], limit: int) -> str:
    """The commonest of the counted, and how many of how many they are."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    shown = ", ".join(f"{name} {count}" for name, count in ordered[:limit])
    return shown if len(ordered) <= limit else f"{shown} ({limit} of {len(ordered)} shown)"

"""Enumerations that run on within a line, such as `1. One 2. Two`, as lines of their own."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FIRST = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•][ \t]+)?(?=\(?1[.)][ \t]+\S)")
_STARTS_ENTRY = re.compile(r"[ \t]*(?:[-*+•]|\(?\d{1,3}[.)])[ \t]|[ \t]*$|[ \t]*#")
_MOST = 100  # entries of an enumeration that are looked for within lines
#: Words after which a number is theirs, not the next entry's.
_NUMBERED = frozenset("level node phase point python section stage step task tier version".split())  # noqa: SIM905


def unrolled(lines: Iterable[str]) -> Iterator[str]:
    """Lines, each entry of an enumeration at the beginning of one. It counts from 1, without a gap."""
    count = 0  # the entries so far of the enumeration that is open
    indent = ""
    for line in lines:
        first = _FIRST.match(line)
        if first:
            count, indent = 1, first["indent"]
        elif _STARTS_ENTRY.match(line):
            count = 0
        cuts: list[int] = []
        while 0 < count < _MOST and (cut := _next(line, cuts[-1] if cuts else 0, count + 1)):
            cuts.append(cut)
            count += 1
        if not cuts:
            yield line
            continue
        beginning = line[first.end() if first else 0 : cuts[0]].strip()
        yield f"{indent}{beginning}" if first else line[: cuts[0]].rstrip()
        yield from (f"{indent}{line[cut:end].rstrip()}" for cut, end in pairwise([*cuts, len(line)]))


def _next(line: str, start: int, number: int) -> int | None:
    """Where the entry of that number begins within a line, behind this place."""
    for found in re.finditer(rf"(?<!\S)(\S+)[ \t]+(?=\(?{number}[.)][ \t]+[^\s\d])", line[start:]):
        quoted = line.count("`", 0, start + found.end()) % 2
        if found[1].strip("(*_").lower() not in _NUMBERED and not quoted:
            return start + found.end()
    return None

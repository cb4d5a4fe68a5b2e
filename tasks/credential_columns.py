"""Secrets in tables: the cells under a column that is named after one, in Markdown, CSV and SQL.

Offsets are those of the view that `tasks.credentials` makes of a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LONGEST_LINE: Final = 2_000
_RULE = re.compile(r"[ \t>]{0,8}\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*\r?(?:\n|\Z)")
_HEADER = re.compile(r"[\"'`*_ \t]{0,4}[A-Za-z_][\w \-.]{0,40}[\"'`*_ \t]{0,4}")
_CELL = re.compile(r"[\"'`*_ \t]{0,4}(?P<value>[^\s\"'`](?:[^\n]*[^\s\"'`*])?)[\"'`* \t\r]{0,4}")
_ALIGNED = re.compile(r"[^ \r]+(?: [^ \r]+)*+")
_INSERT = re.compile(r"\((?P<names>[\w`\"\[\]. ,\n\r\t]{3,1000})\)\s{0,20}(?i:values)\s{0,20}(?=\()")
_TUPLE = re.compile(r"\((?P<cells>(?:'[^'\n]{0,500}+'|[^()'\n]{1,100}+){1,60}+)\)\s{0,20}(?P<more>,\s{0,20})?")
_FIELD = re.compile(r"\s*(?:[NE]?'(?P<text>[^'\n]*)'|[^,'\n]*)\s*(?:,|\Z)")


def column_values(
    view: str, telling: Sequence[int], kind: Callable[[str], str | None]
) -> Iterator[tuple[str, int, int]]:
    """(kind of the column's name, start, end) of each cell under such a name. `telling` are the places of names."""
    done = 0 if view.find("\n", telling[0]) >= 0 else len(view)  # of a name on the last line there are no cells
    for place in telling:
        if place < done:
            continue
        start = view.rfind("\n", max(0, place - _LONGEST_LINE), place) + 1
        end = view.find("\n", place, place + _LONGEST_LINE)
        done = end if end >= 0 else place + _LONGEST_LINE
        if end < 0 or (start == 0 and place > _LONGEST_LINE):
            continue
        line = view[start:end]
        mark = next((mark for mark in ("|", "\t", ",", ";", "  ") if mark in line.strip(" ")), None)
        if mark is None:
            continue
        below = end + 1
        if mark == "|":
            rule = _RULE.match(view, below)
            if rule is None:
                continue
            below = rule.end()
        elif len(_split(view[below : view.find("\n", below) % (len(view) + 1)], mark)) != len(_split(line, mark)):
            continue
        columns = [(index, kind(cell)) for index, cell in enumerate(_names(line, mark))]
        named = {index: found for index, found in columns if found}
        if not named:
            continue
        for value in _rows(view, below, mark, len(columns), named):
            done = max(done, value[2])
            yield value


def _split(line: str, mark: str) -> list[tuple[int, str]]:
    """The cells of a line and where each starts in it. The mark of two blanks stands for any number of them."""
    if mark == "  ":
        return [(cell.start(), cell.group()) for cell in _ALIGNED.finditer(line)]
    cells, start = [], 0
    for cell in line.split(mark):
        cells.append((start, cell))
        start += len(cell) + len(mark)
    return cells


def _names(line: str, mark: str) -> list[str]:
    """The names in a line of names; empty if the line is something else."""
    cells = [cell for _, cell in _split(line.rstrip("\r"), mark)]
    if mark == "|":
        return [cell.strip(" \t\"'`*_") for cell in cells]
    if not all(_HEADER.fullmatch(cell) for cell in cells):
        return []
    return [cell.strip(" \t\"'`*_") for cell in cells]


def _rows(view: str, start: int, mark: str, width: int, named: dict[int, str]) -> Iterator[tuple[str, int, int]]:
    """The named cells of the lines that follow, as long as they have as many cells as the line of names."""
    while start < len(view):
        end = view.find("\n", start, start + _LONGEST_LINE)
        line = view[start : end if end >= 0 else start + _LONGEST_LINE]
        cells = _split(line, mark)
        if len(cells) != width:
            return
        for index, kind in named.items():
            place, cell = cells[index]
            found = _CELL.fullmatch(cell)
            if found:
                yield kind, start + place + found.start("value"), start + place + found.end("value")
        if end < 0:
            return
        start = end + 1


def inserted_values(view: str, kind: Callable[[str], str | None]) -> Iterator[tuple[str, int, int]]:
    """The same for the columns that an SQL `INSERT` names."""
    for head in _INSERT.finditer(view):
        names = [name.strip(' \t\r\n`"[]') for name in head["names"].split(",")]
        named = {index: found for index, name in enumerate(names) if (found := kind(name))}
        row = _TUPLE.match(view, head.end()) if named else None
        while row is not None:
            cells = list(_FIELD.finditer(view, row.start("cells"), row.end("cells")))
            for index, cell in enumerate(cells[: len(names)]):
                if index in named and cell["text"]:
                    yield named[index], cell.start("text"), cell.end("text")
            row = _TUPLE.match(view, row.end()) if row["more"] else None

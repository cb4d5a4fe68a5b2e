# ruff: noqa: PLR2004 - thresholds are tuned and read best where they are used
# ruff: noqa: SIM905 - word lists read best as text
"""Rows and columns: CSV, TSV, pipes, psql and MySQL boxes, and columns set apart by spaces."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from tasks.summaries.pieces import Digest, Piece, fit, graded, line_piece, note
from tasks.summaries.signals import (
    EDGE,
    FACT,
    FAILURE,
    PERCENT_FULL,
    REST,
    STATUS,
    TROUBLE,
    UNEQUAL,
    WARNING,
    is_total,
    rank_of,
    severity,
    words_of,
)
from tasks.summaries.source import Source, byte_length

BORDER = re.compile(r"[\s|+:=─━┼┬┴├┤┌┐└┘-]+$")
ROW_COUNT = re.compile(r"\(?\d[\d,]* rows?\b.*")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:[%a-zA-Z]{0,3})$")
CATEGORIES = 8
STATE = frozenset(
    "status state ready level severity type result phase health condition active sub load outcome priority "
    "risk health success".split()
)


#: Above each row of a result that psql prints a column a line.
RECORD = re.compile(r"-\[ RECORD \d+ \][-+]*\s*$")


@dataclass(slots=True)
class Table:
    """A header, rows with the place of their first line and the lines they take, and the lines outside the table."""

    header: list[str]
    header_place: int
    rows: list[tuple[int, list[str]]]
    outside: list[int]


def parse(source: Source) -> Table | None:
    """The source as a table, if it is one."""
    if len(source.filled) < 4 or any(RECORD.match(line) for line in source.sample[:3]):
        return None
    return piped(source) or separated(source) or aligned(source)


def detect(source: Source) -> bool:
    """Most lines are rows of one width."""
    source.found["table"] = parse(source)
    return source.found["table"] is not None


def cells_of_pipe(line: str, mark: str) -> list[str]:
    """The cells between the bars."""
    return [cell.strip() for cell in line.strip().strip(mark).split(mark)]


def piped(source: Source) -> Table | None:
    """`a | b` as psql, MySQL and Markdown draw it; box-drawing bars count as pipes."""
    lines = source.lines
    borders = [place for place in source.filled[:12] if BORDER.match(lines[place]) and len(lines[place].strip()) > 2]
    if not borders:
        return None
    mark = "│" if "│" in "".join(source.sample[:8]) else "|"
    found = [place for place in source.filled if mark in lines[place] and not BORDER.match(lines[place])]
    if len(found) < 3 or len(found) * 10 < len(source.filled) * 7:
        return None
    widths = Counter(len(cells_of_pipe(lines[place], mark)) for place in found[:200])
    width = widths.most_common(1)[0][0]
    if width < 2:
        return None
    rows = [(place, cells_of_pipe(lines[place], mark)) for place in found]
    inside = set(found)
    outside = [place for place in source.filled if place not in inside and not BORDER.match(lines[place])]
    return Table(rows[0][1], rows[0][0], rows[1:], outside)


def separated(source: Source) -> Table | None:
    """CSV with commas, semicolons or tabs: one number of cells in nearly every line."""
    head = source.sample[:60]
    for mark in "\t,;|":
        if sum(1 for line in head if mark in line) * 10 < len(head) * 9:
            continue
        places: list[tuple[int, list[str]]] = []
        start = source.filled[0]
        reader = csv.reader((line or "" for line in source.lines[start:]), delimiter=mark)
        before = 0
        for row in reader:
            if row:
                places.append((start + before, [cell.strip() for cell in row]))
            before = reader.line_num
        widths = Counter(len(row) for _, row in places)
        width, count = widths.most_common(1)[0]
        least = 2 if mark in "\t|" else 3
        if width < least or count * 20 < len(places) * 17 or len(places) < 4:
            continue
        if mark in ",;" and sum(len(cell) for row in places[:60] for cell in row[1]) > 45 * sum(
            len(row[1]) for row in places[:60]
        ):
            continue  # commas of prose
        good = [(place, row) for place, row in places if len(row) == width]
        outside = [place for place, row in places if len(row) != width]
        header = good[0][1]
        if any(NUMBER.match(cell) for cell in header if cell) or is_row(header, good[1:]):
            return Table([f"column {index + 1}" for index in range(width)], -1, good, outside)
        return Table(header, good[0][0], good[1:], outside)
    return None


def is_row(header: list[str], rows: list[tuple[int, list[str]]]) -> bool:
    """Whether the first line is a row like the others: one of its cells is what many rows have in that place."""
    columns = range(len(header))
    return any(header[at] and sum(row[at] == header[at] for _, row in rows) * 5 >= len(rows) for at in columns)


def aligned(source: Source) -> Table | None:
    """A header line and rows with as many cells, set apart by two spaces or more, or by any space."""
    lines = source.lines
    for at in source.filled[:6]:
        header_line = lines[at].strip()
        following = [place for place in source.filled if place > at]
        if len(following) < 3:
            return None
        capital = header_line.upper() == header_line and re.search(r"[A-Z]{2}", header_line) is not None
        wide = re.split(r"\s{2,}", header_line)
        probe = [lines[place].strip() for place in following[:80]]
        if len(wide) >= 3 - capital and not any(NUMBER.match(cell) for cell in wide):
            share = sum(
                1 for line in probe if abs(len(re.split(r"\s{2,}", line)) - len(wide)) <= (1 if len(wide) > 3 else 0)
            ) / len(probe)
            if share >= (0.6 if capital else 0.8) and all(len(cell) <= 30 for cell in wide):
                return rows_of(source, at, wide, lambda line: re.split(r"\s{2,}", line))
        narrow = header_line.split()
        capital = capital or header_line.startswith(("Filesystem ", "Module ", "Package "))
        if capital and len(narrow) >= 3:
            share = sum(1 for line in probe if len(line.split(None, len(narrow) - 1)) >= len(narrow) - 1) / len(probe)
            if share >= 0.8:
                most = len(narrow) - 1
                return rows_of(source, at, narrow, partial(re.split, r"\s+", maxsplit=most))
    return None


def rows_of(source: Source, at: int, header: list[str], split: object) -> Table:
    """The table under a header line; lines of very few cells stand outside."""
    assert callable(split)
    rows: list[tuple[int, list[str]]] = []
    outside = [place for place in source.filled if place < at]
    for place in source.filled:
        if place > at and not BORDER.match(source.lines[place]):
            cells = split(source.lines[place].strip())
            if len(cells) * 2 >= len(header) and not (len(cells) < len(header) and is_total(source.lines[place])):
                rows.append((place, cells))
            else:
                outside.append(place)
    return Table(header, at, rows, outside)


def digest(source: Source) -> Digest:
    """Header, counts by state, the failed and the rare rows, the outliers, the first and the last."""
    table: Table | None = source.found["table"] if "table" in source.found else parse(source)
    if table is None or not table.rows:
        raise ValueError("no table")
    total = len(table.rows)
    pieces = [row_note(table)]
    if table.header_place >= 0:
        pieces.append(
            Piece(
                fit(source.lines[table.header_place]), 0.5, 0.0, None, byte_length(source.lines[table.header_place]) + 1
            )
        )
    counts = categories(table)
    for index, tally in counts[:3]:
        shown = ", ".join(f"{value or '(empty)'} {count}" for value, count in tally.most_common(CATEGORIES))
        pieces.append(
            note(f"{table.header[index]}: {shown} (of {total} rows)", 0.7 + 0.5 * counts.index((index, tally)), -0.5)
        )
    groups: dict[float, list[Piece]] = {}
    extremes, ranges = numbers_in(table, {index for index, _ in counts})
    if ranges:
        pieces.append(note(f"ranges: {'; '.join(ranges[:4])}", FACT, -0.4))
    for number, (place, cells) in enumerate(table.rows):
        rank = row_rank(table, cells, counts, source.lines[place])
        if number in extremes:
            rank = min(rank, TROUBLE + 0.3)
        if rank >= REST:
            if number in (0, total - 1):
                rank = EDGE - 0.6
            elif number > 7:
                continue
        groups.setdefault(rank, []).append(row_piece(source, table, place, cells, rank))
    for rank, group in groups.items():
        pieces += graded(
            group if len(group) <= 200 else [*group[:150], *group[-50:]], rank, 0.12 if rank < REST else 0.05
        )
    for place in table.outside:
        rank = STATUS + 0.2 if ROW_COUNT.match(source.lines[place].strip()) else min(rank_of(source.lines[place]), EDGE)
        pieces.append(Piece(fit(source.lines[place]), rank, place + 0.5, place, byte_length(source.lines[place]) + 1))
    return Digest(pieces, "rows", total)


def row_note(table: Table) -> Piece:
    """How many rows and columns there are."""
    return note(f"{len(table.rows)} rows, {len(table.header)} columns", 0.1, -1.0)


def row_piece(source: Source, table: Table, place: int, cells: list[str], rank: float) -> Piece:
    """A row as it stands; a very wide one as the cells that say most, with their columns' names."""
    line = source.lines[place]
    if len(line) <= 240:
        return line_piece(source, place, rank)
    named = [
        (table.header[index] if index < len(table.header) else f"column {index + 1}", cell)
        for index, cell in enumerate(cells)
    ]
    order = sorted(
        range(len(named)), key=lambda index: (severity(named[index][1][:300]), index > 1, len(named[index][1]), index)
    )
    kept: list[int] = []
    left = 200
    for index in order:
        cost = len(named[index][0]) + len(named[index][1]) + 4
        if named[index][1] and cost <= left:
            kept.append(index)
            left -= cost
    shown = "; ".join(f"{named[index][0]}: {named[index][1]}" for index in sorted(kept))
    more = len(cells) - len(kept)
    return Piece(f"{shown} <{more} more of {len(cells)} cells>", rank, place, None, byte_length(shown), 1)


def categories(table: Table) -> list[tuple[int, Counter[str]]]:
    """Columns with few different values, counted by value; columns of states first."""
    total = len(table.rows)
    if total < 5:
        return []
    found: list[tuple[tuple[bool, bool, int], int, Counter[str]]] = []
    for index, name in enumerate(table.header):
        tally: Counter[str] = Counter()
        for _, cells in table.rows:
            tally[cells[index] if index < len(cells) else ""] += 1
            if len(tally) > CATEGORIES:
                break
        if 2 <= len(tally) <= CATEGORIES and len(tally) * 2 <= total and max(map(len, tally)) <= 40:
            state = not STATE.isdisjoint(words_of(name))
            troubled = any(severity(value) < REST for value in tally)
            found.append(((not (state or troubled), not troubled, len(tally)), index, tally))
    return [(index, tally) for _, index, tally in sorted(found, key=lambda one: one[:2])[:12]]


def row_rank(table: Table, cells: list[str], counts: list[tuple[int, Counter[str]]], line: str) -> float:
    """How early a row is kept."""
    total = len(table.rows)
    few = max(1, total // 33)
    rare = any(index < len(cells) and tally[cells[index]] <= few for index, tally in counts)
    found = severity(line[:1_000])
    common = (
        found < REST
        and not rare
        and any(
            index < len(cells) and severity(cells[index]) == found and tally[cells[index]] * 4 > total
            for index, tally in counts
        )
    )
    if found == FAILURE and not common:
        return FAILURE if rare else FAILURE + 0.2
    if (
        any(match[1] != match[2] for match in UNEQUAL.finditer(line) if counts and len(match[1]) <= 3)
        and "READY" in table.header
    ):
        return FAILURE + 0.3
    if rare:
        return FAILURE + 0.4
    if found < REST and not common:
        return found
    if re.match(r"\W*(?:grand )?(?:sub)?total\b|итого|合计|总计", line, re.IGNORECASE):
        return STATUS + 0.4
    if PERCENT_FULL.search(line) and "100%" not in line:
        return WARNING
    return REST


def numbers_in(table: Table, counted: set[int]) -> tuple[set[int], list[str]]:
    """Rows with a value far beyond the rest of its column, and from what to what each column of numbers goes.

    Far beyond is the greatest value, if over eight times the median and half as much again as the second.
    """
    found: set[int] = set()
    ranges: list[str] = []
    for index in range(min(len(table.header), 30)):
        values: list[tuple[float, int, str]] = []
        for number, (_, cells) in enumerate(table.rows):
            cell = cells[index] if index < len(cells) else ""
            digits = re.match(r"-?[\d,]+(?:\.\d+)?", cell) if NUMBER.match(cell) else None
            if digits is not None and digits[0].strip("-,"):
                values.append((float(digits[0].replace(",", "")), number, cell))
            elif cell not in ("", "-", "NULL", "null"):
                break
        else:
            if len(values) < 6:
                continue
            steps = {round(right[0] - left[0], 6) for left, right in pairwise(values[:50])}
            values.sort()
            if len(steps) <= 1 or re.search(r"(?i)(?:^|_|\b)id$|^column|^pid$", table.header[index]):
                continue
            if index not in counted and not re.search(r"[A-Za-z]", values[0][2] + values[-1][2]):
                ranges.append(f"{table.header[index]} {values[0][2]} to {values[-1][2]}")
            top, second = values[-1], values[-2]
            if top[0] > max(8 * abs(values[len(values) // 2][0]), 8) and top[0] > 1.5 * second[0]:
                found.add(top[1])
    return found, ranges

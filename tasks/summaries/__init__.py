"""Summaries of raw tool output: deterministic, by the shape of the output, nothing reworded and no value cut.

`summarise` is the default summariser, `lead` the simple one. Both are pure functions of their text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tasks.summaries import (
    commits,
    diagnostics,
    diffs,
    json_values,
    listings,
    logs,
    prose,
    search_hits,
    tables,
    test_runs,
    tracebacks,
)
from tasks.summaries.guard import without_runs
from tasks.summaries.pieces import Digest, Piece, choose, shortened
from tasks.summaries.source import Room, Source, byte_length, line_count, room_for
from tasks.text import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LEAD", "LONGEST_RUN", "SHORT", "lead", "restate", "summarise"]

SHORT = 300  # characters; up to here a result is restated whole
LEAD = 500  # characters that `lead` keeps
LONGEST_RUN = 500  # characters of a source that may stand in its summary without a break

EMPTY = "(empty)"
LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class Shape(NamedTuple):
    """One shape of output: its name, how it is told, how it is summarised."""

    name: str
    detect: Callable[[Source], bool]
    digest: Callable[[Source], Digest]


# The order decides: a test run holds tracebacks, a traceback may stand in a log, a log may look like a table.
SHAPES = (
    Shape("json", json_values.detect, json_values.digest),
    Shape("commits", commits.detect, commits.digest),
    Shape("diff", diffs.detect, diffs.digest),
    Shape("test run", test_runs.detect, test_runs.digest),
    Shape("traceback", tracebacks.detect, tracebacks.digest),
    Shape("listing", listings.detect, listings.digest),
    Shape("diagnostics", diagnostics.detect, diagnostics.digest),
    Shape("log", logs.detect, logs.digest),
    Shape("search", search_hits.detect, search_hits.digest),
    Shape("table", tables.detect, tables.digest),
)
PLAIN = Shape("plain text", prose.detect, prose.digest)


def summarise(text: str, *, handle: str, media_type: str | None = None) -> str:
    """A summary of a raw tool result, for a prompt.

    Up to 300 characters (outer blank aside) nothing is lost and all stands on one line. A longer text becomes
    lines of the source, verbatim, and lines that count what was left out; the last line says what was withheld,
    in the source's own units, in lines and in bytes, and under which handle the whole is. No run of more than
    `LONGEST_RUN` characters of the text stands in it.

    Args:
        text: The raw result; any string, half surrogate pairs and NUL included.
        handle: Where the whole is kept, such as `artifact:h/tc1`.
        media_type: What the sender called it; the content decides, this only breaks a tie.

    Cost: near linear, well under a second a megabyte. Never raises for any text.
    """
    if len(text.strip()) <= SHORT:
        return restate(text)
    source = Source.of(text, media_type)
    room = room_for(source.text.strip()).less(
        closing(text, Digest([], "lines", len(source.lines)), [], handle) + " " * 12
    )
    _, digest = digested(source)
    return assembled(text, source, digest, room, handle)


def shape_of(text: str, media_type: str | None = None) -> str:
    """The name of the shape that a text is taken for."""
    return digested(Source.of(text, media_type))[0]


def restate(text: str) -> str:
    """All lines on one, joined by a return sign; only the blank at the ends of the text and its lines is gone."""
    stripped = text.strip()
    lines = stripped.split("\n") if is_plain(stripped) else LINE_END.split(stripped)
    return " ⏎ ".join(map(str.rstrip, lines)) if stripped else EMPTY


def lead(text: str) -> str:
    """The first paragraph, up to its first blank line; of a longer one the first 500 characters and an ellipsis."""
    paragraph = text.split("\n\n", 1)[0].strip()
    return paragraph if len(paragraph) <= LEAD else f"{paragraph[:LEAD]}…"


def digested(source: Source) -> tuple[str, Digest]:
    """The shape's name and its digest; a shape that breaks on a text leaves it to plain text."""
    for shape in SHAPES:
        try:
            if shape.detect(source):
                return shape.name, shape.digest(source)
        except Exception:  # noqa: BLE001, S112 - whatever breaks a shape, recursion included, the text is not of it
            continue
    try:
        return PLAIN.name, PLAIN.digest(source)
    except Exception:  # noqa: BLE001 - the promise is that no text stops a build
        return PLAIN.name, Digest([], "lines", len(source.lines))


def assembled(text: str, source: Source, digest: Digest, room: Room, handle: str) -> str:
    """The chosen pieces, the notes on shortened lists, and the closing line, checked against the source."""
    chosen = choose(digest, room)
    notes = shortened(digest, chosen)
    if notes:
        line = f"[{'; '.join(notes)}]"
        chosen = choose(digest, room.less(line))
        line = f"[{'; '.join(shortened(digest, chosen))}]"
        chosen = [*chosen, Piece(line, 0.0, float("inf"))] if line != "[]" else chosen
    last = closing(text, digest, chosen, handle)
    lines = [piece.text for piece in chosen]
    for known in {text: None, source.text: None}:
        lines = without_runs(known, lines, last, LONGEST_RUN)
    while lines and len("\n".join([*lines, last])) >= len(text):
        lines.pop()
    return "\n".join([*lines, last])


def closing(text: str, digest: Digest, chosen: list[Piece], handle: str) -> str:
    """What was withheld: in the digest's unit, in lines and in bytes; and where the whole is."""
    lines, size = line_count(text), byte_length(text)
    shown_lines = len({piece.line for piece in chosen if piece.line is not None})
    if not shown_lines and any(piece.size for piece in chosen) and lines > 1:
        shown_lines = min(lines - 1, sum(1 for piece in chosen if piece.size))
    shown_size = min(size - 1, sum(piece.size for piece in chosen))
    parts = [
        f"{max(0, lines - shown_lines):,} of {lines:,} {'line' if lines == 1 else 'lines'}",
        f"{size - shown_size:,} of {size:,} bytes",
    ]
    if digest.unit != "lines" and digest.units:
        shown_units = min(digest.units, sum(piece.units for piece in chosen))
        parts.insert(0, f"{digest.units - shown_units:,} of {digest.units:,} {digest.unit}")
    return f"[withheld: {', '.join(parts)}; the source is intact: {handle}]"

"""Secrets of which one name has several: items of a list, values of a mapping, and the pieces of one long literal.

Offsets are those of the view that `tasks.credential_views` makes of a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_REACH: Final = 2_000
"""Characters behind a name within which its items are looked for."""
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
_ITEM = re.compile(r"(?P<quote>\\{0,8}[\"'`])(?P<value>[^\"'`\\\n]{4,300})(?P=quote)(?!\s{0,8}(?::|=>))")
_LINE = re.compile(r"[ \t]{0,8}\r?\n[ \t]{0,40}(?:[\-*+] |\d{1,2}[.)] )?[ \t]{0,4}[\"'`]?(?P<value>[^\s\"'`]{4,200})")
_LINE_END = re.compile(r"[\"'`]?,?[ \t\r]{0,8}(?:\n|\Z)")
_PIECE = re.compile(
    r"(?P<quote>[\"'`])(?:\s{0,80}[+.\\]|[ \t]{0,8}\n)\s{0,80}(?P=quote)(?P<value>[^\"'`\n]{4,300})(?P=quote)"
)


def items(view: str, start: int) -> tuple[list[tuple[int, int]], int]:
    """Start and end of each item behind a name, in brackets or one a line, and how far the text was read for them."""
    closing = _CLOSING.get(view[start : start + 1])
    if closing is None:
        return _lines(view, start)
    end = view.find(closing, start, start + _REACH)
    end = end if end >= 0 else min(len(view), start + _REACH)
    return [item.span("value") for item in _ITEM.finditer(view, start, end)], end


def _lines(view: str, start: int) -> tuple[list[tuple[int, int]], int]:
    found: list[tuple[int, int]] = []
    position = start
    while position < start + _REACH and (line := _LINE.match(view, position)) is not None:
        if not _LINE_END.match(view, line.end()):
            break
        found.append(line.span("value"))
        position = view.find("\n", line.end()) % (len(view) + 1)
    return found, position


def further_pieces(view: str, end: int) -> Iterator[tuple[int, int]]:
    """Start and end of the literals that continue the one that ends at `end`: behind a sign, or on the next lines."""
    while (piece := _PIECE.match(view, end)) is not None:
        yield piece.span("value")
        end = piece.end("value")

"""Credentials that are known by their shape or by what stands around them: URLs, headers, command lines, tokens.

The shapes are data, `[[shape]]` in `rules/credentials.toml`. Each is looked for only where one of its anchors stands,
and reads a bounded stretch of text from there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasks.credential_blocks import Span
from tasks.credential_values import CLEAR, MARGINAL, STRONG, Surroundings, Values, is_cut_short, is_digest, judged_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HEAD: Final = 3
"""Characters of an anchor by which its shapes are looked up; no anchor is shorter, or its pattern checks for itself."""
_REACH: Final = 512
"""Characters around an anchor within which what makes its shape one is looked for."""
_LONGEST: Final = 512
"""Characters that a pattern takes of a value at most, where it could go on; the rest is taken when it is a secret."""
_REST = re.compile(r"[A-Za-z0-9._~+/=%\-]*")
_WORD = re.compile(r"[\w.\-]")
_COMMAND_ENDS: Final = ("| ", "; ", "&&", "`", "$(")


class _Shape(NamedTuple):
    rule: str
    anchors: tuple[str, ...]
    needs: tuple[str, ...]
    near: tuple[str, ...]
    commands: tuple[str, ...]
    lead: int
    pattern: re.Pattern[str]
    check: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Shape:
        return cls(
            rule=row["id"],
            anchors=tuple(row["anchors"]),
            needs=tuple(row.get("needs", ())),
            near=tuple(row.get("near", ())),
            commands=tuple(row.get("commands", ())),
            lead=row.get("lead", 0),
            pattern=re.compile(row["pattern"]),
            check=row["check"],
        )

    def stands_at(self, view: str, place: int, ahead: _Ahead) -> bool:
        """Whether what the shape asks of its surroundings is there."""
        if self.needs and not any(ahead.has(need, place) for need in self.needs):
            return False
        if self.near and not any(view.find(text, max(0, place - _REACH), place) >= 0 for text in self.near):
            return False
        return not self.commands or _is_of_command(view, place, self.commands)


class Shapes:
    """The shapes of one `credentials.toml`, compiled."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], values: Values) -> None:
        self._values = values
        self._shapes: dict[str, list[_Shape]] = {}
        shapes = [_Shape.of(row) for row in rows]
        self.anchors = tuple(sorted({anchor for shape in shapes for anchor in shape.anchors}))
        for shape in shapes:
            for head in sorted({anchor[:_HEAD] for anchor in shape.anchors}):
                self._shapes.setdefault(head, []).append(shape)

    def spans(self, view: str, places: Sequence[int]) -> Iterator[Span]:
        """Every secret at the anchors, whose places are in order."""
        done = 0
        ahead, surroundings = _Ahead(view), Surroundings(view, _REACH, 2 * _REACH)
        for index, place in enumerate(places):
            if place < done or surroundings.are_barren(place):
                continue
            for shape in self._shapes.get(view[place : place + _HEAD].lower(), ()):
                if not shape.stands_at(view, place, ahead):
                    continue
                lead = max(0, place - shape.lead)
                match = (
                    shape.pattern.search(view, lead, place + _REACH) if shape.lead else shape.pattern.match(view, place)
                )
                if match is None:
                    continue
                span = self._span(view, match, shape, places, index)
                if span is not None:
                    done = max(done, span.end)
                    surroundings.are_fertile(place)
                    yield span

    def _span(self, view: str, match: re.Match[str], shape: _Shape, places: Sequence[int], index: int) -> Span | None:
        found = match["value"]
        value = found.rstrip(".,;:)") or found
        start = match.start("value")
        end = start + len(value)
        if (
            not self._passes(judged_part(view, start, end, places, index), shape.check)
            or is_cut_short(view, end)
            or is_digest(view, start)
        ):
            return None
        if len(found) >= _LONGEST:
            rest = _REST.match(view, end)
            end = rest.end() if rest else end
        return Span(start, end, shape.rule)

    def _passes(self, value: str, check: str) -> bool:
        values = self._values
        match check:
            case "always":
                return not values.is_placeholder(value)
            case "any":
                return len(value) > 1 and not values.is_placeholder(value)
            case "chosen":
                return values.looks_chosen(value) or values.looks_generated(value, 6, MARGINAL)
            case "generated":
                return values.looks_generated(value, 12, CLEAR)
            case _:
                return values.looks_generated(value, 16, STRONG)


class _Ahead:
    """Finds what follows within reach. Remembers the last place of each text, so that all looks cost one pass."""

    def __init__(self, view: str) -> None:
        self._view = view
        self._next: dict[str, int] = {}

    def has(self, text: str, place: int) -> bool:
        """Whether the text stands within `_REACH` characters behind the place; places must come in order."""
        known = self._next.get(text, -1)
        if known < place:
            found = self._view.find(text, place)
            known = found if found >= 0 else len(self._view) + _REACH
            self._next[text] = known
        return known < place + _REACH


def _is_of_command(view: str, place: int, commands: Sequence[str]) -> bool:
    """Whether the place is among the arguments of one of the commands; a line ending in a backslash goes on."""
    floor = max(0, place - _REACH)
    start = place
    while (start := view.rfind("\n", floor, start)) >= 0 and view[start - 1 : start] in ("\\", "\r"):
        pass
    floor = max(floor, start + 1, *(view.rfind(end, floor, place) + 1 for end in _COMMAND_ENDS))
    for command in commands:
        found = view.find(command, floor, place)
        if found >= 0 and not (found and _WORD.match(view, found - 1)) and not _WORD.match(view, found + len(command)):
            return True
    return False

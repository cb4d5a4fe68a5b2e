"""Acceptance criteria as plans write them in Markdown: single lines, also of a section within a description."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tasks.sources.plans.enumeration import unrolled
from tasks.sources.plans.parsed import parsed
from tasks.sources.plans.zerg import criteria
from tasks.sources.values import prose
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it.token import Token

_NAME = (
    r"(?:acceptance(?:[ \t]+(?:criteria|criterion|tests?|checklist))?|(?:success|exit)[ \t]+criteria"
    r"|definition of done|done when)"
)
_BARE = re.compile(rf"[ \t*_:]*{_NAME}[ \t*_:]*", re.IGNORECASE)
_TITLE = re.compile(rf"{_NAME}(?:[ \t]*\([^()\n]*\))?", re.IGNORECASE)
_LABEL = re.compile(
    rf" {{0,3}}(?:(?P<mark>\*\*|__)(?P<bold>{_TITLE.pattern})[ \t]*(?::(?P=mark)|(?P=mark)[ \t]*(?::|$))"
    rf"|(?P<plain>{_TITLE.pattern})[ \t]*:(?:[ \t]|$))[ \t]*(?P<rest>.*)",
    re.IGNORECASE,
)
_OTHER_LABEL = re.compile(r" {0,3}(?:(\*\*|__)[^*_\n]+\1|[^\W\d_][^.:\n]{0,40}:[ \t]*$)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|\(\d{1,3}\))[ \t]+(?:\[[ xX]?\][ \t]+)?")
_MAY_HOLD_CODE = re.compile(r"```|~~~|[|<]|^(?: {4}| *\t)", re.MULTILINE)
_LISTS = ("bullet_list_open", "ordered_list_open")
_NOT_LINES = ("fence", "code_block", "html_block", "table_open")


def criteria_of(value: object) -> list[str]:
    """What a field for criteria holds: Markdown, or a list of whatever shape."""
    return _lines(value) if isinstance(value, str) else list(criteria(value))


def holds_code(text: str) -> bool:
    """Whether a Markdown text holds code or a table, which lines do not say."""
    return bool(_code(text))


def _code(text: str) -> list[tuple[int, int]]:
    """The lines of what no line says, code and tables, of a text that is worth being parsed for them."""
    return _not_lines(parsed(text)) if _MAY_HOLD_CODE.search(text) else []


def _lines(text: object) -> list[str]:
    """Markdown as criteria, one line each: a list's entries, else its lines; wrapped ones are joined, code is out."""
    lines = prose(text).split("\n")
    for first, end in _code("\n".join(lines)):
        lines[first:end] = [""] * len(lines[first:end])
    joined: list[str] = []
    for line in unrolled(lines):
        heading = _HEADING.fullmatch(line)
        plain = heading[1] if heading else line.rstrip()
        bullet = _BULLET.match(plain)
        if heading or _BARE.fullmatch(plain):
            joined += ["" if _BARE.fullmatch(plain) else plain, ""]
        elif joined and joined[-1] and not bullet and (plain[:1].isspace() or plain[:1].islower()):
            joined[-1] += f" {plain}"
        else:
            joined.append(plain[bullet.end() :] if bullet else plain)
    return [line for line in map(one_line, joined) if any(map(str.isalnum, line))]


def without_criteria(text: str) -> tuple[str, list[list[str]]]:
    """A description without its sections of acceptance criteria, and the lines of these.

    A section that holds code or a table stays in the description all the same: lines do not say what it says.
    """
    if not _TITLE.search(text):
        return text, []
    tokens = parsed(text)
    lines = text.split("\n")
    whole = _not_lines(tokens)
    found: list[list[str]] = []
    taken: list[tuple[int, int]] = []
    tops = [token for token in tokens if token.level == 0 and token.nesting >= 0]
    for first, end, name, body in _sections(tops, lines):
        if criteria_lines := _lines("\n".join(body)):
            found.append(criteria_lines if _BARE.fullmatch(name) else [name, *criteria_lines])
            if not any(first <= start < end for start, _ in whole):
                taken.append((first, end))
    return _without(taken, lines) if taken else text, found


def _without(parts: Iterable[tuple[int, int]], lines: Sequence[str]) -> str:
    """What remains of lines without some parts, a blank line in the place of each."""
    kept: list[str] = []
    reached = 0
    for first, end in parts:
        kept += lines[reached:first]
        while kept and not kept[-1].strip():
            kept.pop()
        kept.append("")
        reached = next((index for index in range(end, len(lines)) if lines[index].strip()), len(lines))
    return "\n".join([*kept, *lines[reached:]]).strip("\n")


def _not_lines(tokens: Iterable[Token]) -> list[tuple[int, int]]:
    return [(token.map[0], token.map[1]) for token in tokens if token.map is not None and token.type in _NOT_LINES]


def _sections(tops: Sequence[Token], lines: Sequence[str]) -> Iterator[tuple[int, int, str, list[str]]]:
    """The first line of each section on acceptance, the one after its last, its name, and the lines below or beside."""
    reached = 0
    for index, token in enumerate(tops):
        if token.map is None or token.map[0] < reached:
            continue
        first, end = token.map
        if token.type == "heading_open":
            heading = _HEADING.fullmatch(lines[first])
            name = (heading[1] if heading else lines[first]).strip(" \t*_:")
            if _TITLE.fullmatch(name):
                reached = _section_end(tops[index + 1 :], token.tag, len(lines))
                yield first, reached, name, list(lines[end:reached])
        elif token.type == "paragraph_open":
            for start in range(first, end):
                if label := _LABEL.fullmatch(lines[start].rstrip()):
                    stop = next((at for at in range(start + 1, end) if _OTHER_LABEL.match(lines[at])), end)
                    body = [label["rest"], *lines[start + 1 : stop]]
                    after = tops[index + 1] if stop == end and index + 1 < len(tops) else None
                    reached = _with_next(after, stop, any(map(str.strip, body)), lines)
                    yield start, reached, label["bold"] or label["plain"], [*body, *lines[stop:reached]]
                    break


def _section_end(tops: Iterable[Token], tag: str, last: int) -> int:
    """Where a section with a heading ends: at the next heading that is as high."""
    higher = (top.map[0] for top in tops if top.type == "heading_open" and top.tag <= tag and top.map is not None)
    return next(higher, last)


def _with_next(after: Token | None, stop: int, filled: bool, lines: Sequence[str]) -> int:
    """Where a section with a label ends: with its paragraph, or what follows a bare label."""
    if after is None or after.map is None:
        return stop
    first, end = after.map
    belongs = after.type in _LISTS and (not filled or first == stop)
    bare = not filled and after.type == "paragraph_open" and not _OTHER_LABEL.match(lines[first])
    return end if belongs or bare else stop

"""Command files: where a long one is split, what its three files hold, and how they are joined again.

A command `NAME.md` of 300 lines or more becomes `NAME.core.md`, its first part, `NAME.details.md`, a comment that names
the parent and then the rest, and `NAME.md`, the core and a comment that names both. Everything here works on bytes:
core and rest are the original, whatever its encoding, line ends or last line.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.sources.documents import blocks
from tasks.sources.identity import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

#: A file of fewer lines is read whole.
LINES_TO_SPLIT = 300
#: The core's share of the lines, in tenths: what every reader of a command pays for.
CORE_TENTHS = 3
#: Lines that either part has at least.
LEAST_LINES = 10

CORE_SUFFIX = ".core.md"
DETAILS_SUFFIX = ".details.md"
SUFFIX = ".md"

_DIGITS = 16  # of a hash that tells an edit from none; nobody gains by forging it
_DETAILS = re.compile(rb"<!-- prebrief: details of [^\n]*? -->\r?\n")
_PARENT = re.compile(
    rb"^<!-- prebrief: this is [^\n]*; core ([0-9a-f]{%d}), all ([0-9a-f]{%d}), ([0-9]{1,9}) lines -->\r?$"
    % (_DIGITS, _DIGITS),
    re.MULTILINE,
)
_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n[^\s:#][^\r\n:]*:[^\n]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029>]")


@dataclass(frozen=True)
class SplitFiles:
    """What the three files of a split command hold."""

    core: bytes
    details: bytes
    parent: bytes


@dataclass(frozen=True)
class Parent:
    """What a `NAME.md` that a split wrote says.

    `body` is its text without the comment, which is the core as it was split off. Of the whole command, `whole` is the
    hash and `lines` the count. `intact` is whether the file is as it was written.
    """

    body: bytes
    whole: str
    lines: int
    intact: bool

    @property
    def core_lines(self) -> int:
        """Lines that the core had."""
        return line_count(self.body)

    @property
    def details_lines(self) -> int:
        """Lines that the details had, the comment they begin with aside."""
        return self.lines - self.core_lines


@dataclass(frozen=True)
class Joined:
    """A command put together again; `exact` where it is the original, byte for byte, and not an edit of it."""

    data: bytes
    exact: bool


# ---- where ------------------------------------------------------------------------------------------------------


def line_count(data: bytes) -> int:
    """Lines as an editor counts them: only a newline ends one, and a last one without it counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def split_line(data: bytes) -> int | None:
    """How many lines the core takes, or None where no place is fit.

    The first `#` or `##` section, ATX or setext, that begins after 30 % of the lines or more; where there is none, the
    boundary nearest to that between two other top-level blocks, but not one that parts a heading, or a paragraph which
    ends with a colon, from what it announces. Either part has at least ten lines. Fences, lists, tables, comments and
    front matter are never torn: the parser says where they end. Bytes with NUL are no text and are never split.

    Cost: that of parsing the blocks, about 3 MB/s.
    """
    if b"\0" in data:
        return None
    total = line_count(data)
    target = -(-total * CORE_TENTHS // 10)
    places = [place for place in _places(_text(data)) if LEAST_LINES <= place.line <= total - LEAST_LINES]
    if later := [place.line for place in places if place.is_section and place.line >= target]:
        return min(later)
    others = [place.line for place in places if not place.announced]
    return min(others, key=lambda line: (abs(line - target), line < target), default=None)


@dataclass(frozen=True)
class _Place:
    """A line, from 0, at which a top-level block begins."""

    line: int
    is_section: bool
    announced: bool


def _text(data: bytes) -> str:
    """The text as the parser reads it; each byte that is not UTF-8 is one strange character, and no line moves."""
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    front = _FRONT_MATTER.match(text)
    return text if front is None else re.sub(r"[^\r\n]+", "", front[0]) + text[front.end() :]


def _places(text: str) -> Iterator[_Place]:
    """Where top-level blocks begin at the beginning of a line; to the parser a lone carriage return ends one too."""
    lines: list[int | None] = [0]
    count = 0
    for end in _LINE_END.findall(text):
        count += end != "\r"
        lines.append(None if end == "\r" else count)
    tokens = blocks(text)
    announced = False
    for place, token in enumerate(tokens):
        if token.level or token.map is None or token.nesting < 0:
            continue
        line = lines[token.map[0]]
        if line is not None:
            is_section = token.type == "heading_open" and token.tag in {"h1", "h2"}
            yield _Place(line, is_section, announced and not is_section)
        announced = _announces(tokens, place)


def _announces(tokens: list[Token], place: int) -> bool:
    if tokens[place].type == "paragraph_open":
        return tokens[place + 1].content.rstrip("*_ \t").endswith(":")
    return tokens[place].type == "heading_open"


# ---- what -------------------------------------------------------------------------------------------------------


def split_files(name: str, data: bytes, line: int) -> SplitFiles:
    """The three files of a command whose core takes the first `line` lines."""
    end = 0
    for _ in range(line):
        end = data.index(b"\n", end) + 1
    core, rest = data[:end], data[end:]
    newline = line_end(data)
    facts = f"core {digest(core, _DIGITS)}, all {digest(data, _DIGITS)}, {line_count(data)} lines"
    shown = _in_comment(name)
    comment = f"<!-- prebrief: this is {shown}{CORE_SUFFIX}; the rest is in {shown}{DETAILS_SUFFIX}; {facts} -->"
    return SplitFiles(core, _details_comment(name) + newline + rest, core + _encoded(comment) + newline)


def line_end(data: bytes) -> bytes:
    """How the first line of a file ends."""
    return b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"


def _details_comment(name: str) -> bytes:
    shown = _in_comment(name)
    return _encoded(f"<!-- prebrief: details of {shown}{SUFFIX}; its first part is {shown}{CORE_SUFFIX} -->")


def _in_comment(name: str) -> str:
    """A name that neither ends the comment nor its line."""
    return _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", name)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")  # names of files may hold any bytes


# ---- and back ---------------------------------------------------------------------------------------------------


def read_parent(data: bytes) -> Parent | None:
    """What a `NAME.md` says of its split; None where it was never split."""
    found = None
    for found in _PARENT.finditer(data):  # noqa: B007 - the last one counts
        pass
    if found is None:
        return None
    body = data[: found.start()]
    intact = data[found.end() :] in {b"", b"\n"} and digest(body, _DIGITS).encode() == found[1]
    return Parent(body, found[2].decode(), int(found[3]), intact)


def rest_of(details: bytes) -> bytes | None:
    """The text of a details file without the comment it begins with; None where no split wrote it."""
    found = _DETAILS.match(details)
    return None if found is None else details[found.end() :]


def is_damaged(part: bytes, lines: int) -> bool:
    """Whether a part that had so many lines looks cut off or destroyed rather than edited.

    It is blank, has fewer than half of them, or is no text any more.
    """
    return not part.strip() or 2 * line_count(part) < lines or b"\0" in part


def is_as_split(parent: Parent, core: bytes, rest: bytes) -> bool:
    """Whether core and rest are still what they were when the command was split."""
    return digest(core + rest, _DIGITS) == parent.whole and core == parent.body


def join(name: str, parent: Parent, core: bytes, details: bytes) -> Joined | None:
    """The command of a core and its details; None where it is open what the whole was.

    Edits of core and details are kept as long as `NAME.md` is as it was written, the details still name their parent
    and neither part is damaged: then there is one newest text of each. A core whose last line end was lost gets it
    back.
    """
    rest = rest_of(details)
    if rest is None or not parent.intact:
        return None
    if digest(core + rest, _DIGITS) == parent.whole:
        return Joined(core + rest, exact=True)
    if not details.startswith(_details_comment(name)):
        return None
    if is_damaged(core, parent.core_lines) or is_damaged(rest, parent.details_lines):
        return None
    between = b"" if core.endswith(b"\n") or not core else line_end(details)
    return Joined(core + between + rest, exact=False)


def is_restored(data: bytes, core: bytes | None, details: bytes) -> bool:
    """Whether a `NAME.md` holds all of a split's other files already, as after an undo that was interrupted."""
    rest = rest_of(details)
    if rest is None or read_parent(data) is not None:
        return False
    return bool(rest) and data.endswith(rest) if core is None else data == core + rest

"""Markdown as prompts need it: the one parser, and text made safe to stand inside a prompt."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from markdown_it.token import Token

#: Headings of an item's own text begin here: `##` opens a section and `###` is a label, both prebrief's alone.
ITEM_HEADING = 4
_DEEPEST = 6
_PASSES = 8  # a mended block can uncover another one; texts that need more are fenced whole

#: The words that a prompt's labels are made of, and those that other prompt formats use.
LABELS = (
    "USER",
    "ASSISTANT",
    "SYSTEM",
    "DEVELOPER",
    "TOOL",
    "TOOL CALL",
    "TOOL RESULT",
    "TOOL SCHEMA",
    "DOCUMENT",
    "RETRIEVED",
    "FACT",
    "PLAN",
    "POLICY",
    "TASK",
    "INST",
    "/INST",
)
_ROLES = (
    r"system|assistant|user|human|developer|tool|tools|instructions?|prompt|context|functions?|function_calls"
    r"|function_results|invoke|tool_use|tool_result|thinking"
)

_ANY_LABEL = "|".join(re.escape(label) for label in LABELS)
_LABEL = re.compile(
    rf"^([ \t>*_+-]*)\[(?=(?:{_ANY_LABEL})\b[^\]\n]*\])",
    re.MULTILINE | re.IGNORECASE,
)
_SPECIAL = re.compile(r"<(?=\|[^\s|<>]{1,40}\|>)")
_SPECIAL_TAG = re.compile(rf"<(?=/?(?:[a-z]+:)?(?:{_ROLES})\b[^<>\n]*>)", re.IGNORECASE)
_SYS = re.compile(r"<(?=</?SYS>>)")
_TURN = re.compile(r"^([ \t>]*(?:Human|Assistant|System|User)):", re.MULTILINE)
_RISKY = re.compile(
    r"^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:#{1,6}(?:[ \t]|$)|`{3}|~{3}|=+[ \t]*$|-+[ \t]*$|<)"
    rf"|\]:|<\||<<|</?(?:[a-z]+:)?(?:{_ROLES})\b|^[ \t>*_+-]*\[(?:{_ANY_LABEL})\b"
    r"|^[ \t>]*(?:Human|Assistant|System|User):|\A[ \t/]",
    re.MULTILINE | re.IGNORECASE,
)
#: What `_RISKY` finds or `embed` takes away, and more: in the syntax of Polars, and without words, of which it knows
#: other spellings than Python does.
_MAYBE_RISKY = (
    r"(?m)^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:#{1,6}(?:[ \t]|$)|`{3}|~{3}|=+[ \t]*$|-+[ \t]*$)"
    r"|\]:|<|^[ \t>*_+-]*\[|^[ \t>]*\S{4,9}:|\A[\s/\x1c-\x1f]|[\s\x1c-\x1f]\z"
)
_UNDERLINE = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*")
_BLANK_START = re.compile(r"\A(?:[^\S\n]*\n)+")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_BARE_MARKER = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]*")
_HASHES = re.compile(r"#{1,6}(?=[ \t]|$)")


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The CommonMark parser with tables that all of prebrief uses; about 0.5 MB/s."""
    return MarkdownIt("commonmark").enable("table")


@lru_cache(maxsize=20_000)  # tasks cut the same passages at the same places
def embed(text: str) -> str:
    """A text as it may stand inside a prompt: readable, its words unchanged, unable to change the prompt's structure.

    Headings are lowered to the fourth level or below, fences that the text leaves open are closed, HTML blocks and
    comments, imitated labels and the markup of chat formats are escaped so that they read as text. The result neither
    begins nor ends with white space. Most texts hold nothing of the kind and cost one regular expression; the others
    are parsed.
    """
    text = _BLANK_START.sub("", text).rstrip()
    if not _RISKY.search(text):
        return text
    text = _inert(_unindented(text))
    for _ in range(_PASSES):
        mended = _mend(text, _MENDERS)
        if mended == text:
            return _mend(text, {"heading_open": _lower})
        text = mended
    return _fenced(text)


def embed_all(texts: pl.Series) -> pl.Series:
    """Texts as `embed` makes them. One regular expression over all tells which may need it; the others cost no more."""
    risky = texts.str.contains(_MAYBE_RISKY)
    mended = pl.Series([embed(text) for text in texts.filter(risky)], dtype=pl.String)
    return texts.clone().scatter(risky.arg_true(), mended)


def _unindented(text: str) -> str:
    """A block starts at the margin: white space before the first line would make the separator ambiguous."""
    if text[:1] not in " \t/":
        return text
    first, newline, rest = text.partition("\n")
    bare = first.lstrip()
    if not bare.startswith("/") and len(first) - len(bare) < ITEM_HEADING and "\t" not in first:
        return bare + newline + rest
    if bare.startswith("/") and bare == first:
        return "\\" + text
    return _fenced(text) if newline else bare


def _inert(text: str) -> str:
    """Labels and chat markup, escaped wherever they stand."""
    text = _LABEL.sub(r"\1\\[", text)
    text = _SPECIAL.sub(r"<\\", text)
    text = _SPECIAL_TAG.sub("&lt;", text)
    text = _SYS.sub("&lt;", text)
    return _TURN.sub(r"\1\\:", text)


def _mend(text: str, menders: Mapping[str, Callable[[list[str], Token], None]]) -> str:
    """One pass over what the parser sees, last block first, so that the line numbers of those above stay true."""
    lines = text.split("\n")
    definitions: dict[str, Any] = {}
    tokens = parser().parse(text, definitions)
    for link in (*definitions.get("references", {}).values(), *definitions.get("duplicate_refs", ())):
        first = link["map"][0]  # a link's definition would hold for the whole prompt
        lines[first] = lines[first].replace("[", "\\[", 1)
    for token in reversed(tokens):
        if token.map is not None and token.type in menders:
            menders[token.type](lines, token)
    return "\n".join(lines)


def _lower(lines: list[str], token: Token) -> None:
    first, _ = token.map or (0, 0)
    deeper = "#" * min(_DEEPEST, len(token.markup) + ITEM_HEADING - 1)
    lines[first] = _HASHES.sub(deeper, lines[first], count=1)


def _escape_underlines(lines: list[str], token: Token) -> None:
    """Setext headings become text, with every line right below that would underline that text in turn."""
    first, end = token.map or (0, 0)
    if token.markup[0] == "#":
        return
    below = end
    while below < len(lines) and _UNDERLINE.fullmatch(lines[below]):
        below += 1
    for place in range(first, below):
        if _UNDERLINE.fullmatch(lines[place]):
            lines[place] = re.sub(r"([=-])", r"\\\1", lines[place], count=1)


def _escape_delimiters(lines: list[str], token: Token) -> None:
    """A reader without tables takes one for a paragraph, which a line of dashes or equals signs makes a heading.

    It may be the rule of a table of one column, one of its rows, or what stands right below.
    """
    first, end = token.map or (0, 0)
    below = end
    while below < len(lines) and _UNDERLINE.fullmatch(lines[below]):
        below += 1
    for place in range(first + 1, below):
        if _UNDERLINE.fullmatch(lines[place]):
            lines[place] = re.sub(r"([=-])", r"\\\1", lines[place], count=1)


def _escape_html(lines: list[str], token: Token) -> None:
    first, _ = token.map or (0, 0)
    lines[first] = lines[first].replace("<", "\\<", 1)


def _close(lines: list[str], token: Token) -> None:
    first, end = token.map or (0, 0)
    if _is_closed(token, lines[end - 1]):
        return
    opening = _FENCE.search(lines[first])
    before = lines[first][: opening.start()] if opening else ""
    prefix = "".join(character if character in " \t>" else " " for character in before)
    lines.insert(end, prefix + token.markup)


def _is_closed(fence: Token, last: str) -> bool:
    """Whether a fence's last line closes it: one that is indented far, or quoted as the fence is not, is content."""
    first, end = fence.map or (0, 0)
    held = fence.content.count("\n") + (fence.content[-1:] not in ("", "\n"))
    if end - first - 1 == held:  # every line below the one that opens it
        return False
    mark = last.strip(" \t>")
    return len(mark) >= len(fence.markup) and not mark.strip(fence.markup[0])


def _mend_fence(lines: list[str], token: Token) -> None:
    """Closes a fence that is left open, and puts one that no list holds where nobody can take it for an item's.

    An item that begins with an empty line holds what is indented by two columns; a reader may take one for enough.
    """
    _close(lines, token)
    first, _ = token.map or (0, 0)
    if token.level == 0 and any(_BARE_MARKER.fullmatch(line) for line in lines[:first]):
        lines[first] = lines[first].lstrip(" ")


_MENDERS = {
    "fence": _mend_fence,
    "html_block": _escape_html,
    "heading_open": _escape_underlines,
    "table_open": _escape_delimiters,
}


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def is_heading(text: str) -> bool:
    """Whether a passage is a heading on its own, in ATX form."""
    return "\n" not in text and bool(re.match(r"#{1,6}(?:[ \t]|$)", text))

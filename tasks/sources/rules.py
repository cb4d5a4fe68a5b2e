"""Security rules: each rule of a rule file is an item of few lines, what it is and when it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tasks.sources.documents import blocks
from tasks.sources.findings import Row, finding
from tasks.sources.identity import Names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

    from tasks.sources.documents import Document

_RULE = re.compile(r"rule(?:[ \t]+\d+)?[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_FIELD = re.compile(
    r"\*\*(?P<name>Level|When\b[^*:]*?)(?P<colon>[ \t]*:)?\*\*(?(colon)|[ \t]*:)[ \t]*(?P<value>.*)", re.IGNORECASE
)
_OTHER_FIELD = re.compile(r"\*\*[^*]+\*\*")
_LONGEST_SLUG = 80


@dataclass(frozen=True)
class _Section:
    """What stands under one heading: the tokens from after it to before the next, and the lines of both."""

    level: int
    title: str
    body: list[Token]
    first: int
    end: int


def rule_items(document: Document, scope: str, path: str) -> tuple[list[dict[str, Any]], list[Row]]:
    """The rules of a file as rows of items without number, position and tokens, under one item for the file.

    A rule is a heading of any level that reads `Rule: …` (also numbered) outside code. Of what stands under it, its
    level and when it holds are kept, the code and the reasons are not.

    Args:
        document: The rule file.
        scope: What the rules apply to, such as `python`.
        path: The file's place in the rule set, which its items are named after.
    """
    sections = list(_sections(document.text))
    rules = [(place, found[1]) for place, section in enumerate(sections) if (found := _RULE.fullmatch(section.title))]
    if not rules:
        message = "It holds no heading that reads 'Rule: …', so no rule was read from it."
        return [], [finding("warning", "RULES_EMPTY", document.label, message)]
    name = next((section.title for section in sections if section.level == 1 and section.title), path)
    parent = f"rules/{path}"
    rows = [_row(document, scope, f"# {name}", parent)]
    findings: list[Row] = []
    names = Names("-")
    for place, title in rules:
        own = _own_sections(sections, place)
        fields = _fields(own)
        if missing := [field for field in ("Level", "When") if field not in fields]:
            message = f"The rule does not say its {' or '.join(missing)}; it was read without."
            where = f"{document.label}, line {document.line(own[0].first)}"
            findings.append(finding("info", "RULE_INCOMPLETE", where, message))
        item_id = names.claim(f"{parent}#{_slug(title)}")
        text = "\n".join([f"### Rule: {title}".rstrip(), *fields.values()])
        rows.append(_row(document, scope, text, item_id, parent, lines=(own[0].first, own[-1].end - 1)))
    return rows, findings


def _row(
    document: Document,
    scope: str,
    text: str,
    item_id: str,
    parent: str | None = None,
    *,
    lines: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    return {
        "item_id": item_id,
        "source": "rules",
        "section": "rules",
        "kind": "policy",
        "text": text,
        "parent_id": parent,
        "sensitivity": "public",
        "path": document.label,
        "line_start": document.line(lines[0]),
        "line_end": document.line(lines[1], last=True),
        "tags": [scope],
        "trusted": True,
        "redactions": document.redactions_in(text),
    }


def _sections(text: str) -> Iterator[_Section]:
    """The headings of a text, wherever they stand outside code, each with what follows it."""
    tokens = blocks(text)
    lines = text.split("\n")
    places = [place for place, token in enumerate(tokens) if token.type == "heading_open" and token.map]
    for place, after in pairwise([*places, len(tokens)]):
        heading = tokens[place]
        first = (heading.map or (0, 0))[0]
        end = (tokens[after].map or (0, 0))[0] if after < len(tokens) else len(lines)
        while end > first + 1 and not lines[end - 1].strip():
            end -= 1
        title = " ".join(tokens[place + 1].content.split())
        yield _Section(int(heading.tag[1:]), title, tokens[place + 3 : after], first, end)


def _own_sections(sections: list[_Section], place: int) -> list[_Section]:
    """A rule's section and the deeper ones below it, up to the next rule."""
    own = [sections[place]]
    for section in sections[place + 1 :]:
        if section.level <= own[0].level or _RULE.fullmatch(section.title):
            break
        own.append(section)
    return own


def _fields(sections: list[_Section]) -> dict[str, str]:
    """The lines that say level and occasion, the level first, each as `**Level**: value` on one line."""
    found: dict[str, str] = {}
    inline = [token for section in sections for token in section.body if token.type == "inline"]
    for place, token in enumerate(inline):
        lines = token.content.split("\n")
        for number, line in enumerate(lines):
            field = _FIELD.match(line.strip())
            if field is None:
                continue
            name = " ".join(field["name"].split())
            kind = "Level" if name.lower() == "level" else "When"
            value = [field["value"], *_continued(lines[number + 1 :])]
            if not any(part.strip() for part in value):
                value = ["; ".join(_listed(inline[place + 1 :], token.level))]
            written = "Level" if kind == "Level" else f"When{name[4:]}"
            found.setdefault(kind, f"**{written}**: {' '.join(' '.join(value).split())}".rstrip())
    return {kind: found[kind] for kind in ("Level", "When") if kind in found}


def _continued(lines: list[str]) -> Iterator[str]:
    """The lines that go on with a field's value."""
    for line in lines:
        if _OTHER_FIELD.match(line.strip()):
            return
        yield line


def _listed(inline: list[Token], level: int) -> Iterator[str]:
    """The texts of the list that follows a field without a value."""
    for token in inline:
        if token.level <= level or _OTHER_FIELD.match(token.content):
            return
        yield token.content


def _slug(title: str) -> str:
    words = re.sub(r"[\W_]+", "-", title.lower()).strip("-")
    return words[:_LONGEST_SLUG].rstrip("-") or "rule"

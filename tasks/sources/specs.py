"""Specs: which documents belong to a graph, and the passages they consist of."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.sources.documents import blocks
from tasks.sources.files import InputFile, decode, exists, read_inside
from tasks.sources.findings import Row, finding
from tasks.sources.identity import Names, component, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from markdown_it.token import Token

    from tasks.sources.documents import Document
    from tasks.sources.files import Allowance

#: The names of each document, in the order in which they are tried.
SPEC_NAMES: dict[str, tuple[str, ...]] = {
    "requirements": ("requirements.md", "REQUIREMENTS.md"),
    "design": ("design.md", "DESIGN.md", "architecture.md", "ARCHITECTURE.md"),
}

_FEATURE = "{feature}"
_LONGEST_FOLDER = 200
_LONGEST_LIST = 1500  # characters; a longer list becomes several passages
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n[^\s:#][^\n:]*:(?:[ \t][^\n]*)?\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_JOINED = frozenset({"bullet_list_open", "ordered_list_open", "table_open", "fence", "code_block"})


# ---- finding them -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpecPath:
    """A document that may belong to a graph, and the folder that it must lie in once links are followed."""

    section: str
    path: Path
    inside: Path


def folder_name(feature: str) -> str | None:
    """A feature as the name of one folder: never a path, never hidden; None where nothing is left of it."""
    name = re.sub(r"[\x00-\x1f/\\:*?\"<>|]+", "-", feature).strip(" .-")
    return name[:_LONGEST_FOLDER].rstrip(" .") or None


def fixed_part(specs: Path) -> Path:
    """The folder that a `--specs` value names, up to where `{feature}` comes in."""
    parts = specs.parts
    return Path(*parts[: next((place for place, part in enumerate(parts) if _FEATURE in part), len(parts))])


def spec_paths(graph: Path, feature: str, specs: Path | None, cwd: Path) -> list[SpecPath]:
    """Where the documents of a graph may lie, the first choice first; nothing is looked at.

    The folder given as `specs` (`{feature}` in it replaced, else its subfolder of the feature's name, else itself),
    then the graph's own folder, then `.gsd/specs/<feature>` in the working folder.
    """
    name = folder_name(feature)
    folders: list[tuple[Path, Path]] = []
    if specs is not None and _FEATURE in str(specs):
        folders += [(Path(str(specs).replace(_FEATURE, name)), fixed_part(specs))] if name else []
    elif specs is not None:
        folders += [(specs / name, specs)] if name else []
        folders.append((specs, specs))
    folders.append((graph.parent, graph.parent))
    if name:
        folders.append((Path(".gsd", "specs", name), Path(".gsd", "specs")))
    return [
        SpecPath(section, cwd / folder / file, cwd / inside)
        for section, names in SPEC_NAMES.items()
        for folder, inside in folders
        for file in names
    ]


def find_specs(
    paths: Iterable[SpecPath], label_of: Callable[[Path], str], allowance: Allowance
) -> tuple[list[tuple[str, InputFile]], list[Row]]:
    """The first document of each section that can be read and holds text, with its section."""
    found: dict[str, InputFile] = {}
    findings: list[Row] = []
    for spec in paths:
        if spec.section in found or not exists(spec.path):
            continue
        label = label_of(spec.path)
        file = read_inside(spec.path, spec.inside, label, allowance)
        if not isinstance(file, InputFile):
            findings.append(file)
        elif not decode(file)[0].strip():
            findings.append(finding("info", "SPEC_EMPTY", label, "It is empty and counts as missing."))
        else:
            found[spec.section] = file
    return list(found.items()), findings


# ---- passages ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Passage:
    """A run of lines, from `first` to before `end`, counted from 0; `level` is a heading's, 0 for all others."""

    text: str
    first: int
    end: int
    level: int = 0


def spec_items(document: Document, graph: str, section: str) -> list[dict[str, Any]]:
    """The passages of a document, in its order, as rows of items without number, position and tokens.

    A passage is a top-level block, cut by the parser's line maps: never half a list item, table or fence. A paragraph
    that ends with a colon stays with the list, table or code it announces. A heading is a passage, the parent of what
    follows, and its own parent is the next heading above with a lower level. Front matter, rules (`---`) and link
    definitions are left out. About 3 MB/s.
    """
    name = document.label.rsplit("/", 1)[-1]
    above: list[tuple[int, str, str]] = []  # level, title, item id of the headings that a passage stands under
    rows: list[dict[str, Any]] = []
    names = Names("-")
    for passage in _passages(document.text):
        if passage.level:
            above = [heading for heading in above if heading[0] < passage.level]
        identity = digest("\n".join([*(title for _, title, _ in above), passage.text]), 10)
        item_id = names.claim(f"{component(graph)}/{component(name)}#{identity}")
        rows.append(
            {
                "item_id": item_id,
                "graph": graph,
                "source": "spec",
                "section": section,
                "kind": "doc_snippet",
                "text": passage.text,
                "parent_id": above[-1][2] if above else None,
                "sensitivity": "public",
                "path": document.label,
                "line_start": document.line(passage.first),
                "line_end": document.line(passage.end - 1, last=True),
                "tags": [],
                "trusted": True,
                "redactions": document.redactions_in(passage.text),
            }
        )
        if passage.level:
            above.append((passage.level, passage.text, item_id))
    return rows


def _passages(text: str) -> Iterator[_Passage]:
    text = _FRONT_MATTER.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = text.split("\n")
    tokens = blocks(text)
    lead: _Passage | None = None  # a paragraph that announces what comes next
    for place, token in enumerate(tokens):
        if token.level or token.map is None or token.type == "hr":
            continue
        passages = list(_block(tokens, place, lines))
        if lead is not None:
            joined = bool(passages) and token.type in _JOINED
            passages = [_join(lead, passages[0]), *passages[1:]] if joined else [lead, *passages]
            lead = None
        if passages and token.type == "paragraph_open" and _announces(passages[-1].text):
            lead = passages.pop()
        yield from passages
    if lead is not None:
        yield lead


def _block(tokens: list[Token], place: int, lines: list[str]) -> Iterator[_Passage]:
    token = tokens[place]
    first, end = token.map or (0, 0)
    while end > first and not lines[end - 1].strip():
        end -= 1
    if token.type == "heading_open":
        if title := " ".join(tokens[place + 1].content.split()):
            level = int(token.tag[1:])
            yield _Passage(f"{'#' * level} {title}", first, end, level)
        return
    passage = _Passage("\n".join(lines[first:end]).rstrip(), first, end)
    if token.type == "fence":
        yield replace(passage, text=_closed(passage.text, token))
    elif token.type.endswith("_list_open") and len(passage.text) > _LONGEST_LIST:
        yield from _split_list(tokens, place, lines, passage)
    elif passage.text:
        yield passage


def _split_list(tokens: list[Token], place: int, lines: list[str], whole: _Passage) -> Iterator[_Passage]:
    """A long list in runs of items, each run as long as fits."""
    level = tokens[place].level
    starts: list[int] = []
    for token in tokens[place + 1 :]:
        if token.level == level and token.nesting < 0:
            break
        if token.level == level + 1 and token.type == "list_item_open" and token.map:
            starts.append(token.map[0])
    first = whole.first
    for start, after in zip(starts, [*starts[1:], whole.end], strict=True):
        if start > first and sum(map(len, lines[first:after])) + after - first > _LONGEST_LIST:
            yield _lines(lines, first, start)
            first = start
    yield _lines(lines, first, whole.end)


def _lines(lines: list[str], first: int, end: int) -> _Passage:
    while end > first and not lines[end - 1].strip():
        end -= 1
    return _Passage("\n".join(lines[first:end]).rstrip(), first, end)


def _join(lead: _Passage, follower: _Passage) -> _Passage:
    between = "\n" * (follower.first - lead.end + 1)
    return _Passage(lead.text + between + follower.text, lead.first, follower.end)


def _announces(text: str) -> bool:
    return text.rstrip("*_ \t").endswith((":", "："))


def _closed(text: str, fence: Token) -> str:
    """A fence that the end of the document left open, closed."""
    last = text.rsplit("\n", 1)[-1].strip()
    is_closed = "\n" in text and len(last) >= len(fence.markup) and not last.strip(fence.markup[0])
    return text if is_closed else f"{text}\n{fence.markup}"

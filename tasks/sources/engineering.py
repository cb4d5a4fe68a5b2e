"""Engineering rules: YAML files of short rules with a priority and the files that each applies to.

A file reads `{name, rules: [{id, title, description, priority, category, applies_to, enabled}]}`. It is composed into
nodes and never constructed: no tag makes an object, and each value stays as it is printed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import yaml

from tasks.scopes import ENGINEERING, glob_scope
from tasks.sources.files import InputFile, decode, exists, read_inside
from tasks.sources.findings import Findings, Row, finding, shown
from tasks.sources.identity import component
from tasks.sources.masking import MASKED, credential_finding
from tasks.terms import PRIORITIES, PRIORITY
from tasks.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tasks.sources.files import Allowance
    from tasks.sources.masking import Masks

#: The columns of a row that hold text from the file, in which credentials are masked.
ENGINEERING_TEXTS = ("rule_id", "title", "description", "category", "globs")

_HEADING = f"rules/{ENGINEERING}"
_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 256 * 1024  # some 1,500 rules, which take about two seconds
_DEEPEST = 50  # levels of nesting; a rule needs four
_OFF = frozenset({"false", "no", "off", "n", "0"})
_ON = frozenset({"true", "yes", "on", "y", "1"})
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True)
class EngineeringRead:
    """One file: its rules as rows in the order given, and what is odd about it."""

    label: str
    rows: list[dict[str, Any]]
    findings: list[Row] = field(default_factory=list)

    def masked(self, masks: Masks) -> EngineeringRead:
        """The same without credentials."""
        rows = masks.rows(self.rows, ENGINEERING_TEXTS)
        return replace(self, label=masks.of(self.label).text, rows=rows)


def find_engineering(
    folder: Path, label_of: Callable[[Path], str], allowance: Allowance, *, within: tuple[str, ...] = (ENGINEERING,)
) -> tuple[list[InputFile], list[Row]]:
    """The YAML files right in a folder and in these folders within it, by name; hidden ones left out."""
    files: list[InputFile] = []
    findings: list[Row] = []
    for place in (folder, *(folder / name for name in within)):
        try:
            names = sorted(path.name for path in place.iterdir() if path.suffix.lower() in _SUFFIXES)
        except (OSError, ValueError):
            if place == folder or exists(place):
                message = "It is no folder that can be read; no engineering rules were read from it."
                findings.append(finding("error", "INPUT_MISSING", label_of(place), message))
            continue
        for name in names:
            if name.startswith("."):
                continue
            file = read_inside(place / name, folder, label_of(place / name), allowance, _MOST_BYTES)
            if isinstance(file, InputFile):
                files.append(file)
            else:
                findings.append(file)
    return files, findings


def read_engineering(file: InputFile) -> EngineeringRead:
    """The rules of a file. Never raises; what cannot be read is a finding, and the rest is read."""
    text, odd_bytes = decode(file)
    findings = Findings(file.label)
    rows: list[dict[str, Any]] = []
    try:
        for document in _documents(clean(text)):
            rows += _rules(document, findings)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        rows = []
        findings.add("error", "ENGINEERING_UNREADABLE", f"It is {_reason(error)}; it was left out.")
    else:
        if not rows and not findings.rows:
            findings.add("warning", "ENGINEERING_EMPTY", "It holds no rules.")
    return EngineeringRead(file.label, rows, odd_bytes + findings.rows)


def engineering_items(reads: Iterable[EngineeringRead]) -> tuple[list[dict[str, Any]], list[Row]]:
    """The rules of all files as rows of items without number, position and tokens, under one heading.

    They come in order of priority, then by file name, then as given. Of an id the first by file name counts; a rule
    that is switched off is left out.
    """
    findings: list[Row] = []
    kept: dict[str, tuple[str, dict[str, Any]]] = {}
    for read in sorted(reads, key=lambda read: (posixpath.basename(read.label), read.label)):
        odd = Findings(read.label)
        for row in read.rows:
            place = f"line {row['line_start']}"
            if row["rule_id"] in kept:
                message = (
                    f"The id {shown(row['rule_id'])} stands in {kept[row['rule_id']][0]} already; that one counts."
                )
                odd.add("warning", "ENGINEERING_SAME_ID", message, place)
                continue
            kept[row["rule_id"]] = (read.label, row)
            if not row["enabled"]:
                odd.add("info", "ENGINEERING_DISABLED", f"The rule {shown(row['rule_id'])} is switched off.", place)
        findings += odd.rows
    ordered = sorted(
        ((label, row) for label, row in kept.values() if row["enabled"]),
        key=lambda entry: PRIORITIES.index(entry[1]["priority"]),
    )
    if not ordered:
        return [], findings
    items = [_item("# Engineering rules", _HEADING, [ENGINEERING])]
    for label, row in ordered:
        item_id = f"{_HEADING}#{component(row['rule_id'])}"
        if masked := row.get(MASKED):
            findings.append(credential_finding(item_id, masked))
        tags = [glob_scope(row["globs"]), f"{PRIORITY}{row['priority']}"]
        lines = {"path": label, "line_start": row["line_start"], "line_end": row["line_end"]}
        more = {"parent_id": _HEADING, "redactions": sum((masked or {}).values()), **lines}
        items.append({**_item(_rule_text(row), item_id, tags), **more})
    return items, findings


def _item(text: str, item_id: str, tags: list[str]) -> dict[str, Any]:
    return {
        "item_id": item_id,
        "source": "rules",
        "section": "rules",
        "kind": "policy",
        "text": text,
        "sensitivity": "public",
        "tags": tags,
        "trusted": True,
        "redactions": 0,
    }


def _rule_text(row: dict[str, Any]) -> str:
    """A rule in one paragraph: what it is called, how urgent it is, what it says."""
    named = f"**{row['title'] or row['rule_id']}** ({row['priority']})"
    return f"{named}: {row['description']}" if row["description"] else named


# ---- one file ---------------------------------------------------------------------------------------------------


def _documents(text: str) -> Iterator[yaml.Node | None]:
    """The documents of a file as nodes. An alias is the very node that it names, so nothing is multiplied.

    Raises:
        yaml.YAMLError: it is no YAML.
        ValueError: it is nested too deeply.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} levels deep")
    yield from yaml.compose_all(text, Loader=yaml.SafeLoader)


def _reason(error: Exception) -> str:
    """Why a file cannot be read; it quotes nothing of it."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"not valid YAML at line {mark.line + 1}, column {mark.column + 1}"
    return str(error) if type(error) is ValueError else "not valid YAML"


def _rules(document: yaml.Node | None, findings: Findings) -> Iterator[dict[str, Any]]:
    if document is None:
        return
    entries = _fields(document).get("rules") if isinstance(document, yaml.MappingNode) else document
    if entries is None or (isinstance(entries, yaml.ScalarNode) and entries.tag == _NULL):
        return
    if not isinstance(entries, yaml.SequenceNode):
        findings.add("error", "ENGINEERING_SHAPE", "Its rules are no list; they were left out.", _line(entries))
        return
    for count, entry in enumerate(entries.value, 1):
        row = _rule(entry, count, findings)
        if row is not None:
            yield row


def _rule(entry: yaml.Node, count: int, findings: Findings) -> dict[str, Any] | None:
    place = _line(entry)
    if not isinstance(entry, yaml.MappingNode):
        findings.add("error", "ENGINEERING_SHAPE", f"Rule {count} is no mapping; it was left out.", place)
        return None
    fields = _fields(entry)
    texts = {name: _text(fields.get(name), name, findings) for name in ("id", "title", "description", "category")}
    if not texts["title"] and not texts["description"]:
        findings.add("error", "ENGINEERING_SHAPE", f"Rule {count} says nothing; it was left out.", place)
        return None
    if not texts["id"]:
        texts["id"] = texts["title"] or texts["description"][:80]
        findings.add("info", "ENGINEERING_NO_ID", f"Rule {count} has no id; it is called after its text.", place)
    return {
        "rule_id": texts["id"],
        "title": texts["title"],
        "description": texts["description"],
        "category": texts["category"],
        "priority": _priority(fields.get("priority"), findings),
        "globs": _globs(fields.get("applies_to"), findings),
        "enabled": _enabled(fields.get("enabled"), findings),
        "line_start": entry.start_mark.line + 1,
        "line_end": max(entry.end_mark.line + bool(entry.flow_style), entry.start_mark.line + 1),
    }


def _fields(node: yaml.MappingNode) -> dict[str, yaml.Node]:
    """The values of a mapping by name; of a name given twice the last counts."""
    return {key.value.strip().lower(): value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _text(node: yaml.Node | None, name: str, findings: Findings) -> str:
    if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == _NULL):
        return ""
    if isinstance(node, yaml.ScalarNode):
        return one_line(node.value)
    findings.add("warning", "ENGINEERING_FIELD", f"Its {name} is no text; it was left out.", _line(node))
    return ""


def _priority(node: yaml.Node | None, findings: Findings) -> str:
    word = _text(node, "priority", findings).lower()
    if word in PRIORITIES:
        return word
    if word:
        message = f"Its priority {shown(word)} is unknown; it counts as {PRIORITIES[-1]}."
        findings.add("warning", "ENGINEERING_PRIORITY", message, _line(node) if node is not None else "")
    return PRIORITIES[-1]


def _globs(node: yaml.Node | None, findings: Findings) -> list[str]:
    entries: Sequence[yaml.Node] = node.value if isinstance(node, yaml.SequenceNode) else [node] if node else []
    return list(dict.fromkeys(glob for entry in entries if (glob := _text(entry, "applies_to", findings))))


def _enabled(node: yaml.Node | None, findings: Findings) -> bool:
    word = _text(node, "enabled", findings).lower()
    if word and word not in _ON | _OFF:
        findings.add("warning", "ENGINEERING_FIELD", "Its enabled is neither true nor false; it counts as true.")
    return word not in _OFF

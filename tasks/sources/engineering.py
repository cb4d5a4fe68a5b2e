"""Engineering rules: YAML files of short rules with a priority and the files that each applies to.

A file reads `{name, rules: [{id, title, description, priority, category, applies_to, enabled}]}`. It is composed into
nodes and never constructed: no tag makes an object, and each value stays as it is printed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tasks.scopes import ENGINEERING, glob_scope
from tasks.sources.files import InputFile, decode, exists, read_inside
from tasks.sources.findings import Findings, Row, finding, shown
from tasks.sources.identity import component
from tasks.sources.masking import MASKED, credential_finding
from tasks.terms import PRIORITIES, PRIORITY
from tasks.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tasks.sources.files import Allowance
    from tasks.sources.masking import Masks

#: The columns of a row that hold text from the file, in which credentials are masked.
ENGINEERING_TEXTS = ("rule_id", "title", "description", "category", "globs")

_HEADING = f"rules/{ENGINEERING}"
_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 256 * 1024  # some 1,500 rules, which take about two seconds


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
    from tasks.sources.engineering_files import UnreadableError, rules_of  # brings YAML, which few builds need

    text, odd_bytes = decode(file)
    findings = Findings(file.label)
    rows: list[dict[str, Any]] = []
    try:
        rows = rules_of(clean(text), findings)
    except UnreadableError as error:
        findings.add("error", "ENGINEERING_UNREADABLE", f"It is {error}; it was left out.")
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

"""A tool catalogue, as MCP's `tools/list` gives it, as one block of text a tool."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from tasks.batch import Tools, frame_of
from tasks.sources.brief import closed
from tasks.sources.files import decode
from tasks.sources.findings import Findings, Row, finding, shown
from tasks.sources.masking import Masks, count_masked, credential_finding
from tasks.sources.values import Printed, UnreadableJsonError, flattened, name_of, parse_json, prose, scalar
from tasks.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tasks.sources.files import InputFile

_MOST_DIGITS = 400  # of a whole number that is written out


def read_tools(file: InputFile) -> tuple[pl.DataFrame | None, list[Row]]:
    """The tools of a catalogue, sorted by name, free of credentials; None where the file is no catalogue.

    Read are `{"tools": [...]}`, the JSON-RPC answer around it, and a bare list. Beyond MCP's `name`, `description`,
    `inputSchema` and `annotations` a tool may have `constraints` and `examples`.
    """
    text, odd = decode(file)
    findings = Findings(file.label)
    try:
        value = parse_json(text)
    except UnreadableJsonError as error:
        return None, [*odd, _unreadable(file.label, f"It is {error}; no call prompts were made.")]
    value = value.get("result", value) if isinstance(value, dict) else value
    entries = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return None, [*odd, _unreadable(file.label, "It holds no list of tools; no call prompts were made.")]
    texts: dict[str, str] = {}
    for place, entry in enumerate(entries, 1):
        _add(entry, f"tool {place}", texts, findings)
    masks = Masks(text for pair in texts.items() for text in pair)
    rows: dict[str, dict[str, Any]] = {}
    masked: list[Row] = []
    for name, block in texts.items():
        safe, redaction = masks.of(name).text, masks.of(block)
        rows.setdefault(safe, {"tool": safe, "text": redaction.text, "redactions": count_masked(redaction.text)})
        if redaction.counts:
            masked.append(credential_finding(f"{file.label}, tool {safe}", redaction.counts))
    frame = frame_of(Tools, [rows[name] for name in sorted(rows)])
    return frame, [*odd, *findings.rows, *masked]


def unknown_tools(tasks: pl.DataFrame, tools: pl.DataFrame) -> list[Row]:
    """What tasks call and the catalogue does not have."""
    known = set(tools["tool"])
    found = []
    for graph, task_id, names in tasks.select("graph", "task_id", "tools").iter_rows():
        if unknown := sorted(set(names) - known):
            message = f"It calls tools that the catalogue does not have: {', '.join(map(shown, unknown))}."
            found.append(finding("warning", "TASK_UNKNOWN_TOOL", f"{graph}/{task_id}", message))
    return found


def _unreadable(label: str, message: str) -> Row:
    return finding("error", "TOOLS_UNREADABLE", label, message)


def _add(entry: object, place: str, texts: dict[str, str], findings: Findings) -> None:
    name = name_of(entry.get("name")) if isinstance(entry, dict) else ""
    if not isinstance(entry, dict) or not name:
        said = "is no object" if not isinstance(entry, dict) else "has no name"
        findings.add("error", "TOOL_UNREADABLE", f"This entry {said}; it was left out.", place)
        return
    schema = entry.get("inputSchema")
    if not isinstance(schema, dict):
        message = f"{shown(name)} has no inputSchema that is an object; it counts as one without arguments."
        findings.add("warning", "TOOL_NO_SCHEMA", message, place)
        schema = {}
    text = "\n\n".join(_parts(name, entry, schema))
    if name not in texts:
        texts[name] = text
    elif texts[name] == text:
        findings.add("info", "TOOL_REPEATED", f"{shown(name)} stands there again; it was read once.", place)
    else:
        message = f"Another tool is called {shown(name)}; this one was left out."
        findings.add("warning", "TOOL_SAME_NAME", message, place)


def _parts(name: str, entry: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield f"Name: {name}"
    if description := prose(entry.get("description")):
        yield closed(f"Description: {description}")
    yield f"Arguments:\n{_fenced(schema)}"
    lines = [closed(line) for line in map(_line, flattened(entry.get("constraints"))) if line]
    if isinstance(hints := entry.get("annotations"), dict) and hints:
        lines.append(f"annotations: {sorted_json(hints)}")
    if lines:
        yield "\n".join(["Constraints:", *(f"- {line}" for line in lines)])
    if examples := list(flattened(entry.get("examples"))):
        yield "\n".join(["Examples:", *map(_fenced, examples)])


def _line(value: object) -> str:
    """A constraint on one line; what is no plain value as JSON."""
    text = scalar(value)
    return " ".join(clean(text).split()) if text is not None else sorted_json(value)


def _fenced(value: object) -> str:
    """JSON on one line, which can close no fence."""
    return f"```json\n{sorted_json(value)}\n```"


def sorted_json(value: object) -> str:
    """A value as JSON on one line, keys sorted, nothing in it hidden."""
    return clean(json.dumps(_plain(value), ensure_ascii=False, sort_keys=True))


def _plain(value: object) -> object:
    """A value with its numbers as JSON writes them."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, Printed):
        digits = value.text.removeprefix("-")
        if digits.isdecimal():
            return int(value.text) if len(digits) <= _MOST_DIGITS else value.text
        return float(value) if math.isfinite(value) else value.text
    return value

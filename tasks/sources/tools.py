"""A tool catalogue, as MCP's `tools/list` gives it, as one block of text a tool."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from tasks.batch import Tools, frame_of
from tasks.sources.files import decode
from tasks.sources.findings import Findings, Row, finding, shown
from tasks.sources.masking import Masks, count_masked, credential_finding
from tasks.sources.values import Printed, UnreadableJsonError, flattened, name_of, parse_json, prose, scalar
from tasks.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tasks.sources.files import InputFile

_NOT_PLAIN = re.compile(r"[^\x20-\x7e]")


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
    blocks: dict[str, list[str]] = {}
    for place, entry in enumerate(entries, 1):
        _add(entry, f"tool {place}", blocks, findings)
    masks = Masks(text for name, parts in blocks.items() for text in (name, *parts))
    rows: dict[str, dict[str, Any]] = {}
    masked: list[Row] = []
    for name, parts in blocks.items():
        # Part by part: a key that never ends in a description must not take the head of the arguments with it.
        safe, redactions = masks.of(name).text, [masks.of(part) for part in parts]
        text = "\n\n".join(redaction.text for redaction in redactions)
        rows.setdefault(safe, {"tool": safe, "text": text, "redactions": count_masked(text)})
        if counts := sum((Counter(redaction.counts) for redaction in redactions), Counter()):
            masked.append(credential_finding(f"{file.label}, tool {safe}", counts))
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


def _add(entry: object, place: str, blocks: dict[str, list[str]], findings: Findings) -> None:
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
    parts = list(_parts(name, entry, schema))
    if name not in blocks:
        blocks[name] = parts
    elif blocks[name] == parts:
        findings.add("info", "TOOL_REPEATED", f"{shown(name)} stands there again; it was read once.", place)
    else:
        message = f"Another tool is called {shown(name)}; this one was left out."
        findings.add("warning", "TOOL_SAME_NAME", message, place)


def _parts(name: str, entry: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    """The parts of a block. Only their own heads stand at the start of a line: no text can open one of them."""
    yield f"Name: {name}"
    if description := prose(entry.get("description")):
        yield f"Description: {description}" if "\n" not in description else f"Description:\n{_quoted(description)}"
    yield f"Arguments:\n{_fenced(schema)}"
    lines = [line for line in map(_line, flattened(entry.get("constraints"))) if line]
    if isinstance(hints := entry.get("annotations"), dict) and hints:
        lines.append(f"annotations: {sorted_json(hints)}")
    if lines:
        yield "\n".join(["Constraints:", *(f"- {line}" for line in lines)])
    if examples := list(flattened(entry.get("examples"))):
        yield "\n".join(["Examples:", *map(_fenced, examples)])


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _line(value: object) -> str:
    """A constraint on one line; what is no plain value as JSON."""
    text = scalar(value)
    return one_line(text) if text is not None else sorted_json(value)


def _fenced(value: object) -> str:
    """JSON on one line, which can close no fence."""
    return f"```json\n{sorted_json(value)}\n```"


def sorted_json(value: object) -> str:
    """A value as JSON on one line, keys sorted, numbers as printed: what it parses to is the value itself.

    What a prompt must not hold - markup of chat formats, what is invisible or ends a line, what Markdown takes for a
    link's definition - stands there as an escape that JSON itself reads back.
    """
    if isinstance(value, dict):
        pairs = (f"{sorted_json(key)}: {sorted_json(inner)}" for key, inner in sorted(value.items()))
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(sorted_json, value))}]"
    if isinstance(value, Printed):
        return value.text
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_PLAIN.sub(_escaped, text).replace("<", "\\u003c").replace("]:", "]\\u003a")


def _escaped(found: re.Match[str]) -> str:
    """A character that cleaning would change, as JSON escapes it."""
    return found[0] if clean(found[0]) == found[0] else json.dumps(found[0])[1:-1]

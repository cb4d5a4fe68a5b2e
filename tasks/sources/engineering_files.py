"""What a YAML file of engineering rules says: its rules as rows, and what is odd about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from tasks.sources.findings import shown
from tasks.terms import PRIORITIES
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.sources.findings import Findings

_DEEPEST = 50  # levels of nesting; a rule needs four
_OFF = frozenset({"false", "no", "off", "n", "0"})
_ON = frozenset({"true", "yes", "on", "y", "1"})
_NULL = "tag:yaml.org,2002:null"


class UnreadableError(ValueError):
    """A file is no YAML that can be read. It says why, and quotes nothing of it."""


def rules_of(text: str, findings: Findings) -> list[dict[str, Any]]:
    """The rules in a file's text, a row each.

    Raises:
        UnreadableError: it is no YAML, or nested too deeply.
    """
    try:
        return [row for document in _documents(text) for row in _rules(document, findings)]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UnreadableError(_reason(error)) from error


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

"""Event logs: what happened before the launch, as untrusted items.

One JSON object a line is the rule. A file may also be one JSON value: a list of events or chat messages, an object with
`messages`, `events` or one `item`. Rows that give no text are left out, each with a finding that quotes nothing of it.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasks.sources.events import OUTER_LABELS, events_of
from tasks.sources.files import InputFile, decode
from tasks.sources.findings import Findings, Row
from tasks.sources.identity import Names, component, digest, shortened
from tasks.sources.masking import MASKED, credential_finding
from tasks.sources.times import effective_times
from tasks.sources.values import UnreadableJsonError, compact_json, parse_json
from tasks.terms import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The columns of a row that hold text from the log, in which credentials are masked.
LOG_TEXTS = ("event_id", "parent", "graph", "task_id", "text", "tags", "media_type")

_LISTS = ("messages", "events", "items", "history")
_TEXTS = ("text", "content")
_INHERITED = ("graph", "feature", "task_id")


@dataclass(frozen=True)
class LogRead:
    """One log: its name in item ids, its events as rows in the order given, ids as the log has them."""

    label: str
    namespace: str
    rows: list[dict[str, Any]]
    findings: list[Row]


def read_log(file: InputFile) -> LogRead:
    """The events of a log. Never raises; a file without one has no rows and a finding."""
    text, odd_bytes = decode(file)
    findings = Findings(file.label)
    rows = [event for value in _values(text, findings) for event in events_of(*value, findings)]
    for row, time in zip(rows, effective_times([row["time"] for row in rows]), strict=True):
        row["time"] = time
    if not rows:
        findings.add("warning", "LOG_EMPTY", "It holds no event that can be read.")
    stem = posixpath.splitext(posixpath.basename(file.label))[0]
    return LogRead(file.label, f"{stem}@{file.sha256[:8]}", rows, odd_bytes + findings.rows)


def history_items(log: LogRead) -> tuple[list[dict[str, Any]], list[Row]]:
    """The events as rows of items without number, position and tokens; `time` orders them with those of other logs.

    Ids are the log's own under its namespace, so that no two logs share one. Of an id given twice, the same event is
    read once and another one gets a new id; all that share one have the highest label among them.
    """
    findings = Findings(log.label)
    kept = list(_unique(log.rows, findings))
    known = {row["event_id"] for row in kept}
    space = component(log.namespace)
    items: list[dict[str, Any]] = []
    credentials: list[Row] = []
    for line, row in enumerate(kept):
        parent = row["parent"]
        if parent is not None and parent not in known:
            findings.add("info", "EVENT_PARENT_MISSING", "It names a parent that is not in the log.", row["place"])
        item_id = f"{space}/{shortened(row['event_id'])}"
        masked = row.get(MASKED, {})
        if masked:
            credentials.append(credential_finding(item_id, masked))
        items.append(
            {
                **row,
                "item_id": item_id,
                "parent_id": None if parent is None else f"{space}/{shortened(parent)}",
                "source": "history",
                "section": "history",
                "path": log.label,
                "trusted": False,
                "redactions": sum(masked.values()),
                "order": (row["time"] is not None, row["time"] or 0, log.namespace, line),
            }
        )
    return items, findings.rows + credentials


def _unique(rows: list[dict[str, Any]], findings: Findings) -> Iterator[dict[str, Any]]:
    counts = Counter(row["event_id"] for row in rows)
    if len(counts) == len(rows):
        yield from rows
        return
    levels: dict[str, int] = {}  # a child of an id that two events share may mean either
    for row in rows:
        levels[row["event_id"]] = max(levels.get(row["event_id"], 0), LEVELS.index(row["sensitivity"]))
    names = Names("~", reserved=counts)
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if counts[row["event_id"]] == 1:
            names.claim(row["event_id"])
            yield row
            continue
        key = row["event_id"], digest("\0".join((compact_json(row["source_row"]), row["kind"], row["text"])), 64)
        if key in seen:
            findings.add("info", "EVENT_REPEATED", "The same event stands there again; it was read once.", row["place"])
            continue
        seen.add(key)
        unique = names.claim(row["event_id"])
        if unique != row["event_id"]:
            findings.add(
                "warning",
                "EVENT_SAME_ID",
                "Another event has its id; it got one of its own, and both the higher label.",
                row["place"],
            )
        yield {**row, "event_id": unique, "sensitivity": LEVELS[levels[row["event_id"]]]}


# ---- the forms of a log -----------------------------------------------------------------------------------------


def _values(text: str, findings: Findings) -> Iterator[tuple[dict[str, Any], int | None, str]]:
    """Each object of a log with its line (None where the file is one value) and its place in words."""
    whole = _whole(text)
    if whole is not None:
        yield from _objects(whole, None, "", findings)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            value = parse_json(line)
        except UnreadableJsonError as error:
            findings.add("error", "EVENT_NOT_JSON", f"It is {error.reason}; it was left out.", place)
            continue
        yield from _objects(value, number, place, findings)


def _objects(
    value: object, line: int | None, place: str, findings: Findings
) -> Iterator[tuple[dict[str, Any], int | None, str]]:
    """The events in a value: itself, those of a list, or those that an object wraps."""
    wrapped = _wrapped(value)
    if wrapped is not None:
        for count, entry in enumerate(wrapped, 1):
            inner = f"{place}, event {count}" if place else f"event {count}"
            if isinstance(entry, dict):
                yield entry, line, inner
            else:
                findings.add("error", "EVENT_NOT_AN_OBJECT", "It is no object; it was left out.", inner)
    elif isinstance(value, dict):
        item = value.get("item")
        if isinstance(item, dict) and value.keys().isdisjoint(_TEXTS):
            value = _within(value, item)
        yield value, line, place or "event 1"
    else:
        findings.add("error", "EVENT_NOT_AN_OBJECT", "It is no object; it was left out.", place or "event 1")


def _wrapped(value: object) -> list[Any] | None:
    """The list of events that a value is, or holds beside nothing that could be an event's own text."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value.keys().isdisjoint(_TEXTS):
        return None
    found = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
    if found is None:
        return None
    return [_within(value, entry) if isinstance(entry, dict) else entry for entry in found]


def _within(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """An event with what its wrapper says for it: whom it belongs to, and labels, of which the highest will count."""
    metadata = outer.get("metadata")
    labels = [outer.get("sensitivity"), metadata.get("sensitivity") if isinstance(metadata, dict) else None]
    inherited = {name: outer[name] for name in _INHERITED if name in outer}
    return {**inherited, **inner, OUTER_LABELS: [label for label in labels if label is not None]}


def _whole(text: str) -> object | None:
    """The value of a file that is one JSON value, not a log of lines; None for all others."""
    start = text.lstrip()
    if start[:1] not in ("[", "{") or (start[0] == "{" and _is_object(start.split("\n", 1)[0])):
        return None
    try:
        value: object = parse_json(text)
    except UnreadableJsonError:
        return None
    return value


def _is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except UnreadableJsonError:
        return False

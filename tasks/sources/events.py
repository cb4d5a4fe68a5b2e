"""One object of a log as events: kinds, texts, labels and links in the words of every log format that is read."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tasks.sources.times import microseconds
from tasks.sources.values import UnreadableJsonError, compact_json, flattened, name_of, parse_json, scalar
from tasks.terms import KINDS, LEVELS
from tasks.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tasks.sources.findings import Findings

#: Where an event carries the labels of what it was wrapped in. No JSON key: it holds a control character.
OUTER_LABELS = "\0labels"

_RESTRICTED = len(LEVELS) - 1
_TIMES = ("timestamp", "ts", "time", "created_at", "date")
_TEXTS = ("text", "content")
_OUTPUTS = ("output", "result")
_CALL_IDS = ("tool_call_id", "tool_use_id", "call_id")

#: The closest kind to the words that other formats use. A log is untrusted: its `system` is a fact, never a policy.
_CLOSEST: dict[str, str] = {
    **{kind: kind for kind in KINDS},
    **dict.fromkeys(("user", "human", "user_message", "prompt", "question"), "user_turn"),
    **dict.fromkeys(("assistant", "agent", "ai", "model", "bot", "agent_message", "assistant_message"), "agent_msg"),
    **dict.fromkeys(("function_call", "tool_use", "call", "tool_invocation", "mcp_call"), "tool_call"),
    **dict.fromkeys(("tool", "function", "observation", "result"), "tool_result"),
    **dict.fromkeys(("system", "developer", "memory", "fact"), "memory_fact"),
    **dict.fromkeys(("document", "doc", "snippet"), "doc_snippet"),
    **dict.fromkeys(("retrieved", "retrieval", "search_hit"), "retrieved_doc"),
    **dict.fromkeys(("plan", "state"), "plan_state"),
}
# Whatever names itself an output is kept behind the firewall, also under a word that nobody has heard of.
_OUTPUT = re.compile(r"(?:^|_)(?:result|results|output|observation|stdout|stderr)(?:_|$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def events_of(row: Mapping[str, Any], line: int | None, place: str, findings: Findings) -> Iterator[dict[str, Any]]:
    """The events of an object: itself, and each tool call or result that a chat message carries inside.

    An object without any text gives none, and a finding. `source_row` of an event is the object, `time` what that says,
    and `raw`, for the results of tools alone, its text as it was.
    """
    metadata = row.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    event_id = name_of(row.get("id"))
    kind = _kind(row, place, findings)
    parts = _parts(row)
    own_text = _own_text(row, kind, parts)
    if not event_id:
        event_id = place.replace(" ", "-")
        if not _is_chat(row):
            findings.add("info", "EVENT_NO_ID", "It has no id; it is called after its place.", place)
    common = {
        "source_row": row,
        "graph": _name(row, metadata, ("graph", "feature")),
        "task_id": _name(row, metadata, ("task_id",)),
        "sensitivity": LEVELS[_level(row, metadata, place, findings)],
        "tags": _tags(row.get("tags", metadata.get("tags"))),
        "media_type": _name(row, metadata, ("media_type", "mime_type")),
        "line_start": line,
        "line_end": line,
        "place": place,
        "time": _time(row),
    }
    parent = _parent(row, metadata, place, findings)
    told = bool(own_text.strip())
    if told:
        yield _event(common, event_id, parent, kind, own_text)
    inner_parent = event_id if told else parent
    found = told
    for count, (inner_kind, inner_id, inner_of, text) in enumerate(_inner(row, parts), 1):
        if text.strip():
            found = True
            yield _event(common, inner_id or f"{event_id}-{count}", inner_of or inner_parent, inner_kind, text)
    if not found:
        findings.add("error", "EVENT_NO_TEXT", "It has no text; it was left out.", place)


def _event(common: Mapping[str, Any], event_id: str, parent: str | None, kind: str, text: str) -> dict[str, Any]:
    return {
        **common,
        "event_id": event_id,
        "parent": parent,
        "kind": kind,
        "text": clean(text),
        "raw": text.encode("utf-8", "surrogatepass") if kind == "tool_result" else None,
    }


def _time(row: Mapping[str, Any]) -> int | None:
    """When it happened, by the first of the names for a time that tells one."""
    for name in _TIMES:
        if name in row and (time := microseconds(row[name])) is not None:
            return time
    return None


def _is_chat(row: Mapping[str, Any]) -> bool:
    return "role" in row


# ---- kinds ------------------------------------------------------------------------------------------------------


def _kind(row: Mapping[str, Any], place: str, findings: Findings) -> str:
    if (kind := row.get("kind")) in KINDS:
        return _CLOSEST[kind]
    given = [row[name] for name in ("kind", "type", "role") if row.get(name) is not None]
    words = [_word(name_of(value)) for value in given]
    for word in words:
        if word in _CLOSEST:
            if word == "user" and any(name in row for name in _CALL_IDS):
                return "tool_result"
            return _CLOSEST[word]
    if any(_OUTPUT.search(word) for word in words) or any(name in row for name in _CALL_IDS):
        return "tool_result"
    if given:
        # Not quoted: what an event calls itself may tell of one that nobody is to know of.
        findings.add("warning", "EVENT_KIND", "It is of an unknown kind; it was read as agent_msg.", place)
    else:
        findings.add("warning", "EVENT_KIND", "It has no kind; it was read as agent_msg.", place)
    return "agent_msg"


@lru_cache(maxsize=1024)
def _word(name: str) -> str:
    return re.sub(r"\W+", "_", _CAMEL.sub("_", name)).strip("_").lower()


# ---- texts ------------------------------------------------------------------------------------------------------


def _parts(row: Mapping[str, Any]) -> list[Any]:
    """The parts of a message whose content is a list."""
    for name in _TEXTS:
        if isinstance(row.get(name), list):
            return list(flattened(row[name]))
    return []


def _own_text(row: Mapping[str, Any], kind: str, parts: list[Any]) -> str:
    """What an event says itself, the calls and results inside a message left to `_inner`."""
    for name in (*_TEXTS, *_OUTPUTS) if kind == "tool_result" else _TEXTS:
        value = row.get(name)
        if isinstance(value, list):
            text = "\n".join(filter(None, map(_part_text, parts)))
        elif isinstance(value, dict):
            text = _part_text(value)
        else:
            text = scalar(value) or ""
        if text.strip():
            return text
    return _call_text(row) if kind == "tool_call" else ""


def _part_text(part: object) -> str:
    """The text of a part; what is no text, such as an image, is named and not shown."""
    text = scalar(part)
    if text is not None:
        return text
    if not isinstance(part, dict) or _inner_kind(part):
        return ""
    for name in ("text", "content", "output", "thinking", "refusal"):
        if isinstance(part.get(name), str):
            return str(part[name])
    word = name_of(part.get("type"))
    return f"[{word}]" if word else compact_json(part)


def _call_text(row: Mapping[str, Any]) -> str:
    """A call written down as `name(arguments)`, the arguments as JSON."""
    function = row.get("function")
    inner = function if isinstance(function, dict) else row
    name = next((text for key in ("tool_name", "name", "tool") if (text := name_of(inner.get(key)))), "")
    values = next(
        (inner[key] for key in ("args", "arguments", "input", "parameters") if inner.get(key) is not None), None
    )
    if not name and values is None:
        return ""
    if isinstance(values, str):
        try:
            values = parse_json(values)
        except UnreadableJsonError:
            return f"{name}({values})"
    if isinstance(values, dict):
        return f"{name}({', '.join(f'{one_line(key)}={compact_json(value)}' for key, value in values.items())})"
    return f"{name}({compact_json(values) if values is not None else ''})"


def _inner(row: Mapping[str, Any], parts: list[Any]) -> Iterator[tuple[str, str, str | None, str]]:
    """The calls and results inside a message: kind, id, the call that a result answers, text."""
    calls = row.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield "tool_call", name_of(call.get("id")), None, _call_text(call)
    call = row.get("function_call")
    if isinstance(call, dict):
        yield "tool_call", "", None, _call_text(call)
    for part in parts:
        kind = _inner_kind(part)
        if kind == "tool_call":
            yield kind, name_of(part.get("id")), None, _call_text(part)
        elif kind == "tool_result":
            answered = next((name for key in _CALL_IDS if (name := name_of(part.get(key)))), "")
            texts = [
                _part_text(entry) for entry in flattened(part.get("content", part.get("output", part.get("text"))))
            ]
            yield kind, name_of(part.get("id")), answered or None, "\n".join(filter(None, texts))


def _inner_kind(part: object) -> str | None:
    if not isinstance(part, dict):
        return None
    word = _word(name_of(part.get("type")))
    if _CLOSEST.get(word) == "tool_call":
        return "tool_call"
    return "tool_result" if _CLOSEST.get(word) == "tool_result" or _OUTPUT.search(word) else None


# ---- labels and links -------------------------------------------------------------------------------------------


def _level(row: Mapping[str, Any], metadata: Mapping[str, Any], place: str, findings: Findings) -> int:
    """The highest label that the event, its metadata or its wrapper gives; none is public, a strange one restricted."""
    level = 0
    for value in (row.get("sensitivity"), metadata.get("sensitivity"), *row.get(OUTER_LABELS, ())):
        if value is None:
            continue
        word = value.lower() if isinstance(value, str) else ""  # spaces around it make it another one
        if word not in LEVELS:
            findings.add("warning", "EVENT_SENSITIVITY", "Its label is unknown; it counts as restricted.", place)
            return _RESTRICTED
        level = max(level, LEVELS.index(word))
    return level


def _tags(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(",")
    elif isinstance(value, dict):
        value = list(value)
    names = [compact_json(entry) if isinstance(entry, dict) else name_of(entry) for entry in flattened(value)]
    return list(dict.fromkeys(one_line(name) for name in names if name.strip()))


def _name(row: Mapping[str, Any], metadata: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for source in (row, metadata) if metadata else (row,):
        for name in names:
            if (value := source.get(name)) is not None and (text := name_of(value)):
                return text
    return None


def _parent(row: Mapping[str, Any], metadata: Mapping[str, Any], place: str, findings: Findings) -> str | None:
    value = row.get("parent_id", metadata.get("parent_id"))
    if isinstance(value, list | dict):
        names = [name for entry in flattened(value) if (name := name_of(entry))]
        message = "Its parent is not one id; the first was taken." if names else "Its parent is no id; it has none."
        findings.add("info", "EVENT_PARENT", message, place)
        return names[0] if names else None
    if name := name_of(value):
        return name
    for key in _CALL_IDS:
        if key in row and (name := name_of(row[key])):
            return name
    return None

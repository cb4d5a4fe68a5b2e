"""Call prompts: each is of a task of the build, headed by its tool's schema, and hashed; one without says why.

The JSON of a schema must parse, on one line within a fence of its own. Budget, structure, credentials and raw text are
looked at where those of contexts are.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAME = "calls.parquet"
_HEAD = "[TOOL SCHEMA]"
_ARGUMENTS, _CONSTRAINTS, _EXAMPLES = "Arguments:", "Constraints:", "Examples:"
_OPEN, _CLOSE = "```json", "```"


class Calls(Check):
    """Looks at each row of `calls.parquet`, where there is one."""

    name = "calls"

    def of_build(self) -> Iterator[Violation]:
        """Keys, heads, hashes and messages."""
        frame = self.build.frames["calls"]
        if not frame.select("graph", "task_id", "tool").equals(
            frame.select("graph", "task_id", "tool").sort("graph", "task_id", "tool")
        ):
            yield self.found(_FRAME, "its rows are not sorted by graph, task_id and tool.")
        for name, call in self.build.call_rows():
            if (call["graph"], call["task_id"]) not in self.build.places:
                yield self.found(_FRAME, f"{name}: there is no such task.")
            for message in _faults(call["prompt"], call["status"], call["message"], call["prompt_sha256"]):
                yield self.found(_FRAME, f"{name}: {message}")
            if call["prompt"] is None and call["prompt_tokens"]:
                yield self.found(_FRAME, f"{name}: a count of a prompt that is not there.")


def _faults(prompt: str | None, status: str | None, message: str | None, sha256: str | None) -> Iterator[str]:
    if (status == "ok") != (prompt is not None):
        yield f"status {status}, {'but no prompt' if prompt is None else 'and yet a prompt'}."
    if status != "ok" and not message:
        yield f"status {status} without a message."
    if prompt is None:
        if sha256 is not None:
            yield "a hash of a prompt that is not there."
        return
    if hashlib.sha256(prompt.encode("utf-8")).hexdigest() != sha256:
        yield "prompt_sha256 is not the prompt's."
    if prompt.partition("\n")[0] != _HEAD:
        yield f"it is not headed by {_HEAD}."
    if any(line == _HEAD for line in prompt.split("\n")[1:]):
        yield f"{_HEAD} stands there more than once."
    yield from _schema_faults(prompt.split("\n"))


def _schema_faults(lines: list[str]) -> Iterator[str]:
    """What is wrong with the fences of the schema; a description is quoted, so that no line of it is a head."""
    if _ARGUMENTS not in lines:
        yield "its schema has no arguments."
        return
    place = lines.index(_ARGUMENTS) + 1
    if not _is_json(lines, place, dict):
        yield "its arguments are no JSON object on one line within a fence."
    place = _next_part(lines, place)
    if lines[place : place + 1] == [_CONSTRAINTS]:
        place = _next_part(lines, place)
    if lines[place : place + 1] == [_EXAMPLES]:
        for first in range(place + 1, _next_part(lines, place) - 1, 3):
            if not _is_json(lines, first):
                yield f"line {first + 1} begins an example that is no JSON on one line within a fence."
                return


def _next_part(lines: list[str], place: int) -> int:
    """The line after the next blank one."""
    return lines.index("", place) + 1 if "" in lines[place:] else len(lines)


def _is_json(lines: list[str], place: int, kind: type = object) -> bool:
    """Whether a fence of three lines stands there that holds JSON of a kind."""
    try:
        opened, text, closed = lines[place : place + 3]
        return (opened, closed) == (_OPEN, _CLOSE) and isinstance(json.loads(text, parse_int=float), kind)
    except (ValueError, RecursionError):
        return False

"""Call prompts: each is of a task of the build, headed by its tool's schema, and hashed; one without says why.

Their budget, structure, credentials and raw text are looked at where those of contexts are.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAME = "calls.parquet"
_HEAD = "[TOOL SCHEMA]"


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

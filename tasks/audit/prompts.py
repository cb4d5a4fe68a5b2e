"""The prompt column, the files in `prompts/` and `prompt_sha256` say the same; a task without a prompt says why."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Prompts(Check):
    """Compares each prompt with its file, byte by byte."""

    name = "prompts"

    def of_build(self) -> Iterator[Violation]:
        """Every task's prompt, file and hash."""
        for place, task in self.build.task_rows():
            where, prompt = f"prompts/{place}.md", task["prompt"]
            path = self.build.files.get(where)
            if prompt is None:
                if task["status"] in ("ok", "fallback"):
                    yield self.found("tasks.parquet", f"{place}: status {task['status']}, but no prompt.")
                if path is not None:
                    yield self.found(where, "the file is there, but tasks.parquet has no such prompt.")
                if task["prompt_tokens"] or task["prompt_sha256"]:
                    yield self.found("tasks.parquet", f"{place}: a count or hash of a prompt that is not there.")
                continue
            if task["status"] not in ("ok", "fallback"):
                yield self.found("tasks.parquet", f"{place}: status {task['status']}, and yet a prompt.")
            data = prompt.encode("utf-8")
            if hashlib.sha256(data).hexdigest() != task["prompt_sha256"]:
                yield self.found("tasks.parquet", f"{place}: prompt_sha256 is not the prompt's.")
            if path is None:
                yield self.found(where, "the prompt's file is missing.")
            elif not _holds(path, data):
                yield self.found(where, "the file is not the prompt of tasks.parquet.")


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False

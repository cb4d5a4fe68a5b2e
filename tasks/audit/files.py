"""The folder as the contract draws it: a file a task under its name, values from the contract's lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from tasks.audit.reading import CHECK, FRAMES, OPTIONAL, sample
from tasks.audit.violation import Check, Violation
from tasks.outputs.reader import MANIFEST
from tasks.terms import KINDS, LEVELS, SECTIONS, SEVERITIES, STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BUILD_ID = re.compile(r"[0-9a-f]{16}")
_DIGEST = r"^[0-9a-f]{64}$"
_VALUES: dict[str, dict[str, Sequence[str]]] = {
    "tasks": {"status": STATUSES},
    "items": {"section": SECTIONS, "kind": KINDS, "sensitivity": LEVELS},
    "findings": {"severity": SEVERITIES},
    "calls": {"status": STATUSES},
}
_REQUIRED: dict[str, Sequence[str]] = {
    "tasks": ("title", "level", "status", "budget_tokens", "tokenizer", "margin", "candidates", "included", "dropped"),
    "items": ("source", "section", "kind", "tokens", "sensitivity", "position", "trusted"),
    "stages": ("graph", "task_id", "stage"),
    "findings": ("severity", "code", "where", "message"),
    "artifacts": ("handle", "item_id", "sha256", "size_bytes", "media_type", "lines"),
    "calls": ("budget_tokens", "tokenizer", "margin", "status"),
}


class Files(Check):
    """Every file has its place and every value is one that the contract knows."""

    name = CHECK

    def of_build(self) -> Iterator[Violation]:
        """Names, foreign and missing files, and the values of the small frames."""
        build = self.build
        if not _BUILD_ID.fullmatch(build.root.name):
            yield self.found(".", f"the folder's name {build.root.name!r} is not a build id of 16 hex digits.")
        yield from self._foreign()
        for place, task in build.task_rows():
            path = f"contexts/{place}.parquet"
            if path not in build.files and task["status"] != "failed":
                yield self.found(path, f"the context of {task['graph']}/{task['task_id']} is missing.")
            if task["status"] != "ok" and not task["message"]:
                yield self.found("tasks.parquet", f"{place}: status {task['status']} without a message.")
        for name, columns in _VALUES.items():
            for column, allowed in columns.items():
                yield from self._values(name, column, allowed)
        for name, required in _REQUIRED.items():
            empty = build.frames[name].select(pl.col(column).is_null().sum() for column in required).row(0, named=True)
            for column, count in empty.items():
                if count:
                    yield self.found(f"{name}.parquet", f"{count} rows have no {column}.")
        yield from self._digests("tasks", "prompt_sha256")
        yield from self._digests("items", "content_hash")
        yield from self._digests("artifacts", "sha256")

    def _foreign(self) -> Iterator[Violation]:
        places = self.build.places.values()
        digests = self.build.frames["artifacts"]["sha256"]
        known = {
            MANIFEST,
            *(f"{name}.parquet" for name in (*FRAMES, *OPTIONAL)),
            *(f"artifacts/{digest}" for digest in digests),
        }
        known |= {f"contexts/{place}.parquet" for place in places} | {f"prompts/{place}.md" for place in places}
        for path in sorted(self.build.files.keys() - known):
            if not path.startswith("artifacts/"):  # what lies there without a handle is the artifacts' own violation
                yield self.found(path, "the file belongs to no task and no part of a build.")

    def _values(self, name: str, column: str, allowed: Sequence[str]) -> Iterator[Violation]:
        values = self.build.frames[name].get_column(column).drop_nulls()
        odd = values.filter(~values.is_in(list(allowed)))
        if len(odd):
            yield self.found(f"{name}.parquet", f"{column} {sample(map(repr, odd), len(odd))}.")

    def _digests(self, name: str, column: str) -> Iterator[Violation]:
        values = self.build.frames[name].get_column(column).drop_nulls()
        odd = values.filter(~values.str.contains(_DIGEST))
        if len(odd):
            yield self.found(f"{name}.parquet", f"{column} holds {len(odd)} values that are no SHA-256.")

"""Invariant 4: no credential in any prompt, Parquet string, finding or manifest; `artifacts/` alone holds some."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from tasks.audit.reading import COLUMNS, FRAMES, OPTIONAL, Context
from tasks.audit.texts import CUT, without
from tasks.audit.violation import Check, Violation
from tasks.credentials import contains_credential

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tasks.audit.reading import Build

_CHUNK = 1 << 15  # characters of short texts that are looked at together
_DERIVED = {
    "prompt",
    "prompt_sha256",
    "content_hash",
    "sha256",
    "handle",
    "artifact",
}  # other checks know what they hold
_TEXT = {
    name: [
        column
        for column, dtype in columns.items()
        if dtype in (pl.String, pl.List(pl.String)) and column not in _DERIVED
    ]
    for name, columns in COLUMNS.items()
}


class Credentials(Check):
    """Looks at each distinct text once, 1 MB/s. A prompt is its rows' texts and what stands between them."""

    name = "credentials"

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self._verdicts: dict[bytes, bool] = {}
        self._prompts = {(task["graph"], task["task_id"]): place for place, task in build.task_rows() if task["prompt"]}

    def of_build(self) -> Iterator[Violation]:
        """The manifest and the small frames."""
        if contains_credential(json.dumps(_readable(self.build.manifest), ensure_ascii=False, indent=1)):
            yield self.found("manifest.json", "it holds a credential.")
        for name in (*FRAMES, *OPTIONAL):
            yield from self._frame(f"{name}.parquet", self.build.frames[name].select(_TEXT[name]))

        if self._found(self.build.frames["calls"]["prompt"].drop_nulls().to_list()):
            yield self.found("calls.parquet", "a prompt holds a credential.")

    def of_context(self, context: Context) -> Iterator[Violation]:
        """One task's rows and prompt."""
        unknown = pl.when(pl.col("known").is_null()).then("item_id").alias("item_id")  # others stood in items.parquet
        yield from self._frame(
            context.place, context.rows.select(pl.col(_TEXT["contexts"]).exclude("item_id"), unknown)
        )
        place = self._prompts.pop((context.task["graph"], context.task["task_id"]), None)
        if place is not None:
            texts = [row["text"] for row in context.selected]
            between = without(context.task["prompt"], ((text, False) for text in texts))
            if self._found([between, *filter(None, texts)]):
                yield self.found(f"prompts/{place}.md", "it holds a credential.")

    def of_rest(self) -> Iterator[Violation]:
        """The prompts whose context could not be read, whole."""
        for (graph, task_id), place in self._prompts.items():
            chosen = (pl.col("graph") == graph) & (pl.col("task_id") == task_id)
            if self._found(self.build.tasks.filter(chosen)["prompt"].to_list()):
                yield self.found(f"prompts/{place}.md", "it holds a credential.")

    def _frame(self, where: str, frame: pl.DataFrame) -> Iterator[Violation]:
        columns = (
            (pl.col(name).explode() if dtype == pl.List(pl.String) else pl.col(name))
            .drop_nulls()
            .unique()
            .sort()
            .implode()
            for name, dtype in frame.schema.items()
        )
        for name, values in frame.select(columns).row(0, named=True).items():
            if count := len(self._found(values)):
                yield self.found(where, f"{name}: {count} values hold a credential.")

    def _found(self, texts: Iterable[str]) -> list[str]:
        """The texts that hold a credential. Short ones are looked at together, and one by one where that says yes."""
        digests = {
            text: hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts
        }
        unseen = [text for text, digest in digests.items() if digest not in self._verdicts]
        for chunk in _chunks(unseen):
            suspected = contains_credential(CUT.join(chunk))
            for text in chunk:
                self._verdicts[digests[text]] = suspected and (len(chunk) == 1 or contains_credential(text))
        return [text for text, digest in digests.items() if self._verdicts[digest]]


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for text in texts:
        if chunk and size + len(text) > _CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    if chunk:
        yield chunk


def _readable(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A manifest without its file hashes, which look like keys."""
    if isinstance(value, dict):
        return {key: _readable(inner) for key, inner in value.items() if key not in ("sha256", "build_id")}
    return [_readable(inner) for inner in value] if isinstance(value, list) else value

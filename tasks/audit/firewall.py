"""Invariant 2, the text: no long run of a raw tool result, nor the whole of one, in any prompt or Parquet string."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from tasks.audit.reading import Build, Context, sample
from tasks.audit.runs import Run, RunIndex
from tasks.audit.texts import manifest_strings, without
from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Characters of a raw result that may stand in a row.
RAW_RUN = 500

_SHORT = 300  # characters of a result that is restated, not summarised
_LONG = pl.col("text").str.len_chars() > RAW_RUN


class Firewall(Check):
    """Compares what was written with the artifacts.

    Text that also stands in an item of another kind is not raw output: a tool may have printed a page of the very spec
    that the prompt holds, and an agent may have quoted what it read.
    """

    name = "firewall"

    def __init__(self, build: Build) -> None:
        super().__init__(build)
        self._prompts = {(task["graph"], task["task_id"]): place for place, task in build.task_rows() if task["prompt"]}

    def of_build(self) -> Iterator[Violation]:
        """Items and whatever else the small files say."""
        items = self.build.items
        open_items = items.filter(~self.build.above_floor(pl.col("sensitivity")))
        bare = open_items.filter((pl.col("kind") == "tool_result") & pl.col("artifact").is_null() & _LONG)
        if len(bare):
            said = sample(bare["item_id"], len(bare))
            yield self.found(
                "items.parquet", f"{said}: more than {RAW_RUN} characters of a tool result without an artifact."
            )
        yield from self._whole_results()
        for item_id, text in (
            items.filter((pl.col("kind") == "tool_result") & _LONG).select("item_id", "text").iter_rows()
        ):
            yield from self._scan("items.parquet", f"{item_id}: ", text)
        for name in ("tasks", "findings"):
            frame = self.build.frames[name]
            for column in ("title", "message", "code", "where"):
                if column in frame.columns:
                    long = frame[column].filter(frame[column].str.len_chars() > RAW_RUN)
                    for text in long:
                        yield from self._scan(f"{name}.parquet", f"{column}: ", text)
        for name, call in self.build.call_rows():
            yield from self._scan("calls.parquet", f"{name}: ", call["prompt"] or "")
        for text in manifest_strings(self.build.manifest):
            yield from self._scan("manifest.json", "", text)

    def of_context(self, context: Context) -> Iterator[Violation]:
        """The texts of one task's rows, and what else stands in its prompt."""
        rows = context.rows.filter(_LONG & pl.col("text").ne_missing(pl.col("item_text")))
        for item_id, text in rows.select("item_id", "text").iter_rows():
            yield from self._scan(context.place, f"{item_id}: ", text)
        place = self._prompts.pop((context.task["graph"], context.task["task_id"]), None)
        if place is not None:
            texts = ((row["text"], row["kind"] in (None, "tool_result")) for row in context.selected)
            yield from self._scan(f"prompts/{place}.md", "", without(context.task["prompt"], texts))

    def of_rest(self) -> Iterator[Violation]:
        """The prompts whose context could not be read, whole."""
        for (graph, task_id), place in self._prompts.items():
            chosen = (pl.col("graph") == graph) & (pl.col("task_id") == task_id)
            yield from self._scan(f"prompts/{place}.md", "", self.build.tasks.filter(chosen)["prompt"][0])

    def _scan(self, where: str, what: str, text: str) -> Iterator[Violation]:
        for run in self._index.within(text):
            if not self._stands_elsewhere(text, run):
                handle = f"artifacts/{self._files[run.known]}"
                yield self.found(where, f"{what}{run.end - run.start} characters of the raw result {handle}.")
                return

    def _stands_elsewhere(self, text: str, run: Run) -> bool:
        return text[run.start : run.end] in self._other_texts or text[run.start : run.end].strip() in self._other_texts

    def _whole_results(self) -> Iterator[Violation]:
        """Short results of one line are restated; any other is more than its summary may hold."""
        given = self.build.items.filter(pl.col("artifact").is_not_null() & pl.col("text").is_not_null())
        texts = given.join(
            self.build.frames["artifacts"]
            .unique("handle", keep="first", maintain_order=True)
            .select("handle", "sha256"),
            left_on="artifact",
            right_on="handle",
            maintain_order="left",
        ).select("item_id", "text", "sha256")
        lead = self.build.setting("firewall", "summariser") == "lead"  # takes a short first paragraph as it is
        numbers = {digest: number for number, digest in enumerate(self._files)}
        known: dict[str, str] = {}
        for item_id, text, digest in texts.sort("sha256", "item_id").iter_rows():
            if digest not in numbers:
                continue
            if digest not in known:
                known = {digest: self._raw(numbers[digest]).strip()}
            whole = known[digest]
            if ("\n" in whole or (len(whole) > _SHORT and not lead)) and whole in text:
                yield self.found("items.parquet", f"{item_id}: the whole of the raw result artifacts/{digest}.")

    @cached_property
    def _files(self) -> Sequence[str]:
        return [path.removeprefix("artifacts/") for path in self.build.files if path.startswith("artifacts/")]

    @cached_property
    def _index(self) -> RunIndex:
        index = RunIndex(RAW_RUN, self._raw)
        for number in range(len(self._files)):
            index.add(number, self._raw(number))
        return index

    @cached_property
    def _other_texts(self) -> str:
        """All that items of other kinds say."""
        others = self.build.items.filter((pl.col("kind") != "tool_result") & _LONG)["text"]
        return "\n\n".join(others)

    def _raw(self, number: int) -> str:
        """An artifact as text; line ends as prompts have them."""
        data = self.build.files[f"artifacts/{self._files[number]}"].read_bytes()
        return data.decode("utf-8", "replace").replace("\r\n", "\n")

"""Invariant 1: every prompt, counted again, times its margin, is within its budget."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tasks.audit.violation import Check, Violation
from tasks.errors import VocabularyError
from tasks.tokens import load_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Budget(Check):
    """Recounts each prompt with the tokenizer that its row names; about 7 MB/s."""

    name = "budget"

    def of_build(self) -> Iterator[Violation]:
        """Counts, margins and budgets of all tasks and calls."""
        unknown: set[str] = set()
        for place, task in self.build.task_rows():
            yield from self._recounted(task, "tasks.parquet", f"prompts/{place}.md", f"{place}: ", unknown)
        for name, call in self.build.call_rows():
            yield from self._recounted(call, "calls.parquet", "calls.parquet", f"{name}: ", unknown)
        for name in sorted(unknown):
            # A counter of one's own is a function, and an audit runs no code that the audited files name.
            yield self.found(
                "tasks.parquet", f"the tokenizer {name!r} is not one of tiktoken's, so nothing was recounted."
            )

    def _recounted(
        self, row: dict[str, Any], frame: str, where: str, name: str, unknown: set[str]
    ) -> Iterator[Violation]:
        """One prompt. `where` is the file that holds it; in a frame's own violations it goes by its name."""
        named = self.build.manifest.get("tokenizer"), self.build.manifest.get("margin")
        margin, inside = row["margin"], name if where == frame else ""
        if self.build.manifest and (row["tokenizer"], margin) != named:
            yield self.found(
                frame, f"{name}counted by {row['tokenizer']} x {margin}, the build by {named[0]} x {named[1]}."
            )
        if margin is None or not margin >= 1:
            yield self.found(frame, f"{name}the margin is {margin}, and must be 1 or more.")
        if row["prompt"] is None:
            return
        count = _count_with(row["tokenizer"] or "")
        if count is None:
            unknown.add(str(row["tokenizer"]))
            return
        tokens = count(row["prompt"])
        if tokens != row["prompt_tokens"]:
            yield self.found(where, f"{inside}prompt_tokens says {row['prompt_tokens']}, counted {tokens}.")
        if not tokens * (margin or 1) <= (row["budget_tokens"] or 0):
            yield self.found(where, f"{inside}over budget: {tokens} tokens x {margin} > {row['budget_tokens']}.")


@cache
def _count_with(tokenizer: str) -> Callable[[str], int] | None:
    """A counter that remembers no text, so that neither a build's own counts nor much memory enter the proof."""
    try:
        encoding = load_encoding(tokenizer)
    except VocabularyError:
        return None
    return lambda text: len(encoding.encode_ordinary(text))

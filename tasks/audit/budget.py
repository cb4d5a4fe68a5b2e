"""Invariant 1: every prompt, counted again, times its margin, is within its budget."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tasks.audit.violation import Check, Violation
from tasks.errors import VocabularyError
from tasks.tokens import cache_folder, load_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Budget(Check):
    """Recounts each prompt with the tokenizer that its row names; about 7 MB/s."""

    name = "budget"

    def of_build(self) -> Iterator[Violation]:
        """Counts, margins and budgets of all tasks."""
        named = self.build.manifest.get("tokenizer"), self.build.manifest.get("margin")
        unknown: set[str] = set()
        for place, task in self.build.task_rows():
            where, margin = f"prompts/{place}.md", task["margin"]
            if self.build.manifest and (task["tokenizer"], margin) != named:
                yield self.found(
                    "tasks.parquet",
                    f"{place}: counted by {task['tokenizer']} x {margin}, the build by {named[0]} x {named[1]}.",
                )
            if margin is None or not margin >= 1:
                yield self.found("tasks.parquet", f"{place}: the margin is {margin}, and must be 1 or more.")
            if task["prompt"] is None:
                continue
            count = _count_with(task["tokenizer"] or "")
            if count is None:
                unknown.add(str(task["tokenizer"]))
                continue
            tokens = count(task["prompt"])
            if tokens != task["prompt_tokens"]:
                yield self.found(where, f"prompt_tokens says {task['prompt_tokens']}, counted {tokens}.")
            if not tokens * (margin or 1) <= (task["budget_tokens"] or 0):
                yield self.found(where, f"over budget: {tokens} tokens x {margin} > {task['budget_tokens']}.")
        for name in sorted(unknown):
            # A counter of one's own is a function, and an audit runs no code that the audited files name.
            yield self.found(
                "tasks.parquet", f"the tokenizer {name!r} is not one of tiktoken's, so nothing was recounted."
            )


@cache
def _count_with(tokenizer: str) -> Callable[[str], int] | None:
    """A counter that remembers no text, so that neither a build's own counts nor much memory enter the proof."""
    try:
        encoding = load_encoding(tokenizer, cache_folder())
    except VocabularyError:
        return None
    return lambda text: len(encoding.encode_ordinary(text))

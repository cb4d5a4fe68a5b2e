"""Contexts in the form that ZERG's workers take: beside what ZERG prints itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasks.outputs.reader import BuildFolder

_FILES = re.compile(r"(?:Create|Modify|Read|Delete): ")
_KEPT_FILES = "Delete: "  # ZERG's prompt has the others
_CRITERIA = "Acceptance criteria:\n"
_DEPENDS = "Depends on:\n"
_PARTS = "Its parts:\n"
_PART_OF = "Part of: "
_CONSUMERS = "Consumers: "
_VERIFICATION = "Verification:"
_FENCE = re.compile(r"`{3,}")
_TITLE = re.compile(r"\n*(?:## Task|\[TASK\])\n*\Z")


def zerg_context(folder: BuildFolder, row: Mapping[str, Any]) -> str | None:
    """The context of a task for ZERG: its prompt without what ZERG puts around it itself.

    Title, description, the files to create, modify and read, and the verification go; acceptance criteria, files to
    delete, dependencies and consumers stay, since nothing else says them. Where nothing would remain, the whole prompt
    stays. Ends with one newline; None where the task has no prompt.

    Args:
        folder: The build.
        row: The task's row of the build's tasks.
    """
    prompt: str | None = row["prompt"]
    if prompt is None:
        return None
    briefs = folder.items.filter(pl.col("section") == "brief").select("item_id")
    chosen = folder.context(row["graph"], row["task_id"]).filter(pl.col("decision") == "selected")
    for body in chosen.join(briefs, on="item_id", how="semi")["text"]:
        before, found, after = prompt.rpartition(body)
        if found:
            kept = without_printed(body)
            head = before if kept else _TITLE.sub("", before)
            prompt = f"{head}{kept}{after}"
    return f"{prompt.strip(chr(10))}\n" if prompt.strip() else row["prompt"]


def without_printed(brief: str) -> str:
    """A brief without title, description, files and verification; whole where it does not read as a brief."""
    if not brief.startswith("**"):
        return brief
    blocks = brief.split("\n\n")
    kept: list[str] = []
    if len(blocks) > 1 and blocks[-1].startswith(_CONSUMERS):
        kept.append(blocks.pop())
    if len(blocks) > 1 and _is_list(blocks[-1], _DEPENDS):
        kept.append(blocks.pop())
    blocks = _without_verification(blocks)
    if len(blocks) > 1 and _is_list(blocks[-1], _CRITERIA):
        kept.append(blocks.pop())
    if len(blocks) > 1 and all(_FILES.match(line) for line in blocks[-1].split("\n")):
        kept += [line for line in blocks.pop().split("\n") if line.startswith(_KEPT_FILES)]
    if len(blocks) > 1 and _is_list(blocks[-1], _PARTS):
        kept.append(blocks.pop())
    if len(blocks) > 1 and blocks[-1].startswith(_PART_OF) and "\n" not in blocks[-1]:
        kept.append(blocks.pop())
    return "\n\n".join(reversed(kept))


def _is_list(block: str, label: str) -> bool:
    head, _, rest = block.partition("\n")
    return f"{head}\n" == label and all(line.startswith("- ") for line in rest.split("\n"))


def _without_verification(blocks: list[str]) -> list[str]:
    """The blocks of a brief without the last one, or ones, if they are its verification."""
    last = blocks[-1]
    if last.startswith(f"{_VERIFICATION} `") and "\n" not in last:
        return blocks[:-1]
    if _FENCE.fullmatch(last.rpartition("\n")[2]):
        for place in range(len(blocks) - 1, 0, -1):
            if blocks[place].startswith(f"{_VERIFICATION}\n```"):
                return blocks[:place]
    return blocks

"""A task's prompt straight from its file: what most people ask a build for, without loading a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.outputs.identity import MANIFEST
from tasks.outputs.names import file_stem
from tasks.outputs.places import LATEST
from tasks.regular import is_file

if TYPE_CHECKING:
    from pathlib import Path


def prompt_file(place: Path, task: str) -> Path | None:
    """The prompt of the only task of this id in a build, or in the newest build of an output folder.

    None wherever there may be something to say: no such build or task, several tasks of the id, no prompt. Whoever asks
    then looks into the frames, which know why.
    """
    if "/" in task:  # it names the graph too, or is an odd id
        return None
    root = next((folder for folder in (place, place / LATEST) if is_file(folder / MANIFEST)), None)
    if root is None:
        return None
    stem = file_stem(task)
    known = list(root.glob(f"contexts/*/{stem}.parquet"))  # no stem holds what a pattern would read otherwise
    if len(known) != 1:
        return None
    prompt = root / "prompts" / known[0].parent.name / f"{stem}.md"
    return prompt if is_file(prompt) else None

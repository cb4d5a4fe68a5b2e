"""Raw tool results of a build, for those who need more than the summary in a prompt: whole, by lines, by JSON path."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tasks.credentials import redact
from tasks.errors import ArtifactRefusedError, BuildMissingError
from tasks.regular import read_regular
from tasks.terms import LEVELS
from tasks.text import clean

if TYPE_CHECKING:
    from tasks.outputs.reader import BuildFolder

PREFIX = "artifact:"
_RANGE = re.compile(r"(\d*):(\d*)|(\d+)", re.ASCII)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[\"((?:[^\"\\]|\\.)*)\"\]", re.ASCII)


class Artifact(NamedTuple):
    """A raw tool result as it was logged."""

    handle: str
    media_type: str
    content: bytes

    def text(self) -> str:
        """The text without credentials and control characters; both are looked for in the whole, before any cut."""
        return clean(redact(self.content.decode("utf-8", "replace").replace("\r\n", "\n")).text)


def find_artifact(folder: BuildFolder, handle: str, floor: str) -> Artifact:
    """The artifact of a handle, or of the item id in it.

    Args:
        folder: The build.
        handle: `artifact:<item id>`, as prompts and summaries print it.
        floor: Items at or above this level are refused, as are those at or above the build's own floor.

    Raises:
        BuildMissingError: there is no such artifact, or its bytes are not what the build wrote.
        ArtifactRefusedError: its item is at or above the floor.
    """
    item_id = handle.removeprefix(PREFIX)
    item = folder.items.filter(pl.col("item_id") == item_id)
    if len(item):
        _refuse_above(folder, item["sensitivity"][0], item_id, floor)
    rows = folder.artifacts.filter(pl.col("item_id") == item_id)
    if rows.is_empty():
        raise BuildMissingError(f"this build has no artifact {PREFIX}{item_id}; see: prebrief artifact list")
    row = rows.row(0, named=True)
    try:
        content = read_regular(folder.root / "artifacts" / row["sha256"], None)
    except OSError as error:
        raise BuildMissingError(f"the bytes of {row['handle']} cannot be read ({error.strerror}).") from error
    if hashlib.sha256(content).hexdigest() != row["sha256"]:
        raise BuildMissingError(f"the bytes of {row['handle']} have changed since the build; run: prebrief audit")
    return Artifact(row["handle"], row["media_type"], content)


def _refuse_above(folder: BuildFolder, level: str, item_id: str, floor: str) -> None:
    policy = folder.manifest.get("settings", {}).get("policy", {})
    own = policy.get("sensitivity_floor", LEVELS[0])
    lowest = min((LEVELS.index(name) for name in (own, floor) if name in LEVELS), default=0)
    if level not in LEVELS or LEVELS.index(level) >= lowest:
        raise ArtifactRefusedError(f"{PREFIX}{item_id} is at or above the floor ({LEVELS[lowest]}); it is not shown.")


# ---- parts ------------------------------------------------------------------------------------------------------


def lines_of(text: str, wanted: str) -> str:
    """The lines `a:b` of a text, from 1, both included; either may be left out, and one number is one line.

    Raises:
        BuildMissingError: the range is none, or begins beyond the end.
    """
    found = _RANGE.fullmatch(wanted.strip())
    if found is None or not any(found.groups()):
        raise BuildMissingError(f"{wanted!r} is no range of lines; write --lines 10:20, 10:, :20 or 10.")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first = int(found[3] or found[1] or 1)
    last = int(found[3] or found[2] or len(lines))
    if first < 1 or first > last or first > len(lines):
        raise BuildMissingError(f"there are no lines {wanted}; the artifact has {len(lines)}.")
    return "\n".join(lines[first - 1 : last]) + "\n"


def json_at(text: str, path: str) -> str:
    """The value at a path of a JSON text (`items[3].name`, or the pointer `/items/3/name`), as JSON.

    Of JSON lines the first step is the number of the record, from 0, as summaries count them.

    Raises:
        BuildMissingError: the text is no JSON, or has nothing at the path; the sentence says what is there.
    """
    try:
        value = _value(text)
    except (ValueError, RecursionError) as error:
        raise BuildMissingError("the artifact is no JSON; use --lines or --head.") from error
    walked = ""
    for step in _steps(path):
        value = _step_into(value, step, walked)
        walked += f"[{step}]" if isinstance(step, int) else f".{step}" if walked else step
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _value(text: str) -> Any:  # noqa: ANN401 - JSON may be anything
    try:
        return json.loads(text)
    except ValueError:
        records = [json.loads(line) for line in text.splitlines() if line.strip()]
        if len(records) < 2 or not all(isinstance(record, dict | list) for record in records):  # noqa: PLR2004 - lines
            raise
        return records


def _steps(path: str) -> list[str | int]:
    if path.startswith("/"):
        return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    steps: list[str | int] = []
    place = 1 if path.startswith("$") else 0
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            raise BuildMissingError(f"{path!r} is no path; write items[3].name or /items/3/name.")
        quoted = found[3]
        steps.append(int(found[2]) if found[2] else json.loads(f'"{quoted}"') if quoted is not None else found[1])
        place = found.end()
    return steps


def _step_into(value: Any, step: str | int, walked: str) -> Any:  # noqa: ANN401 - JSON may be anything
    if isinstance(value, dict) and str(step) in value:
        return value[str(step)]
    if isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
        return value[int(step)]
    there = "nothing more"
    if isinstance(value, dict):
        there = f"the keys {', '.join(list(value)[:10])}" + (" …" if len(value) > 10 else "")  # noqa: PLR2004
    elif isinstance(value, list):
        there = f"a list of {len(value)}"
    raise BuildMissingError(f"there is no {step!r} at {walked or 'the top'}; it holds {there}.")

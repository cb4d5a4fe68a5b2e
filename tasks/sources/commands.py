"""Command files as a source: their sections are candidates of all tasks, each text once however the file is split."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tasks.commands import CORE_SUFFIX, DETAILS_SUFFIX, SUFFIX, read_parent, rest_of
from tasks.sources.documents import Document, read_document
from tasks.sources.files import InputFile, read_inside
from tasks.sources.findings import Row, finding
from tasks.sources.specs import spec_items
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasks.sources.files import Allowance
    from tasks.sources.masking import Masks

_SOURCE = "commands"  # also what the items' ids begin with


@dataclass(frozen=True)
class CommandFile:
    """A text of a command: one file, or the core and the details that a split made of it, in this order."""

    name: str
    files: tuple[InputFile, ...]


@dataclass(frozen=True)
class CommandText:
    """The text of a command file, put together from its parts.

    `parts` says of each file at which line of the text it begins, which of its lines that is, and its label.
    """

    name: str
    document: Document
    parts: tuple[tuple[int, int, str], ...]

    @property
    def strings(self) -> list[str]:
        """Every string in which a credential might stand."""
        return [self.name, self.document.label, self.document.text, *(label for _, _, label in self.parts)]

    def masked(self, masks: Masks) -> CommandText:
        """The same without credentials, in its names too."""
        document = replace(self.document, label=masks.of(self.document.label).text)
        return CommandText(
            masks.of(self.name).text,
            document.with_redaction(masks.of(self.document.text)),
            tuple((first, line, masks.of(label).text) for first, line, label in self.parts),
        )


def find_commands(
    folder: Path, label_of: Callable[[Path], str], allowance: Allowance
) -> tuple[list[CommandFile], list[Row]]:
    """The command files right in a folder, by name, hidden ones left out.

    Of a split command the core and the details are read as one text, and the `NAME.md` that the split wrote is not. A
    `NAME.md` of other content beside a core is read too.
    """
    label = label_of(folder)
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX) and path.name[0] != ".")
    except (OSError, ValueError):
        message = "There is no such folder that can be read; no commands were read."
        return [], [finding("error", "INPUT_MISSING", label, message)]
    if not paths:
        return [], [finding("warning", "INPUT_NO_COMMANDS", label, "It holds no command files (*.md).")]
    findings: list[Row] = []
    read: dict[str, dict[str, InputFile]] = {}
    for path in paths:
        suffix = next(ending for ending in (CORE_SUFFIX, DETAILS_SUFFIX, SUFFIX) if path.name.endswith(ending))
        file = read_inside(path, folder, label_of(path), allowance)
        if isinstance(file, InputFile):
            read.setdefault(path.name.removesuffix(suffix), {})[suffix] = file
        else:
            findings.append(file)
    return [command for name in sorted(read) for command in _texts(one_line(name), read[name])], findings


def _texts(name: str, files: dict[str, InputFile]) -> list[CommandFile]:
    """The texts of one command: what a split made belongs together, anything else stands for itself."""
    whole, core, details = (files.get(suffix) for suffix in (SUFFIX, CORE_SUFFIX, DETAILS_SUFFIX))
    if whole is not None and core is not None and (parent := read_parent(whole.data)) is not None and parent.intact:
        whole = None
    if core is not None and details is not None and rest_of(details.data) is not None:
        texts: list[tuple[InputFile | None, ...]] = [(core, details), (whole,)]
    else:
        texts = [(core,), (details,), (whole,)]
    return [CommandFile(name, tuple(filter(None, text))) for text in texts if any(text)]


def read_command(command: CommandFile) -> tuple[CommandText, list[Row]]:
    """The cleaned text of a command without the comments of its split, and what was odd about its bytes."""
    findings: list[Row] = []
    parts: list[tuple[int, int, str]] = []
    text = ""
    for file in command.files:
        document, odd = read_document(file)
        findings += odd
        own, line = document.text, 1
        if rest_of(file.data) is not None:
            own, line = own.partition("\n")[2], 2
        elif (parent := read_parent(file.data)) is not None and parent.intact:
            own = own.rstrip("\n").rpartition("\n")[0]
        if text and not text.endswith("\n"):
            text += "\n"
        parts.append((text.count("\n") + 1, line, file.label))
        text += own
    return CommandText(command.name, Document(_unsplit(command.files[0].label), text), tuple(parts)), findings


def _unsplit(label: str) -> str:
    """What a core or details file is a part of: the ids of a command's items are the same before and after a split."""
    for suffix in (CORE_SUFFIX, DETAILS_SUFFIX):
        if label.endswith(suffix):
            return label.removesuffix(suffix) + SUFFIX
    return label


def command_items(commands: list[CommandText]) -> list[dict[str, Any]]:
    """The passages of all texts of one command as rows of items without number, position and tokens, each once.

    They are cut as those of specs are: a heading is a passage and the parent of the blocks under it. A passage that
    stands again in another file of the command, under the same headings, is left out there.
    """
    rows: list[dict[str, Any]] = []
    held: dict[str, str] = {}  # what an id says of a passage and its headings -> the id that stands for it
    for command in commands:
        ids: dict[str, str] = {}
        for row in spec_items(command.document, _SOURCE, "reference"):
            passage = row["item_id"].rpartition("#")[2]
            ids[row["item_id"]] = held.get(passage, row["item_id"])
            if passage in held:
                continue
            path, first = _place(command, row["line_start"])
            _, last = _place(command, row["line_end"])
            rows.append(
                {
                    **row,
                    "graph": None,
                    "source": _SOURCE,
                    "parent_id": ids.get(row["parent_id"]),
                    "path": path,
                    "line_start": first,
                    "line_end": max(first, last),
                    "tags": [command.name],
                }
            )
        held |= {item_id.rpartition("#")[2]: own for item_id, own in ids.items()}
    return rows


def _place(command: CommandText, line: int) -> tuple[str, int]:
    """The file in which a line of the text stands, and its number there."""
    first, number, label = command.parts[bisect_right(command.parts, line, key=lambda part: part[0]) - 1]
    return label, line - first + number

"""What a reader of plans takes and gives, whatever the format: a source, and one graph of tasks as plain rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasks.sources.files import InputFile
    from tasks.sources.findings import Row

#: What a file beside a plan is to it. `state` and `paths` are read with the plan, the others are documents.
Role = Literal["requirements", "design", "rules", "state", "paths"]
DOCUMENT_ROLES: tuple[Role, ...] = ("requirements", "design", "rules")

#: The columns of a row that hold text from the plan, in which credentials are masked.
TASK_TEXTS = (
    "task_id",
    "title",
    "description",
    "parent",
    "dependencies",
    "related",
    "consumers",
    "files_create",
    "files_modify",
    "files_read",
    "files_delete",
    "files_inferred",
    "acceptance_criteria",
    "verification",
    "tools",
    "context",
)


@dataclass(frozen=True)
class Companion:
    """A file that belongs to a plan by the tool's own layout: whether it is there is for others to see.

    `inside` is the folder that it must lie in once links are followed. Where `left_out` is given, the path is that of a
    folder, of which so many documents are beyond what is read.
    """

    role: Role
    path: Path
    inside: Path
    left_out: int = 0


@dataclass(frozen=True)
class PlanSource:
    """A plan's file, its decoded text with newlines as its only line ends, and the files that belong to it.

    `paths` are those of the plan's `PlanRead.mentions` that the repository has.
    """

    file: InputFile
    text: str
    companions: Sequence[tuple[Role, InputFile]] = ()
    paths: frozenset[str] = frozenset()
    tag: str | None = None
    cleared: Mapping[str, str] = field(default_factory=dict)

    def clear(self, value: Any) -> Any:  # noqa: ANN401 - JSON may be anything
        """A text or parsed value of the plan without credentials; readers use nothing else, so none is ever cut.

        `cleared` has what remains of each string that holds one; empty while nobody has looked.
        """
        if not self.cleared:
            return value
        if isinstance(value, str):
            return self.cleared.get(value, value)
        if isinstance(value, dict):
            return {self.clear(key): self.clear(entry) for key, entry in value.items()}
        return [self.clear(entry) for entry in value] if isinstance(value, list) else value

    @property
    def label(self) -> str:
        """The name by which the build knows the file."""
        return self.file.label


@dataclass(frozen=True)
class GraphRead:
    """One file's plan: rows as the file has them, ids and levels not settled (`task_id` may be empty, `level` None).

    A row has the columns of the tasks frame but `task` and `graph`, and `said`: what else the plan says of the task,
    see `said`. `mentions` are words of the plan that may be paths, if the repository has them.
    """

    label: str
    sha256: str
    feature: str
    rows: list[dict[str, Any]]
    findings: list[Row]
    mentions: frozenset[str] = frozenset()
    phases: bool = False  # levels are phases: tasks of one may build on each other


@dataclass(frozen=True)
class PlanFormat:
    """How the plans of one tool are known, found and read. Each module of this package has one as its `FORMAT`.

    Attributes:
        name: What `--plan-format` calls it.
        recognises: Whether a text is such a plan, given also as the JSON value that it is, or None.
        certain: Whether a JSON value is such a plan beyond doubt, so that no other format is asked.
        named: Whether the name of a file says that it is such a plan, asked where no format knows it by its content.
        find: The plans that a folder means by the tool's own layout, the first choice first; it may only look for
            names. Empty for any other folder.
        companions: Where the files that belong to a plan may lie, in document order.
        root: The folder that paths in the plan start from.
        read: The graph of a plan. Never raises; a plan without a task has no rows and a finding of severity error.
    """

    name: str
    recognises: Callable[[str, object], bool]
    read: Callable[[PlanSource], GraphRead]
    certain: Callable[[object], bool] = field(default=lambda _: False)
    named: Callable[[Path], bool] = field(default=lambda _: False)
    find: Callable[[Path], Sequence[Path]] = field(default=lambda _: ())
    companions: Callable[[Path], Sequence[Companion]] = field(default=lambda _: ())
    root: Callable[[Path], Path] = field(default=lambda plan: plan.parent)


def task_row(position: int, task_id: str, **values: Any) -> dict[str, Any]:  # noqa: ANN401 - a row's values
    """A task as a row of the tasks frame, without number and graph; what is not given is empty.

    Args:
        position: Its place in the plan, from 0.
        task_id: Its id as the tool prints it; empty where there is none.
        values: Other columns of the frame, and `said`.
    """
    row: dict[str, Any] = {
        "task_id": task_id,
        "title": "",
        "description": "",
        "level": None,
        "status": "pending",
        "parent": None,
        "dependencies": [],
        "related": [],
        "consumers": [],
        "files_create": [],
        "files_modify": [],
        "files_read": [],
        "files_delete": [],
        "files_inferred": [],
        "acceptance_criteria": [],
        "verification": "",
        "tools": [],
        "context": "",
        "budget_tokens": None,
        "position": position,
        "said": [],
    }
    if unknown := values.keys() - row.keys():
        raise TypeError(f"no columns of a task: {sorted(unknown)}")
    return row | values


def said(place: Literal["details", "design", "note"], text: str, *, time: int | None = None) -> Mapping[str, Any]:
    """What a plan says of a task beside its brief. The text is cleaned Markdown.

    Args:
        place: `details` of what to do (they stand in the requirements, cut into passages), its `design`, or a `note` of
            past work (it stands in the history of the task, which those that build on the task see).
        text: The text.
        time: When a note was written, in microseconds since 1970, where the plan says it.
    """
    return {"place": place, "text": text, "time": time}


def project_name(label: str, own: Sequence[str]) -> str:
    """The folder that a plan lies in, as its label has it, past the tool's `own` folders; empty where none is seen."""
    folders = label.split("/")[:-1]
    while folders and (folders[-1] in own or folders[-1] in ("", ".", "..")):
        folders.pop()
    return folders[-1].strip(".") if folders else ""

"""Task Master's `tasks.json`: one list of tasks or one a tag, with subtasks, and the PRD that they were made from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasks.sources.files import decode, exists
from tasks.sources.findings import Findings, shown
from tasks.sources.plans.acceptance import criteria_of, holds_code
from tasks.sources.plans.beside import at_most, documents, leads_out
from tasks.sources.plans.brevity import brief_criteria, brief_part
from tasks.sources.plans.mentions import mentioned
from tasks.sources.plans.plan import Companion, GraphRead, PlanFormat, PlanSource, project_name, said, task_row
from tasks.sources.plans.statuses import status_of, wanted_statuses
from tasks.sources.plans.task_master.notes import without_notes
from tasks.sources.plans.task_master.subtasks import Placed, dependencies_of, placed_tasks
from tasks.sources.plans.zerg import level_of
from tasks.sources.values import Oddities, UnreadableJsonError, flattened, name_of, parse_json, prose, whole_number
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_HOME = ".taskmaster"
_MASTER = "master"  # the tool's first tag, and the one that it gives to a list without tags

_STRONG_MARKS = ("testStrategy", "details", "subtasks", "expansionPrompt", "parentTaskId")
#: What lies in a project that kept its tasks in `tasks/`, by which it is known as one of the tool.
_OLD_SIGNS = (
    _HOME,
    ".taskmasterconfig",
    "scripts/prd.txt",
    "scripts/PRD.txt",
    "scripts/prd.md",
    "scripts/PRD.md",
    "scripts/example_prd.txt",
    "scripts/task-complexity-report.json",
    "tasks/task_001.txt",
)
_PRD_SUFFIXES = (".txt", ".md", ".markdown")
_MOST_PRDS = 8
_MOST_TAGS = 12  # that a message lists

#: What newer versions say of a task in fields of their own, by the heading that it gets among the details.
_GUIDANCE = {
    "implementationApproach": "Implementation approach",
    "technicalConstraints": "Technical constraints",
    "scopeBoundaries": "Scope",
    "codebasePatterns": "Patterns to follow",
    "existingInfrastructure": "What is there to build on",
}
_ACTIONS = {"create": " (new)", "reference": " (read only)"}

_LONGEST_TITLE = 80

_NO_WORDS = re.compile(r"[ \t]*(?:(?:[-*+•>]|\d{1,3}[.)]|#{1,6})[ \t]+|(?:```|~~~).*)?")


# ---- which file, and what lies beside it --------------------------------------------------------------------------


def _recognises(text: str, document: object) -> bool:  # noqa: ARG001 - the signature is that of all formats
    """A list of tasks that have the tool's marks more than a task graph's, or an object of such lists by tag."""
    if not isinstance(document, dict) or isinstance(document.get("feature"), str):
        return False
    flat = document.get("tasks")
    if isinstance(flat, list) and _marked(flat, least=1):
        return True
    tags = _tagged(document)
    plans = [tag["tasks"] for tag in tags.values() if _marked(tag["tasks"], least=0) and "feature" not in tag]
    return any(plans) or (bool(plans) and len(tags) == len(document))


def _marked(tasks: Sequence[object], least: int) -> bool:
    """Whether at least that many tasks have marks of the tool, and fewer those of a task graph."""
    entries = [task for task in tasks if isinstance(task, dict) and ("id" in task or "title" in task)]
    own = sum(map(_has_marks, entries))
    others = sum(map(_has_foreign_marks, entries))
    return own >= least and (own > others or not others) and bool(entries or not tasks)


def _has_marks(task: Mapping[str, Any]) -> bool:
    weak = ("status" in task) + ("priority" in task) + (whole_number(task.get("id")) is not None)
    return weak > 1 or any(name in task for name in _STRONG_MARKS)


def _has_foreign_marks(task: Mapping[str, Any]) -> bool:
    objects = isinstance(task.get("files"), dict) or isinstance(task.get("verification"), dict)
    return objects or level_of(task.get("level")) is not None


def _find(folder: Path) -> list[Path]:
    """The plan of a project, of its `.taskmaster` or of the `tasks` in either.

    `tasks/tasks.json` in a project was the tool's place once, and is a common name: another file has to tell that the
    project is the tool's.
    """
    plans = [folder / _HOME / "tasks" / "tasks.json"]
    if folder.name == _HOME or _is_old_project(folder):
        plans.append(folder / "tasks" / "tasks.json")
    if folder.name == "tasks" and (folder.parent.name == _HOME or _is_old_project(folder.parent)):
        plans.append(folder / "tasks.json")
    return next(([plan] for plan in plans if exists(plan)), [])


def _is_old_project(folder: Path) -> bool:
    return any(exists(folder / sign) for sign in _OLD_SIGNS)


def _root(plan: Path) -> Path:
    """The project of a plan; for one outside of the tool's layout the folder that it lies in."""
    if plan.parent.name != "tasks":
        return plan.parent
    above = plan.parent.parent
    return above.parent if above.name == _HOME else above


def _companions(plan: Path) -> list[Companion]:
    """The tool's state and the first eight PRDs by name; none for a plan outside of the tool's layout."""
    if plan.parent.name != "tasks":
        return []
    root = _root(plan)
    docs, scripts = root / _HOME / "docs", root / "scripts"
    prds = documents("requirements", docs, root, _is_prd)
    if not leads_out(scripts, root):  # a common name, which need not be the tool's
        prds += documents("requirements", scripts, root, lambda path: path.stem.lower() == "prd" and _is_prd(path))
    return [Companion("state", root / _HOME / "state.json", root), *at_most(_MOST_PRDS, prds, docs)]


def _is_prd(path: Path) -> bool:
    """Whether a name says that a document is a PRD: it begins or ends so, and is not the tool's own sample."""
    stem = path.stem.lower()
    named = stem.startswith("prd") or (stem.endswith("prd") and not stem.startswith("example"))
    return named and path.suffix.lower() in _PRD_SUFFIXES


# ---- which list of tasks ------------------------------------------------------------------------------------------


def _read(source: PlanSource) -> GraphRead:
    findings = Findings(source.label)
    feature = ""
    rows: list[dict[str, Any]] = []
    unsure: frozenset[str] = frozenset()
    oddities = Oddities()
    try:
        document = source.clear(parse_json(source.text, oddities))
    except UnreadableJsonError as error:
        findings.add("error", "GRAPH_UNREADABLE", f"It is {error}; the graph was left out.")
    else:
        oddities.report(findings)
        lists = _lists(document, findings)
        tag = _chosen_tag(lists, source, findings)
        if tag is not None:
            rows, unsure = _rows(lists[tag].get("tasks"), source.paths, findings)
            feature = _feature(tag, lists[tag], document, source.label)
            _report_others(lists, tag, findings)
    return GraphRead(source.label, source.file.sha256, feature, rows, findings.rows, unsure)


def _rows(tasks: object, paths: frozenset[str], findings: Findings) -> tuple[list[dict[str, Any]], frozenset[str]]:
    """The tasks of a list and their subtasks, and the words in them that are paths if there are such files."""
    placed = list(placed_tasks(tasks, findings))
    if not placed:
        findings.add("error", "GRAPH_EMPTY", "It holds no readable task; the graph was left out.")
    known = {entry.task_id for entry in placed}
    read = [_row(entry, position, known, paths, findings) for position, entry in enumerate(placed)]
    return [row for row, _ in read], frozenset().union(*(unsure for _, unsure in read))


def _tagged(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        tag: value
        for tag, value in document.items()
        if isinstance(value, dict) and isinstance(value.get("tasks"), list)
    }


def _lists(document: object, findings: Findings) -> dict[str, dict[str, Any]]:
    """The objects with a list of tasks, by tag. A list without a tag has the one that the tool would give it."""
    if isinstance(document, list):
        return {_MASTER: {"tasks": document}}
    if not isinstance(document, dict):
        return {}
    tags = _tagged(document)
    flat = document.get("tasks")
    if not isinstance(flat, list) and (tags or not isinstance(flat, dict)):
        return tags
    if _MASTER not in tags:
        return {_MASTER: document, **tags}
    if flat:
        message = "It has a list of tasks beside its tags; that was left out, as the tool does."
        findings.add("warning", "PLAN_TAG", message)
    return tags


def _chosen_tag(lists: Mapping[str, Any], source: PlanSource, findings: Findings) -> str | None:
    """The tag that was asked for, else the tool's current one, else `master`, else the only one."""
    listed = _in_words(map(shown, sorted(lists)))
    if not lists:
        findings.add("error", "GRAPH_EMPTY", "It holds no list of tasks; the graph was left out.")
        return None
    if source.tag is not None:
        if source.tag in lists:
            return source.tag
        message = f"It has no tag {shown(source.tag)}; its tags are {listed}. The graph was left out."
        findings.add("error", "PLAN_TAG", message)
        return None
    current = _current_tag(source, findings)
    if current in lists:
        return current
    if current and lists.keys() != {_MASTER}:
        message = f"The tool's current tag {shown(current)} is none of its tags, which are {listed}."
        findings.add("info", "PLAN_TAG", message)
    if _MASTER in lists or len(lists) == 1:
        return _MASTER if _MASTER in lists else next(iter(lists))
    message = f"It has several tags and none of them is current: {listed}; name one with --tag. The graph was left out."
    findings.add("error", "PLAN_TAG", message)
    return None


def _current_tag(source: PlanSource, findings: Findings) -> str:
    """The tag that the tool's state names; empty where there is no state, or none that can be read."""
    file = next((file for role, file in source.companions if role == "state"), None)
    if file is None:
        return ""
    try:
        state = parse_json(decode(file)[0])
    except UnreadableJsonError as error:
        message = f"The tool's state is {error}; its current tag is not known."
        findings.add("info", "PLAN_STATE", message, f"state {shown(file.label)}")
        return ""
    tag = state.get("currentTag") if isinstance(state, dict) else None
    return tag if isinstance(tag, str) else ""


def _report_others(lists: Mapping[str, Any], chosen: str, findings: Findings) -> None:
    counts = {tag: _open_tasks(lists[tag]["tasks"]) for tag in sorted(lists) if tag != chosen}
    if others := [f"{shown(tag)} ({count})" for tag, count in counts.items() if count]:
        message = f"The tag {shown(chosen)} was read. Others have open tasks: {_in_words(others)}; --tag names one."
        findings.add("info", "PLAN_OTHER_TAGS", message)


def _in_words(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MOST_TAGS} more" if len(every) > _MOST_TAGS else ""
    return ", ".join(every[:_MOST_TAGS]) + more


def _open_tasks(tasks: object) -> int:
    wanted = wanted_statuses(())
    entries = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    return sum((status_of(name_of(task.get("status"))) or "pending") in wanted for task in entries)


def _feature(tag: str, chosen: Mapping[str, Any], document: object, label: str) -> str:
    """What a graph is called: its tag, or the project where the tag says nothing."""
    if tag != _MASTER and (name := one_line(tag)):
        return name
    if name := one_line(project_name(label, own=(_HOME, "tasks"))):
        return name
    for place in (chosen, document):
        for key in ("metadata", "meta"):
            values = place.get(key) if isinstance(place, dict) else None
            if isinstance(values, dict) and (name := name_of(values.get("projectName"))):
                return name
    return one_line(tag) or _MASTER


# ---- what a task says ---------------------------------------------------------------------------------------------


def _row(
    placed: Placed, position: int, known: set[str], paths: frozenset[str], findings: Findings
) -> tuple[dict[str, Any], frozenset[str]]:
    """A task as a row, and the words in it that are paths if there are such files."""
    task, place = placed.task, f"task {placed.task_id}"
    description, notes = without_notes(_text(task, "description", findings, place))
    details, more = without_notes(_text(task, "details", findings, place))
    strategy, still_more = without_notes(prose(task.get("testStrategy")))
    named = "\n".join(_relevant_files(task.get("relevantFiles")))
    parts = [description, details if details != description else "", *_guidance(task, named)]
    text = "\n\n".join(filter(None, parts))
    title = _title(task, text, findings, place)
    if not text:
        findings.add("info", "TASK_NO_DESCRIPTION", "It has no description.", place)
    head, rest = brief_part(text)
    demands = task.get("acceptanceCriteria")
    wanted, unwanted = brief_criteria(list(dict.fromkeys([*criteria_of(demands), *criteria_of(strategy)])))
    if holds_code(strategy):
        unwanted = "\n\n".join(filter(None, (unwanted, f"Test strategy:\n\n{strategy}")))
    files = mentioned([title, description, details, named, prose(demands), strategy], paths)
    row = task_row(
        position,
        placed.task_id,
        title=title,
        description=head,
        status=_status(task, findings, place),
        parent=placed.parent,
        dependencies=dependencies_of(placed, known, findings, place),
        acceptance_criteria=wanted,
        said=[
            *([said("details", rest)] if rest else []),
            *([said("details", unwanted)] if unwanted else []),
            *(said("note", note, time=time) for note, time in (*notes, *more, *still_more)),
        ],
        **files.columns,
    )
    return row, files.unsure


def _text(task: Mapping[str, Any], name: str, findings: Findings, place: str) -> str:
    value = task.get(name)
    if value is not None and not isinstance(value, str):
        message = f"Its {name} is not written as expected; it was read as text."
        findings.add("info", "TASK_FIELD_TYPE", message, place)
    return prose(value)


def _title(task: Mapping[str, Any], text: str, findings: Findings, place: str) -> str:
    if title := one_line(_text(task, "title", findings, place)):
        return title
    title = _first_words(text)
    instead = "the first words of its description stand" if title else "its id stands"
    findings.add("info", "TASK_NO_TITLE", f"It has no title; {instead} for it.", place)
    return title


def _first_words(text: str) -> str:
    """The beginning of a text as a title: of its first line with words, cut between words where that is long."""
    lines = (one_line(_NO_WORDS.sub("", line, count=1)) for line in text.split("\n"))
    line = next(filter(None, lines), "")
    if len(line) <= _LONGEST_TITLE:
        return line
    start = line[:_LONGEST_TITLE]
    return (start.rpartition(" ")[0] or start).rstrip(" ,;:.") + "…"


def _status(task: Mapping[str, Any], findings: Findings, place: str) -> str:
    word = name_of(task.get("status"))
    status = status_of(word)
    if status is None and word:
        findings.add("info", "PLAN_STATUS", f"Its status {shown(word)} is not known; it counts as pending.", place)
    return status or "pending"


def _guidance(task: Mapping[str, Any], files: str) -> Iterator[str]:
    for name, heading in _GUIDANCE.items():
        if text := prose(task.get(name)):
            yield f"{heading}:\n\n{text}"
    if files:
        yield f"Relevant files:\n\n{files}"


def _relevant_files(value: object) -> Iterator[str]:
    for entry in flattened(value):
        named = entry if isinstance(entry, dict) else {"path": entry}
        if path := name_of(named.get("path")):
            action = _ACTIONS.get(name_of(named.get("action")).lower(), "")
            description = one_line(prose(named.get("description")))
            yield f"- `{path}`{action}" + (f": {description}" if description else "")


FORMAT = PlanFormat("task-master", _recognises, _read, find=_find, companions=_companions, root=_root)

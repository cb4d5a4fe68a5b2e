"""The issues of beads: a JSON object a line, with edges between them, in a `.beads` folder."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from tasks.sources.files import absolute, exists
from tasks.sources.findings import Findings, shown
from tasks.sources.plans.acceptance import criteria_of, holds_code, without_criteria
from tasks.sources.plans.brevity import brief_criteria, brief_part
from tasks.sources.plans.mentions import mentioned
from tasks.sources.plans.plan import GraphRead, PlanFormat, PlanSource, project_name, said, task_row
from tasks.sources.plans.statuses import status_of
from tasks.sources.times import microseconds
from tasks.sources.values import Oddities, UnreadableJsonError, flattened, name_of, parse_json, prose
from tasks.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_FOLDER = ".beads"
#: Where the issues lie, the newer name first. The other files of the folder are the tool's own records.
_FILES = ("issues.jsonl", "beads.jsonl")

#: Edges by which an issue waits for another, and those by which it is a part of one; see the tool's ready work.
_WAITS = frozenset({"blocks", "conditional-blocks", "waits-for"})
_PART_OF = frozenset({"parent-child", "parent"})
_INFORMS = frozenset(
    """approved-by assigned-to attests authored-by caused-by delegated-from discovered-from duplicates related
    relates-to replies-to supersedes tracks until validates""".split()  # noqa: SIM905 - words, not a list
)
#: Issue types that are what agents send each other or run on, not work on the project.
_TRAFFIC = frozenset(
    "agent convoy event gate merge-request message molecule queue rig role slot".split()  # noqa: SIM905
)
#: Reasons for which an issue was closed that say only that it was.
_NO_REASONS = frozenset({"", "closed", "complete", "completed", "done"})

_LINES_TRIED = 1000  # before a text counts as no issues, and below how many issues settle that it is
_ISSUES_TRIED = 20

_OPENS_BLOCK = re.compile(r"[ \t]*(?:[-*+•>|#]|```|~~~|\d{1,3}[.)][ \t])")


@dataclass
class _Issue:
    """An issue that is a task: what its line says, and what edges, its own or others', make of it."""

    task_id: str
    fields: dict[str, Any]
    status: str
    parents: list[str] = field(default_factory=list)
    waits_for: list[str] = field(default_factory=list)
    related: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"task {self.task_id}"


# ---- the file ---------------------------------------------------------------------------------------------------


def _recognises(text: str, document: object) -> bool:
    """Lines of which most of the first objects are issues: an id, and what only an issue has."""
    if document is not None and not isinstance(document, dict):
        return False
    found = list(islice(_first_records(text), _ISSUES_TRIED))
    return sum(map(_is_issue, found)) * 2 > len(found)


def _first_records(text: str) -> Iterator[dict[str, Any]]:
    start = 0
    for _ in range(_LINES_TRIED):
        end = text.find("\n", start)
        line = text[start:] if end < 0 else text[start:end]
        if line.lstrip().startswith("{"):
            try:
                record = parse_json(line)
            except UnreadableJsonError:
                record = None
            if isinstance(record, dict) and not _is_other_record(record):
                yield record
        if end < 0:
            return
        start = end + 1


def _is_other_record(record: Mapping[str, Any]) -> bool:
    """Whether a line says itself that it is no issue, as memories do."""
    return name_of(record.get("_type")) not in ("", "issue")


def _is_issue(record: Mapping[str, Any]) -> bool:
    marked = (
        name_of(record.get("_type")) == "issue"
        or isinstance(record.get("issue_type"), str)
        or all(name in record for name in ("status", "priority", "created_at"))
    )
    return marked and bool(name_of(record.get("id"))) and not isinstance(record.get("tasks"), list)


def _find(folder: Path) -> list[Path]:
    place = folder if absolute(folder).name == _FOLDER else folder / _FOLDER
    return next(([place / name] for name in _FILES if exists(place / name)), [])


def _root(plan: Path) -> Path:
    folder = absolute(plan).parent
    return folder.parent if folder.name == _FOLDER else folder


def _read(source: PlanSource) -> GraphRead:
    findings = Findings(source.label)
    issues, gone = _sorted_out(source.clear(_records(source.text, findings)), findings)
    if not issues:
        findings.add("error", "GRAPH_EMPTY", "It holds no readable issue that is work; the graph was left out.")
    _connect(issues, gone, findings)
    rows = []
    unsure: set[str] = set()
    for position, issue in enumerate(issues):
        row, words = _row(position, issue, source.paths, findings)
        rows.append(row)
        unsure |= words
    feature = _prefix(issues) or project_name(source.label, (_FOLDER,)) or "beads"
    return GraphRead(source.label, source.file.sha256, feature, rows, findings.rows, frozenset(unsure))


def _named(path: Path) -> bool:
    return path.name in _FILES and absolute(path).parent.name == _FOLDER


FORMAT = PlanFormat("beads", _recognises, _read, named=_named, find=_find, root=_root)


def _prefix(issues: Iterable[_Issue]) -> str:
    """What most ids begin with, up to their last hyphen."""
    counts = Counter(prefix for issue in issues if (prefix := issue.task_id.rpartition("-")[0]))
    return min(counts, key=lambda prefix: (-counts[prefix], prefix), default="")


def _records(text: str, findings: Findings) -> list[dict[str, Any]]:
    """The objects of a file, one a line. A line that is none does not harm the others."""
    found: list[dict[str, Any]] = []
    others = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        oddities = Oddities()
        try:
            record = parse_json(line, oddities)
        except UnreadableJsonError as error:
            findings.add("error", "PLAN_LINE", f"It is {error.reason}; the line was left out.", f"line {number}")
            continue
        oddities.report(findings, f"line {number}")
        if not isinstance(record, dict):
            findings.add("error", "PLAN_LINE", "It is no object; the line was left out.", f"line {number}")
        elif _is_other_record(record) or not name_of(record.get("id")):
            others += 1
        else:
            found.append(record)
    if others:
        findings.add("info", "PLAN_OTHER_LINES", f"{others} of its lines are no issues, such as memories.")
    return found


def _sorted_out(records: Iterable[dict[str, Any]], findings: Findings) -> tuple[list[_Issue], dict[str, str]]:
    """The issues that are tasks, in the file's order, and of the other ids what they are."""
    issues: list[_Issue] = []
    gone: dict[str, str] = {}
    for record in records:
        task_id = name_of(record["id"])
        word = name_of(record.get("status"))
        status = status_of(word)
        if status == "deleted":
            gone[task_id] = "deleted"
        elif _word(record.get("issue_type")) in _TRAFFIC or record.get("is_template") is True:
            gone[task_id] = "traffic"
        else:
            if status is None:
                what = f"status {shown(word)} is not known" if word else "status is not given"
                findings.add("info", "PLAN_STATUS", f"Its {what}; it counts as pending.", f"task {task_id}")
            issues.append(_Issue(task_id, record, status or "pending"))
    counts = Counter(gone.values())
    if counts["traffic"]:
        message = f"{counts['traffic']} issues are messages, templates or other traffic of agents; they are no tasks."
        findings.add("info", "PLAN_TRAFFIC", message)
    living = {issue.task_id for issue in issues}
    return issues, {task_id: what for task_id, what in gone.items() if task_id not in living}


def _word(value: object) -> str:
    """A word of the tool's own, whatever its case and separators."""
    return re.sub(r"[\s_-]+", "-", name_of(value).lower())


# ---- edges ------------------------------------------------------------------------------------------------------


def _connect(issues: Sequence[_Issue], gone: Mapping[str, str], findings: Findings) -> None:
    """Gives each issue its parents and what it waits for."""
    by_id: dict[str, _Issue] = {}
    for issue in issues:
        by_id.setdefault(issue.task_id, issue)
    dropped: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for issue in issues:
        for holder, target, kind in _edges(issue, findings):
            later = issue if holder in ("", issue.task_id) else by_id.get(holder, issue)
            if later is not issue:
                message = f"It holds a dependency of {shown(holder)}; it counts as that one's."
                findings.add("info", "PLAN_EDGE_HOLDER", message, issue.place)
            if kind not in _WAITS | _PART_OF:
                unknown.update([] if kind in _INFORMS else [kind])
                later.related.append(target)
            elif target in gone:
                dropped[gone[target]] += 1
            else:
                (later.parents if kind in _PART_OF else later.waits_for).append(target)
    for issue in issues:
        _settle_parent(issue, by_id, findings)
    for what, whose in (("deleted", "deleted issues"), ("traffic", "messages or other traffic of agents")):
        if dropped[what]:
            message = f"{dropped[what]} dependencies end at {whose}; they were left out."
            findings.add("info", f"PLAN_EDGES_{what.upper()}", message)
    for kind, count in sorted(unknown.items()):
        message = f"{count} dependencies are of the unknown type {shown(kind)}; they order nothing."
        findings.add("info", "PLAN_EDGE_TYPE", message)


def _edges(issue: _Issue, findings: Findings) -> Iterator[tuple[str, str, str]]:
    """The issue that waits (empty where unsaid), the one it waits for, and the type of each edge that a line has."""
    for entry in flattened(issue.fields.get("dependencies")):
        holder, kind = "", ""
        if isinstance(entry, dict):
            holder = name_of(entry.get("issue_id"))
            target = name_of(entry.get("depends_on_id")) or name_of(entry.get("id"))
            kind = _word(entry.get("type")) or _word(entry.get("dependency_type"))
        else:
            target = name_of(entry)
            before, _, after = target.partition(":")  # `discovered-from:bd-7`, as the command line has it
            if _word(before) in _WAITS | _PART_OF | _INFORMS:
                kind, target = _word(before), after.strip()
        if target:
            yield holder, target, kind or "blocks"
        else:
            findings.add("warning", "PLAN_EDGE", "A dependency names no issue; it was left out.", issue.place)
    for entry in flattened(issue.fields.get("parent")):
        if target := name_of(entry.get("id") if isinstance(entry, dict) else entry):
            yield "", target, "parent"


def _settle_parent(issue: _Issue, known: Mapping[str, _Issue], findings: Findings) -> None:
    """One parent an issue: the first given, else the one that a dotted id names. Further ones come before it, too."""
    issue.parents = list(dict.fromkeys(issue.parents))
    name = issue.task_id
    while not issue.parents and (found := re.fullmatch(r"(.+)\.[0-9]+", name)):
        name = found[1]
        issue.parents = [name] if name in known else []
    if len(issue.parents) > 1:
        message = (
            f"It has {len(issue.parents)} parents: it is a part of {shown(issue.parents[0])} and waits for the rest."
        )
        findings.add("info", "PLAN_PARENTS", message, issue.place)
    issue.waits_for = [name for name in issue.waits_for + issue.parents[1:] if name not in issue.parents[:1]]


# ---- an issue ---------------------------------------------------------------------------------------------------


def _row(
    position: int, issue: _Issue, paths: frozenset[str], findings: Findings
) -> tuple[dict[str, Any], frozenset[str]]:
    """An issue as a row, and the words in it that may be paths."""
    title = one_line(prose(issue.fields.get("title")))
    if not title:
        findings.add("info", "TASK_NO_TITLE", "It has no title; its id stands for it.", issue.place)
    text = prose(issue.fields.get("description"))
    demands = prose(issue.fields.get("acceptance_criteria"))
    whole_design = prose(issue.fields.get("design"))
    description, sections = without_criteria(text)
    design, more_sections = without_criteria(whole_design)
    head, rest = brief_part(description)
    lines = list(criteria_of(issue.fields.get("acceptance_criteria")))
    lines += [line for part in (*sections, *more_sections) for line in part]
    kept, more = brief_criteria(list(dict.fromkeys(lines)))
    whole = f"Acceptance criteria:\n\n{demands}" if holds_code(demands) else ""
    files = mentioned((title, text, demands, whole_design), paths)
    row = task_row(
        position,
        issue.task_id,
        title=title,
        description=head,
        status=issue.status,
        parent=next(iter(issue.parents), None),
        dependencies=list(dict.fromkeys(issue.waits_for)),
        related=list(dict.fromkeys(issue.related)),
        acceptance_criteria=kept,
        said=[
            *(said("details", part) for part in (rest, whole or more) if part),
            *([said("design", design)] if design else []),
            *_notes(issue),
        ],
        **files.columns,
    )
    return row, files.unsure


def _notes(issue: _Issue) -> Iterator[Mapping[str, Any]]:
    """What was written on the way: notes, then comments in the order of time, then why it was closed."""
    if notes := prose(issue.fields.get("notes")):
        yield said("note", notes)
    comments = [(_comment(entry), _moment(entry)) for entry in flattened(issue.fields.get("comments"))]
    for text, time in sorted(comments, key=lambda comment: (comment[1] is None, comment[1] or 0)):
        if text:
            yield said("note", text, time=time)
    reason = prose(issue.fields.get("close_reason"))
    if issue.status == "done" and reason.strip().rstrip(".!").lower() not in _NO_REASONS:
        yield said("note", reason, time=microseconds(issue.fields.get("closed_at")))


def _comment(entry: object) -> str:
    if not isinstance(entry, dict):
        return prose(entry)
    text = prose(entry.get("text"))
    author = name_of(entry.get("author")).strip("\"' ")
    if not text or not author:
        return text
    return f"{author}:\n\n{text}" if _OPENS_BLOCK.match(text) else f"{author}: {text}"


def _moment(entry: object) -> int | None:
    return microseconds(entry.get("created_at")) if isinstance(entry, dict) else None

"""spec-kit's `tasks.md`: a Markdown list of tasks in phases, of every generation of the tool's template.

A task line is `- [ ] T001 [P] [US1] text`, also with other ids, bullets and labels, or without a box where no line has
one. The number of its phase is the level of a task; headings that name no phase put tasks in order all the same, but
give no level. A task's story takes its acceptance scenarios from the `spec.md` beside the plan.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tasks.sources.documents import read_document
from tasks.sources.files import absolute, exists
from tasks.sources.findings import Findings, shown
from tasks.sources.plans.beside import at_most, documents, listed
from tasks.sources.plans.brevity import brief_criteria, brief_part
from tasks.sources.plans.enumeration import unrolled
from tasks.sources.plans.mentions import mentioned
from tasks.sources.plans.plan import Companion, GraphRead, PlanFormat, PlanSource, project_name, said, task_row
from tasks.sources.plans.spec_kit.choice import is_plan
from tasks.sources.plans.spec_kit.order import dependencies, stated
from tasks.sources.plans.spec_kit.phases import phases_of
from tasks.sources.plans.spec_kit.stories import stories_in, stories_of
from tasks.sources.plans.spec_kit.tasks import is_done, outline
from tasks.sources.plans.zerg import criteria
from tasks.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tasks.sources.plans.spec_kit.entries import Section
    from tasks.sources.plans.spec_kit.phases import Phase
    from tasks.sources.plans.spec_kit.stories import Story
    from tasks.sources.plans.spec_kit.tasks import Outline, Task

_PLAN = "tasks.md"
_HOME = ".specify"
_SPECS = "specs"
_REQUIREMENTS = "spec.md"
_DESIGN = ("plan.md", "research.md", "data-model.md", "quickstart.md")
_CONTRACTS = "contracts"
_MOST_CONTRACTS = 40
_NOT_TEXT = frozenset(
    (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".zip", ".gz", ".tar", ".docx", ".xlsx", ".pptx", ".pyc")
)
_CONSTITUTIONS = (f"{_HOME}/memory/constitution.md", "memory/constitution.md")
_DEEPEST = 3  # folders between `specs` and a feature's plan

_LONGEST_TITLE = 200
_INPUT = re.compile(r"specs/([^/\s`'\"<>()\[\]#*|]{1,100})/?")
_BRANCH = re.compile(r"\*\*(?:Feature )?Branch\*\*:?[ \t]*`?([\w.-]{1,100})", re.IGNORECASE)
_H1 = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_TITLE_WORD = re.compile(r"\A(?:implementation[ \t]+)?(?:tasks?|タスク|任务)[ \t]*[:：-][ \t]*", re.IGNORECASE)
_CUTS = (
    re.compile(r"[.;:。；：][ \t]+|[ \t]+[-–—][ \t]+|[。；：]"),
    re.compile(r",[ \t]+|[、，]|[ \t]+(?=\()"),
    re.compile(r"[ \t]+"),
)


# ---- which file, and what lies beside it --------------------------------------------------------------------------


def _recognises(text: str, document: object) -> bool:
    """A Markdown text with a task's line, or with tasks in a weaker form under headings that say so."""
    return document is None and is_plan(clean(text))


def _find(folder: Path) -> Sequence[Path]:
    """The plan of a feature's folder, or those of all features of a project or its folder of features."""
    folder = absolute(folder)
    if exists(folder / _PLAN) and (exists(folder / _REQUIREMENTS) or exists(folder / _DESIGN[0])):
        return [folder / _PLAN]
    homes = {_SPECS: [folder], _HOME: [folder / _SPECS]}.get(folder.name, [folder / _HOME / _SPECS, folder / _SPECS])
    return sorted(child / _PLAN for home in homes for child in listed(home) if exists(child / _PLAN))


def _home(plan: Path) -> Path | None:
    """The project that a plan belongs to by the tool's layout: the folder above `specs` or `.specify`."""
    for folder in absolute(plan).parent.parents[:_DEEPEST]:
        if folder.name == _HOME:
            return folder.parent
        if folder.name == _SPECS:
            return folder.parent.parent if folder.parent.name == _HOME else folder.parent
    return None


def _root(plan: Path) -> Path:
    return _home(plan) or absolute(plan).parent.parent


def _companions(plan: Path) -> Sequence[Companion]:
    plan = absolute(plan)
    feature, inside = plan.parent, _home(plan) or plan.parent
    found = [Companion("requirements", feature / _REQUIREMENTS, inside)]
    found += [Companion("design", feature / name, inside) for name in _DESIGN]
    contracts = feature / _CONTRACTS
    found += at_most(_MOST_CONTRACTS, documents("design", contracts, inside, _is_text, deep=True), contracts)
    roots = [_home(plan)] if _home(plan) else [feature, feature.parent]
    for root in filter(None, roots):
        for name in _CONSTITUTIONS:
            if exists(root / name):
                return [*found, Companion("rules", root / name, root)]
    return found


def _is_text(path: Path) -> bool:
    return path.suffix.lower() not in _NOT_TEXT


# ---- the plan -----------------------------------------------------------------------------------------------------


def _read(source: PlanSource) -> GraphRead:
    findings = Findings(source.label)
    text = clean(source.clear(source.text))
    plan = outline(text)
    if not plan.tasks:
        findings.add(
            "error",
            "GRAPH_EMPTY",
            "It holds no recognisable task line, such as '- [ ] T001 …'; the graph was left out.",
        )
    _report(plan, findings)
    rows, unsure = _rows(source, plan, findings)
    feature = _feature(source.label, text)
    return GraphRead(source.label, source.file.sha256, feature, rows, findings.rows, unsure, phases=True)


def _named(path: Path) -> bool:
    return path.name.lower() == _PLAN


FORMAT = PlanFormat("spec-kit", _recognises, _read, named=_named, find=_find, companions=_companions, root=_root)


def _feature(label: str, text: str) -> str:
    """The feature's folder, by where the plan lies or else by what it says; at last its title."""
    if name := project_name(label, (_SPECS, _HOME)):
        return name
    head = text[:4000]
    if found := _INPUT.search(head) or _BRANCH.search(head):
        return found[1].strip(".") or "tasks"
    title = _H1.search(head)
    words = re.findall(r"\w+", _TITLE_WORD.sub("", title[1]).lower()) if title else []
    return "-".join(words)[:80].strip("-_") or "tasks"


def _report(plan: Outline, findings: Findings) -> None:
    if plan.form == "box":
        message = (
            f"Its tasks have no ids; they are called {plan.tasks[0].task_id} to {plan.tasks[-1].task_id} by place."
        )
        findings.add("warning", "PLAN_NO_IDS", message)
    for task_id in plan.repeated:
        findings.add("info", "TASK_REPEATED", "The same task stands there again; it was read once.", f"task {task_id}")
    for task_id in plan.unboxed if plan.tasks else ():
        message = "Its line has no box, unlike others; it does not count as a task."
        findings.add("warning", "PLAN_NO_BOX", message, f"task {task_id}")


def _rows(source: PlanSource, plan: Outline, findings: Findings) -> tuple[list[dict[str, Any]], frozenset[str]]:
    phases, phase_of = phases_of(plan.tasks)
    fields = stated(plan, phases)
    orders = dependencies(plan, phases, phase_of, fields, findings)
    stories = _stories(source)
    unsure: set[str] = set()
    rows: list[dict[str, Any]] = []
    for place, task in enumerate(plan.tasks):
        where = f"task {task.task_id}"
        body = task.body
        if task.depends and fields[place] is None:
            value = one_line(" ".join(task.depends))
            body = f"{body}\n\nDepends on: {value}".strip("\n") if value else body
            if value:
                message = f"What it depends on, {shown(value)}, names no task; it was kept as text."
                findings.add("info", "PLAN_DEPENDENCY", message, where)
        title, description = _texts(task.text, body)
        if not title:
            findings.add("info", "TASK_NO_TITLE", "It has no title; its id stands for it.", where)
        head, rest = brief_part(description)
        phase = phases[phase_of[place]]
        accepted, more = brief_criteria(_acceptance(task, phase, plan, stories, findings))
        files = mentioned([task.text, description], source.paths)
        unsure |= files.unsure
        beside = [said("details", text) for text in (rest, more) if text]
        beside += [said("note", task.note)] if task.note else []
        rows.append(
            task_row(
                place,
                task.task_id,
                title=title,
                description=head,
                level=phase_of[place] + 1 if any(phase.label for phase in phases) else None,
                status=_status(task, findings, where),
                parent=task.parent,
                dependencies=[name for name in orders[place] if name != task.parent],
                acceptance_criteria=accepted,
                said=beside,
                **files.columns,
            )
        )
    return rows, frozenset(unsure)


def _status(task: Task, findings: Findings, where: str) -> str:
    if is_done(task):
        return "done"
    if task.mark:
        message = f"Its box holds {shown(task.mark)}, which is not known; it counts as {task.status or 'pending'}."
        findings.add("info", "PLAN_STATUS", message, where)
    return task.status or ("cancelled" if task.struck else "pending")


def _texts(text: str, body: str) -> tuple[str, str]:
    """Title and description. A line that is too long for a title begins the description, which loses nothing of it."""
    line = one_line(text)
    if len(line) <= _LONGEST_TITLE:
        return line, body
    return _shortened(line), f"{line}\n\n{body}".rstrip("\n")


def _shortened(line: str) -> str:
    """The beginning of a line up to the end of a sentence, a clause or a word, never within code."""
    for cut in _CUTS:
        ends = [found.start() for found in cut.finditer(line, _LONGEST_TITLE // 3, _LONGEST_TITLE)]
        whole = [end for end in ends if line.count("`", 0, end) % 2 == 0]
        if whole:
            return f"{line[: whole[-1]].rstrip(' ,;:')} …"
    return f"{line[:_LONGEST_TITLE]} …"


# ---- when a task is done ------------------------------------------------------------------------------------------


def _stories(source: PlanSource) -> Mapping[int, Story] | None:
    """The stories of the specification beside the plan; None where there is none, or one without stories."""
    for role, file in source.companions:
        if role == "requirements" and file.label.rpartition("/")[2] == _REQUIREMENTS:
            return stories_of(source.clear(read_document(file)[0].text)) or None
    return None


def _acceptance(
    task: Task, phase: Phase, plan: Outline, stories: Mapping[int, Story] | None, findings: Findings
) -> list[str]:
    """When a task is done: by its own field, its story's test and scenarios, and the checkpoint of its phase."""
    numbers = task.stories
    if numbers is None:
        named = (stories_in(section.title) for section in reversed(task.path))
        numbers = next(filter(None, named), ())
    lines = (line for value in task.criteria for line in unrolled(value.split("\n")))
    found = [part for line in lines for value in criteria(line) for part in _parts(value)]
    found += [f"Independent test: {text}" for text in map(one_line, task.tests)]
    found += [f"Checkpoint: {text}" for text in map(one_line, task.checkpoints)]
    known = [stories[number] for number in numbers if stories and number in stories]
    if unknown := [number for number in numbers if stories and number not in stories]:
        names = ", ".join(f"US{number}" for number in unknown)
        message = f"The specification has no user story for {names}."
        findings.add("info", "PLAN_STORY", message, f"task {task.task_id}")
    if numbers:
        tests = _marks(task, phase, plan, "tests") or [text for story in known for text in story.tests]
        found += [f"Independent test: {text}" for text in tests]
        found += [text for story in known for text in story.scenarios]
    found += [f"Checkpoint: {text}" for text in _marks(task, phase, plan, "checkpoints")]
    return list(dict.fromkeys(found))


def _marks(task: Task, phase: Phase, plan: Outline, name: str) -> list[str]:
    """What the nearest heading above a task within its phase says, else what the whole phase says."""
    within = [section for section in task.path if phase.section in (section, *section.path)]
    for section in reversed(within):
        if found := _said_by(section, name):
            return found
    return [text for section in plan.under(phase.section) for text in _said_by(section, name)]


def _said_by(section: Section, name: str) -> list[str]:
    return section.tests if name == "tests" else section.checkpoints


def _parts(line: str) -> Iterator[str]:
    """The criteria in a line, which stand apart by semicolons outside of code and brackets."""
    start = depth = 0
    code = False
    for at, character in enumerate(line):
        if character == "`":
            code = not code
        elif code:
            continue
        elif character in "([{（":
            depth += 1
        elif character in ")]}）":
            depth = max(0, depth - 1)
        elif character in ";；" and not depth:
            if part := line[start:at].strip():
                yield part
            start = at + 1
    if part := line[start:].strip():
        yield part

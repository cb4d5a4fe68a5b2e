"""Which tasks of a spec-kit plan come before which: by their fields, their phases, their order and what prose says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tasks.sources.findings import shown
from tasks.sources.plans.spec_kit.phases import awaited, in_dependencies, named_in
from tasks.sources.plans.spec_kit.tasks import ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasks.sources.findings import Findings
    from tasks.sources.plans.spec_kit.phases import Phase
    from tasks.sources.plans.spec_kit.tasks import Outline, Task

_MOST_TASKS = 2000  # of a plan whose prose is read; larger ones have their fields, phases and order alone
_MOST_AWAITED = 200  # last tasks of a phase that one task waits for
_MOST_PAIRS = 200_000  # of tasks that prose, or the texts of tasks, may put in order

_ID = re.compile(ID)
_IDS = re.compile(
    rf"(?P<first>{ID})(?:(?P<on>\+)(?![ \t]*[T\d])|(?P<range>[ \t]*(?:[-–—~]|\.\.+|to\b|through\b)[ \t]*T-?|[-–—~])"
    r"(?P<last>\d{1,6}(?:\.\d{1,3})*[a-z]?)(?![A-Za-z0-9_]))?"
)
_ARROW = re.compile(r"[ \t]*(?:-{1,3}>|={1,2}>|[→⇒➔➡⟶])\ufe0f?[ \t]*")
_RELATION = re.compile(
    r"\b(?:(?P<before>before|precedes?|blocks?|prior[ \t]+to)"
    r"|(?P<after>after|once|depends?[ \t]+on|requires?|needs?|blocked[ \t]+by|waits?[ \t]+(?:for|on)))\b",
    re.IGNORECASE,
)
_FINISHED = re.compile(
    r"\b(?:done|complete[sd]?|completion|finish(?:es|ed)?|ready|pass(?:es|ed)?)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[ \t]+[-–—][ \t]+|\bthen\b", re.IGNORECASE)
_STATEMENT_END = re.compile(r"[;；。|]|\.(?:[ \t]|$)")
_IN_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_OWN = re.compile(
    r"\b(?:depends?[ \t]+on|blocked[ \t]+by|requires?|after)[ \t]*:?[ \t]*(?:tasks?[ \t]+)?"
    rf"(?P<ids>{ID}(?:[ \t]*(?:[,&+/–~-]|and\b|to\b)[ \t]*{ID})*)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"[\s*_(（]*(?:(?:none|no|nothing|n/a|nil)(?![^\W_])|なし|无|無|없음|[-–—]+[\s)）]*\Z)", re.IGNORECASE
)
_PRIOR = re.compile(
    r"\b(?:all|every|everything)[ \t]+(?:the[ \t]+)?"
    r"(?:(?:prior|previous|preceding|earlier|other|above)\b|tasks?[ \t]+(?:above|before)\b)"
    r"|\A\W*(?:all|everything)(?:[ \t]+tasks?)?\W*\Z",
    re.IGNORECASE,
)


@dataclass
class Stated:
    """What a task's own field says it waits for. `names` as printed where they are no tasks of the plan."""

    names: list[str] = field(default_factory=list)
    phases: list[int] = field(default_factory=list)


@dataclass
class _Ids:
    """The ids of a plan, however they are printed."""

    tasks: Sequence[Task]

    def __post_init__(self) -> None:
        self._places: dict[str, int] = {}
        for place, task in enumerate(self.tasks):
            self._places.setdefault(_plain(task.task_id), place)

    def in_text(self, text: str) -> Iterator[tuple[str, int | None]]:
        """The ids in a text, ranges as all that they hold, each with the place of its task."""
        for found in _IDS.finditer(text):
            first = self._places.get(_plain(found["first"]))
            last = self._places.get(_plain(f"T{found['last']}")) if found["last"] else None
            if found["on"] and first is not None:
                yield from self._between(first, len(self.tasks) - 1)
            elif first is not None and last is not None and first <= last:
                yield from self._between(first, last)
            else:
                yield self._one(found["first"], first)
                if found["last"]:
                    hyphen = "-" if found["range"].endswith("T-") or found["first"].startswith("T-") else ""
                    yield self._one(f"T{hyphen}{found['last']}", last)

    def places(self, text: str) -> list[int]:
        """The places of the tasks that a text names, each once."""
        return list(dict.fromkeys(place for _, place in self.in_text(text) if place is not None))

    def _between(self, first: int, last: int) -> Iterator[tuple[str, int]]:
        return ((self.tasks[place].task_id, place) for place in range(first, last + 1))

    def _one(self, name: str, place: int | None) -> tuple[str, int | None]:
        return (name if place is None else self.tasks[place].task_id), place


def _plain(task_id: str) -> str:
    return re.sub(r"\AT-?0*", "", task_id)


class _Order:
    """Who comes before whom, without circles. Sets of tasks are the bits of whole numbers."""

    def __init__(self, count: int) -> None:
        self.before: list[list[int]] = [[] for _ in range(count)]
        self._after: list[list[int]] = [[] for _ in range(count)]
        self._all_before = [0] * count

    def knows(self, earlier: int, later: int) -> bool:
        """Whether one comes before the other, be it through others."""
        return bool(self._all_before[later] >> earlier & 1)

    def add(self, earlier: int, later: int) -> bool:
        """One before the other, unless that is known; False where it would close a circle."""
        if earlier == later or self.knows(later, earlier):
            return False
        if not self.knows(earlier, later):
            self.before[later].append(earlier)
            self._after[earlier].append(later)
            fresh = self._all_before[earlier] | 1 << earlier
            open_places = [later]
            while open_places:
                place = open_places.pop()
                if self._all_before[place] | fresh != self._all_before[place]:
                    self._all_before[place] |= fresh
                    open_places += self._after[place]
        return True


def stated(tasks: Sequence[Task], phases: Sequence[Phase]) -> list[Stated | None]:
    """What the field of each task says; None where it has none, or one that names nothing."""
    ids = _Ids(tasks)
    return [_stated(place, task, ids, phases) for place, task in enumerate(tasks)]


def _stated(place: int, task: Task, ids: _Ids, phases: Sequence[Phase]) -> Stated | None:
    text = " ".join(task.depends)
    if not text.strip():
        return None
    outside = _IN_BRACKETS.sub(" ", text)
    names = [name for name, _ in ids.in_text(outside)]
    if _PRIOR.search(outside):
        names += [other.task_id for other in ids.tasks[:place]]
    if not names and _NOTHING.match(text):
        return Stated()
    if not names and (named := named_in(outside, phases) or named_in(text, phases)):
        return Stated(phases=named)
    names = names or [name for name, _ in ids.in_text(text)]
    return Stated(list(dict.fromkeys(names))) if names else None


def dependencies(
    plan: Outline, phases: Sequence[Phase], phase_of: Sequence[int], fields: Sequence[Stated | None], findings: Findings
) -> list[list[str]]:
    """The ids that each task waits for.

    A field says it all. Without one, a task that is not marked [P] waits for the one above it in its phase, and the
    first ones of a phase wait for the last ones of those that the phase waits for. Prose adds to that what it does not
    say already and what it does not contradict.
    """
    tasks = plan.tasks
    if len(tasks) > _MOST_TASKS:
        message = f"It has more than {_MOST_TASKS} tasks; what its prose says of their order was not read."
        findings.add("info", "PLAN_ORDER", message)
        return _plainly(tasks, phase_of, fields)
    ids = _Ids(tasks)
    order = _Order(len(tasks))
    for place, own in enumerate(fields):
        for name in own.names if own else ():
            for earlier in ids.places(name):
                order.add(earlier, place)
    for earlier, later in _own(plan, ids):
        if fields[later] is None:
            _put(order, earlier, later, tasks, findings)
    for place in range(1, len(tasks)):
        above = phase_of[place] == phase_of[place - 1]
        if above and fields[place] is None and not tasks[place].parallel:
            _put(order, place - 1, place, tasks, findings)
    pairs = [(one, other) for one, other in _said(plan, ids, findings) if fields[other] is None]
    for one, other in pairs:
        if phase_of[one] == phase_of[other]:
            _put(order, one, other, tasks, findings)
    _gate(order, plan, phases, phase_of, fields, findings)
    for one, other in pairs:
        if phase_of[one] != phase_of[other]:
            _put(order, one, other, tasks, findings)
    return [_names(place, own, order, tasks) for place, own in enumerate(fields)]


def _names(place: int, own: Stated | None, order: _Order, tasks: Sequence[Task]) -> list[str]:
    found = [tasks[other].task_id for other in sorted(order.before[place])]
    return list(dict.fromkeys([*(own.names if own else ()), *found]))


def _plainly(tasks: Sequence[Task], phase_of: Sequence[int], fields: Sequence[Stated | None]) -> list[list[str]]:
    """The order of a very long plan: fields, else the task above or the last one of the phase before."""
    found: list[list[str]] = []
    last: int | None = None
    for place, own in enumerate(fields):
        same = place > 0 and phase_of[place] == phase_of[place - 1]
        if not same:
            last = place - 1 if place else None
        above = place - 1 if same and not tasks[place].parallel else last
        found.append(own.names if own else [] if above is None else [tasks[above].task_id])
    return found


def _put(order: _Order, earlier: int, later: int, tasks: Sequence[Task], findings: Findings) -> None:
    if earlier != later and not order.add(earlier, later):
        one, other = shown(tasks[earlier].task_id), shown(tasks[later].task_id)
        message = f"That {one} comes before {other} contradicts the rest of the plan; it was left out."
        findings.add("info", "PLAN_ORDER", message, f"task {tasks[later].task_id}")


# ---- phases -------------------------------------------------------------------------------------------------------


def _gate(
    order: _Order,
    plan: Outline,
    phases: Sequence[Phase],
    phase_of: Sequence[int],
    fields: Sequence[Stated | None],
    findings: Findings,
) -> None:
    """The first tasks of each phase wait for the last ones of the phases that it waits for."""
    waits = awaited(plan, phases, findings)
    members: list[list[int]] = [[] for _ in phases]
    for place, phase in enumerate(phase_of):
        members[phase].append(place)
    needed = {
        other for place in range(len(phase_of)) for other in order.before[place] if phase_of[other] == phase_of[place]
    }
    last = [[place for place in places if place not in needed] for places in members]
    for phase, places in enumerate(last):
        if len(places) > _MOST_AWAITED:
            message = (
                f"Phase {phase + 1} ends in {len(places)} tasks; those after it wait for the last {_MOST_AWAITED}."
            )
            findings.add("info", "PLAN_ORDER", message)
            last[phase] = places[-_MOST_AWAITED:]
    for phase, places in enumerate(members):
        for place in places:
            own = fields[place]
            inside = any(phase_of[other] == phase and fields[other] is None for other in order.before[place])
            gates = own.phases if own else [] if inside else waits[phase]
            for gate in sorted(gates, reverse=True):
                for other in reversed(last[gate] if gate != phase else []):
                    _put(order, other, place, plan.tasks, findings)


# ---- prose --------------------------------------------------------------------------------------------------------


def _own(plan: Outline, ids: _Ids) -> list[tuple[int, int]]:
    """Pairs of tasks of which the second says in its own text that it comes after the first."""
    pairs: list[tuple[int, int]] = []
    for place, task in enumerate(plan.tasks):
        for text in (task.text, task.body):
            for own in _OWN.finditer(text):
                if len(pairs) < _MOST_PAIRS:
                    pairs += [(other, place) for other in ids.places(own["ids"])]
    return pairs


def _said(plan: Outline, ids: _Ids, findings: Findings) -> list[tuple[int, int]]:
    """Pairs of tasks of which the plan says in words that the first comes before the second, the nearest first."""
    pairs: list[tuple[int, int]] = []
    for place, task in enumerate(plan.tasks):
        titles = [found for section in task.path[1:] if (found := _OWN.search(section.title))]
        pairs += [(other, place) for title in titles for other in reversed(ids.places(title["ids"]))]
    lines = [line for _, line in plan.prose] + [line for path, line in plan.code if in_dependencies(path)]
    for line in lines:
        if not _ID.search(line):
            continue
        for statement in _STATEMENT_END.split(line.replace("*", "").replace("`", "")):
            for earlier, later in _relations(statement, ids):
                if len(pairs) + len(earlier) * len(later) > _MOST_PAIRS:
                    findings.add("info", "PLAN_ORDER", "Its prose orders too many tasks; the rest of it was not read.")
                    return pairs
                pairs += [(one, other) for other in later for one in reversed(earlier) if one != other]
    return pairs


def _relations(statement: str, ids: _Ids) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The tasks that come before, and those that come after, by each relation in a statement."""
    parts = _ARROW.split(statement)
    if len(parts) > 1:
        yield from pairwise(map(ids.places, parts))
        return
    relations = list(_RELATION.finditer(statement))
    if not relations:
        return
    subject = ids.places(statement[: relations[0].start()])
    ends = [relation.start() for relation in relations[1:]] + [len(statement)]
    for relation, end in zip(relations, ends, strict=True):
        text = _END.split(statement[relation.end() : end], maxsplit=1)[0]
        finished = _FINISHED.search(text)
        others = ids.places(text[: finished.start()] if finished else text)
        if not subject and finished and relation["after"]:
            subject = ids.places(text[finished.end() :])
        yield from _pairs(subject, others, relation["before"] is not None, "respectively" in statement.lower())


def _pairs(
    subject: Sequence[int], others: Sequence[int], is_before: bool, respectively: bool
) -> Iterable[tuple[Sequence[int], Sequence[int]]]:
    if respectively and len(subject) == len(others):
        return [
            pair
            for one, other in zip(subject, others, strict=True)
            for pair in _pairs([one], [other], is_before, False)
        ]
    return [(subject, others) if is_before else (others, subject)]

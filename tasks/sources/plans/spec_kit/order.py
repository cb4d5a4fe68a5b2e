"""Which tasks of a spec-kit plan come before which: by their fields, their phases, their order and what prose says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tasks.sources.findings import shown
from tasks.sources.plans.spec_kit.phases import Gates, awaited, named_in
from tasks.sources.plans.spec_kit.relations import said_by_tasks, said_in_prose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasks.sources.findings import Findings
    from tasks.sources.plans.spec_kit.ids import Ids
    from tasks.sources.plans.spec_kit.phases import Phase
    from tasks.sources.plans.spec_kit.tasks import Outline, Task

_MOST_TASKS = 10_000  # of a plan whose prose is read; larger ones have their fields, phases and order alone
_MOST_AWAITED = 200  # last tasks of a phase that one task waits for

_IN_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
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

    def direct(self, place: int) -> list[int]:
        """What comes before a task and before nothing else that does."""
        implied = 0
        for earlier in self.before[place]:
            implied |= self._all_before[earlier]
        return [earlier for earlier in sorted(self.before[place]) if not implied >> earlier & 1]


def stated(plan: Outline, phases: Sequence[Phase]) -> list[Stated | None]:
    """What the field of each task says; None where it has none, or one that names nothing."""
    ids = plan.ids
    return [_stated(place, task, ids, phases) for place, task in enumerate(plan.tasks)]


def _stated(place: int, task: Task, ids: Ids, phases: Sequence[Phase]) -> Stated | None:
    text = " ".join(" ".join(task.depends).split())
    if not text:
        return None
    outside = _IN_BRACKETS.sub(" ", text)
    names = [name for name, _ in ids.in_field(outside)]
    if _PRIOR.search(outside):
        names += ids.names[:place]
    if not names and _NOTHING.match(text):
        return Stated()
    if not names and (named := named_in(outside, phases) or named_in(text, phases)):
        return Stated(phases=named)
    names = names or [name for name, _ in ids.in_field(text)]
    return Stated(list(dict.fromkeys(names))) if names else None


def dependencies(
    plan: Outline, phases: Sequence[Phase], phase_of: Sequence[int], fields: Sequence[Stated | None], findings: Findings
) -> list[list[str]]:
    """The ids that each task waits for, without those that others of them wait for.

    A field says it all. Without one, a task that is not marked [P] waits for the last such one above it in its phase
    and for all that are marked in between; the first ones of a phase wait for the last ones of those that the phase
    waits for. Prose adds to that what it does not contradict.
    """
    tasks = plan.tasks
    if len(tasks) > _MOST_TASKS:
        message = f"It has more than {_MOST_TASKS} tasks; what its prose says of their order was not read."
        findings.add("info", "PLAN_ORDER", message)
        return _plainly(tasks, phase_of, fields)
    ids = plan.ids
    order = _Order(len(tasks))
    for place, own in enumerate(fields):
        for name in own.names if own else ():
            if (earlier := ids.place(name)) is not None:
                order.add(earlier, place)
    for earlier, later in said_by_tasks(tasks, ids):
        if fields[later] is None:
            _put(order, earlier, later, tasks, findings)
    for place, above in enumerate(_above(tasks, phase_of)):
        for earlier in reversed(above if fields[place] is None else ()):
            _put(order, earlier, place, tasks, findings)
    pairs = [(one, other) for one, other in said_in_prose(plan, ids, findings) if fields[other] is None]
    for one, other in pairs:
        if phase_of[one] == phase_of[other]:
            _put(order, one, other, tasks, findings)
    _gate(order, plan, phases, phase_of, fields, findings)
    for one, other in pairs:
        if phase_of[one] != phase_of[other]:
            _put(order, one, other, tasks, findings)
    return [_names(place, own, order, ids.names) for place, own in enumerate(fields)]


def _above(tasks: Sequence[Task], phase_of: Sequence[int]) -> Iterator[Sequence[int]]:
    """For each task those above it in its phase, up to the last that is not marked [P]; none for a marked one."""
    since: list[int] = []
    for place, task in enumerate(tasks):
        if place and phase_of[place] != phase_of[place - 1]:
            since = []
        if task.parallel:
            yield ()
            since.append(place)
        else:
            yield since
            since = [place]


def _names(place: int, own: Stated | None, order: _Order, names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*(own.names if own else ()), *(names[other] for other in order.direct(place))]))


def _plainly(tasks: Sequence[Task], phase_of: Sequence[int], fields: Sequence[Stated | None]) -> list[list[str]]:
    """The order of a very long plan: fields, else the tasks above or the last ones of the phase before."""
    found: list[list[str]] = []
    before: Sequence[int] = ()  # the last ones of the phase before
    open_tasks: list[int] = []  # those of this phase that nothing in it waits for
    for place, (own, above) in enumerate(zip(fields, _above(tasks, phase_of), strict=True)):
        if place and phase_of[place] != phase_of[place - 1]:
            before, open_tasks = open_tasks[-_MOST_AWAITED:], []
        found.append(own.names if own else [tasks[other].task_id for other in above or before])
        open_tasks = [*([] if above else open_tasks), place]
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
    waits = awaited(plan, phases, plan.ids.places, findings)
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
            gates = Gates(own.phases) if own else Gates([]) if inside else waits[phase]
            others = [
                other for gate in sorted(gates.phases, reverse=True) if gate != phase for other in last[gate][::-1]
            ]
            others += [other for other in gates.tasks if phase_of[other] != phase]
            for other in others:
                _put(order, other, place, plan.tasks, findings)

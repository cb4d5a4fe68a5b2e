"""The phases of a spec-kit `tasks.md`, and which of them wait for which by what its prose says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.stories import stories_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tasks.sources.findings import Findings
    from tasks.sources.plans.spec_kit.tasks import Outline, Section, Task

_MOST = 100  # phases whose prose is read; beyond that each waits for the one before

_LABEL = r"\d{1,4}(?:\.\d{1,4})*[a-z]?(?![\w.]\d|\w)"
_WORD = r"(?:phases?|フェーズ|阶段|階段|단계|fases?|étapes?|этап\w*|etapas?)"
_PHASE = re.compile(
    rf"(?<![^\W_]){_WORD}[ \t]*#?(?P<label>{_LABEL}|N\b|final\b)"
    r"|第[ \t]*(?P<east>\d{1,3})[ \t]*(?:阶段|階段|段階|フェーズ)",
    re.IGNORECASE,
)
_PHASES = re.compile(
    rf"(?<![^\W_]){_WORD}[ \t]*#?(?P<list>{_LABEL}"
    rf"(?:[ \t]*(?:[-–—+&,/、]|to\b|through\b|and\b)[ \t]*(?:phase[ \t]*)?{_LABEL})*)(?P<on>\+)?",
    re.IGNORECASE,
)
_PART = re.compile(rf"(?P<join>[-–—]|to\b|through\b)?[ \t]*(?:phase[ \t]*)?(?P<label>{_LABEL})", re.IGNORECASE)
_LAST = re.compile(r"\b(?:final|last)[ \t]+phase\b|\bphase[ \t]+N\b", re.IGNORECASE)
_ALL_STORIES = re.compile(
    r"\buser[ \t]+stor(?:y|ies)\b|\b(?:all|any|every|each)[ \t]+(?:\w+[ \t]+)?stor(?:y|ies)\b", re.IGNORECASE
)
_EVERYTHING = re.compile(
    r"\b(?:all|any)[ \t]+(?:other[ \t]+|previous[ \t]+|prior[ \t]+|earlier[ \t]+)?phases?\b", re.IGNORECASE
)
_ORDER = re.compile(r"depend|dépend|abhäng|завис|execution order|依存|依赖|依賴|의존|順序|顺序", re.IGNORECASE)

_NOTHING = re.compile(r"[\W_]*(?:no\b|none\b|nothing\b|n/a\b|なし|无|無|없음)", re.IGNORECASE)
_WAITS = re.compile(
    r"(?:\bdepend(?:s|ent)?[ \t]+on\b|\brequires?\b|\bneeds?\b|\bblocked[ \t]+by\b|\bafter\b)[ \t]+(?P<object>.+)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?P<subject>.{1,120}?)[ \t]+(?:must[ \t]+(?:be[ \t]+)?\w+[ \t]+)?"
    r"(?:before|blocks?|precedes?)[ \t]+(?P<object>.+)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"(?P<subject>[^:：]{1,120}?)[ \t]*[:：][ \t]*(?P<clause>.+)")
_CLAUSE_END = re.compile(r"[ \t]+[-–—][ \t]+|[;；。]|\.(?:[ \t]|$)")
_NAME = re.compile(r"[^\W\d_]{4,}")
_AND = re.compile(r"[ \t]*(?:[+&,/]|\band\b)[ \t]*")


@dataclass(frozen=True, eq=False)
class Phase:
    """A phase that holds tasks. `label` is its number as printed; None where a mere heading takes the place of one."""

    title: str
    label: str | None
    stories: frozenset[int]
    section: Section | None

    @property
    def word(self) -> str:
        """The first word of its name, by which prose calls it."""
        found = _NAME.search(_PHASE.sub("", self.title))
        return found[0].lower() if found else ""


def phases_of(tasks: Sequence[Task]) -> tuple[list[Phase], list[int]]:
    """The phases in the order of their tasks, and for each task the place of its own.

    A heading that says so is a phase, the outermost one above a task. Where none says so, the outermost headings by
    which tasks differ take their place.
    """
    if not tasks:
        return [], []
    shared = [section for section in tasks[0].path if all(section in task.path for task in tasks)]
    beyond = [[section for section in task.path if section not in shared] for task in tasks]
    named = any(_label(section) for sections in beyond for section in sections)
    alone = next((section for section in shared if _label(section) and section.depth > 1), None)
    places: dict[int, int] = {}
    sections: list[Section | None] = []
    of_task: list[int] = []
    for own in beyond:
        phase = next((section for section in own if _label(section)), None if named else alone)
        section = phase or next(iter(own), None)
        of_task.append(places.setdefault(id(section), len(places)))
        if len(places) > len(sections):
            sections.append(section)
    stories: list[set[int]] = [set(stories_in(section.title)) if section else set() for section in sections]
    for task, place in zip(tasks, of_task, strict=True):
        stories[place].update(task.stories or ())
    phases = [
        Phase(section.title if section else "", _label(section) if section else None, frozenset(numbers), section)
        for section, numbers in zip(sections, stories, strict=True)
    ]
    return phases, of_task


def _label(section: Section) -> str | None:
    found = _PHASE.search(section.title)
    return (found["label"] or found["east"]).lower() if found else None


def in_dependencies(path: Iterable[Section]) -> bool:
    """Whether a line stands under a heading on dependencies or order."""
    return any(_ORDER.search(section.title) for section in path)


def named_in(text: str, phases: Sequence[Phase]) -> list[int]:
    """The places of the phases that a text names: by number, by user story, all stories, or by the first word."""
    stories = [place for place, phase in enumerate(phases) if phase.stories]
    found = set(_numbered(text, phases))
    if _LAST.search(text):
        found.add(len(phases) - 1)
    if found and _ALL_STORIES.search(text) and found & set(stories):
        return sorted(found & set(stories))
    if found:
        return sorted(found)
    if numbers := set(stories_in(text)):
        return [place for place, phase in enumerate(phases) if numbers & phase.stories]
    if _ALL_STORIES.search(text):
        return stories
    if _EVERYTHING.search(text):
        return list(range(len(phases)))
    words = {word[0].lower() for part in _AND.split(text) if (word := _NAME.match(part.strip(" \t*_(")))}
    return [place for place, phase in enumerate(phases) if phase.word and phase.word in words]


def _numbered(text: str, phases: Sequence[Phase]) -> Iterator[int]:
    places: dict[str, int] = {}
    for place, phase in enumerate(phases):
        if phase.label is not None:
            places.setdefault(phase.label, place)
    for found in _PHASES.finditer(text):
        before: str | None = None
        for part in _PART.finditer(found["list"]):
            label = part["label"].lower()
            first = places.get(before) if part["join"] and before is not None else None
            last = places.get(label)
            if last is not None:
                yield from range(last if first is None else first, last + 1)
            before = label
        if found["on"] and before in places:
            yield from range(places[before], len(phases))


def awaited(plan: Outline, phases: Sequence[Phase], findings: Findings) -> list[list[int]]:
    """For each phase the places of those that it waits for: as the prose says, else the one before. Never a circle."""
    if len(phases) > _MOST:
        return [[place - 1] if place else [] for place in range(len(phases))]
    said = _said(plan, phases)
    found: list[set[int]] = [set() for _ in phases]
    for place, others in said.items():
        for other in sorted(others):
            if place in _reached(found, other):
                message = (
                    f"Phase {place + 1} is said to wait for phase {other + 1}, which waits for it; that was left out."
                )
                findings.add("info", "PLAN_ORDER", message)
            else:
                found[place].add(other)
    for place in range(1, len(phases)):
        if place not in said and place not in _reached(found, place - 1):
            found[place].add(place - 1)
    for earlier, later in _before(plan, phases):
        if later not in _reached(found, earlier) and earlier not in _reached(found, later):
            found[later].add(earlier)
    return [sorted(others, reverse=True) for others in found]


def _reached(found: Sequence[set[int]], place: int) -> set[int]:
    """A phase and all that it waits for."""
    reached: set[int] = set()
    open_places = [place]
    while open_places:
        if (other := open_places.pop()) not in reached:
            reached.add(other)
            open_places += found[other]
    return reached


def _said(plan: Outline, phases: Sequence[Phase]) -> Mapping[int, list[int]]:
    """What each phase is said to wait for; of several sayings the closest counts, and the first of equals."""
    found: dict[int, tuple[int, list[int]]] = {}

    def say(places: Iterable[int], others: Sequence[int], closeness: int) -> None:
        for place in places:
            waits = [other for other in others if other != place]
            if (waits or not others) and found.get(place, (-1, []))[0] < closeness:
                found[place] = closeness, waits

    for place, phase in enumerate(phases):
        for text in phase.section.waits if phase.section else ():
            others = named_in(_clause(text), phases)
            if others or _NOTHING.match(text):
                say([place], others, 3)
    for path, line in plan.prose:
        if in_dependencies(path) and (saying := _saying(line)):
            subject, what = saying
            for_what = [] if what is None else named_in(what, phases)
            if for_what or what is None:
                say(named_in(subject, phases), for_what, _closeness(subject))
    return {place: found[place][1] for place in sorted(found)}


def _saying(line: str) -> tuple[str, str | None] | None:
    """Who waits in a line of prose and for what; None in the second place where it says for nothing."""
    line = line.replace("*", "").replace("`", "").strip()
    if parts := _SUBJECT.fullmatch(line):
        if parts["subject"].lower().startswith(("after", "once")):
            return None
        if _NOTHING.match(parts["clause"]):
            return parts["subject"], None
        waits = _WAITS.search(parts["clause"])
        return (parts["subject"], _clause(waits["object"])) if waits else None
    waits = _WAITS.search(line)
    return (line[: waits.start()], _clause(waits["object"])) if waits and waits.start() else None


def _clause(text: str) -> str:
    return _CLAUSE_END.split(text, maxsplit=1)[0]


def _closeness(subject: str) -> int:
    numbered = _PHASES.search(subject)
    if numbered:
        return 1 if numbered["on"] else 3
    if stories_in(subject):
        return 2
    return 1 if _ALL_STORIES.search(subject) else 3


def _before(plan: Outline, phases: Sequence[Phase]) -> Iterator[tuple[int, int]]:
    """Pairs of phases of which prose says that the first comes before the second."""
    for path, line in plan.prose:
        text = line.replace("*", "").replace("`", "").strip()
        found = _BEFORE.match(text) if in_dependencies(path) else None
        if found:
            objects = named_in(_clause(found["object"]), phases)
            for earlier in named_in(found["subject"], phases):
                yield from ((earlier, later) for later in objects if later != earlier)

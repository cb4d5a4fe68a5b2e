"""The phases of a spec-kit `tasks.md`, and which of them wait for which by what its prose says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.stories import stories_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tasks.sources.findings import Findings
    from tasks.sources.plans.spec_kit.entries import Section
    from tasks.sources.plans.spec_kit.tasks import Outline, Task

_MOST = 100  # phases whose prose is read; beyond that each waits for the one before

_LONGEST = 600  # characters of a line in which it is looked for who waits for what

_LABEL = r"\d{1,4}(?:\.\d{1,4})*[a-z]?(?![\w.]\d|\w)"
_EAST = r"(?:フェーズ|フェイズ|阶段|階段|段階)"
_WORD = rf"(?:phases?|{_EAST}|단계|fas[ey]s?|faz[aęy]|étapes?|этап\w*|фаз[аыу]|etapas?|aşama|tahap|giai[ \t]+đoạn)"
_PHASE = re.compile(rf"(?<![^\W_]){_WORD}[ \t]*#?(?P<label>{_LABEL}|N\b|final\b)", re.IGNORECASE)
#: A phase counted as in the east: 第1阶段, 第一阶段, 阶段一.
_COUNTED = re.compile(
    rf"第[ \t]*(\d{{1,3}}|[一二三四五六七八九十]{{1,3}})[ \t]*个?{_EAST}|{_EAST}([一二三四五六七八九十]{{1,3}})"
)
_HAN = {number: str(value) for value, number in enumerate("一二三四五六七八九", 1)}
_PHASES = re.compile(
    rf"(?<![^\W_]){_WORD}[ \t]*#?(?P<list>{_LABEL}"
    rf"(?:[ \t]*(?:[-–—~〜～+&,/、]|to\b|through\b|and\b)[ \t]*(?:phase[ \t]*)?{_LABEL})*)(?P<on>\+)?",
    re.IGNORECASE,
)
_PART = re.compile(rf"(?P<join>[-–—~〜～]|to\b|through\b)?[ \t]*(?:phase[ \t]*)?(?P<label>{_LABEL})", re.IGNORECASE)
_LAST = re.compile(r"\b(?:final|last)[ \t]+phase\b|\bphase[ \t]+N\b", re.IGNORECASE)
_ALL_STORIES = re.compile(
    r"\buser[ \t]+stor(?:y|ies)\b|\b(?:all|any|every|each|desired|selected|planned)[ \t]+(?:\w+[ \t]+)?stor(?:y|ies)\b"
    r"|(?:所有|全部|全て|すべて|全)[^，,;；。\d]{0,8}(?:故事|ストーリー|stor(?:y|ies))|모든[^,;.\d]{0,8}스토리",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"\b(?:all|any)[ \t]+(?:other[ \t]+|previous[ \t]+|prior[ \t]+|earlier[ \t]+)?phases?\b", re.IGNORECASE
)
_ORDER = re.compile(r"depend|dépend|abhäng|завис|execution order|依存|依赖|依賴|의존|順序|顺序", re.IGNORECASE)

_NOTHING = re.compile(
    r"[\W_]*(?:no\b|none\b|nothing\b|n/a\b|(?:依存(?:関係)?)?なし|无|無|没有|不依[赖賴]|없음)", re.IGNORECASE
)
_WAITS = (
    re.compile(
        r"(?:\bdepend(?:s|ent)?[ \t]+on\b|\brequires?\b|\bneeds?\b|\bblocked[ \t]+by\b|\bafter\b"
        r"|\bd[eé]pend(?:e|en|ent)?[ \t]+de\b|\b(?:después|depois)[ \t]+de\b|\baprès\b|\babhängig[ \t]+von\b|\bnach\b"
        r"|\bzależ[yą][ \t]+od\b|\bwymaga(?:ją)?\b|\bзавис[ия]т[ \t]+от\b|\bпосле\b)[ \t]+(?P<object>.+)",
        re.IGNORECASE,
    ),
    re.compile(r"(?<!没有)(?<!沒有)(?<![不无無])依[赖賴][ \t]*(?P<object>.+)"),
    re.compile(r"(?P<object>[^;；。，,:：]{1,80}?)(?:[ \t]*(?:に|へ|への)(?:のみ)?[ \t]*依存|[ \t]*에[ \t]*의존)"),
    re.compile(
        r"(?P<object>[^;；。，,:：（(]{1,80}?(?:[（(][^()（）]*[)）])?)"
        r"[ \t]*(?:の?完了|完成|완료)?[ \t]*(?:之?[后後]|이?후)"
    ),
)
_BEFORE = re.compile(
    r"(?P<subject>.{1,120}?)[ \t]+(?:must[ \t]+(?:be[ \t]+)?\w+[ \t]+)?"
    r"(?:before|blocks?|precedes?)[ \t]+(?P<object>.+)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"(?P<subject>[^:：]{1,120}?)[ \t]*[:：][ \t]*(?P<clause>.+)")
_CLAUSE_END = re.compile(r"[ \t]+[-–—][ \t]+|[;；。，]|\.(?:[ \t]|$)")
_IN_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
_NAME = re.compile(r"[^\W\d_]{4,}")
_AND = re.compile(r"[ \t]*(?:[+&,/、和と]|\band\b)[ \t]*")
_TASK_FIRST = re.compile(r"[\W_]*(?:tasks?[ \t]+)?(?:T(?:ASK)?-?\d|\d+\.\d)", re.IGNORECASE)


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


def names_phase(section: Section) -> bool:
    """Whether a heading says that it is a phase."""
    return _label(section) is not None


def _label(section: Section) -> str | None:
    found = _PHASE.search(_arabic(section.title))
    return found["label"].lower() if found else None


def _arabic(text: str) -> str:
    """A text in which phases that are counted as in the east have their numbers behind a word."""
    return _COUNTED.sub(lambda found: f"Phase {_number(found[1] or found[2])} ", text)


def _number(text: str) -> str:
    """A number up to 99 in Chinese digits as the usual ones; others as they are."""
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return "".join(_HAN.get(digit, digit) for digit in text)
    return str(10 * int(_HAN.get(tens, "1")) + int(_HAN.get(ones, "0")))


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
    for found in _PHASES.finditer(_arabic(text)):
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


@dataclass(frozen=True)
class Gates:
    """What the tasks of a phase wait for: the places of phases, and of single tasks."""

    phases: Sequence[int]
    tasks: Sequence[int] = ()


def awaited(
    plan: Outline, phases: Sequence[Phase], places: Callable[[str], list[int]], findings: Findings
) -> list[Gates]:
    """For each phase what it waits for: as the prose says, else the phase before. Phases never wait in a circle.

    Args:
        plan: What was read.
        phases: Its phases.
        places: The places of the tasks that a text names.
        findings: Where a circle is said.
    """
    if len(phases) > _MOST:
        return [Gates([place - 1] if place else []) for place in range(len(phases))]
    said = _said(plan, phases, places)
    found: list[set[int]] = [set() for _ in phases]
    for place, gates in said.items():
        for other in sorted(gates.phases):
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
    return [
        Gates(sorted(others, reverse=True), said[place].tasks if place in said else ())
        for place, others in enumerate(found)
    ]


def _reached(found: Sequence[set[int]], place: int) -> set[int]:
    """A phase and all that it waits for."""
    reached: set[int] = set()
    open_places = [place]
    while open_places:
        if (other := open_places.pop()) not in reached:
            reached.add(other)
            open_places += found[other]
    return reached


def _said(plan: Outline, phases: Sequence[Phase], places: Callable[[str], list[int]]) -> Mapping[int, Gates]:
    """What each phase is said to wait for; of several sayings the closest counts, and the first of equals."""
    found: dict[int, tuple[int, Gates]] = {}

    def say(subjects: Iterable[int], gates: Gates, closeness: int) -> None:
        for place in subjects:
            waits = [other for other in gates.phases if other != place]
            if (waits or gates.tasks or not gates.phases) and found.get(place, (-1, gates))[0] < closeness:
                found[place] = closeness, Gates(waits, gates.tasks)

    for place, phase in enumerate(phases):
        for text in phase.section.waits if phase.section else ():
            gates = _gates(_clause(text), phases, places)
            if gates.phases or gates.tasks or _NOTHING.match(text):
                say([place], gates, 3)
    for path, line in plan.prose:
        if in_dependencies(path) and (saying := _saying(line)):
            subject, what = saying
            gates = Gates([]) if what is None else _gates(what, phases, places)
            if gates.phases or gates.tasks or what is None:
                say(named_in(subject, phases), gates, _closeness(subject))
    return {place: found[place][1] for place in sorted(found)}


def _gates(text: str, phases: Sequence[Phase], places: Callable[[str], list[int]]) -> Gates:
    """The phases and tasks that a text names; what stands in brackets counts only where nothing else does.

    Beside phases, tasks count only where they are listed with them.
    """
    for part in (_IN_BRACKETS.sub(" ", text), text):
        named = named_in(part, phases)
        pieces = [piece for piece in _AND.split(part) if _TASK_FIRST.match(piece)] if named else [part]
        tasks = [place for piece in pieces for place in places(piece)]
        if named or tasks:
            return Gates(named, list(dict.fromkeys(tasks)))
    return Gates([])


def _saying(line: str) -> tuple[str, str | None] | None:
    """Who waits in a line of prose and for what; None in the second place where it says for nothing."""
    line = " ".join(line.replace("*", "").replace("`", "").split())[:_LONGEST]
    if parts := _SUBJECT.fullmatch(line):
        if parts["subject"].lower().startswith(("after", "once")):
            return None
        if _NOTHING.match(parts["clause"]):
            return parts["subject"], None
        waits = next(filter(None, (pattern.search(parts["clause"]) for pattern in _WAITS)), None)
        return (parts["subject"], _clause(waits["object"])) if waits else None
    found = next(filter(None, (pattern.search(line) for pattern in _WAITS[:2])), None)
    return (line[: found.start()], _clause(found["object"])) if found and found.start() else None


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
        text = " ".join(line.replace("*", "").replace("`", "").split())[:_LONGEST]
        found = _BEFORE.match(text) if in_dependencies(path) else None
        if found:
            objects = named_in(_clause(found["object"]), phases)
            for earlier in named_in(found["subject"], phases):
                yield from ((earlier, later) for later in objects if later != earlier)

"""What a plan says in words of the order of its tasks: in their own texts, in headings and in prose."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from tasks.sources.plans.spec_kit.phases import in_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasks.sources.findings import Findings
    from tasks.sources.plans.spec_kit.ids import Ids
    from tasks.sources.plans.spec_kit.tasks import Outline, Task

_MOST_RELATIONS = 50  # that are looked for in one statement
_MOST_PAIRS = 200_000  # of tasks that prose, or the texts of tasks, may put in order

_ARROW = re.compile(r"(?:-{1,3}>|={1,2}>|[→⇒➔➡⟶]|(?P<left><-{1,3}(?!>)|<={1,2}(?!>)|[←⇐⟵]))\ufe0f?")
_SIDE_BY_SIDE = re.compile(r"[ \t]/[ \t]")
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
_DONE_THEN = re.compile(r"の?(?:完了|完成)(?:之?[后後])")
_OF = re.compile(r"は|在|于|[:：]")


def said_by_tasks(tasks: Sequence[Task], ids: Ids) -> list[tuple[int, int]]:
    """Pairs of tasks of which the second says in its own text that it comes after the first."""
    pairs: list[tuple[int, int]] = []
    for place, task in enumerate(tasks):
        for text in (task.text, task.body):
            for own in ids.own.finditer(text):
                if len(pairs) < _MOST_PAIRS:
                    pairs += [(other, place) for other in ids.places(own["ids"])]
    return pairs


def said_in_prose(plan: Outline, ids: Ids, findings: Findings) -> list[tuple[int, int]]:
    """Pairs of tasks of which the plan says in words that the first comes before the second, the nearest first."""
    pairs: list[tuple[int, int]] = []
    for place, task in enumerate(plan.tasks):
        titles = [found for section in task.path[1:] if (found := ids.own.search(section.title))]
        pairs += [(other, place) for title in titles for other in reversed(ids.places(title["ids"]))]
    lines = [line for _, line in plan.prose] + [line for path, line in plan.code if in_dependencies(path)]
    for line in lines:
        if not ids.any_in(line):
            continue
        for statement in _STATEMENT_END.split(" ".join(line.replace("*", "").replace("`", "").split())):
            for earlier, later in _relations(statement, ids):
                if len(pairs) + len(earlier) * len(later) > _MOST_PAIRS:
                    findings.add("info", "PLAN_ORDER", "Its prose orders too many tasks; the rest of it was not read.")
                    return pairs
                pairs += [(one, other) for other in later for one in reversed(earlier) if one != other]
    return pairs


def _relations(statement: str, ids: Ids) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The tasks that come before, and those that come after, by each relation in a statement."""
    arrows = list(_ARROW.finditer(statement))
    if arrows:
        yield from _along(statement, arrows, ids)
        return
    if (done := _DONE_THEN.search(statement)) and (found := _after_done(statement, done, ids)):
        yield found
        return
    relations = list(islice(_RELATION.finditer(statement), _MOST_RELATIONS))
    if not relations:
        return
    respectively = "respectively" in statement.lower()
    subject = ids.places(statement[: relations[0].start()])
    ends = [relation.start() for relation in relations[1:]] + [len(statement)]
    for relation, end in zip(relations, ends, strict=True):
        text = _END.split(statement[relation.end() : end], maxsplit=1)[0]
        finished = _FINISHED.search(text)
        others = ids.places(text[: finished.start()] if finished else text)
        if not subject and finished and relation["after"]:
            subject = ids.places(text[finished.end() :])
        yield from _pairs(subject, others, relation["before"] is not None, respectively)


def _along(statement: str, arrows: Sequence[re.Match[str]], ids: Ids) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The tasks on the two sides of each arrow. Statements with arrows may stand side by side, with slashes between."""
    parts = _SIDE_BY_SIDE.split(statement)
    if len(parts) > 1 and all(map(_ARROW.search, parts)):
        for part in parts:
            yield from _along(part, list(_ARROW.finditer(part)), ids)
        return
    starts = [0, *(arrow.end() for arrow in arrows)]
    ends = [*(arrow.start() for arrow in arrows), len(statement)]
    sides = [ids.places(statement[start:end]) for start, end in zip(starts, ends, strict=True)]
    for arrow, (one, other) in zip(arrows, pairwise(sides), strict=True):
        yield (other, one) if arrow["left"] else (one, other)


def _after_done(statement: str, done: re.Match[str], ids: Ids) -> tuple[Sequence[int], Sequence[int]] | None:
    """The tasks in «B comes when A is done» as Japanese and Chinese have it: «B は A 完了後», «A 完成后 B»."""
    before = statement[: done.start()]
    particle = max((found.end() for found in _OF.finditer(before)), default=0)
    earlier = ids.places(before[particle:])
    later = ids.places(before[:particle]) if particle else ids.places(statement[done.end() :])
    return (earlier, later) if earlier and later else None


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

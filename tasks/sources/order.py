"""What follows from who depends on whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.reach import components

Dependencies = Mapping[str, Sequence[str]]


def depths(dependencies: Dependencies, given: Mapping[str, int]) -> dict[str, int]:
    """A level for each task: as given, else one more than the highest level of what it depends on, from 1.

    A dependency that closes a circle is passed over. Linear in the number of dependencies.
    """
    found = dict(given)
    opened: set[str] = set()
    for start in dependencies:
        stack = [start]
        while stack:
            name = stack[-1]
            if name in found:
                stack.pop()
                continue
            waiting = [other for other in dependencies[name] if other not in found and other not in opened]
            if name not in opened and waiting:
                opened.add(name)
                stack += waiting
                continue
            opened.add(name)
            found[name] = 1 + max((found[other] for other in dependencies[name] if other in found), default=0)
            stack.pop()
    return found


def circular(dependencies: Dependencies) -> list[list[str]]:
    """The groups of tasks that depend on each other in a circle, each in the plan's order."""
    groups = [set(names) for names in components(dependencies) if len(names) > 1]
    return sorted([name for name in dependencies if name in names] for names in groups)

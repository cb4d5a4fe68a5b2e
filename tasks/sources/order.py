"""What follows from who depends on whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    """The groups of tasks that depend on each other in a circle, each in the plan's order. Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    group: list[str] = []
    inside: set[str] = set()
    groups: list[set[str]] = []
    for start in dependencies:
        if start in index:
            continue
        stack = [(start, iter(dependencies[start]))]
        index[start] = lowest[start] = len(index)
        group.append(start)
        inside.add(start)
        while stack:
            name, others = stack[-1]
            fresh = next((other for other in others if other not in index or other in inside), None)
            if fresh is None:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[name])
                if lowest[name] == index[name]:
                    place = group.index(name)
                    groups.append(set(group[place:]))
                    inside.difference_update(group[place:])
                    del group[place:]
            elif fresh in index:
                lowest[name] = min(lowest[name], index[fresh])
            else:
                index[fresh] = lowest[fresh] = len(index)
                group.append(fresh)
                inside.add(fresh)
                stack.append((fresh, iter(dependencies[fresh])))
    return sorted([name for name in dependencies if name in names] for names in groups if len(names) > 1)

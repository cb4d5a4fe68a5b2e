"""The documents that lie beside a plan, by their names alone. No folder is looked into behind a link that leads out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tasks.regular import is_folder
from tasks.sources.plans.plan import Companion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tasks.sources.plans.plan import Role


def listed(folder: Path) -> list[Path]:
    """What lies in a folder, sorted; nothing where it is none or may not be read."""
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


def leads_out(path: Path, inside: Path) -> bool:
    """Whether a path lies outside of a folder once links are followed."""
    try:
        return not path.resolve().is_relative_to(inside.resolve())
    except (OSError, RuntimeError, ValueError):
        return True


def documents(
    role: Role, folder: Path, inside: Path, wanted: Callable[[Path], bool], *, deep: bool = False
) -> list[Companion]:
    """The documents of a folder by name, `deep` also those of the folders right in there; hidden ones are none.

    Whatever is no folder counts, be it a pipe or a broken link: who reads it says so. A folder behind a link that leads
    out of `inside` stands for all that it holds.
    """
    if leads_out(folder, inside):
        return [Companion(role, folder, inside)]
    found: list[Companion] = []
    for path in listed(folder):
        if path.name.startswith("."):
            continue
        if is_folder(path):
            found += documents(role, path, inside, wanted) if deep else []
        elif wanted(path):
            found.append(Companion(role, path, inside))
    return found


def at_most(most: int, found: Sequence[Companion], folder: Path) -> list[Companion]:
    """The first documents, and how many more there are, said of the folder."""
    kept = list(found[:most])
    return kept if len(found) <= most else [*kept, replace(found[0], path=folder, left_out=len(found) - most)]

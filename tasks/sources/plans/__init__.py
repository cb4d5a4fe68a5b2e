"""Plans as people have them. Each module with a `FORMAT` reads those of one tool; a new format is one new module."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from tasks.sources.plans.plan import PlanFormat
from tasks.sources.values import UnreadableJsonError, parse_json

if TYPE_CHECKING:
    from pathlib import Path

#: The format of a plan that no other recognises: what is wrong with it is said in the words of a task graph.
DEFAULT = "zerg"


@cache
def formats() -> dict[str, PlanFormat]:
    """All formats by name."""
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.FORMAT for module in modules if isinstance(getattr(module, "FORMAT", None), PlanFormat)]
    return {plan.name: plan for plan in sorted(found, key=lambda plan: plan.name)}


def default_format() -> PlanFormat:
    """The format of a plan that no other recognises, loaded without them."""
    plan: PlanFormat = import_module(f"{__name__}.{DEFAULT}").FORMAT
    return plan


def recognised(text: str) -> PlanFormat | None:
    """The format whose plan a text is; None where none knows it."""
    try:
        document: object = parse_json(text)
    except UnreadableJsonError:
        document = None
    default = default_format()
    if default.certain(document):  # the others need not even be loaded
        return default
    others = [plan for name, plan in formats().items() if name != DEFAULT]
    return next((plan for plan in (*others, default) if plan.recognises(text, document)), None)


def named_so(path: Path) -> PlanFormat | None:
    """The format that a file has by its name, whatever it holds: what is wrong with it is said in that tool's words."""
    return next((plan for plan in formats().values() if plan.named(path)), None)


def found_in(folder: Path, only: PlanFormat | None = None) -> list[Path]:
    """The plans that a folder means by some tool's layout; of one format, where that is given.

    A project in which several tools keep plans means those of all.
    """
    return [path for plan in ([only] if only else formats().values()) for path in _found(plan, folder)]


def _found(plan: PlanFormat, folder: Path) -> list[Path]:
    try:
        return list(plan.find(folder))
    except OSError:  # a folder that may not be looked into
        return []

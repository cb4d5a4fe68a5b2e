"""People's own sources of candidates: installed packages with an entry point in the group `prebrief.sources`.

A plugin is an object, or a class or function without arguments that makes one, with a `name` and a method `load`. It
runs only where the settings name it (`[sources] plugins`), in this process and with this process's rights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tasks.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from tasks.settings import Settings
    from tasks.sources.inputs import Request

GROUP = "prebrief.sources"

#: The sources that are prebrief's own; no plugin may pass its items off as theirs.
RESERVED = frozenset({"brief", "calls", "commands", "history", "plan", "rules", "spec", "specs", "tools"})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@runtime_checkable
class SourcePlugin(Protocol):
    """What an entry point gives."""

    name: str

    def load(self, request: Request) -> tuple[pl.DataFrame | Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]]:
        """Items and findings for what was asked for; the paths of the request count from its `cwd`.

        The same inputs must give the same rows in the same order: a build's identity covers what was returned.

        Returns:
            Items, as a frame or as rows, and findings as rows of `severity` (info, warning, error), `code`, `where`,
            `message`. An item has `text`, `kind` and `section` (any but `brief`), and may have

            - `item_id`: unique within the plugin; without one it is named after its content,
            - `parent_id`: the plugin's own item that makes this one readable,
            - `graph`, `task_id`: whom it is for; without them it is for all,
            - `sensitivity`: public where it is null, restricted where it is no known label,
            - `tags`, `path`, `media_type`: what they are in the items of a build.
        """
        ...


@dataclass(frozen=True)
class Found:
    """A plugin that the settings ask for: where it comes from, or `trouble` in one sentence where it is not there."""

    name: str
    entry: EntryPoint | None
    trouble: str = ""

    @property
    def distribution(self) -> str:
        """The package that brings it, as `name==version`; empty where that is unknown."""
        dist = self.entry.dist if self.entry is not None else None
        return f"{dist.name}=={dist.version}" if dist is not None else ""

    def make(self) -> SourcePlugin:
        """The plugin itself; importing it runs its package's code.

        Raises:
            PluginError: it is not installed, or is no source plugin. Whatever the package raises is passed on.
        """
        if self.entry is None:
            raise PluginError(self.trouble)
        made = self.entry.load()
        if isinstance(made, type) or (callable(made) and not hasattr(made, "load")):
            made = made()
        if not callable(getattr(made, "load", None)):
            raise PluginError(f"{self.entry.value} has no method load; see the protocol SourcePlugin.")
        if getattr(made, "name", None) != self.name:
            raise PluginError(f"{self.entry.value} does not call itself {self.name}, as its entry point does.")
        return made  # type: ignore[no-any-return]


def find_plugins(settings: Settings) -> list[Found]:
    """The plugins that the settings ask for, by name; nothing of them is imported. Of one name the first package's."""
    wanted = settings.sources.plugins
    if wanted is False:
        return []
    installed: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        installed.setdefault(entry.name, []).append(entry)
    names = sorted(installed) if wanted is True else sorted(set(wanted))
    return [_found(name, sorted(installed.get(name, ()), key=_order)) for name in names]


def plugin_versions(settings: Settings) -> dict[str, str]:
    """The version of each package whose plugins the settings ask for."""
    pairs = (found.distribution.partition("==") for found in find_plugins(settings) if found.distribution)
    return {f"plugin:{name}": version for name, _, version in pairs}


def _order(entry: EntryPoint) -> tuple[str, str]:
    return (entry.dist.name if entry.dist is not None else "", entry.value)


def _found(name: str, entries: list[EntryPoint]) -> Found:
    if not entries:
        return Found(name, None, f"no installed package has it as an entry point of {GROUP}.")
    if not _NAME.fullmatch(name):
        return Found(name, None, "its name is not made of up to 64 letters, digits, dots, hyphens and underscores.")
    if name.lower() in RESERVED:
        return Found(name, None, "its name is that of a source of prebrief's own.")
    others = sorted({_order(entry)[0] for entry in entries[1:]} - {_order(entries[0])[0]})
    trouble = f"{', '.join(others)} bring a plugin of this name too; that was not used." if others else ""
    return Found(name, entries[0], trouble)

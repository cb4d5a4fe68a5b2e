"""The context plugin of ZERG: serves each task's context from the newest build, and builds where there is none.

ZERG finds it by the entry-point group `zerg.plugins`, makes one, and calls it once a task. Nothing of ZERG is imported;
heavy imports wait until the first call.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sys
from abc import ABCMeta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.errors import BuildMissingError, PrebriefError
from tasks.regular import read_regular
from tasks.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasks.outputs.reader import BuildFolder
    from tasks.settings import Settings

#: Where builds lie; `builds` in the working folder by default.
OUT_VARIABLE = "PREBRIEF_OUT"

_GRAPH_VARIABLE = "ZERG_TASK_GRAPH"
_ZERG_PLUGINS = "zerg.plugins"  # the module that holds the class which ZERG asks its context plugins to be of
_LOG = logging.getLogger(__name__)


class PrebriefContext:
    """Gives ZERG the context that a task starts with.

    Args:
        out: Folder of builds; None takes `PREBRIEF_OUT`, else `builds` in the working folder.
        fallback_to_full: Whether a failure gives an empty context, on which ZERG uses its own full one; None takes
            the setting `policy.fallback_to_full`.
    """

    def __init__(self, out: Path | None = None, *, fallback_to_full: bool | None = None) -> None:
        _pass_for_context_plugin(type(self))
        self._out = out
        self._fallback = fallback_to_full
        self._builds: dict[str, BuildFolder] = {}

    @property
    def name(self) -> str:
        """The name under which ZERG lists it."""
        return "prebrief"

    def build_task_context(self, task: Any, task_graph: Any, feature: Any) -> str:  # noqa: ANN401 - it may be anything
        """The context of a task: from the newest build, from a new one where there is none or the graph has changed.

        A graph's `context` values do not count as a change, since ZERG sets them one by one.

        Raises:
            PrebriefError: it cannot be built or found, and `fallback_to_full` is off; other errors likewise.
        """
        try:
            return self._context(task, task_graph, feature)
        except Exception as error:
            if not self._falls_back():
                raise
            _LOG.warning("no context was built (%s: %s)", type(error).__name__, error)
            return ""

    def estimate_context_tokens(self, task: Any) -> int:  # noqa: ANN401
        """Tokens of the task's context in the newest build, the largest where several graphs have its id.

        Without one, the budget that it would get. Never raises.
        """
        from tasks.settings import PHASE_BUDGETS

        budget = PHASE_BUDGETS["interpret"]
        try:
            budget = _settings().budget_of()
            tasks = self._newest().tasks
            own = tasks.filter(tasks["task_id"] == _task_id(task, None))["prompt_tokens"].drop_nulls()
            return int(own.max() or budget)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - an estimate never stands in the way
            _LOG.debug("no build has this task", exc_info=True)
            return budget

    # ---- steps ----

    def _context(self, task: Any, task_graph: Any, feature: Any) -> str:  # noqa: ANN401
        from tasks.outputs.zerg import zerg_context

        if not isinstance(task_graph, dict):
            raise BuildMissingError("the task graph is no object, so no build can be found for it.")
        known = _fingerprint(task_graph)
        if known not in self._builds:
            self._builds = {known: self._found(task_graph) or self._built(task_graph)}
        folder = self._builds[known]
        name = _task_id(task, task_graph)
        rows = [row for row in folder.tasks.to_dicts() if row["task_id"] == name]
        named = [row for row in rows if _is_called(row["graph"], feature, task_graph)]
        if len(named) != 1:
            raise BuildMissingError(f"build {folder.root.name} has {len(named)} tasks {name!r}; see: prebrief show")
        context = zerg_context(folder, named[0])
        if context is None:
            raise BuildMissingError(f"{named[0]['graph']}/{name} has no prompt; run: prebrief why {name}")
        return context

    def _newest(self) -> BuildFolder:
        from tasks.outputs.reader import BuildFolder, find_build

        return BuildFolder(find_build(self._place()))

    def _place(self) -> Path | str:
        return self._out or os.environ.get(OUT_VARIABLE) or "builds"

    def _found(self, task_graph: dict[str, Any]) -> BuildFolder | None:
        """The newest build, where one of its inputs still lies there and is this graph."""
        try:
            folder = self._newest()
            inputs = folder.manifest["inputs"]
        except (BuildMissingError, KeyError):
            return None
        digests = {row["path"]: row["sha256"] for row in inputs}
        for path in (*_usual_places(task_graph), *map(Path, digests)):
            data = _bytes(path)
            known = data is not None and hashlib.sha256(data).hexdigest() in digests.values()
            if known and _is_graph(data, task_graph):
                return folder
        return None

    def _built(self, task_graph: dict[str, Any]) -> BuildFolder:
        """A new build of this graph: of the file that holds it, else of a copy that is gone afterwards."""
        from tasks.building import build
        from tasks.outputs.reader import BuildFolder
        from tasks.sources.inputs import Request

        settings, out = _settings(), self._place()
        for path in _usual_places(task_graph):
            data = _bytes(path)
            if _is_graph(data, task_graph):
                return BuildFolder(build(Request(graphs=(path,)), settings, out).path.resolve())
        folder = scratch_folder("plan")
        try:
            path = folder / "task-graph.json"
            path.write_text(json.dumps(task_graph, ensure_ascii=False), "utf-8", "surrogatepass")
            return BuildFolder(build(Request(graphs=(path,)), settings, out).path.resolve())
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _falls_back(self) -> bool:
        if self._fallback is not None:
            return self._fallback
        try:
            return _settings().policy.fallback_to_full
        except PrebriefError:
            return True


def _pass_for_context_plugin(own: type) -> None:
    """Makes a class one of ZERG's context plugins, where ZERG is loaded.

    ZERG takes in only instances of its abstract class. Whoever makes an instance to be asked so has that class already,
    whichever of the two modules was imported first.
    """
    known = getattr(sys.modules.get(_ZERG_PLUGINS), "ContextPlugin", None)
    if isinstance(known, ABCMeta):
        known.register(own)


def _settings() -> Settings:
    from tasks.settings import find_settings_file, load_settings

    return load_settings(find_settings_file(None))


def _usual_places(task_graph: dict[str, Any]) -> Iterator[Path]:
    """Where ZERG itself looks for the graph."""
    if named := os.environ.get(_GRAPH_VARIABLE):
        yield Path(named)
    feature = task_graph.get("feature")
    if isinstance(feature, str) and feature and "/" not in feature and "\0" not in feature:
        yield Path(".gsd", "specs", feature, "task-graph.json")


def _bytes(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except OSError:
        return None


def _is_graph(data: bytes | None, task_graph: dict[str, Any]) -> bool:
    try:
        return data is not None and _fingerprint(json.loads(data)) == _fingerprint(task_graph)
    except (ValueError, RecursionError):
        return False


def _fingerprint(graph: object) -> str:
    """The hash of what a graph says, its tasks' contexts aside."""
    if isinstance(graph, dict) and isinstance(graph.get("tasks"), list):
        tasks = [
            {name: value for name, value in task.items() if name != "context"} if isinstance(task, dict) else task
            for task in graph["tasks"]
        ]
        graph = {**graph, "tasks": tasks}
    return hashlib.sha256(json.dumps(graph, sort_keys=True, default=str).encode()).hexdigest()


def _task_id(task: object, task_graph: dict[str, Any] | None) -> str:
    """The id of a task as a build has it: its own on one line, else the one after its place in the graph."""
    from tasks.text import one_line

    given = task if isinstance(task, dict) else {}
    for value in (given.get("id"), given.get("task_id")):
        if isinstance(value, str | int) and not isinstance(value, bool) and (name := one_line(str(value))):
            return name
    tasks = task_graph.get("tasks") if task_graph is not None else None
    for place, other in enumerate(tasks if isinstance(tasks, list) else (), 1):
        if other is task:
            return f"task-{place}"
    raise BuildMissingError("the task has no id, so no context can be found for it.")


def _is_called(graph: str, feature: object, task_graph: dict[str, Any]) -> bool:
    """Whether a graph of a build is the one of this feature; `feature@hash` where several graphs share one."""
    names = [name for name in (task_graph.get("feature"), feature) if isinstance(name, str) and name.strip()]
    return not names or any(graph == name or graph.startswith(f"{name}@") for name in names)

"""Builds from Python: `ContextBuilder` for scripts and for programs that have an event loop of their own.

One synchronous body does the work, whichever way it is entered; the async entry points wait for it in a thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import polars as pl

from tasks.building import Built, build
from tasks.errors import (
    ArtifactDamagedError,
    BuildMissingError,
    InputError,
    PrebriefError,
    ReentrantBuildError,
    StoreError,
)
from tasks.outputs.reader import BuildFolder
from tasks.recovery import guarded
from tasks.settings import load_settings
from tasks.sources.inputs import Request
from tasks.stores.bridge import BridgedStore
from tasks.stores.protocols import is_async
from tasks.waiting import waits_for_this_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tasks.batch import Batch
    from tasks.pipeline import Call, Stage
    from tasks.recovery import Broken
    from tasks.settings import Settings
    from tasks.stores.protocols import ArtifactStore, AsyncArtifactStore

T = TypeVar("T")
AnyPath = str | PathLike[str]
#: What a build starts from: everything that is asked for, or its graphs.
Graphs = Request | AnyPath | tuple[AnyPath, ...] | list[AnyPath]

_PATIENCE = 0.2  # seconds between looks at what the running build waits for

#: The running builds that the current code was called from. Tasks and `asyncio.to_thread` inherit it.
_INSIDE: contextvars.ContextVar[tuple[object, ...]] = contextvars.ContextVar("prebrief_inside", default=())

__all__ = ["Built", "ContextBuilder", "Hooks", "Request"]


class Hooks(Protocol):
    """What a program is told while a build runs, in the thread that runs it. Inherit, and override what you need.

    An error in a hook ends the build, which then leaves nothing behind. A hook may start builds of other builders; one
    of its own builder is a `ReentrantBuildError`.
    """

    def on_stage(self, name: str, counts: dict[str, int]) -> None:
        """A stage is done: `shard`, and its `tasks`, `candidates` still in, and `broken` tasks."""

    def on_built(self, path: Path) -> None:
        """A build is complete: made, or found to be there already. Its artifacts are in the store."""


class ContextBuilder:
    """Builds contexts; may be kept, shared by threads and used from any event loop.

    Builds of one builder run one after the other. Those of several builders exclude each other only while they move
    their folders into place, so that they may share `out` and a store.

    Args:
        settings: all settings; by default `PREBRIEF_*` and the defaults.
        out: where builds go.
        store: where raw tool results go too, under `<build id>/artifact:<item id>`. A build folder is complete without.
        hooks: told how a build goes.
        store_timeout: seconds that one operation of an async store may take.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        out: AnyPath = "builds",
        store: ArtifactStore | AsyncArtifactStore | None = None,
        hooks: Hooks | None = None,
        *,
        store_timeout: float = 60.0,
    ) -> None:
        self.settings = settings if settings is not None else load_settings()
        self.out = Path(out)
        self._store: Any = BridgedStore(store, store_timeout) if store is not None and is_async(store) else store
        self._hooks = hooks
        self._lock = threading.Lock()
        self._running: _Running | None = None
        # One thread: async builds wait in a queue of their own and take no thread from the loop's executor. It ends
        # when the executor is collected.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="prebrief-build")

    # ---- entries ----

    def build_sync(self, graphs: Graphs, **inputs: AnyPath | Iterable[AnyPath] | None) -> Built:
        """Builds every task of the graphs, or finds the complete build of the same inputs and settings.

        Args:
            graphs: task graphs, or a whole `Request`.
            inputs: what a `Request` has besides: `specs`, `rules`, `history`, `commands`, `tools`, `cwd`.

        Raises:
            InputError: there is no readable graph, or no such input.
            OutputError: the folder cannot be written.
            ReentrantBuildError: a hook of a running build of this builder started it.
            StageError: tasks broke a stage and may not fall back.
            StoreError: the store refuses an artifact; the build folder is complete all the same.
        """
        request = request_of(graphs, inputs)
        with self._exclusively():
            return self._body(request)

    async def build(self, graphs: Graphs, **inputs: AnyPath | Iterable[AnyPath] | None) -> Built:
        """`build_sync` in a thread, so that the loop stays free. Cancelled, a build that has begun is finished."""
        request = request_of(graphs, inputs)
        return await self._in_worker(lambda: self.build_sync(request))

    def build_call_prompt_sync(
        self, task: str, tool: str, graphs: Graphs, **inputs: AnyPath | Iterable[AnyPath] | None
    ) -> dict[str, Any]:
        """The prompt of a task for a call of a tool: its row of `calls.parquet`; the build is made where there is none.

        Args:
            task: its id, or `graph/id` where graphs share it.
            tool: a tool that the task names and the catalogue has.
            graphs: as in `build_sync`.
            inputs: the same; `tools` is the catalogue.

        Raises:
            BuildMissingError: there is no such task, or it does not call that tool.
            PrebriefError: as `build_sync`.
        """
        request = request_of(graphs, inputs)
        if request.tools is None:
            raise InputError("a call prompt needs a catalogue of tools; give the path of a tools/list JSON as tools.")
        built = self.build_sync(request)
        return BuildFolder(built.path).call(task, tool)

    async def build_call_prompt(
        self, task: str, tool: str, graphs: Graphs, **inputs: AnyPath | Iterable[AnyPath] | None
    ) -> dict[str, Any]:
        """`build_call_prompt_sync` in a thread, so that the loop stays free."""
        request = request_of(graphs, inputs)
        return await self._in_worker(lambda: self.build_call_prompt_sync(task, tool, request))

    # ---- the body ----

    def _body(self, request: Request) -> Built:
        built = build(request, self.settings, self.out, call=self._observed(guarded))
        if self._store is not None:
            keep_artifacts(BuildFolder(built.path), self._store)
        if self._hooks is not None:
            self._hooks.on_built(built.path)
        return built

    def _observed(self, call: Call) -> Call:
        hooks = self._hooks
        if hooks is None:
            return call

        def observed(stage: Stage, batch: Batch, settings: Settings, shard: int) -> tuple[Batch, Broken]:
            after, broken = call(stage, batch, settings, shard)
            name = stage.__name__
            alive = after.stages.filter(pl.col("stage").cast(pl.String) == name)["candidates_out"].sum()
            counts = {"shard": shard, "tasks": len(after.tasks), "candidates": int(alive), "broken": len(broken)}
            hooks.on_stage(name, counts)
            return after, broken

        return observed

    # ---- one at a time ----

    async def _in_worker(self, work: Callable[[], T]) -> T:
        self._refuse_reentry()  # here, too: the one worker may be the thread that waits for this
        context = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(self._worker, lambda: context.run(work))
        try:
            while not (await asyncio.wait({future}, timeout=_PATIENCE))[0]:
                self._refuse_deadlock()
        except BaseException:
            future.cancel()  # a build that is still in the queue never begins
            raise
        return future.result()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Holds the builder's lock.

        Raises:
            ReentrantBuildError: the build that holds it waits for this one.
        """
        self._refuse_reentry()
        while not self._lock.acquire(timeout=_PATIENCE):
            self._refuse_deadlock()
        running = _Running()
        token = _INSIDE.set((*_INSIDE.get(), running))
        self._running = running
        try:
            yield
        finally:
            self._running = None
            _INSIDE.reset(token)
            self._lock.release()

    def _refuse_reentry(self) -> None:
        running = self._running
        if running is not None and (running.thread == threading.get_ident() or running in _INSIDE.get()):
            raise _reentrant()

    def _refuse_deadlock(self) -> None:
        running = self._running
        if running is not None and waits_for_this_thread(running.thread):
            raise _reentrant()


class _Running:
    """A build while it runs, and the thread it runs in."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


def _reentrant() -> ReentrantBuildError:
    return ReentrantBuildError(
        "a hook started a build of the very builder that it was called from, which would wait for itself; use another "
        "ContextBuilder in hooks, or start the build when this one is done."
    )


# ---- what goes in -----------------------------------------------------------------------------------------------


def request_of(graphs: Graphs, inputs: dict[str, Any]) -> Request:
    """What is asked for, from paths in any form.

    Raises:
        InputError: there is no such input, or a whole `Request` came with further ones.
    """
    known = {field.name for field in fields(Request)} - {"graphs"}
    if unknown := sorted(inputs.keys() - known):
        raise InputError(f"a build has no input {unknown[0]!r}; there are {', '.join(sorted(known))}.")
    if isinstance(graphs, Request):
        if inputs:
            raise InputError(f"a whole Request came with {min(inputs)!r} beside it; put that into the Request.")
        return graphs
    named: dict[str, Any] = {name: _paths(value) for name, value in inputs.items() if value is not None}
    listed = (graphs,) if isinstance(graphs, (str, PathLike)) else graphs
    return Request(graphs=tuple(map(Path, listed)), **named)


def _paths(value: AnyPath | Iterable[AnyPath]) -> Path | tuple[Path, ...]:
    return Path(value) if isinstance(value, (str, PathLike)) else tuple(map(Path, value))


# ---- what is kept beside ----------------------------------------------------------------------------------------


def keep_artifacts(folder: BuildFolder, store: ArtifactStore) -> None:
    """Puts a build's artifacts into a store, under `<build id>/<handle>`: equal item ids of two builds do not meet.

    Again for the same build it changes nothing. Holds one artifact in memory.

    Raises:
        ArtifactDamagedError: the store's hash is not the build's.
        BuildMissingError: an artifact of the build is gone.
        StoreError: the store refuses.
    """
    for handle, sha256 in folder.artifacts.select("handle", "sha256").sort("handle").iter_rows():
        name = f"{folder.root.name}/{handle}"
        path = folder.root / "artifacts" / sha256
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BuildMissingError(f"{path} is missing; run: prebrief audit {folder.root}") from error
        try:
            said = store.put(name, data)
        except PrebriefError:
            raise
        except Exception as error:  # a store of one's own may raise anything
            raise StoreError(f"the store did not take {name!r} ({type(error).__name__}); check the store.") from error
        if said != sha256:
            raise ArtifactDamagedError(
                f"the store says {name!r} has SHA-256 {said!r}, the build {sha256}; check the store."
            )

"""Builds from Python: `ContextBuilder` for scripts and for programs that have an event loop of their own.

One synchronous body does the work, whichever way it is entered; the async entry points wait for it in a thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tasks.accounting import alive_counts
from tasks.building import Built, build
from tasks.errors import (
    ArtifactDamagedError,
    BuildMissingError,
    InputError,
    PrebriefError,
    ReentrantBuildError,
    SettingsError,
    StoreError,
)
from tasks.outputs.places import as_place
from tasks.outputs.reader import BuildFolder
from tasks.recovery import guarded
from tasks.regular import read_regular
from tasks.settings import Settings, load_settings
from tasks.sources.inputs import Request
from tasks.stores.bridge import BridgedStore
from tasks.stores.protocols import checked_store, is_async
from tasks.waiting import Wait, awaited_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tasks.batch import Batch
    from tasks.pipeline import Call, Stage
    from tasks.recovery import Broken
    from tasks.stores.protocols import ArtifactStore, AsyncArtifactStore

T = TypeVar("T")
AnyPath = str | PathLike[str]
#: What a build starts from: everything that is asked for, or its graphs.
Graphs = Request | AnyPath | tuple[AnyPath, ...] | list[AnyPath]

_SEVERAL = ("graphs", "history")  # the inputs that may be several paths

_PATIENCE = 0.2  # seconds between looks at what the running build waits for
_LONGEST_DOUBT = 5.0  # seconds that a hook may stand still while a build that it may have started waits

#: The running builds that the current code was called from. Tasks and `asyncio.to_thread` inherit it.
_INSIDE: contextvars.ContextVar[tuple[object, ...]] = contextvars.ContextVar("prebrief_inside", default=())

__all__ = ["Built", "ContextBuilder", "Hooks", "Request"]


class Hooks(Protocol):
    """What a program is told while a build runs, in the thread that runs it. Inherit, and override what you need.

    An error in a hook ends the build, which then leaves nothing behind. A hook may start builds of other builders. One
    of its own builder can only begin when the hook is done; where the hook waits for it, that build is a
    `ReentrantBuildError` instead:

    - at once where the hook calls it, and within a second where the hook waits for it through threads that it joins,
      futures of thread pools, event loops that it runs, or a coroutine that it sent to another loop;
    - after five seconds where the hook stands still at an event, a condition, a queue or a future of which nobody can
      tell who completes it. This meets any build that was asked for since that hook was called, so a hook that waits
      so for something else should not take longer where others use its builder. Builds asked for before just wait.

    A bare `Lock.acquire` or `SimpleQueue.get` cannot be told from work, and is let be.
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
        out: where builds go: a folder, or a URL such as `s3://bucket/prefix`, as text.
        store: where raw tool results go too, under `<build id>/artifact:<item id>`. A build folder is complete without.
        hooks: told how a build goes.
        store_timeout: seconds that one operation of an async store may take.

    Raises:
        InputError: `out` is no path, or `hooks` are none that a build can call.
        SettingsError: the settings are wrong.
        StoreError: the store lacks operations.
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
        if settings is not None and not isinstance(settings, Settings):
            raise SettingsError(f"settings are Settings, not {_kind(settings)}; make them with load_settings(...).")
        self.settings = settings if settings is not None else load_settings()
        self.out = _place(out)
        kept = checked_store(store) if store is not None else None
        self._store: Any = BridgedStore(kept, store_timeout) if kept is not None and is_async(kept) else kept
        self._hooks = _checked_hooks(hooks)
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
            inputs: what a `Request` has besides: `specs`, `rules`, `history` (one path or several), `commands`,
                `tools`, `cwd`.

        Raises:
            InputError: there is no readable graph, no such input, or something that is no path.
            OutputError: the folder cannot be written.
            ReentrantBuildError: a hook of a running build of this builder started it and waits for it; see `Hooks`.
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
        for name, value in (("task", task), ("tool", tool)):
            if not isinstance(value, str):
                raise InputError(f"{name} is a name, not {_kind(value)}; give it as text.")
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
            with self._in_hook():
                self._hooks.on_built(built.path)
        return built

    def _observed(self, call: Call) -> Call:
        hooks = self._hooks
        if hooks is None:
            return call

        def observed(stage: Stage, batch: Batch, settings: Settings, shard: int) -> tuple[Batch, Broken]:
            after, broken = call(stage, batch, settings, shard)
            name = stage.__name__
            alive = alive_counts(after)["candidates"].sum()
            counts = {"shard": shard, "tasks": len(after.tasks), "candidates": int(alive), "broken": len(broken)}
            with self._in_hook():
                hooks.on_stage(name, counts)
            return after, broken

        return observed

    @contextmanager
    def _in_hook(self) -> Iterator[None]:
        running = self._running
        assert running is not None, "hooks are called by a build that runs"
        running.hook = time.monotonic()
        try:
            yield
        finally:
            running.hook = None

    # ---- one at a time ----

    async def _in_worker(self, work: Callable[[], T]) -> T:
        self._refuse_reentry()  # here, too: the one worker may be the thread that waits for this
        context = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(self._worker, lambda: context.run(work))
        waiter = _Waiter(self)
        try:
            while not (await asyncio.wait({future}, timeout=_PATIENCE))[0]:
                waiter.look()
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
        waiter = _Waiter(self)
        while not self._lock.acquire(timeout=_PATIENCE):
            waiter.look()
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


class _Running:
    """A build while it runs: its thread, and since when the hook that it has called, if any."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.hook: float | None = None


class _Waiter:
    """A build that waits for the running one of its builder, and looks now and then whether that waits for it."""

    def __init__(self, builder: ContextBuilder) -> None:
        self._builder = builder
        self._asked = time.monotonic()
        self._doubt: float | None = None

    def look(self) -> None:
        """Looks once.

        Raises:
            ReentrantBuildError: the running build waits for this one, or its hook has stood still for too long.
        """
        running = self._builder._running  # noqa: SLF001 - the two are one
        if running is None:
            return
        wait, hook, now = awaited_by(running.thread), running.hook, time.monotonic()
        if wait is Wait.UNKNOWN and hook is not None and hook <= self._asked:
            self._doubt = now if self._doubt is None else self._doubt
        else:
            self._doubt = None
        if wait is Wait.THIS:
            raise _reentrant()
        if self._doubt is not None and now - self._doubt >= _LONGEST_DOUBT:
            raise ReentrantBuildError(
                f"a hook of the running build has stood still for {_LONGEST_DOUBT:g} s since this build of the same "
                "builder was asked for, as if it waited for it; use another ContextBuilder, or wait for less in hooks."
            )


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
        inputs = dict(vars(graphs))
        graphs = inputs.pop("graphs")
    return Request(graphs=_paths("graphs", graphs), **_named(inputs))


def _named(inputs: Mapping[str, object]) -> dict[str, Any]:
    return {name: _input(name, value) for name, value in inputs.items() if value is not None}


def _input(name: str, value: object) -> Path | tuple[Path, ...]:
    return _paths(name, value) if name in _SEVERAL else _path(name, value)


def _path(name: str, value: object) -> Path:
    if isinstance(value, (str, PathLike)) and isinstance(text := fspath(value), str) and "\0" not in text:
        return Path(text)
    raise InputError(f"{name} is a path, not {_kind(value)}; give one as text or as a Path.")


def _place(out: object) -> Path | str:
    path = _path("out", out)
    return as_place(out if isinstance(out, str) else path)


def _paths(name: str, value: object) -> tuple[Path, ...]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, PathLike, Mapping)):
        return tuple(_path(f"each of {name}", one) for one in value)
    if isinstance(value, (str, PathLike)):
        return (_path(name, value),)
    raise InputError(f"{name} are paths, not {_kind(value)}; give one or several, as text or as a Path.")


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "a text with a NUL in it"
    return "None" if value is None else f"of the type {type(value).__name__}"


def _checked_hooks(hooks: Hooks | None) -> Hooks | None:
    for name in ("on_stage", "on_built") if hooks is not None else ():
        method = getattr(hooks, name, None)
        if not callable(method) or isinstance(hooks, type):
            raise InputError(f"hooks are an object with a method {name}; inherit from tasks.builder.Hooks.")
        if inspect.iscoroutinefunction(method):
            raise InputError(f"the hook {name} is async, and a build awaits none of its hooks; make it a plain method.")
    return hooks


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
            data = read_regular(path, None)
        except OSError as error:
            raise BuildMissingError(f"{path} is missing; run: prebrief audit {folder.root}") from error
        try:
            said = store.put(name, data)
        except PrebriefError:
            raise
        except Exception as error:  # a store of one's own may raise anything
            raise StoreError(f"the store did not take {name!r} ({type(error).__name__}); check the store.") from error
        if inspect.isawaitable(said):
            getattr(said, "close", bool)()  # a coroutine that is never awaited would warn
            raise StoreError("the store's put returns something to await; make it an async def, so that it is awaited.")
        if said != sha256:
            raise ArtifactDamagedError(
                f"the store says {name!r} has SHA-256 {said!r}, the build {sha256}; check the store."
            )

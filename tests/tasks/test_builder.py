"""The Python API: one body behind sync and async entries, one build at a time, and nothing left running."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import queue
import re
import threading
import time
import weakref
from pathlib import Path

import pytest

from tasks.builder import ContextBuilder, Hooks, request_of
from tasks.errors import (
    ArtifactConflictError,
    ArtifactDamagedError,
    BuildMissingError,
    InputError,
    ReentrantBuildError,
    SettingsError,
    StoreError,
    StoreTimeoutError,
)
from tasks.outputs.identity import is_complete
from tasks.outputs.reader import BuildFolder
from tasks.settings import load_settings
from tasks.sources.inputs import Request
from tasks.stores import FolderStore, MemoryStore
from tests.swarms import built, event, task, write_swarm

ROOT = Path(__file__).parents[2]
LOG = (event("tc1", "tool_call", "ls"), event("tr1", "tool_result", "total 8\n" + "a file\n" * 200, "tc1"))


class AsyncStore:
    """An async store that notes where it was called and lets its loop breathe."""

    def __init__(self, pause: float = 0.0):
        self.inner, self.pause, self.threads = MemoryStore(), pause, set()

    async def _pause(self):
        self.threads.add(threading.current_thread())
        await asyncio.sleep(self.pause)

    async def put(self, handle, data):
        await self._pause()
        return self.inner.put(handle, data)

    async def get(self, handle):
        await self._pause()
        return self.inner.get(handle)

    async def exists(self, handle):
        await self._pause()
        return self.inner.exists(handle)

    async def list(self, prefix=""):
        await self._pause()
        return self.inner.list(prefix)

    async def delete(self, handle):
        await self._pause()
        self.inner.delete(handle)


class Told(Hooks):
    """Hooks that note what they are told and then do something."""

    def __init__(self, act=lambda: None, stage="score_candidates"):
        self.stages, self.paths, self.act, self.stage = [], [], act, stage

    def on_stage(self, name, counts):
        self.stages.append((name, counts))
        if name == self.stage:
            self.act()

    def on_built(self, path):
        self.paths.append(path)


def swarm(folder: Path, **parts) -> Request:
    parts = {"events": LOG, **parts}
    return write_swarm(
        folder, [task("T-1", files={"create": ["app/login.py"]}), task("T-2", dependencies=["T-1"])], **parts
    )


@pytest.fixture
def request_(tmp_path) -> Request:
    return swarm(tmp_path)


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out"


# ---- entries ----------------------------------------------------------------------------------------------------


def test_sync_and_async_entries_and_the_plain_function_give_the_same_bytes(request_, tmp_path):
    plain = built(request_, out=tmp_path / "plain")
    first = ContextBuilder(out=tmp_path / "sync").build_sync(request_)
    second = asyncio.run(ContextBuilder(out=tmp_path / "async").build(request_))
    third = asyncio.run(ContextBuilder(out=tmp_path / "stored", store=AsyncStore()).build(request_))
    assert first.fresh
    assert first.path.name == second.path.name == third.path.name == plain.path.name
    for other in (first, second, third):
        files = [path for path in sorted(other.path.rglob("*")) if path.is_file() and path.name != "timings.parquet"]
        assert {path.relative_to(other.path).as_posix(): path.read_bytes() for path in files} == plain.bytes()


def test_the_same_again_is_found(request_, out):
    builder = ContextBuilder(out=out)
    assert builder.build_sync(request_).fresh
    assert not builder.build_sync(request_).fresh


def test_paths_may_be_given_in_place_of_a_request(request_, out):
    folder = request_.cwd
    named = {"rules": str(folder / "rules"), "history": [folder / "logs" / "history.jsonl"]}
    by_paths = ContextBuilder(out=out).build_sync(str(folder / "plan" / "task-graph.json"), cwd=folder, **named)
    assert by_paths.path.name == ContextBuilder(out=out).build_sync(request_).path.name


def test_settings_are_those_given(request_, out):
    builder = ContextBuilder(load_settings(budget={"tokens": 1234}), out)
    assert BuildFolder(builder.build_sync(request_).path).task("T-1")["budget_tokens"] == 1234


def test_an_unknown_input_is_named(request_):
    with pytest.raises(InputError, match=r"no input 'spec'; there are .*specs"):
        request_of("graph.json", {"spec": "x"})
    with pytest.raises(InputError, match="whole Request"):
        request_of(request_, {"specs": "x"})


def test_history_may_be_one_path_or_several(request_, out):
    folder = request_.cwd
    graph, log = folder / "plan" / "task-graph.json", folder / "logs" / "history.jsonl"
    wanted = Request(graphs=(graph,), history=(log,), cwd=folder)
    for given in (log, str(log), [log], (str(log),), iter([log])):
        assert request_of(graph, {"history": given, "cwd": folder}) == wanted
    assert request_of(Request(graphs=str(graph), history=str(log), cwd=str(folder)), {}) == wanted


@pytest.mark.parametrize(
    ("graphs", "inputs", "said"),
    [
        (None, {}, "graphs are paths, not None"),
        (5, {}, "graphs are paths, not of the type int"),
        (b"plan.json", {}, "graphs are paths, not of the type bytes"),
        ({"feature": "f", "tasks": []}, {}, "graphs are paths, not of the type dict"),
        ([None], {}, "each of graphs is a path, not None"),
        ("a\0b", {}, "graphs is a path, not a text with a NUL"),
        ("plan.json", {"specs": ["a"]}, "specs is a path, not of the type list"),
        ("plan.json", {"rules": 5}, "rules is a path, not of the type int"),
        ("plan.json", {"tools": ("a", "b")}, "tools is a path, not of the type tuple"),
        ("plan.json", {"cwd": 5}, "cwd is a path"),
        ("plan.json", {"history": 5}, "history are paths, not of the type int"),
        ("plan.json", {"history": ["a", 5]}, "each of history is a path, not of the type int"),
        (Request(graphs=None), {}, "graphs are paths, not None"),
    ],
)
def test_what_is_no_path_is_named_in_one_sentence(graphs, inputs, said, out):
    builder = ContextBuilder(out=out)
    for run in (builder.build_sync, lambda *a, **b: asyncio.run(builder.build(*a, **b))):
        with pytest.raises(InputError, match=said):
            run(graphs, **inputs)


def test_what_a_builder_is_made_of_is_checked_at_once(out):
    class Late(Hooks):
        async def on_built(self, path):
            """Nobody would await it."""

    for hooks, said in ((Late(), "on_built is async"), (object(), "method on_stage"), (Told, "an object with")):
        with pytest.raises(InputError, match=said):
            ContextBuilder(out=out, hooks=hooks)
    with pytest.raises(InputError, match="out is a path, not None"):
        ContextBuilder(out=None)
    with pytest.raises(SettingsError, match="load_settings"):
        ContextBuilder({"budget": {"tokens": 5}}, out)


# ---- hooks ------------------------------------------------------------------------------------------------------


def test_hooks_are_told_of_each_stage_and_of_the_build(request_, out):
    hooks = Told()
    path = ContextBuilder(out=out, hooks=hooks).build_sync(request_).path
    assert [name for name, _ in hooks.stages] == list(dict.fromkeys(name for name, _ in hooks.stages))
    assert len(hooks.stages) == 8
    assert all(counts["tasks"] == 2 and counts["broken"] == 0 for _, counts in hooks.stages)
    folder = BuildFolder(path)
    for name, counts in hooks.stages:
        rows = folder.stages.filter(folder.stages["stage"] == name)
        assert counts["candidates"] == rows["candidates_out"].sum()
    assert hooks.paths == [path]


def test_hooks_are_told_of_a_build_that_was_found(request_, out):
    ContextBuilder(out=out).build_sync(request_)
    hooks = Told()
    path = ContextBuilder(out=out, hooks=hooks).build_sync(request_).path
    assert (hooks.stages, hooks.paths) == ([], [path])


def test_an_error_in_a_hook_ends_the_build_and_leaves_nothing(request_, out):
    def fail():
        raise LookupError("mine")

    builder = ContextBuilder(out=out, hooks=Told(fail))
    with pytest.raises(LookupError, match="mine"):
        builder.build_sync(request_)
    assert not out.exists() or list(out.iterdir()) == []
    builder._hooks = None
    assert builder.build_sync(request_).fresh  # the lock is free again


# ---- builds within builds ---------------------------------------------------------------------------------------


def in_the_same_thread(builder, request):
    builder.build_sync(request)


def in_a_loop_of_its_own(builder, request):
    asyncio.run(builder.build(request))


def in_a_thread_that_inherits_the_context(builder, request):
    async def through():
        await asyncio.to_thread(builder.build_sync, request)

    asyncio.run(through())


def joined(work):
    """Does some work in a thread of its own, waits for it, and raises what it raised."""
    caught = []

    def caring():
        try:
            work()
        except ReentrantBuildError as error:
            caught.append(error)

    thread = threading.Thread(target=caring, daemon=True)
    thread.start()
    thread.join()
    raise caught[0]


def in_a_bare_thread(builder, request):
    joined(lambda: builder.build_sync(request))


def in_a_thread_of_a_thread(builder, request):
    joined(lambda: in_a_bare_thread(builder, request))


def in_a_loop_in_a_thread(builder, request):
    joined(lambda: in_a_loop_of_its_own(builder, request))


def in_a_thread_of_a_loop_in_a_thread(builder, request):
    joined(lambda: in_a_thread_that_inherits_the_context(builder, request))


def in_the_executor_of_a_loop(builder, request):
    async def through():
        await asyncio.get_running_loop().run_in_executor(None, builder.build_sync, request)

    asyncio.run(through())


def in_another_loop_by_way_of_a_thread(builder, request):
    loop = asyncio.new_event_loop()
    serving = threading.Thread(target=loop.run_forever, daemon=True)
    serving.start()
    try:
        joined(lambda: asyncio.run_coroutine_threadsafe(builder.build(request), loop).result())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        serving.join()
        loop.close()


def in_a_pool(builder, request):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(builder.build_sync, request).result()


def in_a_pool_of_a_pool(builder, request):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(in_a_pool, builder, request).result()


def in_a_pool_with_a_loop(builder, request):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(builder.build(request))).result()


def in_a_pool_that_is_waited_for(builder, request):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(builder.build_sync, request)
        concurrent.futures.wait([future])
        future.result()


def in_a_pool_as_completed(builder, request):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for future in concurrent.futures.as_completed([pool.submit(builder.build_sync, request)]):
            future.result()


def in_a_pool_that_is_shut_down(builder, request):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(builder.build_sync, request)
    future.result()


def behind_an_event(builder, request):
    done, caught = threading.Event(), []

    def work():
        try:
            builder.build_sync(request)
        except ReentrantBuildError as error:
            caught.append(error)
        done.set()

    threading.Thread(target=work, daemon=True).start()
    done.wait()
    raise caught[0]


def behind_a_queue(builder, request):
    answers = queue.Queue()

    def work():
        try:
            answers.put(builder.build_sync(request))
        except ReentrantBuildError as error:
            answers.put(error)

    threading.Thread(target=work, daemon=True).start()
    raise answers.get()


@pytest.mark.parametrize("entry", ["sync", "async"])
@pytest.mark.parametrize(
    "start",
    [
        in_the_same_thread,
        in_a_loop_of_its_own,
        in_a_thread_that_inherits_the_context,
        in_a_bare_thread,
        in_a_thread_of_a_thread,
        in_a_loop_in_a_thread,
        in_a_thread_of_a_loop_in_a_thread,
        in_the_executor_of_a_loop,
        in_another_loop_by_way_of_a_thread,
        in_a_pool,
        in_a_pool_of_a_pool,
        in_a_pool_with_a_loop,
        in_a_pool_that_is_waited_for,
        in_a_pool_as_completed,
        in_a_pool_that_is_shut_down,
        behind_an_event,
        behind_a_queue,
    ],
)
def test_a_build_within_a_build_is_an_error_and_no_deadlock(start, entry, request_, out, monkeypatch):
    doubt = 0.5 if start in (behind_an_event, behind_a_queue) else 60  # all others are certain
    monkeypatch.setattr("tasks.builder._LONGEST_DOUBT", doubt)
    builder = ContextBuilder(out=out)
    builder._hooks = Told(lambda: start(builder, request_))
    done: list[BaseException] = []

    def run():
        try:
            builder.build_sync(request_) if entry == "sync" else asyncio.run(builder.build(request_))
        except Exception as error:  # noqa: BLE001 - whatever it is
            done.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it hangs"
    assert [type(error) for error in done] == [ReentrantBuildError]
    assert done[0].code == "BUILD_REENTRANT"
    builder._hooks = None
    assert is_complete(builder.build_sync(request_).path)


def test_a_hook_may_use_another_builder(request_, tmp_path, out):
    other = ContextBuilder(out=tmp_path / "other")
    builder = ContextBuilder(out=out, hooks=Told(lambda: other.build_sync(request_)))
    assert builder.build_sync(request_).fresh


def test_a_hook_may_ask_for_a_build_that_begins_when_this_one_is_done(request_, out):
    later: list[threading.Thread] = []
    builder = ContextBuilder(out=out)
    results = []

    def ask():
        thread = threading.Thread(target=lambda: results.append(builder.build_sync(request_)))
        thread.start()
        later.append(thread)

    hooks = Told(ask)
    builder._hooks = hooks
    first = builder.build_sync(request_)
    later[0].join(60)
    assert [result.path for result in results] == [first.path]
    assert not results[0].fresh


def pausing_in_a_pool():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(time.sleep, 1.5).result()


def pausing_in_a_loop_with_threads():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(time.sleep, [1.5, 0.1]))


@pytest.mark.parametrize("pause", [lambda: time.sleep(1.5), pausing_in_a_pool, pausing_in_a_loop_with_threads])
def test_builds_of_others_wait_while_a_hook_works(pause, tmp_path, out, monkeypatch):
    monkeypatch.setattr("tasks.builder._LONGEST_DOUBT", 0.5)
    first, second = swarm(tmp_path / "1", feature="first"), swarm(tmp_path / "2", feature="second")
    builder, begun = ContextBuilder(out=out), threading.Event()

    def work():
        if not begun.is_set():
            begun.set()
            pause()

    builder._hooks = Told(work)

    async def both():
        running = asyncio.create_task(builder.build(first))
        await asyncio.to_thread(begun.wait, 30)
        return await asyncio.gather(running, builder.build(second), asyncio.to_thread(builder.build_sync, second))

    assert [done.fresh for done in asyncio.run(both())].count(True) == 2


def test_builds_that_were_asked_for_before_a_hook_stands_still_wait_for_it(tmp_path, out, monkeypatch):
    monkeypatch.setattr("tasks.builder._LONGEST_DOUBT", 0.3)
    first, second = swarm(tmp_path / "1", feature="first"), swarm(tmp_path / "2", feature="second")
    asked, results, others = threading.Event(), [], []

    class Slow(Hooks):
        def on_stage(self, name, counts):
            if name == "generate_candidates" and not others:
                others.append(threading.Thread(target=lambda: results.append(builder.build_sync(second))))
                others[0].start()
                asked.set()
                time.sleep(0.3)  # until it waits
            elif name == "score_candidates" and not results:
                threading.Event().wait(1.2)

    builder = ContextBuilder(out=out, hooks=Slow())
    builder.build_sync(first)
    others[0].join(60)
    assert results[0].fresh


def test_a_build_in_the_thread_of_a_loop_is_not_what_its_threads_wait_for(tmp_path, out):
    """A loop that a build keeps busy waits for nobody, though it is to be told when a build of its executor is done."""
    first, second = swarm(tmp_path / "1", feature="first"), swarm(tmp_path / "2", feature="second")
    builder = ContextBuilder(out=out, hooks=Told(lambda: time.sleep(0.6)))

    async def both():
        other = asyncio.get_running_loop().run_in_executor(None, builder.build_sync, second)
        builder.build_sync(first)
        return await other

    assert asyncio.run(both()).fresh


# ---- many at once -----------------------------------------------------------------------------------------------


def test_builds_gathered_run_one_after_the_other(tmp_path, out):
    requests = [swarm(tmp_path / str(number), feature=f"f{number % 3}") for number in range(9)]
    inside, most = [], []

    class Counting(Hooks):
        def on_stage(self, name, counts):
            inside.append(threading.get_ident())
            most.append(len(set(inside)))

        def on_built(self, path):
            inside.clear()

    builder = ContextBuilder(out=out, store=AsyncStore(), hooks=Counting())

    async def all_of_them():
        return await asyncio.gather(*(builder.build(request) for request in requests))

    results = asyncio.run(all_of_them())
    assert len({result.path for result in results}) == 3
    assert sum(result.fresh for result in results) == 3
    assert set(most) == {1}
    assert all(is_complete(result.path) for result in results)


def test_builds_from_many_threads_and_a_loop_share_one_builder(tmp_path, out):
    requests = [swarm(tmp_path / str(number), feature=f"f{number}") for number in range(4)]
    builder = ContextBuilder(out=out)

    async def both():
        threads = [asyncio.to_thread(builder.build_sync, request) for request in requests]
        return await asyncio.gather(*threads, *(builder.build(request) for request in requests))

    results = asyncio.run(both())
    assert [result.path for result in results[:4]] == [result.path for result in results[4:]]
    assert sum(result.fresh for result in results) == 4


@pytest.mark.parametrize("store", [None, AsyncStore(0.05)], ids=["no store", "async store"])
def test_the_callers_loop_stays_free_during_a_build(store, request_, out):
    slow = Told(lambda: time.sleep(0.5))
    builder = ContextBuilder(out=out, store=store, hooks=slow)

    async def ticking():
        ticks, done = 0, asyncio.create_task(builder.build(request_))
        while not done.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await done
        return ticks

    assert asyncio.run(ticking()) >= 20
    assert slow.paths


def test_a_build_that_was_cancelled_in_the_queue_never_begins(tmp_path, out):
    first, second = swarm(tmp_path / "1", feature="first"), swarm(tmp_path / "2", feature="second")
    begun, go = threading.Event(), threading.Event()

    def hold():
        begun.set()
        go.wait(30)

    builder = ContextBuilder(out=out, hooks=Told(hold, "generate_candidates"))

    async def run():
        running = asyncio.create_task(builder.build(first))
        await asyncio.to_thread(begun.wait, 30)
        queued = asyncio.create_task(builder.build(second))
        await asyncio.sleep(0.05)
        queued.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await queued
        go.set()
        return await running

    path = asyncio.run(run()).path
    assert [entry.name for entry in sorted(out.iterdir())] == sorted([path.name, "latest"])


# ---- stores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [MemoryStore, lambda: AsyncStore().inner, AsyncStore], ids=["memory", "plain", "async"]
)
def test_the_artifacts_of_a_build_are_in_the_store_under_its_id(make, request_, out):
    store = make()
    folder = BuildFolder(ContextBuilder(out=out, store=store).build_sync(request_).path)
    held = getattr(store, "inner", store)
    handles = [f"{folder.root.name}/{handle}" for handle in folder.artifacts["handle"]]
    assert held.list() == handles
    assert len(handles) == 1
    assert held.get(handles[0]) == (folder.root / "artifacts" / folder.artifacts["sha256"][0]).read_bytes()


def test_equal_ids_of_two_builds_do_not_meet(tmp_path, out):
    store = FolderStore(tmp_path / "store")
    log = (LOG[0], event("tr1", "tool_result", "another result\n" * 100, "tc1"))
    one = ContextBuilder(out=out, store=store).build_sync(swarm(tmp_path / "1"))
    two = ContextBuilder(out=out, store=store).build_sync(swarm(tmp_path / "2", events=log))
    kept = {handle: store.get(handle) for handle in store.list()}
    assert [handle.split("/")[0] for handle in kept] == sorted([one.path.name, two.path.name])
    assert len(set(kept.values())) == 2


def test_a_build_that_was_found_fills_a_store_that_is_new(request_, out):
    ContextBuilder(out=out).build_sync(request_)
    store = MemoryStore()
    ContextBuilder(out=out, store=store).build_sync(request_)
    ContextBuilder(out=out, store=store).build_sync(request_)
    assert len(store.list()) == 1


def test_a_store_that_refuses_is_an_error_and_the_build_is_complete(request_, out):
    class Refusing(MemoryStore):
        def put(self, handle, data):
            raise OSError("quota")

    with pytest.raises(StoreError, match="did not take"):
        ContextBuilder(out=out, store=Refusing()).build_sync(request_)
    assert is_complete((out / "latest").resolve())


@pytest.mark.parametrize(
    ("store", "said"),
    [
        (object(), "type object has no put and no get and no exists and no list and no delete"),
        ("s3://bucket", "type str has no put .*open_store"),
        (MemoryStore, "MemoryStore is a class"),
    ],
)
def test_what_is_no_store_is_refused_at_once(store, said, out):
    with pytest.raises(StoreError, match=said):
        ContextBuilder(out=out, store=store)


def test_a_put_that_nobody_knows_to_await_is_an_error(request_, out):
    class Wrapped(MemoryStore):
        def put(self, handle, data):
            return AsyncStore().put(handle, data)

    with pytest.raises(StoreError, match="make it an async def"):
        ContextBuilder(out=out, store=Wrapped()).build_sync(request_)


def test_a_store_that_lies_about_hashes_is_found_out(request_, out):
    class Lying(MemoryStore):
        def put(self, handle, data):
            return super().put(handle, data)[::-1]

    with pytest.raises(ArtifactDamagedError):
        ContextBuilder(out=out, store=Lying()).build_sync(request_)


def test_other_content_under_a_builds_handle_is_never_overwritten(request_, tmp_path, out):
    store = MemoryStore()
    path = ContextBuilder(out=out, store=store).build_sync(request_).path
    other = MemoryStore()
    other.put(store.list()[0], b"other")
    with pytest.raises(ArtifactConflictError):
        ContextBuilder(out=out, store=other).build_sync(request_)
    assert is_complete(path)


def test_a_store_that_does_not_answer_is_an_error_in_time(request_, out):
    with pytest.raises(StoreTimeoutError, match=r"put within 0\.1 s"):
        ContextBuilder(out=out, store=AsyncStore(pause=30), store_timeout=0.1).build_sync(request_)


def test_an_async_store_is_served_by_one_private_thread(request_, out):
    store = AsyncStore()
    asyncio.run(ContextBuilder(out=out, store=store).build(request_))
    (thread,) = store.threads
    assert thread is not threading.main_thread()
    assert thread.name == "prebrief-store"


# ---- what is left -----------------------------------------------------------------------------------------------


def test_the_private_threads_end_when_the_builder_is_collected(request_, out):
    store = AsyncStore()
    builder = ContextBuilder(out=out, store=store)
    asyncio.run(builder.build(request_))
    gone = weakref.ref(builder)
    (thread,) = store.threads
    workers = [worker for worker in threading.enumerate() if worker.name.startswith("prebrief-build")]
    assert thread.is_alive()
    del builder
    for _ in range(100):  # the worker lets go of its last build a moment after its result is there
        gc.collect()
        if gone() is None:
            break
        time.sleep(0.05)
    assert gone() is None
    for ended in (thread, *workers):
        ended.join(10)
        assert not ended.is_alive(), ended.name


def test_the_finalizer_may_be_called_by_hand(request_, out):
    store = AsyncStore()
    builder = ContextBuilder(out=out, store=store)
    builder.build_sync(request_)
    (thread,) = store.threads
    builder._store.finalizer()
    assert not thread.is_alive()


def test_a_builder_without_builds_has_no_threads(out):
    before = threading.active_count()
    ContextBuilder(out=out, store=AsyncStore())
    assert threading.active_count() == before


# ---- call prompts -----------------------------------------------------------------------------------------------

TOOLS = '{"tools": [{"name": "grep", "inputSchema": {"type": "object"}}]}'


def calling(folder: Path) -> Request:
    request = write_swarm(folder, [task("T-1", tools=["grep"]), task("T-2")])
    (folder / "tools.json").write_text(TOOLS)
    return Request(**{**vars(request), "tools": Path("tools.json")})


def test_call_prompts_come_alike_from_both_entries(tmp_path, out):
    request = calling(tmp_path)
    row = ContextBuilder(out=out).build_call_prompt_sync("T-1", "grep", request)
    assert row["prompt"].startswith("[TOOL SCHEMA]\n\nName: grep\n")
    assert asyncio.run(ContextBuilder(out=out).build_call_prompt("T-1", "grep", request)) == row


def test_a_call_prompt_that_is_not_there_is_an_error(tmp_path, out):
    builder = ContextBuilder(out=out)
    for name, tool in (("T-1", "ls"), ("T-2", "grep"), ("T-9", "grep")):
        with pytest.raises(BuildMissingError):
            builder.build_call_prompt_sync(name, tool, calling(tmp_path))
    for name, tool in ((5, "grep"), ("T-1", None)):
        with pytest.raises(InputError, match="is a name, not"):
            builder.build_call_prompt_sync(name, tool, calling(tmp_path))
    with pytest.raises(InputError, match="catalogue"):
        builder.build_call_prompt_sync("T-1", "grep", swarm(tmp_path / "x"))


# ---- the README -------------------------------------------------------------------------------------------------


def test_the_readmes_snippet_runs(tmp_path, monkeypatch, capsys):
    section = (ROOT / "README.md").read_text("utf-8").split("## From Python", 1)[1].split("\n## ", 1)[0]
    snippets = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert snippets
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), {"__name__": "readme"})
    assert "**TASK-005: " in capsys.readouterr().out
    assert FolderStore("artifact-store").list()

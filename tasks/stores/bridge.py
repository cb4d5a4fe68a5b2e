"""An async store for synchronous callers: its calls run on a private event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
import weakref
from typing import TYPE_CHECKING, Any, cast

from tasks.errors import StoreTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasks.stores.protocols import ArtifactStore, AsyncArtifactStore

_JOIN_SECONDS = 5.0


class BridgedStore:
    """The synchronous face of an async store.

    What the store returns is passed on as it is. The loop's thread starts with the first call. It ends when this object
    is collected, or with the process: nobody has to close anything.
    """

    def __init__(self, store: ArtifactStore | AsyncArtifactStore, timeout: float) -> None:
        """`timeout` is how many seconds one operation may take."""
        self._store = store
        self._timeout = timeout
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.finalizer: weakref.finalize[..., BridgedStore] | None = None

    def put(self, handle: str, data: bytes) -> str:
        """See `ArtifactStore.put`."""
        return cast("str", self._call(self._store.put, handle, data))

    def get(self, handle: str) -> bytes:
        """See `ArtifactStore.get`."""
        return cast("bytes", self._call(self._store.get, handle))

    def exists(self, handle: str) -> bool:
        """See `ArtifactStore.exists`."""
        return cast("bool", self._call(self._store.exists, handle))

    def list(self, prefix: str = "") -> list[str]:
        """See `ArtifactStore.list`."""
        return cast("list[str]", self._call(self._store.list, prefix))

    def delete(self, handle: str) -> None:
        """See `ArtifactStore.delete`."""
        self._call(self._store.delete, handle)

    def _call(self, operation: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - what the store returns
        future = asyncio.run_coroutine_threadsafe(_awaited(operation, arguments), self._running_loop())
        try:
            return future.result(self._timeout)
        except concurrent.futures.TimeoutError:
            if future.done():  # the store itself raised a timeout of its own
                raise
            future.cancel()
            name = getattr(operation, "__name__", "an operation")
            raise StoreTimeoutError(
                f"the store did not finish {name} within {self._timeout:g} s; raise store_timeout or check the store."
            ) from None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_serve, args=(self._loop,), name="prebrief-store", daemon=True)
                thread.start()
                self.finalizer = weakref.finalize(self, _release, self._loop, thread)
            return self._loop


async def _awaited(operation: Callable[..., Any], arguments: tuple[object, ...]) -> Any:  # noqa: ANN401
    outcome = operation(*arguments)
    return await outcome if inspect.isawaitable(outcome) else outcome


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Runs a loop until it is stopped, then ends what is left on it."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


def _release(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():  # the last reference may go on the loop itself
        thread.join(_JOIN_SECONDS)

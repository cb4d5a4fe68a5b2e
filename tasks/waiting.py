"""What a thread waits for, as far as stacks and futures tell."""

from __future__ import annotations

import asyncio
import concurrent.futures
import concurrent.futures.thread
import selectors
import sys
import threading
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

_Future = concurrent.futures.Future

_WORK = concurrent.futures.thread._WorkItem.run.__code__  # noqa: SLF001 - what a pool's thread does
_LOOP = asyncio.BaseEventLoop._run_once.__code__  # type: ignore[attr-defined]  # noqa: SLF001
#: Where code waits for what, by the name of the variable that holds it.
_WAITS: dict[CodeType, str] = {
    threading.Thread.join.__code__: "self",
    _Future.result.__code__: "self",
    _Future.exception.__code__: "self",
    concurrent.futures.wait.__code__: "fs",
    concurrent.futures.as_completed.__code__: "fs",
}
_LOCK = object()


class Wait(Enum):
    """What another thread waits for."""

    THIS = "what runs in the current thread"
    UNKNOWN = "something that does not say who will bring it about"
    OTHER = "something else, or nothing"


def awaited_by(ident: int) -> Wait:
    """What the thread of this id waits for, through however many threads, pools and event loops.

    `THIS` is certain: it waits for the current thread to end, for a future or a task that the current code is to
    finish, or in an idle event loop that such a future is to wake. Events, conditions, queues, and futures and loops of
    which nobody can tell who completes or wakes them, are `UNKNOWN`.
    """
    frames = sys._current_frames()  # noqa: SLF001 - the only way to see another thread's stack
    workers = {id(item.future): thread for thread, top in frames.items() for item in _work(top)}
    mine = _mine()
    wait, seen, left = Wait.OTHER, {ident}, [ident]
    while left:
        top = frames.get(left.pop())
        for one in _awaited(top):
            if any(one is own for own in mine):
                return Wait.THIS
            behind = one.ident if isinstance(one, threading.Thread) else workers.get(id(one))
            if behind is None:
                wait = Wait.UNKNOWN if _is_open(one) else wait
            elif behind not in seen:
                seen.add(behind)
                left.append(behind)
    return wait


def _mine() -> list[object]:
    """What the current code ends or completes: its thread, a pool's future and the loops to be told of it, its task."""
    mine: list[object] = [threading.current_thread()]
    for item in _work(sys._getframe()):  # noqa: SLF001
        mine += [item.future, *(one for one in _told(item.future) if isinstance(one, asyncio.AbstractEventLoop))]
    try:
        return [*mine, asyncio.current_task()]
    except RuntimeError:  # no loop runs here
        return mine


def _awaited(top: FrameType | None) -> Iterator[Any]:
    """The threads, futures, tasks and loops that a thread waits for; a lock where it waits for one that says no more.

    The locals of other frames are let be: to look at them keeps alive what they hold.
    """
    inner, frame = None, top
    while frame is not None and (frame.f_code not in _WAITS and not _idles(frame, inner)):
        inner, frame = frame, frame.f_back
    if frame is None:
        if top is not None and top.f_globals.get("__name__") == threading.__name__:
            yield _LOCK
        return
    awaited = frame.f_locals.get(_WAITS.get(frame.f_code, "self"))
    for one in tuple(awaited) if isinstance(awaited, (set, list, tuple)) else (awaited,):
        yield one
        if isinstance(one, _Future):
            yield from (linked for linked in _told(one) if asyncio.isfuture(linked))


def _idles(frame: FrameType, inner: FrameType | None) -> bool:
    """Whether a frame is that of an event loop with nothing to do."""
    return frame.f_code is _LOOP and inner is not None and inner.f_globals.get("__name__") == selectors.__name__


def _told(future: _Future[Any]) -> Iterator[object]:
    """What asyncio ties to a future - a task, a loop - which its callbacks hold."""
    for callback in tuple(future._done_callbacks):  # type: ignore[attr-defined]  # noqa: SLF001
        for cell in getattr(callback, "__closure__", None) or ():
            try:
                yield cell.cell_contents
            except ValueError:  # nothing is in it
                continue


def _is_open(one: object) -> bool:
    """Whether something that no thread is known to work at is still to come."""
    if isinstance(one, _Future):
        return not one.done()
    return one is _LOCK or isinstance(one, asyncio.AbstractEventLoop)


def _work(frame: FrameType | None) -> Iterator[Any]:
    """What pools do on a stack, innermost first."""
    while frame is not None:
        if frame.f_code is _WORK:
            yield frame.f_locals["self"]
        frame = frame.f_back

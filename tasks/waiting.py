"""Whether a thread waits for the current one, as far as its stack tells."""

from __future__ import annotations

import concurrent.futures.thread
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

_JOIN = threading.Thread.join.__code__
_RESULT = (concurrent.futures.Future.result.__code__, concurrent.futures.Future.exception.__code__)
_WORK = concurrent.futures.thread._WorkItem.run.__code__  # noqa: SLF001 - what a pool's thread does


def waits_for_this_thread(ident: int) -> bool:
    """Whether the thread of this id joins the current one, or waits for the result of what a pool runs in it.

    Other ways to wait - an event, a queue - say nothing about whom they wait for, so the answer may wrongly be no, and
    never wrongly yes.
    """
    current = threading.current_thread()
    mine = [item.future for item in _owners(sys._getframe(), _WORK)]  # noqa: SLF001
    other = sys._current_frames().get(ident)  # noqa: SLF001 - the only way to see another thread's stack
    joined = any(thread is current for thread in _owners(other, _JOIN))
    return joined or any(future is own for future in _owners(other, *_RESULT) for own in mine)


def _owners(frame: FrameType | None, *codes: CodeType) -> Iterator[Any]:
    """The objects whose methods these are, where they are on a stack.

    The locals of other frames are let be: to look at them keeps alive what they hold.
    """
    while frame is not None:
        if frame.f_code in codes:
            yield frame.f_locals["self"]
        frame = frame.f_back

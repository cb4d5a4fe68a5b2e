"""The `PostToolUse` hook of Claude Code: each call of a tool is counted, and a full window is said so.

The hook's JSON comes from stdin; what it says goes back as JSON on stdout, in the form that reaches the model
(`hookSpecificOutput.additionalContext`; plain text would not). The only thing kept between calls is one small file of
numbers a session.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.errors import TrackingError
from tasks.outputs.names import file_stem
from tasks.tokens import cache_folder
from tasks.tracker import THRESHOLD_PERCENT, WINDOW_TOKENS, ContextTracker, ContextUsage, file_size, threshold_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READERS = frozenset({"Read", "NotebookRead"})
_MOST_READ = 100_000  # bytes; the Read tool gives no more than 25,000 tokens at once
_IMAGE_BYTES = 6_000  # an image costs about 1,500 tokens, however large its file


def sessions_folder() -> Path:
    """Where the counts of tracked sessions lie, in the cache folder."""
    return cache_folder() / "sessions"


def hook_input() -> bytes:
    """The hook's JSON, from stdin.

    Raises:
        TrackingError: there is no stdin, or it cannot be read.
    """
    try:
        if sys.stdin is not None:
            return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise TrackingError(f"stdin cannot be read ({error}); the call was not counted.") from error
    raise TrackingError("stdin is closed; the call was not counted.")


def limits(window: str | None, threshold: str | None) -> tuple[int | None, float | None]:
    """The window in tokens and the threshold in percent, from how they were written; None stays None.

    Raises:
        TrackingError: the window is no whole number above zero, or the threshold no percentage.
    """
    try:
        tokens = None if window is None else int(window)
        percent = None if threshold is None else float(threshold)
    except ValueError as error:
        raise TrackingError(
            f"--window {window} --threshold {threshold}: no numbers; give whole tokens and percent."
        ) from error
    threshold_tokens(WINDOW_TOKENS if tokens is None else tokens, THRESHOLD_PERCENT if percent is None else percent)
    return tokens, percent


def on_tool_use(
    data: bytes,
    folder: Path,
    window: int | None = None,
    threshold: float | None = None,
    *,
    begin: Callable[[ContextTracker], None] | None = None,
    clock: Callable[[], float] = time.time,
) -> dict[str, Any] | None:
    """Counts one event and gives the hook's answer, or None while there is nothing to say.

    Every event is a tool call; a `Read` is a file read besides, by the text that it gave; a `TaskUpdate` to
    `completed` is a task. `PreCompact` starts the count anew, since a compaction empties the window, and keeps the
    budget. Events of one session may come at the same time: they take turns.

    Args:
        data: The hook's JSON.
        folder: Where the counts of sessions are kept.
        window: Tokens of the window; None keeps what the session began with.
        threshold: Percent of it; None likewise.
        begin: What to do with the tracker of a session that is new.
        clock: Seconds since the epoch.

    Raises:
        TrackingError: the event is malformed, or its count cannot be kept.
    """
    event = _event(data)
    path = _place(folder, event["session_id"])
    with _turn(folder):
        tracker = _known(path, window, threshold, clock)
        if tracker is None:
            tracker = _new(window, threshold, clock)
            if begin is not None:
                begin(tracker)
        if event.get("hook_event_name") == "PreCompact":
            tracker.compact()
            tracker.save(path)
            return None
        _count(event, tracker)
        tracker.save(path)
    usage = tracker.get_usage()
    if not usage.is_over_threshold:
        return None
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": _advice(usage)}}


def session_usage(
    session: str,
    folder: Path,
    window: int | None = None,
    threshold: float | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> ContextUsage:
    """What a tracked session has used; idle minutes count.

    Raises:
        TrackingError: no such session was tracked, or its count is damaged.
    """
    return ContextTracker.load(_place(folder, session), window, threshold, clock=clock).get_usage()


def _place(folder: Path, session: str) -> Path:
    return folder / f"{file_stem(session)}.json"


def _event(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TrackingError("the hook's input is no JSON; the call was not counted.") from error
    if not isinstance(event, dict) or not isinstance(event.get("session_id"), str) or not event["session_id"]:
        raise TrackingError("the hook's input names no session; the call was not counted.")
    return event


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Holds the folder of sessions, so that no other hook changes a count in between."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise TrackingError(f"{folder} cannot be written ({error.strerror}); the call was not counted.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _known(
    path: Path, window: int | None, threshold: float | None, clock: Callable[[], float]
) -> ContextTracker | None:
    """The session's tracker; None where there is none yet, or where what was kept is damaged."""
    try:
        return ContextTracker.load(path, window, threshold, clock=clock)
    except TrackingError:
        return None


def _new(window: int | None, threshold: float | None, clock: Callable[[], float]) -> ContextTracker:
    return ContextTracker(
        WINDOW_TOKENS if window is None else window,
        THRESHOLD_PERCENT if threshold is None else threshold,
        clock=clock,
    )


def _count(event: dict[str, Any], tracker: ContextTracker) -> None:
    tool, given = event.get("tool_name"), event.get("tool_input")
    given = given if isinstance(given, dict) else {}
    tracker.track_tool_call()
    if isinstance(tool, str) and tool in _READERS:
        tracker.track_file_read(size=_read_bytes(given, event))
    elif tool == "TaskUpdate" and given.get("status") == "completed":
        tracker.track_task_execution()


def _read_bytes(given: dict[str, Any], event: dict[str, Any]) -> int:
    """Bytes that a read put into the window: of the text it gave, where the event has it, else of the file."""
    response = event.get("tool_response")
    if isinstance(response, dict):
        if response.get("type") == "image":
            return _IMAGE_BYTES
        response = response.get("file", response)
        response = response.get("content") if isinstance(response, dict) else response
    if isinstance(response, str):
        return len(response.encode("utf-8", "replace"))
    path, cwd = given.get("file_path") or given.get("notebook_path"), event.get("cwd")
    if not isinstance(path, str):
        return 0
    return min(file_size(Path(cwd if isinstance(cwd, str) else "") / path), _MOST_READ)


def _advice(usage: ContextUsage) -> str:
    return (
        f"This session has used about {usage.estimated_tokens:,} of {usage.window_tokens:,} tokens "
        f"({usage.usage_percent:.1f} %, threshold {usage.threshold_percent:g} %). Checkpoint now: finish the step at "
        "hand, commit, write down what is done and what comes next, and go on in a fresh session."
    )

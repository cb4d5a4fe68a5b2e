"""How full an agent's context window is, by estimate, and when to checkpoint.

The estimate is a rule of thumb over what can be seen from outside a session: each file read costs a quarter of its
bytes and 100 more, a task 500, a tool call 50, a minute 100 tokens.
"""

from __future__ import annotations

import json
import math
import os
import stat
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tasks.errors import TrackingError
from tasks.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasks.outputs.reader import BuildFolder

WINDOW_TOKENS = 200_000
THRESHOLD_PERCENT = 70.0

BYTES_PER_TOKEN = 4
TOKENS_PER_FILE = 100  # on top of its bytes
TOKENS_PER_TASK = 500
TOKENS_PER_TOOL_CALL = 50
TOKENS_PER_MINUTE = 100

_EMPTIED = ("files_read", "read_tokens", "tasks_executed", "tool_calls")  # by a compaction
_COUNTS = (*_EMPTIED, "context_budget_tokens", "context_budget_used")


def file_tokens(size: int) -> int:
    """Tokens that reading a file of `size` bytes costs.

    Raises:
        TrackingError: the size is below zero, or no number.
    """
    if not _is_number(size) or size < 0:
        raise TrackingError(f"a file cannot hold {size} bytes; give its size, or its path alone.")
    return int(size) // BYTES_PER_TOKEN + TOKENS_PER_FILE


def file_size(path: str | os.PathLike[str] | None) -> int:
    """Bytes of the file at a path; 0 where there is none, or a folder."""
    try:
        found = None if path is None else Path(path).stat()
    except (OSError, ValueError):
        return 0
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else 0


def threshold_tokens(window: int, threshold: float) -> int:
    """The fewest tokens at which a checkpoint is due: `threshold` percent of `window`, rounded up.

    Raises:
        TrackingError: the window is no whole number above zero, or the threshold no percentage.
    """
    if type(window) is not int or window <= 0:
        raise TrackingError(f"a window cannot hold {window} tokens; give the size of the model's context window.")
    if not _is_number(threshold) or not 0 <= threshold <= 100:  # noqa: PLR2004 - percent
        raise TrackingError(f"a threshold of {threshold} is no percentage; give one from 0 to 100.")
    return math.ceil(Fraction(str(threshold)) * window / 100)  # decimals as written: 70.1 % is not a binary fraction


@dataclass(frozen=True)
class ContextUsage:
    """What a session has used so far. Tokens are estimates, those of the budget excepted."""

    estimated_tokens: int
    threshold_percent: float
    files_read: int
    tasks_executed: int
    tool_calls: int
    context_budget_tokens: int
    """Budgets of the prebuilt contexts that the session starts with; 0 where no build is in use."""
    context_budget_used: int
    """Their tokens times the build's margin, which is what the budget binds."""
    timestamp: datetime
    window_tokens: int = WINDOW_TOKENS

    @property
    def usage_percent(self) -> float:
        """Of the window; may pass 100."""
        return 100 * self.estimated_tokens / self.window_tokens

    @property
    def is_over_threshold(self) -> bool:
        """Whether a checkpoint is due: at the threshold or above it."""
        return self.estimated_tokens >= threshold_tokens(self.window_tokens, self.threshold_percent)

    @property
    def budget_usage_percent(self) -> float:
        """Of the context budget; 0 where there is none."""
        return 100 * self.context_budget_used / self.context_budget_tokens if self.context_budget_tokens else 0.0

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, percentages included."""
        return {
            **asdict(self),
            "timestamp": self.timestamp.isoformat(),
            "usage_percent": self.usage_percent,
            "is_over_threshold": self.is_over_threshold,
            "budget_usage_percent": self.budget_usage_percent,
        }


class ContextTracker:
    """Counts what a session does.

    Totals never fall but by `compact`: sizes below zero are refused, a clock that goes back stands still. A file that
    is read twice counts twice, since its text then stands in the window twice.
    """

    def __init__(
        self,
        window: int = WINDOW_TOKENS,
        threshold: float = THRESHOLD_PERCENT,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Args: window: tokens of the model's context; threshold: percent of it; clock: seconds since the epoch.

        Raises:
            TrackingError: the window is no whole number above zero, or the threshold no percentage.
        """
        threshold_tokens(window, threshold)
        self._window, self._threshold, self._clock = window, float(threshold), clock
        self._started = _seconds(clock())
        self._elapsed = 0.0
        self._counts = dict.fromkeys(_COUNTS, 0)

    # ---- what happens ---------------------------------------------------------------------------------------------

    def track_file_read(self, path: str | os.PathLike[str] | None = None, size: int | None = None) -> None:
        """Counts a file that was read: by `size` in bytes where given, else by what lies at `path`, 0 bytes if nothing.

        Raises:
            TrackingError: the size is below zero, or no number.
        """
        tokens = file_tokens(file_size(path) if size is None else size)
        self._counts["files_read"] += 1
        self._counts["read_tokens"] += tokens

    def track_task_execution(self) -> None:
        """Counts a task that was worked on."""
        self._counts["tasks_executed"] += 1

    def track_tool_call(self) -> None:
        """Counts a call of any tool."""
        self._counts["tool_calls"] += 1

    def use_build(self, folder: BuildFolder, task: str) -> None:
        """Adds budget and tokens of a task's prebuilt context, once a task that the session starts with.

        The estimate stays as it is: it is about what a session adds to the context that it starts with.

        Raises:
            BuildMissingError: the build has no such task.
        """
        row = folder.task(task)
        self._counts["context_budget_tokens"] += row["budget_tokens"] or 0
        self._counts["context_budget_used"] += math.ceil((row["prompt_tokens"] or 0) * (row["margin"] or 1))

    def compact(self) -> None:
        """Begins anew, since a compaction empties the window; the budget stays, since the session's task does."""
        self._started, self._elapsed = _seconds(self._clock()), 0.0
        self._counts |= dict.fromkeys(_EMPTIED, 0)

    # ---- what it comes to -----------------------------------------------------------------------------------------

    def should_checkpoint(self) -> bool:
        """Whether the estimate is at the threshold or above it."""
        return self.get_usage().is_over_threshold

    def get_usage(self) -> ContextUsage:
        """What the session has used up to now."""
        self._elapsed = max(self._elapsed, _seconds(self._clock()) - self._started)
        counts = self._counts
        estimated = (
            counts["read_tokens"]
            + TOKENS_PER_TASK * counts["tasks_executed"]
            + TOKENS_PER_TOOL_CALL * counts["tool_calls"]
            + int(self._elapsed * TOKENS_PER_MINUTE / 60)
        )
        return ContextUsage(
            estimated_tokens=estimated,
            threshold_percent=self._threshold,
            files_read=counts["files_read"],
            tasks_executed=counts["tasks_executed"],
            tool_calls=counts["tool_calls"],
            context_budget_tokens=counts["context_budget_tokens"],
            context_budget_used=counts["context_budget_used"],
            timestamp=datetime.fromtimestamp(self._started + self._elapsed, UTC),
            window_tokens=self._window,
        )

    # ---- between processes ----------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Writes the state as JSON, whole or not at all; the folder is made where it is missing.

        Raises:
            TrackingError: it cannot be written.
        """
        usage = self.get_usage()
        state = {
            "window": usage.window_tokens,
            "threshold": usage.threshold_percent,
            "started": self._started,
            "elapsed": self._elapsed,
            **self._counts,
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    json.dump(state, stream)
                Path(part).replace(path)
            except BaseException:
                Path(part).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise TrackingError(f"{path} cannot be written ({error.strerror}); see to its folder.") from error

    @classmethod
    def load(
        cls,
        path: Path,
        window: int | None = None,
        threshold: float | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> Self:
        """The tracker that was saved at `path`, with another window or threshold where given.

        Raises:
            TrackingError: there is no saved state, it is damaged, or the window or threshold is refused.
        """
        try:
            state = json.loads(read_regular(path))
        except OSError as error:
            raise TrackingError(f"{path} cannot be read ({error.strerror}); no such session was tracked.") from error
        except (ValueError, RecursionError) as error:
            raise TrackingError(f"{path} is no saved state; remove it to start anew.") from error
        if not _is_state(state):
            raise TrackingError(f"{path} is no saved state; remove it to start anew.")
        tracker = cls(
            state["window"] if window is None else window,
            state["threshold"] if threshold is None else threshold,
            clock=clock,
        )
        tracker._started, tracker._elapsed = state["started"], state["elapsed"]
        tracker._counts = {name: state[name] for name in _COUNTS}
        return tracker


_LATEST_SECOND = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def _seconds(reading: float) -> float:
    """A clock's reading within what a date can say; a broken one counts as the epoch."""
    return min(max(float(reading), 0.0), _LATEST_SECOND) if math.isfinite(reading) else 0.0


def _is_number(value: object) -> bool:
    return type(value) is not bool and isinstance(value, Real) and math.isfinite(value)


def _is_state(value: object) -> bool:
    """Whether a value read from a file is a state that `save` may have written."""
    if not isinstance(value, dict):
        return False
    started, elapsed = value.get("started"), value.get("elapsed")
    counts = [value.get(name) for name in ("window", *_COUNTS)]
    return (
        isinstance(started, float)
        and isinstance(elapsed, float)
        and 0 <= started <= started + elapsed <= _LATEST_SECOND
        and all(type(count) is int and count >= 0 for count in counts)
        and isinstance(value.get("threshold"), float)
    )

"""How far a build is: bars on a terminal, an artifact in a flow."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from tasks.terms import STAGE_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import RenderableType

    from tasks.batch import Batch
    from tasks.pipeline import Call, Stage
    from tasks.recovery import Broken
    from tasks.settings import Settings

_PATIENCE = 2.0  # seconds that a build may take before it has to say how far it is
_LOAD, _WRITE = "load", "write"


@contextmanager
def bars() -> Iterator[Call]:
    """A way to call stages that draws a bar a stage on stderr once the build has taken two seconds.

    The bars are gone when the build is done.
    """
    with _Bars() as shown:
        yield shown.call


class _Bars(Progress):
    """A bar for loading, for each stage and for writing. A stage counts tasks, however many shards they come in."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._begun = time.monotonic()
        super().__init__(*columns, console=Console(stderr=True), transient=True)
        self._bars = {name: self.add_task(name, start=name == _LOAD, total=None) for name in (_LOAD, *STAGE_NAMES)}
        self._bars[_WRITE] = self.add_task(_WRITE, start=False, total=None)
        self._in_build = 0

    def get_renderables(self) -> Iterable[RenderableType]:
        """Nothing at first: a quick build needs no bars."""
        if time.monotonic() - self._begun >= _PATIENCE:
            yield from super().get_renderables()

    def call(self, stage: Stage, batch: Batch, settings: Settings, shard: int) -> tuple[Batch, Broken]:
        """Calls a stage and moves its bar on by the tasks of the batch."""
        bar = self._bars[stage.__name__]
        if not self._in_build:
            self._in_build = len(batch.tasks)
            self.update(self._bars[_LOAD], total=1, completed=1)
        if not self.tasks[bar].started:
            self.start_task(bar)
            self.update(bar, total=max(self._in_build, 1))
        from tasks.recovery import guarded  # brings the frames, which a build that is found again does not need

        done = guarded(stage, batch, settings, shard)
        self.update(bar, advance=len(batch.tasks))
        if stage.__name__ == STAGE_NAMES[-1] and self.tasks[bar].finished:
            self.start_task(self._bars[_WRITE])
        return done


def reporting(call: Call, report: Callable[[float], None], every: float = 1.0) -> Call:
    """A way to call stages that tells `report` the percentage done, at most once in `every` seconds.

    The first time is when the build has taken two seconds; of a quicker one nothing is told. The share is that of
    stages times tasks; call prompts come on top and leave it at 100.
    """
    done = whole = 0
    due = time.monotonic() + _PATIENCE
    told = False

    def called(stage: Stage, batch: Batch, settings: Settings, shard: int) -> tuple[Batch, Broken]:
        nonlocal done, whole, due, told
        whole = whole or len(batch.tasks) * len(STAGE_NAMES)
        outcome = call(stage, batch, settings, shard)
        done += len(batch.tasks)
        now = time.monotonic()
        if now >= due or (told and done == whole):
            due, told = now + every, True
            report(min(100.0, 100.0 * done / whole) if whole else 100.0)
        return outcome

    return called

"""Plans from bytes at hand, without the files beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.settings import load_settings
from tasks.sources import plan_files
from tasks.sources.graph import settled

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from tasks.sources.files import InputFile
    from tasks.sources.findings import Row
    from tasks.sources.plans.plan import GraphRead

_SETTINGS = load_settings()


def read_graph(file: InputFile) -> GraphRead:
    """One plan, its rows as the file has them."""
    return plan_files.read_graph(file, _SETTINGS)


def read_graphs(files: Iterable[InputFile]) -> tuple[pl.DataFrame, list[Row]]:
    """The tasks frame of plans, and their findings."""
    plans = settled(map(read_graph, files))
    return plans.tasks, plans.findings

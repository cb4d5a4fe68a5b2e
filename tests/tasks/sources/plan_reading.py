"""Plans from bytes at hand, without the files beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tasks.sources.files import decode
from tasks.sources.graph import settled
from tasks.sources.plans import default_format, recognised
from tasks.sources.plans.plan import PlanSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from tasks.sources.files import InputFile
    from tasks.sources.findings import Row
    from tasks.sources.plans.plan import GraphRead


def read_graph(file: InputFile) -> GraphRead:
    """One plan, its rows as the file has them."""
    text, odd = decode(file)
    read = (recognised(text) or default_format()).read(PlanSource(file, text))
    return replace(read, findings=odd + read.findings)


def read_graphs(files: Iterable[InputFile]) -> tuple[pl.DataFrame, list[Row]]:
    """The tasks frame of plans, and their findings."""
    plans = settled(map(read_graph, files))
    return plans.tasks, plans.findings

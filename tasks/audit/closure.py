"""Invariant 5: what is selected comes with its parent, hence with all its ancestors, and stands below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.audit.reading import Context, sample
from tasks.audit.violation import Check, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator


class Closure(Check):
    """Parents that are missing in the build, or the item itself, bind nobody; nor does the order within a cycle."""

    name = "closure"

    def of_context(self, context: Context) -> Iterator[Violation]:
        """The parents of one task's selected items."""
        order = {row["item_id"]: row["prompt_order"] for row in context.selected}
        children = [row for row in context.selected if row["parent"] is not None]
        orphans = [row for row in children if row["parent"] not in order]
        if orphans:
            parents = f"{orphans[0]['parent']} and others" if len(orphans) > 1 else orphans[0]["parent"]
            names = sample((row["item_id"] for row in orphans), len(orphans))
            yield self.found(context.place, f"{names}: selected without the parent {parents}.")
        early = [
            row["item_id"]
            for row in children
            if not row["cyclic"] and _before(row["prompt_order"], order.get(row["parent"]))
        ]
        if early:
            yield self.found(context.place, f"{sample(early, len(early))}: before the parent in the prompt.")


def _before(place: int | None, other: int | None) -> bool:
    return place is not None and other is not None and place < other

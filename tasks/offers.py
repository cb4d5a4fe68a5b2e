"""What each item costs in a prompt, whatever the task that it is offered to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasks.layout import SEPARATOR, blocks
from tasks.terms import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from tasks.settings import RenderSettings
    from tasks.tokens import TokenCounter

SECTION_PLACES = {section: place for place, section in enumerate(SECTIONS)}
#: The sections of which a passage may be cut.
CUTTABLE = ("requirements", "design", "reference")


class Offer(NamedTuple):
    """An item on offer: what it is and what it costs in the prompt."""

    parent: int | None  # place of its parent, which must come too
    section: str
    kind: str
    cost: int  # tokens of its block and the separator behind it
    size: int  # bytes of the same
    tokens: int  # of its bare text
    text: str
    body: str  # its text as it stands in the prompt


class Offers:
    """All items that may be bought, by their place: each as an offer, and what every pass looks at in arrays."""

    def __init__(self, by_item: Mapping[int, Offer]) -> None:
        self.by_item = by_item
        size = max(by_item, default=-1) + 1
        self.costs = np.zeros(size, np.int64)
        self.sections = np.zeros(size, np.int8)
        places = list(by_item)
        self.costs[places] = [offer.cost for offer in by_item.values()]
        self.sections[places] = [SECTION_PLACES[offer.section] for offer in by_item.values()]
        self.cuttable = np.isin(self.sections, [SECTION_PLACES[name] for name in CUTTABLE])

    def among(self, *parts: NDArray[np.integer]) -> bytes:
        """A byte an item that may be bought: 1 where any of the parts has it."""
        found = np.zeros(len(self.costs), np.bool_)
        for items in parts:
            found[items] = True
        return found.tobytes()


def offered(items: pl.DataFrame, family: pl.DataFrame, counter: TokenCounter, settings: RenderSettings) -> Offers:
    """Offers of all items.

    Args:
        items: `item, text, section, kind, tokens`.
        family: `item, parent`.
        counter: counts the blocks.
        settings: the style.

    Cost: each distinct text is made safe and its block is counted, about 1 s for 100,000 items whose counts are known.
    """
    drawn = items.select("item", "section", "kind", "tokens", "text").join(
        blocks(items, settings), on="item", maintain_order="left"
    )
    rows = drawn.join(family.select("item", "parent"), on="item", maintain_order="left")
    costs = counter.count([block + SEPARATOR for block in rows["block"]])
    return Offers(
        {
            item: Offer(parent, section, kind, cost, len(block.encode()) + len(SEPARATOR), tokens, text, body)
            for (item, parent, section, kind, tokens, text, body, block), cost in zip(
                rows.select("item", "parent", "section", "kind", "tokens", "text", "body", "block").iter_rows(),
                costs,
                strict=True,
            )
        }
    )

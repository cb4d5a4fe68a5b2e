"""What each item costs in a prompt, whatever the task that it is offered to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasks.layout import SEPARATOR, blocks
from tasks.terms import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

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
    """All items that may be bought, by their place, and what purses look at most, laid out for quick looks.

    Attributes:
        by_item: each as an offer.
        links: its parent, section, cost and size, for walks up its ancestors.
        costs, sections, cuttable: arrays, for looks at many together.
        dearest: what the dearest passage that may be cut costs.
    """

    def __init__(self, by_item: Mapping[int, Offer]) -> None:
        self.by_item = by_item
        nothing = Offer(None, SECTIONS[0], "", 0, 0, 0, "", "")
        offers = [by_item.get(item, nothing) for item in range(max(by_item, default=-1) + 1)]
        self.links = [(offer.parent, offer.section, offer.cost, offer.size) for offer in offers]
        self.costs = np.array([offer.cost for offer in offers], np.int64)
        self.sections = np.array([SECTION_PLACES[offer.section] for offer in offers], np.int8)
        self.cuttable = np.isin(self.sections, [SECTION_PLACES[name] for name in CUTTABLE])
        self.dearest = int(self.costs[self.cuttable].max(initial=0))


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

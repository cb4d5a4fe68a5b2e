"""The budget of one task while it is being spent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tasks.layout import PROMPT_BYTES, SEPARATOR, TRUNCATED, label, labelled, title
from tasks.markdown import embed
from tasks.terms import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasks.settings import Settings
    from tasks.tokens import TokenCounter

_CUTTABLE = ("requirements", "design", "reference")
_LEAST_CUT = 48  # tokens of room below which a cut passage would say too little
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n|\n(?=[-*+|] ?|\d+[.)] )")


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


@dataclass
class Choice:
    """What became of the candidates of one task."""

    selected: dict[int, str] = field(default_factory=dict)  # item -> body, in the order of selection
    dropped: dict[int, tuple[str, int | None]] = field(default_factory=dict)  # item -> reason, tokens it missed


class Purse:
    """Spends one task's budget on its ranked candidates.

    Args:
        goods: every item that may be bought, ancestors included, by its place.
        budget: tokens that the whole prompt may count.
        counter: counts what is cut.
        settings: shares, limits and style.
    """

    def __init__(self, goods: dict[int, Offer], budget: int, counter: TokenCounter, settings: Settings) -> None:
        self._goods = goods
        self._budget = budget
        self._counter = counter
        self._settings = settings
        self._policy = settings.policy
        self._titles = _title_costs(settings, counter)
        self._choice = Choice()
        self._opened: set[str] = set()
        self._bought: dict[str, int] = {}
        self._bytes = PROMPT_BYTES - 1
        self._left = budget

    # ---- the rules of filling ----

    def fill(self, ranked: Sequence[int], ancestors: Iterable[int] = ()) -> Choice:
        """Fills the budget by sections: `ranked` holds the candidates, best first.

        `ancestors` are candidates too, which come with a descendant or not at all.
        """
        self._candidates = {*ranked, *ancestors}
        lists: dict[str, list[int]] = {}
        for item in ranked:
            lists.setdefault(self._goods[item].section, []).append(item)
        if not self._pin(lists.pop("brief", [])):
            self._choice.dropped.update(
                dict.fromkeys((item for rest in lists.values() for item in rest), ("budget", None))
            )
            return self._choice
        shares = self._settings.packing
        rules, requirements, design = (lists.get(name, []) for name in ("rules", "requirements", "design"))
        unspent = self._pass(rules, int(shares.rules_share * self._budget))
        spec = int(shares.spec_share * self._budget) + unspent
        kept_back = spec - spec // 2 if design else 0
        unspent = kept_back + self._pass(requirements, spec - kept_back, whole=spec)
        unspent = self._pass(design, unspent, whole=spec)
        self._pass(requirements, unspent)
        self._pass(self._of(ranked, "reference", "history"), self._left, whole=self._left)
        self._pass(self._of(ranked, "requirements", "design"), self._left)
        self._pass(rules, self._left)
        return self._choice

    def _of(self, ranked: Sequence[int], *sections: str) -> list[int]:
        return [item for item in ranked if self._goods[item].section in sections]

    def fill_plainly(self, ranked: Sequence[int]) -> Choice:
        """Fills the budget in one pass over bare texts: no sections, labels or ancestors."""
        for item in ranked:
            offer = self._goods[item]
            if self._bought.get(offer.kind, 0) >= self._limit(offer.kind):
                self._choice.dropped[item] = ("kind_limit", None)
            elif offer.tokens > self._left:
                self._choice.dropped[item] = ("budget", offer.tokens - self._left)
            else:
                self._left -= offer.tokens
                self._bought[offer.kind] = self._bought.get(offer.kind, 0) + 1
                self._choice.selected[item] = offer.body
        return self._choice

    def _pin(self, brief: Iterable[int]) -> bool:
        """Takes the whole brief, or nothing at all."""
        pinned = list(brief)
        price = sum(self._goods[item].cost for item in pinned) + (self._titles["brief"] if pinned else 0)
        size = sum(self._goods[item].size for item in pinned) + 64
        if price > self._left or size > self._bytes:
            self._choice.dropped.update(dict.fromkeys(pinned, ("budget", max(price - self._left, 1))))
            return False
        self._left -= price
        self._bytes -= size
        self._opened.add("brief")
        self._choice.selected.update({item: self._goods[item].body for item in pinned})
        return True

    # ---- one pass ----

    def _pass(self, ranked: Sequence[int], share: int, *, whole: int | None = None) -> int:
        """Buys what a share can pay for, best first; returns what the share has left.

        `whole` is the share of the section's whole group: a passage larger than that is cut, any other passed over.
        """
        limit = room = min(share, self._left)
        capped = share < self._left
        reason = "section_budget" if capped else "budget"
        selected, dropped = self._choice.selected, self._choice.dropped
        costs = [self._goods[item].cost for item in ranked]
        if whole is not None and max(costs, default=0) > whole:
            costs = [self._least_cost(self._goods[item], whole) for item in ranked]
        cheapest = _cheapest_from(costs)
        for place, (item, cost) in enumerate(zip(ranked, costs, strict=True)):
            if item in selected:
                continue
            if room < cheapest[place]:
                self._refuse_rest(zip(ranked[place:], costs[place:], strict=True), reason, room)
                break
            if cost > room:  # most candidates end here, so without looking at ancestors
                dropped[item] = (reason, cost - room)
            else:
                room -= self._try(item, room, whole, capped=capped)
        return share - (limit - room)

    def _least_cost(self, offer: Offer, whole: int | None) -> int:
        """What an item costs at least: one that may be cut, as little as a cut one does."""
        return _LEAST_CUT if self._may_cut(offer, whole) else offer.cost

    def _may_cut(self, offer: Offer, whole: int | None) -> bool:
        return whole is not None and offer.cost > whole and offer.section in _CUTTABLE

    def _try(self, item: int, room: int, whole: int | None, *, capped: bool) -> int:
        """Buys an item with its missing ancestors if they fit; returns what was paid."""
        offer = self._goods[item]
        chain = self._missing(item, room)
        if chain is None:
            self._refuse(item, "parent_missing_room", None)
            return 0
        price, size = self._price(chain)
        if reason := self._over_limit(chain):
            self._refuse(item, reason, None)
            return 0
        if price <= room and size <= self._bytes:
            return self._buy(chain, price, size, None)
        if self._may_cut(offer, whole):
            body = self._cut(offer, room - (price - offer.cost))
            if body is not None:
                drawn = self._drawn(body, offer)
                cost = self._counter.count([drawn + SEPARATOR])[0]
                paid = price - offer.cost + cost
                if paid <= room:
                    return self._buy(chain, paid, size - offer.size + len(drawn.encode()) + 2, body)
        alone = offer.cost + (0 if offer.section in self._opened else self._titles[offer.section])
        fits_alone = alone <= room and len(chain) > 1
        reason = "parent_missing_room" if fits_alone else "section_budget" if capped else "budget"
        self._refuse(item, reason, max(price - room, 1))
        return 0

    def _missing(self, item: int, room: int) -> list[int] | None:
        """The item and its ancestors that are not in yet, topmost first; None if one of them is no candidate any more.

        The walk ends early once the ancestors alone cost more than there is room: the chain will not be bought.
        """
        parent = self._goods[item].parent
        if parent is None or parent in self._choice.selected:
            return [item]
        chain, above = [], 0
        walked: int | None = item
        met: set[int] = set()
        while walked is not None and walked not in self._choice.selected and walked not in met:
            if walked not in self._candidates:
                return None
            met.add(walked)
            chain.append(walked)
            above += self._goods[walked].cost if walked != item else 0
            if above > room:
                break
            walked = self._goods[walked].parent
        return chain[::-1]

    def _price(self, chain: Sequence[int]) -> tuple[int, int]:
        """Tokens and bytes that a chain adds to the prompt, titles of new sections included."""
        if len(chain) == 1 and self._goods[chain[0]].section in self._opened:
            return self._goods[chain[0]].cost, self._goods[chain[0]].size
        opened = {self._goods[item].section for item in chain} - self._opened
        titles = sum(self._titles[section] for section in sorted(opened))
        return (
            sum(self._goods[item].cost for item in chain) + titles,
            sum(self._goods[item].size for item in chain) + 64 * len(opened),
        )

    def _over_limit(self, chain: Sequence[int]) -> str | None:
        more: dict[str, int] = {}
        for item in chain:
            kind = self._goods[item].kind
            more[kind] = more.get(kind, 0) + 1
        over = any(self._bought.get(kind, 0) + count > self._limit(kind) for kind, count in more.items())
        return "kind_limit" if over else None

    def _limit(self, kind: str) -> int:
        return self._policy.kind_limits.get(kind, self._policy.kind_limit)

    def _buy(self, chain: Sequence[int], price: int, size: int, cut: str | None) -> int:
        for item in chain:
            offer = self._goods[item]
            self._bought[offer.kind] = self._bought.get(offer.kind, 0) + 1
            self._opened.add(offer.section)
            self._choice.selected[item] = offer.body
            self._choice.dropped.pop(item, None)
        if cut is not None:
            self._choice.selected[chain[-1]] = cut
        self._left -= price
        self._bytes -= size
        return price

    def _refuse(self, item: int, reason: str, short: int | None) -> None:
        self._choice.dropped[item] = (reason, short)

    def _refuse_rest(self, rest: Iterable[tuple[int, int]], reason: str, room: int) -> None:
        """Refuses items with their costs: none of them fits any more."""
        selected = self._choice.selected
        self._choice.dropped.update({item: (reason, cost - room) for item, cost in rest if item not in selected})

    # ---- cutting ----

    def _cut(self, offer: Offer, room: int) -> str | None:
        """The longest head of a passage that ends with a paragraph, else with a sentence, and fits; else None."""
        if room < _LEAST_CUT:
            return None
        for ends in (_PARAGRAPH_END, _SENTENCE_END):
            places = [found.start() for found in ends.finditer(offer.text)]
            low, high = 0, len(places)
            while low < high:
                middle = (low + high + 1) // 2
                if self._fits(self._head(offer, places[middle - 1]), offer, room):
                    low = middle
                else:
                    high = middle - 1
            if low:
                return self._head(offer, places[low - 1])
        return None

    def _drawn(self, body: str, offer: Offer) -> str:
        render = self._settings.render
        return labelled(body, label(offer.section, offer.kind, render), render)

    def _head(self, offer: Offer, end: int) -> str:
        return embed(offer.text[:end].rstrip()) + SEPARATOR + TRUNCATED

    def _fits(self, body: str, offer: Offer, room: int) -> bool:
        drawn = self._drawn(body, offer)
        return self._counter.count([drawn + SEPARATOR])[0] <= room


def _title_costs(settings: Settings, counter: TokenCounter) -> dict[str, int]:
    titles = [title(section, settings.render) for section in SECTIONS]
    counts = counter.count([text + SEPARATOR if text else "" for text in titles])
    return dict(zip(SECTIONS, counts, strict=True))


def _cheapest_from(costs: Sequence[int]) -> list[int]:
    """For each place the lowest cost from there on, so that a pass can end when nothing more can fit."""
    return list(accumulate(reversed(costs), min))[::-1]

"""The budget of one task while it is being spent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tasks.layout import PROMPT_BYTES, SEPARATOR, TRUNCATED, label, labelled, title
from tasks.markdown import embed
from tasks.offers import CUTTABLE, SECTION_PLACES
from tasks.terms import KINDS, REASONS, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasks.offers import Offer, Offers
    from tasks.settings import Settings
    from tasks.tokens import TokenCounter

    Places = NDArray[np.integer]

_BUDGET, _KIND_LIMIT, _PARENT_MISSING_ROOM = map(REASONS.index, ("budget", "kind_limit", "parent_missing_room"))
#: What stands for tokens where they are not the reason.
UNSAID = -1
_AT_ONCE = 64  # candidates that are looked at together, since what the first of them cost rules out the others
_LEAST_CUT = 48  # tokens of room below which a cut passage would say too little
_TITLE_BYTES = 64  # more than any title of a section takes
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n|\n(?=[-*+|] ?|\d+[.)] )")


#: The place of the reason in `REASONS`, and the tokens that were missed.
_Refusal = tuple[int, int]


class Goods:
    """What may be bought, and by which rules.

    Args:
        offers: every item that may be bought, ancestors included.
        counter: counts titles, and what is cut.
        settings: shares, limits and style.
    """

    def __init__(self, offers: Offers, counter: TokenCounter, settings: Settings) -> None:
        self.offers = offers
        self.counter, self.settings = counter, settings
        self.titles = _title_costs(settings, counter)
        policy = settings.policy
        self.limits = {kind: policy.kind_limits.get(kind, policy.kind_limit) for kind in KINDS}


@dataclass
class Choice:
    """What became of the candidates of one task, in arrays a place a ranked candidate."""

    ranked: Places
    selected: dict[int, str] = field(default_factory=dict)
    """Item -> body, in the order of selection."""
    reasons: NDArray[np.int8] = field(init=False)
    """Places in `REASONS` of the candidates that are not selected."""
    short: NDArray[np.int64] = field(init=False)
    """Tokens that they missed; -1 where that does not say why."""

    def __post_init__(self) -> None:
        self.reasons = np.full(len(self.ranked), -1, np.int8)
        self.short = np.full(len(self.ranked), UNSAID, np.int64)

    @property
    def dropped(self) -> dict[int, tuple[str, int | None]]:
        """Item -> reason and tokens that it missed."""
        rows = zip(self.ranked.tolist(), self.reasons.tolist(), self.short.tolist(), strict=True)
        return {
            item: (REASONS[reason], None if short == UNSAID else short)
            for item, reason, short in rows
            if item not in self.selected
        }

    def refuse(
        self,
        places: Places | NDArray[np.bool_] | slice,
        reasons: NDArray[np.int8] | int,
        short: NDArray[np.int64] | int,
    ) -> None:
        """Notes why ranked candidates are not bought."""
        self.reasons[places], self.short[places] = reasons, short


class Purse:
    """Spends one task's budget on its ranked candidates.

    Args:
        goods: what there is to buy, and by which rules.
        budget: tokens that the whole prompt may count.
    """

    def __init__(self, goods: Goods, budget: int) -> None:
        self._offers = goods.offers
        self._goods = goods.offers.by_item
        self._links = goods.offers.links
        self._budget = budget
        self._counter = goods.counter
        self._settings = goods.settings
        self._titles = goods.titles
        self._opened: set[str] = set()
        self._kind_room = dict(goods.limits)
        self._least_kind_room = min(self._kind_room.values())
        self._bytes = PROMPT_BYTES - 1
        self._left = budget

    # ---- the rules of filling ----

    def fill(self, ranked: Sequence[int] | Places, ancestors: Sequence[int] | Places = ()) -> Choice:
        """Fills the budget by sections: `ranked` holds the candidates, best first.

        `ancestors` are candidates too, which come with a descendant or not at all.
        """
        self._choice = Choice(np.asarray(ranked, np.intp))
        self._candidates = bytearray(len(self._offers.costs))
        marks = np.frombuffer(self._candidates, np.uint8)
        marks[self._choice.ranked] = marks[np.asarray(ancestors, np.intp)] = True
        sections = self._offers.sections[self._choice.ranked]
        brief = self._of(sections, "brief")
        if not self._pin(brief):
            self._choice.refuse(sections != SECTION_PLACES["brief"], _BUDGET, UNSAID)
            return self._choice
        shares = self._settings.packing
        rules, requirements, design = (self._of(sections, name) for name in ("rules", "requirements", "design"))
        unspent = self._pass(rules, int(shares.rules_share * self._budget))
        spec = int(shares.spec_share * self._budget) + unspent
        kept_back = spec - spec // 2 if len(design) else 0
        unspent = kept_back + self._pass(requirements, spec - kept_back, whole=spec)
        unspent = self._pass(design, unspent, whole=spec)
        self._pass(requirements, unspent)
        self._pass(self._of(sections, "reference", "history"), self._left, whole=self._left, last=True)
        self._pass(self._of(sections, "requirements", "design"), self._left, last=True)
        self._pass(rules, self._left, last=True)
        return self._choice

    def _of(self, sections: NDArray[np.int8], *names: str) -> Places:
        """The places, among the ranked, of the candidates of some sections."""
        wanted: NDArray[np.bool_] = sections == SECTION_PLACES[names[0]]
        for name in names[1:]:
            wanted |= sections == SECTION_PLACES[name]
        return wanted.nonzero()[0]

    def fill_plainly(self, ranked: Sequence[int] | Places) -> Choice:
        """Fills the budget in one pass over bare texts: no sections, labels or ancestors."""
        choice = self._choice = Choice(np.asarray(ranked, np.intp))
        for place, item in enumerate(choice.ranked.tolist()):
            offer = self._goods[item]
            if self._kind_room[offer.kind] < 1:
                choice.refuse(slice(place, place + 1), _KIND_LIMIT, UNSAID)
            elif offer.tokens > self._left:
                choice.refuse(slice(place, place + 1), _BUDGET, offer.tokens - self._left)
            else:
                self._left -= offer.tokens
                self._kind_room[offer.kind] -= 1
                choice.selected[item] = offer.body
        return choice

    def _pin(self, brief: Places) -> bool:
        """Takes the whole brief, or nothing at all."""
        pinned = self._choice.ranked[brief].tolist()
        price = sum(self._goods[item].cost for item in pinned) + (self._titles["brief"] if pinned else 0)
        size = sum(self._goods[item].size for item in pinned) + _TITLE_BYTES
        if price > self._left or size > self._bytes:
            self._choice.refuse(brief, _BUDGET, max(price - self._left, 1))
            return False
        self._left -= price
        self._bytes -= size
        self._opened.add("brief")
        self._choice.selected.update({item: self._goods[item].body for item in pinned})
        return True

    # ---- one pass ----

    def _pass(self, places: Places, share: int, *, whole: int | None = None, last: bool = False) -> int:
        """Buys what a share can pay for, best first; returns what the share has left.

        `places` are those of the pass among the ranked. `whole` is the share of the section's whole group: a passage
        larger than that is cut, any other passed over. What the `last` pass over candidates refuses is out for good.
        """
        limit = room = min(share, self._left)
        if not len(places):
            return share
        selected, items = self._choice.selected, self._choice.ranked[places]
        costs = self._least_costs(items, whole)
        tried: dict[int, int | _Refusal] = {}
        near = (costs <= room).nonzero()[0]  # room only shrinks, so no other can be bought
        while len(near):
            some, near = near[:_AT_ONCE], near[_AT_ONCE:]
            for place, item, cost in zip(some.tolist(), items[some].tolist(), costs[some].tolist(), strict=True):
                if cost <= room and item not in selected:
                    tried[place] = outcome = self._try(item, room, whole)
                    if isinstance(outcome, int):
                        room -= outcome
            if len(near):
                near = near[costs[near] <= room]
        if last:
            self._refuse(places, costs - limit, tried)
        return share - (limit - room)

    def _refuse(self, places: Places, missed: NDArray[np.int64], tried: Mapping[int, int | _Refusal]) -> None:
        """Notes why candidates of a pass are not bought: by default, what they `missed` of the room it began with."""
        reasons = np.full(len(places), _BUDGET, np.int8)
        for place, outcome in tried.items():
            if isinstance(outcome, int):
                missed[place:] += outcome  # less room from here on
            else:
                reasons[place], missed[place] = outcome
        self._choice.refuse(places, reasons, missed)

    def _least_costs(self, items: Places, whole: int | None) -> NDArray[np.int64]:
        """What items cost at least: those that may be cut, as little as a cut one does."""
        costs = self._offers.costs[items]
        if whole is None or whole >= self._offers.dearest:
            return costs
        return np.where((costs > whole) & self._offers.cuttable[items], _LEAST_CUT, costs)

    def _try(self, item: int, room: int, whole: int | None) -> int | _Refusal:
        """Buys an item with its missing ancestors if they fit; returns what was paid, else why it was refused."""
        priced = self._priced(item, room)
        if priced is None:
            return _PARENT_MISSING_ROOM, UNSAID
        chain, price, size = priced
        if len(chain) > self._least_kind_room and self._over_limit(chain):
            return _KIND_LIMIT, UNSAID
        if price <= room and size <= self._bytes:
            return self._buy(chain, price, size)
        _, section, cost, _ = self._links[item]
        if whole is not None and cost > whole and (paid := self._buy_cut(chain, price, size, room)) is not None:
            return paid
        alone = cost if section in self._opened else cost + self._titles[section]
        reason = _PARENT_MISSING_ROOM if alone <= room and len(chain) > 1 else _BUDGET
        return reason, price - room if price > room else 1

    def _priced(self, item: int, room: int) -> tuple[list[int], int, int] | None:
        """The item and its ancestors that are not in yet, topmost first, with what they add: tokens and bytes.

        Titles of new sections are included. None if an ancestor is no candidate any more. The walk ends early once the
        ancestors alone cost more than there is room: the chain will not be bought.
        """
        links, selected, opened = self._links, self._choice.selected, self._opened
        parent, section, price, size = links[item]
        if section not in opened:
            price += self._titles[section]
            size += _TITLE_BYTES
        if parent is None or parent in selected:
            return [item], price, size
        chain, new, above = [item], [section], 0
        while parent is not None and parent not in selected and parent not in chain:
            if not self._candidates[parent]:
                return None
            chain.append(parent)
            parent, section, cost, length = links[parent]
            price += cost
            size += length
            if section not in opened and section not in new:
                new.append(section)
                price += self._titles[section]
                size += _TITLE_BYTES
            above += cost
            if above > room:
                break
        chain.reverse()
        return chain, price, size

    def _over_limit(self, chain: Sequence[int]) -> bool:
        kinds = [self._goods[item].kind for item in chain]
        return any(kinds.count(kind) > self._kind_room[kind] for kind in kinds)

    def _buy(self, chain: Sequence[int], price: int, size: int) -> int:
        """Takes a chain; returns its price."""
        for item in chain:
            offer = self._goods[item]
            self._choice.selected[item] = offer.body
            self._opened.add(offer.section)
            room = self._kind_room[offer.kind] = self._kind_room[offer.kind] - 1
            self._least_kind_room = min(self._least_kind_room, room)
        self._left -= price
        self._bytes -= size
        return price

    # ---- cutting ----

    def _buy_cut(self, chain: Sequence[int], price: int, size: int, room: int) -> int | None:
        """Takes a chain whose last item is cut to the room that there is; returns what was paid, None if it cannot."""
        item = chain[-1]
        offer = self._goods[item]
        if offer.section not in CUTTABLE:
            return None
        body = self._cut(offer, room - (price - offer.cost))
        if body is None:
            return None
        drawn = self._drawn(body, offer)
        paid = price - offer.cost + self._counter.count([drawn + SEPARATOR])[0]
        if paid > room:
            return None
        self._buy(chain, paid, size - offer.size + len(drawn.encode()) + len(SEPARATOR))
        self._choice.selected[item] = body
        return paid

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
